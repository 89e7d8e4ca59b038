//! What every kind of storage does, and which conditions each foreign server honours.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests fail loudly")]

use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use crate::support::Fixture;
use bytes::Bytes;
use wakashu_archive::Span;
use wakashu_storage::{
    Etag, Fetched, MAX_SMALL_BYTES, Progress, PutOutcome, ReadStore, Source, StorageError, Store,
};

on_every_reader!(
    an_object_is_read_by_its_end_and_by_spans,
    reading_past_the_end_is_refused,
    an_object_of_another_length_than_announced_is_refused,
    a_missing_object_is_not_found,
    an_empty_object_has_an_empty_end,
    a_small_object_is_read_only_when_it_changed,
    an_object_too_large_to_be_read_whole_is_refused,
    keys_that_leave_the_storage_are_refused,
);

on_every_storage!(
    an_object_is_created_once,
    a_large_object_arrives_whole_and_reports_progress,
    a_swap_needs_the_state_it_names,
    a_listing_names_what_lies_directly_below,
    removing_twice_is_no_error,
);

async fn put(storage: &dyn Store, key: &str, bytes: impl Into<Source>) -> PutOutcome {
    storage.put_if_absent(key, bytes.into(), &Progress::silent()).await.unwrap()
}

async fn read_all(storage: &dyn ReadStore, key: &str) -> Bytes {
    storage.object(key, None).await.unwrap().tail(u64::MAX >> 2).await.unwrap().bytes
}

async fn get(storage: &dyn ReadStore, key: &str) -> (Bytes, Etag) {
    match storage.get_if_changed(key, None).await.unwrap() {
        Fetched::Changed { value, etag } => (value, etag),
        other => panic!("{key}: {other:?}"),
    }
}

async fn an_object_is_read_by_its_end_and_by_spans(fixture: Fixture) {
    put(&*fixture.storage, "archives/a", "0123456789").await;
    let object = fixture.reader.object("archives/a", None).await.unwrap();
    let end = object.tail(4).await.unwrap();
    assert_eq!((end.bytes, end.total_length), (Bytes::from("6789"), 10));
    let all = object.tail(64 * 1024).await.unwrap();
    assert_eq!((all.bytes, all.total_length), (Bytes::from("0123456789"), 10));
    for (offset, length, expected) in [(0, 10, "0123456789"), (2, 3, "234"), (9, 1, "9"), (5, 0, "")] {
        assert_eq!(object.read(Span { offset, length }).await.unwrap(), expected);
    }
}

async fn reading_past_the_end_is_refused(fixture: Fixture) {
    put(&*fixture.storage, "a", "0123456789").await;
    let object = fixture.reader.object("a", None).await.unwrap();
    for (offset, length) in [(8, 3), (10, 1), (100, 1), (1 << 40, 1)] {
        let refused = object.read(Span { offset, length }).await;
        assert!(matches!(refused, Err(StorageError::ShortRead { .. })), "{offset}+{length}: {refused:?}");
    }
}

async fn an_object_of_another_length_than_announced_is_refused(fixture: Fixture) {
    put(&*fixture.storage, "a", "0123456789").await;
    put(&*fixture.storage, "empty", "").await;
    let (end, span) = (4, Span { offset: 2, length: 3 });
    let object = fixture.reader.object("a", Some(10)).await.unwrap();
    assert_eq!(object.tail(end).await.unwrap().bytes, "6789");
    assert_eq!(object.read(span).await.unwrap(), "234");
    for (key, announced, real) in [("a", 9, 10), ("a", 11, 10), ("empty", 1, 0)] {
        // A folder says so when the object is opened, a bucket when it is read.
        let refusals = match fixture.reader.object(key, Some(announced)).await {
            Ok(object) if real > 0 => vec![object.tail(end).await.err(), object.read(span).await.err()],
            Ok(object) => vec![object.tail(end).await.err()],
            Err(error) => vec![Some(error)],
        };
        for refusal in refusals {
            let Some(StorageError::OtherLength { expected, found, .. }) = refusal else {
                panic!("{key}: {refusal:?}")
            };
            assert_eq!((expected, found), (announced, real));
        }
    }
}

async fn a_missing_object_is_not_found(fixture: Fixture) {
    // A folder says so when it is opened, a bucket when it is read.
    let found = match fixture.reader.object("archives/none", None).await {
        Ok(object) => object.tail(10).await.map(|_| ()),
        Err(error) => Err(error),
    };
    assert!(found.unwrap_err().is_not_found());
}

