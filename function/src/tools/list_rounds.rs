//! `list_rounds`: the rounds with their periods and sizes, page by page, optionally by date.

use wakashu_archive::{ArchivedRound, Period};

use crate::exchange::Scope;
use crate::fault::{Received, ToolError};
use crate::served::cursor::Cursor;
use crate::served::snapshot::shortened;
use crate::served::uri;
use crate::text::Answer;
use crate::tools::arguments::{CURSOR, refuse_cursor, refuse_form};
use crate::tools::{Call, Form, Kind, Parameter, Tool, rounds};

pub(super) static TOOL: Tool = Tool {
    name: "list_rounds",
    title: "回の一覧",
    description: "「{title}」の回の一覧（題、編纂時期、投稿数）を返します。日付で絞り込めます。",
    version: "1.0.0",
    category: "rounds",
    tags: &["回", "一覧", "編纂時期"],
    examples: &["{}", r#"{"start_date":"2025年4月","end_date":"2025-06-30"}"#, r#"{"limit":10}"#],
    needs_index: true,
    needs: Scope::Read,
    parameters: &[
        Parameter {
            name: "start_date",
            kind: Kind::Text { max_characters: 32 },
            pattern: None,
            description: "この日以降にかかる回。例: 2025-04-01、2025年4月、2025年。",
            default: None,
            required: false,
        },
        Parameter {
            name: "end_date",
            kind: Kind::Text { max_characters: 32 },
            pattern: None,
            description: "この日以前にかかる回。例: 2025-04-30、2025年4月、2025年。",
            default: None,
            required: false,
        },
        Parameter {
            name: "limit",
            kind: Kind::Integer { minimum: 1, maximum: 100 },
            pattern: None,
            description: "一度に返す回の数。",
            default: Some("50"),
            required: false,
        },
        CURSOR,
    ],
    pictures: false,
    data_schema: concat!(
        r#"{"type":"object","required":["title","total","rounds"],"properties":{"title":{"type":"string"},"#,
        r#""total":{"type":"integer"},"undated":{"type":"integer"},"nextCursor":{"type":"string"},"#,
        r#""rounds":{"type":"array","items":{"type":"object","required":["title","entries","pictures","uri"],"#,
        r#""properties":{"title":{"type":"string"},"number":{"type":"integer"},"start":{"type":"string"},"#,
        r#""end":{"type":"string"},"entries":{"type":"integer"},"pictures":{"type":"integer"},"#,
        r#""firstRank":{"type":"integer"},"lastRank":{"type":"integer"},"uri":{"type":"string"}}}}}}"#
    ),
    run: |call, out| Box::pin(std::future::ready(run(call, out))),
};

/// The days a reader asks about; open where nothing was said.
#[derive(Debug, Clone, Copy)]
struct Window {
    period: Period,
    given: bool,
}

fn run(call: Call<'_>, out: &mut Answer) -> Result<(), ToolError> {
    let Some(index) = call.snapshot.index() else {
        return Err(ToolError::IndexUnavailable { configured: call.snapshot.is_configured() });
    };
    let archive = index.archive();
    let window = window(&call)?;
    let limit = usize::try_from(call.arguments.integer("limit").unwrap_or(50)).unwrap_or(50);
    let from = match call.arguments.text("cursor") {
        None => 0,
        Some(cursor) => Cursor::parse(cursor, archive.digest()).ok_or_else(refuse_cursor)?.offset,
    };

    let all = &archive.root().rounds;
    let matches = |round: &ArchivedRound| {
        !window.given || rounds::period(round).is_some_and(|period| period.overlaps(window.period))
    };
    let total = all.iter().filter(|round| matches(round)).count();
    let undated = all.iter().filter(|round| round.period.is_none()).count();
    let mut listed: Vec<(usize, &ArchivedRound)> =
        all.iter().enumerate().skip(from).filter(|(_, round)| matches(round)).take(limit + 1).collect();
    let next = if listed.len() > limit { listed.pop().map(|(position, _)| position) } else { None };

    let mut text = format!("「{}」の回は{total}件です。", call.snapshot.title());
    for (_, round) in &listed {
        text.push('\n');
        text.push_str(&line(round));
    }
    if window.given && undated > 0 {
        text.push_str(&format!(
            "\n編纂時期の分からない回が{undated}件あり、日付では絞り込めないため含めていません。"
        ));
    }
    let next = next.map(|offset| Cursor { offset }.encode(archive.digest()));
    if let Some(cursor) = &next {
        // In the text too: some clients show the model nothing else.
        text.push_str(&format!("\n続きがあります。cursor に \"{cursor}\" を渡してください。"));
    }
    if call.form == Form::Result {
        out.raw(r#""content":[{"type":"text","text":"#).string(&text).raw(r#"}],"structuredContent":"#);
    }
    out.raw(r#"{"title":"#).string(call.snapshot.title());
    out.raw(r#","total":"#).number(total as u64);
    if window.given {
        out.raw(r#","undated":"#).number(undated as u64);
    }
    out.raw(r#","rounds":["#);
    for (at, (_, round)) in listed.iter().enumerate() {
        out.raw(if at == 0 { "" } else { "," });
        write_round(out, round);
    }
    out.raw("]");
    if let Some(cursor) = next {
        out.raw(r#","nextCursor":"#).string(&cursor);
    }
    out.raw("}");
    Ok(())
}

fn window(call: &Call<'_>) -> Result<Window, ToolError> {
    let day = |name: &'static str| {
        let text = call.arguments.text(name);
        text.map(|text| Period::parse(text).map_err(|_| refuse_form(&TOOL, name))).transpose()
    };
    let (start, end) = (day("start_date")?, day("end_date")?);
    let first = start.map_or(wakashu_archive::Date { year: 1, month: 1, day: 1 }, |period| period.start);
    let last = end.map_or(wakashu_archive::Date { year: 9999, month: 12, day: 31 }, |period| period.end);
    if first > last {
        return Err(ToolError::Validation {
            field: "end_date".to_owned(),
            expected: "start_date 以降の日付を渡してください。".to_owned(),
            received: Received::Text,
            constraint: "range",
        });
    }
    Ok(Window { period: Period { start: first, end: last }, given: start.is_some() || end.is_some() })
}

fn line(round: &ArchivedRound) -> String {
    let title = shortened(&round.title, 100);
    let entries = round.entries.to_native();
    match rounds::period(round) {
        Some(period) => format!("{title}（{}〜{}）: {entries}首", period.start, period.end),
        None => format!("{title}: {entries}首"),
    }
}

/// Writes a round as structured data; the resource `wakashu://rounds` shows the same.
pub(crate) fn write_round(out: &mut Answer, round: &ArchivedRound) {
    out.raw(r#"{"title":"#).string(&round.title);
    if let Some(number) = round.number.as_ref() {
        out.raw(r#","number":"#).number(u64::from(number.to_native()));
    }
    if let Some(period) = rounds::period(round) {
        out.raw(r#","start":"#).string(&period.start.to_string());
        out.raw(r#","end":"#).string(&period.end.to_string());
    }
    out.raw(r#","entries":"#).number(u64::from(round.entries.to_native()));
    out.raw(r#","pictures":"#).number(u64::from(round.pictures.to_native()));
    if let Some((first, last)) = round.rank_bounds() {
        out.raw(r#","firstRank":"#).number(u64::from(first)).raw(r#","lastRank":"#).number(u64::from(last));
    }
    out.raw(r#","uri":"wakashu://rounds/"#).raw(&uri::encode(&round.title)).raw("\"}");
}
