//! Ranks and ranges of them, as readers and file names write them.

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::str::FromStr;

use unicode_normalization::UnicodeNormalization;

use crate::limits::MAX_RANK;

/// A rank: 1 to [`MAX_RANK`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank(NonZeroU32);

/// Says that something is not a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a rank is a number from 1 to {MAX_RANK}, without leading zeros")]
pub struct RankError;

impl Rank {
    /// Returns the rank with that number.
    #[must_use]
    pub fn new(number: u32) -> Option<Self> {
        NonZeroU32::new(number).filter(|number| number.get() <= MAX_RANK).map(Self)
    }

    /// Returns the number.
    #[must_use]
    pub fn get(self) -> u32 {
        self.0.get()
    }
}

impl FromStr for Rank {
    type Err = RankError;

    /// Reads ASCII digits without leading zeros, and nothing else.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let plain = !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = plain.then(|| text.parse().ok()).flatten();
        number.and_then(Self::new).ok_or(RankError)
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The ranks a reader asks for: one, or from first to last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankRange {
    first: Rank,
    last: Rank,
}

/// Says that a text is not a rank range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a rank range is `N` or `N-M` with 1 ≤ N ≤ M ≤ {MAX_RANK}")]
pub struct RankRangeError;

impl RankRange {
    /// Reads `N` or `N-M` after NFKC, with 1 ≤ N ≤ M.
    pub fn parse(text: &str) -> Result<Self, RankRangeError> {
        // Bounded before NFKC, which may grow the text; no range is longer than this.
        if text.len() > 64 {
            return Err(RankRangeError);
        }
        let text = if text.is_ascii() { Cow::Borrowed(text) } else { Cow::Owned(text.nfkc().collect()) };
        let rank = |text: &str| text.trim().parse::<Rank>().map_err(|_| RankRangeError);
        let (first, last) = match text.split_once('-') {
            Some((first, last)) => (rank(first)?, rank(last)?),
            None => (rank(&text)?, rank(&text)?),
        };
        Self::new(first, last).ok_or(RankRangeError)
    }

    /// Returns the ranks from `first` to `last`, if that is the order they come in.
    #[must_use]
    pub fn new(first: Rank, last: Rank) -> Option<Self> {
        (first <= last).then_some(Self { first, last })
    }

    /// Returns the range of one rank.
    #[must_use]
    pub fn single(rank: Rank) -> Self {
        Self { first: rank, last: rank }
    }

    /// Returns the first rank.
    #[must_use]
    pub fn first(self) -> u32 {
        self.first.get()
    }

    /// Returns the last rank.
    #[must_use]
    pub fn last(self) -> u32 {
        self.last.get()
    }

    /// Returns all ranks of the range, in order.
    #[must_use]
    pub fn ranks(self) -> RangeInclusive<u32> {
        self.first()..=self.last()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_is_written_in_one_way() {
        for (text, number) in [("1", 1), ("10", 10), ("999999", 999_999)] {
            assert_eq!(text.parse::<Rank>().map(Rank::get), Ok(number));
        }
        for text in ["", "0", "01", "+1", "-1", " 1", "1 ", "１", "一", "1000000", "4294967297", "1e3"] {
            assert_eq!(text.parse::<Rank>(), Err(RankError), "{text:?}");
        }
    }

    #[test]
    fn rank_ranges_take_one_form_only() {
        for (text, ranks) in [
            ("1", 1..=1),
            ("1-3", 1..=3),
            ("２－１０", 2..=10),
            (" 7 ", 7..=7),
            ("3-3", 3..=3),
            ("999999", 999_999..=999_999),
        ] {
            assert_eq!(RankRange::parse(text).map(RankRange::ranks), Ok(ranks), "{text}");
        }
        for text in [
            "", "-", "1-", "-3", "1,3", "3-1", "0", "0-3", "01", "1-2-3", "1〜3", "一", "1.5", "1000000",
            "１e3",
        ] {
            assert_eq!(RankRange::parse(text), Err(RankRangeError), "{text}");
        }
        assert_eq!(RankRange::parse(&"1".repeat(1 << 20)), Err(RankRangeError));
    }
}
