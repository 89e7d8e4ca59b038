//! A bucket behind a proxy that misbehaves: what is retried, what is not, and what the operator is told.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests fail loudly")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::fault_proxy::{Fault, Rule};
use crate::support::{BUCKET, bucket, proxied_s3s, settings};
use bytes::Bytes;
use wakashu_archive::Span;
use wakashu_storage::{
    Bucket, Fetched, POINTER_KEY, Progress, PutOutcome, S3Settings, Source, StorageError, Store,
};

const KEY: &str = "archives/a";

async fn put(storage: &dyn Store, bytes: impl Into<Source>) {
    storage.put_if_absent(KEY, bytes.into(), &Progress::silent()).await.unwrap();
}

async fn read(storage: &dyn Store, offset: u64, length: u64) -> Result<Bytes, StorageError> {
    storage.object(KEY, None).await?.read(Span { offset, length }).await
}

fn busy() -> Fault {
    Fault::Answer { status: 503, header: None, body: "<Error><Code>SlowDown</Code></Error>" }
}

#[tokio::test]
async fn only_the_bytes_asked_for_are_read() {
    let (fixture, proxy) = proxied_s3s().await;
    put(&*fixture.storage, vec![1; 1 << 20]).await;
    proxy.forget_log();
    let object = fixture.storage.object(KEY, None).await.unwrap();
    object.tail(65_536).await.unwrap();
    object.read(Span { offset: 1000, length: 234 }).await.unwrap();
    object.read(Span { offset: 0, length: 0 }).await.unwrap();
    let log = proxy.take_log();
    let seen: Vec<_> = log.iter().map(|one| (one.range.as_deref(), one.answer_bytes)).collect();
    assert_eq!(seen, [(Some("bytes=-65536"), 65_536), (Some("bytes=1000-1233"), 234)]);
}

#[tokio::test]
async fn passing_faults_are_survived() {
    let (fixture, proxy) = proxied_s3s().await;
    let bytes = Bytes::from(vec![5; 200_000]);
    put(&*fixture.storage, bytes.clone()).await;
    for fault in [
        busy(),
        Fault::Answer { status: 500, header: None, body: "" },
        Fault::Drop,
        Fault::LoseAnswer,
        Fault::Truncate(0),
        Fault::Truncate(150_000),
        Fault::Delay(Duration::from_millis(300)),
    ] {
        proxy.inject(Rule::on("GET", KEY, fault.clone()).times(2));
        let got = read(&*fixture.storage, 10, 199_000).await;
        assert!(got.is_ok_and(|got| got == bytes.slice(10..199_010)), "{fault:?}");
        proxy.heal();
    }
}

#[tokio::test]
async fn lasting_faults_end_in_a_clear_error_soon() {
    let (fixture, proxy) = proxied_s3s().await;
    put(&*fixture.storage, "0123456789").await;
    let fails = async |fault: Fault| {
        proxy.inject(Rule::always(fault));
        let error = read(&*fixture.storage, 0, 10).await.unwrap_err();
        proxy.heal();
        error
    };
    assert!(matches!(fails(busy()).await, StorageError::Other { .. }));
    assert!(matches!(fails(Fault::Drop).await, StorageError::Unreachable { .. }));
    assert!(matches!(fails(Fault::Truncate(3)).await, StorageError::Unreachable { .. }));
    proxy.forget_log();
    let gone = fails(Fault::Drop).await;
    assert!(proxy.take_log().len() <= 3, "retries are bounded");
    assert!(gone.hint().is_some());
    // And back without ado.
    assert_eq!(read(&*fixture.storage, 0, 10).await.unwrap(), "0123456789");
}

