//! Publishing, rolling back and pruning, on every kind of storage.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail loudly"
)]

use std::time::{Duration, SystemTime};

use crate::support::{Fixture, archive};
use bytes::Bytes;
use wakashu_archive::{ContentHash, EntryDraft, Opening};
use wakashu_storage::{
    ArchiveWrite, Changes, Counts, Fetched, MAX_INLINE_BYTES, MAX_NOTE_CHARACTERS, POINTER_KEY, Pointer,
    PointerOpening, Progress, PublishOptions, PublishOutcome, StorageError, Store, archive_key, history,
    publish, rollback,
};
use wakashu_support::Collection;

on_every_storage!(
    a_published_archive_is_served,
    publishing_twice_writes_nothing,
    equal_inputs_built_into_other_bytes_change_nothing,
    a_dry_run_writes_nothing_and_tells_everything,
    the_history_is_bounded,
    only_what_is_old_and_unnamed_is_pruned,
    what_a_version_changed_is_counted_and_kept,
    rolling_back_serves_an_earlier_version,
    rolling_back_goes_by_order_and_not_by_clocks,
    rolling_back_needs_something_to_go_back_to,
    the_pointer_opens_what_it_names_through_publishing_and_rolling_back,
    a_broken_object_of_that_name_is_replaced,
    a_current_archive_that_is_gone_is_restored,
    a_large_archive_is_published,
    what_is_no_archive_is_refused,
    a_pointer_that_is_none_is_refused,
);

const DAY: Duration = Duration::from_hours(24);

fn options(now: SystemTime) -> PublishOptions {
    PublishOptions { settle: Duration::from_millis(50), ..PublishOptions::at(now) }
}

/// Publishes the archive `name` at `now`, building it first.
async fn publish_at(fixture: &Fixture, name: &str, now: SystemTime) -> PublishOutcome {
    let (path, _) = archive(fixture.files.path(), name, 100);
    publish(&*fixture.storage, &path, &options(now), &Progress::silent()).await.unwrap()
}

fn digest(fixture: &Fixture, name: &str) -> ContentHash {
    archive(fixture.files.path(), name, 100).1.digest
}

async fn state(storage: &dyn Store) -> (Fetched<Pointer>, Vec<String>) {
    let objects = storage.list("archives/").await.unwrap();
    (Pointer::read(storage, None).await.unwrap(), objects.into_iter().map(|object| object.key).collect())
}

async fn a_published_archive_is_served(fixture: Fixture) {
    let now = SystemTime::now();
    let (path, written) = archive(fixture.files.path(), "a", 100);
    let outcome = publish(&*fixture.storage, &path, &options(now), &Progress::silent()).await.unwrap();
    assert_eq!(outcome.archive, ArchiveWrite::Uploaded);
    assert!(outcome.switched && outcome.previous.is_none() && outcome.prune_problem.is_none());
    let Fetched::Changed { value: pointer, etag } = Pointer::read(&*fixture.storage, None).await.unwrap()
    else {
        panic!("no pointer")
    };
    assert_eq!(pointer.current, outcome.current);
    assert_eq!((pointer.current.digest, pointer.current.bytes), (written.digest, written.bytes));
    assert_eq!(pointer.current.built_from, ContentHash::of(b"a"));
    assert_eq!(pointer.current.published_at, now.into());
    let object = fixture.storage.object(&archive_key(written.digest), None).await.unwrap();
    assert_eq!(object.tail(1 << 20).await.unwrap().bytes, std::fs::read(path).unwrap());
    assert_eq!(Pointer::read(&*fixture.storage, Some(&etag)).await.unwrap(), Fetched::Unchanged);
}

async fn publishing_twice_writes_nothing(fixture: Fixture) {
    publish_at(&fixture, "a", SystemTime::now()).await;
    let before = state(&*fixture.storage).await;
    let outcome = publish_at(&fixture, "a", SystemTime::now() + DAY).await;
    assert!(!outcome.switched && outcome.archive == ArchiveWrite::AlreadyThere);
    assert_eq!(state(&*fixture.storage).await, before);
}

