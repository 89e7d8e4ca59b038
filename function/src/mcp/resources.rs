//! Resources: the rounds, a round, an entry, its picture, and rounds by date.

use wakashu_archive::{ArchivedRound, Date, Period, Rank};

use crate::entries;
use crate::exchange::Exchange;
use crate::fault::ToolError;
use crate::mcp::Refused;
use crate::mcp::error::{self, RpcError};
use crate::mcp::methods::{cache_hint, page_offset};
use crate::served::cursor::Cursor;
use crate::served::index::{Index, ReadError};
use crate::served::limits::{ENVELOPE_BYTES, MAX_ANSWER_BYTES};
use crate::served::snapshot::shortened;
use crate::served::uri;
use crate::text::Answer;
use crate::tools::{list_rounds_row, rounds};
use wakashu_wire::Era;
use wakashu_wire::{Request, string};

/// The address of the list of rounds; all others begin with it.
const ROUNDS_URI: &str = "wakashu://rounds";

/// Reserved where a round's title stands, for the addresses by date.
const BY_DATE: &str = "by-date";
const PICTURE: &str = "picture";

/// Resources on one page of the list.
const PAGE_RESOURCES: usize = 100;

/// Most characters of text in a resource that lists things.
const LISTING_CHARACTERS: usize = 90_000;

/// Most bytes of an address; none of ours is nearly as long, and it is repeated in the answer.
const MAX_ADDRESS_BYTES: usize = 4_096;

/// How long clients may keep what they read: an archive never changes, only which one is served.
const READ_TTL_MS: u64 = 3_600_000;

/// The templates: address, name, title, description, type (where all matches share one).
const TEMPLATES: [(&str, &str, &str, &str, &str); 4] = [
    ("wakashu://rounds/{round}", "round", "回", "ひとつの回の投稿一覧", "text/plain"),
    ("wakashu://rounds/{round}/{rank}", "entry", "投稿", "ひとつの投稿の全文", "text/plain"),
    ("wakashu://rounds/{round}/{rank}/picture", "picture", "画像", "ひとつの投稿の画像", ""),
    (
        "wakashu://rounds/by-date/{start_date}/{end_date}",
        "rounds_by_date",
        "日付で探す回",
        "編纂時期が期間に重なる回。日付は 2025-04-01、2025年4月、2025年 など",
        "application/json",
    ),
];

/// Tells whether `template` is one of ours.
pub(super) fn is_template(template: &str) -> bool {
    TEMPLATES.iter().any(|(address, ..)| *address == template)
}

