//! What is kept in memory of open archives: pages, pictures and documents in a cache bounded in bytes, and how much search
//! columns may take beside it.

use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};
use tokio::sync::Notify;
use wakashu_archive::{ContentHash, PageView};

/// What a cached object weighs besides its bytes.
const OVERHEAD_BYTES: u64 = 128;

/// How much of the cache what was asked for more than once may take; the rest is for newcomers. What is being sent should be
/// among these, or it takes memory besides the cache. Nothing larger is kept.
const HOT_PERCENT: u32 = 75;

/// What the search columns of one archive may take together, unless configured otherwise. Those of a million entries fit.
pub(crate) const SEARCH_BYTES: u64 = 1 << 30;

/// What the cache holds: verified things in memory of their own, named by their hash, and what was made of them, named by
/// all that it was made of.
#[derive(Debug, Clone)]
pub(super) enum Cached {
    Page(PageView),
    /// The stored base64.
    Picture(Bytes),
    /// What a browser was shown.
    Document(Bytes),
}

#[derive(Debug, Clone)]
pub(super) struct Weight;

impl Weighter<ContentHash, Cached> for Weight {
    fn weight(&self, _: &ContentHash, value: &Cached) -> u64 {
        OVERHEAD_BYTES
            + match value {
                Cached::Page(page) => page.byte_length() as u64,
                Cached::Picture(bytes) | Cached::Document(bytes) => bytes.len() as u64,
            }
    }
}

/// Takes the first bytes of a content hash as its hash: they are as random as any.
#[derive(Debug, Default)]
pub(super) struct HashOfHash(u64);

impl Hasher for HashOfHash {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        if let Some(eight) = bytes.first_chunk() {
            self.0 = u64::from_ne_bytes(*eight);
        }
    }

    fn write_usize(&mut self, _: usize) {}
}

/// A cache of pages, pictures and documents, bounded in bytes; shared by all archives, so that what two versions have in common is
/// read once.
pub struct ReadCache {
    pub(super) entries: Cache<ContentHash, Cached, Weight, BuildHasherDefault<HashOfHash>>,
    capacity_bytes: u64,
    /// What the search columns of one archive may take together, besides the cache.
    pub(super) search_bytes: u64,
    /// Wakes the refresh when a part of an archive was found damaged.
    pub(super) doubted: Notify,
}

impl std::fmt::Debug for ReadCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ReadCache({} of {} bytes)", self.entries.weight(), self.capacity_bytes)
    }
}

impl ReadCache {
    /// Returns an empty cache that holds at most `capacity_bytes`.
    #[must_use]
    pub fn new(capacity_bytes: u64) -> Self {
        // One shard: each would take its share of the capacity, and a page must fit into one.
        let options = OptionsBuilder::new()
            .shards(1)
            .hot_allocation(f64::from(HOT_PERCENT) / 100.0)
            .estimated_items_capacity(
                usize::try_from(capacity_bytes / (16 * 1024)).unwrap_or(1024).clamp(16, 65_536),
            )
            .weight_capacity(capacity_bytes)
            .build();
        let entries = match options {
            Ok(options) => Cache::with_options(
                options,
                Weight,
                BuildHasherDefault::default(),
                DefaultLifecycle::default(),
            ),
            Err(_) => Cache::with(
                1024,
                capacity_bytes,
                Weight,
                BuildHasherDefault::default(),
                DefaultLifecycle::default(),
            ),
        };
        Self { entries, capacity_bytes, search_bytes: SEARCH_BYTES, doubted: Notify::new() }
    }

    /// Lets the search columns of one archive take `search_bytes` together.
    #[must_use]
    pub fn with_search_bytes(self, search_bytes: u64) -> Self {
        Self { search_bytes, ..self }
    }

    /// Returns how many bytes the cache may hold.
    pub(crate) fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    /// Returns how many bytes the cache holds now.
    #[must_use]
    pub fn weight_bytes(&self) -> u64 {
        self.entries.weight()
    }
}

/// Room for the columns of one archive, given back unless it is kept.
#[derive(Debug)]
pub(super) struct Room<'a> {
    taken: &'a AtomicU64,
    bytes: u64,
}

impl<'a> Room<'a> {
    /// Takes room for `bytes` more.
    ///
    /// # Errors
    ///
    /// Together they would take so much, which is more than `most`.
    pub(super) fn take(taken: &'a AtomicU64, bytes: u64, most: u64) -> Result<Self, u64> {
        let with = |held: u64| held.saturating_add(bytes);
        let grown = taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |held| {
            Some(with(held)).filter(|together| *together <= most)
        });
        grown.map(|_| Self { taken, bytes }).map_err(with)
    }

    /// Keeps it as long as the archive is open.
    pub(super) fn keep(mut self) {
        self.bytes = 0;
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        self.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
