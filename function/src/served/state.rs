//! Which archive is served: opening it, noticing a new one, never losing a good one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use tokio::sync::{Mutex, OnceCell, watch};
use wakashu_archive::ContentHash;
use wakashu_storage::{
    Etag, Fetched, FileMark, Location, Pointer, ReadStore, StorageError, Timestamp, archive_key,
};

use crate::observe::detail::Detail;
use crate::served::cache::ReadCache;
use crate::served::index::{Announced, Index, ReadError};
use crate::served::snapshot::{Preparing, Snapshot};

/// The pause after a look that failed; twice as long after each further one, up to the usual pause.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The served archive and how to look for a newer one.
#[derive(Debug)]
pub struct ArchiveState {
    location: Option<Location>,
    storage: OnceCell<Arc<dyn ReadStore>>,
    current: ArcSwap<Snapshot>,
    known: Mutex<Known>,
    /// How many looks in a row have failed.
    failures: AtomicU32,
    /// How many looks past caches have ended.
    looks_past_caches: AtomicU32,
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
    /// Changes of the prompts; an archive's never change.
    pub prompts: u64,
}

/// What the last look at the storage found.
#[derive(Debug, Default)]
struct Known {
    pointer: Option<Etag>,
    file: Option<FileMark>,
}

/// How the pointer is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asking {
    AsUsual,
    /// Caches on the way are asked not to answer.
    PastCaches,
}

/// What a look at the storage led to.
enum Look {
    /// What is served is the newest.
    Same,
    /// So it is, and it was published once more.
    Republished(Timestamp),
    /// So it is, but it was opened anew.
    Renewed(Arc<Index>),
    Newer(Snapshot),
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
    #[error("a cache on the way keeps an earlier pointer, to {found}; {served} is served on")]
    Leftover { found: ContentHash, served: ContentHash },
    #[error("the pointer names {expected}, the archive there is {found}")]
    OtherArchive { expected: ContentHash, found: ContentHash },
    #[error("a part of the archive is still damaged where it lies")]
    StillDamaged,
    #[error("a part of the archive was found damaged meanwhile")]
    FoundDamaged,
}

