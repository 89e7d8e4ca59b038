//! A model of refreshing: the real state, index and router over a simulated store, in thousands of worlds. In each of
//! them archives are published and pruned while readers ask, reads are slow, fail or come damaged; and one seed decides
//! everything, so that what went wrong once can be seen again.
//!
//! No answer is of two archives, none is a panic, a good archive is never lost, and once the faults are over the newest
//! one is served.
//!
//! `WAKASHU_SEEDS=100000 cargo test -p wakashu-function --test served` tries more, `WAKASHU_SEEDS=17..18` one.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests fail by panicking"
)]

mod library;
mod schedule;
mod store;
mod world;

use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use self::world::{Bug, Tally, live};

/// How many worlds the usual run tries.
const SEEDS: u64 = 2_000;

thread_local! {
    static PANICKED: Cell<bool> = const { Cell::new(false) };
}

fn seeds() -> Range<u64> {
    let Ok(asked) = std::env::var("WAKASHU_SEEDS") else { return 0..SEEDS };
    match asked.split_once("..") {
        Some((from, to)) => from.parse().unwrap()..to.parse().unwrap(),
        None => 0..asked.parse().unwrap(),
    }
}

/// Lives through one world; a panic that the server contained is a violation too.
fn try_world(seed: u64, bug: Bug) -> Result<Tally, String> {
    PANICKED.set(false);
    let outcome = std::panic::catch_unwind(|| live(seed, bug));
    let violation = match outcome {
        Ok(Ok(tally)) if !PANICKED.get() => return Ok(tally),
        Ok(Err(violation)) => violation,
        Ok(Ok(_)) | Err(_) => "a panic".to_owned(),
    };
    Err(format!(
        "seed {seed}: {violation}\nagain: WAKASHU_SEEDS={seed}..{} cargo test -p wakashu-function --test served",
        seed + 1
    ))
}

/// Has panics noticed even where the server contains them.
fn notice_panics() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        PANICKED.set(true);
        before(panic);
    }));
}

/// Lives through all these worlds, on every core; the first violation ends it.
fn try_worlds(seeds: Range<u64>) -> Result<Tally, String> {
    let next = AtomicU64::new(seeds.start);
    let worker = || -> Result<Tally, String> {
        let mut tally = Tally::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return Ok(tally);
            }
            let lived = try_world(seed, Bug::None);
            tally.add(&lived.inspect_err(|_| next.store(seeds.end, Ordering::Relaxed))?);
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut all = Tally::default();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(worker)).collect();
        for worker in workers {
            all.add(&worker.join().unwrap()?);
        }
        Ok(all)
    })
}

#[test]
fn no_world_mixes_loses_or_breaks_archives() {
    notice_panics();
    let (started, seeds) = (Instant::now(), seeds());
    let all = try_worlds(seeds.clone()).unwrap_or_else(|violation| panic!("{violation}"));
    let count = seeds.end - seeds.start;
    println!("{count} worlds in {:.1} s: {all:?}", started.elapsed().as_secs_f64());
    // Worlds in which nothing happens would prove nothing.
    if count >= 1_000 {
        let Tally {
            flips,
            faults,
            leftovers,
            failed_refreshes,
            answers,
            kept_the_old,
            went_to_the_new,
            failures,
            hung_up,
        } = all;
        let least = usize::try_from(count).unwrap() / 50;
        for (what, happened) in [
            ("flips", flips),
            ("faults", faults),
            ("pointers that a cache had kept", leftovers),
            ("failed refreshes", failed_refreshes),
            ("answers", answers),
            ("answers from an archive already replaced", kept_the_old),
            ("answers from the successor of a pruned archive", went_to_the_new),
            ("failures", failures),
            ("clients that hung up", hung_up),
        ] {
            assert!(happened >= least, "only {happened} {what}");
        }
    }
}

/// Checks that a bug is noticed in some of a hundred worlds, as the `violation` it is.
fn check_caught(bug: Bug, violation: &str) {
    let said: Vec<String> = (0..100).filter_map(|seed| try_world(seed, bug).err()).collect();
    assert!(said.iter().any(|said| said.contains(violation)), "{bug:?} goes unnoticed: {said:?}");
}

#[test]
fn an_archive_lost_by_a_failed_refresh_is_noticed() {
    check_caught(Bug::FailureForgets, "a good archive was lost");
}

#[test]
fn an_answer_of_two_archives_is_noticed() {
    check_caught(Bug::RequestLooksTwice, "was answered from [");
}

#[test]
fn a_store_that_serves_another_archive_is_noticed() {
    check_caught(Bug::StoreSwapsArchives, "a refresh fails though the store is well");
}

#[test]
fn an_archive_that_is_never_replaced_is_noticed() {
    check_caught(Bug::NeverRefreshes, "is the newest");
}

#[test]
fn an_archive_that_gives_way_to_what_a_cache_has_kept_is_noticed() {
    check_caught(Bug::LeftoversPassForNew, "a refresh went well and serves");
}

#[test]
fn a_world_is_the_same_each_time() {
    for seed in 0..20 {
        let lived = || format!("{:?}", try_world(seed, Bug::None));
        assert_eq!(lived(), lived());
    }
}
