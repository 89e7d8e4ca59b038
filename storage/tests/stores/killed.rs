//! Publishers that die at any point, and publishers that race: what is served is always one whole version.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests fail loudly")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use crate::support::fault_proxy::{Fault, Gate, Rule};
use crate::support::{BUCKET, Fixture, archive, proxied_s3s, s3_server};
use tokio::task::JoinHandle;
use wakashu_archive::{ContentHash, Written};
use wakashu_storage::{
    ArchiveWrite, Location, Progress, PublishOptions, PublishOutcome, StorageError, Store, archive_key,
    digest_of_key, history, publish, rollback,
};

const DAY: Duration = Duration::from_hours(24);

async fn publish_at(
    storage: &dyn Store,
    file: &Path,
    now: SystemTime,
) -> Result<PublishOutcome, StorageError> {
    let options = PublishOptions { settle: Duration::ZERO, keep: 1, ..PublishOptions::at(now) };
    publish(storage, file, &options, &Progress::silent()).await
}

/// Begins to publish beside the test.
fn begin_to_publish(
    fixture: &Fixture,
    file: &Path,
    now: SystemTime,
) -> JoinHandle<Result<PublishOutcome, StorageError>> {
    let (storage, file) = (Arc::clone(&fixture.storage), file.to_owned());
    tokio::spawn(async move { publish_at(&*storage, &file, now).await })
}

/// Returns the digest of what is served, having compared every byte of it with the file of that digest.
async fn served(storage: &dyn Store, files: &[(PathBuf, Written)]) -> ContentHash {
    let current = history(storage).await.unwrap().current;
    let (path, written) = files.iter().find(|(_, written)| written.digest == current.digest).unwrap();
    assert_eq!(current.bytes, written.bytes);
    let object = storage.object(&archive_key(current.digest), None).await.unwrap();
    assert!(object.tail(1 << 30).await.unwrap().bytes == std::fs::read(path).unwrap(), "not whole");
    current.digest
}

/// The publisher dies before it sends a request, whichever it is.
#[tokio::test]
async fn a_publisher_dies_before_every_request() {
    let deaths = die_at_every_request(100, false).await;
    assert!(deaths >= 6, "only {deaths} requests");
}

/// The publisher dies before it hears the answer, whichever it is. The archive is just large enough to go in parts.
#[tokio::test]
async fn a_publisher_dies_before_every_answer() {
    let deaths = die_at_every_request(25 << 19, true).await;
    assert!(deaths >= 10, "only {deaths} requests");
}

/// Publishes over and over, dying one request later each time, until a publisher gets through.
async fn die_at_every_request(picture_bytes: usize, answer_lost: bool) -> usize {
    let dead = Fault::Answer { status: 403, header: None, body: "<Error><Code>AccessDenied</Code></Error>" };
    let folder = tempfile::tempdir().unwrap();
    let files = [("a", 100), ("b", picture_bytes), ("c", 100)];
    let files = files.map(|(name, picture_bytes)| archive(folder.path(), name, picture_bytes));
    let mut deaths = 0;
    loop {
        let (fixture, proxy) = proxied_s3s().await;
        let storage = &*fixture.storage;
        let now = SystemTime::now();
        publish_at(storage, &files[0].0, now).await.unwrap();
        if answer_lost {
            proxy.inject(Rule::always(Fault::LoseAnswer).after(deaths).times(1));
        }
        proxy.inject(Rule::always(dead.clone()).after(deaths));
        let later = now + 2 * DAY;
        let died = publish_at(storage, &files[1].0, later).await;
        proxy.heal();

        let between = served(storage, &files).await;
        assert!(files[..2].iter().any(|(_, written)| written.digest == between));
        // Whatever was left behind, the next publishers get through.
        for (path, written) in &files[1..] {
            publish_at(storage, path, later).await.unwrap();
            assert_eq!(served(storage, &files).await, written.digest);
        }
        if died.is_ok_and(|outcome| outcome.switched && outcome.prune_problem.is_none()) {
            return deaths;
        }
        deaths += 1;
    }
}

/// Run by the next test, in a process of its own.
#[tokio::test]
#[ignore = "the publisher that is killed"]
async fn publisher_to_be_killed() {
    let Ok(store) = std::env::var("WAKASHU_TEST_STORE") else { return };
    let storage = store.parse::<Location>().unwrap().open_for_writing().await.unwrap();
    match std::env::var_os("WAKASHU_TEST_FILE").filter(|file| !file.is_empty()) {
        Some(file) => {
            publish_at(&*storage, Path::new(&file), SystemTime::now()).await.unwrap();
        }
        None => {
            rollback(&*storage, None).await.unwrap();
        }
    }
}

