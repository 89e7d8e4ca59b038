//! `編纂時期.json`: when a round was compiled, beside the round or for many rounds at the root.

use serde_json::value::RawValue;
use unicode_normalization::UnicodeNormalization;
use wakashu_archive::{DateError, Period};

use super::era;
use super::fault::Fault;
use super::json::{Members, Parsed, kind, member_at, parse_value, place_of, read, span_of, string};
use crate::problem::Edit;
use crate::words::periods::{self as words, About};

/// The single key under which a period may stand.
const WRAPPER: &str = "編纂時期";

/// Reads a round's own file.
#[must_use]
pub fn parse_round(bytes: &[u8]) -> Parsed<Option<Period>> {
    read(bytes, |text, faults| {
        let value = parse_value(text).map_err(|fault| faults.push(fault)).ok()?;
        let mut reader = Reader { text, faults };
        reader.period(value, About::default(), true)
    })
}

/// Reads the root's file: a map from round title to period. Titles come as written, in file order.
#[must_use]
pub fn parse_map(bytes: &[u8]) -> Parsed<Vec<(String, Period)>> {
    read(bytes, |text, faults| {
        let mut periods = Vec::new();
        let expected = |value: &RawValue| Fault::error(words::not_a_map()).around(place_of(text, value));
        let members = parse_value(text)
            .and_then(|value| Members::of(unwrapped(value)?).unwrap_or_else(|| Err(expected(value))));
        let members = match members {
            Ok(members) => members,
            Err(fault) => {
                faults.push(fault);
                return periods;
            }
        };
        for (round, value) in members.duplicated_keys() {
            faults.push(Fault::error(words::round_twice(round)).at(member_at(text, value)));
        }
        if let Some((_, value)) =
            members.0.iter().find(|(key, value)| edge(key).is_some() && value.get().starts_with('"'))
        {
            faults.push(Fault::error(words::not_a_map()).at(member_at(text, value)));
            return periods;
        }
        let mut reader = Reader { text, faults };
        for (title, value) in members.0 {
            let about = About { round: Some(&title), key: None };
            if let Some(period) = reader.period(value, about, true) {
                periods.push((title, period));
            }
        }
        periods
    })
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

/// Reads periods out of a text.
struct Reader<'a> {
    text: &'a str,
    faults: &'a mut Vec<Fault>,
}

