//! Ranks and titles of rounds, as readers write them.

use wakashu_archive::{
    Archive, ContentHash, MAX_RANK, Rank, RankRange, RoundDraft, Writer, bare_number, round_number, title_key,
};

/// Reads a text as a range of ranks and as titles of rounds.
pub fn rank(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(range) = RankRange::parse(&text) {
        let (first, last) = (range.first(), range.last());
        assert!(1 <= first && first <= last && last <= MAX_RANK);
        assert_eq!(RankRange::parse(&format!("{first}-{last}")), Ok(range));
        assert_eq!(
            RankRange::parse(&first.to_string()),
            Ok(RankRange::single(Rank::new(first).expect("a rank")))
        );
    }
    let number = round_number(&text);
    for number in [number, bare_number(&text)].into_iter().flatten() {
        assert!(number <= MAX_RANK);
        assert_eq!(round_number(&format!("第{number}回")), Some(number));
        assert_eq!(bare_number(&number.to_string()), Some(number));
    }
    let key = title_key(&text);
    assert!(!key.contains(char::is_whitespace));
    assert_eq!(round_number(&key), number, "a key has the number of its title");
    let (one, other) = text.split_once('\n').unwrap_or((&text, "第1回"));
    rounds_are_found(one, other);
}

/// In an archive of two rounds each is found by its exact title, and by its key.
fn rounds_are_found(one: &str, other: &str) {
    let mut titles = [one, other];
    titles.sort_by_key(|title| (round_number(title).is_none(), round_number(title), *title));
    let mut writer = Writer::new(Vec::new()).unwrap();
    for title in titles {
        if writer.begin_round(RoundDraft { title: title.to_owned(), ..RoundDraft::default() }).is_err() {
            return;
        }
    }
    // Titles with equal keys are refused: readers could not tell them apart.
    let Ok((_, file)) = writer.finish(String::new(), String::new(), ContentHash::of(b"")) else {
        assert_eq!(title_key(one), title_key(other));
        return;
    };
    let archive = Archive::open(file.as_slice()).expect("an archive just written");
    for title in titles {
        assert_eq!(archive.find_round(title).expect("a round is found by its title").title, title);
    }
}
