//! `TextData` files: what is accepted is stored and read back as it was written.

use bytes::Bytes;
use serde_json::json;
use wakashu_archive::{Archive, ContentHash, EntryDraft, MAX_ENTRY_TEXT_BYTES, RoundDraft, Writer, unescape};
use wakashu_indexer::walk::{Fault, parse_text_data};

const RANK: u32 = 12;

/// Reads bytes as the words of an entry.
pub fn text_data(bytes: &[u8]) {
    let parsed = parse_text_data(bytes, RANK);
    for fault in &parsed.faults {
        for said in [&fault.wording.en, &fault.wording.ja] {
            assert!(!said.message.is_empty() && said.hint.as_ref().is_some_and(|hint| !hint.is_empty()));
        }
    }
    let Some(draft) = parsed.value else {
        assert!(parsed.faults.iter().any(Fault::is_error), "a file is refused for a reason");
        return;
    };
    let again =
        parse_text_data(written(&draft).as_bytes(), RANK).value.expect("what was read can be written");
    assert_eq!(format!("{again:?}"), format!("{draft:?}"));
    is_stored(&draft);
}

/// Writes an entry the way a curator does, extra keys in order.
fn written(draft: &EntryDraft) -> String {
    let mut members = vec![
        ("AccountName", json!(draft.account)),
        ("HonkadoriWaka", json!(draft.poem)),
        ("Honka", json!(draft.honka)),
        ("Prompt", json!(draft.prompt)),
    ];
    members.extend(draft.yomi.iter().map(|yomi| ("Yomi", json!(yomi))));
    members.extend(draft.extras.iter().map(|(key, value)| (key.as_str(), json!(value))));
    let members: Vec<String> =
        members.into_iter().map(|(key, value)| format!("{}:{value}", json!(key))).collect();
    format!("{{{}}}", members.join(","))
}

fn is_stored(draft: &EntryDraft) {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.begin_round(RoundDraft { title: "第1回".to_owned(), ..RoundDraft::default() }).unwrap();
    writer.entry(draft.clone()).expect("an accepted entry is written");
    let (_, file) = writer.finish(String::new(), String::new(), ContentHash::of(b"")).expect("an archive");
    let archive = Archive::open(file.as_slice()).expect("an archive just written");
    let chunk = &archive.root().rounds[0].chunks[0];
    let span = chunk.page.span();
    let page = &file[usize::try_from(span.offset).unwrap()..usize::try_from(span.end()).unwrap()];
    let page = archive.page(chunk, Bytes::copy_from_slice(page)).expect("a page just written");
    let entry = &page.entries[0];
    assert!(entry.text.len() <= MAX_ENTRY_TEXT_BYTES);
    assert_eq!(unescape(&entry.text).chars().count(), entry.text_characters.to_native() as usize);
    assert_eq!(unescape(entry.account_escaped()), draft.account);
    assert_eq!(unescape(entry.poem_escaped()), draft.poem);
    assert_eq!(unescape(entry.prompt_escaped()), draft.prompt);
    assert!(entry.honka_escaped().map(unescape).eq(draft.honka.iter().map(String::as_str)));
    let extras =
        entry.extras_escaped().map(|(key, value)| (unescape(key).into_owned(), unescape(value).into_owned()));
    assert!(extras.eq(draft.extras.iter().cloned()));
    assert_eq!(entry.yomi.as_deref().map(unescape).as_deref(), draft.yomi.as_deref());
}
