//! What a cold answer reads: the tail, the pages it touches, the pictures it sends, and nothing else.

use std::path::Path;

use serde_json::json;
use wakashu_archive::TAIL_BYTES;
use wakashu_bench::{Shape, write_archive};
use wakashu_tests::call;

use crate::store::{Store, folder, open, part};

/// Asks a fresh server for the first three ranks and compares the bytes that went through the proxy with what the
/// archive itself says they should be.
fn check_cold_ranking(path: &Path, round: &str) {
    let store = Store::with(path);
    // The pointer is read once: what is counted is one answer.
    let server = store.serve(&[("WAKASHU_REFRESH_SECONDS", "86400")]);
    let reply = server.send(&call("get_wakashu_ranking", &json!({ "round_title": round })));
    assert!(!reply.is_tool_error());
    let sent: u64 = reply.pictures().iter().map(|picture| picture.len() as u64).sum();
    let exchanges = store.proxy.take_log();
    let read = |kind: &str| -> u64 {
        let of_kind = exchanges.iter().filter(|one| one.path.contains(kind));
        of_kind.map(|one| one.answer_bytes as u64).sum()
    };

    let (archive, whole) = open(path);
    let round = archive.find_round(round).unwrap();
    let chunks = round.chunks_with(1, 3);
    let pages: u64 = chunks.iter().map(|chunk| chunk.page.span().length).sum();
    let page = archive.page(&chunks[0], part(&whole, chunks[0].page.span())).unwrap();
    let pictures = page.entries.iter().take(3).map(|entry| &entry.picture.as_ref().unwrap().large);
    let pictures: u64 = pictures.map(|large| large.span().length).sum();
    assert_eq!((reply.pictures().len(), sent), (3, pictures), "the largest pictures fit");
    let opening = archive.opening_span().length;
    assert_eq!(
        read("/archives/"),
        opening.min(whole.len() as u64) + pages + pictures,
        "{} bytes of archive, a root of {}: {exchanges:#?}",
        whole.len(),
        archive.opening_span().length
    );
    assert!(read("current.json") < 4_096, "besides, the pointer");
    println!(
        "{} entries: {} bytes read = {opening} to open + {pages} of pages + {pictures} of pictures",
        archive.root().entries.to_native(),
        read("/archives/")
    );
}

#[test]
fn a_cold_ranking_of_thirty_entries_reads_what_it_needs() {
    let (_folder, path) = folder();
    write_archive(&path, &[Shape { rounds: 1, entries: 30, picture_bytes: 20_000 }]).unwrap();
    check_cold_ranking(&path, "第1回");
}

#[test]
fn a_cold_ranking_of_a_hundred_thousand_entries_reads_a_larger_root_and_no_more() {
    let (_folder, path) = folder();
    write_archive(&path, &[Shape { rounds: 2, entries: 50_000, picture_bytes: 16 }]).unwrap();
    let (archive, _) = open(&path);
    assert!(archive.opening_span().length > TAIL_BYTES, "the root takes a second read");
    check_cold_ranking(&path, "第2回");
}