impl ArchiveState {
    /// Returns the state before anything was read. `preparing` makes what is written once for each archive.
    pub(crate) fn new(
        location: Option<Location>,
        cache: ReadCache,
        preload_bytes: u64,
        preparing: Preparing,
    ) -> Self {
        Self {
            current: ArcSwap::from_pointee(Snapshot::empty(location.is_some(), &preparing)),
            location,
            storage: OnceCell::new(),
            known: Mutex::default(),
            failures: AtomicU32::new(0),
            looks_past_caches: AtomicU32::new(0),
            cache: Arc::new(cache),
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

    /// Returns the cache of what was read.
    pub(crate) fn cache(&self) -> &ReadCache {
        &self.cache
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

    /// Returns how long to wait until the next look: as long as is usual, or less after a look that failed.
    pub(crate) fn pause(&self, usual: Duration) -> Duration {
        match self.failures.load(Ordering::Relaxed) {
            0 => usual,
            failures => usual.min(FIRST_PAUSE.saturating_mul(1 << (failures - 1).min(20))),
        }
    }

    /// Resolves when a look is due: after the pause, or as soon as a part of the archive is found damaged, unless the last
    /// look has failed already.
    pub(crate) async fn until_due(&self, usual: Duration) {
        let pause = tokio::time::sleep(self.pause(usual));
        if self.failures.load(Ordering::Relaxed) > 0 {
            return pause.await;
        }
        tokio::select! {
            () = pause => {}
            () = self.cache.doubted.notified() => {}
        }
    }

    /// Looks for a newer archive and serves it once it is open and checked. A failure keeps the old one and
    /// marks it stale. Returns whether an archive could be confirmed or loaded.
    pub async fn refresh(&self) -> bool {
        let mut known = self.known.lock().await;
        self.refresh_by(Asking::AsUsual, &mut known).await
    }

    /// Does the same when what is served was found to be `gone`: a cache on the way may have kept the pointer to it. Those
    /// who find that together go by what one of them sees.
    pub(crate) async fn replace_gone(&self, gone: &Snapshot) {
        let looks = self.looks_past_caches.load(Ordering::Relaxed);
        let mut known = self.known.lock().await;
        let is_served = self.current().index().map(Arc::as_ptr) == gone.index().map(Arc::as_ptr);
        if is_served && self.looks_past_caches.load(Ordering::Relaxed) == looks {
            self.refresh_by(Asking::PastCaches, &mut known).await;
            self.looks_past_caches.fetch_add(1, Ordering::Relaxed);
        }
    }

    async fn refresh_by(&self, asking: Asking, known: &mut Known) -> bool {
        let Some(location) = &self.location else { return false };
        let looked = self.look(location, known, asking).await.and_then(|look| {
            let doubted =
                |current: &Snapshot| current.index().is_some_and(|one| one.doubted_since().is_some());
            match look {
                Look::Same | Look::Republished(_) if doubted(&self.current()) => {
                    Err(RefreshError::FoundDamaged)
                }
                look => Ok(look),
            }
        });
        match looked {
            Ok(look) => {
                self.failures.store(0, Ordering::Relaxed);
                self.take(look);
                true
            }
            Err(error) => {
                self.failures.fetch_add(1, Ordering::Relaxed);
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

    /// Serves what a look has found.
    fn take(&self, look: Look) {
        let current = self.current();
        match look {
            Look::Newer(snapshot) => {
                let digest = snapshot.loaded().map(|loaded| loaded.digest.to_string());
                tracing::info!(archive = digest.as_deref().unwrap_or_default(), "serving an archive");
                let before = self.current.swap(Arc::new(snapshot));
                let same_tools = before.prepared().tools == self.current().prepared().tools;
                self.changes.send_modify(|generation| {
                    generation.resources += 1;
                    generation.tools += u64::from(!same_tools);
                });
            }
            Look::Renewed(index) => {
                tracing::info!("the archive was opened anew");
                self.current.store(Arc::new(current.renewed(index)));
            }
            Look::Republished(published_at) => {
                self.current.store(Arc::new(current.republished(published_at)));
            }
            Look::Same if current.stale_since().is_some() => {
                tracing::info!("the archive is fresh again");
                self.current.store(Arc::new(current.with_staleness(None)));
            }
            Look::Same => {}
        }
    }

    /// Looks at what the storage has.
    async fn look(
        &self,
        location: &Location,
        known: &mut Known,
        asking: Asking,
    ) -> Result<Look, RefreshError> {
        let storage = self.storage.get_or_try_init(|| location.open()).await?;
        if let Some(key) = location.archive() {
            return self.look_at_file(location, key, storage.as_ref(), known).await;
        }
        let current = self.current();
        let served = current.index().cloned();
        let doubtful = served.as_ref().filter(|index| index.is_doubtful());
        let etag = known.pointer.as_ref().filter(|_| doubtful.is_none() && asking == Asking::AsUsual);
        let read = match asking {
            Asking::AsUsual => Pointer::read(storage.as_ref(), etag).await?,
            Asking::PastCaches => Pointer::read_past_caches(storage.as_ref()).await?,
        };
        let (pointer, etag) = match read {
            Fetched::Unchanged => return Ok(Look::Same),
            Fetched::Missing => return Err(RefreshError::NothingPublished),
            Fetched::Changed { value, etag } => (value, etag),
        };
        if let Some(served) = current.leftover(&pointer) {
            if asking == Asking::AsUsual {
                return Box::pin(self.look(location, known, Asking::PastCaches)).await;
            }
            return Err(RefreshError::Leftover { found: pointer.current.digest, served });
        }
        let expected = pointer.current.digest;
        let is_served = served.as_ref().is_some_and(|index| index.archive().digest() == expected);
        if is_served && doubtful.is_none() {
            known.pointer = Some(etag);
            let published_at = pointer.current.published_at;
            let is_known = current.loaded().is_some_and(|loaded| loaded.published_at == Some(published_at));
            return Ok(if is_known { Look::Same } else { Look::Republished(published_at) });
        }
        let object = storage.object(&archive_key(expected), Some(pointer.current.bytes)).await?;
        let announced = Announced {
            digest: expected,
            bytes: pointer.current.bytes,
            opening: pointer.opening.as_ref(),
            trusts_inline: served.is_none(),
        };
        // What arrived damaged once is not fetched whole a second time.
        let preload_bytes = if is_served { 0 } else { self.preload_bytes };
        let index = match Index::open(object, &self.cache, preload_bytes, Some(announced)).await {
            // A pointer that a cache has kept may lead to what is gone.
            Err(error) if error.is_gone() && asking == Asking::AsUsual => {
                return Box::pin(self.look(location, known, Asking::PastCaches)).await;
            }
            index => index?,
        };
        let found = index.archive().digest();
        if found != expected {
            return Err(RefreshError::OtherArchive { expected, found });
        }
        let look = match served {
            Some(served) if is_served => renew(index, &served).await?,
            _ => {
                let published_at = Some(pointer.current.published_at);
                Look::Newer(Snapshot::ready(Arc::new(index), published_at, &self.preparing))
            }
        };
        known.pointer = Some(etag);
        Ok(look)
    }

    /// Looks at one named archive: reopened when its file was replaced or written to, otherwise opened once.
    async fn look_at_file(
        &self,
        location: &Location,
        key: &str,
        storage: &dyn ReadStore,
        known: &mut Known,
    ) -> Result<Look, RefreshError> {
        let mark = location.local_path().and_then(|path| FileMark::of_path(&path).ok());
        let served = self.current().index().cloned();
        if served.as_ref().is_some_and(|index| mark == known.file && !index.is_doubtful()) {
            return Ok(Look::Same);
        }
        let object = storage.object(key, None).await?;
        let index = Index::open(object, &self.cache, self.preload_bytes, None).await?;
        let same = served.filter(|served| served.archive().digest() == index.archive().digest());
        let look = if let Some(served) = same {
            renew(index, &served).await?
        } else {
            let written = mark.and_then(|mark| mark.modified()).map(Timestamp::from);
            Look::Newer(Snapshot::ready(Arc::new(index), written, &self.preparing))
        };
        known.file = mark;
        Ok(look)
    }
}

/// Takes the place of an index of the same archive, if what was found damaged there is sound here.
async fn renew(index: Index, served: &Index) -> Result<Look, RefreshError> {
    if index.is_sounder_than(served).await? {
        Ok(Look::Renewed(Arc::new(index)))
    } else {
        Err(RefreshError::StillDamaged)
    }
}
