//! `編纂時期.json`: when a round was compiled, beside the round or for many rounds at the root.

use serde_json::value::RawValue;
use unicode_normalization::UnicodeNormalization;
use wakashu_archive::{DateError, Period};

use super::json::{Fault, Members, kind, parse_value, string, text_of};

/// The single key under which a period may stand.
const WRAPPER: &str = "編纂時期";

const SHAPES: &str =
    "write {\"Start\": \"2025-04-01\", \"End\": \"2025-05-31\"} or one date such as \"2025年4月\"";

/// What a period file came to: the part that could be read, and what was wrong with the rest.
#[derive(Debug, Default)]
pub struct Read<T> {
    /// What could be read.
    pub value: T,
    /// What keeps the file from being used.
    pub errors: Vec<Fault>,
    /// What is odd about it.
    pub warnings: Vec<Fault>,
}

/// Reads a round's own file.
pub fn parse_round(bytes: &[u8]) -> Read<Option<Period>> {
    let mut read = Read::default();
    match text_of(bytes).and_then(parse_value) {
        Ok(value) => read.value = period(value, "", true, &mut read.errors, &mut read.warnings),
        Err(fault) => read.errors.push(fault),
    }
    read
}

/// Reads the root's file: a map from round title to period. Titles come as written, in file order.
pub fn parse_map(bytes: &[u8]) -> Read<Vec<(String, Period)>> {
    let mut read = Read::default();
    let value = match text_of(bytes).and_then(parse_value) {
        Ok(value) => value,
        Err(fault) => {
            read.errors.push(fault);
            return read;
        }
    };
    let expected = || {
        Fault::new(
            "expected a map from round title to period",
            "at the root write {\"第1回\": {\"Start\": \"…\", \"End\": \"…\"}}, or move the file into its round",
        )
    };
    let members = match unwrapped(value).map(Members::of) {
        Ok(Some(Ok(members))) => members,
        Ok(None) => {
            read.errors.push(expected());
            return read;
        }
        Ok(Some(Err(fault))) | Err(fault) => {
            read.errors.push(fault);
            return read;
        }
    };
    for key in members.duplicated_keys() {
        read.errors.push(Fault::new(format!("round `{key}` stands more than once"), "keep one of them"));
    }
    if members.0.iter().any(|(key, value)| edge(key).is_some() && value.get().starts_with('"')) {
        read.errors.push(expected());
        return read;
    }
    for (title, value) in members.0 {
        let about = format!("round `{title}`: ");
        if let Some(period) = period(value, &about, true, &mut read.errors, &mut read.warnings) {
            read.value.push((title, period));
        }
    }
    read
}