#[tokio::test]
async fn a_server_that_does_not_listen_is_unreachable() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let storage = bucket(&crate::support::endpoint(free), BUCKET).await;
    let error = read(&*storage, 0, 10).await.unwrap_err();
    assert!(matches!(error, StorageError::Unreachable { .. }), "{error:?}");
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up_soon() {
    let (fixture, proxy) = proxied_s3s().await;
    put(&*fixture.storage, "0123456789").await;
    proxy.inject(Rule::always(Fault::Delay(Duration::from_hours(1))));
    let error = read(&*fixture.storage, 0, 10).await.unwrap_err();
    assert!(matches!(error, StorageError::Timeout { .. }), "{error:?}");
    proxy.heal();
    // A second attempt does not wait for the first.
    proxy.inject(Rule::on("GET", POINTER_KEY, Fault::Delay(Duration::from_hours(1))).times(1));
    assert!(matches!(fixture.storage.get_if_changed(POINTER_KEY, None).await, Ok(Fetched::Missing)));
}

/// Wrong bytes are the hash tree's business; they pass, so that it can be tested above.
#[tokio::test]
async fn wrong_bytes_are_passed_on_for_the_reader_to_notice() {
    let (fixture, proxy) = proxied_s3s().await;
    put(&*fixture.storage, "0123456789").await;
    proxy.inject(Rule::on("GET", KEY, Fault::Flip(3)));
    assert_eq!(read(&*fixture.storage, 0, 10).await.unwrap(), "0122456789");
}

#[tokio::test]
async fn a_swap_whose_answer_is_lost_counts_as_won() {
    let (fixture, proxy) = proxied_s3s().await;
    let storage = &*fixture.storage;
    proxy.inject(Rule::on("PUT", POINTER_KEY, Fault::LoseAnswer).times(1));
    let first = storage.compare_and_swap(POINTER_KEY, "one".into(), None).await.unwrap();
    proxy.inject(Rule::on("PUT", POINTER_KEY, Fault::LoseAnswer).times(1));
    let second = storage.compare_and_swap(POINTER_KEY, "two".into(), Some(&first)).await.unwrap();
    let found = storage.get_if_changed(POINTER_KEY, None).await.unwrap();
    assert_eq!(found, Fetched::Changed { value: "two".into(), etag: second });
}

#[tokio::test]
async fn a_conflicting_write_is_tried_again() {
    let (fixture, proxy) = proxied_s3s().await;
    let conflict = Fault::Answer {
        status: 409,
        header: None,
        body: "<Error><Code>ConditionalRequestConflict</Code></Error>",
    };
    proxy.inject(Rule::on("PUT", KEY, conflict).times(1));
    let put = fixture.storage.put_if_absent(KEY, "x".into(), &Progress::silent()).await.unwrap();
    assert_eq!(put, PutOutcome::Created);
}

#[tokio::test]
async fn a_failed_upload_in_parts_is_cleaned_up_and_leaves_no_object() {
    let (fixture, proxy) = proxied_s3s().await;
    let bytes = Bytes::from(vec![9; 40 << 20]);
    let denied =
        Fault::Answer { status: 403, header: None, body: "<Error><Code>AccessDenied</Code></Error>" };
    proxy.inject(Rule::on("PUT", "partNumber=3", denied));
    let heard = Arc::new(Mutex::new(0));
    let hearing = Arc::clone(&heard);
    let progress = Progress::new(move |written| *hearing.lock().unwrap() = written);
    let failed = fixture.storage.put_if_absent(KEY, bytes.clone().into(), &progress).await;
    assert!(matches!(failed, Err(StorageError::Denied { .. })), "{failed:?}");
    assert!(*heard.lock().unwrap() < bytes.len() as u64);
    let log = proxy.take_log();
    assert!(log.iter().any(|one| one.method == "DELETE" && one.path.contains("uploadId")), "not aborted");
    assert_eq!(fixture.storage.list("archives/").await.unwrap(), []);

    proxy.heal();
    proxy.inject(Rule::on("PUT", "partNumber=2", Fault::Drop).times(1));
    proxy.inject(Rule::on("POST", "uploadId", Fault::LoseAnswer).times(1));
    let put = fixture.storage.put_if_absent(KEY, bytes.clone().into(), &progress).await.unwrap();
    // The completion that was lost and repeated meets its own object.
    assert_eq!(put, PutOutcome::AlreadyThere);
    assert_eq!(*heard.lock().unwrap(), bytes.len() as u64);
    let tail = fixture.storage.object(KEY, None).await.unwrap().tail(1).await.unwrap();
    assert_eq!(tail.total_length, bytes.len() as u64);
}

