//! A damaged archive: only what is damaged is lost, and it says so.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use serde_json::{Value, json};
use wakashu_archive::{
    Archive, ColumnName, ContentHash, Reference, Section, SectionKind, SectionTable, Span, TRAILER_BYTES,
    Trailer,
};
use wakashu_tests::{Collection, HttpRequest, call, legacy, modern, poem};

use super::fixture::{TINY, in_every_way};

/// Two rounds; the first has two chunks.
fn collection() -> Collection {
    Collection::default()
        .round("第1回")
        .entries((1..=40).map(|rank| poem(rank, TINY)))
        .round("第2回")
        .entries((101..=103).map(|rank| poem(rank, TINY)))
}

fn open(path: &Path) -> (Archive, Bytes) {
    let whole = Bytes::from(std::fs::read(path).unwrap());
    (Archive::open(&*whole).unwrap(), whole)
}

fn range(span: Span) -> std::ops::Range<usize> {
    usize::try_from(span.offset).unwrap()..usize::try_from(span.end()).unwrap()
}

/// Writes the archive with one bit in the middle of `span` turned over.
fn damaged(path: &Path, span: Span) -> PathBuf {
    let mut bytes = std::fs::read(path).unwrap();
    let middle = usize::try_from(span.offset + span.length / 2).unwrap();
    bytes[middle] ^= 1;
    let damaged = path.with_file_name("damaged.wakashu");
    std::fs::write(&damaged, bytes).unwrap();
    damaged
}

fn page_span(path: &Path) -> Span {
    open(path).0.root().rounds[0].chunks[0].page.span()
}

/// Returns where the large picture of rank 2 lies.
fn picture_span(path: &Path) -> Span {
    let (archive, whole) = open(path);
    let chunk = &archive.root().rounds[0].chunks[0];
    let page = archive.page(chunk, whole.slice(range(chunk.page.span()))).unwrap();
    page.entries[1].picture.as_ref().unwrap().large.span()
}

fn both(method: &str, params: &Value) -> [HttpRequest; 2] {
    [modern(method, params), legacy(method, params)]
}

fn tool(name: &str, arguments: &Value) -> [HttpRequest; 2] {
    both("tools/call", &json!({ "name": name, "arguments": arguments }))
}

#[test]
fn a_damaged_page_takes_down_its_own_chunk_and_nothing_else() {
    let collection = collection();
    let path = collection.write();
    in_every_way(&damaged(&path, page_span(&path)), |way, mut server| {
        for (name, arguments) in [
            ("get_wakashu_ranking", json!({ "round_title": "1" })),
            ("get_wakashu_ranking", json!({ "round_title": "1", "rank_range": "30-35" })),
            ("get_poem", json!({ "round_title": "1", "rank": 32 })),
        ] {
            for request in tool(name, &arguments) {
                let reply = server.send(&request);
                assert!(reply.is_tool_error(), "{arguments}");
                let text = &reply.texts()[0];
                assert!(
                    text.contains("データを読み出せませんでした") && text.contains("問い合わせ番号"),
                    "{text}"
                );
            }
        }
        for uri in ["wakashu://rounds/1", "wakashu://rounds/1/1", "wakashu://rounds/1/1/picture"] {
            for request in both("resources/read", &json!({ "uri": uri })) {
                assert_eq!(server.send(&request).code(), -32603, "{uri}");
            }
        }
        for request in both("prompts/get", &json!({ "name": "present_round", "arguments": { "round": "1" } }))
        {
            assert_eq!(server.send(&request).code(), -32603);
        }
        assert_eq!(server.get("/pictures/1/1").status, 503);

        for arguments in [
            json!({ "round_title": "1", "rank_range": "33-40" }),
            json!({ "round_title": "2", "rank_range": "101-103" }),
        ] {
            for request in tool("get_wakashu_ranking", &arguments) {
                let reply = server.send(&request);
                assert!(!reply.is_tool_error() && !reply.pictures().is_empty(), "{arguments}");
            }
        }
        assert_eq!(server.get("/pictures/1/33").status, 200);
        assert!(!server.send(&call("list_rounds", &json!({}))).is_tool_error());
        assert!(server.log_with("TOOL_EXECUTION_ERROR").contains("a request failed"), "the log knows why");
        assert!(server.is_alive(), "{way}");
    });
}

