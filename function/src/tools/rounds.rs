//! Finding rounds, and saying which exist.

use wakashu_archive::{ArchivedRound, ArchivedRoundExtra, Period};

use crate::fault::ToolError;
use crate::served::index::Index;
use crate::served::limits::{MAX_HINT_ROUNDS, MAX_TITLE_CHARACTERS};
use crate::served::snapshot::shortened;

/// The fixed sentence for an unknown round.
pub(crate) const NO_SUCH_ROUND: &str = "指定された回のデータは見つかりませんでした。";

/// The fixed sentence for ranks that do not exist.
pub(crate) const NO_SUCH_RANK: &str = "指定された順位の投稿はありません。";

/// Finds a round by what the reader calls it, or says which rounds there are.
pub(crate) fn find<'a>(
    index: &'a Index,
    operation: &'static str,
    title: &str,
) -> Result<&'a ArchivedRound, ToolError> {
    index.archive().find_round(title).ok_or_else(|| ToolError::NotFound {
        operation,
        resource_type: "round",
        resource_id: shortened(title, MAX_TITLE_CHARACTERS),
        sentence: format!("{NO_SUCH_ROUND}{}", which_exist(index)),
    })
}

fn which_exist(index: &Index) -> String {
    let rounds = &index.archive().root().rounds;
    let named: Vec<String> =
        rounds.iter().take(MAX_HINT_ROUNDS).map(|round| shortened(&round.title, 60)).collect();
    match rounds.len() {
        0 => "まだ収められた回がありません。".to_owned(),
        all if all > named.len() => {
            format!("{}など、全部で{all}の回があります。list_rounds で確かめられます。", named.join("、"))
        }
        _ => format!("{}があります。list_rounds で確かめられます。", named.join("、")),
    }
}

/// Says which ranks a round has.
pub(crate) fn which_ranks_exist(round: &ArchivedRound) -> String {
    let title = shortened(&round.title, 60);
    match round.rank_bounds() {
        None => format!("{title}にはまだ投稿がありません。"),
        Some((first, last)) if first == last => format!("{title}にあるのは{first}位だけです。"),
        Some((first, last)) => {
            format!("{title}には{first}位から{last}位まで、{}件の投稿があります。", round.entries.to_native())
        }
    }
}

/// Returns the error for ranks that do not exist; `is_given` tells whether the reader asked for just these.
pub(crate) fn no_such_rank(
    operation: &'static str,
    round: &ArchivedRound,
    ranks: String,
    is_given: bool,
) -> ToolError {
    ToolError::NotFound {
        operation,
        resource_type: "rank",
        resource_id: ranks,
        sentence: format!("{}{}", if is_given { NO_SUCH_RANK } else { "" }, which_ranks_exist(round)),
    }
}

/// Most texts about a round that are shown; the indexer writes two.
const MAX_EXTRAS: usize = 8;

/// Returns the texts about a round.
pub(crate) fn extras(round: &ArchivedRound) -> impl Iterator<Item = &ArchivedRoundExtra> {
    round.extras.iter().take(MAX_EXTRAS)
}

/// Returns a round's compilation period.
pub(crate) fn period(round: &ArchivedRound) -> Option<Period> {
    round.period.as_ref().map(Period::from)
}
