//! `list_rounds`: the rounds with their periods and sizes, page by page, optionally by date.

use wakashu_archive::{ArchivedRound, ArchivedRoundExtra, Date, Period};

use crate::exchange::Scope;
use crate::fault::{Received, ToolError};
use crate::served::cursor::Cursor;
use crate::served::reading::Reading;
use crate::served::snapshot::shortened;
use crate::served::uri;
use crate::text::schema::{Schema, always, sometimes};
use crate::text::{Answer, field};
use crate::tools::arguments::{CURSOR, Count, Place, arguments, refuse_cursor, row};
use crate::tools::{Call, Run, Tool, rounds};

/// Most characters of a text about a round in a list of many; the round's own resource has all of it.
const MAX_EXTRA_CHARACTERS: usize = 200;

pub(super) static TOOL: Tool = Tool {
    name: "list_rounds",
    title: "回の一覧",
    description: "「{title}」の回の一覧（題、編纂時期、投稿数）を返します。日付で絞り込めます。",
    version: "1.0.0",
    category: "rounds",
    tags: &["回", "一覧", "編纂時期"],
    examples: &["{}", r#"{"start_date":"2025年4月","end_date":"2025-06-30"}"#, r#"{"limit":10}"#],
    needs: Scope::Read,
    arguments: Wanted::TABLE,
    pictures: false,
    has_view: false,
    data: Schema::Object(&[
        always("title", Schema::Text),
        always("total", Schema::Whole),
        sometimes("undated", Schema::Whole),
        sometimes("note", Schema::Text),
        sometimes("nextCursor", Schema::Text),
        always("rounds", Schema::List(&ROUND)),
    ]),
    run: Run::FromIndex(|call, index, out| Box::pin(std::future::ready(run(call, index, out)))),
};

arguments! {
    /// Which rounds to list.
    Wanted<'a> {
        start_date: Option<Period> = row("編纂時期がこの日以降にかかる回に絞ります。例: 2025-04-01、2025年4月、2025年。"),
        end_date: Option<Period> = row("編纂時期がこの日以前にかかる回に絞ります。例: 2025-04-30、2025年4月、2025年。"),
        limit: Count<100> = row("一度に返す回の数。").or("50"),
        cursor: Place<'a> = CURSOR,
    }
}

impl Wanted<'_> {
    /// Returns the days a reader asks about, open where nothing was said; `None` where nothing was said at all.
    fn window(&self) -> Result<Option<Period>, ToolError> {
        if self.start_date.is_none() && self.end_date.is_none() {
            return Ok(None);
        }
        let start = self.start_date.map_or(Date { year: 1, month: 1, day: 1 }, |period| period.start);
        let end = self.end_date.map_or(Date { year: 9999, month: 12, day: 31 }, |period| period.end);
        if start > end {
            return Err(ToolError::Validation {
                field: "end_date".to_owned(),
                expected: "start_date 以降の日付を渡してください。".to_owned(),
                received: Received::Text,
                constraint: "range",
            });
        }
        Ok(Some(Period { start, end }))
    }
}

