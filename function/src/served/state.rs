//! Which archive is served: opening it, noticing a new one, never losing a good one.

use std::sync::Arc;
use std::time::SystemTime;

use arc_swap::ArcSwap;
use tokio::sync::{Mutex, OnceCell, watch};
use wakashu_archive::ContentHash;
use wakashu_storage::{Etag, Fetched, Location, Pointer, ReadStore, StorageError, Timestamp, archive_key};

use crate::observe::detail::Detail;
use crate::served::index::{Announced, Index, ReadCache, ReadError};
use crate::served::snapshot::{Preparing, Snapshot};

/// The served archive and how to look for a newer one.
#[derive(Debug)]
pub struct ArchiveState {
    location: Option<Location>,
    storage: OnceCell<Arc<dyn ReadStore>>,
    current: ArcSwap<Snapshot>,
    known: Mutex<Known>,
    cache: Arc<ReadCache>,
    preload_bytes: u64,
    preparing: Preparing,
    changes: watch::Sender<Generation>,
}

/// Counts the changes a client can hear of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Generation {
    /// Changes of the list of tools.
    pub tools: u64,
    /// Changes of the resources: every replaced archive.
    pub resources: u64,
}

/// What the last look at the storage found.
#[derive(Debug, Default)]
struct Known {
    pointer: Option<Etag>,
    file: Option<FileMark>,
}

/// By this a replaced file is noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileMark {
    modified: Option<SystemTime>,
    bytes: u64,
}

/// Why a refresh failed. For the log.
#[derive(Debug, thiserror::Error)]
enum RefreshError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error("nothing is published there yet")]
    NothingPublished,
    #[error("the pointer names {expected}, the archive there is {found}")]
    OtherArchive { expected: ContentHash, found: ContentHash },
}

impl ArchiveState {
    /// Returns the state before anything was read. `preparing` makes what is written once for each archive.
    pub(crate) fn new(
        location: Option<Location>,
        cache_bytes: u64,
        preload_bytes: u64,
        preparing: Preparing,
    ) -> Self {
        Self {
            current: ArcSwap::from_pointee(Snapshot::empty(location.is_some(), &preparing)),
            location,
            storage: OnceCell::new(),
            known: Mutex::default(),
            cache: Arc::new(ReadCache::new(cache_bytes)),
            preload_bytes,
            preparing,
            changes: watch::Sender::new(Generation::default()),
        }
    }

    /// Reads from `storage` instead of opening the one at the location, which is then only a name. To be called
    /// before anything is read.
    #[must_use]
    pub fn with_storage(self, storage: Arc<dyn ReadStore>) -> Self {
        Self { storage: OnceCell::new_with(Some(storage)), ..self }
    }

    /// Tells whether this door announces changes.
    pub(crate) fn can_push(&self) -> bool {
        self.preparing.can_push
    }

    /// Tells whether the tool called `name` is switched off.
    pub(crate) fn is_off(&self, name: &str) -> bool {
        self.preparing.tools_off.contains(&name)
    }

    /// Returns what is served now. A request keeps to the snapshot it began with.
    #[must_use]
    pub fn current(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Hears of every replaced archive.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<Generation> {
        self.changes.subscribe()
    }

    /// Looks for a newer archive and serves it once it is open and checked. A failure keeps the old one and
    /// marks it stale. Returns whether an archive could be confirmed or loaded.
    pub async fn refresh(&self) -> bool {
        let Some(location) = &self.location else { return false };
        let mut known = self.known.lock().await;
        match self.look(location, &mut known).await {
            Ok(Some(snapshot)) => {
                let digest = snapshot.loaded().map(|loaded| loaded.digest.to_string());
                tracing::info!(archive = digest.as_deref().unwrap_or_default(), "serving an archive");
                let before = self.current.swap(Arc::new(snapshot));
                let same_tools = before.prepared().tools == self.current().prepared().tools;
                self.changes.send_modify(|generation| {
                    generation.resources += 1;
                    generation.tools += u64::from(!same_tools);
                });
                true
            }
            Ok(None) => {
                let current = self.current();
                if current.stale_since().is_some() {
                    tracing::info!("the archive is fresh again");
                    self.current.store(Arc::new(current.with_staleness(None)));
                }
                true
            }
            Err(error) => {
                tracing::warn!(detail = Detail::of(&error).for_log(), "the archive could not be refreshed");
                let current = self.current();
                if current.index().is_some() && current.stale_since().is_none() {
                    let since = Timestamp::from(SystemTime::now());
                    self.current.store(Arc::new(current.with_staleness(Some(since))));
                }
                false
            }
        }
    }

    /// Returns a snapshot of a newer archive, if there is one.
    async fn look(&self, location: &Location, known: &mut Known) -> Result<Option<Snapshot>, RefreshError> {
        let storage = self.storage.get_or_try_init(|| location.open()).await?;
        if let Some(key) = location.archive() {
            return self.look_at_file(location, key, storage.as_ref(), known).await;
        }
        let (pointer, etag) = match Pointer::read(storage.as_ref(), known.pointer.as_ref()).await? {
            Fetched::Unchanged => return Ok(None),
            Fetched::Missing => return Err(RefreshError::NothingPublished),
            Fetched::Changed { value, etag } => (value, etag),
        };
        let expected = pointer.current.digest;
        let served = self.current().index().map(|index| index.archive().digest());
        if served == Some(expected) {
            known.pointer = Some(etag);
            return Ok(None);
        }
        let object = storage.object(&archive_key(expected), Some(pointer.current.bytes)).await?;
        let announced = Announced {
            digest: expected,
            bytes: pointer.current.bytes,
            opening: pointer.opening.as_ref(),
            trusts_inline: served.is_none(),
        };
        let index = Index::open(object, &self.cache, self.preload_bytes, Some(announced)).await?;
        let found = index.archive().digest();
        if found != expected {
            return Err(RefreshError::OtherArchive { expected, found });
        }
        known.pointer = Some(etag);
        Ok(Some(Snapshot::ready(Arc::new(index), Some(pointer.current.published_at), &self.preparing)))
    }

    /// Looks at one named archive: reopened when its file was replaced, otherwise opened once.
    async fn look_at_file(
        &self,
        location: &Location,
        key: &str,
        storage: &dyn ReadStore,
        known: &mut Known,
    ) -> Result<Option<Snapshot>, RefreshError> {
        let mark = location.local_path().and_then(|path| std::fs::metadata(path).ok());
        let mark = mark.map(|data| FileMark { modified: data.modified().ok(), bytes: data.len() });
        if self.current().index().is_some() && mark == known.file {
            return Ok(None);
        }
        let object = storage.object(key, None).await?;
        let index = Index::open(object, &self.cache, self.preload_bytes, None).await?;
        known.file = mark;
        if self.current().index().is_some_and(|served| served.archive().digest() == index.archive().digest())
        {
            return Ok(None);
        }
        let written = mark.and_then(|mark| mark.modified).map(Timestamp::from);
        Ok(Some(Snapshot::ready(Arc::new(index), written, &self.preparing)))
    }
}
