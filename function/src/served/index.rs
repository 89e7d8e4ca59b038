//! Reading an open archive: pages and pictures, verified once, then kept in a cache bounded in bytes.

use std::collections::BTreeMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{OptionsBuilder, Weighter};
use tokio::sync::OnceCell;
use wakashu_archive::{
    Archive, ArchiveError, ArchivedChunk, ArchivedRendition, Column, ColumnName, ContentHash, KEYS_VERSION,
    MAX_ROOT_BYTES, Opening, PageView, Part, Span, TAIL_BYTES, TRAILER_BYTES, verify_original,
    verify_rendition,
};
use wakashu_storage::{Object, OpenError, PointerOpening, StorageError, Tail, open_archive};

use crate::deadline::within;

/// What a cached object weighs besides its bytes.
const OVERHEAD_BYTES: u64 = 128;

/// How much of the cache what is in use may take; the rest is for newcomers. Nothing larger is kept.
const HOT_PERCENT: u32 = 97;

/// How long an answer waits for one thing out of storage, whether it fetches it itself or another request does. Longer
/// than storage takes to give up a small read, so that its own reason is what is reported; but whoever waits in line
/// behind a failed read does not wait for a second one.
const PATIENCE: Duration = Duration::from_secs(9);

/// Search columns and originals may be large: for these, the time their bytes need on a slow line as well.
const SLOWEST_BYTES_PER_SECOND: u64 = 1 << 20;

/// Why something could not be read from the archive. For the log; callers outside get a plain sentence.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The storage failed.
    #[error(transparent)]
    Storage(Arc<StorageError>),
    /// The bytes are not what the archive promises.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// Storage did not give it in time, or gave it to nobody.
    #[error("nothing came from storage within {seconds} s")]
    Late {
        /// How long was waited.
        seconds: u64,
    },
    /// The archive was written without this search column.
    #[error("the archive has no such search column")]
    NoColumn,
    /// The search column was built with other keys than this build makes of a query.
    #[error("the search column holds keys {found}, this build makes {KEYS_VERSION}; build and publish again")]
    OtherKeys {
        /// The version of the keys in the column.
        found: u16,
    },
    /// The search column does not fit into the cache, and to fetch it for every search would be too slow.
    #[error("a search column has {bytes} bytes; WAKASHU_CACHE_BYTES must be at least {needed}")]
    ColumnTooLarge {
        /// Size of the column.
        bytes: u64,
        /// Size of the smallest cache that holds it.
        needed: u64,
    },
}

impl From<OpenError> for ReadError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Storage(error) => error.into(),
            OpenError::Archive(error) => error.into(),
        }
    }
}

impl From<StorageError> for ReadError {
    fn from(error: StorageError) -> Self {
        Self::Storage(Arc::new(error))
    }
}

/// An open archive and the way to its bytes.
#[derive(Debug)]
pub struct Index {
    archive: Archive,
    held: Held,
    cache: Arc<ReadCache>,
    is_gone: AtomicBool,
}

/// What the pointer says of an archive before any of it is read.
#[derive(Debug, Clone, Copy)]
pub struct Announced<'a> {
    /// Its digest.
    pub digest: ContentHash,
    /// Its length.
    pub bytes: u64,
    /// How it is opened, if the pointer says.
    pub opening: Option<&'a PointerOpening>,
    /// Whether the opening that the pointer carries will do, without a look at the archive itself. It will when there is
    /// nothing to lose by it: a refresh makes sure that the archive is there before it takes the place of a good one.
    pub trusts_inline: bool,
}

/// Where the archive's bytes are.
#[derive(Debug)]
enum Held {
    /// All in memory: a mapped file, or a small archive fetched whole. Its search columns need no room in the cache.
    Whole { bytes: Bytes, columns: Box<[OnceCell<Column>; 3]> },
    /// In storage, read by range.
    Remote(Arc<dyn Object>),
}

