//! A store that opens an archive and then says that it is not there, as where it was removed and the pointer still names it.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use http::Request;
use http_body_util::Full;
use serde_json::json;
use wakashu_archive::{Archive, ContentHash, Span};
use wakashu_storage::{
    BoxFuture, Etag, Fetched, Object, Pointer, ReadStore, StorageError, Tail, Version, archive_key,
};

use super::{For, matrix};
use crate::config::Config;
use crate::exchange::Arrival;
use crate::served::state::ArchiveState;
use crate::web::App;

/// The store. Copies are the same one.
#[derive(Debug, Clone)]
pub(super) struct Gone {
    archive: Bytes,
    /// Whether nothing comes of a look past caches.
    hangs: bool,
    /// How often somebody looked past caches.
    looks: Arc<AtomicUsize>,
}

impl Gone {
    pub(super) fn new(archive: Vec<u8>) -> Self {
        Self { archive: archive.into(), hangs: false, looks: Arc::default() }
    }

    /// Serves from this store.
    pub(super) fn served(self, state: Arc<ArchiveState>) -> Arc<ArchiveState> {
        Arc::new(Arc::into_inner(state).unwrap().with_storage(Arc::new(self)))
    }

    fn pointer(&self) -> Fetched {
        let current = Version {
            digest: Archive::open(&*self.archive).unwrap().digest(),
            bytes: self.archive.len() as u64,
            built_from: ContentHash::of(&[]),
            published_at: "2026-11-16T00:00:00Z".parse().unwrap(),
            changes: None,
            note: None,
        };
        let pointer = Pointer { current, history: Vec::new(), opening: None };
        Fetched::Changed {
            value: serde_json::to_vec(&pointer).unwrap().into(),
            etag: Etag::new("1".to_owned()),
        }
    }
}

impl ReadStore for Gone {
    fn object<'a>(
        &'a self,
        _: &'a str,
        _: Option<u64>,
    ) -> BoxFuture<'a, Result<Arc<dyn Object>, StorageError>> {
        Box::pin(async { Ok(Arc::new(self.clone()) as Arc<dyn Object>) })
    }

    fn get_if_changed<'a>(
        &'a self,
        _: &'a str,
        _: Option<&'a Etag>,
    ) -> BoxFuture<'a, Result<Fetched, StorageError>> {
        Box::pin(async { Ok(self.pointer()) })
    }

    fn get_past_caches<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Fetched, StorageError>> {
        Box::pin(async {
            self.looks.fetch_add(1, Ordering::Relaxed);
            // Others have their turn meanwhile.
            tokio::time::sleep(Duration::from_millis(1)).await;
            if self.hangs { pending().await } else { Ok(self.pointer()) }
        })
    }

    fn describe(&self) -> String {
        "a store without what it names".to_owned()
    }
}

impl Object for Gone {
    fn tail(&self, _: u64) -> BoxFuture<'_, Result<Tail, StorageError>> {
        Box::pin(async { Ok(Tail { bytes: self.archive.clone(), total_length: self.archive.len() as u64 }) })
    }

    /// Only the end can be read, from which an archive is opened.
    fn read(&self, span: Span) -> BoxFuture<'_, Result<Bytes, StorageError>> {
        let is_opening = span.end() == self.archive.len() as u64;
        Box::pin(async move {
            let from = usize::try_from(span.offset).ok().filter(|_| is_opening);
            from.map(|from| self.archive.slice(from..))
                .ok_or_else(|| StorageError::NotFound { object: archive_key(ContentHash::of(&[])) })
        })
    }
}

/// Serves an archive that is gone.
async fn serve(store: Gone, tool_timeout: Duration) -> App {
    let folder = tempfile::tempdir().unwrap();
    let archive = Some(folder.path().to_str().unwrap().parse().unwrap());
    let config = Config { archive, preload_bytes: 0, tool_timeout, ..Config::default() };
    let state = store.served(For::Local.state(&config).unwrap());
    assert!(state.refresh().await);
    For::Local.app(&config, state, None, None)
}

/// Calls a tool; returns the status.
async fn call(app: &App) -> u16 {
    let body = json!({ "name": "get_poem", "parameters": { "round_title": "1", "rank": 1 } });
    let request = Request::post("/v1/tools/call").header("host", "localhost");
    let request = request.header("content-type", "application/json");
    let request = request.body(Full::<Bytes>::from(body.to_string())).unwrap();
    app.answer(Arrival::default(), request).await.status().as_u16()
}

/// The look, and what came after it, once had no limit, and the time of a second request.
#[tokio::test]
async fn a_look_for_what_is_gone_has_the_time_of_the_request_that_found_out() {
    let store = Gone { hangs: true, ..Gone::new(matrix::archive()) };
    let app = serve(store.clone(), Duration::from_millis(20)).await;
    // Without a limit there would never be an answer.
    let answered = tokio::time::timeout(Duration::from_secs(20), call(&app)).await;
    assert_eq!((answered, store.looks.load(Ordering::Relaxed)), (Ok(408), 1));
}

#[tokio::test]
async fn those_who_find_the_archive_gone_together_look_once() {
    let store = Gone::new(matrix::archive());
    let app = serve(store.clone(), Duration::from_secs(30)).await;
    let answered = join_all((0..8).map(|_| call(&app))).await;
    assert_eq!((answered, store.looks.load(Ordering::Relaxed)), (vec![500; 8], 1));
    assert_eq!((call(&app).await, store.looks.load(Ordering::Relaxed)), (500, 2), "who comes later looks");
}
