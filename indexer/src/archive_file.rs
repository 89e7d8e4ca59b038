//! An archive as a file on disk, read piece by piece.

use std::io;
use std::path::Path;

use bytes::Bytes;
use wakashu_archive::{
    Archive, ArchiveError, ArchivedChunk, ArchivedRendition, ContentHash, PageView, ReadAt, Span,
};
use wakashu_storage::LocalFile;

use crate::problem::printable_path;

/// An open archive file. Safe to share between threads: every read names its place.
#[derive(Debug)]
pub struct ArchiveFile(LocalFile);

/// Why a piece of an archive file could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file could not be read.
    #[error("could not read `{path}`")]
    Io {
        /// Which file.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The bytes are not an archive's.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
}

impl ArchiveFile {
    /// Opens a file; nothing is said yet about what is in it.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        LocalFile::open(path).map(Self).map_err(|source| ReadError::Io { path: printable_path(path), source })
    }

    /// Returns the file's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Returns the file's length.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.0.length()
    }

    /// Reads and verifies the page of a chunk.
    pub fn page(&self, archive: &Archive, chunk: &ArchivedChunk) -> Result<PageView, ReadError> {
        Ok(archive.page(chunk, self.read(chunk.page.span())?)?)
    }

    /// Reads the stored bytes of a rendition, unverified.
    pub fn stored(&self, rendition: &ArchivedRendition) -> Result<Bytes, ReadError> {
        self.read(rendition.span())
    }

    /// Returns the hash of a span, however long it is.
    pub(crate) fn hash(&self, span: Span) -> Result<ContentHash, ReadError> {
        const BLOCK_BYTES: u64 = 1 << 20;
        let mut hasher = blake3::Hasher::new();
        let mut offset = span.offset;
        while offset < span.end() {
            let length = BLOCK_BYTES.min(span.end() - offset);
            hasher.update(&self.read(Span { offset, length })?);
            offset += length;
        }
        Ok(ContentHash(*hasher.finalize().as_bytes()))
    }

    /// Reads a span into owned memory. Its length is held against the file's before anything is allocated.
    pub fn read(&self, span: Span) -> Result<Bytes, ReadError> {
        let failed = |source| ReadError::Io { path: printable_path(self.path()), source };
        self.0.read_exact(span).map_err(failed)
    }
}

impl ReadAt for ArchiveFile {
    type Error = ReadError;

    fn length(&self) -> u64 {
        self.0.length()
    }

    fn read_at(&self, span: Span) -> Result<Bytes, ReadError> {
        self.read(span)
    }
}
