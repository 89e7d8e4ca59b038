//! An open archive: how it is opened, and where its bytes come from.

use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use bytes::{Bytes, BytesMut};
use wakashu_archive::{
    Archive, ArchiveError, ContentHash, Damage, KEYS_VERSION, MAX_ROOT_BYTES, Opening, Span, TAIL_BYTES,
    TRAILER_BYTES,
};
use wakashu_pages::Collection;
use wakashu_storage::{Object, OpenError, PointerOpening, StorageError, Tail, Timestamp, open_archive};

use crate::observe::detail::Detail;
use crate::served::cache::ReadCache;
use crate::served::columns::Columns;

/// Why something could not be read from the archive. For the log; callers outside get a plain sentence.
#[derive(Debug, Clone, thiserror::Error)]
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
    /// The search columns would take more memory than they may.
    #[error("the search columns in use take {needed} bytes; WAKASHU_SEARCH_BYTES must be at least that")]
    ColumnTooLarge {
        /// What this column takes, together with those that are in memory already.
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

impl ReadError {
    /// Tells whether there is nothing of that name.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self, Self::Storage(error) if error.is_not_found())
    }

    /// Tells whether the bytes that storage gives are not those the archive is made of. A storage that fails says
    /// nothing of them, and neither does an archive that was written wrongly.
    fn is_damage(&self) -> bool {
        match self {
            Self::Storage(error) => matches!(
                **error,
                StorageError::ShortRead { .. }
                    | StorageError::TooLarge { .. }
                    | StorageError::OtherLength { .. }
            ),
            Self::Archive(ArchiveError::Damaged { damage, .. }) => {
                matches!(damage, Damage::Hash { .. } | Damage::Length { .. })
            }
            _ => false,
        }
    }
}

/// An open archive and the way to its bytes. Requests read it through a [`Reading`](crate::Reading) of their own.
#[derive(Debug)]
pub struct Index {
    archive: Archive,
    pub(super) object: Arc<dyn Object>,
    /// All of it, where it was small enough to be fetched at once.
    preloaded: Option<Bytes>,
    pub(super) cache: Arc<ReadCache>,
    pub(super) columns: Columns,
    /// As pages show it; made for the first of them.
    collection: OnceLock<Collection>,
    doubt: OnceLock<Doubt>,
}

/// A part of the archive that was found damaged.
#[derive(Debug)]
pub(super) struct Doubt {
    since: Timestamp,
    span: Span,
    hash: ContentHash,
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

impl Index {
    /// Opens the archive in `object`, wherever that is.
    ///
    /// One that is not near and has at most `preload_bytes` is fetched whole, in one read. Of a larger one the end is read, as much as
    /// the pointer says; nothing, if the pointer carries it.
    pub async fn open(
        object: Arc<dyn Object>,
        cache: &Arc<ReadCache>,
        preload_bytes: u64,
        announced: Option<Announced<'_>>,
    ) -> Result<Self, ReadError> {
        let preload_bytes = if object.is_near() { 0 } else { preload_bytes };
        if let Some(archive) = announced.as_ref().filter(|known| known.bytes > preload_bytes).and_then(inline)
        {
            return Ok(Self::new(archive, object, None, cache));
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
            return Ok(Self::new(Archive::open(&*whole)?, object, Some(whole), cache));
        }
        let archive = open_archive(object.as_ref(), tail).await?;
        Ok(Self::new(archive, object, None, cache))
    }

    fn new(
        archive: Archive,
        object: Arc<dyn Object>,
        preloaded: Option<Bytes>,
        cache: &Arc<ReadCache>,
    ) -> Self {
        let (cache, columns) = (Arc::clone(cache), Columns::default());
        let (collection, doubt) = (OnceLock::new(), OnceLock::new());
        Self { archive, object, preloaded, cache, columns, collection, doubt }
    }

    /// Returns the archive's trailer and root.
    #[must_use]
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// Returns the archive as pages show it.
    pub(crate) fn collection(&self) -> &Collection {
        self.collection.get_or_init(|| Collection::new(self.archive.clone()))
    }

    /// Returns a part of what was fetched at the start. Nobody has looked at it yet.
    pub(super) fn preloaded(&self, span: Span) -> Option<Bytes> {
        self.preloaded.as_ref().map(|whole| slice(whole, span))
    }

    /// Remembers that a part was found damaged, if that is what the error says.
    pub(super) fn noticed(&self, span: Span, hash: ContentHash, error: ReadError) -> ReadError {
        let doubt = || Doubt { since: SystemTime::now().into(), span, hash };
        if error.is_damage() && self.doubt.set(doubt()).is_ok() {
            tracing::warn!(
                detail = Detail::of(&error).for_log(),
                "the archive is not as it was when it was opened"
            );
            self.cache.doubted.notify_one();
        }
        error
    }

    /// Returns since when a part of the archive is known to be damaged, if one is.
    #[must_use]
    pub fn doubted_since(&self) -> Option<Timestamp> {
        self.doubt.get().map(|doubt| doubt.since)
    }

    /// Tells whether there is a reason to open the archive anew: a part of it was found damaged, or it was written to.
    pub(super) fn is_doubtful(&self) -> bool {
        self.doubt.get().is_some() || self.object.has_changed()
    }

    /// Tells whether the part that was found damaged in `other` is sound here.
    pub(super) async fn is_sounder_than(&self, other: &Self) -> Result<bool, ReadError> {
        let Some(doubt) = other.doubt.get() else { return Ok(true) };
        let bytes = self.object.read(doubt.span).await?;
        Ok(ContentHash::of(&bytes) == doubt.hash)
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

/// Returns the part of `whole` that a span names; empty if the span lies outside.
pub(super) fn slice(whole: &Bytes, span: Span) -> Bytes {
    let bounds = usize::try_from(span.offset).ok().zip(usize::try_from(span.end()).ok());
    let part = bounds.and_then(|(start, end)| whole.get(start..end)).unwrap_or_default();
    whole.slice_ref(part)
}
