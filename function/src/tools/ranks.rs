//! Ranks as readers write them: the one place that knows `1位`, `一位` and `1〜3`.

use wakashu_archive::{Rank, RankRange, bare_number};

/// Reads a rank: `3`, `3位`, `三位`.
pub(crate) fn read_rank(text: &str) -> Option<Rank> {
    let text = text.trim();
    let digits = text.strip_suffix('位').unwrap_or(text);
    let number = bare_number(digits).filter(|_| !digits.starts_with(['0', '０']));
    number.and_then(Rank::new)
}

/// Reads a range of ranks: `1-3`, `1〜3`, `1位から3位まで`, `一位`.
pub(super) fn read_ranks(text: &str) -> Option<RankRange> {
    RankRange::parse(text).ok().or_else(|| {
        let text = text.trim();
        let text = text.strip_suffix("まで").unwrap_or(text);
        let parts = text.split_once("から").or_else(|| text.split_once(['-', '－', '〜', '～', '~']));
        let (first, last) = parts.unwrap_or((text, text));
        RankRange::new(read_rank(first)?, read_rank(last)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_read_as_readers_write_them() {
        for (text, first, last) in [
            ("1", 1, 1),
            ("1位", 1, 1),
            ("一位", 1, 1),
            ("１２位", 12, 12),
            ("1-3", 1, 3),
            ("1〜3", 1, 3),
            ("1～3", 1, 3),
            ("1位から3位", 1, 3),
            ("1位から3位まで", 1, 3),
            ("一から三", 1, 3),
        ] {
            let range = read_ranks(text).map(|range| (range.first(), range.last()));
            assert_eq!(range, Some((first, last)), "{text}");
        }
        for text in [
            "1,3",
            "3-1",
            "0",
            "00",
            "01位",
            "1-",
            "-1",
            "",
            "位",
            "から",
            "1-3-5",
            "1.5",
            "99999999999999999999",
        ] {
            assert!(read_ranks(text).is_none(), "{text}");
        }
    }
}
