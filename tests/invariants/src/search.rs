//! Search keys: positions in a key lead back to the text it was made from.

use bytes::Bytes;
use unicode_normalization::UnicodeNormalization as _;
use unicode_segmentation::UnicodeSegmentation as _;
use wakashu_archive::{Column, ColumnName, ContentHash, EntryDraft, RoundDraft, SearchKey, Writer, finder};

/// Takes the first line for a query and the rest for a poem.
pub fn search(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (query, poem) = text.split_once('\n').unwrap_or(("の", &text));
    for make in [SearchKey::exact, SearchKey::loose] {
        let (key, needle) = (make(poem), make(query));
        assert!(
            !key.as_str().contains(|character: char| character.is_control() || character.is_whitespace())
        );
        assert_eq!(needle.is_empty(), needle.as_str().is_empty());
        let found = key.find(poem, needle.as_str());
        let is_there = !needle.is_empty() && key.as_str().contains(needle.as_str());
        assert_eq!(found.is_some(), is_there, "what the key holds is found in the text, and nothing else");
        if let Some(range) = found {
            assert!(!poem.get(range).expect("a mark goes around characters").is_empty());
        }
    }
    parts_find_the_whole(query, poem);
    columns_hold_the_keys(query, poem);
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
    for (keys, make) in
        [(column.exact(), SearchKey::exact as fn(&str) -> SearchKey), (loose, SearchKey::loose)]
    {
        let (of_poem, of_query) = (make(poem), make(query));
        assert_eq!(keys.field(0, 0), of_poem.as_str().as_bytes());
        assert_eq!(keys.field(1, 0), of_query.as_str().as_bytes());
        let mut found = [false; 2];
        if !of_query.is_empty() {
            keys.scan(&finder(of_query.as_str()), |ordinal, _| found[ordinal] = true);
            assert_eq!(found, [of_poem.as_str().contains(of_query.as_str()), true]);
        }
    }
}