pub(super) fn templates(out: &mut Answer) {
    out.raw(r#""resourceTemplates":["#);
    for (at, (address, name, title, description, media_type)) in TEMPLATES.iter().enumerate() {
        out.raw(if at == 0 { "" } else { "," });
        out.raw(r#"{"uriTemplate":"#).string(address).raw(r#","name":"#).string(name);
        out.raw(r#","title":"#).string(title).raw(r#","description":"#).string(description);
        if !media_type.is_empty() {
            out.raw(r#","mimeType":"#).string(media_type);
        }
        out.raw("}");
    }
    out.raw("]");
}

pub(super) fn list(
    x: &Exchange<'_>,
    request: &Request<'_>,
    era: Era,
    out: &mut Answer,
) -> Result<(), RpcError> {
    let offset = page_offset(x, request)?;
    out.raw(r#""resources":["#);
    if let Some(index) = x.index() {
        let all = &index.archive().root().rounds;
        // The list of rounds is the first resource, so round N is resource N + 1.
        let mut written = 0;
        if offset == 0 {
            write_list_of_rounds(out, index, x);
            written += 1;
        }
        for round in all.iter().skip(offset.saturating_sub(1)).take(PAGE_RESOURCES - written) {
            out.raw(if written == 0 { "" } else { "," });
            write_listing(out, round);
            written += 1;
        }
        out.raw("]");
        let next = offset.saturating_add(written);
        if next <= all.len() && written > 0 {
            out.raw(r#","nextCursor":"#).string(&Cursor { offset: next }.encode(index.archive().digest()));
        }
    } else {
        out.raw("]");
    }
    cache_hint(out, era, x.served.prepared().list_ttl_ms);
    Ok(())
}

/// Lists the list of rounds, the one resource whose size is known without reading pages.
fn write_list_of_rounds(out: &mut Answer, index: &Index, x: &Exchange<'_>) {
    let title = x.served.title();
    let size = rounds_json(title, index.archive().root().rounds.iter(), None).len();
    out.raw(r#"{"uri":"#).string(ROUNDS_URI).raw(r#","name":"rounds","title":"回の一覧","description":"#);
    out.string(&format!("「{title}」のすべての回")).raw(r#","mimeType":"application/json","size":"#);
    out.number(size as u64);
    let published = x.served.loaded().and_then(|loaded| loaded.published_at);
    write_annotations(out, "1", published.map(|at| at.to_string()));
    out.raw("}");
}

/// Writes for whom a resource is, how much it matters among the others, and when it last changed if that is known.
fn write_annotations(out: &mut Answer, priority: &str, modified: Option<String>) {
    out.raw(r#","annotations":{"audience":["user","assistant"],"priority":"#).raw(priority);
    if let Some(modified) = modified {
        out.raw(r#","lastModified":"#).string(&modified);
    }
    out.raw("}");
}

fn write_listing(out: &mut Answer, round: &ArchivedRound) {
    let title = shortened(&round.title, 200);
    out.raw(r#"{"uri":"wakashu://rounds/"#)
        .raw(&uri::encode(&round.title))
        .raw(r#"","name":"#)
        .string(&title);
    out.raw(r#","title":"#).string(&title).raw(r#","description":"#);
    out.string(&format!("{}首", round.entries.to_native())).raw(r#","mimeType":"text/plain""#);
    // A round does not change after its compilation; an undated one gives no time rather than a guess.
    let compiled = rounds::period(round).map(|period| format!("{}T00:00:00+09:00", period.end));
    write_annotations(out, "0.5", compiled);
    out.raw("}");
}

/// What an address names.
enum Address<'a> {
    Rounds,
    Round(&'a ArchivedRound),
    Entry(&'a ArchivedRound, u32),
    Picture(&'a ArchivedRound, u32),
    ByDate(Period),
}

/// Reads an address; `Ok(None)` if it names nothing here.
fn parse<'a>(address: &str, index: &'a Index) -> Result<Option<Address<'a>>, RpcError> {
    let Some(rest) = address.strip_prefix(ROUNDS_URI) else { return Ok(None) };
    if rest.is_empty() {
        return Ok(Some(Address::Rounds));
    }
    let Some(rest) = rest.strip_prefix('/') else { return Ok(None) };
    let Some(segments) = rest.split('/').map(uri::decode).collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    let segments: Vec<&str> = segments.iter().map(AsRef::as_ref).collect();
    // A round may be called like this, too; its pictures are not days.
    if let [BY_DATE, start, end] = segments.as_slice()
        && *end != PICTURE
    {
        return window(start, end).map(|period| Some(Address::ByDate(period)));
    }
    let round = |title: &str| index.archive().find_round(title);
    let rank = |text: &str| text.parse().map(Rank::get).ok();
    Ok(match segments.as_slice() {
        [title] => round(title).map(Address::Round),
        [title, number] => round(title).zip(rank(number)).map(|(round, rank)| Address::Entry(round, rank)),
        [title, number, PICTURE] => {
            round(title).zip(rank(number)).map(|(round, rank)| Address::Picture(round, rank))
        }
        _ => None,
    })
}

fn window(start: &str, end: &str) -> Result<Period, RpcError> {
    let day = |text: &str| Period::parse(text).map_err(|error| error::invalid_params(error.to_string()));
    let (start, end): (Date, Date) = (day(start)?.start, day(end)?.end);
    if start > end {
        return Err(error::invalid_params("the end date lies before the start date"));
    }
    Ok(Period { start, end })
}

pub(super) async fn read(
    x: &Exchange<'_>,
    request: &Request<'_>,
    era: Era,
    out: &mut Answer,
) -> Result<(), Refused> {
    let Some(address) = request.params.uri.and_then(string) else {
        return Err(error::invalid_params("`uri` must be a string").into());
    };
    let not_found = || error::resource_not_found(era.is_modern(), &shortened(&address, 1_000));
    if address.len() > MAX_ADDRESS_BYTES {
        return Err(not_found().into());
    }
    let Some(index) = x.index() else { return Err(error::index_unavailable().into()) };
    let target = parse(&address, index)?.ok_or_else(not_found)?;
    out.raw(r#""contents":["#);
    match target {
        Address::Rounds => {
            let all = index.archive().root().rounds.iter();
            write_json(out, &address, &rounds_json(x.served.title(), all, None));
        }
        Address::ByDate(window) => {
            let rounds = &index.archive().root().rounds;
            let matching = rounds
                .iter()
                .filter(|round| rounds::period(round).is_some_and(|period| period.overlaps(window)));
            let undated = rounds.iter().filter(|round| round.period.is_none()).count();
            write_json(out, &address, &rounds_json(x.served.title(), matching, Some(undated)));
        }
        Address::Round(round) => {
            write_round(out, &address, index, round).await.map_err(ToolError::from)?;
        }
        Address::Entry(round, rank) => {
            let held = entries::find(index, round, rank).await.map_err(ToolError::from)?;
            let held = held.ok_or_else(not_found)?;
            write_entry(out, &address, &held).ok_or_else(not_found)?;
        }
        Address::Picture(round, rank) => {
            let held = entries::find(index, round, rank).await.map_err(ToolError::from)?;
            let held = held.ok_or_else(not_found)?;
            let picture = held.entry().and_then(|entry| entry.picture.as_ref()).ok_or_else(not_found)?;
            let room =
                (MAX_ANSWER_BYTES - ENVELOPE_BYTES).saturating_sub(out.len() + address.len() * 6) as u64;
            let fitting = [&picture.large, &picture.medium].into_iter().find(|one| one.span().length <= room);
            let rendition = fitting.unwrap_or(&picture.small);
            let stored = index.pictures([rendition]).await.next();
            let stored = stored.ok_or_else(not_found)?.map_err(ToolError::from)?;
            out.raw(r#"{"uri":"#)
                .string(&address)
                .raw(r#","mimeType":"#)
                .string(rendition.media_type().as_str());
            out.raw(r#","blob":""#).splice(stored).raw("\"}");
        }
    }
    out.raw("]");
    cache_hint(out, era, READ_TTL_MS);
    Ok(())
}

fn write_json(out: &mut Answer, address: &str, json: &str) {
    out.raw(r#"{"uri":"#)
        .string(address)
        .raw(r#","mimeType":"application/json","text":"#)
        .string(json)
        .raw("}");
}

/// Lists rounds as JSON, as far as one answer can hold them.
fn rounds_json<'a>(
    title: &str,
    rounds: impl Iterator<Item = &'a ArchivedRound>,
    undated: Option<usize>,
) -> String {
    let mut json = Answer::default();
    json.raw(r#"{"title":"#).string(title).raw(r#","rounds":["#);
    let (mut listed, mut total) = (0_u64, 0_u64);
    for round in rounds {
        total += 1;
        if json.len() < LISTING_CHARACTERS {
            json.raw(if listed == 0 { "" } else { "," });
            list_rounds_row(&mut json, round);
            listed += 1;
        }
    }
    json.raw(r#"],"total":"#).number(total);
    if let Some(undated) = undated {
        json.raw(r#","undated":"#).number(undated as u64);
    }
    if total == 0 {
        json.raw(r#","note":"該当する回はありません。""#);
    } else if listed < total {
        json.raw(r#","note":"一部だけを載せています。続きは list_rounds で読めます。""#);
    }
    json.raw("}");
    json.into_text()
}

/// Writes a round as text: who, which poem, where the whole entry is.
async fn write_round(
    out: &mut Answer,
    address: &str,
    index: &Index,
    round: &ArchivedRound,
) -> Result<(), ReadError> {
    out.raw(r#"{"uri":"#).string(address).raw(r#","mimeType":"text/plain","text":""#);
    let from = out.len();
    out.text(&shortened(&round.title, 200));
    if let Some(period) = rounds::period(round) {
        out.text(&format!("（{}〜{}）", period.start, period.end));
    }
    out.text(&format!(" {}首", round.entries.to_native()));
    let title = uri::encode(&round.title);
    'chunks: for chunk in round.chunks.iter() {
        let page = index.page(chunk).await?;
        for entry in page.entries.iter() {
            let rank = entry.rank.to_native();
            let (account, poem) = (entry.account_escaped(), entry.poem_escaped());
            if out.len() - from + account.len() + poem.len() + title.len() + 100 > LISTING_CHARACTERS {
                out.text("\n（以下省略）\n続きは ")
                    .raw(&format!("wakashu://rounds/{title}/{rank}"))
                    .text(" からの各投稿、または get_wakashu_ranking で読めます。");
                break 'chunks;
            }
            out.raw("\\n\\n").number(u64::from(rank)).raw("位：").raw(account).raw("\\n").raw(poem);
            out.raw("\\nwakashu://rounds/").raw(&title).raw("/").number(u64::from(rank));
        }
    }
    out.raw("\"}");
    Ok(())
}

/// Writes an entry's whole text; only one near the format's own limit has to be cut.
fn write_entry(out: &mut Answer, address: &str, held: &entries::Held) -> Option<()> {
    let entry = held.entry()?;
    out.raw(r#"{"uri":"#).string(address).raw(r#","mimeType":"text/plain","text":""#);
    let room = MAX_ANSWER_BYTES - 2 * ENVELOPE_BYTES - address.len() * 6;
    if entry.text.len() <= room {
        out.escaped(held.page(), &entry.text);
    } else {
        out.escaped(held.page(), entries::prefix(&entry.text, usize::MAX, room)).raw("（以下省略）");
    }
    out.raw("\"}");
    Some(())
}
