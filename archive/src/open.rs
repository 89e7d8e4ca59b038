//! Opening an archive: which bytes are needed, one read after the other.
//!
//! [`Opening`] is the one way in. It does no reading of its own: any program that can fetch bytes, in whatever way, drives
//! it. [`Archive::open`] is the driver for sources that are read on the spot, a file or memory.

use bytes::{Bytes, BytesMut};

use crate::error::{ArchiveError, Damage, Part};
use crate::limits::MAX_ROOT_BYTES;
use crate::model::{Reference, Span};
use crate::reader::Archive;
use crate::table::{SectionKind, SectionTable};
use crate::trailer::{HEAD_MAGIC, TAIL_BYTES, TRAILER_BYTES, Trailer};

/// How far the opening of an archive has come.
#[derive(Debug)]
pub enum Opening {
    /// The archive is open.
    Ready(Archive),
    /// More bytes are needed.
    Needs(Missing),
}

/// The bytes that an opening needs next.
#[derive(Debug)]
pub struct Missing {
    span: Span,
    file_length: u64,
    then: Then,
}

/// What the missing bytes are for.
#[derive(Debug)]
enum Then {
    /// They tell what a file without a trailer is.
    Explain,
    /// They lie right before this end of the file.
    Before(Bytes),
    /// They are the root, which lies apart from the end of the file.
    Root(Trailer, SectionTable),
}

/// A source of bytes that is read on the spot.
pub trait ReadAt {
    /// Why reading or opening failed.
    type Error: From<ArchiveError>;

    /// Returns the length of the whole.
    fn length(&self) -> u64;

    /// Reads a span, which lies inside the whole.
    fn read_at(&self, span: Span) -> Result<Bytes, Self::Error>;
}

impl ReadAt for [u8] {
    type Error = ArchiveError;

    fn length(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, span: Span) -> Result<Bytes, ArchiveError> {
        let range = usize::try_from(span.offset).ok().zip(usize::try_from(span.end()).ok());
        let part = range.and_then(|(start, end)| self.get(start..end));
        let found = self.len() as u64;
        part.map(Bytes::copy_from_slice).ok_or(ArchiveError::CutShort { declared: Some(span.end()), found })
    }
}

impl Archive {
    /// Opens an archive: reads its end, and its root where that is longer.
    pub fn open<R: ReadAt + ?Sized>(source: &R) -> Result<Self, R::Error> {
        let file_length = source.length();
        let length = file_length.min(TAIL_BYTES);
        let tail = source.read_at(Span { offset: file_length - length, length })?;
        let mut opening = Opening::from_tail(tail, file_length)?;
        loop {
            match opening {
                Opening::Ready(archive) => return Ok(archive),
                Opening::Needs(missing) => {
                    let bytes = source.read_at(missing.span())?;
                    opening = missing.supply(&bytes)?;
                }
            }
        }
    }
}

impl Opening {
    /// Begins with the last bytes of a file, as many as the caller has: [`TAIL_BYTES`], or what it knows to suffice.
    pub fn from_tail(tail: Bytes, file_length: u64) -> Result<Self, ArchiveError> {
        let tail_from = file_length.saturating_sub(tail.len() as u64);
        // Reads again from `offset`, which lies before the tail, up to it.
        let before = |offset: u64, tail: Bytes| {
            let span = Span { offset, length: tail_from - offset };
            Ok(Self::Needs(Missing { span, file_length, then: Then::Before(tail) }))
        };
        let trailer_from = file_length.saturating_sub(TRAILER_BYTES as u64);
        if trailer_from < tail_from {
            return before(trailer_from, tail);
        }
        let trailer = match Trailer::decode(&tail, file_length) {
            Err(ArchiveError::NotAnArchive { .. }) if tail_from > 0 => {
                let span = Span { offset: 0, length: file_length.min(HEAD_MAGIC.len() as u64) };
                return Ok(Self::Needs(Missing { span, file_length, then: Then::Explain }));
            }
            Err(ArchiveError::NotAnArchive { .. }) => {
                return Err(Trailer::explain_missing(&tail, file_length));
            }
            trailer => trailer?,
        };
        let Some(table) = within(&tail, tail_from, trailer.table().span()) else {
            return before(trailer.table().offset, tail);
        };
        let table = SectionTable::decode(&trailer, table)?;
        let root = root_of(&table)?;
        // An empty root is refused where roots are, without asking anyone for no bytes.
        let held = if root.length == 0 { Some(&[][..]) } else { within(&tail, tail_from, root.span()) };
        if let Some(bytes) = held {
            // Copied: the tail may be much longer than the root, which outlives it.
            let bytes = Bytes::copy_from_slice(bytes);
            return Archive::new(trailer, table, bytes).map(Self::Ready);
        }
        if root.span().end() >= tail_from {
            return before(root.offset, tail);
        }
        let (span, then) = (root.span(), Then::Root(trailer, table));
        Ok(Self::Needs(Missing { span, file_length, then }))
    }
}

impl Missing {
    /// Returns where the bytes lie: inside the file, and at most as many as the format allows a root to have.
    #[must_use]
    pub fn span(&self) -> Span {
        self.span
    }

    /// Goes on with the bytes of [`span`](Self::span).
    pub fn supply(self, bytes: &Bytes) -> Result<Opening, ArchiveError> {
        let (expected, found) = (self.span.length, bytes.len() as u64);
        if found != expected {
            let damage = Damage::Length { expected, found };
            return Err(ArchiveError::Damaged { part: Part::Root, offset: self.span.offset, damage });
        }
        match self.then {
            Then::Explain => Err(Trailer::explain_missing(bytes, self.file_length)),
            Then::Before(tail) => {
                let mut longer = BytesMut::with_capacity(bytes.len() + tail.len());
                longer.extend_from_slice(bytes);
                longer.extend_from_slice(&tail);
                Opening::from_tail(longer.freeze(), self.file_length)
            }
            Then::Root(trailer, table) => Archive::new(trailer, table, bytes.clone()).map(Opening::Ready),
        }
    }
}

/// Returns where the root lies, refused here if it is too long to be read.
fn root_of(table: &SectionTable) -> Result<Reference, ArchiveError> {
    let root = table.find(SectionKind::ROOT);
    // A decoded table names a root.
    let root = root.ok_or(ArchiveError::rule(Part::Table, 0, "no root is named"))?;
    if root.length > MAX_ROOT_BYTES {
        return Err(ArchiveError::rule(Part::Root, root.offset, "larger than the format allows"));
    }
    Ok(root)
}

/// Returns the part of the file's end, which begins at `tail_from`, that `span` names.
fn within(tail: &[u8], tail_from: u64, span: Span) -> Option<&[u8]> {
    let start = usize::try_from(span.offset.checked_sub(tail_from)?).ok()?;
    let end = usize::try_from(span.end().checked_sub(tail_from)?).ok()?;
    tail.get(start..end)
}
