//! Which conditions and checks each foreign server really honours: what the other tests prove rests on this.

#![allow(clippy::unwrap_used, reason = "tests fail loudly")]

use std::net::SocketAddr;
use std::sync::Arc;

use crate::support::fault_proxy::FaultProxy;
use crate::support::{BUCKET, bucket, s3_server, settings};
use bytes::Bytes;
use wakashu_storage::{Bucket, Keys, Progress, StorageError, Store};

/// The statuses of a conditional read that changes nothing, two creations and a stale swap.
async fn statuses(address: SocketAddr, name: &str) -> [Option<u16>; 4] {
    let proxy = FaultProxy::start(address).await.unwrap();
    let storage = bucket(&proxy.endpoint(), name).await;
    let first = storage.compare_and_swap("current.json", "one".into(), None).await.unwrap();
    proxy.forget_log();
    storage.get_if_changed("current.json", Some(&first)).await.unwrap();
    let read = proxy.take_log().first().unwrap().status;
    storage.put_if_absent("current.json", "x".into(), &Progress::silent()).await.unwrap();
    let put = proxy.take_log().first().unwrap().status;
    storage.compare_and_swap("current.json", "two".into(), Some(&first)).await.unwrap();
    proxy.forget_log();
    storage.compare_and_swap("current.json", "three".into(), Some(&first)).await.unwrap_err();
    let swap = proxy.take_log().first().unwrap().status;
    let large = Bytes::from(vec![7; 17 << 20]);
    storage.put_if_absent("large", large.clone().into(), &Progress::silent()).await.unwrap();
    proxy.forget_log();
    storage.put_if_absent("large", large.into(), &Progress::silent()).await.unwrap();
    let log = proxy.take_log();
    let completed =
        log.iter().find(|exchange| exchange.method == "POST" && exchange.path.contains("uploadId"));
    [read, put, swap, completed.unwrap().status]
}

#[tokio::test]
async fn moto_honours_conditional_reads_and_writes() {
    let (address, name) = tokio::task::spawn_blocking(s3_server::moto).await.unwrap().unwrap();
    assert_eq!(statuses(address, &name).await, [Some(304), Some(412), Some(412), Some(412)]);
}

#[tokio::test]
async fn s3s_honours_conditional_writes_and_ignores_conditional_reads() {
    let files = tempfile::tempdir().unwrap();
    let address = s3_server::start_s3s(files.path(), BUCKET).await.unwrap();
    assert_eq!(statuses(address, BUCKET).await, [Some(200), Some(412), Some(412), Some(412)]);
}

#[tokio::test]
async fn s3s_checks_signatures_and_moto_does_not() {
    let files = tempfile::tempdir().unwrap();
    let strict = s3_server::start_s3s(files.path(), BUCKET).await.unwrap();
    let (lenient, name) = tokio::task::spawn_blocking(s3_server::moto).await.unwrap().unwrap();
    let with_wrong_secret = async |address: SocketAddr, name: &str| {
        let mut settings = settings(&crate::support::endpoint(address));
        settings.keys = Some(Keys::new(s3_server::ACCESS_KEY_ID, "another secret"));
        let storage: Arc<dyn Store> = Arc::new(Bucket::open(name, "", &settings).await.unwrap());
        storage.list("").await
    };
    let refused = with_wrong_secret(strict, BUCKET).await;
    assert!(matches!(refused, Err(StorageError::BadCredentials { .. })), "{refused:?}");
    assert!(with_wrong_secret(lenient, &name).await.is_ok());
}