#[test]
fn a_damaged_picture_is_said_to_be_missing_and_its_text_stays() {
    let collection = collection();
    let path = collection.write();
    in_every_way(&damaged(&path, picture_span(&path)), |way, mut server| {
        for request in tool("get_wakashu_ranking", &json!({ "round_title": "1" })) {
            let reply = server.send(&request);
            assert!(!reply.is_tool_error());
            assert_eq!(reply.pictures().len(), 2);
            let texts = reply.texts();
            assert!(
                texts[1].starts_with("2位：") && texts[2].contains("画像だけを読み込めませんでした"),
                "{texts:?}"
            );
        }
        for request in tool("get_poem", &json!({ "round_title": "1", "rank": 2 })) {
            let reply = server.send(&request);
            assert_eq!((reply.texts().len(), reply.pictures().len()), (2, 0));
        }
        for request in both("resources/read", &json!({ "uri": "wakashu://rounds/1/2/picture" })) {
            assert_eq!(server.send(&request).code(), -32603);
        }
        assert_eq!(server.get("/pictures/1/2").status, 503);
        assert_eq!(server.get("/pictures/1/2?rendition=small").status, 200, "another rendition is whole");
        assert_eq!(server.get("/pictures/1/1").status, 200);
        assert!(server.log_with("a picture could not be read").contains("WARN"));
        assert!(server.is_alive(), "{way}");
    });
}

#[test]
fn a_damaged_column_takes_down_its_own_search_and_nothing_else() {
    let collection = collection();
    let path = collection.write();
    let column = open(&path).0.column(ColumnName::Text).unwrap();
    in_every_way(&damaged(&path, column.span()), |way, mut server| {
        for _ in 0..2 {
            for request in tool("search_poems", &json!({ "query": "歌" })) {
                let reply = server.send(&request);
                let text = &reply.texts()[0];
                assert!(reply.is_tool_error(), "{text}");
                assert!(
                    text.contains("データを読み出せませんでした") && text.contains("問い合わせ番号"),
                    "{text}"
                );
            }
        }
        for request in tool("search_poems", &json!({ "query": "honka:example.org" })) {
            let reply = server.send(&request);
            assert!(!reply.is_tool_error(), "another column is whole: {:?}", reply.texts());
        }
        for request in tool("get_wakashu_ranking", &json!({ "round_title": "1" })) {
            assert_eq!(server.send(&request).pictures().len(), 3);
        }
        assert!(server.log_with("TOOL_EXECUTION_ERROR").contains("column"), "the log knows why");
        assert!(server.is_alive(), "{way}");
    });
}

/// Writes the archive without its search columns; the format leaves them optional.
fn without_columns(path: &Path) -> PathBuf {
    let (archive, whole) = open(path);
    let root = archive.table().find(SectionKind::ROOT).unwrap();
    let from = ColumnName::ALL.map(|name| archive.column(name).unwrap().offset).into_iter().min().unwrap();
    let mut bytes = whole.slice(..usize::try_from(from).unwrap()).to_vec();
    bytes.extend_from_slice(&whole[range(root.span())]);
    let reference = Reference { offset: from, ..root };
    let section = Section { kind: SectionKind::ROOT, must_be_understood: true, reference };
    let bare = path.with_file_name("bare.wakashu");
    std::fs::write(&bare, closed(bytes, vec![section])).unwrap();
    bare
}

