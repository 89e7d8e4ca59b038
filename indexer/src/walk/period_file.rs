//! `編纂時期.json`: when a round was compiled and what is said about it, beside the round; or the periods of many rounds, at
//! the root.

use serde_json::value::RawValue;
use unicode_normalization::UnicodeNormalization;
use wakashu_archive::{DateError, Period, RoundExtra};

use super::era;
use super::fault::Fault;
use super::json::{Members, Parsed, kind, member_at, parse_value, place_of, read, span_of, string};
use super::text_data::{is_alike, is_near};
use crate::problem::Edit;
use crate::words::periods::{self as words, About};
use crate::words::texts;

/// The single key under which a period may stand.
const WRAPPER: &str = "編纂時期";

/// Most characters of a text about a round. It lies in the archive's root, which every reader of the archive loads.
pub(crate) const MAX_ROUND_TEXT_CHARACTERS: usize = 2_000;

/// What a round's own file says.
#[derive(Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AboutRound {
    /// When it was compiled.
    pub period: Option<Period>,
    /// The texts about it, in the order they are shown.
    pub extras: Vec<RoundExtra>,
    /// Whether it is for the curator's eyes only. `None` if that cannot be told: then nobody else may see it, either.
    pub is_draft: Option<bool>,
}

/// A key that says something about a round besides its period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RoundKey {
    Theme,
    Comment,
    Draft,
}

impl RoundKey {
    const ALL: [Self; 3] = [Self::Theme, Self::Comment, Self::Draft];

    /// Returns the key in both languages. The Japanese one is what readers see.
    fn names(self) -> [&'static str; 2] {
        match self {
            Self::Theme => ["Theme", "お題"],
            Self::Comment => ["Comment", "講評"],
            Self::Draft => ["Draft", "下書き"],
        }
    }

    fn of(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.names().iter().any(|name| key.nfc().eq(name.nfc())))
    }

    /// Returns the key that one was probably meant for.
    fn near(key: &str) -> Option<(Self, &'static str)> {
        let names = Self::ALL.into_iter().flat_map(|known| known.names().map(|name| (known, name)));
        let mut names = names.filter(|(_, name)| is_alike(key, name) || is_near(key, name) || key == "下書");
        names.next().map(|(known, name)| if key == "下書" { (Self::Draft, "下書き") } else { (known, name) })
    }
}