async fn an_empty_object_has_an_empty_end(fixture: Fixture) {
    put(&*fixture.storage, "empty", "").await;
    let tail = fixture.reader.object("empty", None).await.unwrap().tail(10).await.unwrap();
    assert_eq!((tail.bytes.len(), tail.total_length), (0, 0));
}

async fn an_object_is_created_once(fixture: Fixture) {
    assert_eq!(put(&*fixture.storage, "archives/a", "first").await, PutOutcome::Created);
    assert_eq!(put(&*fixture.storage, "archives/a", "second").await, PutOutcome::AlreadyThere);
    assert_eq!(read_all(&*fixture.storage, "archives/a").await, "first");
}

async fn a_large_object_arrives_whole_and_reports_progress(fixture: Fixture) {
    let bytes: Vec<u8> = (0_u32..6 << 20).flat_map(u32::to_le_bytes).collect();
    let bytes = Bytes::from(bytes);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hearing = Arc::clone(&heard);
    let progress = Progress::new(move |written| hearing.lock().unwrap().push(written));
    let created =
        fixture.storage.put_if_absent("archives/large", bytes.clone().into(), &progress).await.unwrap();
    assert_eq!(created, PutOutcome::Created);
    let heard = heard.lock().unwrap().clone();
    assert!(heard.len() > 1 && heard.is_sorted() && heard.last() == Some(&(bytes.len() as u64)), "{heard:?}");
    assert!(read_all(&*fixture.storage, "archives/large").await == bytes);
    let span = Span { offset: 9_000_001, length: 17 };
    let object = fixture.storage.object("archives/large", None).await.unwrap();
    assert_eq!(object.read(span).await.unwrap(), bytes.slice(9_000_001..9_000_018));

    let again =
        fixture.storage.put_if_absent("archives/large", bytes.into(), &Progress::silent()).await.unwrap();
    assert_eq!(again, PutOutcome::AlreadyThere);
}

async fn a_small_object_is_read_only_when_it_changed(fixture: Fixture) {
    let (storage, reader) = (&*fixture.storage, &*fixture.reader);
    assert_eq!(reader.get_if_changed("current.json", None).await.unwrap(), Fetched::Missing);
    let written = storage.compare_and_swap("current.json", "one".into(), None).await.unwrap();
    let (value, etag) = get(reader, "current.json").await;
    assert_eq!(value, "one");
    assert_eq!(reader.get_if_changed("current.json", Some(&etag)).await.unwrap(), Fetched::Unchanged);
    storage.compare_and_swap("current.json", "two".into(), Some(&written)).await.unwrap();
    let changed = reader.get_if_changed("current.json", Some(&etag)).await.unwrap();
    let (_, next) = get(reader, "current.json").await;
    assert_eq!(changed, Fetched::Changed { value: "two".into(), etag: next });
}

async fn a_swap_needs_the_state_it_names(fixture: Fixture) {
    let storage = &*fixture.storage;
    let first = storage.compare_and_swap("current.json", "one".into(), None).await.unwrap();
    let lost = |result: Result<Etag, StorageError>| {
        assert!(matches!(result, Err(StorageError::Changed { .. })), "{result:?}");
    };
    assert_eq!(get(storage, "current.json").await, ("one".into(), first.clone()));
    lost(storage.compare_and_swap("current.json", "two".into(), None).await);
    let second = storage.compare_and_swap("current.json", "two".into(), Some(&first)).await.unwrap();
    lost(storage.compare_and_swap("current.json", "three".into(), Some(&first)).await);
    assert_eq!(get(storage, "current.json").await, ("two".into(), second.clone()));
    storage.delete("current.json").await.unwrap();
    lost(storage.compare_and_swap("current.json", "three".into(), Some(&second)).await);
}

async fn an_object_too_large_to_be_read_whole_is_refused(fixture: Fixture) {
    let most = usize::try_from(MAX_SMALL_BYTES).unwrap();
    put(&*fixture.storage, "limit", vec![b' '; most]).await;
    put(&*fixture.storage, "over", vec![b' '; most + 1]).await;
    assert_eq!(get(&*fixture.reader, "limit").await.0.len(), most);
    let refused = fixture.reader.get_if_changed("over", None).await;
    assert!(matches!(refused, Err(StorageError::TooLarge { found, .. }) if found == MAX_SMALL_BYTES + 1));
    let refused = fixture.storage.compare_and_swap("new", vec![b' '; most + 1].into(), None).await;
    assert!(matches!(refused, Err(StorageError::TooLarge { .. })));
}