/// Ends a file with a section table and a trailer.
fn closed(mut bytes: Vec<u8>, sections: Vec<Section>) -> Vec<u8> {
    let table = SectionTable::new(sections).encode();
    bytes.extend_from_slice(&table);
    let total_length = (bytes.len() + TRAILER_BYTES) as u64;
    bytes.extend_from_slice(&Trailer::encode(total_length, &table));
    bytes
}

/// Writes the archive with columns that say they hold other keys than this build makes; every hash is right.
fn with_other_keys(path: &Path) -> PathBuf {
    let (archive, whole) = open(path);
    let mut bytes = whole.slice(..usize::try_from(archive.trailer().table().offset).unwrap()).to_vec();
    let mut sections = archive.table().sections().to_vec();
    for section in sections.iter_mut().filter(|section| section.kind != SectionKind::ROOT) {
        let column = range(section.reference.span());
        bytes[column.start + 12..column.start + 14].copy_from_slice(&77_u16.to_le_bytes());
        section.reference.hash = ContentHash::of(&bytes[column]);
    }
    let other = path.with_file_name("other-keys.wakashu");
    std::fs::write(&other, closed(bytes, sections)).unwrap();
    other
}

#[test]
fn an_archive_with_other_keys_is_served_and_says_that_search_needs_a_rebuild() {
    let collection = collection();
    in_every_way(&with_other_keys(&collection.write()), |way, mut server| {
        for query in ["歌", "prompt:picture", "account:@poet1 honka:example"] {
            for request in tool("search_poems", &json!({ "query": query })) {
                let reply = server.send(&request);
                let text = &reply.texts()[0];
                assert!(reply.is_tool_error() && text.contains("作り直すまで歌を探せません"), "{text}");
            }
        }
        for request in tool("get_wakashu_ranking", &json!({ "round_title": "1" })) {
            assert_eq!(server.send(&request).pictures().len(), 3);
        }
        assert!(server.is_alive(), "{way}");
    });
}

#[test]
fn an_archive_without_columns_is_served_but_cannot_be_searched() {
    let collection = collection();
    in_every_way(&without_columns(&collection.write()), |way, mut server| {
        for query in ["歌", "prompt:picture", "account:@poet1 honka:example"] {
            for request in tool("search_poems", &json!({ "query": query })) {
                let reply = server.send(&request);
                let text = &reply.texts()[0];
                assert!(reply.is_tool_error() && text.contains("検索用のデータがない"), "{text}");
                assert!(!text.contains("しばらく"), "trying again would not help: {text}");
            }
        }
        for request in tool("get_wakashu_ranking", &json!({ "round_title": "1" })) {
            assert_eq!(server.send(&request).pictures().len(), 3);
        }
        assert!(server.is_alive(), "{way}");
    });
}

#[test]
fn a_damaged_root_or_a_foreign_file_is_not_served_and_the_server_says_so() {
    let collection = collection();
    let path = collection.write();
    let root = open(&path).0.table().find(SectionKind::ROOT).unwrap().span();
    let whole = std::fs::read(&path).unwrap();
    let beside = |name: &str, bytes: &[u8]| {
        let path = path.with_file_name(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    for (name, path) in [
        ("root", damaged(&path, root)),
        ("cut short", beside("cut.wakashu", &whole[..whole.len() / 2])),
        ("foreign", beside("foreign.wakashu", b"PK\x03\x04 this is no archive")),
        ("empty", beside("empty.wakashu", b"")),
    ] {
        in_every_way(&path, |way, server| {
            let status = server.send(&call("index_status", &json!({})));
            assert_eq!(status.result()["structuredContent"]["state"], "UNAVAILABLE", "{name}, {way}");
            assert!(
                server.send(&call("get_poem", &json!({ "round_title": "1", "rank": 1 }))).is_tool_error(),
                "{name}, {way}"
            );
            assert!(
                server.log_with("could not be refreshed").contains("detail"),
                "{name}, {way}: the log knows why"
            );
        });
    }
}
