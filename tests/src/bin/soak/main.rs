//! A soak: the programs as they ship under good and hostile traffic for a while, its memory and open files watched.
//!
//! Run by `tests/bench/soak [MINUTES]`.
#![expect(clippy::print_stdout, reason = "a measuring program")]
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a measuring program ends where something is wrong"
)]

mod traffic;
mod vitals;

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use wakashu_tests::{Collection, Pictures, Server, poem};

use traffic::{Counts, Kind};
use vitals::Vitals;

/// How often memory and open files are looked at.
const EVERY: Duration = Duration::from_secs(5);

/// How often another archive takes the place of the served one.
const REPLACE_EVERY: Duration = Duration::from_secs(20);

/// How long the server has at the end to notice that everyone has left: two signs of life of a stream, and some more.
const SETTLING: Duration = Duration::from_secs(40);

/// Clients, each with a connection of its own.
const CLIENTS: [Kind; 8] = [
    Kind::Reader,
    Kind::Reader,
    Kind::Reader,
    Kind::Reader,
    Kind::Listener,
    Kind::Vandal,
    Kind::Vandal,
    Kind::Vandal,
];

fn main() -> ExitCode {
    let minutes: f64 = std::env::args().nth(1).map_or(15.0, |minutes| minutes.parse().unwrap());
    let length = Duration::from_secs_f64(minutes * 60.0);
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("poems.wakashu");
    replace(&archive, 0);
    let server = Server::serve_with(Some(&archive), &[("WAKASHU_REFRESH_SECONDS", "1")]);
    let before = Vitals::of(server.id());
    let (counts, is_over) = (Counts::default(), AtomicBool::new(false));
    let started = Instant::now();
    let mut samples = Vec::new();
    println!("minute   answers  refused  no answer  5xx  RssAnon KiB  files  threads");
    std::thread::scope(|scope| {
        for (number, kind) in CLIENTS.into_iter().enumerate() {
            let (server, counts, is_over) = (&server, &counts, &is_over);
            scope.spawn(move || traffic::send(kind, number, server.address(), counts, is_over));
        }
        let (mut archives, mut minutes_shown) = (0, 0);
        while started.elapsed() < length {
            std::thread::sleep(EVERY.min(length.saturating_sub(started.elapsed())));
            let elapsed = started.elapsed();
            if elapsed.as_secs() / REPLACE_EVERY.as_secs() > archives {
                archives = elapsed.as_secs() / REPLACE_EVERY.as_secs();
                replace(&archive, archives);
            }
            let vitals = Vitals::of(server.id());
            samples.push(vitals);
            if elapsed.as_secs() / 60 > minutes_shown || elapsed >= length {
                minutes_shown = elapsed.as_secs() / 60;
                println!("{:>6.1} {} {}", elapsed.as_secs_f64() / 60.0, counts.row(), vitals.row());
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    std::thread::sleep(SETTLING);
    let after = Vitals::of(server.id());
    println!(" after {} {}", counts.row(), after.row());
    let problems: Vec<String> = [
        counts.problem(),
        vitals::growth(&samples),
        (after.files > before.files + 2)
            .then(|| format!("{} files are open, {} were before", after.files, before.files)),
        server.log().contains("panicked").then(|| "the log tells of a panic".to_owned()),
    ]
    .into_iter()
    .flatten()
    .collect();
    for problem in &problems {
        println!("FAILED: {problem}");
    }
    if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Puts an archive in the place of the served one, by renaming. Every other one has the same pictures.
fn replace(archive: &Path, number: u64) {
    let pictures =
        Pictures { small: 20_000, medium: 60_000, large: 200_000 + usize::try_from(number % 2).unwrap() };
    let collection = Collection::default()
        .title(&format!("第{number}版"))
        .dated_round("第1回", Some("2025年4月"))
        .entries((1..=40).map(|rank| poem(rank, (rank <= 10).then_some(pictures))))
        .round("番外編")
        .entry(poem(1, None));
    let next = archive.with_extension("next");
    std::fs::copy(collection.write(), &next).unwrap();
    std::fs::rename(next, archive).unwrap();
}