async fn a_listing_names_what_lies_directly_below(fixture: Fixture) {
    let storage = &*fixture.storage;
    assert_eq!(storage.list("archives/").await.unwrap(), []);
    for key in ["archives/b", "archives/a", "archives/deeper/c", "current.json", "archives.txt"] {
        put(storage, key, "12345").await;
    }
    let listed = storage.list("archives/").await.unwrap();
    let keys: Vec<_> = listed.iter().map(|object| object.key.as_str()).collect();
    assert_eq!(keys, ["archives/a", "archives/b"]);
    assert!(listed.iter().all(|object| object.bytes == 5));
    let age = SystemTime::now().duration_since(listed[0].modified).unwrap_or_default();
    assert!(age.as_secs() < 60, "{age:?}");
    let root: Vec<_> = storage.list("").await.unwrap().into_iter().map(|object| object.key).collect();
    assert_eq!(root, ["archives.txt", "current.json"]);
}

async fn removing_twice_is_no_error(fixture: Fixture) {
    put(&*fixture.storage, "archives/a", "x").await;
    fixture.storage.delete("archives/a").await.unwrap();
    fixture.storage.delete("archives/a").await.unwrap();
    assert_eq!(fixture.storage.list("archives/").await.unwrap(), []);
}

async fn keys_that_leave_the_storage_are_refused(fixture: Fixture) {
    let storage = &*fixture.storage;
    for key in ["../outside", "/etc/passwd", "a/../../b", "a\\b", "", "a\0"] {
        let refusals = [
            fixture.reader.object(key, None).await.err(),
            fixture.reader.get_if_changed(key, None).await.err(),
            storage.put_if_absent(key, Bytes::new().into(), &Progress::silent()).await.err(),
            storage.compare_and_swap(key, Bytes::new(), None).await.err(),
            storage.delete(key).await.err(),
        ];
        for refusal in refusals {
            assert!(matches!(refusal, Some(StorageError::BadKey { .. })), "{key:?}: {refusal:?}");
        }
    }
    assert!(matches!(storage.list("../").await, Err(StorageError::BadKey { .. })));
}

/// Eight writers at once: the folder is atomic, and so is moto.
#[tokio::test(flavor = "multi_thread")]
async fn of_racing_writers_one_wins() {
    for fixture in [crate::support::folder().await, crate::support::moto().await] {
        let mut racers = tokio::task::JoinSet::new();
        for racer in 0..8 {
            let storage = Arc::clone(&fixture.storage);
            racers.spawn(async move {
                let bytes = Bytes::from(format!("racer {racer}"));
                let put = put(&*storage, "archives/a", bytes.clone()).await;
                let swap = storage.compare_and_swap("current.json", bytes, None).await;
                (put == PutOutcome::Created, swap.is_ok())
            });
        }
        let results = racers.join_all().await;
        assert_eq!(results.iter().filter(|(created, _)| *created).count(), 1, "{:?}", fixture.storage);
        assert_eq!(results.iter().filter(|(_, swapped)| *swapped).count(), 1, "{:?}", fixture.storage);
    }
}

/// A folder's temporary files are seen by nobody. Those of dead writers go with the next write, however young; those of
/// living writers stay, however old.
#[tokio::test]
async fn what_killed_writers_left_is_swept() {
    let fixture = crate::support::folder().await;
    put(&*fixture.storage, "archives/a", "x").await;
    let folder = fixture.files.path().join("store/archives");
    let [dead, alive, foreign] =
        [".wakashu-1.tmp", ".wakashu-2.tmp", "notes.tmp"].map(|name| folder.join(name));
    for path in [&dead, &alive, &foreign] {
        std::fs::write(path, b"half").unwrap();
    }
    let writer = std::fs::File::options().append(true).open(&alive).unwrap();
    writer.lock().unwrap();
    writer.set_modified(SystemTime::now() - std::time::Duration::from_hours(25)).unwrap();
    let keys: Vec<_> = fixture.storage.list("archives/").await.unwrap().into_iter().map(|o| o.key).collect();
    assert_eq!(keys, ["archives/a", "archives/notes.tmp"]);
    put(&*fixture.storage, "archives/b", "x").await;
    assert!(!dead.exists() && alive.exists() && foreign.exists());
}

/// Other users may read what was written, as far as the mask allows: the server often is another user.
#[cfg(unix)]
#[tokio::test]
async fn written_files_are_readable_by_others() {
    use std::os::unix::fs::PermissionsExt as _;

    let fixture = crate::support::folder().await;
    put(&*fixture.storage, "a", "x").await;
    fixture.storage.compare_and_swap("current.json", "x".into(), None).await.unwrap();
    let plain = fixture.files.path().join("plain");
    std::fs::write(&plain, b"x").unwrap();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode();
    for name in ["store/a", "store/current.json"] {
        assert_eq!(mode(&fixture.files.path().join(name)), mode(&plain), "{name}");
    }
}
