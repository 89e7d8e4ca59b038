//! `search_poems`: poems by a part of their text, reading or account, with the match marked.

use std::ops::Range;

use futures_util::future::try_join_all;
use wakashu_archive::{ArchivedEntry, ArchivedRound, unescape};

use crate::exchange::Scope;
use crate::fault::{Received, ToolError};
use crate::observe::detail::Detail;
use crate::served::cursor::Cursor;
use crate::served::index::{Index, ReadError};
use crate::served::limits::{MAX_TEXT_CHARACTERS, MAX_TITLE_CHARACTERS};
use crate::served::search::{self, Hit, Query, Refused, Total};
use crate::served::snapshot::shortened;
use crate::served::uri;
use crate::text::Answer;
use crate::tools::arguments::{CURSOR, refuse_cursor};
use crate::tools::{Call, Form, Kind, Parameter, Tool, rounds};

/// What the sentences before and after the hits may take, in characters.
const REMARK_CHARACTERS: usize = 1_000;

/// What a hit takes besides its texts: line ends, the rank, what kind of match it is.
const FRAME_CHARACTERS: usize = 50;

/// Most characters of a poem in a hit.
const MAX_POEM_CHARACTERS: usize = 800;

pub(super) static TOOL: Tool = Tool {
    name: "search_poems",
    title: "歌を探す",
    description: "「{title}」の歌を、歌・よみ・投稿者の一部から探します。かなの種類、新旧の字体、濁点や歴史的仮名遣いの違いは吸収されます。空白で区切るとすべてを含む歌を探し、account: prompt: honka: round: を前に付けると探す場所を絞れます。画像は返しません。",
    version: "1.0.0",
    category: "search",
    tags: &["和歌", "検索"],
    examples: &[
        r#"{"query":"花"}"#,
        r#"{"query":"雲 月 round:第1回"}"#,
        r#"{"query":"account:@Laptop","limit":5}"#,
    ],
    needs_index: true,
    needs: Scope::Read,
    parameters: &[
        Parameter {
            name: "query",
            kind: Kind::Text { max_characters: 200 },
            pattern: None,
            description: "探す言葉。例: 花、雲 月、account:@Laptop、prompt:moon。",
            default: None,
            required: true,
        },
        Parameter {
            name: "limit",
            kind: Kind::Integer { minimum: 1, maximum: 50 },
            pattern: None,
            description: "一度に返す件数。",
            default: Some("10"),
            required: false,
        },
        CURSOR,
    ],
    pictures: false,
    data_schema: concat!(
        r#"{"type":"object","required":["hits","total","totalIsExact"],"properties":{"nextCursor":{"type":"string"},"#,
        r#""total":{"type":"integer"},"totalIsExact":{"type":"boolean"},"#,
        r#""hits":{"type":"array","items":{"type":"object","required":["round","rank","account","poem","match","uri"],"#,
        r#""properties":{"round":{"type":"string"},"rank":{"type":"integer"},"account":{"type":"string"},"#,
        r#""poem":{"type":"string"},"yomi":{"type":"string"},"match":{"type":"string","enum":["exact","loose"]},"#,
        r#""uri":{"type":"string"}}}}}}"#
    ),
    run: |call, out| Box::pin(run(call, out)),
};

/// A hit as it is shown.
struct Shown {
    round: String,
    rank: u32,
    account: String,
    poem: String,
    yomi: Option<String>,
    kind: &'static str,
    uri: String,
}

