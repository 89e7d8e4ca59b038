//! A moment in whole seconds, written as RFC 3339 in UTC: `2026-11-16T09:30:00Z`.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use time::format_description::well_known::Rfc3339;
use time::{OffsetDateTime, UtcDateTime};

/// The last second of the year 9999, the last that four digits can write.
const LAST_SECOND: u64 = 253_402_300_799;

/// Japan is nine hours ahead of UTC all the year round.
const JAPAN_AHEAD_SECONDS: u64 = 9 * 60 * 60;

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

    /// Returns the moment for Japanese text: `2026年11月16日 18:30（日本時間）`.
    #[must_use]
    pub fn in_japanese(self) -> String {
        let time = self.in_japan();
        let (date, hour, minute) = (time.date(), time.hour(), time.minute());
        let (year, month, day) = (date.year(), u8::from(date.month()), date.day());
        format!("{year}年{month}月{day}日 {hour:02}:{minute:02}（日本時間）")
    }

    /// Returns the moment for a person who reads English, in Japanese time as well: `2026-11-16 18:30 JST`.
    #[must_use]
    pub fn jst(self) -> String {
        let time = self.in_japan();
        format!("{} {:02}:{:02} JST", time.date(), time.hour(), time.minute())
    }

    /// Returns what a clock in Japan shows. One in the year 10000 shows the end of 9999.
    fn in_japan(self) -> UtcDateTime {
        Self { unix_seconds: (self.unix_seconds + JAPAN_AHEAD_SECONDS).min(LAST_SECOND) }.calendar()
    }

    fn calendar(self) -> UtcDateTime {
        let seconds = i64::try_from(self.unix_seconds).unwrap_or(i64::MAX);
        // Cannot happen: the calendar reaches as far as the seconds do.
        UtcDateTime::from_unix_timestamp(seconds).unwrap_or(UtcDateTime::MAX)
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
        let time = self.calendar();
        let (year, month, day) = (time.year(), u8::from(time.month()), time.day());
        let (hour, minute, second) = time.as_hms();
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

/// Says that a text is not a moment as this crate writes it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a time like `2026-11-16T09:30:00Z`")]
pub struct ParseTimestampError;

impl FromStr for Timestamp {
    type Err = ParseTimestampError;

    /// Reads `YYYY-MM-DDTHH:MM:SSZ`. Fractions of a second, as other tools write them, are dropped; other
    /// offsets than `Z` are refused.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_ours = text.as_bytes().get(10) == Some(&b'T') && text.ends_with('Z');
        let time = OffsetDateTime::parse(text, &Rfc3339).ok().filter(|_| is_ours);
        let unix_seconds = time.and_then(|time| u64::try_from(time.unix_timestamp()).ok());
        unix_seconds.map(|unix_seconds| Self { unix_seconds }).ok_or(ParseTimestampError)
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
    fn readers_see_japanese_time() {
        for (text, japanese, jst) in [
            ("2026-11-16T09:30:00Z", "2026年11月16日 18:30（日本時間）", "2026-11-16 18:30 JST"),
            ("2025-12-31T15:05:59Z", "2026年1月1日 00:05（日本時間）", "2026-01-01 00:05 JST"),
            ("9999-12-31T23:59:59Z", "9999年12月31日 23:59（日本時間）", "9999-12-31 23:59 JST"),
        ] {
            let timestamp: Timestamp = text.parse().unwrap();
            assert_eq!((timestamp.in_japanese().as_str(), timestamp.jst().as_str()), (japanese, jst));
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