/// Reads a round's own file.
#[must_use]
pub fn parse_round(bytes: &[u8]) -> Parsed<AboutRound> {
    read(bytes, |text, faults| {
        let Ok(value) = parse_value(text).map_err(|fault| faults.push(fault)) else {
            return AboutRound::default();
        };
        let mut reader = Reader { text, faults, round: Some(AboutRound::default()) };
        reader.is_draft(Some(false));
        let period = reader.period(value, About::default(), true);
        let round = reader.round.unwrap_or_default();
        let is_sound = !faults.iter().any(Fault::is_error);
        AboutRound { period: period.filter(|_| is_sound), ..round }
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
        let mut reader = Reader { text, faults, round: None };
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
    /// What is said about the round besides; `None` in the root's map, which has periods only.
    round: Option<AboutRound>,
}

impl Reader<'_> {
    fn is_draft(&mut self, is_draft: Option<bool>) {
        if let Some(round) = &mut self.round {
            round.is_draft = is_draft;
        }
    }

    /// Takes note of a text about the round, or of its being a draft.
    fn round_key(&mut self, known: RoundKey, key: &str, value: &RawValue, about: About<'_>) {
        let text = self.text;
        let [_, title] = known.names();
        let Some(round) = &mut self.round else {
            self.faults.push(Fault::error(words::only_in_own_file(about, key)).at(member_at(text, value)));
            return;
        };
        let fault = match known {
            RoundKey::Draft => match value.get() {
                "true" => {
                    round.is_draft = Some(true);
                    return;
                }
                "false" => return,
                _ => {
                    round.is_draft = None;
                    Fault::error(words::must_be_bool(key, kind(value))).at(place_of(text, value))
                }
            },
            RoundKey::Theme | RoundKey::Comment => match string(text, value) {
                Some(Ok(said)) if said.chars().count() > MAX_ROUND_TEXT_CHARACTERS => {
                    let found = said.chars().count();
                    let wording = words::text_too_long(key, found, MAX_ROUND_TEXT_CHARACTERS);
                    Fault::error(wording).at(member_at(text, value))
                }
                // An empty one says nothing, as in a file that is made to be filled in.
                Some(Ok(said)) if said.trim().is_empty() => return,
                Some(Ok(said)) => {
                    let extra = RoundExtra { title: title.to_owned(), text: said };
                    let place = if known == RoundKey::Theme { 0 } else { round.extras.len() };
                    round.extras.insert(place, extra);
                    return;
                }
                Some(Err(fault)) => fault,
                None => Fault::error(texts::must_be_string(key, kind(value))).at(place_of(text, value)),
            },
        };
        self.faults.push(fault);
    }

    /// Reads the members of an object that say something about the round, and returns the others.
    fn split<'v>(&mut self, members: Members<'v>, about: About<'_>) -> Vec<(String, &'v RawValue)> {
        let mut others = Vec::new();
        let mut seen = Vec::new();
        for (key, value) in members.0 {
            let Some(known) = RoundKey::of(&key) else {
                others.push((key, value));
                continue;
            };
            if seen.contains(&known) {
                if known == RoundKey::Draft {
                    self.is_draft(None);
                }
                self.faults.push(Fault::error(texts::key_twice(&key)).at(member_at(self.text, value)));
                continue;
            }
            seen.push(known);
            self.round_key(known, &key, value, about);
        }
        others
    }

    /// Reads one period in any of its shapes.
    fn period(&mut self, value: &RawValue, about: About<'_>, may_be_wrapped: bool) -> Option<Period> {
        let text = self.text;
        if let Some(date) = string(text, value) {
            return self.days(date, value, about);
        }
        let members = match Members::of(value) {
            Some(Ok(members)) => members,
            Some(Err(fault)) => {
                self.is_draft(None);
                return self.refuse(fault);
            }
            None => {
                let wording = words::not_a_period(about, kind(value));
                return self.refuse(Fault::error(wording).at(place_of(text, value)));
            }
        };
        let before = self.faults.len();
        let all = members.0.len();
        let members = self.split(members, about);
        if let ([(key, inner)], true) = (members.as_slice(), may_be_wrapped)
            && key.nfc().eq(WRAPPER.chars())
        {
            return self.period(inner, about, false);
        }
        if members.is_empty() && all > 0 {
            // Texts alone: when it was compiled may be said by the root's map, or by nobody.
            return None;
        }

        let (mut start, mut end) = (None, None);
        for (key, value) in &members {
            let Some(edge) = edge(key) else {
                let fault = match RoundKey::near(key) {
                    // A draft that nobody takes for one would be published.
                    Some((RoundKey::Draft, known)) if self.round.is_some() => {
                        self.is_draft(None);
                        Fault::error(words::key_near(key, known))
                    }
                    Some((_, known)) if self.round.is_some() => Fault::warning(words::key_near(key, known)),
                    _ => Fault::warning(words::key_unknown(about, key)),
                };
                self.faults.push(fault.at(member_at(text, value)));
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
        match (read.value.period, read.faults.iter().find(|fault| fault.is_error())) {
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
    fn texts_about_the_round_stand_beside_its_period() {
        let about = |text: &str| {
            let read = parse_round(text.as_bytes());
            let extras: Vec<_> = read.value.extras.iter().map(|extra| extra.title.as_str()).collect();
            let codes: Vec<_> = read.faults.iter().map(|fault| fault.wording.code).collect();
            format!(
                "{} {:?} {codes:?} {}",
                extras.join("・"),
                read.value.is_draft,
                read.value.period.is_some()
            )
        };
        for (text, expected) in [
            (
                "{\"Comment\":\"佳い\",\"お題\":\"春\",\"Start\":\"2025\",\"End\":\"2025\"}",
                "お題・講評 Some(false) [] true",
            ),
            ("{\"編纂時期\":\"2025年4月\",\"講評\":\"佳い\",\"下書き\":true}", "講評 Some(true) [] true"),
            (
                "{\"編纂時期\":{\"開始\":\"2025\",\"終了\":\"2025\",\"Theme\":\"春\"}}",
                "お題 Some(false) [] true",
            ),
            ("{\"Theme\":\"\",\"Draft\":false}", " Some(false) [] false"),
            ("\"2025年\"", " Some(false) [] true"),
            ("{\"Draft\":\"true\"}", " None [\"VALUE_KIND\"] false"),
            ("{\"Draft\":true,\"下書き\":false}", " None [\"KEY_TWICE\"] false"),
            ("{\"draft\":true,\"Start\":\"2025\",\"End\":\"2025\"}", " None [\"KEY_NEAR\"] false"),
            ("{\"下書\":true,\"Start\":\"2025\",\"End\":\"2025\"}", " None [\"KEY_NEAR\"] false"),
            ("{\"Teme\":\"春\",\"Start\":\"2025\",\"End\":\"2025\"}", " Some(false) [\"KEY_NEAR\"] true"),
            ("{\"Theme\":[\"春\"]}", " Some(false) [\"VALUE_KIND\"] false"),
            ("{\"Draft\":true", " None [\"JSON_UNCLOSED\"] false"),
        ] {
            assert_eq!(about(text), expected, "{text}");
        }
        let long = |count: usize| about(&format!("{{\"講評\":\"{}\"}}", "長".repeat(count)));
        assert_eq!(long(MAX_ROUND_TEXT_CHARACTERS), "講評 Some(false) [] false");
        assert_eq!(long(MAX_ROUND_TEXT_CHARACTERS + 1), " Some(false) [\"TEXT_TOO_LONG\"] false");
        let map = parse_map("{\"第1回\":{\"Draft\":true}}".as_bytes());
        assert_eq!(map.faults[0].wording.code, "KEY_MISPLACED");
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
