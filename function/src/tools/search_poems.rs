//! `search_poems`: poems by a part of their text, reading or account, with the match marked.

use std::borrow::Cow;
use std::ops::Range;

use futures_util::future::try_join_all;
use wakashu_archive::{ArchivedEntry, ArchivedRound, PageView, unescape};

use crate::exchange::Scope;
use crate::fault::{Received, ToolError};
use crate::observe::detail::Detail;
use crate::served::cursor::Cursor;
use crate::served::index::ReadError;
use crate::served::limits::{MAX_TEXT_CHARACTERS, MAX_TITLE_CHARACTERS};
use crate::served::reading::Reading;
use crate::served::search::{self, Hit, Mark, Query, Refused};
use crate::served::snapshot::shortened;
use crate::served::uri;
use crate::text::schema::{Schema, always, sometimes};
use crate::text::{Answer, field};
use crate::tools::arguments::{CURSOR, Count, Place, Text, arguments, refuse_cursor, row};
use crate::tools::{Call, Run, Tool, rounds};

/// What the sentences before and after the hits may take, in characters.
const REMARK_CHARACTERS: usize = 1_000;

/// What a hit takes besides its texts: line ends, the rank, what kind of match it is.
const FRAME_CHARACTERS: usize = 50;

/// From how many bytes on the text of a hit is long enough for others to have their turn first.
const LONG_TEXT_BYTES: usize = 16 << 10;

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
    needs: Scope::Read,
    arguments: Wanted::TABLE,
    pictures: false,
    has_view: true,
    data: Schema::Object(&[
        always("hits", Schema::List(&HIT)),
        always("total", Schema::Whole),
        always("totalIsExact", Schema::Flag),
        always("note", Schema::Text),
        sometimes("nextCursor", Schema::Text),
    ]),
    run: Run::FromIndex(|call, index, out| Box::pin(run(call, index, out))),
};

/// The shape of a hit.
const HIT: Schema = Schema::Object(&[
    always("round", Schema::Text),
    always("rank", Schema::Whole),
    always("account", Schema::Text),
    always("poem", Schema::Text),
    sometimes("yomi", Schema::Text),
    sometimes("truncated", Schema::Flag),
    always("match", Schema::Words(&["exact", "loose"])),
    sometimes(
        "marked",
        Schema::Object(&[
            always("field", Schema::Words(&["poem", "yomi", "account"])),
            always("text", Schema::Text),
        ]),
    ),
    always("uri", Schema::Text),
]);

arguments! {
    /// What to look for.
    Wanted<'a> {
        query: Text<'a, 200> = row("探す言葉。例: 花、雲 月、account:@Laptop、prompt:moon。"),
        limit: Count<50> = row("一度に返す件数。").or("10"),
        cursor: Place<'a> = CURSOR,
    }
}

/// A hit as it is shown.
struct Shown {
    round: String,
    rank: u32,
    account: Part,
    poem: Part,
    /// The reading, where the match is there.
    yomi: Option<Part>,
    is_loose: bool,
    uri: String,
}

impl Shown {
    /// Returns its texts under their names, those where the match may be first.
    fn parts(&self) -> impl Iterator<Item = (&'static str, &Part)> {
        let yomi = self.yomi.as_ref().map(|yomi| ("yomi", yomi));
        [("poem", &self.poem)].into_iter().chain(yomi).chain([("account", &self.account)])
    }
}

/// A text of an entry, as it is written; of a long one the part around the match.
struct Part {
    text: String,
    /// Where the match is; empty if it is elsewhere.
    marked: Range<usize>,
    /// Whether there is more before and after.
    is_cut: (bool, bool),
}

