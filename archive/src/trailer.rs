//! The fixed-size end of the file: what this is, how long it is, where the section table lies.

use crate::error::{ArchiveError, Damage, Part};
use crate::hash::ContentHash;
use crate::limits::MAX_SECTIONS;
use crate::model::{Reference, Span};
use crate::table::ROW_BYTES;

/// The format version this build writes, and the newest it reads.
pub const VERSION: u16 = 2;

/// Length of the trailer in bytes.
pub const TRAILER_BYTES: usize = 64;

/// How much of the end of a file an opening read asks for where nothing is known of the file.
pub const TAIL_BYTES: u64 = 64 * 1024;

/// The first eight bytes of every archive. The line ends in it expose text-mode transfers.
pub const HEAD_MAGIC: [u8; 8] = *b"\x89WKSHU\r\n";

/// The last eight bytes of every archive.
const TAIL_MAGIC: [u8; 8] = *b"WAKASHU\n";

const OLDEST_READABLE: u16 = 2;

/// The end of the file, decoded. Version and digest are those of the bytes that were read, whatever this build writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trailer {
    version: u16,
    digest: ContentHash,
    total_length: u64,
    table: Reference,
}

impl Trailer {
    /// Reads the trailer from the last bytes of a file that is `file_length` bytes long.
    ///
    /// The checks run in the order magic, version, length. A file without the closing mark is
    /// [`NotAnArchive`](ArchiveError::NotAnArchive) here; [`Trailer::explain_missing`] tells a foreign file from
    /// one cut short, given the file's first bytes.
    pub fn decode(tail: &[u8], file_length: u64) -> Result<Self, ArchiveError> {
        let missing = ArchiveError::NotAnArchive { found: file_length };
        let Some(bytes) = tail.last_chunk::<TRAILER_BYTES>() else { return Err(missing) };
        let (length, rest) = split::<8>(bytes);
        let (table_bytes, rest) = split::<4>(rest);
        let (reserved, rest) = split::<4>(rest);
        let (table_hash, rest) = split::<32>(rest);
        let (more_reserved, rest) = split::<6>(rest);
        let (version, magic) = split::<2>(rest);
        if magic != TAIL_MAGIC {
            return Err(missing);
        }
        let version = u16::from_le_bytes(version);
        if version < OLDEST_READABLE {
            return Err(ArchiveError::TooOld { found: version, oldest: OLDEST_READABLE });
        }
        if version > VERSION {
            return Err(ArchiveError::TooNew { found: version, newest: VERSION });
        }
        let total_length = u64::from_le_bytes(length);
        if total_length != file_length {
            return Err(ArchiveError::CutShort { declared: Some(total_length), found: file_length });
        }
        let at = file_length.saturating_sub(TRAILER_BYTES as u64);
        let broken =
            |rule| ArchiveError::Damaged { part: Part::Trailer, offset: at, damage: Damage::Rule(rule) };
        if reserved != [0; 4] || more_reserved != [0; 6] {
            return Err(broken("reserved bytes are not zero"));
        }
        let table_bytes = u64::from(u32::from_le_bytes(table_bytes));
        if table_bytes > (MAX_SECTIONS * ROW_BYTES) as u64 || table_bytes % ROW_BYTES as u64 != 0 {
            return Err(broken("the section table has an impossible length"));
        }
        let Some(offset) = at.checked_sub(table_bytes).filter(|offset| *offset >= HEAD_MAGIC.len() as u64)
        else {
            return Err(broken("the section table leaves the file"));
        };
        let table = Reference { offset, length: table_bytes, hash: ContentHash(table_hash) };
        Ok(Self { version, digest: ContentHash::of(bytes), total_length, table })
    }