/// A process that publishes a file; without one it goes back to the version before.
fn publisher(store: &str, endpoint: &str, file: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--ignored", "--exact", "killed::publisher_to_be_killed"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .env("WAKASHU_TEST_STORE", store)
        .env("WAKASHU_TEST_FILE", file)
        .env("AWS_ENDPOINT_URL", endpoint)
        .env("AWS_REGION", "eu-central-1")
        .env("AWS_ACCESS_KEY_ID", s3_server::ACCESS_KEY_ID)
        .env("AWS_SECRET_ACCESS_KEY", s3_server::SECRET_ACCESS_KEY)
        .env("AWS_EC2_METADATA_DISABLED", "true");
    command
}

/// `kill -9` of a real process before each of its requests to a bucket, until one gets through.
#[tokio::test(flavor = "multi_thread")]
async fn a_publisher_to_a_bucket_is_killed_at_every_request() {
    let (fixture, proxy) = proxied_s3s().await;
    let storage = &*fixture.storage;
    let store = format!("s3://{BUCKET}/some/prefix");
    let files: Vec<_> =
        (0..40).map(|number| archive(fixture.files.path(), &format!("{number}"), 100)).collect();
    publish_at(storage, &files[0].0, SystemTime::now()).await.unwrap();
    let mut before = files[0].1.digest;
    for (requests, (path, written)) in files[1..].iter().enumerate() {
        let gate = Gate::default();
        proxy.inject(Rule::always(Fault::Hold(gate.clone())).after(requests));
        let mut child =
            tokio::process::Command::from(publisher(&store, &proxy.endpoint(), path)).spawn().unwrap();
        let got_through = tokio::select! {
            () = gate.reached() => false,
            ended = child.wait() => ended.unwrap().success(),
        };
        child.kill().await.unwrap();
        proxy.heal();
        let now = served(storage, &files).await;
        if got_through {
            assert_eq!(now, written.digest);
            assert!(requests >= 6, "only {requests} requests");
            return;
        }
        assert!(now == before || now == written.digest, "neither the old version nor the new one");
        before = now;
    }
    panic!("none got through");
}

/// The same with going back: what is served is one of the two versions, and going back or publishing works afterwards.
#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_of_a_bucket_is_killed_at_every_request() {
    let (fixture, proxy) = proxied_s3s().await;
    let storage = &*fixture.storage;
    let store = format!("s3://{BUCKET}/some/prefix");
    let files = ["a", "b"].map(|name| archive(fixture.files.path(), name, 100));
    let [old, new] = files.each_ref().map(|(_, written)| written.digest);
    for requests in 0..40 {
        for (path, _) in &files {
            publish_at(storage, path, SystemTime::now()).await.unwrap();
        }
        assert_eq!(served(storage, &files).await, new);
        let gate = Gate::default();
        proxy.inject(Rule::always(Fault::Hold(gate.clone())).after(requests));
        let mut child = tokio::process::Command::from(publisher(&store, &proxy.endpoint(), Path::new("")))
            .spawn()
            .unwrap();
        let got_through = tokio::select! {
            () = gate.reached() => false,
            ended = child.wait() => ended.unwrap().success(),
        };
        child.kill().await.unwrap();
        proxy.heal();
        let now = served(storage, &files).await;
        if got_through {
            assert_eq!(now, old);
            assert!(requests >= 3, "only {requests} requests");
            return;
        }
        assert!(now == old || now == new, "neither of the versions");
        if now == new {
            rollback(storage, None).await.unwrap();
            assert_eq!(served(storage, &files).await, old);
        }
    }
    panic!("none got through");
}

/// `kill -9` at twenty points spread over the run of a real process, each of which found it at work.
#[tokio::test(flavor = "multi_thread")]
async fn a_publisher_to_a_folder_is_killed_twenty_times() {
    let fixture = crate::support::folder().await;
    let store = fixture.files.path().join("store").to_str().unwrap().to_owned();
    let storage = &*fixture.storage;
    let another = |number: usize| archive(fixture.files.path(), &format!("{number}"), (1 << 20) + number);
    let mut files = vec![another(0)];
    let started = Instant::now();
    assert!(publisher(&store, "", &files[0].0).status().unwrap().success());
    let mut whole_run = started.elapsed();
    let mut before = served(storage, &files).await;
    let mut killed = 0;
    while killed < 20 {
        assert!(files.len() < 100, "{killed} of {} found it at work", files.len());
        let (path, written) = another(files.len());
        let digest = written.digest;
        files.push((path.clone(), written));
        let mut child = publisher(&store, "", &path).spawn().unwrap();
        tokio::time::sleep(whole_run * (killed % 12 + 1) / 12).await;
        child.kill().unwrap();
        let ended = child.wait().unwrap();
        assert_ne!(ended.code(), Some(101), "it failed by itself");
        let now = served(storage, &files).await;
        assert!(now == before || now == digest, "neither the old version nor the new one");
        before = now;
        if ended.success() {
            // Quicker than was thought.
            whole_run = whole_run * 9 / 10;
        } else {
            killed += 1;
        }
    }
    let (path, written) = another(files.len());
    let digest = written.digest;
    files.push((path.clone(), written));
    assert!(publisher(&store, "", &path).status().unwrap().success());
    assert_eq!(served(storage, &files).await, digest);
}

