//! `GET /search`: the same search as everywhere, shown on a page.

use futures_util::future::try_join_all;
use http::Uri;
use wakashu_archive::unescape;
use wakashu_pages::{HITS_ON_A_PAGE, Hit, Outcome, Renderer, Total};

use super::Made;
use crate::fault::ToolError;
use crate::observe::detail::Detail;
use crate::served::index::ReadError;
use crate::served::reading::Reading;
use crate::served::search::{self, Mark, Query, Refused};
use crate::web::query::{field, parameter};

/// Most characters of a query, as for the tool.
const MAX_QUERY_CHARACTERS: usize = 200;

/// From how many bytes on the text of a hit is long enough for others to have their turn first.
const LONG_TEXT_BYTES: usize = 16 << 10;

/// Answers a query, or shows the empty field.
pub(super) async fn answer(index: &Reading, site: &Renderer<'_>, uri: &Uri) -> Result<Made, ToolError> {
    let typed = field(uri, "q").unwrap_or_default();
    if typed.trim().is_empty() {
        return Ok(Made::Whole(site.search("", &Outcome::NotAsked)));
    }
    if typed.chars().nth(MAX_QUERY_CHARACTERS).is_some() {
        let shown: String = typed.chars().take(MAX_QUERY_CHARACTERS).collect();
        return Ok(refused(site, &shown, "探す言葉は200字までにしてください。"));
    }
    let query = match Query::parse(&typed) {
        Ok(query) => query,
        Err(reason) => return Ok(refused(site, &typed, sentence(reason))),
    };
    let archive = site.collection.archive();
    let round = match query.round().map(|title| archive.find_round(title)) {
        Some(None) => return Ok(refused(site, &typed, "その名前の回は見つかりませんでした。")),
        named => named.flatten(),
    };
    let page = parameter(uri, "page").map_or(Ok(1_u32), str::parse).ok().filter(|page| *page > 0);
    let Some(page) = page else { return Ok(Made::Missing) };
    let from = (page as usize - 1).saturating_mul(HITS_ON_A_PAGE);
    let found = match search::search(index, &query, round, from, HITS_ON_A_PAGE).await {
        Ok(found) => found,
        Err(error) => {
            let Some(sentence) = without_columns(&error) else { return Err(error.into()) };
            tracing::warn!(detail = Detail::of(&error).for_log(), "a search was refused");
            return Ok(refused(site, &typed, sentence));
        }
    };
    let reading = found.hits.iter().map(|hit| async {
        let (round, chunk, position) = archive.locate(hit.ordinal).ok_or_else(lost)?;
        Ok::<_, ToolError>((round, index.page(chunk).await?, position))
    });
    let pages = try_join_all(reading).await?;
    let mut hits = Vec::with_capacity(pages.len());
    for (found, (round, view, position)) in found.hits.iter().zip(&pages) {
        let entry = view.entries.get(*position).ok_or_else(lost)?;
        if entry.text.len() > LONG_TEXT_BYTES {
            tokio::task::yield_now().await;
        }
        let yomi = entry.yomi.as_ref().map(|yomi| unescape(yomi));
        let (poem, account) = (unescape(entry.poem_escaped()), unescape(entry.account_escaped()));
        let mark = query.mark(&poem, yomi.as_deref(), &account, found.loose);
        let (mut in_poem, mut in_yomi, mut in_account) = (None, None, None);
        match mark {
            Some(Mark::Poem(range)) => in_poem = Some(range),
            Some(Mark::Yomi(range)) => in_yomi = Some(range),
            Some(Mark::Account(range)) => in_account = Some(range),
            None => {}
        }
        hits.push(Hit { round: *round, entry, in_poem, in_yomi, in_account, is_loose: found.loose });
    }
    let total = Total::Exactly(u32::try_from(found.total).unwrap_or(u32::MAX));
    let outcome = Outcome::Found { hits: &hits, total, page, more: found.more };
    Ok(Made::Whole(site.search(&typed, &outcome)))
}

fn refused(site: &Renderer<'_>, typed: &str, sentence: &str) -> Made {
    Made::Refused(site.search(typed, &Outcome::Refused(sentence)))
}

fn sentence(refused: Refused) -> &'static str {
    match refused {
        Refused::Empty => "探す言葉をひとつ以上、空白以外の文字で入れてください。",
        Refused::OnlyRound => {
            "round: のほかに、探す言葉をひとつ以上入れてください。回の全体は表紙からたどれます。"
        }
        Refused::TooManyTerms => "言葉は8つまでにしてください。",
    }
}

/// Says why an archive cannot be searched, where trying again would not help.
fn without_columns(error: &ReadError) -> Option<&'static str> {
    match error {
        ReadError::NoColumn => Some("この和歌集には検索用のデータがないため、歌を探せません。"),
        ReadError::OtherKeys { .. } => Some(
            "この和歌集の検索用のデータは別の版のプログラムで作られているため、作り直すまで歌を探せません。",
        ),
        ReadError::ColumnTooLarge { .. } => {
            Some("この和歌集の検索用のデータは、いまの設定で使えるメモリーに収まらないため、歌を探せません。")
        }
        _ => None,
    }
}

fn lost() -> ToolError {
    ToolError::Internal(Detail::note("a hit lies outside the archive"))
}