    /// Returns the trailer's bytes for a file of `total_length` bytes, trailer included, whose section table is `table`.
    #[must_use]
    pub fn encode(total_length: u64, table: &[u8]) -> [u8; TRAILER_BYTES] {
        let mut bytes = Vec::with_capacity(TRAILER_BYTES);
        bytes.extend_from_slice(&total_length.to_le_bytes());
        bytes.extend_from_slice(&u32::try_from(table.len()).unwrap_or(u32::MAX).to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&ContentHash::of(table).0);
        bytes.extend_from_slice(&[0; 6]);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&TAIL_MAGIC);
        bytes.first_chunk().copied().unwrap_or([0; TRAILER_BYTES])
    }

    /// Explains a missing trailer, given the first bytes of the file: cut short if it begins as an archive
    /// does, foreign otherwise.
    #[must_use]
    pub fn explain_missing(head: &[u8], file_length: u64) -> ArchiveError {
        let known = head.len().min(HEAD_MAGIC.len());
        if known > 0 && head.get(..known) == HEAD_MAGIC.get(..known) {
            ArchiveError::CutShort { declared: None, found: file_length }
        } else {
            ArchiveError::NotAnArchive { found: file_length }
        }
    }

    /// Checks the mark at the start of the file; only a deep check reads that far.
    pub fn check_head(head: &[u8]) -> Result<(), ArchiveError> {
        if head.get(..HEAD_MAGIC.len()) == Some(&HEAD_MAGIC) {
            Ok(())
        } else {
            Err(ArchiveError::rule(Part::Head, 0, "the opening mark is not an archive's"))
        }
    }

    /// Returns the format version of the file.
    #[must_use]
    pub fn version(&self) -> u16 {
        self.version
    }

    /// Returns the archive's digest: the hash of the trailer as it was read, which names everything else.
    #[must_use]
    pub fn digest(&self) -> ContentHash {
        self.digest
    }

    /// Returns the length of the whole file.
    #[must_use]
    pub fn total_length(&self) -> u64 {
        self.total_length
    }

    /// Returns where the section table lies: right before the trailer.
    #[must_use]
    pub fn table(&self) -> &Reference {
        &self.table
    }

    /// Returns the span of the trailer itself.
    #[must_use]
    pub fn span(&self) -> Span {
        let length = TRAILER_BYTES as u64;
        Span { offset: self.total_length.saturating_sub(length), length }
    }
}

/// Splits the first `N` bytes off; zeros where there are too few, which the fixed length of a trailer and of a row rules out.
pub(crate) fn split<const N: usize>(bytes: &[u8]) -> ([u8; N], &[u8]) {
    bytes.split_first_chunk().map_or(([0; N], &[]), |(first, rest)| (*first, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trailer_reads_back() {
        let table = [7; 2 * ROW_BYTES];
        let bytes = Trailer::encode(364, &table);
        let trailer = Trailer::decode(&bytes, 364).unwrap();
        assert_eq!((trailer.version(), trailer.total_length()), (VERSION, 364));
        assert_eq!(trailer.digest(), ContentHash::of(&bytes));
        let expected = Reference { offset: 364 - 64 - 112, length: 112, hash: ContentHash::of(&table) };
        assert_eq!(trailer.table(), &expected);
    }

    #[test]
    fn magic_comes_before_version_before_length() {
        let mut bytes = Trailer::encode(364, &[]);
        assert_eq!(
            Trailer::decode(&bytes, 365),
            Err(ArchiveError::CutShort { declared: Some(364), found: 365 })
        );
        bytes[54] = 3;
        assert_eq!(Trailer::decode(&bytes, 365), Err(ArchiveError::TooNew { found: 3, newest: 2 }));
        bytes[54] = 1;
        assert_eq!(Trailer::decode(&bytes, 365), Err(ArchiveError::TooOld { found: 1, oldest: 2 }));
        bytes[56] = b'X';
        assert_eq!(Trailer::decode(&bytes, 365), Err(ArchiveError::NotAnArchive { found: 365 }));
    }

    #[test]
    fn a_table_that_cannot_be_is_refused_before_it_is_read() {
        for (table_bytes, says) in [
            (55_u32, "impossible length"),
            (65 * 56, "impossible length"),
            (u32::MAX, "impossible length"),
            (64 * 56, "leaves the file"),
            (6 * 56, "leaves the file"),
        ] {
            let mut bytes = Trailer::encode(364, &[]);
            bytes[8..12].copy_from_slice(&table_bytes.to_le_bytes());
            let refused = Trailer::decode(&bytes, 364).unwrap_err().to_string();
            assert!(refused.contains(says), "{table_bytes}: {refused}");
        }
        for at in [12, 15, 48, 53] {
            let mut bytes = Trailer::encode(364, &[]);
            bytes[at] = 1;
            let refused = Trailer::decode(&bytes, 364).unwrap_err().to_string();
            assert!(refused.contains("reserved"), "byte {at}: {refused}");
        }
    }

    #[test]
    fn a_lost_trailer_is_told_from_a_foreign_file() {
        assert_eq!(
            Trailer::explain_missing(&HEAD_MAGIC, 99),
            ArchiveError::CutShort { declared: None, found: 99 }
        );
        assert_eq!(Trailer::explain_missing(b"PK\x03\x04", 99), ArchiveError::NotAnArchive { found: 99 });
        assert_eq!(Trailer::explain_missing(b"", 0), ArchiveError::NotAnArchive { found: 0 });
    }
}
