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
        (format!("{}時期を書きます。今は{}が書かれています。", about.ja(), found.ja()), SHAPES_JA),
    )
}

pub(crate) fn key_unknown(about: About<'_>, key: &str) -> Wording {
    Wording::new(
        "KEY_UNKNOWN",
        (
            format!("{}key `{key}` is not known here and is ignored", about.en()),
            "a period has `Start` and `End`, or `開始` and `終了`; a round's own file may also have `Theme`, `Comment` and `Draft`",
        ),
        (
            format!("{}「{key}」という項目はありません。使われません。", about.ja()),
            "時期に書けるのは「開始」と「終了」（または「Start」と「End」）です。回ごとのファイルには「お題」「講評」「下書き」も書けます。",
        ),
    )
}

/// A key that is nearly one that says something about the round.
pub(crate) fn key_near(found: &str, known: &str) -> Wording {
    Wording::new(
        "KEY_NEAR",
        (
            format!("key `{found}` is not known here; did you mean `{known}`?"),
            format!("rename key `{found}` to `{known}`"),
        ),
        (
            format!("「{found}」という項目はありません。「{known}」の書き間違いではありませんか。"),
            format!("「{known}」のつもりなら、名前を直してください。"),
        ),
    )
}

/// Something about one round stands in the map of all rounds.
pub(crate) fn only_in_own_file(about: About<'_>, key: &str) -> Wording {
    Wording::new(
        "KEY_MISPLACED",
        (
            format!("{}`{key}` has no meaning in the map of all rounds", about.en()),
            "write it into `編纂時期.json` in the round's own directory",
        ),
        (
            format!("{}「{key}」は、ここには書けません。", about.ja()),
            "その回のフォルダーに「編纂時期.json」を置いて、そこに書いてください。",
        ),
    )
}

pub(crate) fn must_be_bool(key: &str, found: Kind) -> Wording {
    Wording::new(
        "VALUE_KIND",
        (
            format!("`{key}` must be true or false, found {}", found.en()),
            format!("write \"{key}\": true, without quotes, or remove the key"),
        ),
        (
            format!("「{key}」には true か false を書きます。今は{}が書かれています。", found.ja()),
            format!(
                "下書きなら \"{key}\": true と、引用符を付けずに書いてください。公開するなら、この行を消してください。"
            ),
        ),
    )
}

/// A text about a round that is longer than readers should have to load.
pub(crate) fn text_too_long(key: &str, found: usize, most: usize) -> Wording {
    Wording::new(
        "TEXT_TOO_LONG",
        (format!("`{key}` has {found} characters; at most {most} are accepted"), "shorten the text"),
        (format!("「{key}」が長すぎます（{found} 字）。{most} 字まで書けます。"), "文章を短くしてください。"),
    )
}

pub(crate) fn must_be_date(about: About<'_>, key: &str, found: Kind) -> Wording {
    Wording::new(
        "VALUE_KIND",
        (format!("{}`{key}` must be a date, found {}", about.en(), found.en()), SHAPES),
        (
            format!("{}「{key}」には日付を書きます。今は{}が書かれています。", about.ja(), found.ja()),
            SHAPES_JA,
        ),
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