impl Reader<'_> {
    /// Reads one period in any of its shapes.
    fn period(&mut self, value: &RawValue, about: About<'_>, may_be_wrapped: bool) -> Option<Period> {
        let text = self.text;
        if let Some(date) = string(text, value) {
            return self.days(date, value, about);
        }
        let members = match Members::of(value) {
            Some(Ok(members)) => members,
            Some(Err(fault)) => return self.refuse(fault),
            None => {
                let wording = words::not_a_period(about, kind(value));
                return self.refuse(Fault::error(wording).at(place_of(text, value)));
            }
        };
        if let ([(key, inner)], true) = (members.0.as_slice(), may_be_wrapped)
            && key.nfc().eq(WRAPPER.chars())
        {
            return self.period(inner, about, false);
        }

        let before = self.faults.len();
        let (mut start, mut end) = (None, None);
        for (key, value) in &members.0 {
            let Some(edge) = edge(key) else {
                let unknown = words::key_unknown(about, key);
                self.faults.push(Fault::warning(unknown).at(member_at(text, value)));
                continue;
            };
            let slot = if edge == Edge::Start { &mut start } else { &mut end };
            let Some(date) = string(text, value) else {
                let wording = words::must_be_date(about, key, kind(value));
                self.faults.push(Fault::error(wording).at(place_of(text, value)));
                continue;
            };
            match self.days(date, value, about.key(key)) {
                Some(_) if slot.is_some() => {
                    let wording = words::edge_twice(about, edge == Edge::Start);
                    self.faults.push(Fault::error(wording).at(member_at(text, value)));
                }
                days => *slot = days,
            }
        }
        if self.faults.iter().skip(before).any(Fault::is_error) {
            return None;
        }
        let (Some(start), Some(end)) = (start, end) else {
            let wording = words::edge_missing(about, start.is_some(), end.is_some());
            return self.refuse(Fault::error(wording).around(place_of(text, value)));
        };
        let period = Period { start: start.start, end: end.end };
        if period.end < period.start {
            let wording = words::reversed(about, period.start, period.end);
            return self.refuse(Fault::error(wording).at(place_of(text, value)));
        }
        Some(period)
    }

    /// Reads a date. One in a form that is clear all the same is read with a warning.
    fn days(&mut self, date: Result<String, Fault>, value: &RawValue, about: About<'_>) -> Option<Period> {
        let date = match date {
            Ok(date) => date,
            Err(fault) => return self.refuse(fault),
        };
        // A longer text is not a date, and printing it helps nobody.
        let shown: String = date.chars().take(40).collect();
        let mut parsed = Period::parse(&date);
        if parsed == Err(DateError::Form)
            && let Some(plain) = era::plain(&date)
        {
            parsed = Period::parse(&plain);
            if parsed.is_ok() {
                let edit = Edit { range: span_of(self.text, value), text: format!("\"{plain}\"") };
                let told = Fault::warning(words::date_read_as(about, &shown, &plain));
                self.faults.push(told.at(place_of(self.text, value)).fixed_by(vec![edit]));
            }
        }
        match parsed {
            Ok(period) => Some(period),
            Err(error) => {
                let wording = words::not_a_date(about, &shown, &error);
                self.refuse(Fault::error(wording).at(place_of(self.text, value)))
            }
        }
    }

    fn refuse(&mut self, fault: Fault) -> Option<Period> {
        self.faults.push(fault);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let read = parse_round(text.as_bytes());
        match (read.value, read.faults.iter().find(|fault| fault.is_error())) {
            (Some(period), None) => format!("{}..{}", period.start, period.end),
            (_, Some(fault)) => fault.message().to_owned(),
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
        for text in [
            "{\"Start\":\"R7.4\",\"End\":\"令和7年5月31日\"}",
            "{\"$schema\":1,\"編纂時期\":{\"開始\":\"2025.4.1\",\"終了\":\"20250531\"}}",
        ] {
            assert_eq!(shown(text), "2025-04-01..2025-05-31", "{text}");
            let codes: Vec<_> =
                parse_round(text.as_bytes()).faults.iter().map(|fault| fault.wording.code).collect();
            assert_eq!(codes, ["DATE_SPELLING"; 2], "{text}");
        }
        assert_eq!(shown("\"2025年\""), "2025-01-01..2025-12-31");
        assert_eq!(shown("{\"編纂時期\":\"2025年11月\"}"), "2025-11-01..2025-11-30");
    }

    #[test]
    fn what_is_no_period_says_why() {
        for (text, part) in [
            ("{\"Start\":\"2025-05-31\",\"End\":\"2025-04-01\"}", "reversed"),
            ("{\"Start\":\"2025-02-30\",\"End\":\"2025-04-01\"}", "no such day"),
            ("{\"Start\":\"令和7年2月30日\",\"End\":\"2025-04-01\"}", "no such day"),
            ("{\"Start\":\"spring\",\"End\":\"2025-04-01\"}", "`Start`: `spring` is not a date"),
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
        assert!(read.faults[0].message().contains("round `第2回`: `x` is not a date"), "{:?}", read.faults);
        assert_eq!(parse_map("{\"編纂時期\":{\"第1回\":\"2025年\"}}".as_bytes()).value.len(), 1);
        for text in ["\"2025年\"", "{\"Start\":\"2025\",\"End\":\"2026\"}", "{\"編纂時期\":\"2025年\"}", "[]"]
        {
            assert!(parse_map(text.as_bytes()).faults[0].message().contains("a map"), "{text}");
        }
    }
}
