//! `compare_poems`: two poems side by side.

use super::{Argument, Given, Prompt, Question, ROUND_TITLE, rank};
use crate::entries::MAX_ENTRY_CHARACTERS;
use crate::mcp::Refused;
use crate::mcp::completion::Completes;

const RANK: Argument = rank("rank", "一首目の順位。例: 1", &["round_title", "round"]);

const OTHER_RANK: Argument =
    rank("other_rank", "二首目の順位。例: 2", &["other_round", "round_title", "round"]);

const OTHER_ROUND: Argument = Argument {
    name: "other_round",
    old_name: None,
    description: "二首目の回。省くと同じ回",
    required: false,
    completes: Completes::Rounds,
};

pub(super) static PROMPT: Prompt = Prompt {
    name: "compare_poems",
    title: "二首を比べる",
    description: "ふたつの歌を、本歌の取り方と趣の違いから比べる",
    arguments: &[ROUND_TITLE, RANK, OTHER_RANK, OTHER_ROUND],
    ask: |given| Box::pin(ask(given)),
};

async fn ask(given: Given<'_>) -> Result<Question<'_>, Refused> {
    let round = given.round(&ROUND_TITLE)?;
    let other = if given.text(&OTHER_ROUND).is_some() { given.round(&OTHER_ROUND)? } else { round };
    // Two poems share the room of one.
    let most = MAX_ENTRY_CHARACTERS / 2;
    let poems = vec![given.poem(round, &RANK, most).await?, given.poem(other, &OTHER_RANK, most).await?];
    let text = "次の二首を、本歌の取り方、言葉選び、余韻の違いから比べてください。".to_owned();
    Ok(Question { text, poems })
}
