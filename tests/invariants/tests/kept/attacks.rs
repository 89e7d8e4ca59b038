//! Archives made to mislead, at the reader and at `check`: each is refused for its own reason, at once.
#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use bytes::Bytes;
use wakashu_archive::{Archive, ArchiveError, ArchivedRound, Span, verify_rendition};
use wakashu_indexer::cmd::check::{CheckRequest, check};
use wakashu_indexer::report::Report;
use wakashu_invariants::{Attack, Reach, attacks};

/// Far more than any of them takes, on a machine that is busy with other things.
const AT_ONCE: Duration = Duration::from_secs(10);

/// What the whole process may have needed at most. The files have a few kilobytes; what some of them claim to hold are
/// gigabytes of columns, or pictures of billions of pixels.
const MOST_MEMORY_KIB: u64 = 96 * 1024;

/// Looks at the peak of the process's memory, where the system tells.
fn check_memory() {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    if let Some(peak) = peak.and_then(|peak| peak.trim().strip_suffix(" kB")) {
        let peak: u64 = peak.parse().unwrap();
        assert!(peak < MOST_MEMORY_KIB, "{peak} KiB");
    }
}

fn part(file: &[u8], span: Span) -> Bytes {
    let start = usize::try_from(span.offset).unwrap();
    Bytes::copy_from_slice(&file[start..start + usize::try_from(span.length).unwrap()])
}

/// Reads a round to the end, as far as it goes.
fn read_round(archive: &Archive, file: &[u8], round: &ArchivedRound) -> (Reach, Option<ArchiveError>) {
    for chunk in round.chunks.iter() {
        let page = match archive.page(chunk, part(file, chunk.page.span())) {
            Ok(page) => page,
            Err(error) => return (Reach::Root, Some(error)),
        };
        for picture in page.entries.iter().filter_map(|entry| entry.picture.as_ref()) {
            for (_, rendition) in picture.renditions() {
                if let Err(error) = verify_rendition(rendition, &part(file, rendition.span())) {
                    return (Reach::Page, Some(error));
                }
            }
        }
    }
    (Reach::Everything, None)
}

#[test]
fn a_reader_refuses_each_for_its_own_reason_and_keeps_the_rest() {
    let attacks = attacks();
    let names: BTreeSet<_> = attacks.iter().map(|attack| attack.name).collect();
    assert_eq!(names.len(), attacks.len(), "every attack has a name of its own");
    for Attack { name, file, reaches, reader_says, .. } in attacks {
        let started = Instant::now();
        let (reached, error) = match Archive::open(file.as_slice()) {
            Err(error) => (Reach::Nothing, Some(error)),
            Ok(archive) => {
                let [first, second] = archive.root().rounds.as_slice() else { panic!("{name}: two rounds") };
                assert_eq!(
                    read_round(&archive, &file, second).0,
                    Reach::Everything,
                    "{name}: the good round"
                );
                read_round(&archive, &file, first)
            }
        };
        let said = error.map(|error| error.to_string()).unwrap_or_default();
        let expected = if reaches == Reach::Large { Reach::Everything } else { reaches };
        assert_eq!(reached, expected, "{name}: {said}");
        assert!(said.contains(reader_says) && said.is_empty() == reader_says.is_empty(), "{name}: {said}");
        assert!(started.elapsed() < AT_ONCE, "{name}: {:?}", started.elapsed());
    }
    check_memory();
}

#[test]
fn check_names_what_is_wrong_with_each() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("crafted.wakashu");
    let request = CheckRequest { threads: 1.try_into().unwrap(), ..CheckRequest::default() };
    for Attack { name, file, reaches, check_says, .. } in attacks() {
        fs::write(&path, &file).unwrap();
        let started = Instant::now();
        let outcome = check(&path, &request, &Report::silent()).unwrap();
        let messages: Vec<_> =
            outcome.problems.iter().map(wakashu_indexer::problem::Problem::message).collect();
        assert!(messages.iter().any(|message| message.contains(check_says)), "{name}: {messages:?}");
        assert!(outcome.tally.errors > 0, "{name}");
        assert_eq!(
            outcome.checked.entries == 0,
            reaches == Reach::Nothing,
            "{name}: the good round is looked at"
        );
        assert!(started.elapsed() < AT_ONCE, "{name}: {:?}", started.elapsed());
    }
    check_memory();
}