async fn equal_inputs_built_into_other_bytes_change_nothing(fixture: Fixture) {
    publish_at(&fixture, "a", SystemTime::now()).await;
    let before = state(&*fixture.storage).await;
    let (other, _) = archive(fixture.files.path(), "a", 200);
    let outcome =
        publish(&*fixture.storage, &other, &options(SystemTime::now()), &Progress::silent()).await.unwrap();
    assert!(!outcome.switched);
    assert_eq!(state(&*fixture.storage).await, before);

    // Unless what is served is gone: then these bytes are as good as those.
    fixture.storage.delete(&archive_key(digest(&fixture, "a"))).await.unwrap();
    let (other, written) = archive(fixture.files.path(), "a", 200);
    let outcome =
        publish(&*fixture.storage, &other, &options(SystemTime::now()), &Progress::silent()).await.unwrap();
    assert!(outcome.switched);
    assert_eq!(outcome.current.digest, written.digest);
}

async fn a_dry_run_writes_nothing_and_tells_everything(fixture: Fixture) {
    let now = SystemTime::now();
    let dry = |now| PublishOptions { dry_run: true, keep: 0, ..options(now) };
    let (path, _) = archive(fixture.files.path(), "a", 100);
    let outcome = publish(&*fixture.storage, &path, &dry(now), &Progress::silent()).await.unwrap();
    assert!(outcome.switched && outcome.archive == ArchiveWrite::Uploaded);
    assert_eq!(state(&*fixture.storage).await, (Fetched::Missing, vec![]));

    publish_at(&fixture, "a", now).await;
    let before = state(&*fixture.storage).await;
    let (path, _) = archive(fixture.files.path(), "b", 100);
    let outcome = publish(&*fixture.storage, &path, &dry(now + 2 * DAY), &Progress::silent()).await.unwrap();
    let pruned: Vec<_> = outcome.pruned.into_iter().map(|object| object.key).collect();
    assert_eq!(pruned, [archive_key(digest(&fixture, "a"))]);
    assert_eq!(state(&*fixture.storage).await, before);
}

async fn the_history_is_bounded(fixture: Fixture) {
    let now = SystemTime::now();
    for (at, name) in (0..).zip(["a", "b", "c", "d"]) {
        let (path, _) = archive(fixture.files.path(), name, 100);
        let options = PublishOptions { keep: 2, ..options(now + Duration::from_secs(at)) };
        publish(&*fixture.storage, &path, &options, &Progress::silent()).await.unwrap();
    }
    let pointer = history(&*fixture.storage).await.unwrap();
    let digests: Vec<_> = pointer.versions().map(|version| version.digest).collect();
    assert_eq!(digests, ["d", "c", "b"].map(|name| digest(&fixture, name)));
    // What fell out of the history is young and stays for now.
    assert_eq!(state(&*fixture.storage).await.1.len(), 4);
}

async fn only_what_is_old_and_unnamed_is_pruned(fixture: Fixture) {
    let now = SystemTime::now();
    for name in ["a", "b"] {
        publish_at(&fixture, name, now).await;
    }
    let stranger = "archives/README.txt";
    fixture.storage.put_if_absent(stranger, Bytes::from("hello").into(), &Progress::silent()).await.unwrap();
    let (path, _) = archive(fixture.files.path(), "c", 100);
    let keep_one = |now| PublishOptions { keep: 1, ..options(now) };

    // A minute short of a day: nothing goes.
    let early = keep_one(now + DAY - Duration::from_mins(1));
    let outcome = publish(&*fixture.storage, &path, &early, &Progress::silent()).await.unwrap();
    assert!(outcome.pruned.is_empty());

    let (path, _) = archive(fixture.files.path(), "d", 100);
    let late = keep_one(now + DAY + Duration::from_mins(1));
    let outcome = publish(&*fixture.storage, &path, &late, &Progress::silent()).await.unwrap();
    let mut pruned: Vec<_> = outcome.pruned.into_iter().map(|object| object.key).collect();
    let mut expected = ["a", "b"].map(|name| archive_key(digest(&fixture, name)));
    pruned.sort();
    expected.sort();
    assert_eq!(pruned, expected);
    let mut left = state(&*fixture.storage).await.1;
    let mut expected = vec![stranger.to_owned()];
    expected.extend(["c", "d"].map(|name| archive_key(digest(&fixture, name))));
    left.sort();
    expected.sort();
    assert_eq!(left, expected);
}

