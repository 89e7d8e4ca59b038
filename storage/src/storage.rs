//! The traits: a place whose objects can be read, one that can be written too, and one object being read.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use wakashu_archive::Span;

use crate::error::StorageError;
use crate::file::LocalFile;

/// Most bytes of an object read or written whole by [`ReadStore::get_if_changed`] and
/// [`Store::compare_and_swap`].
pub const MAX_SMALL_BYTES: u64 = 1 << 20;

/// A future that can be sent between threads, as the traits return it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A place whose objects can be read: a folder, a bucket prefix or a part of a web host.
///
/// Keys are relative names separated by `/`; [`check_key`](crate::check_key) says which are accepted.
pub trait ReadStore: Send + Sync + fmt::Debug {
    /// Names an object for reading. A folder opens the file here; a remote store asks nothing until the first read, so
    /// that a missing object may show only then.
    ///
    /// `length` is how long the object must be, where the pointer or someone else has said so. A store that finds
    /// another length answers with [`StorageError::OtherLength`].
    fn object<'a>(
        &'a self,
        key: &'a str,
        length: Option<u64>,
    ) -> BoxFuture<'a, Result<Arc<dyn Object>, StorageError>>;

    /// Reads a small object whole, unless it is still the one `known` names.
    fn get_if_changed<'a>(
        &'a self,
        key: &'a str,
        known: Option<&'a Etag>,
    ) -> BoxFuture<'a, Result<Fetched, StorageError>>;

    /// Reads a small object whole, and asks caches on the way not to answer from what they keep. Some do all the same.
    fn get_past_caches<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Fetched, StorageError>> {
        self.get_if_changed(key, None)
    }

    /// Names the place, for the operator's eyes.
    fn describe(&self) -> String;
}

/// A place that can be written, too: a folder or a bucket prefix.
pub trait Store: ReadStore {
    /// Creates an object, or leaves the one that is there untouched. Readers see all of it or nothing.
    fn put_if_absent<'a>(
        &'a self,
        key: &'a str,
        source: Source,
        progress: &'a Progress,
    ) -> BoxFuture<'a, Result<PutOutcome, StorageError>>;

    /// Replaces a small object if it is still the one `expected` names, or creates it if `expected` is none
    /// and it is still absent. [`StorageError::Changed`] when someone else was faster.
    fn compare_and_swap<'a>(
        &'a self,
        key: &'a str,
        bytes: Bytes,
        expected: Option<&'a Etag>,
    ) -> BoxFuture<'a, Result<Etag, StorageError>>;

    /// Lists the objects directly below `prefix`, which is empty or ends in `/`, by key.
    fn list<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<ObjectInfo>, StorageError>>;

    /// Removes an object; one that is not there is not an error.
    fn delete<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), StorageError>>;
}

/// One immutable object being read.
pub trait Object: Send + Sync + fmt::Debug {
    /// Reads the last `most` bytes, or all of a shorter object.
    fn tail(&self, most: u64) -> BoxFuture<'_, Result<Tail, StorageError>>;

    /// Reads a span. Fewer bytes than asked for is an error.
    fn read(&self, span: Span) -> BoxFuture<'_, Result<Bytes, StorageError>>;

    /// Tells whether a read costs little besides its bytes. Then nothing is fetched ahead, and what touches is not read
    /// together: it would have to be taken apart again.
    fn is_near(&self) -> bool {
        false
    }

    /// Tells whether the object was written to since it was opened, where that can be known without reading. Objects
    /// are immutable, but nothing stops a person from editing a file.
    fn has_changed(&self) -> bool {
        false
    }
}

/// What an object is made from.
#[derive(Debug, Clone)]
pub enum Source {
    /// Bytes in memory.
    Bytes(Bytes),
    /// A file, read piece by piece as it is written.
    File(LocalFile),
}

impl Source {
    /// Returns the length of the whole.
    #[must_use]
    pub fn length(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File(file) => file.length(),
        }
    }

    /// Reads a span, which lies inside the whole.
    pub(crate) fn read_blocking(&self, span: Span) -> Result<Bytes, StorageError> {
        match self {
            Self::Bytes(bytes) => {
                let at = |place: u64| usize::try_from(place).unwrap_or(usize::MAX).min(bytes.len());
                Ok(bytes.slice(at(span.offset)..at(span.end())))
            }
            Self::File(file) => file.read_blocking(span),
        }
    }
}

impl<T: Into<Bytes>> From<T> for Source {
    fn from(bytes: T) -> Self {
        Self::Bytes(bytes.into())
    }
}

/// The end of an object.
#[derive(Debug, Clone)]
pub struct Tail {
    /// The last bytes.
    pub bytes: Bytes,
    /// Length of the whole object.
    pub total_length: u64,
}

/// The mark of one state of an object: equal marks, equal bytes. Opaque.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Etag(pub(crate) String);

impl Etag {
    /// Wraps a storage's own mark.
    #[must_use]
    pub fn new(mark: impl Into<String>) -> Self {
        Self(mark.into())
    }
}

/// What a conditional read found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fetched<T = Bytes> {
    /// Still the state already known.
    Unchanged,
    /// No such object.
    Missing,
    /// Another state than the one known.
    Changed {
        /// What it holds.
        value: T,
        /// Its mark.
        etag: Etag,
    },
}

/// What creating an object led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutOutcome {
    /// The object was written.
    Created,
    /// An object of that name was there and stays as it is.
    AlreadyThere,
}

/// One line of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectInfo {
    /// The object's key, relative to the storage.
    pub key: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// When it was written, by the storage's clock.
    pub modified: SystemTime,
}

/// Hears how many bytes of an upload are written. May be called from any thread; never goes backwards except
/// when an upload starts anew.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<dyn Fn(u64) + Send + Sync>>);

impl Progress {
    /// Calls `hear` with the number of bytes written so far.
    pub fn new(hear: impl Fn(u64) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(hear)))
    }

    /// Ignores all reports.
    #[must_use]
    pub fn silent() -> Self {
        Self(None)
    }

    pub(crate) fn report(&self, bytes_written: u64) {
        if let Some(hear) = &self.0 {
            hear(bytes_written);
        }
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Progress(heard)" } else { "Progress(silent)" })
    }
}
