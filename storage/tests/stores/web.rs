//! Stores on web hosts: what is asked of them, and what they may answer.

#![cfg(feature = "https")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail loudly")]

use std::time::Duration;

use crate::support::web_server::{Lie, Marks, WebServer};
use crate::support::{Fixture, archive, at, endpoint, web_host};
use bytes::Bytes;
use tokio::time::timeout;
use wakashu_archive::Span;
use wakashu_storage::{
    Etag, Fetched, POINTER_KEY, Pointer, Progress, PublishOptions, ReadStore, StorageError, archive_key,
    publish,
};

/// Longer than a read takes to be given up, however busy the machine is; what hangs, hangs for an hour.
const PATIENCE: Duration = Duration::from_mins(1);

const KEY: &str = "archives/a";
const SPAN: Span = Span { offset: 100, length: 1000 };

/// An object, small enough to be taken whole or not.
async fn host_of(bytes: usize) -> (Fixture, WebServer, Bytes) {
    let (fixture, server) = web_host().await;
    let whole: Bytes = (0..=250_u8).cycle().take(bytes).collect::<Vec<_>>().into();
    fixture.storage.put_if_absent(KEY, whole.clone().into(), &Progress::silent()).await.unwrap();
    (fixture, server, whole)
}

async fn read(reader: &dyn ReadStore, length: Option<u64>, span: Span) -> Result<Bytes, StorageError> {
    reader.object(KEY, length).await?.read(span).await
}

fn said(error: &StorageError) -> String {
    format!("{error}; {}", error.hint().unwrap_or("no hint"))
}

const LARGE: usize = 9 << 20;

#[tokio::test]
async fn only_the_bytes_asked_for_are_read() {
    let (fixture, server, whole) = host_of(LARGE).await;
    let object = fixture.reader.object(KEY, Some(LARGE as u64)).await.unwrap();
    assert_eq!(object.tail(1000).await.unwrap().bytes, whole.slice(LARGE - 1000..));
    assert_eq!(object.read(SPAN).await.unwrap(), whole.slice(100..1100));
    object.read(Span { offset: 5, length: 0 }).await.unwrap();
    let unmeasured = fixture.reader.object(KEY, None).await.unwrap();
    assert_eq!(unmeasured.tail(1000).await.unwrap().total_length, LARGE as u64);
    let asked: Vec<_> = server.take_seen().into_iter().filter_map(|seen| seen.range).collect();
    // Counted from the end only where the length is unknown: not all hosts know such ranges.
    assert_eq!(asked, ["bytes=9436184-9437183", "bytes=100-1099", "bytes=-1000"]);
}

#[tokio::test]
async fn hosts_that_falsify_parts_are_refused_with_the_reason() {
    let (fixture, server, _) = host_of(LARGE).await;
    let long_file = fixture.files.path().join("another");
    std::fs::write(&long_file, vec![0; LARGE + 1]).unwrap();
    for (lie, reason) in [
        (
            Lie::ContentRange("bytes 99-{end}/{total}"),
            "sends the bytes 99 to 1100 where `bytes=100-1099` was asked for",
        ),
        (Lie::ContentRange("bytes {start}-1100/{total}"), "sends the bytes 100 to 1101"),
        (Lie::ContentRange("bytes {start}-{end}/5000"), "has 5000 bytes, but the pointer says 9437184"),
        (Lie::ContentRange("bytes {start}-{end}/*"), "describes a part of the file wrongly"),
        (Lie::ContentRange("octets {start}-{end}/{total}"), "describes a part of the file wrongly"),
        (Lie::ContentRange("bytes 0-{end}/7"), "describes a part of the file wrongly"),
        (Lie::ContentRange(""), "does not say which"),
        (Lie::Another(long_file), "has 9437185 bytes, but the pointer says 9437184"),
        (Lie::Long, "has 1008 bytes, at most 1000 are accepted"),
        (Lie::ShortAndHonest, "sends 999 bytes as a part of 1000"),
        (Lie::Header("Content-Encoding: gzip"), "sends it compressed (`content-encoding: gzip`)"),
        (Lie::Header("Content-Encoding: br, identity"), "sends it compressed"),
        (Lie::Page, "sends a web page (HTML) instead of the file"),
        (Lie::IgnoresRanges, "ignores range requests, and the file is too large"),
        (
            Lie::Redirect("/elsewhere".to_owned()),
            "redirects to `/elsewhere`, and a store on this machine must not",
        ),
        (
            Lie::Redirect("https://example.org/x?signature=secret".to_owned()),
            "redirects to `https://example.org/x`",
        ),
        (Lie::Status(403), "access to"),
        (Lie::Status(404), "does not exist"),
        (Lie::Status(418), "answers 418"),
        (Lie::Status(304), "answers 304"),
        (Lie::Status(416), "gave 0 bytes where 1000 were asked for"),
    ] {
        server.lie(KEY, lie.clone());
        server.take_seen().clear();
        let error = read(&*fixture.reader, Some(LARGE as u64), SPAN).await.unwrap_err();
        let said = said(&error);
        assert!(said.contains(reason), "{lie:?}: {said}");
        assert!(!said.contains("AWS") && !said.contains("s3:") && !said.contains("secret"), "{said}");
        assert_eq!(server.take_seen().len(), 1, "asking again would not help: {lie:?}");
        server.heal();
    }
    read(&*fixture.reader, Some(LARGE as u64), SPAN).await.unwrap();
}

