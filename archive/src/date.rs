//! Dates and compilation periods, in the forms curators and readers write.

use std::fmt;

use rkyv::{Archive, Serialize};
use unicode_normalization::UnicodeNormalization;

/// A calendar day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Archive, Serialize)]
#[rkyv(derive(Debug))]
pub struct Date {
    /// Year, 1 to 9999.
    pub year: u16,
    /// Month, 1 to 12.
    pub month: u8,
    /// Day of the month, from 1.
    pub day: u8,
}

/// A run of days, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Archive, Serialize)]
#[rkyv(derive(Debug))]
pub struct Period {
    /// First day.
    pub start: Date,
    /// Last day.
    pub end: Date,
}

/// Why a text is not a date.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DateError {
    /// None of the accepted forms.
    #[error("not a date; write it as 2025-04-01, 2025/4/1, 2025年4月1日, 2025年4月 or 2025年")]
    Form,
    /// The form is right but no such day exists.
    #[error("no such day: year {year}, month {month}, day {day}")]
    NoSuchDay {
        /// The year written.
        year: u32,
        /// The month written.
        month: u32,
        /// The day written.
        day: u32,
    },
}

impl Date {
    /// Returns the date if such a day exists.
    pub fn new(year: u32, month: u32, day: u32) -> Result<Self, DateError> {
        let refused = DateError::NoSuchDay { year, month, day };
        if !(1..=9999).contains(&year) || !(1..=12).contains(&month) || day < 1 || day > days_in(year, month)
        {
            return Err(refused);
        }
        match (u16::try_from(year), u8::try_from(month), u8::try_from(day)) {
            (Ok(year), Ok(month), Ok(day)) => Ok(Self { year, month, day }),
            _ => Err(refused),
        }
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl From<&ArchivedDate> for Date {
    fn from(archived: &ArchivedDate) -> Self {
        Self { year: archived.year.to_native(), month: archived.month, day: archived.day }
    }
}

impl From<&ArchivedPeriod> for Period {
    fn from(archived: &ArchivedPeriod) -> Self {
        Self { start: (&archived.start).into(), end: (&archived.end).into() }
    }
}

impl Period {
    /// Reads one date text as the days it covers: a day, a whole month or a whole year.
    pub fn parse(text: &str) -> Result<Self, DateError> {
        let text: String = text.nfkc().filter(|character| !character.is_whitespace()).collect();
        let (year, month, day) = split_fields(&text).ok_or(DateError::Form)?;
        let first = Date::new(year, month.unwrap_or(1), day.unwrap_or(1))?;
        let last_month = month.unwrap_or(12);
        let last = Date::new(year, last_month, day.unwrap_or_else(|| days_in(year, last_month)))?;
        Ok(Self { start: first, end: last })
    }

    /// Tells whether the two runs have a day in common.
    #[must_use]
    pub fn overlaps(self, other: Self) -> bool {
        self.start <= other.end && other.start <= self.end
    }
}

/// Splits `2025-04-01`, `2025/4/1`, `2025年4月1日` and their shorter forms into numbers.
fn split_fields(text: &str) -> Option<(u32, Option<u32>, Option<u32>)> {
    if let Some((year, rest)) = text.split_once('年') {
        let year = digits(year, 4)?;
        if rest.is_empty() {
            return Some((year, None, None));
        }
        let (month, rest) = rest.split_once('月')?;
        let month = digits(month, 2)?;
        if rest.is_empty() {
            return Some((year, Some(month), None));
        }
        return Some((year, Some(month), Some(digits(rest.strip_suffix('日')?, 2)?)));
    }
    let separator = if text.contains('/') { '/' } else { '-' };
    let mut parts = text.split(separator);
    let year = digits(parts.next()?, 4)?;
    let month = parts.next().map(|part| digits(part, 2).ok_or(())).transpose().ok()?;
    let day = parts.next().map(|part| digits(part, 2).ok_or(())).transpose().ok()?;
    parts.next().is_none().then_some((year, month, day))
}

/// Reads a plain number of at most `most` digits; a year needs all four.
fn digits(text: &str, most: usize) -> Option<u32> {
    let fits = if most == 4 { text.len() == 4 } else { (1..=most).contains(&text.len()) };
    (fits && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

fn days_in(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match Period::parse(text) {
            Ok(period) => format!("{}..{}", period.start, period.end),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn every_accepted_form_reads_as_the_days_it_means() {
        for (text, days) in [
            ("2025-04-01", "2025-04-01..2025-04-01"),
            ("2025/4/1", "2025-04-01..2025-04-01"),
            ("2025年4月1日", "2025-04-01..2025-04-01"),
            ("２０２５年０４月", "2025-04-01..2025-04-30"),
            ("2025-02", "2025-02-01..2025-02-28"),
            ("2024年2月", "2024-02-01..2024-02-29"),
            ("1900/2", "1900-02-01..1900-02-28"),
            ("2025年", "2025-01-01..2025-12-31"),
            (" 2025 ", "2025-01-01..2025-12-31"),
        ] {
            assert_eq!(shown(text), days, "{text}");
        }
    }

    #[test]
    fn impossible_days_and_other_forms_are_told_apart() {
        for text in ["2025-02-29", "2025/13/1", "2025年0月", "2025年4月31日", "0000-01-01"] {
            assert!(matches!(Period::parse(text), Err(DateError::NoSuchDay { .. })), "{text}");
        }
        for text in
            ["", "春", "25-04-01", "2025-04-01-02", "2025-4/1", "2025年4", "4月", "2025年4月1", "+025", "-"]
        {
            assert_eq!(Period::parse(text), Err(DateError::Form), "{text}");
        }
    }

    #[test]
    fn overlap_counts_both_ends() {
        let april = Period::parse("2025年4月").unwrap();
        for (text, overlaps) in
            [("2025-04-30", true), ("2025-03-31", false), ("2025年", true), ("2025-05-01", false)]
        {
            assert_eq!(april.overlaps(Period::parse(text).unwrap()), overlaps, "{text}");
        }
    }
}
