//! A bucket or a web host behind the proxy, what is published there, and a server that reads it.

use std::path::{Path, PathBuf};
use std::process::Command;

use bytes::Bytes;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use wakashu_archive::Archive;
use wakashu_tests::{Server, program};

use wakashu_support::fault_proxy::{Exchange, FaultProxy};
use wakashu_support::s3_server::{ACCESS_KEY_ID, SECRET_ACCESS_KEY, start_s3s};
use wakashu_support::web_server::WebServer;

const BUCKET: &str = "poems";

/// Where everything is published in the bucket.
const ADDRESS: &str = "s3://poems/wakashu";

/// A store. Servers read it through the proxy, publishers write it directly, so that only reads are counted.
pub(crate) struct Store {
    pub(crate) proxy: FaultProxy,
    /// Where it is written.
    publish_to: String,
    /// Where it is read.
    read_from: String,
    /// Where publishers find S3.
    direct: String,
    files: TempDir,
    _runtime: Runtime,
}

impl Store {
    /// Returns an empty bucket.
    pub(crate) fn empty() -> Self {
        let runtime = runtime();
        let files = tempfile::tempdir().unwrap();
        let direct = runtime.block_on(start_s3s(files.path(), BUCKET)).unwrap();
        let proxy = runtime.block_on(FaultProxy::start(direct)).unwrap();
        let direct = format!("http://{direct}");
        let (publish_to, read_from) = (ADDRESS.to_owned(), ADDRESS.to_owned());
        Self { proxy, publish_to, read_from, direct, files, _runtime: runtime }
    }

    /// Returns a store on a web host with this archive published in it.
    pub(crate) fn on_the_web_with(archive: &Path) -> Self {
        let runtime = runtime();
        let files = tempfile::tempdir().unwrap();
        let folder = files.path().join("store");
        let publish_to = folder.to_str().unwrap().to_owned();
        let host = runtime.block_on(WebServer::start(folder, None)).unwrap();
        let proxy = runtime.block_on(FaultProxy::start(host.address())).unwrap();
        let (read_from, direct) = (proxy.endpoint(), String::new());
        let store = Self { proxy, publish_to, read_from, direct, files, _runtime: runtime };
        store.publish(archive);
        store
    }

    /// Returns a store with this archive published in it.
    pub(crate) fn with(archive: &Path) -> Self {
        let store = Self::empty();
        store.publish(archive);
        store
    }

    pub(crate) fn publish(&self, archive: &Path) {
        self.indexer(&["publish", "--no-progress", archive.to_str().unwrap(), &self.publish_to]);
    }

    /// Moves the pointer to a version of the history.
    pub(crate) fn point_to(&self, digest: &str) {
        self.indexer(&["rollback", &self.publish_to, digest]);
    }

    fn indexer(&self, arguments: &[&str]) {
        let mut command = Command::new(program("wakashu-indexer"));
        command.args(arguments).envs(keys()).env("AWS_ENDPOINT_URL_S3", &self.direct);
        let done = command.output().expect("the indexer starts");
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    /// Returns the settings of a server that reads this store by range and looks at the pointer every second.
    pub(crate) fn settings(&self) -> Vec<(&'static str, String)> {
        let mut settings = self.address();
        settings
            .extend([("WAKASHU_PRELOAD_BYTES", "0".to_owned()), ("WAKASHU_REFRESH_SECONDS", "1".to_owned())]);
        settings
    }

    /// Returns what a server must be told to find this store.
    fn address(&self) -> Vec<(&'static str, String)> {
        let mut settings: Vec<_> = keys().map(|(name, value)| (name, value.to_owned())).into();
        settings.extend([
            ("AWS_ENDPOINT_URL_S3", self.proxy.endpoint()),
            ("WAKASHU_ARCHIVE", self.read_from.clone()),
        ]);
        settings
    }

    /// Serves what is published here, everything else as it is when nothing is set.
    pub(crate) fn serve_by_default(&self) -> Server {
        let settings = self.address();
        let settings: Vec<_> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
        Server::serve_with(None, &settings)
    }

    /// Puts another file in the place of a published archive; returns where.
    pub(crate) fn exchange_archive(&self, archive: &Path, other: &Path) -> PathBuf {
        let digest = open(archive).0.digest();
        let place = self.files.path().join(format!("poems/wakashu/archives/{digest}.wakashu"));
        std::fs::copy(other, &place).unwrap();
        place
    }

    /// Returns the pointer as it is stored.
    pub(crate) fn pointer(&self) -> Vec<u8> {
        std::fs::read(self.files.path().join("poems/wakashu/current.json")).unwrap()
    }

    /// Serves what is published here; `more` is set besides, or instead.
    pub(crate) fn serve(&self, more: &[(&'static str, &str)]) -> Server {
        let settings = self.settings();
        let settings = settings.iter().map(|(name, value)| (*name, value.as_str()));
        Server::serve_with(None, &settings.chain(more.iter().copied()).collect::<Vec<_>>())
    }

    /// Returns the reads of archives since the last call, without those of the pointer.
    pub(crate) fn archive_reads(&self) -> Vec<Exchange> {
        let mut reads = self.proxy.take_log();
        reads.retain(|one| one.path.contains("/archives/"));
        reads
    }
}

fn keys() -> [(&'static str, &'static str); 3] {
    [
        ("AWS_ACCESS_KEY_ID", ACCESS_KEY_ID),
        ("AWS_SECRET_ACCESS_KEY", SECRET_ACCESS_KEY),
        ("AWS_REGION", "eu-central-1"),
    ]
}

pub(crate) fn runtime() -> Runtime {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.expect("a runtime")
}

/// A folder for the archives of a test.
pub(crate) fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("poems.wakashu");
    (folder, path)
}

/// Opens an archive as a reader would, with all its bytes.
pub(crate) fn open(path: &Path) -> (Archive, Bytes) {
    let whole = Bytes::from(std::fs::read(path).unwrap());
    (Archive::open(&*whole).unwrap(), whole)
}
