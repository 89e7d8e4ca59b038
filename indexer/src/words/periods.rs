//! About compilation periods.

use wakashu_archive::{Date, DateError};

use super::Wording;
use super::json::Kind;

const SHAPES: &str =
    "write {\"Start\": \"2025-04-01\", \"End\": \"2025-05-31\"} or one date such as \"2025年4月\"";
const SHAPES_JA: &str =
    "{\"Start\": \"2025-04-01\", \"End\": \"2025-05-31\"} か、\"2025年4月\" のように書いてください。";

/// What a message is about: a round of the map, a key of the period, or neither.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct About<'a> {
    pub(crate) round: Option<&'a str>,
    pub(crate) key: Option<&'a str>,
}

impl<'a> About<'a> {
    pub(crate) fn key(self, key: &'a str) -> Self {
        Self { key: Some(key), ..self }
    }

    fn en(self) -> String {
        let round = self.round.map(|round| format!("round `{round}`: ")).unwrap_or_default();
        let key = self.key.map(|key| format!("`{key}`: ")).unwrap_or_default();
        round + &key
    }

    fn ja(self) -> String {
        match (self.round, self.key) {
            (Some(round), Some(key)) => format!("「{round}」の「{key}」："),
            (Some(one), None) | (None, Some(one)) => format!("「{one}」："),
            (None, None) => String::new(),
        }
    }
}

pub(crate) fn not_a_map() -> Wording {
    Wording::new(
        "PERIOD_MAP",
        (
            "expected a map from round title to period",
            "at the root write {\"第1回\": {\"Start\": \"…\", \"End\": \"…\"}}, or move the file into its round",
        ),
        (
            "ここには、回の名前ごとに時期を書きます。",
            "{\"第1回\": {\"Start\": \"…\", \"End\": \"…\"}} のように書くか、このファイルをその回のフォルダーに移してください。",
        ),
    )
}

pub(crate) fn round_twice(round: &str) -> Wording {
    Wording::new(
        "KEY_TWICE",
        (format!("round `{round}` stands more than once"), "keep one of them"),
        (format!("「{round}」が二つ以上あります。"), "一つだけ残してください。"),
    )
}

pub(crate) fn not_a_period(about: About<'_>, found: Kind) -> Wording {
    Wording::new(
        "PERIOD_KIND",
        (format!("{}expected a period, found {}", about.en(), found.en()), SHAPES),
        (format!("{}時期を書きます。ここにあるのは{}です。", about.ja(), found.ja()), SHAPES_JA),
    )
}

pub(crate) fn key_unknown(about: About<'_>, key: &str) -> Wording {
    Wording::new(
        "KEY_UNKNOWN",
        (
            format!("{}key `{key}` is not known here and is ignored", about.en()),
            "a period has `Start` and `End`, or `開始` and `終了`",
        ),
        (
            format!("{}「{key}」という項目はありません。使われません。", about.ja()),
            "時期に書けるのは「Start」と「End」（または「開始」と「終了」）です。",
        ),
    )
}

pub(crate) fn must_be_date(about: About<'_>, key: &str, found: Kind) -> Wording {
    Wording::new(
        "VALUE_KIND",
        (format!("{}`{key}` must be a date, found {}", about.en(), found.en()), SHAPES),
        (format!("{}「{key}」には日付を書きます。ここにあるのは{}です。", about.ja(), found.ja()), SHAPES_JA),
    )
}

pub(crate) fn edge_twice(about: About<'_>, start: bool) -> Wording {
    let (en, ja) = if start { ("start", "始まり") } else { ("end", "終わり") };
    Wording::new(
        "KEY_TWICE",
        (format!("{}the {en} is given more than once", about.en()), "keep one of them"),
        (format!("{}{ja}の日付が二つ以上あります。", about.ja()), "一つだけ残してください。"),
    )
}

pub(crate) fn edge_missing(about: About<'_>, has_start: bool, has_end: bool) -> Wording {
    let (given, missing, ja) = match (has_start, has_end) {
        (true, _) => ("a start", "`End` (or `終了`)", "終わりの日付「End」（または「終了」）がありません。"),
        (_, true) => {
            ("an end", "`Start` (or `開始`)", "始まりの日付「Start」（または「開始」）がありません。")
        }
        _ => (
            "neither start nor end",
            "`Start` and `End` (or `開始` and `終了`)",
            "始まりの「Start」と終わりの「End」（または「開始」と「終了」）がありません。",
        ),
    };
    Wording::new(
        "KEY_MISSING",
        (format!("{}period has {given}; {missing} is missing", about.en()), SHAPES),
        (format!("{}{ja}", about.ja()), SHAPES_JA),
    )
}

pub(crate) fn reversed(about: About<'_>, start: Date, end: Date) -> Wording {
    Wording::new(
        "PERIOD_REVERSED",
        (
            format!("{}period is reversed: it starts on {start} and ends on {end}", about.en()),
            "exchange start and end",
        ),
        (
            format!("{}始まり（{start}）が終わり（{end}）よりあとになっています。", about.ja()),
            "始まりと終わりの日付を入れ替えてください。",
        ),
    )
}

pub(crate) fn not_a_date(about: About<'_>, shown: &str, error: &DateError) -> Wording {
    let (hint, ja, hint_ja) = match error {
        DateError::NoSuchDay { .. } => (
            "look at the calendar: the day, the month or the year does not exist",
            "という日は、こよみにありません。",
            "年、月、日を確かめてください。",
        ),
        _ => (SHAPES, "は日付として読めません。", SHAPES_JA),
    };
    Wording::new(
        "DATE",
        (format!("{}`{shown}` is not a date: {error}", about.en()), hint),
        (format!("{}「{shown}」{ja}", about.ja()), hint_ja),
    )
}

/// A date in a form that was read all the same.
pub(crate) fn date_read_as(about: About<'_>, shown: &str, read: &str) -> Wording {
    Wording::new(
        "DATE_SPELLING",
        (
            format!("{}`{shown}` is read as {read}", about.en()),
            format!("write {read}; `check --fix` does it"),
        ),
        (
            format!("{}「{shown}」を{read}と読みました。", about.ja()),
            format!("「{read}」と書いてください。check --fix でも直せます。"),
        ),
    )
}

pub(crate) fn unknown_round(title: &str) -> Wording {
    Wording::new(
        "PERIOD_ROUND_UNKNOWN",
        (
            format!("period of an unknown round `{title}` is ignored"),
            "use the title of a round's directory as the key",
        ),
        (
            format!("「{title}」という回はありません。この時期は使われません。"),
            "回のフォルダーの名前と同じ名前にしてください。",
        ),
    )
}

pub(crate) fn same_round(one: &str, other: &str) -> Wording {
    Wording::new(
        "PERIOD_ROUND_TWICE",
        (format!("`{one}` and `{other}` name the same round"), "keep one of them"),
        (format!("「{one}」と「{other}」は同じ回です。"), "どちらか一つだけ残してください。"),
    )
}