async fn rolling_back_serves_an_earlier_version(fixture: Fixture) {
    let now = SystemTime::now();
    for (at, name) in (0..).zip(["a", "b", "c"]) {
        publish_at(&fixture, name, now + Duration::from_secs(at)).await;
    }
    let back = rollback(&*fixture.storage, None).await.unwrap();
    assert_eq!(back.current.digest, digest(&fixture, "b"));
    assert_eq!(back.previous.digest, digest(&fixture, "c"));
    // Going back again passes over the version just left.
    let back = rollback(&*fixture.storage, None).await.unwrap();
    assert_eq!(back.current.digest, digest(&fixture, "a"));
    // Forward by name; every version is still there and none is named twice.
    let forward = rollback(&*fixture.storage, Some(digest(&fixture, "c"))).await.unwrap();
    assert_eq!(forward.current.digest, digest(&fixture, "c"));
    let digests: Vec<_> =
        history(&*fixture.storage).await.unwrap().versions().map(|version| version.digest).collect();
    assert_eq!(digests, ["c", "a", "b"].map(|name| digest(&fixture, name)));
}

async fn rolling_back_goes_by_order_and_not_by_clocks(fixture: Fixture) {
    let now = SystemTime::now();
    // All in one second, then by publishers whose clocks run behind, each more than the one before.
    for slow in [Duration::ZERO, DAY] {
        let names = if slow.is_zero() { ["a", "b", "c"] } else { ["d", "e", "f"] };
        for (at, name) in (1..).zip(names) {
            publish_at(&fixture, name, now - slow * at).await;
        }
        for name in [names[1], names[0]] {
            let back = rollback(&*fixture.storage, None).await.unwrap();
            assert_eq!(back.current.digest, digest(&fixture, name), "{name}");
        }
        if slow.is_zero() {
            let end = rollback(&*fixture.storage, None).await;
            assert!(matches!(end, Err(StorageError::NoEarlierVersion { .. })), "{end:?}");
        }
    }
    // Past what was rolled back from: the version before `d` was `a`.
    let back = rollback(&*fixture.storage, None).await.unwrap();
    assert_eq!(back.current.digest, digest(&fixture, "a"));
    assert!(rollback(&*fixture.storage, None).await.is_err());
    let pointer = history(&*fixture.storage).await.unwrap();
    assert_eq!(pointer.versions().count(), 6);

    // What was rolled back from can be published again, and is then the latest.
    publish_at(&fixture, "f", now).await;
    let back = rollback(&*fixture.storage, None).await.unwrap();
    assert_eq!(back.current.digest, digest(&fixture, "a"));
}

async fn what_a_version_changed_is_counted_and_kept(fixture: Fixture) {
    let entry = |rank: u32, text: &str| EntryDraft { rank, poem: text.to_owned(), ..EntryDraft::default() };
    let many = |text: &'static str| (1..=100).map(move |rank| entry(rank, text));
    let versions = [
        Collection::default()
            .title("a")
            .round("第1回")
            .entries(many("x"))
            .round("第2回")
            .entry(entry(1, "x")),
        // One poem differs, one is gone, two are new; the pictureless rest lies elsewhere in the file.
        Collection::default()
            .title("b")
            .round("第1回")
            .entries(many("x").filter(|entry| entry.rank != 7))
            .entry(entry(101, "new"))
            .round("第2回")
            .entry(entry(1, "y"))
            .entry(entry(2, "new"))
            .round("第3回"),
        Collection::default().title("c").round("第1回").extra("お題", "春").entries(many("x").skip(1)),
    ];
    let options = |version: usize| PublishOptions {
        note: (version == 2).then(|| "字".repeat(600)),
        ..options(SystemTime::now() + DAY * u32::try_from(version).unwrap())
    };
    let mut told = Vec::new();
    for (number, version) in versions.into_iter().enumerate() {
        let path = fixture.files.path().join(format!("{number}.wakashu"));
        version.write_to(&path);
        let dry = PublishOptions { dry_run: true, ..options(number) };
        let dry = publish(&*fixture.storage, &path, &dry, &Progress::silent()).await.unwrap();
        let done = publish(&*fixture.storage, &path, &options(number), &Progress::silent()).await.unwrap();
        assert_eq!(dry.current.changes, done.current.changes);
        told.push(done.current.changes.unwrap());
    }
    let counts = |added, changed, removed| Counts { added, changed, removed };
    assert_eq!(told[0], Changes { rounds: counts(2, 0, 0), poems: counts(101, 0, 0) });
    assert_eq!(told[1], Changes { rounds: counts(1, 2, 0), poems: counts(2, 1, 1) });
    assert_eq!(told[2], Changes { rounds: counts(0, 1, 2), poems: counts(1, 0, 4) });

    let pointer = history(&*fixture.storage).await.unwrap();
    let kept: Vec<_> = pointer.versions().map(|version| version.changes.unwrap()).collect();
    assert_eq!(kept, [told[2], told[1], told[0]]);
    assert_eq!(pointer.current.note.as_ref().unwrap().chars().count(), MAX_NOTE_CHARACTERS);
    let oldest = pointer.earlier()[1].digest;
    let back = rollback(&*fixture.storage, Some(oldest)).await.unwrap();
    let taken: Vec<_> = back.taken_back.iter().map(|version| version.changes.unwrap()).collect();
    assert_eq!((taken, back.current.changes), (vec![told[2], told[1]], Some(told[0])));

    // Of what is gone nothing can be counted, and that stops nobody.
    fixture.storage.delete(&archive_key(back.current.digest)).await.unwrap();
    publish_at(&fixture, "new", SystemTime::now() + 9 * DAY).await;
    assert_eq!(history(&*fixture.storage).await.unwrap().current.changes, None);
}