async fn run(call: Call<'_>, index: &Reading, out: &mut Answer) -> Result<(), ToolError> {
    let wanted = Wanted::read(call.given)?;
    let query = Query::parse(&wanted.query).map_err(refuse)?;
    let digest = index.archive().digest();
    let from = match &wanted.cursor {
        None => 0,
        Some(cursor) => Cursor::parse(cursor, digest).ok_or_else(refuse_cursor)?.offset,
    };
    let round = query.round().map(|title| rounds::find(index, TOOL.name, title)).transpose()?;
    let found = search::search(index, &query, round, from, wanted.limit.0).await.map_err(without_columns)?;
    let pages = try_join_all(found.hits.iter().map(|hit| page_of(index, *hit))).await?;
    let mut shown = Vec::with_capacity(pages.len());
    for (hit, (round, page, position)) in found.hits.iter().zip(&pages) {
        let entry = page.entries.get(*position).ok_or_else(lost)?;
        if entry.text.len() > LONG_TEXT_BYTES {
            // To mark a match in it takes a while.
            tokio::task::yield_now().await;
        }
        shown.push(shown_hit(&query, *hit, round, entry));
    }
    let fitting = fitting(&shown);
    let more = found.more || fitting < shown.len();
    shown.truncate(fitting);

    let note = match shown.len() {
        0 if from == 0 => "見つかりませんでした。言葉を短くするか、かなで試してください。".to_owned(),
        0 => "続きはありません。".to_owned(),
        count => {
            let total = found.total;
            let part = match count {
                _ if from == 0 && !more => String::new(),
                1 => format!("（{}件目を表示）", from + 1),
                _ => format!("（{}〜{}件目を表示）", from + 1, from + count),
            };
            format!("{total}件見つかりました{part}。全文と画像は get_poem で見られます。")
        }
    };
    let mut text = note.clone();
    for hit in &shown {
        hit.tell(&mut text);
    }
    let next = more.then(|| Cursor { offset: from + shown.len() }.encode(digest));
    if let Some(cursor) = &next {
        // In the text too: some clients show the model only the text.
        text.push_str(&format!("\n\n続きがあります。cursor に \"{cursor}\" を渡してください。"));
    }
    call.write(out, &text, |out| {
        field!(out, "hits").array(&shown, write_hit);
        field!(out, "total").number(found.total as u64);
        // Kept for those who ask for it: since keys 2 one scan finds all there are.
        field!(out, "totalIsExact").boolean(true);
        field!(out, "note").string(&note);
        if let Some(cursor) = &next {
            field!(out, "nextCursor").string(cursor);
        }
    });
    Ok(())
}

