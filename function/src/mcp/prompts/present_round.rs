//! `present_round`: the first poems of a round, to be told of.

use wakashu_archive::{Rank, RankRange};

use super::{Argument, Given, MAX_ROUND_CHARACTERS, Prompt, Question, ROUND_TITLE};
use crate::entries::MAX_ENTRY_CHARACTERS;
use crate::mcp::Refused;
use crate::mcp::completion::Completes;
use crate::mcp::error;
use crate::served::snapshot::shortened;
use crate::tools::rounds;

/// Most entries put into the prompt.
const MAX_ENTRIES: u32 = 12;

/// Most characters of a style.
const MAX_STYLE_CHARACTERS: usize = 100;

/// Most characters of a text about the round.
const MAX_EXTRA_CHARACTERS: usize = 2_000;

const STYLE: Argument = Argument {
    name: "style",
    old_name: None,
    description: "紹介の調子。例: やさしく、解説つき、朗読用",
    required: false,
    completes: Completes::Words(&["やさしく", "解説つき", "朗読用"]),
};

pub(super) static PROMPT: Prompt = Prompt {
    name: "present_round",
    title: "回を紹介する",
    description: "ひとつの回の上位の歌を、読み物として紹介する",
    arguments: &[ROUND_TITLE, STYLE],
    ask: |given| Box::pin(ask(given)),
};

async fn ask(given: Given<'_>) -> Result<Question<'_>, Refused> {
    let round = given.round(&ROUND_TITLE)?;
    let style = given.text(&STYLE).map_or_else(String::new, |style| {
        let style: String = style.trim().chars().take(MAX_STYLE_CHARACTERS).collect();
        format!("文体は「{style}」でお願いします。")
    });
    let (first, last) = round.rank_bounds().unwrap_or((1, 1));
    let last = last.min(first.saturating_add(MAX_ENTRIES - 1));
    let range = Rank::new(first).zip(Rank::new(last)).and_then(|(first, last)| RankRange::new(first, last));
    let range = range.ok_or_else(|| error::invalid_params("a rank is a whole number from 1"))?;
    let mut text = format!(
        "「{}」{}の上位の歌を、順位ごとに歌を引きながら紹介してください。{style}",
        given.title,
        shortened(&round.title, MAX_ROUND_CHARACTERS)
    );
    for extra in rounds::extras(round) {
        let (title, said) = (shortened(&extra.title, 100), shortened(&extra.text, MAX_EXTRA_CHARACTERS));
        text.push_str(&format!("\n{title}：{said}"));
    }
    Ok(Question { text, poems: vec![given.poems(round, range, MAX_ENTRY_CHARACTERS).await?] })
}