#[tokio::test]
async fn passing_faults_are_survived_and_lasting_ones_given_up_soon() {
    let (fixture, server, whole) = host_of(200_000).await;
    for lie in
        [Lie::Status(503), Lie::Status(429), Lie::Status(500), Lie::Close, Lie::Short(1), Lie::Short(999)]
    {
        server.lie_times(KEY, lie.clone(), 2);
        let got = read(&*fixture.reader, None, SPAN).await;
        assert_eq!(got.unwrap(), whole.slice(100..1100), "{lie:?}");
        server.heal();
        server.lie(KEY, lie.clone());
        server.take_seen().clear();
        let error = read(&*fixture.reader, None, SPAN).await.unwrap_err();
        assert!(!said(&error).contains("AWS"), "{error}");
        assert_eq!(server.take_seen().len(), 3, "{lie:?}");
        server.heal();
    }
}

#[tokio::test]
async fn a_host_that_hangs_is_given_up_within_the_deadline() {
    let (fixture, server, _) = host_of(200_000).await;
    for lie in [Lie::Hang, Lie::HangInBody] {
        server.lie("", lie.clone());
        let object = fixture.reader.object(KEY, None).await.unwrap();
        let both = async { tokio::join!(object.read(SPAN), fixture.reader.get_if_changed(KEY, None)) };
        let (part, pointer) = timeout(PATIENCE, both).await.expect("not for ever");
        for error in [part.unwrap_err(), pointer.unwrap_err()] {
            assert!(matches!(error, StorageError::Timeout { .. }), "{lie:?}: {error:?}");
            assert!(!said(&error).contains("AWS"), "{error}");
        }
        server.heal();
    }
    // The next attempt most likely does better.
    server.lie_times(KEY, Lie::Hang, 1);
    timeout(PATIENCE, read(&*fixture.reader, None, SPAN)).await.expect("the next attempt").unwrap();
}

#[tokio::test]
async fn a_host_without_ranges_gives_small_objects_whole_and_once() {
    let (fixture, server, whole) = host_of(200_000).await;
    for (lie, length) in [
        (Lie::IgnoresRanges, Some(200_000)),
        (Lie::IgnoresRanges, None),
        (Lie::IgnoresRangesAndLengths, Some(200_000)),
        (Lie::IgnoresRangesAndLengths, None),
    ] {
        server.lie(KEY, lie.clone());
        server.take_seen().clear();
        let object = fixture.reader.object(KEY, length).await.unwrap();
        let tail = object.tail(1000).await.unwrap();
        assert_eq!((tail.bytes, tail.total_length), (whole.slice(199_000..), 200_000), "{lie:?}");
        assert_eq!(object.read(SPAN).await.unwrap(), whole.slice(100..1100));
        let outside = object.read(Span { offset: 199_999, length: 2 }).await;
        assert!(matches!(outside, Err(StorageError::ShortRead { found: 1, .. })), "{outside:?}");
        assert_eq!(server.take_seen().len(), 1, "{lie:?}");
        let other = fixture.reader.object(KEY, Some(200_001)).await.unwrap().read(SPAN).await;
        assert!(matches!(other, Err(StorageError::OtherLength { found: 200_000, .. })), "{other:?}");
        server.heal();
    }
}

#[tokio::test]
async fn a_host_without_ranges_gives_large_objects_only_to_those_who_want_all() {
    let (fixture, server, whole) = host_of(LARGE).await;
    for lie in [Lie::IgnoresRanges, Lie::IgnoresRangesAndLengths] {
        server.lie(KEY, lie.clone());
        for length in [None, Some(LARGE as u64)] {
            let object = fixture.reader.object(KEY, length).await.unwrap();
            let error = object.tail(1000).await.unwrap_err();
            assert!(said(&error).contains("ignores range requests"), "{lie:?} {length:?}: {error}");
            assert!(said(&error).contains("206"), "{error}");
            assert_eq!(object.tail(LARGE as u64).await.unwrap().bytes, whole);
        }
        server.heal();
    }
}