async fn rolling_back_needs_something_to_go_back_to(fixture: Fixture) {
    let nothing = rollback(&*fixture.storage, None).await;
    assert!(matches!(nothing, Err(StorageError::NothingPublished { .. })), "{nothing:?}");
    assert!(matches!(history(&*fixture.storage).await, Err(StorageError::NothingPublished { .. })));

    publish_at(&fixture, "a", SystemTime::now()).await;
    let only = rollback(&*fixture.storage, None).await;
    assert!(matches!(only, Err(StorageError::NoEarlierVersion { .. })), "{only:?}");
    let unknown = rollback(&*fixture.storage, Some(ContentHash::of(b"?"))).await;
    assert!(matches!(unknown, Err(StorageError::NotInHistory { .. })), "{unknown:?}");

    publish_at(&fixture, "b", SystemTime::now() + DAY).await;
    fixture.storage.delete(&archive_key(digest(&fixture, "a"))).await.unwrap();
    let gone = rollback(&*fixture.storage, None).await;
    assert!(matches!(gone, Err(StorageError::ArchiveGone { .. })), "{gone:?}");
    assert_eq!(history(&*fixture.storage).await.unwrap().current.digest, digest(&fixture, "b"));
}

/// Opens the current archive with nothing but the pointer, and returns its digest.
async fn opened_by_pointer(fixture: &Fixture) -> ContentHash {
    let pointer = history(&*fixture.storage).await.unwrap();
    let PointerOpening { bytes, inline } = pointer.opening.expect("the pointer says how to open");
    let inline = inline.expect("a small archive's opening is in the pointer");
    assert_eq!(inline.len() as u64, bytes);
    let Ok(Opening::Ready(archive)) = Opening::from_tail(inline, pointer.current.bytes) else {
        panic!("the pointer's bytes suffice");
    };
    assert_eq!(archive.opening_span().length, bytes);
    assert_eq!(archive.digest(), pointer.current.digest);
    archive.digest()
}

async fn the_pointer_opens_what_it_names_through_publishing_and_rolling_back(fixture: Fixture) {
    let now = SystemTime::now();
    publish_at(&fixture, "a", now).await;
    assert_eq!(opened_by_pointer(&fixture).await, digest(&fixture, "a"));
    publish_at(&fixture, "b", now + DAY).await;
    assert_eq!(opened_by_pointer(&fixture).await, digest(&fixture, "b"));
    rollback(&*fixture.storage, None).await.unwrap();
    assert_eq!(opened_by_pointer(&fixture).await, digest(&fixture, "a"));
    rollback(&*fixture.storage, Some(digest(&fixture, "b"))).await.unwrap();
    assert_eq!(opened_by_pointer(&fixture).await, digest(&fixture, "b"));
}

#[tokio::test]
async fn a_long_opening_is_measured_but_not_carried() {
    let fixture = crate::support::folder().await;
    let path = fixture.files.path().join("long.wakashu");
    let long = (1..=600).fold(Collection::default(), |collection, number| {
        collection.round(&format!("第{number}回")).entry(EntryDraft { rank: 1, ..EntryDraft::default() })
    });
    long.write_to(&path);
    publish(&*fixture.storage, &path, &options(SystemTime::now()), &Progress::silent()).await.unwrap();
    let opening = history(&*fixture.storage).await.unwrap().opening.unwrap();
    assert_eq!(opening.inline, None);
    assert!(opening.bytes > MAX_INLINE_BYTES, "{}", opening.bytes);
    publish_at(&fixture, "short", SystemTime::now() + DAY).await;
    assert!(history(&*fixture.storage).await.unwrap().opening.unwrap().inline.is_some());
    rollback(&*fixture.storage, None).await.unwrap();
    assert_eq!(history(&*fixture.storage).await.unwrap().opening, Some(opening));
}

