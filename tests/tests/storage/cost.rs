//! What a cold start costs with the settings nobody touched: how many reads wait for one another until the first
//! ranking is answered, and how many bytes they bring.

use std::time::Duration;

use serde_json::{Value, json};
use wakashu_bench::{Shape, write_archive};
use wakashu_tests::call;

use super::load::is_long;
use super::store::{Store, folder, open};
use wakashu_support::fault_proxy::{Fault, Rule, in_sequence};

/// What may be read besides what is named: nothing today, but a reader may round up.
const SLACK_BYTES: u64 = 4 << 10;

/// Longer than a reader takes from one concurrent read to the next, so that those overlap.
const LATENCY: Duration = Duration::from_millis(30);

/// Three of these fit into one answer in full size.
const PICTURE_BYTES: usize = 16_600;

/// The parts of an archive that a ranking may have to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// All of it.
    Whole,
    /// Its end, the pages and the pictures.
    Parts,
}

/// Starts a server on an archive of this shape, asks for the first three ranks of a round, and compares what went
/// through the proxy with what the archive itself says is needed.
#[track_caller]
fn check_cold_ranking(shape: Shape, most_in_sequence: usize, reading: Reading) {
    let (_folder, path) = folder();
    write_archive(&path, &[shape]).unwrap();
    let store = Store::with(&path);
    store.proxy.inject(Rule::always(Fault::Delay(LATENCY)));
    let round = "第1回";
    let server = store.serve_by_default();
    let reply =
        server.send(&call("get_wakashu_ranking", &json!({ "round_title": round, "rank_range": "1-3" })));
    let exchanges = store.proxy.take_log();
    assert!(!reply.is_tool_error(), "{}", reply.text());
    assert_eq!(reply.pictures().len(), 3, "pictures are part of the answer");

    let (archive, whole) = open(&path);
    let pointer = store.pointer();
    let needed = match reading {
        Reading::Whole => whole.len() as u64,
        Reading::Parts => {
            let chunks = archive.find_round(round).unwrap().chunks_with(1, 3);
            let pages: u64 = chunks.iter().map(|chunk| chunk.page.span().length).sum();
            let pictures: u64 = reply.pictures().iter().map(|stored| stored.len() as u64).sum();
            let opening = if is_inline(&pointer) { 0 } else { archive.opening_span().length };
            opening + pages + pictures
        }
    };
    let bar = pointer.len() as u64 + needed + SLACK_BYTES;
    let bytes: u64 = exchanges.iter().map(|one| one.answer_bytes as u64).sum();
    let reads = in_sequence(&exchanges);
    println!(
        "{} entries, {} bytes: {} reads, {reads} in sequence (at most {most_in_sequence}), {bytes} bytes (at most {bar}: \
         a pointer of {}, {needed} of the archive)",
        archive.root().entries.to_native(),
        whole.len(),
        exchanges.len(),
        pointer.len(),
    );
    assert!(reads <= most_in_sequence && bytes <= bar, "{exchanges:#?}");
}

/// Tells whether the pointer carries the opening, which then costs nothing more.
fn is_inline(pointer: &[u8]) -> bool {
    let pointer: Value = serde_json::from_slice(pointer).unwrap();
    pointer["opening"]["inline"].is_string()
}

#[test]
fn a_cold_ranking_from_two_megabytes_reads_the_pointer_and_the_archive() {
    let shape = Shape { rounds: 1, entries: 30, picture_bytes: PICTURE_BYTES };
    check_cold_ranking(shape, 2, Reading::Whole);
}

#[test]
fn a_cold_ranking_from_twenty_megabytes_takes_three_reads_of_what_it_needs() {
    let shape = Shape { rounds: 10, entries: 30, picture_bytes: PICTURE_BYTES };
    check_cold_ranking(shape, 3, Reading::Parts);
}

/// With twenty thousand entries already, the opening is too long to lie in the pointer.
#[test]
fn a_cold_ranking_from_an_archive_with_a_long_opening_takes_four_reads() {
    let shape = Shape { rounds: if is_long() { 10_000 } else { 200 }, entries: 100, picture_bytes: 48 };
    check_cold_ranking(shape, 4, Reading::Parts);
}