fn run(call: Call<'_>, index: &Reading, out: &mut Answer) -> Result<(), ToolError> {
    let wanted = Wanted::read(call.given)?;
    let archive = index.archive();
    let window = wanted.window()?;
    let from = match &wanted.cursor {
        None => 0,
        Some(cursor) => Cursor::parse(cursor, archive.digest()).ok_or_else(refuse_cursor)?.offset,
    };

    let all = &archive.root().rounds;
    let matches = |round: &ArchivedRound| {
        window.is_none_or(|window| rounds::period(round).is_some_and(|period| period.overlaps(window)))
    };
    let total = all.iter().filter(|round| matches(round)).count();
    let undated = all.iter().filter(|round| round.period.is_none()).count();
    let undated = window.map(|_| undated);
    let limit = wanted.limit.0;
    let mut listed: Vec<(usize, &ArchivedRound)> =
        all.iter().enumerate().skip(from).filter(|(_, round)| matches(round)).take(limit + 1).collect();
    let next = if listed.len() > limit { listed.pop().map(|(position, _)| position) } else { None };

    let title = call.snapshot.title();
    let mut text = match total {
        0 => format!("「{title}」に当てはまる回はありません。"),
        _ => format!("「{title}」には{total}回分の投稿があります。"),
    };
    for (_, round) in &listed {
        text.push('\n');
        text.push_str(&line(round));
    }
    let note = undated.filter(|undated| *undated > 0).map(|undated| {
        format!("編纂時期の分からない回が{undated}件あり、日付では絞り込めないため含めていません。")
    });
    if let Some(note) = &note {
        text.push('\n');
        text.push_str(note);
    }
    let next = next.map(|offset| Cursor { offset }.encode(archive.digest()));
    if let Some(cursor) = &next {
        // In the text too: some clients show the model only the text.
        text.push_str(&format!("\n続きがあります。cursor に \"{cursor}\" を渡してください。"));
    }
    call.write(out, &text, |out| {
        field!(out, "title").string(call.snapshot.title());
        field!(out, "total").number(total as u64);
        if let Some(undated) = undated {
            field!(out, "undated").number(undated as u64);
        }
        if let Some(note) = &note {
            field!(out, "note").string(note);
        }
        field!(out, "rounds").array(listed, |out, (_, round)| write_round(out, round));
        if let Some(cursor) = &next {
            field!(out, "nextCursor").string(cursor);
        }
    });
    Ok(())
}

fn line(round: &ArchivedRound) -> String {
    let title = shortened(&round.title, 100);
    let entries = round.entries.to_native();
    let mut line = match rounds::period(round) {
        Some(period) => format!("{title}（{}〜{}）: {entries}首", period.start, period.end),
        None => format!("{title}: {entries}首"),
    };
    for extra in rounds::extras(round) {
        line.push_str(&format!("\n  {}: {}", extra_title(extra), extra_text(extra).replace('\n', " ")));
    }
    line
}

fn extra_title(extra: &ArchivedRoundExtra) -> String {
    shortened(&extra.title, 100)
}

fn extra_text(extra: &ArchivedRoundExtra) -> String {
    shortened(&extra.text, MAX_EXTRA_CHARACTERS)
}

/// The shape of a round.
const ROUND: Schema = Schema::Object(&[
    always("title", Schema::Text),
    sometimes("number", Schema::Whole),
    sometimes("start", Schema::Text),
    sometimes("end", Schema::Text),
    always("entries", Schema::Whole),
    always("pictures", Schema::Whole),
    sometimes("firstRank", Schema::Whole),
    sometimes("lastRank", Schema::Whole),
    sometimes("extras", Schema::Map(&Schema::Text)),
    always("uri", Schema::Text),
]);

/// Writes a round as structured data; the resource `wakashu://rounds` shows the same.
pub(crate) fn write_round(out: &mut Answer, round: &ArchivedRound) {
    out.object(|out| {
        field!(out, "title").string(&round.title);
        if let Some(number) = round.number.as_ref() {
            field!(out, "number").number(u64::from(number.to_native()));
        }
        if let Some(period) = rounds::period(round) {
            field!(out, "start").string(&period.start.to_string());
            field!(out, "end").string(&period.end.to_string());
        }
        field!(out, "entries").number(u64::from(round.entries.to_native()));
        field!(out, "pictures").number(u64::from(round.pictures.to_native()));
        if let Some((first, last)) = round.rank_bounds() {
            field!(out, "firstRank").number(u64::from(first));
            field!(out, "lastRank").number(u64::from(last));
        }
        if rounds::extras(round).next().is_some() {
            field!(out, "extras").object(|out| {
                for extra in rounds::extras(round) {
                    out.item().string(&extra_title(extra)).colon().string(&extra_text(extra));
                }
            });
        }
        field!(out, "uri").string(&uri::of_round(&round.title));
    });
}
