//! The bucket or web host goes away under load: what is at hand is served on, the rest says so soon, and then all is well again.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use wakashu_bench::{Shape, write_archive};
use wakashu_tests::{HttpRequest, Reply, Server, call, legacy};

use crate::fault_proxy::{Fault, Rule};
use crate::load::{Client, length, under_load};
use crate::store::{Store, folder};

/// How long anybody waits for an answer that cannot be given. Reads are given up after 8 s, whoever waits for
/// another's read after 9 s; the rest is for a busy machine.
const LONGEST_WAIT: Duration = Duration::from_secs(12);

/// How soon a server notices, or recovers: it looks every second.
const SOON: Duration = Duration::from_secs(15);

/// What the clients can count on.
const UP: u8 = 0;
const DOWN: u8 = 1;
const UP_AGAIN: u8 = 2;

/// Ten pages; the first is asked for before the bucket goes.
fn archive() -> (TempDir, PathBuf) {
    let (folder, path) = folder();
    write_archive(&path, &[Shape { rounds: 1, entries: 320, picture_bytes: 2_000 }]).unwrap();
    (folder, path)
}

fn ranking(first: usize) -> HttpRequest {
    let range = format!("{first}-{}", first + 2);
    call("get_wakashu_ranking", &json!({ "round_title": "1", "rank_range": range }))
}

pub(crate) fn status(server: &Server) -> Value {
    server.send(&call("index_status", &json!({}))).result()["structuredContent"].clone()
}

pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) -> Duration {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < SOON, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
    begun.elapsed()
}

fn is_whole(reply: &Reply) -> bool {
    !reply.is_tool_error() && reply.pictures().len() == 3
}

/// Tells whether an answer says, in words for a reader, that it cannot be given now.
fn says_sorry(reply: &Reply) -> bool {
    let text = reply.texts().concat();
    reply.is_tool_error() && text.contains("データを読み出せませんでした") && text.contains("問い合わせ番号")
}

#[derive(Debug, Default)]
struct Seen {
    cached: usize,
    refused: usize,
    longest_refusal: Duration,
    fetched: usize,
}

/// Half of the clients ask for what is at hand, half for what is not.
fn watch(mut client: Client<'_>, phase: &AtomicU8) -> Seen {
    let mut seen = Seen::default();
    while client.goes_on() {
        let before = phase.load(Ordering::SeqCst);
        let is_cached = client.number.is_multiple_of(2);
        if before == UP && !is_cached {
            std::thread::sleep(Duration::from_millis(5));
            continue;
        }
        let first = if is_cached { 1 } else { 32 * (1 + client.number / 2) + 1 };
        let (reply, took) = client.ask(&ranking(first));
        let stayed = before == phase.load(Ordering::SeqCst);
        if is_cached {
            assert!(is_whole(&reply), "what is at hand goes on: {}", reply.text());
            seen.cached += 1;
        } else if is_whole(&reply) {
            assert!(!stayed || before == UP_AGAIN, "where from?");
            seen.fetched += 1;
        } else {
            assert!(says_sorry(&reply), "{}", reply.text());
            seen.refused += 1;
            seen.longest_refusal = seen.longest_refusal.max(took);
        }
    }
    seen
}

#[test]
fn without_storage_answers_go_on_or_fail_clearly_and_come_back() {
    go_away_and_come_back(&Store::with(&archive().1));
}

#[test]
fn without_its_web_host_answers_go_on_or_fail_clearly_and_come_back() {
    go_away_and_come_back(&Store::on_the_web_with(&archive().1));
}

fn go_away_and_come_back(store: &Store) {
    let server = store.serve(&[]);
    assert!(is_whole(&server.send(&ranking(1))), "the first page is at hand from here on");
    let phase = AtomicU8::new(UP);
    let mut recovery = Duration::ZERO;
    let seen = under_load(
        &server,
        |client| watch(client, &phase),
        || {
            std::thread::sleep(Duration::from_millis(300));
            store.proxy.inject(Rule::always(Fault::Drop));
            phase.store(DOWN, Ordering::SeqCst);
            let begun = Instant::now();
            wait_until("it is noticed", || status(&server)["stale"] == true);
            std::thread::sleep(length(2, 10).saturating_sub(begun.elapsed()));
            assert_eq!(status(&server)["state"], "READY");
            phase.store(UP_AGAIN, Ordering::SeqCst);
            store.proxy.heal();
            recovery = wait_until("it is fresh again", || status(&server)["stale"] == false);
            wait_until("new pages come", || is_whole(&server.send(&ranking(300))));
            std::thread::sleep(Duration::from_millis(500));
        },
    );
    let sum = |of: fn(&Seen) -> usize| seen.iter().map(of).sum::<usize>();
    let longest = seen.iter().map(|seen| seen.longest_refusal).max().unwrap();
    println!(
        "{} cached answers; {} refused, the slowest after {longest:?}; fresh {recovery:?} after storage came back, {} fetched then",
        sum(|seen| seen.cached),
        sum(|seen| seen.refused),
        sum(|seen| seen.fetched)
    );
    assert!(longest < LONGEST_WAIT, "{longest:?}");
    for (number, seen) in seen.iter().enumerate() {
        let expected =
            if number.is_multiple_of(2) { seen.cached > 0 } else { seen.refused > 0 && seen.fetched > 0 };
        assert!(expected, "client {number}: {seen:?}");
    }
}

#[test]
fn a_silent_bucket_holds_nobody_up_for_long() {
    fall_silent(&Store::with(&archive().1));
}

#[test]
fn a_silent_web_host_holds_nobody_up_for_long() {
    fall_silent(&Store::on_the_web_with(&archive().1));
}

fn fall_silent(store: &Store) {
    let server = store.serve(&[]);
    assert!(is_whole(&server.send(&ranking(1))));
    store.proxy.inject(Rule::always(Fault::Delay(Duration::from_mins(10))));
    // All want the same page, and so wait for one read; whoever came later must not begin another one behind it.
    let seen = under_load(
        &server,
        |mut client| match client.number {
            0 => {
                let resource = json!({ "uri": "wakashu://rounds/1/40" });
                let (reply, took) = client.ask(&legacy("resources/read", &resource));
                assert_eq!(reply.code(), -32603, "{}", reply.text());
                took
            }
            1 => {
                let (reply, took) = client.ask(&ranking(1));
                assert!(is_whole(&reply), "{}", reply.text());
                assert!(took < Duration::from_secs(2), "what is at hand is served at once: {took:?}");
                took
            }
            _ => {
                let (reply, took) = client.ask(&ranking(40));
                assert!(says_sorry(&reply), "{}", reply.text());
                took
            }
        },
        || (),
    );
    let longest = seen.into_iter().max().unwrap();
    println!("silent storage: the slowest refusal after {longest:?}");
    assert!(longest < LONGEST_WAIT, "{longest:?}");
    store.proxy.heal();
    wait_until("it recovers", || is_whole(&server.send(&ranking(40))));
}