#[tokio::test]
async fn a_removal_is_never_repeated() {
    let (fixture, proxy) = proxied_s3s().await;
    put(&*fixture.storage, "x").await;
    proxy.forget_log();
    proxy.inject(Rule::on("DELETE", KEY, busy()).times(1));
    fixture.storage.delete(KEY).await.unwrap_err();
    assert_eq!(proxy.take_log().len(), 1);
}

#[tokio::test]
async fn what_the_service_refuses_is_said_in_a_sentence_with_a_hint() {
    let (fixture, proxy) = proxied_s3s().await;
    let mut said = Vec::new();
    for (status, header, body) in [
        (403, None, "<Error><Code>AccessDenied</Code></Error>"),
        (404, None, "<Error><Code>NoSuchBucket</Code></Error>"),
        (
            301,
            Some(("x-amz-bucket-region", "ap-northeast-1")),
            "<Error><Code>PermanentRedirect</Code></Error>",
        ),
        (400, None, "<Error><Code>AuthorizationHeaderMalformed</Code><Region>us-west-2</Region></Error>"),
        (400, None, "<Error><Code>ExpiredToken</Code></Error>"),
        (403, None, "<Error><Code>InvalidAccessKeyId</Code></Error>"),
        (403, None, "<Error><Code>RequestTimeTooSkewed</Code></Error>"),
    ] {
        proxy.heal();
        proxy.inject(Rule::always(Fault::Answer { status, header, body }));
        let error = read(&*fixture.storage, 0, 10).await.unwrap_err();
        assert!(error.hint().is_some(), "{error}");
        said.push(error.to_string());
    }
    assert_eq!(
        said,
        [
            "access to `s3://poems/some/prefix/archives/a` is denied",
            "the bucket `poems` does not exist",
            "the bucket `poems` is not in region `eu-central-1` but in `ap-northeast-1`",
            "the bucket `poems` is not in region `eu-central-1` but in `us-west-2`",
            "the AWS credentials have expired",
            "the AWS credentials were not accepted",
            "the AWS credentials were not accepted",
        ]
    );
}

#[tokio::test]
async fn settings_that_make_no_sense_are_refused_at_once() {
    let mut endless = settings("localhost:9000");
    endless.endpoint = Some("localhost:9000".to_owned());
    let refused = Bucket::open(BUCKET, "", &endless).await.unwrap_err();
    assert!(refused.to_string().contains("http:// or https://"), "{refused}");

    let mut nowhere = S3Settings::default();
    nowhere.keys = settings("http://localhost").keys;
    let refused = Bucket::open(BUCKET, "", &nowhere).await.unwrap_err();
    assert!(refused.to_string().contains("AWS_REGION"), "{refused}");
    assert!(Bucket::open(BUCKET, "../x", &settings("http://localhost")).await.is_err());
}

/// Neither the log of an error nor the settings show the secret.
#[tokio::test]
async fn secrets_are_shown_nowhere() {
    let (fixture, proxy) = proxied_s3s().await;
    proxy.inject(Rule::always(Fault::Drop));
    let error = read(&*fixture.storage, 0, 10).await.unwrap_err();
    let shown = format!("{error:?} {error} {:?} {:?}", settings("http://localhost"), fixture.storage);
    assert!(!shown.contains(crate::support::s3_server::SECRET_ACCESS_KEY), "{shown}");
}