async fn run(call: Call<'_>, out: &mut Answer) -> Result<(), ToolError> {
    let Some(index) = call.snapshot.index() else {
        return Err(ToolError::IndexUnavailable { configured: call.snapshot.is_configured() });
    };
    let query = Query::parse(call.arguments.text("query").unwrap_or_default()).map_err(refuse)?;
    let limit = usize::try_from(call.arguments.integer("limit").unwrap_or(10)).unwrap_or(10);
    let digest = index.archive().digest();
    let from = match call.arguments.text("cursor") {
        None => 0,
        Some(cursor) => Cursor::parse(cursor, digest).ok_or_else(refuse_cursor)?.offset,
    };
    let round = query.round().map(|title| rounds::find(index, TOOL.name, title)).transpose()?;
    let found = search::search(index, &query, round, from, limit).await.map_err(without_columns)?;
    let mut shown = try_join_all(found.hits.iter().map(|hit| show(index, &query, *hit))).await?;
    let fitting = fitting(&shown);
    let more = found.more || fitting < shown.len();
    shown.truncate(fitting);

    let mut text = match shown.len() {
        0 if from == 0 => "見つかりませんでした。言葉を短くするか、かなで試してください。".to_owned(),
        0 => "続きはありません。".to_owned(),
        count => {
            let total = match found.total {
                Total::Exactly(total) => format!("{total}件"),
                Total::AtLeast(total) => format!("{total}件以上"),
            };
            let part = match count {
                _ if from == 0 && !more => String::new(),
                1 => format!("（そのうち{}件目）", from + 1),
                _ => format!("（そのうち{}〜{}件目）", from + 1, from + count),
            };
            format!("{total}見つかりました{part}。全文と画像は get_poem で読めます。")
        }
    };
    for hit in &shown {
        let mut number = itoa::Buffer::new();
        let rank = number.format(hit.rank);
        for part in ["\n\n", &hit.round, " ", rank, "位：", &hit.account, "\n", &hit.poem] {
            text.push_str(part);
        }
        if let Some(yomi) = &hit.yomi {
            text.push_str("\nよみ: ");
            text.push_str(yomi);
        }
        if hit.kind == "loose" {
            text.push_str("\n（表記の違いを許した一致）");
        }
    }
    let next = more.then(|| Cursor { offset: from + shown.len() }.encode(digest));
    if let Some(cursor) = &next {
        // In the text too: some clients show the model nothing else.
        text.push_str(&format!("\n\n続きがあります。cursor に \"{cursor}\" を渡してください。"));
    }
    if call.form == Form::Result {
        out.raw(r#""content":[{"type":"text","text":"#).string(&text).raw(r#"}],"structuredContent":"#);
    }
    out.raw(r#"{"hits":["#);
    for (at, hit) in shown.iter().enumerate() {
        out.raw(if at == 0 { "" } else { "," });
        write_hit(out, hit);
    }
    let (total, is_exact) = match found.total {
        Total::Exactly(total) => (total, "true"),
        Total::AtLeast(total) => (total, "false"),
    };
    out.raw(r#"],"total":"#).number(total as u64).raw(r#","totalIsExact":"#).raw(is_exact);
    if let Some(cursor) = next {
        out.raw(r#","nextCursor":"#).string(&cursor);
    }
    out.raw("}");
    Ok(())
}

/// Returns how many hits fit into one answer's text; the first always does.
fn fitting(shown: &[Shown]) -> usize {
    let mut room = MAX_TEXT_CHARACTERS - REMARK_CHARACTERS;
    let fits = |hit: &&Shown| {
        let texts = [&hit.round, &hit.account, &hit.poem].into_iter().chain(&hit.yomi);
        let needed = texts.map(|text| text.chars().count()).sum::<usize>() + FRAME_CHARACTERS;
        let fits = needed <= room;
        room = room.saturating_sub(needed);
        fits
    };
    shown.iter().take_while(fits).count().max(1).min(shown.len())
}

/// An archive may be written without columns; trying again would not help then.
fn without_columns(error: ReadError) -> ToolError {
    match error {
        ReadError::NoColumn => ToolError::NotFound {
            operation: TOOL.name,
            resource_type: "column",
            resource_id: String::new(),
            sentence: "この和歌集の索引には検索用のデータがないため、歌を探せません。list_rounds と get_wakashu_ranking で読めます。".to_owned(),
        },
        ReadError::OtherKeys { .. } => ToolError::NotFound {
            operation: TOOL.name,
            resource_type: "column",
            resource_id: String::new(),
            sentence: "この和歌集の検索用のデータは別の版のプログラムで作られているため、作り直すまで歌を探せません。list_rounds と get_wakashu_ranking では読めます。".to_owned(),
        },
        other => other.into(),
    }
}

fn refuse(refused: Refused) -> ToolError {
    let (expected, constraint) = match refused {
        Refused::Empty => ("探す言葉をひとつ以上、空白以外の文字で渡してください。", "format"),
        Refused::OnlyRound => (
            "round: のほかに、探す言葉をひとつ以上渡してください。回の全体は get_wakashu_ranking で読めます。",
            "format",
        ),
        Refused::TooManyTerms => ("言葉は8つまでにしてください。", "length"),
    };
    ToolError::Validation {
        field: "query".to_owned(),
        expected: expected.to_owned(),
        received: Received::Text,
        constraint,
    }
}

async fn show(index: &Index, query: &Query, hit: Hit) -> Result<Shown, ToolError> {
    let lost = || ToolError::Internal(Detail::note("a hit lies outside the archive"));
    let (round, chunk, position) = index.archive().locate(hit.ordinal).ok_or_else(lost)?;
    let page = index.page(chunk).await?;
    let entry = page.entries.get(position).ok_or_else(lost)?;
    Ok(shown(query, hit, round, entry))
}

/// Marks the match where it is: in the poem, else in the reading, else in the account.
fn shown(query: &Query, hit: Hit, round: &ArchivedRound, entry: &ArchivedEntry) -> Shown {
    let poem = unescape(entry.poem_escaped());
    let account = unescape(entry.account_escaped());
    let in_poem = query.find_in_poem(&poem, hit.loose);
    let yomi = entry.yomi.as_ref().filter(|_| in_poem.is_none()).map(|yomi| unescape(yomi));
    let in_yomi = yomi.and_then(|yomi| query.find_in_poem(&yomi, hit.loose).map(|range| (yomi, range)));
    let in_text = in_poem.is_some() || in_yomi.is_some();
    let in_account = if in_text { None } else { query.find_in_account(&account, hit.loose) };
    Shown {
        round: shortened(&round.title, MAX_TITLE_CHARACTERS),
        rank: entry.rank.to_native(),
        account: marked(&account, in_account, MAX_TITLE_CHARACTERS),
        poem: marked(&poem, in_poem, MAX_POEM_CHARACTERS),
        yomi: in_yomi.map(|(yomi, range)| marked(&yomi, Some(range), MAX_POEM_CHARACTERS)),
        kind: if hit.loose { "loose" } else { "exact" },
        uri: format!("wakashu://rounds/{}/{}", uri::encode(&round.title), entry.rank.to_native()),
    }
}

/// Returns `text` with the match marked; of a long one at most `most` characters around it, and an ellipsis where it goes on.
fn marked(text: &str, range: Option<Range<usize>>, most: usize) -> String {
    let range = range.filter(|range| text.get(range.clone()).is_some()).unwrap_or_default();
    let is_marked = !range.is_empty();
    let part = around(text, range.start, if is_marked { most - 2 } else { most });
    let mut out = String::with_capacity(part.len() + 2 * "【".len() + 2 * "…".len());
    if part.start > 0 {
        out.push('…');
    }
    let inside = range.start.clamp(part.start, part.end)..range.end.clamp(part.start, part.end);
    let piece = |range: Range<usize>| text.get(range).unwrap_or_default();
    out.push_str(piece(part.start..inside.start));
    if is_marked {
        out.push('【');
    }
    out.push_str(piece(inside.clone()));
    if is_marked {
        out.push('】');
    }
    out.push_str(piece(inside.end..part.end));
    if part.end < text.len() {
        out.push('…');
    }
    out
}

/// Returns a part of at most `most` characters, with about half of them before `place`.
fn around(text: &str, place: usize, most: usize) -> Range<usize> {
    // No text has more characters than bytes.
    if text.len() <= most {
        return 0..text.len();
    }
    let count = text.chars().count();
    if count <= most {
        return 0..text.len();
    }
    let before = text.get(..place).map_or(0, |before| before.chars().count());
    let from = before.saturating_sub(most / 2).min(count - most);
    let mut ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let start = ends.nth(from).unwrap_or_default();
    start..ends.nth(most - 1).unwrap_or(text.len())
}

fn write_hit(out: &mut Answer, hit: &Shown) {
    out.raw(r#"{"round":"#).string(&hit.round).raw(r#","rank":"#).number(u64::from(hit.rank));
    out.raw(r#","account":"#).string(&hit.account).raw(r#","poem":"#).string(&hit.poem);
    if let Some(yomi) = &hit.yomi {
        out.raw(r#","yomi":"#).string(yomi);
    }
    out.raw(r#","match":"#).string(hit.kind).raw(r#","uri":"#).string(&hit.uri).raw("}");
}

#[cfg(test)]
mod tests {
    use super::marked;

    #[test]
    fn a_match_is_marked_and_stays_in_view() {
        assert_eq!(marked("花の色は", Some(3..6), 10), "花【の】色は");
        assert_eq!(marked("花の色は", None, 10), "花の色は");
        assert_eq!(marked("一二三四五六七八九十", None, 4), "一二三四…");
        let long = "一二三四五六七八九十";
        assert_eq!(marked(long, Some(15..18), 6), "…四五【六】七…");
        assert_eq!(marked(long, Some(27..30), 6), "…七八九【十】");
        // Marks of the text's own are not taken for ours, and a match that does not fit is closed all the same.
        assert_eq!(marked("【題】三四五六七八九十", Some(24..27), 6), "…六七【八】九…");
        assert_eq!(marked(long, Some(0..30), 6), "【一二三四】…");
    }
}