/// Takes a value out of the single key `編纂時期`, if it stands under it.
fn unwrapped(value: &RawValue) -> Result<&RawValue, Fault> {
    let Some(members) = Members::of(value) else { return Ok(value) };
    match members?.0.as_slice() {
        [(key, inner)] if key.nfc().eq(WRAPPER.chars()) => Ok(inner),
        _ => Ok(value),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Edge {
    Start,
    End,
}

fn edge(key: &str) -> Option<Edge> {
    match key {
        "Start" | "開始" => Some(Edge::Start),
        "End" | "終了" => Some(Edge::End),
        _ => None,
    }
}

/// Reads one period in any of its shapes; `about` opens every message.
fn period(
    value: &RawValue,
    about: &str,
    may_be_wrapped: bool,
    errors: &mut Vec<Fault>,
    warnings: &mut Vec<Fault>,
) -> Option<Period> {
    if let Some(text) = string(value) {
        return text.and_then(|text| days(&text, about)).map_err(|fault| errors.push(fault)).ok();
    }
    let members = match Members::of(value) {
        Some(Ok(members)) => members,
        Some(Err(fault)) => {
            errors.push(fault);
            return None;
        }
        None => {
            errors.push(Fault::new(format!("{about}expected a period, found {}", kind(value)), SHAPES));
            return None;
        }
    };
    if let ([(key, inner)], true) = (members.0.as_slice(), may_be_wrapped)
        && key.nfc().eq(WRAPPER.chars())
    {
        return period(inner, about, false, errors, warnings);
    }

    let before = errors.len();
    let (mut start, mut end) = (None, None);
    for (key, value) in &members.0 {
        let Some(edge) = edge(key) else {
            warnings.push(Fault::new(
                format!("{about}key `{key}` is not known here and is ignored"),
                "a period has `Start` and `End`, or `開始` and `終了`",
            ));
            continue;
        };
        let slot = if edge == Edge::Start { &mut start } else { &mut end };
        let wrong_kind =
            || Fault::new(format!("{about}`{key}` must be a date, found {}", kind(value)), SHAPES);
        let text = string(value).unwrap_or_else(|| Err(wrong_kind()));
        match text.and_then(|text| days(&text, &format!("{about}`{key}`: "))) {
            Ok(_) if slot.is_some() => errors.push(Fault::new(
                format!(
                    "{about}the {} is given more than once",
                    if edge == Edge::Start { "start" } else { "end" }
                ),
                "keep one of them",
            )),
            Ok(days) => *slot = Some(days),
            Err(fault) => errors.push(fault),
        }
    }
    if errors.len() > before {
        return None;
    }
    let (Some(start), Some(end)) = (start, end) else {
        let (given, missing) = match (start, end) {
            (Some(_), _) => ("a start", "`End` (or `終了`)"),
            (_, Some(_)) => ("an end", "`Start` (or `開始`)"),
            _ => ("neither start nor end", "`Start` and `End` (or `開始` and `終了`)"),
        };
        errors.push(Fault::new(format!("{about}period has {given}; {missing} is missing"), SHAPES));
        return None;
    };
    let period = Period { start: start.start, end: end.end };
    if period.end < period.start {
        errors.push(Fault::new(
            format!("{about}period is reversed: it starts on {} and ends on {}", period.start, period.end),
            "exchange start and end",
        ));
        return None;
    }
    Some(period)
}

fn days(text: &str, about: &str) -> Result<Period, Fault> {
    // Longer texts are no date, and there is no use in printing them.
    let shown: String = text.chars().take(40).collect();
    Period::parse(text).map_err(|error| {
        let hint = match error {
            DateError::NoSuchDay { .. } => {
                "look at the calendar: the day, the month or the year does not exist"
            }
            _ => SHAPES,
        };
        Fault::new(format!("{about}`{shown}` is no date: {error}"), hint)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let read = parse_round(text.as_bytes());
        match (read.value, read.errors.first()) {
            (Some(period), None) => format!("{}..{}", period.start, period.end),
            (_, Some(fault)) => fault.message.clone(),
            _ => "nothing".to_owned(),
        }
    }

    #[test]
    fn every_shape_of_a_period_is_read() {
        for text in [
            "{\"Start\":\"2025-04-01\",\"End\":\"2025-05-31\"}",
            "\u{feff}{\"開始\":\"2025年4月\",\"終了\":\"2025/5\"}\r\n",
            "{\"編纂時期\":{\"Start\":\"2025年4月1日\",\"終了\":\"2025年5月31日\"}}",
        ] {
            assert_eq!(shown(text), "2025-04-01..2025-05-31", "{text}");
        }
        assert_eq!(shown("\"2025年\""), "2025-01-01..2025-12-31");
        assert_eq!(shown("{\"編纂時期\":\"2025年11月\"}"), "2025-11-01..2025-11-30");
    }

    #[test]
    fn what_is_no_period_says_why() {
        for (text, part) in [
            ("{\"Start\":\"2025-05-31\",\"End\":\"2025-04-01\"}", "reversed"),
            ("{\"Start\":\"2025-02-30\",\"End\":\"2025-04-01\"}", "no such day"),
            ("{\"Start\":\"spring\",\"End\":\"2025-04-01\"}", "`Start`: `spring` is no date"),
            ("{\"Start\":\"2025-05-31\"}", "`End` (or `終了`) is missing"),
            ("{\"Start\":\"2025\",\"開始\":\"2025\",\"End\":\"2025\"}", "more than once"),
            ("{}", "neither"),
            ("[]", "an array"),
            ("{\"編纂時期\":{\"編纂時期\":\"2025\"}}", "neither"),
            ("{\"Start\":20250401,\"End\":\"2025\"}", "found a number"),
            ("", "empty"),
        ] {
            assert!(shown(text).contains(part), "{text}: {}", shown(text));
        }
    }

    #[test]
    fn the_map_keeps_its_good_part() {
        let read = parse_map(
            "{\"第1回\":\"2025年\",\"第2回\":\"x\",\"第3回\":{\"編纂時期\":\"2024年\"}}".as_bytes(),
        );
        let titles: Vec<_> = read.value.iter().map(|(title, _)| title.as_str()).collect();
        assert_eq!(titles, ["第1回", "第3回"]);
        assert!(read.errors[0].message.contains("round `第2回`: `x` is no date"), "{:?}", read.errors);
        assert_eq!(parse_map("{\"編纂時期\":{\"第1回\":\"2025年\"}}".as_bytes()).value.len(), 1);
        for text in ["\"2025年\"", "{\"Start\":\"2025\",\"End\":\"2026\"}", "{\"編纂時期\":\"2025年\"}", "[]"]
        {
            assert!(parse_map(text.as_bytes()).errors[0].message.contains("a map"), "{text}");
        }
    }
}