#[tokio::test]
async fn a_pointer_is_asked_for_by_the_mark_its_host_gives() {
    let (fixture, server) = web_host().await;
    let path = fixture.files.path().join("store");
    std::fs::create_dir(&path).unwrap();
    for (marks, prefix, status) in [
        (Marks::Etag, "etag ", 304),
        (Marks::Date, "date ", 304),
        (Marks::Fresh, "hash ", 200),
        (Marks::None, "hash ", 200),
    ] {
        server.mark_by(marks);
        std::fs::write(path.join(POINTER_KEY), "one").unwrap();
        let Fetched::Changed { value, etag } =
            fixture.reader.get_if_changed(POINTER_KEY, None).await.unwrap()
        else {
            panic!("{marks:?}")
        };
        assert_eq!(value, "one");
        assert!(format!("{etag:?}").contains(prefix), "{marks:?}: {etag:?}");
        server.take_seen().clear();
        let again = fixture.reader.get_if_changed(POINTER_KEY, Some(&etag)).await.unwrap();
        assert_eq!(again, Fetched::Unchanged, "{marks:?}");
        assert_eq!(server.take_seen().first().unwrap().status, status, "{marks:?}");
        // As long as the one before, and in the same second: noticed all the same.
        std::fs::write(path.join(POINTER_KEY), "two").unwrap();
        let changed = fixture.reader.get_if_changed(POINTER_KEY, Some(&etag)).await.unwrap();
        assert!(matches!(changed, Fetched::Changed { value, .. } if value == "two"), "{marks:?}");
    }
}

#[tokio::test]
async fn pointers_that_are_none_are_refused_with_the_reason() {
    let (fixture, server) = web_host().await;
    let path = fixture.files.path().join("store");
    std::fs::create_dir(&path).unwrap();
    std::fs::write(path.join(POINTER_KEY), "{}").unwrap();
    let large = fixture.files.path().join("large");
    std::fs::write(&large, vec![b' '; (1 << 20) + 1]).unwrap();
    for (lie, reason) in [
        (None, "is not a valid pointer"),
        (Some(Lie::Page), "sends a web page (HTML)"),
        (Some(Lie::PageAsJson), "sends a web page (HTML)"),
        (Some(Lie::Header("Content-Encoding: gzip")), "sends it compressed"),
        (Some(Lie::Another(large)), "at most 1048576 are accepted"),
        (Some(Lie::Status(304)), "answers 304"),
        (Some(Lie::Redirect("https://localhost/".to_owned())), "a store on this machine must not"),
        (Some(Lie::Status(503)), "failed"),
    ] {
        if let Some(lie) = &lie {
            server.lie(POINTER_KEY, lie.clone());
        }
        let error = Pointer::read(&*fixture.reader, None).await.unwrap_err();
        assert!(said(&error).contains(reason), "{lie:?}: {error}");
        server.heal();
    }
    server.lie(POINTER_KEY, Lie::Status(410));
    let known = Etag::new("etag \"x\"");
    assert_eq!(Pointer::read(&*fixture.reader, Some(&known)).await.unwrap(), Fetched::Missing);
}

#[tokio::test]
async fn a_published_store_is_read_from_any_path() {
    let files = tempfile::tempdir().unwrap();
    let below = files.path().join("和歌 集/a+b");
    let (path, written) = archive(files.path(), "甲", 100);
    let options = PublishOptions::at(std::time::SystemTime::now());
    publish(&wakashu_storage::Folder::new(&below), &path, &options, &Progress::silent()).await.unwrap();
    let server = WebServer::start(files.path().to_owned(), None).await.unwrap();
    for address in ["和歌 集/a+b", "%E5%92%8C%E6%AD%8C%20%E9%9B%86/a%2Bb/"] {
        let reader = at(&format!("{}/{address}", endpoint(server.address()))).await;
        let Fetched::Changed { value: pointer, .. } = Pointer::read(&*reader, None).await.unwrap() else {
            panic!("{address}")
        };
        assert_eq!(pointer.current.digest, written.digest);
        let object = reader.object(&archive_key(written.digest), Some(written.bytes)).await.unwrap();
        assert_eq!(object.tail(u64::MAX).await.unwrap().bytes, std::fs::read(&path).unwrap());
    }
}

#[tokio::test]
async fn a_host_that_does_not_listen_is_unreachable() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = read(&*at(&endpoint(free)).await, None, SPAN).await.unwrap_err();
    assert!(matches!(error, StorageError::Unreachable { .. }), "{error:?}");
    assert!(said(&error).contains("check the network and the address"), "{}", said(&error));
}
