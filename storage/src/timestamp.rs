//! A moment in whole seconds, written as RFC 3339 in UTC: `2026-11-16T09:30:00Z`.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

const DAY_SECONDS: u64 = 24 * 60 * 60;

/// The last second of the year 9999, the last that four digits can write.
const LAST_SECOND: u64 = 253_402_300_799;

/// A moment between 1970 and 9999, to the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    unix_seconds: u64,
}

impl Timestamp {
    /// Returns the seconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub fn unix_seconds(self) -> u64 {
        self.unix_seconds
    }
}

impl From<SystemTime> for Timestamp {
    /// Times outside 1970 to 9999 become the nearest end of that span.
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { unix_seconds: since.as_secs().min(LAST_SECOND) }
    }
}

impl From<Timestamp> for SystemTime {
    fn from(timestamp: Timestamp) -> Self {
        UNIX_EPOCH + Duration::from_secs(timestamp.unix_seconds)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil_from_days(self.unix_seconds / DAY_SECONDS);
        let second = self.unix_seconds % DAY_SECONDS;
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

/// Says that a text is no moment this crate writes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a time like `2026-11-16T09:30:00Z`")]
pub struct ParseTimestampError;

impl FromStr for Timestamp {
    type Err = ParseTimestampError;

    /// Reads `YYYY-MM-DDTHH:MM:SSZ`. Fractions of a second, as other tools write them, are dropped; other
    /// offsets than `Z` are refused.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |from: usize, to: usize| {
            let digits = text.get(from..to).filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
            digits.and_then(|digits| digits.parse::<u64>().ok())
        };
        let read = || {
            let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
            let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
            let marks = [(4, "-"), (7, "-"), (10, "T"), (13, ":"), (16, ":")];
            let marked = marks.iter().all(|(at, mark)| text.get(*at..at + 1) == Some(*mark));
            let rest = text.get(19..)?.strip_suffix('Z')?;
            let fraction = rest.is_empty()
                || rest.strip_prefix('.').is_some_and(|digits| {
                    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
                });
            let days = days_from_civil(year, month, day)?;
            let real = marked && fraction && hour < 24 && minute < 60 && second < 60;
            real.then_some(days * DAY_SECONDS + hour * 3600 + minute * 60 + second)
        };
        read().map(|unix_seconds| Self { unix_seconds }).ok_or(ParseTimestampError)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// Returns year, month and day of a number of days since 1970-01-01. Counts from 1 March of the year 0 in
/// cycles of 400 years, so that the leap day ends each year.
fn civil_from_days(days: u64) -> (u64, u64, u64) {
    let from_march = days + 719_468;
    let (cycle, day_of_cycle) = (from_march / 146_097, from_march % 146_097);
    let year_of_cycle =
        (day_of_cycle - day_of_cycle / 1_460 + day_of_cycle / 36_524 - day_of_cycle / 146_096) / 365;
    let day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (cycle * 400 + year_of_cycle + u64::from(month <= 2), month, day)
}

/// Returns the days from 1970-01-01 to a date, or nothing for a date that does not exist or lies before.
fn days_from_civil(year: u64, month: u64, day: u64) -> Option<u64> {
    if year < 1970 || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year_from_march = year - u64::from(month <= 2);
    let (cycle, year_of_cycle) = (year_from_march / 400, year_from_march % 400);
    let month_from_march = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_cycle = year_of_cycle * 365 + year_of_cycle / 4 - year_of_cycle / 100 + day_of_year;
    let days = (cycle * 146_097 + day_of_cycle).checked_sub(719_468)?;
    // 31 April reads back as 1 May: the date does not exist.
    (civil_from_days(days) == (year, month, day)).then_some(days)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments_are_written_and_read_back() {
        for (unix_seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_164_800, "2024-02-29T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (LAST_SECOND, "9999-12-31T23:59:59Z"),
        ] {
            let timestamp = Timestamp { unix_seconds };
            assert_eq!(timestamp.to_string(), text);
            assert_eq!(text.parse(), Ok(timestamp));
        }
    }

    #[test]
    fn every_day_reads_back() {
        for days in (0..LAST_SECOND / DAY_SECONDS).step_by(17) {
            let (year, month, day) = civil_from_days(days);
            assert_eq!(days_from_civil(year, month, day), Some(days));
        }
    }

    #[test]
    fn fractions_are_dropped_and_other_forms_refused() {
        assert_eq!(
            "2026-11-16T09:30:00.125Z".parse::<Timestamp>().unwrap().to_string(),
            "2026-11-16T09:30:00Z"
        );
        for text in [
            "",
            "Z",
            "2026-11-16",
            "2026-11-16T09:30:00",
            "2026-11-16T09:30:00+09:00",
            "2026-02-30T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "2026-11-16T24:00:00Z",
            "2026-11-16T09:30:00.Z",
            "2026-11-16 09:30:00Z",
            "+026-11-16T09:30:00Z",
            "1969-12-31T23:59:59Z",
            "２026-11-16T09:30:00Z",
        ] {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
    }
}
