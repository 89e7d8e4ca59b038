//! Search keys: positions in a key lead back to the text it was made from.

use bytes::Bytes;
use unicode_normalization::UnicodeNormalization as _;
use unicode_segmentation::UnicodeSegmentation as _;
use wakashu_archive::{
    Column, ColumnName, ContentHash, EntryDraft, Fit, RoundDraft, SearchKey, Word, Writer, finder,
};

/// Takes the first line for a query and the rest for a poem.
pub fn search(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (query, poem) = text.split_once('\n').unwrap_or(("の", &text));
    let (key, needle) = (SearchKey::exact(poem), SearchKey::exact(query));
    assert!(!key.as_str().contains(|character: char| character.is_control() || character.is_whitespace()));
    assert_eq!(needle.is_empty(), needle.as_str().is_empty());
    let found = key.find(poem, needle.as_str());
    let is_there = !needle.is_empty() && key.as_str().contains(needle.as_str());
    assert_eq!(found.is_some(), is_there, "what the key holds is found in the text, and nothing else");
    if let Some(range) = found {
        assert!(!poem.get(range).expect("a mark goes around characters").is_empty());
    }
    words_are_found_however_spelled(query, poem);
    parts_find_the_whole(query, poem);
    columns_hold_the_keys(query, poem);
}

/// What is found exactly is found loosely, and what is marked is part of the poem.
fn words_are_found_however_spelled(query: &str, poem: &str) {
    let (word, key) = (Word::new(query), SearchKey::exact(poem));
    assert_eq!(key.as_str().chars().count(), SearchKey::loose(poem).len());
    let exact = !word.is_empty() && key.find(poem, word.exact()).is_some();
    for least in [Fit::Loose, Fit::Unmarked] {
        let found = if word.is_empty() { None } else { word.find(&key, least) };
        // A word with one spelling is looked for exactly, and a text of nothing but places that nearly fit is given up.
        let is_sure = exact && !word.spellings().is_empty() && poem.len() <= 256;
        assert!(found.is_some() || !is_sure, "{query:?} is in {poem:?}");
        if let Some(range) = found {
            assert!(!poem.get(range).expect("a mark goes around characters").is_empty());
        }
    }
}

/// Any run of a poem's graphemes finds the poem, and what is marked has the same key. The query's length says which run.
fn parts_find_the_whole(query: &str, poem: &str) {
    let graphemes: Vec<&str> = poem.graphemes(true).take(256).collect();
    let from = query.len() % graphemes.len().max(1);
    let run: Vec<&str> = graphemes.iter().skip(from).take(1 + query.len() % 7).copied().collect();
    let part = run.concat();
    // Alone, a run may fall into other graphemes, and an iteration mark has nothing to repeat.
    let stays_itself = part.graphemes(true).eq(run.iter().copied());
    let first = part.nfkc().find(|character| !character.is_whitespace());
    let starts_with_mark = SearchKey::exact(&format!("か{part}")).as_str().strip_prefix('か')
        != Some(SearchKey::exact(&part).as_str());
    let key = SearchKey::exact(&part);
    if !stays_itself || first.is_none() || starts_with_mark || key.is_empty() {
        return;
    }
    let range = SearchKey::exact(poem).find(poem, key.as_str()).expect("a part finds its poem");
    assert_eq!(SearchKey::exact(&poem[range]).as_str(), key.as_str());
}

/// The indexer's columns and the function's keys are the same.
fn columns_hold_the_keys(query: &str, poem: &str) {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.begin_round(RoundDraft { title: "第1回".to_owned(), ..RoundDraft::default() }).unwrap();
    for (rank, poem) in (1..).zip([poem, query]) {
        writer.entry(EntryDraft { rank, poem: poem.to_owned(), ..EntryDraft::default() }).unwrap();
    }
    // Only texts beyond the format's limits are refused.
    let Ok((written, file)) = writer.finish(String::new(), String::new(), ContentHash::of(b"")) else {
        assert!(poem.len() > 100_000 || query.len() > 100_000);
        return;
    };
    let reference = written.table.column(ColumnName::Text).expect("a column of texts");
    let start = usize::try_from(reference.offset).unwrap();
    let bytes = Bytes::copy_from_slice(&file[start..start + usize::try_from(reference.length).unwrap()]);
    let column = Column::open(&reference, &bytes, 2).expect("the column just written");
    let loose = column.loose().expect("texts have loose keys");
    let exact = |text: &str| SearchKey::exact(text).as_str().as_bytes().to_vec();
    for (keys, make) in [(column.exact(), exact as fn(&str) -> Vec<u8>), (loose, SearchKey::loose)] {
        let (of_poem, of_query) = (make(poem), make(query));
        assert_eq!(keys.field(0, 0), of_poem);
        assert_eq!(keys.field(1, 0), of_query);
    }
    let (of_poem, of_query) = (SearchKey::exact(poem), SearchKey::exact(query));
    let mut found = [false; 2];
    if !of_query.is_empty() {
        column.exact().scan(&finder(of_query.as_str()), 0..2, |ordinal, _| {
            found[ordinal] = true;
            true
        });
        assert_eq!(found, [of_poem.as_str().contains(of_query.as_str()), true]);
    }
}