/// Returns how many hits fit into one answer's text; the first always does.
fn fitting(shown: &[Shown]) -> usize {
    let mut room = MAX_TEXT_CHARACTERS - REMARK_CHARACTERS;
    let fits = |hit: &&Shown| {
        let texts = hit.parts().map(|(_, part)| part.characters()).sum::<usize>();
        let needed = texts + hit.round.chars().count() + FRAME_CHARACTERS;
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
        ReadError::ColumnTooLarge { needed } => {
            tracing::warn!(detail = Detail::of(&error).for_log(), "a search was refused");
            ToolError::NotFound {
                operation: TOOL.name,
                resource_type: "column",
                resource_id: String::new(),
                sentence: format!(
                    "この和歌集の検索用のデータは、いまの設定で使えるメモリーに収まらないため、歌を探せません。運営者が WAKASHU_SEARCH_BYTES を {needed} 以上にすると探せます。list_rounds と get_wakashu_ranking では読めます。"
                ),
            }
        }
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

fn lost() -> ToolError {
    ToolError::Internal(Detail::note("a hit lies outside the archive"))
}

/// Returns the round of a hit, the page it is on and where on it.
async fn page_of(index: &Reading, hit: Hit) -> Result<(&ArchivedRound, PageView, usize), ToolError> {
    let (round, chunk, position) = index.archive().locate(hit.ordinal).ok_or_else(lost)?;
    Ok((round, index.page(chunk).await?, position))
}

/// Takes of an entry what a hit shows, with the match where it is shown.
fn shown_hit(query: &Query, hit: Hit, round: &ArchivedRound, entry: &ArchivedEntry) -> Shown {
    let poem = unescape(entry.poem_escaped());
    let account = unescape(entry.account_escaped());
    let yomi = entry.yomi.as_ref().map(|yomi| unescape(yomi));
    let (mut in_poem, mut in_yomi, mut in_account) = (None, None, None);
    match query.mark(&poem, yomi.as_deref(), &account, hit.loose) {
        Some(Mark::Poem(range)) => in_poem = Some(range),
        Some(Mark::Yomi(range)) => in_yomi = Some(range),
        Some(Mark::Account(range)) => in_account = Some(range),
        None => {}
    }
    Shown {
        round: shortened(&round.title, MAX_TITLE_CHARACTERS),
        rank: entry.rank.to_native(),
        account: Part::of(account, in_account, MAX_TITLE_CHARACTERS),
        poem: Part::of(poem, in_poem, MAX_POEM_CHARACTERS),
        yomi: yomi.zip(in_yomi).map(|(yomi, range)| Part::of(yomi, Some(range), MAX_POEM_CHARACTERS)),
        is_loose: hit.loose,
        uri: uri::of_entry(&round.title, entry.rank.to_native()),
    }
}

impl Shown {
    /// Tells readers of the hit, with the match marked.
    fn tell(&self, text: &mut String) {
        let mut number = itoa::Buffer::new();
        for part in ["\n\n", &self.round, " ", number.format(self.rank), "位："] {
            text.push_str(part);
        }
        self.account.tell(text);
        text.push('\n');
        self.poem.tell(text);
        if let Some(yomi) = &self.yomi {
            text.push_str("\nよみ: ");
            yomi.tell(text);
        }
        if self.is_loose {
            text.push_str("\n（表記ゆれを含む一致）");
        }
    }
}

impl Part {
    /// Takes at most `most` characters around the match, the marks counted.
    fn of(text: Cow<'_, str>, marked: Option<Range<usize>>, most: usize) -> Self {
        let marked = marked.filter(|range| text.get(range.clone()).is_some()).unwrap_or_default();
        let part = around(&text, marked.start, if marked.is_empty() { most } else { most - 2 });
        if part == (0..text.len()) {
            return Self { text: text.into_owned(), marked, is_cut: (false, false) };
        }
        let inside = |at: usize| at.clamp(part.start, part.end) - part.start;
        Self {
            marked: inside(marked.start)..inside(marked.end),
            is_cut: (part.start > 0, part.end < text.len()),
            text: text.get(part).unwrap_or_default().to_owned(),
        }
    }

    /// Returns the match.
    fn marked(&self) -> &str {
        self.text.get(self.marked.clone()).unwrap_or_default()
    }

    /// Returns how many characters readers are told.
    fn characters(&self) -> usize {
        let marks = if self.marked.is_empty() { 0 } else { 2 };
        self.text.chars().count() + marks + usize::from(self.is_cut.0) + usize::from(self.is_cut.1)
    }

    /// Tells readers the text, with the match marked and an ellipsis where it goes on.
    fn tell(&self, out: &mut String) {
        let piece = |range: Range<usize>| self.text.get(range).unwrap_or_default();
        out.push_str(if self.is_cut.0 { "…" } else { "" });
        out.push_str(piece(0..self.marked.start));
        if !self.marked.is_empty() {
            out.push('【');
            out.push_str(self.marked());
            out.push('】');
        }
        out.push_str(piece(self.marked.end..self.text.len()));
        out.push_str(if self.is_cut.1 { "…" } else { "" });
    }
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

/// Writes a hit for programs: its texts as they are written, and what matched beside them.
fn write_hit(out: &mut Answer, hit: &Shown) {
    out.object(|out| {
        field!(out, "round").string(&hit.round);
        field!(out, "rank").number(u64::from(hit.rank));
        field!(out, "account").string(&hit.account.text);
        field!(out, "poem").string(&hit.poem.text);
        if let Some(yomi) = &hit.yomi {
            field!(out, "yomi").string(&yomi.text);
        }
        if hit.parts().any(|(_, part)| part.is_cut != (false, false)) {
            field!(out, "truncated").boolean(true);
        }
        field!(out, "match").string(if hit.is_loose { "loose" } else { "exact" });
        if let Some((name, part)) = hit.parts().find(|(_, part)| !part.marked.is_empty()) {
            field!(out, "marked").object(|out| {
                field!(out, "field").string(name);
                field!(out, "text").string(part.marked());
            });
        }
        field!(out, "uri").string(&hit.uri);
    });
}

#[cfg(test)]
mod tests {
    use super::Part;

    #[test]
    fn a_match_is_marked_and_stays_in_view() {
        let told = |text: &str, marked, most| {
            let part = Part::of(text.into(), marked, most);
            let mut told = String::new();
            part.tell(&mut told);
            assert_eq!(told.chars().count(), part.characters(), "{told}");
            assert!(text.contains(&part.text), "as it is written: {}", part.text);
            told
        };
        assert_eq!(told("花の色は", Some(3..6), 10), "花【の】色は");
        assert_eq!(told("花の色は", None, 10), "花の色は");
        assert_eq!(told("一二三四五六七八九十", None, 4), "一二三四…");
        let long = "一二三四五六七八九十";
        assert_eq!(told(long, Some(15..18), 6), "…四五【六】七…");
        assert_eq!(told(long, Some(27..30), 6), "…七八九【十】");
        // Marks of the text's own are not taken for ours, and a match that does not fit is closed all the same.
        assert_eq!(told("【題】三四五六七八九十", Some(24..27), 6), "…六七【八】九…");
        assert_eq!(told(long, Some(0..30), 6), "【一二三四】…");
    }
}
