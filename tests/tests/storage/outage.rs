//! The bucket or web host goes away under load: what is at hand is served on, the rest says so soon, and then all is well again.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use wakashu_bench::{Shape, write_archive};
use wakashu_tests::{HttpRequest, Reply, Server, call, legacy};

use super::load::{Client, length, under_load};
use super::store::{Store, folder, open};
use wakashu_support::fault_proxy::{Fault, Rule};

/// How long anybody waits for an answer that cannot be given. Reads are given up after 8 s, a request that waits for
/// another's read after 9 s; one that begins a read behind another's would take twice as long.
const LONGEST_WAIT: Duration = Duration::from_secs(16);

/// How soon a server notices, or recovers: it looks every second.
const SOON: Duration = Duration::from_secs(30);

/// What the clients can count on.
const UP: u8 = 0;
const DOWN: u8 = 1;
const UP_AGAIN: u8 = 2;

/// Which clients have come how far, a bit each.
#[derive(Debug, Default)]
struct Progress {
    phase: AtomicU8,
    refused: AtomicUsize,
    fetched: AtomicUsize,
}

/// The clients that ask for what is not at hand.
const ASKING_FOR_MORE: usize = 0b10_1010_1010;

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
fn watch(mut client: Client<'_>, progress: &Progress) -> Seen {
    let (phase, own) = (&progress.phase, 1 << client.number);
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
            progress.fetched.fetch_or(own, Ordering::SeqCst);
        } else {
            assert!(says_sorry(&reply), "{}", reply.text());
            seen.refused += 1;
            seen.longest_refusal = seen.longest_refusal.max(took);
            progress.refused.fetch_or(own, Ordering::SeqCst);
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
    let progress = Progress::default();
    let mut recovery = Duration::ZERO;
    let seen = under_load(
        &server,
        |client| watch(client, &progress),
        || {
            store.proxy.inject(Rule::always(Fault::Drop));
            progress.phase.store(DOWN, Ordering::SeqCst);
            let begun = Instant::now();
            wait_until("it is noticed", || status(&server)["stale"] == true);
            wait_until("everybody is refused", || progress.refused.load(Ordering::SeqCst) == ASKING_FOR_MORE);
            std::thread::sleep(length(0, 10).saturating_sub(begun.elapsed()));
            assert_eq!(status(&server)["state"], "READY");
            progress.phase.store(UP_AGAIN, Ordering::SeqCst);
            store.proxy.heal();
            recovery = wait_until("it is fresh again", || status(&server)["stale"] == false);
            wait_until("new pages come", || is_whole(&server.send(&ranking(300))));
            wait_until("everybody is answered", || {
                progress.fetched.load(Ordering::SeqCst) == ASKING_FOR_MORE
            });
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
    // All want the same page, and so wait for one read; a later request must not begin another one behind it.
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

/// Without a newer version, and without waiting for the next look.
const NEVER: (&str, &str) = ("WAKASHU_REFRESH_SECONDS", "86400");

#[test]
fn an_archive_damaged_on_its_way_at_the_start_is_asked_for_again() {
    let (_folder, path) = archive();
    let (opened, whole) = open(&path);
    let page = opened.root().rounds[0].chunks[0].page.span();
    let at = |offset: u64| usize::try_from(offset).unwrap();
    // A page, the root, the very end: of an archive that comes whole.
    let places = [at(page.offset), at(opened.opening_span().offset) + 40, whole.len() - 1];
    for place in places {
        let store = Store::with(&path);
        store.proxy.inject(Rule::on("GET", "/archives/", Fault::Flip(place)).times(1));
        let server = store.serve(&[NEVER, ("WAKASHU_PRELOAD_BYTES", "8388608")]);
        wait_until("it is served", || is_whole(&server.send(&ranking(1))));
        let status = status(&server);
        assert_eq!((&status["state"], &status["stale"]), (&"READY".into(), &false.into()), "byte {place}");
    }
}

#[test]
fn what_storage_gives_damaged_is_called_stale_until_it_is_whole_again() {
    let (_folder, path) = archive();
    let store = Store::with(&path);
    let server = store.serve(&[NEVER]);
    assert!(is_whole(&server.send(&ranking(1))));
    store.proxy.inject(Rule::on("GET", "/archives/", Fault::Flip(0)));
    assert!(says_sorry(&server.send(&ranking(100))));
    wait_until("it is noticed", || status(&server)["stale"] == true);
    assert!(is_whole(&server.send(&ranking(1))), "what was read before is whole");
    store.proxy.heal();
    // It is looked at again after a second, then two, then four.
    wait_until("it is fresh again", || status(&server)["stale"] == false);
    assert!(is_whole(&server.send(&ranking(100))));
}

/// A bucket that goes bad while the server runs, in one way after the other.
#[test]
fn whatever_a_bucket_answers_half_way_the_good_archive_is_kept() {
    // A page for each of them that nobody has read yet.
    let (_folder, path) = folder();
    write_archive(&path, &[Shape { rounds: 1, entries: 448, picture_bytes: 2_000 }]).unwrap();
    let answer = |status, body| Fault::Answer { status, header: None, body };
    let faults = [
        answer(503, "<Error><Code>SlowDown</Code></Error>"),
        answer(400, "<Error><Code>ExpiredToken</Code></Error>"),
        answer(200, "<!doctype html><title>Sign in</title>"),
        answer(206, "short"),
        Fault::Answer { status: 206, header: Some(("content-range", "bytes 7-11/12")), body: "wrong" },
        Fault::Truncate(100),
        Fault::Flip(0),
        Fault::Whole(std::fs::read(&path).unwrap().into()),
        Fault::Lengthen(1),
        Fault::Lengthen(1 << 20),
        Fault::Drop,
        Fault::Delay(Duration::from_hours(1)),
    ];
    let store = Store::with(&path);
    let server = store.serve(&[]);
    assert!(is_whole(&server.send(&ranking(1))));
    for (fault, fresh) in faults.into_iter().zip((40..).step_by(32)) {
        let name: String = format!("{fault:?}").chars().take(80).collect();
        store.proxy.inject(Rule::always(fault));
        assert!(says_sorry(&server.send(&ranking(fresh))), "{name}");
        wait_until(&format!("{name} is noticed"), || status(&server)["stale"] == true);
        assert!(is_whole(&server.send(&ranking(1))), "{name}: what is at hand is served");
        store.proxy.heal();
        wait_until(&format!("{name} is over"), || {
            status(&server)["stale"] == false && is_whole(&server.send(&ranking(fresh)))
        });
    }
}

/// Another valid archive under the name of the one that is served: nothing of it is taken.
#[test]
fn another_archive_under_the_name_of_the_served_one_is_not_taken() {
    let (_folder, path) = archive();
    let other = path.with_file_name("other.wakashu");
    for shape in [
        Shape { rounds: 1, entries: 320, picture_bytes: 2_001 },
        Shape { rounds: 2, entries: 160, picture_bytes: 2_000 },
    ] {
        write_archive(&other, &[shape]).unwrap();
        let store = Store::with(&path);
        let server = store.serve(&[]);
        assert!(is_whole(&server.send(&ranking(1))));
        let own = store.exchange_archive(&path, &other);
        assert!(says_sorry(&server.send(&ranking(100))));
        wait_until("it is noticed", || status(&server)["stale"] == true);
        assert_eq!(status(&server)["digest"], open(&path).0.digest().to_string());
        assert!(is_whole(&server.send(&ranking(1))), "what is at hand is served");
        // Nor by a server that begins with it.
        let fresh = store.serve(&[]);
        let reply = fresh.send(&ranking(1));
        assert!(reply.is_tool_error() && reply.pictures().is_empty(), "{}", reply.text());
        std::fs::copy(&path, &own).unwrap();
        wait_until("it is fresh again", || {
            status(&server)["stale"] == false && is_whole(&server.send(&ranking(100)))
        });
        wait_until("the other server has it", || is_whole(&fresh.send(&ranking(1))));
    }
}
