//! `explain_honkadori`: what a poem took from the one it alludes to.

use super::{Argument, Given, Prompt, Question, ROUND_TITLE, rank};
use crate::entries::MAX_ENTRY_CHARACTERS;
use crate::mcp::Refused;

const RANK: Argument = rank("rank", "順位。例: 1", &["round_title", "round"]);

pub(super) static PROMPT: Prompt = Prompt {
    name: "explain_honkadori",
    title: "本歌取りを解き明かす",
    description: "ひとつの歌が本歌の何を受け、何を変えたかを説明する",
    arguments: &[ROUND_TITLE, RANK],
    ask: |given| Box::pin(ask(given)),
};

async fn ask(given: Given<'_>) -> Result<Question<'_>, Refused> {
    let round = given.round(&ROUND_TITLE)?;
    let poems = vec![given.poem(round, &RANK, MAX_ENTRY_CHARACTERS).await?];
    let text = "次の歌が本歌の何を受け、何を変えたのかを、本歌を引きながら説明してください。".to_owned();
    Ok(Question { text, poems })
}
