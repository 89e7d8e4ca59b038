//! What the tests of this crate share: the kinds of storage, and archives to put into them.

#![allow(dead_code, unreachable_pub, missing_docs, reason = "every test file uses its own part")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail loudly")]
#![allow(clippy::unused_async, reason = "all kinds of storage are made alike")]

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use fault_proxy::FaultProxy;
use tempfile::TempDir;
use wakashu_archive::{EntryDraft, MediaType, PictureDraft, RenditionDraft, Written};
use wakashu_storage::{Bucket, Folder, Keys, Location, ReadStore, S3Settings, Store};
use wakashu_support::Collection;
pub use wakashu_support::{fault_proxy, s3_server, web_server};
use web_server::WebServer;

pub const BUCKET: &str = "poems";

/// An empty storage and what must live as long as it.
pub struct Fixture {
    pub storage: Arc<dyn Store>,
    /// The same for those who only read; a web host has no other side.
    pub reader: Arc<dyn ReadStore>,
    pub files: TempDir,
}

impl Fixture {
    fn new(storage: Arc<dyn Store>, files: TempDir) -> Self {
        Self { reader: Arc::<dyn Store>::clone(&storage), storage, files }
    }
}

pub async fn folder() -> Fixture {
    let files = TempDir::new().unwrap();
    // The folder itself does not exist yet.
    Fixture::new(Arc::new(Folder::new(files.path().join("store"))), files)
}

pub async fn web() -> Fixture {
    web_host().await.0
}

/// A folder that is written directly and read through a web host.
pub async fn web_host() -> (Fixture, WebServer) {
    let fixture = folder().await;
    let server = WebServer::start(fixture.files.path().join("store"), None).await.unwrap();
    (Fixture { reader: at(&endpoint(server.address())).await, ..fixture }, server)
}

pub async fn at(address: &str) -> Arc<dyn ReadStore> {
    address.parse::<Location>().unwrap().open().await.unwrap()
}

pub async fn s3s() -> Fixture {
    let files = TempDir::new().unwrap();
    let address = s3_server::start_s3s(&files.path().join("s3"), BUCKET).await.unwrap();
    Fixture::new(bucket(&endpoint(address), BUCKET).await, files)
}

pub async fn moto() -> Fixture {
    let (address, name) = tokio::task::spawn_blocking(s3_server::moto).await.unwrap().unwrap();
    Fixture::new(bucket(&endpoint(address), &name).await, TempDir::new().unwrap())
}

/// An s3s server behind a fault proxy, and the bucket through it.
pub async fn proxied_s3s() -> (Fixture, FaultProxy) {
    let files = TempDir::new().unwrap();
    let address = s3_server::start_s3s(&files.path().join("s3"), BUCKET).await.unwrap();
    let proxy = FaultProxy::start(address).await.unwrap();
    (Fixture::new(bucket(&proxy.endpoint(), BUCKET).await, files), proxy)
}

pub fn endpoint(address: SocketAddr) -> String {
    format!("http://{address}")
}

pub fn settings(endpoint: &str) -> S3Settings {
    let mut settings = S3Settings::default();
    settings.region = Some("eu-central-1".to_owned());
    settings.endpoint = Some(endpoint.to_owned());
    settings.keys = Some(Keys::new(s3_server::ACCESS_KEY_ID, s3_server::SECRET_ACCESS_KEY));
    settings
}

pub async fn bucket(endpoint: &str, name: &str) -> Arc<dyn Store> {
    Arc::new(Bucket::open(name, "some/prefix", &settings(endpoint)).await.unwrap())
}

/// Writes an archive of one entry whose picture is `picture_bytes` long, and returns its path.
pub fn archive(folder: &Path, name: &str, picture_bytes: usize) -> (PathBuf, Written) {
    let noise: Vec<u8> = (0..=250).cycle().take(picture_bytes).collect();
    let rendition =
        RenditionDraft { bytes: Bytes::from(noise), media_type: MediaType::Png, width_px: 1, height_px: 1 };
    let picture = PictureDraft {
        small: rendition.clone(),
        medium: rendition.clone(),
        large: rendition,
        original: None,
    };
    let path = folder.join(format!("{name}.wakashu"));
    let entry =
        EntryDraft { rank: 1, poem: name.to_owned(), picture: Some(picture), ..EntryDraft::default() };
    let written = Collection::default().title(name).round("第1回").entry(entry).write_to(&path);
    (path, written)
}

/// Runs the same tests on every kind of storage that can be read.
macro_rules! on_every_reader {
    ($($name:ident),* $(,)?) => {
        mod reading {
            use super::*;
            on_every_storage!($($name),*);
            on_every_storage!(@kind web: $($name),*);
        }
    };
}

/// Runs the same tests on every kind of storage.
macro_rules! on_every_storage {
    ($($name:ident),* $(,)?) => {
        on_every_storage!(@kind folder: $($name),*);
        on_every_storage!(@kind s3s: $($name),*);
        on_every_storage!(@kind moto: $($name),*);
    };
    (@kind $kind:ident: $($name:ident),*) => {
        mod $kind {
            $(
                #[tokio::test]
                async fn $name() {
                    super::$name($crate::support::$kind().await).await;
                }
            )*
        }
    };
}