impl Index {
    /// Opens the archive in `object`.
    ///
    /// A remote archive of at most `preload_bytes` is fetched whole, in one read. Of a larger one the end is read, as
    /// much as the pointer says; nothing, if the pointer carries it. `cache` is shared by all remote archives,
    /// so that what two versions have in common is fetched once; a mapped one keeps to a cache of its own,
    /// because its entries hold the map.
    pub async fn open(
        object: Arc<dyn Object>,
        cache: &Arc<ReadCache>,
        preload_bytes: u64,
        announced: Option<Announced<'_>>,
    ) -> Result<Self, ReadError> {
        if let Some(whole) = object.mapped() {
            let cache = Arc::new(ReadCache::new(cache.capacity_bytes));
            return Self::from_whole(whole.clone(), cache);
        }
        if let Some(archive) = announced.as_ref().filter(|known| known.bytes > preload_bytes).and_then(inline)
        {
            return Ok(Self::remote(archive, object, cache));
        }
        let tail = match &announced {
            Some(known) if known.bytes <= preload_bytes => {
                read_end(object.as_ref(), known.bytes, known.bytes).await?
            }
            Some(known) => read_end(object.as_ref(), known.bytes, opening_bytes(known)).await?,
            None => object.tail(TAIL_BYTES).await?,
        };
        if tail.total_length <= preload_bytes {
            let whole = read_rest(object.as_ref(), tail).await?;
            return Self::from_whole(whole, Arc::clone(cache));
        }
        let archive = open_archive(object.as_ref(), tail).await?;
        Ok(Self::remote(archive, object, cache))
    }

    fn remote(archive: Archive, object: Arc<dyn Object>, cache: &Arc<ReadCache>) -> Self {
        let (cache, is_gone) = (Arc::clone(cache), AtomicBool::new(false));
        Self { archive, held: Held::Remote(object), cache, is_gone }
    }

    /// Opens an archive that lies in memory as a whole.
    pub fn from_whole(whole: Bytes, cache: Arc<ReadCache>) -> Result<Self, ReadError> {
        let archive = Archive::open(&*whole)?;
        let held = Held::Whole { bytes: whole, columns: Box::default() };
        Ok(Self { archive, held, cache, is_gone: AtomicBool::new(false) })
    }