#[tokio::test]
async fn of_two_racing_publishers_one_loses_clearly() {
    let (fixture, proxy) = proxied_s3s().await;
    let files = ["a", "b", "c"].map(|name| archive(fixture.files.path(), name, 100));
    let now = SystemTime::now();
    publish_at(&*fixture.storage, &files[0].0, now).await.unwrap();

    let gate = Gate::default();
    proxy.inject(Rule::on("PUT", "current.json", Fault::Hold(gate.clone())).times(1));
    let slow = begin_to_publish(&fixture, &files[1].0, now);
    gate.reached().await;
    publish_at(&*fixture.storage, &files[2].0, now).await.unwrap();
    gate.release();
    let lost = slow.await.unwrap().unwrap_err();
    assert!(matches!(lost, StorageError::Changed { .. }), "{lost:?}");
    assert!(lost.hint().unwrap().contains("another publish finished first"));
    assert_eq!(served(&*fixture.storage, &files).await, files[2].1.digest);
    let named: Vec<_> =
        history(&*fixture.storage).await.unwrap().versions().map(|version| version.digest).collect();
    assert_eq!(named, [files[2].1.digest, files[0].1.digest], "no update is lost");
}

/// One publisher's prune is about to remove an old archive; another publishes just that one.
/// The removal is held in the proxy, first until the pointer has switched, then until after the first confirmation.
#[tokio::test]
async fn a_prune_held_back_takes_nothing_for_good() {
    for after_confirmation in [false, true] {
        let (fixture, proxy) = proxied_s3s().await;
        let files = ["x", "a", "b", "c"].map(|name| archive(fixture.files.path(), name, 100));
        let [x, a, b, c] = files.each_ref();
        let now = SystemTime::now();
        // `x` falls out of the history and is old.
        for (path, _) in [x, a, b] {
            publish_at(&*fixture.storage, path, now).await.unwrap();
        }
        let later = now + 2 * DAY;

        let key = archive_key(x.1.digest);
        let gate = Gate::default();
        proxy.inject(Rule::on("DELETE", &key, Fault::Hold(gate.clone())).times(1));
        let pruner = begin_to_publish(&fixture, &c.0, later);
        gate.reached().await;

        let switched = Gate::default();
        proxy.inject(Rule::on("PUT", "current.json", Fault::Hold(switched.clone())).times(1));
        let publisher = begin_to_publish(&fixture, &x.0, later);
        switched.reached().await;
        let second = Gate::default();
        if after_confirmation {
            proxy.inject(Rule::on("GET", &key, Fault::Hold(second.clone())).after(1).times(1));
            switched.release();
            // The first confirmation has come and gone.
            second.reached().await;
            assert_eq!(served(&*fixture.storage, &files).await, x.1.digest);
        }
        gate.release();
        let removed = pruner.await.unwrap().unwrap().pruned;
        assert!(removed.iter().any(|object| digest_of_key(&object.key) == Some(x.1.digest)));
        if after_confirmation {
            second.release();
        } else {
            switched.release();
        }
        let outcome = publisher.await.unwrap().unwrap();
        assert_eq!(outcome.archive, ArchiveWrite::Restored);
        assert_eq!(served(&*fixture.storage, &files).await, x.1.digest);
    }
}

/// A pruner that reads the pointer after the switch leaves the archive alone.
#[tokio::test]
async fn a_prune_reads_the_pointer_again_before_it_removes() {
    let (fixture, proxy) = proxied_s3s().await;
    let files = ["x", "a", "b", "c"].map(|name| archive(fixture.files.path(), name, 100));
    let [x, a, b, c] = files.each_ref();
    let now = SystemTime::now();
    for (path, _) in [x, a, b] {
        publish_at(&*fixture.storage, path, now).await.unwrap();
    }
    let later = now + 2 * DAY;
    // Held while it lists; the other publisher's own listing passes.
    let gate = Gate::default();
    proxy.inject(Rule::on("GET", "list-type=2", Fault::Hold(gate.clone())).times(1));
    let pruner = begin_to_publish(&fixture, &c.0, later);
    gate.reached().await;
    publish_at(&*fixture.storage, &x.0, later).await.unwrap();
    gate.release();
    let removed = pruner.await.unwrap().unwrap().pruned;
    assert!(removed.iter().all(|object| digest_of_key(&object.key) != Some(x.1.digest)), "{removed:?}");
    assert_eq!(served(&*fixture.storage, &files).await, x.1.digest);
}