async fn a_broken_object_of_that_name_is_replaced(fixture: Fixture) {
    let (path, written) = archive(fixture.files.path(), "a", 100);
    let key = archive_key(written.digest);
    fixture.storage.put_if_absent(&key, Bytes::from("half").into(), &Progress::silent()).await.unwrap();
    let outcome =
        publish(&*fixture.storage, &path, &options(SystemTime::now()), &Progress::silent()).await.unwrap();
    assert_eq!(outcome.archive, ArchiveWrite::Restored);
    let tail = fixture.storage.object(&key, None).await.unwrap().tail(10).await.unwrap();
    assert_eq!(tail.total_length, written.bytes);
}

async fn a_current_archive_that_is_gone_is_restored(fixture: Fixture) {
    publish_at(&fixture, "a", SystemTime::now()).await;
    let before = state(&*fixture.storage).await;
    fixture.storage.delete(&archive_key(digest(&fixture, "a"))).await.unwrap();
    let outcome = publish_at(&fixture, "a", SystemTime::now() + DAY).await;
    assert!(!outcome.switched && outcome.archive == ArchiveWrite::Restored);
    assert_eq!(state(&*fixture.storage).await, before);
}

async fn a_large_archive_is_published(fixture: Fixture) {
    let (path, written) = archive(fixture.files.path(), "large", 15 << 20);
    assert!(written.bytes > 16 << 20);
    publish(&*fixture.storage, &path, &options(SystemTime::now()), &Progress::silent()).await.unwrap();
    let object = fixture.storage.object(&archive_key(written.digest), None).await.unwrap();
    assert!(object.tail(1 << 30).await.unwrap().bytes == std::fs::read(path).unwrap());
}

async fn what_is_no_archive_is_refused(fixture: Fixture) {
    let (whole, _) = archive(fixture.files.path(), "a", 100);
    let bytes = std::fs::read(whole).unwrap();
    let path = fixture.files.path().join("broken.wakashu");
    let mut flipped_head = bytes.clone();
    flipped_head[0] ^= 1;
    for broken in [&b""[..], b"no archive", &bytes[..bytes.len() - 1], &bytes[1..], &flipped_head] {
        std::fs::write(&path, broken).unwrap();
        let refused =
            publish(&*fixture.storage, &path, &options(SystemTime::now()), &Progress::silent()).await;
        assert!(matches!(refused, Err(StorageError::BadArchive { .. })), "{refused:?}");
    }
    let nowhere = fixture.files.path().join("none.wakashu");
    let refused =
        publish(&*fixture.storage, &nowhere, &options(SystemTime::now()), &Progress::silent()).await;
    assert!(matches!(refused, Err(StorageError::Io { .. })), "{refused:?}");
    assert_eq!(state(&*fixture.storage).await, (Fetched::Missing, vec![]));
}

async fn a_pointer_that_is_none_is_refused(fixture: Fixture) {
    fixture.storage.compare_and_swap(POINTER_KEY, "{}".into(), None).await.unwrap();
    let (path, _) = archive(fixture.files.path(), "a", 100);
    let refused = publish(&*fixture.storage, &path, &options(SystemTime::now()), &Progress::silent()).await;
    assert!(matches!(refused, Err(StorageError::BadPointer { .. })), "{refused:?}");
    assert!(matches!(rollback(&*fixture.storage, None).await, Err(StorageError::BadPointer { .. })));
}

/// The file grows or is exchanged in place while it is on its way.
#[tokio::test]
async fn a_file_that_changes_while_it_is_published_is_taken_back() {
    let fixture = crate::support::folder().await;
    let files = ["a", "b"].map(|name| archive(fixture.files.path(), name, 9 << 20));
    let options = PublishOptions::at(SystemTime::now());
    publish(&*fixture.storage, &files[0].0, &options, &Progress::silent()).await.unwrap();
    let changing = files[1].0.clone();
    let progress = Progress::new(move |_| {
        let mut file = std::fs::File::options().write(true).open(&changing).unwrap();
        std::io::Write::write_all(&mut file, b"another beginning").unwrap();
    });
    let refused = publish(&*fixture.storage, &files[1].0, &options, &progress).await.unwrap_err();
    assert!(matches!(refused, StorageError::SourceChanged { .. }), "{refused:?}");
    assert_eq!(history(&*fixture.storage).await.unwrap().current.digest, files[0].1.digest);
    assert_eq!(fixture.storage.list("archives/").await.unwrap().len(), 1, "nothing half is left");
}