    /// Returns the archive's trailer and root.
    #[must_use]
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// Tells whether a read found that the archive is no longer in storage: a newer one was published and this one
    /// pruned, most likely.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Relaxed)
    }

    /// Forgets that a read found nothing; the next one will tell again.
    pub fn look_again(&self) {
        self.is_gone.store(false, Ordering::Relaxed);
    }

    /// Reads from storage, and notices when the archive is not there any more.
    async fn read(&self, object: &dyn Object, span: Span) -> Result<Bytes, StorageError> {
        let read = object.read(span).await;
        if read.as_ref().is_err_and(StorageError::is_not_found) {
            self.is_gone.store(true, Ordering::Relaxed);
        }
        read
    }

    /// Returns a chunk's page, from the cache where it can be had.
    pub async fn page(&self, chunk: &ArchivedChunk) -> Result<PageView, ReadError> {
        let key = chunk.page.hash();
        if let Some(Cached::Page(page)) = self.cache.entries.get(&key) {
            return Ok(page);
        }
        let read = async {
            let bytes = match &self.held {
                // Copied: a page must stay what was validated, whatever happens to the mapped file.
                Held::Whole { bytes: whole, .. } => Bytes::copy_from_slice(part(whole, chunk.page.span())),
                Held::Remote(object) => self.read(object.as_ref(), chunk.page.span()).await?,
            };
            Ok::<_, ReadError>(Cached::Page(self.archive.page(chunk, bytes)?))
        };
        // Boxed, as a miss is rare and its state large.
        match in_time(0, Box::pin(self.cache.entries.get_or_insert_async(&key, read))).await? {
            Cached::Page(page) => Ok(page),
            Cached::Picture(_) | Cached::Column(..) => Err(mixed_up(chunk.page.span())),
        }
    }

    /// Returns the stored base64 of renditions, in order. One that cannot be read fails by itself.
    pub async fn pictures<'a, I>(&'a self, renditions: I) -> Pictures<'a, I::IntoIter>
    where
        I: IntoIterator<Item = &'a ArchivedRendition>,
    {
        let renditions = renditions.into_iter();
        match &self.held {
            Held::Whole { bytes: whole, .. } => Pictures::InMemory { index: self, whole, renditions },
            Held::Remote(object) => {
                let renditions: Vec<_> = renditions.collect();
                let fetching = Box::pin(async { Ok(self.fetch_pictures(object, &renditions).await) });
                let fetched = in_time(0, fetching).await;
                let fetched =
                    fetched.unwrap_or_else(|_| renditions.iter().map(|_| Err(late(PATIENCE))).collect());
                Pictures::Fetched(fetched.into_iter())
            }
        }
    }

    /// Returns the raw bytes of an original; these are served rarely and not cached.
    pub async fn original(&self, rendition: &ArchivedRendition) -> Result<Bytes, ReadError> {
        let bytes = match &self.held {
            Held::Whole { bytes: whole, .. } => slice(whole, rendition.span()),
            Held::Remote(object) => self.read(object.as_ref(), rendition.span()).await?,
        };
        verify_original(rendition, &bytes)?;
        Ok(bytes)
    }

    /// Returns a search column, verified on first use and then kept: a slice of an archive in memory, or fetched from
    /// storage into the cache.
    pub async fn column(&self, name: ColumnName) -> Result<Column, ReadError> {
        let column = self.any_column(name).await?;
        match column.keys_version() {
            KEYS_VERSION => Ok(column),
            found => Err(ReadError::OtherKeys { found }),
        }
    }

    async fn any_column(&self, name: ColumnName) -> Result<Column, ReadError> {
        let reference = self.archive.column(name).ok_or(ReadError::NoColumn)?;
        let open = |bytes| Column::open(&reference, &bytes, self.archive.root().entries.to_native());
        match &self.held {
            Held::Whole { bytes, columns } => {
                let cell = match (columns.as_ref(), name) {
                    ([cell, _, _], ColumnName::Text)
                    | ([_, cell, _], ColumnName::Prompt)
                    | ([_, _, cell], ColumnName::Honka) => cell,
                };
                let opened = cell.get_or_try_init(async || open(slice(bytes, reference.span())));
                Ok(opened.await.cloned()?)
            }
            Held::Remote(object) => {
                let needed = ReadCache::capacity_for(reference.length);
                if needed > self.cache.capacity_bytes {
                    return Err(ReadError::ColumnTooLarge { bytes: reference.length, needed });
                }
                let read = async {
                    let column = open(self.read(object.as_ref(), reference.span()).await?)?;
                    Ok::<_, ReadError>(Cached::Column(column, reference.length))
                };
                let fetched = self.cache.entries.get_or_insert_async(&reference.hash, read);
                match in_time(reference.length, pin!(fetched)).await? {
                    Cached::Column(column, _) => Ok(column),
                    Cached::Page(_) | Cached::Picture(_) => Err(mixed_up(reference.span())),
                }
            }
        }
    }

    fn picture_of(&self, whole: &Bytes, rendition: &ArchivedRendition) -> Result<Bytes, ReadError> {
        let verify = || {
            let stored = slice(whole, rendition.span());
            verify_rendition(rendition, &stored)?;
            Ok::<_, ReadError>(Cached::Picture(Mapped::Shared(stored)))
        };
        match self.cache.entries.get_or_insert_with(&rendition.hash(), verify)? {
            Cached::Picture(stored) => Ok(stored.bytes()),
            Cached::Page(_) | Cached::Column(..) => Err(mixed_up(rendition.span())),
        }
    }

    /// Fetches what the cache lacks: touching spans in one read, the rest concurrently, each only once however
    /// many requests want it.
    async fn fetch_pictures(
        &self,
        object: &Arc<dyn Object>,
        renditions: &[&ArchivedRendition],
    ) -> Vec<Result<Bytes, ReadError>> {
        let mut wanted: BTreeMap<ContentHash, &ArchivedRendition> = BTreeMap::new();
        for rendition in renditions {
            wanted.insert(rendition.hash(), rendition);
        }
        // Places in the cache are taken in the order of the hashes, by everyone: no two requests can wait for
        // each other.
        let mut found: BTreeMap<ContentHash, Bytes> = BTreeMap::new();
        let mut missing = Vec::new();
        for (hash, rendition) in wanted {
            match self.cache.entries.get_value_or_guard_async(&hash).await {
                Ok(Cached::Picture(stored)) => {
                    found.insert(hash, stored.bytes());
                }
                Ok(Cached::Page(_) | Cached::Column(..)) => {}
                Err(place) => missing.push((rendition, place)),
            }
        }
        let merged = merge_touching(missing.iter().map(|(rendition, _)| rendition.span()).collect());
        let reads = merged
            .into_iter()
            .map(|span| async move { (span, self.read(object.as_ref(), span).await.map_err(Arc::new)) });
        let reads = futures_util::future::join_all(reads).await;

        let mut failed: BTreeMap<ContentHash, ReadError> = BTreeMap::new();
        for (rendition, place) in missing {
            let hash = rendition.hash();
            match cut_out(&reads, rendition) {
                Ok(stored) => {
                    found.insert(hash, stored.clone());
                    // A replaced place only means that the cache let go of it in between.
                    let _ = place.insert(Cached::Picture(Mapped::Owned(stored)));
                }
                Err(error) => {
                    failed.insert(hash, error);
                }
            }
        }
        renditions
            .iter()
            .map(|rendition| match found.get(&rendition.hash()) {
                Some(stored) => Ok(stored.clone()),
                None => Err(failed.remove(&rendition.hash()).unwrap_or_else(|| mixed_up(rendition.span()))),
            })
            .collect()
    }
}

