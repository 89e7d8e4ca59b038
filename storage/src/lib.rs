//! Where wakashu archives live: a folder, an S3 bucket or any host of static files.
//!
//! [`Location`] reads an address (`s3://bucket/prefix`, `https://host/path`, `file:///srv/poems`, a path) and opens the [`ReadStore`]
//! behind it, or the [`Store`] where it can be written. A store holds immutable archives, each named by its digest, and one small [`Pointer`] that says
//! which of them is served. [`publish`], [`rollback`] and [`history`] work on that layout; readers take the
//! pointer with [`Pointer::read`] and the archive with [`ReadStore::object`].
//!
//! Nothing here prints, and nothing here decides what a client may see: errors name buckets and paths and are
//! meant for the operator.

mod changes;
mod error;
mod file;
mod folder;
#[cfg(feature = "https")]
mod https;
mod key;
mod location;
mod open;
mod pointer;
mod publish;
mod reach;
#[cfg(feature = "s3")]
mod s3;
mod storage;
mod temporary;
mod timestamp;
mod web_address;

pub use changes::{Changes, Counts};
pub use error::StorageError;
pub use file::{FileMark, LocalFile};
pub use folder::Folder;
#[cfg(feature = "https")]
pub use https::WebHost;
pub use key::check_key;
pub use location::{Location, LocationError, Place};
pub use open::{OpenError, open_archive};
pub use pointer::{
    ARCHIVES_PREFIX, MAX_INLINE_BYTES, MAX_NOTE_CHARACTERS, POINTER_KEY, Pointer, PointerOpening, Version,
    archive_key, digest_of_key,
};
pub use publish::{
    ArchiveWrite, PRUNE_AGE, PublishOptions, PublishOutcome, RollbackOutcome, history, publish, publish_file,
    rollback,
};
#[cfg(feature = "s3")]
pub use s3::{Bucket, Keys, S3Settings};
pub use storage::{
    BoxFuture, Etag, Fetched, MAX_SMALL_BYTES, Object, ObjectInfo, Progress, PutOutcome, ReadStore, Source,
    Store, Tail,
};
pub use temporary::{TemporaryFile, folder_of, spool_in};
pub use timestamp::{ParseTimestampError, Timestamp};
pub use web_address::WebAddress;
