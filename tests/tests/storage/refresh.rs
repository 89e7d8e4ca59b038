//! The pointer moves while ten clients ask: every answer is whole, and of one archive.

use std::path::Path;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::json;
use wakashu_archive::EntryDraft;
use wakashu_tests::{Collection, HttpRequest, Pictures, Reply, call, legacy, poem};

use super::load::{length, under_load};
use super::store::Store;

/// What marks the two archives, in every text of theirs.
pub(crate) const MARKS: [&str; 2] = ["甲印", "乙印"];

/// Entries of each archive: three pages, and pictures that do not all fit into the cache.
const ENTRIES: u32 = 96;
const SMALL_CACHE: (&str, &str) = ("WAKASHU_CACHE_BYTES", "1048576");

pub(crate) fn marked(mark: &str) -> Collection {
    let entry = |rank: u32| {
        let size = Pictures { small: 4_000, medium: 12_000, large: 24_000 };
        let plain = poem(rank, Some(size));
        let picture = plain.picture.map(|mut picture| {
            for rendition in [&mut picture.small, &mut picture.medium, &mut picture.large] {
                rendition.bytes = Bytes::from([&rendition.bytes[..], mark.as_bytes()].concat());
            }
            picture
        });
        EntryDraft { account: format!("@{mark}"), prompt: mark.to_owned(), picture, ..plain }
    };
    Collection::default().title(mark).round("第1回").entries((1..=ENTRIES).map(entry))
}

/// Requests that between them touch the root, the lists, pages, pictures and columns.
pub(crate) fn request(number: usize) -> HttpRequest {
    let first = u32::try_from(number * 7).unwrap() % (ENTRIES - 3) + 1;
    match number % 6 {
        0 => call("index_status", &json!({})),
        1 => legacy("tools/list", &json!({})),
        2 => call("search_poems", &json!({ "query": "印" })),
        3 => legacy("resources/read", &json!({ "uri": format!("wakashu://rounds/1/{first}") })),
        _ => call(
            "get_wakashu_ranking",
            &json!({ "round_title": "1", "rank_range": format!("{first}-{}", first + 2) }),
        ),
    }
}

/// Returns which archive an answer is of, after making sure that no part of it is of the other.
fn archive_of(reply: &Reply) -> usize {
    assert_eq!((reply.status, reply.code()), (200, 0), "{}", reply.text());
    let result = reply.result();
    assert_ne!(result["isError"], true, "{result}");
    let text = reply.text();
    // search_poems sets its mark inside ours: 甲【印】.
    let has = |mark: &str| text.contains(mark) || text.contains(&mark.replace('印', "【印】"));
    let found: Vec<usize> = (0..MARKS.len()).filter(|which| has(MARKS[*which])).collect();
    let [which] = found[..] else { panic!("of {found:?}: {text:.2000}") };
    let blocks = result["content"].as_array().into_iter().flatten();
    for picture in blocks.filter_map(|block| block["data"].as_str()) {
        let bytes = STANDARD.decode(picture).unwrap();
        assert!(bytes.ends_with(MARKS[which].as_bytes()), "a picture of the other archive");
    }
    which
}

#[test]
fn answers_are_of_one_archive_each_while_the_pointer_moves() {
    move_the_pointer(Store::with);
}

#[test]
fn answers_are_of_one_archive_each_while_the_pointer_moves_on_the_web() {
    move_the_pointer(Store::on_the_web_with);
}

fn move_the_pointer(store_with: fn(&Path) -> Store) {
    let archives = MARKS.map(marked);
    let written = archives.each_ref().map(Collection::write_with_trailer);
    let store = store_with(&written[0].0);
    store.publish(&written[1].0);
    let digests = written.each_ref().map(|(_, written)| written.digest.to_string());
    let server = store.serve(&[SMALL_CACHE]);

    let mut flips = 0;
    let seen = under_load(
        &server,
        |mut client| {
            let (mut answers, mut changes, mut last) = (0, 0, None);
            while client.goes_on() {
                let (reply, _) = client.ask(&request(client.number * 31 + answers));
                let which = archive_of(&reply);
                changes += usize::from(last.is_some_and(|last| last != which));
                (last, answers) = (Some(which), answers + 1);
                if answers % 20 == 0 {
                    client.reconnect();
                }
            }
            (answers, changes)
        },
        || {
            let (begun, length) = (Instant::now(), length(4, 20));
            let (first, mut moved) = (archive_of(&server.send(&request(0))), false);
            // On a busy machine the server may take longer to look than the pointer to move twice.
            while begun.elapsed() < length || (!moved && begun.elapsed() < Duration::from_secs(30)) {
                store.point_to(&digests[flips % 2]);
                flips += 1;
                std::thread::sleep(Duration::from_secs(flips as u64).saturating_sub(begun.elapsed()));
                moved |= archive_of(&server.send(&request(0))) != first;
            }
        },
    );
    let answers: usize = seen.iter().map(|(answers, _)| answers).sum();
    let changes = seen.iter().map(|(_, changes)| *changes).max().unwrap();
    let reads = store.archive_reads().len();
    println!(
        "{answers} answers, none failed; the pointer moved {flips} times, clients saw up to {changes} changes; {reads} reads of archives"
    );
    assert!((1..=flips).contains(&changes), "{changes} of {flips}");
    assert!(seen.iter().all(|(answers, _)| *answers > 0), "everybody was answered: {seen:?}");
}