/// Pictures in the order they were asked for. Those of an archive in memory are looked up as they are taken.
#[derive(Debug)]
pub enum Pictures<'a, I> {
    /// To be looked up.
    InMemory {
        /// Where.
        index: &'a Index,
        /// The archive's bytes.
        whole: &'a Bytes,
        /// What was asked for.
        renditions: I,
    },
    /// Fetched from storage.
    Fetched(std::vec::IntoIter<Result<Bytes, ReadError>>),
}

impl<'a, I: Iterator<Item = &'a ArchivedRendition>> Iterator for Pictures<'a, I> {
    type Item = Result<Bytes, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::InMemory { index, whole, renditions } => {
                renditions.next().map(|rendition| index.picture_of(whole, rendition))
            }
            Self::Fetched(fetched) => fetched.next(),
        }
    }
}

/// Opens an archive from what its pointer carries. `None` where that does not suffice or is of another archive: then the
/// archive itself is asked.
fn inline(known: &Announced<'_>) -> Option<Archive> {
    let bytes = known.opening.filter(|_| known.trusts_inline)?.inline.clone()?;
    match Opening::from_tail(bytes, known.bytes) {
        Ok(Opening::Ready(archive)) if archive.digest() == known.digest => Some(archive),
        _ => None,
    }
}

/// Returns how much of an archive's end to read: what the pointer says, if that can be.
fn opening_bytes(known: &Announced<'_>) -> u64 {
    let possible = TRAILER_BYTES as u64..=known.bytes.min(MAX_ROOT_BYTES);
    let stated = known.opening.map(|opening| opening.bytes);
    stated.filter(|bytes| possible.contains(bytes)).unwrap_or(TAIL_BYTES)
}

/// Reads the last bytes of an object whose length is known.
async fn read_end(object: &dyn Object, total_length: u64, most: u64) -> Result<Tail, StorageError> {
    let length = most.min(total_length);
    let bytes = object.read(Span { offset: total_length - length, length }).await?;
    Ok(Tail { bytes, total_length })
}

/// Reads what lies before the end of an object, and returns all of it.
async fn read_rest(object: &dyn Object, tail: Tail) -> Result<Bytes, StorageError> {
    let Some(length) = tail.total_length.checked_sub(tail.bytes.len() as u64).filter(|length| *length > 0)
    else {
        return Ok(tail.bytes);
    };
    let mut whole = BytesMut::from(object.read(Span { offset: 0, length }).await?);
    whole.extend_from_slice(&tail.bytes);
    Ok(whole.freeze())
}

/// Gives up on storage after a while; `bytes` are what may take longer than a small read.
async fn in_time<T>(
    bytes: u64,
    reading: impl Future<Output = Result<T, ReadError>> + Unpin,
) -> Result<T, ReadError> {
    let patience = PATIENCE + Duration::from_secs(bytes / SLOWEST_BYTES_PER_SECOND);
    within(patience, reading).await.unwrap_or_else(|| Err(late(patience)))
}

fn late(patience: Duration) -> ReadError {
    ReadError::Late { seconds: patience.as_secs() }
}

/// Finds a rendition's bytes among the reads made for it, and verifies them.
fn cut_out(
    reads: &[(Span, Result<Bytes, Arc<StorageError>>)],
    rendition: &ArchivedRendition,
) -> Result<Bytes, ReadError> {
    let span = rendition.span();
    let read = reads.iter().find(|(read, _)| read.offset <= span.offset && span.end() <= read.end());
    let Some((read_span, bytes)) = read else { return Err(mixed_up(span)) };
    let bytes = bytes.as_ref().map_err(|error| ReadError::Storage(Arc::clone(error)))?;
    let stored = slice(bytes, Span { offset: span.offset - read_span.offset, length: span.length });
    verify_rendition(rendition, &stored)?;
    // Owned by itself, so that a cached picture does not keep its neighbours in memory.
    let stored = if stored.len() == bytes.len() { stored } else { Bytes::copy_from_slice(&stored) };
    Ok(stored)
}

/// Joins spans that touch; the order of the result is by offset.
fn merge_touching(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable();
    spans.dedup();
    let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match merged.last_mut() {
            Some(last) if last.end() == span.offset => last.length += span.length,
            _ => merged.push(span),
        }
    }
    merged
}

/// The error for bytes that are not where their reference says; hashes make it impossible for honest archives.
fn mixed_up(span: Span) -> ReadError {
    ReadError::Archive(ArchiveError::Damaged {
        part: Part::Picture,
        offset: span.offset,
        damage: wakashu_archive::Damage::Rule("one hash names two different things"),
    })
}

fn part(whole: &Bytes, span: Span) -> &[u8] {
    let bounds = usize::try_from(span.offset).ok().zip(usize::try_from(span.end()).ok());
    bounds.and_then(|(start, end)| whole.get(start..end)).unwrap_or_default()
}

fn slice(whole: &Bytes, span: Span) -> Bytes {
    whole.slice_ref(part(whole, span))
}

/// What the cache holds: verified things, named by their hash.
#[derive(Debug, Clone)]
enum Cached {
    Page(PageView),
    Picture(Mapped),
    /// With its size.
    Column(Column, u64),
}

/// A picture's bytes, and whether holding them costs memory.
#[derive(Debug, Clone)]
enum Mapped {
    /// A part of a map or of a preloaded archive.
    Shared(Bytes),
    /// Fetched for itself.
    Owned(Bytes),
}

impl Mapped {
    fn bytes(self) -> Bytes {
        match self {
            Self::Shared(bytes) | Self::Owned(bytes) => bytes,
        }
    }
}

#[derive(Debug, Clone)]
struct Weight;

impl Weighter<ContentHash, Cached> for Weight {
    fn weight(&self, _: &ContentHash, value: &Cached) -> u64 {
        OVERHEAD_BYTES
            + match value {
                Cached::Page(page) => page.byte_length() as u64,
                Cached::Picture(Mapped::Owned(bytes)) => bytes.len() as u64,
                Cached::Picture(Mapped::Shared(_)) => 0,
                Cached::Column(_, bytes) => *bytes,
            }
    }
}

/// Takes the first bytes of a content hash as its hash: they are as random as any.
#[derive(Debug, Default)]
struct HashOfHash(u64);

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

/// A cache of pages, pictures and search columns, bounded in bytes.
pub struct ReadCache {
    entries: Cache<ContentHash, Cached, Weight, BuildHasherDefault<HashOfHash>>,
    capacity_bytes: u64,
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
        // One shard: each would take its share of the capacity, and a search column must fit into one.
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
        Self { entries, capacity_bytes }
    }

    /// Returns how large a cache must be to keep something of `bytes`: the hot share must hold it.
    fn capacity_for(bytes: u64) -> u64 {
        (bytes + OVERHEAD_BYTES).saturating_mul(100).div_ceil(u64::from(HOT_PERCENT))
    }

    /// Returns how many bytes the cache holds now.
    #[must_use]
    pub fn weight_bytes(&self) -> u64 {
        self.entries.weight()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touching_spans_merge_and_others_stay_apart() {
        let span = |offset, length| Span { offset, length };
        let merged = merge_touching(vec![span(30, 5), span(10, 10), span(20, 5), span(10, 10)]);
        assert_eq!(merged, [span(10, 15), span(30, 5)]);
    }
}
