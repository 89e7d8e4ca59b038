//! The fixed-size end of the file: what this is, how long it is, where the rest lies.

use crate::error::{ArchiveError, Damage, Section};
use crate::hash::ContentHash;
use crate::model::{Reference, Span};

/// The format version this build writes and the only one it reads.
pub const VERSION: u16 = 1;

/// Length of the trailer in bytes.
pub const TRAILER_BYTES: usize = 256;

/// How much of the end of a file one opening read asks for.
pub const TAIL_BYTES: u64 = 64 * 1024;

/// The first eight bytes of every archive. The line ends in it expose text-mode transfers.
pub const HEAD_MAGIC: [u8; 8] = *b"\x89WKSHU\r\n";

/// The last eight bytes of every archive.
const TAIL_MAGIC: [u8; 8] = *b"WAKASHU\n";

const OLDEST_READABLE: u16 = 1;
const REFERENCE_BYTES: usize = 48;
const REFERENCES_AT: usize = 8;
const RESERVED_AT: usize = REFERENCES_AT + 4 * REFERENCE_BYTES;
const VERSION_AT: usize = TRAILER_BYTES - 10;
const MAGIC_AT: usize = TRAILER_BYTES - 8;

/// The end of the file, decoded. Its own hash is the archive's digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trailer {
    /// Length of the whole file.
    pub total_length: u64,
    /// The [`Root`](crate::Root).
    pub root: Reference,
    /// Search column of poems, readings and accounts.
    pub text_column: Option<Reference>,
    /// Search column of prompts.
    pub prompt_column: Option<Reference>,
    /// Search column of honka URLs.
    pub honka_column: Option<Reference>,
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
        let [.., version_low, version_high, _, _, _, _, _, _, _, _] = bytes;
        if bytes.get(MAGIC_AT..) != Some(&TAIL_MAGIC) {
            return Err(missing);
        }
        match u16::from_le_bytes([*version_low, *version_high]) {
            found if found < OLDEST_READABLE => {
                return Err(ArchiveError::TooOld { found, oldest: OLDEST_READABLE });
            }
            found if found > VERSION => return Err(ArchiveError::TooNew { found, newest: VERSION }),
            _ => {}
        }
        let total_length = read_u64(bytes, 0);
        if total_length != file_length {
            return Err(ArchiveError::CutShort { declared: Some(total_length), found: file_length });
        }
        let at = file_length.saturating_sub(TRAILER_BYTES as u64);
        if bytes.get(RESERVED_AT..VERSION_AT).is_none_or(|reserved| reserved.iter().any(|byte| *byte != 0)) {
            return Err(ArchiveError::rule(Section::Trailer, at, "reserved bytes are not zero"));
        }
        let body =
            Span { offset: HEAD_MAGIC.len() as u64, length: at.saturating_sub(HEAD_MAGIC.len() as u64) };
        let [root, text_column, prompt_column, honka_column] =
            [0, 1, 2, 3].map(|slot| read_reference(bytes, slot));
        for reference in [root, text_column, prompt_column, honka_column].into_iter().flatten() {
            if reference.offset < body.offset || reference.span().end() > body.end() {
                return Err(ArchiveError::rule(Section::Trailer, at, "a span leaves the file"));
            }
        }
        let Some(root) = root else {
            return Err(ArchiveError::rule(Section::Trailer, at, "no root is named"));
        };
        Ok(Self { total_length, root, text_column, prompt_column, honka_column })
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
            Err(ArchiveError::Damaged {
                section: Section::Head,
                offset: 0,
                damage: Damage::Rule("the opening mark is not an archive's"),
            })
        }
    }

    /// Returns the trailer's bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; TRAILER_BYTES] {
        let mut bytes = Vec::with_capacity(TRAILER_BYTES);
        bytes.extend_from_slice(&self.total_length.to_le_bytes());
        for slot in [Some(self.root), self.text_column, self.prompt_column, self.honka_column] {
            let Some(reference) = slot else {
                bytes.extend_from_slice(&[0; REFERENCE_BYTES]);
                continue;
            };
            bytes.extend_from_slice(&reference.offset.to_le_bytes());
            bytes.extend_from_slice(&reference.length.to_le_bytes());
            bytes.extend_from_slice(&reference.hash.0);
        }
        bytes.resize(VERSION_AT, 0);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&TAIL_MAGIC);
        bytes.first_chunk().copied().unwrap_or([0; TRAILER_BYTES])
    }

    /// Returns the archive's digest: the hash of the trailer, which names everything else.
    #[must_use]
    pub fn digest(&self) -> ContentHash {
        ContentHash::of(&self.encode())
    }

    /// Returns the span of the trailer itself.
    #[must_use]
    pub fn span(&self) -> Span {
        let length = TRAILER_BYTES as u64;
        Span { offset: self.total_length.saturating_sub(length), length }
    }

    /// Returns the search columns that are present, in file order.
    pub fn columns(&self) -> impl Iterator<Item = Reference> {
        [self.text_column, self.prompt_column, self.honka_column].into_iter().flatten()
    }
}

fn read_u64(bytes: &[u8; TRAILER_BYTES], at: usize) -> u64 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |eight| u64::from_le_bytes(*eight))
}

/// Reads the reference in `slot`; an all-zero slot means absent.
fn read_reference(bytes: &[u8; TRAILER_BYTES], slot: usize) -> Option<Reference> {
    let at = REFERENCES_AT + slot * REFERENCE_BYTES;
    let hash: [u8; 32] = *bytes.get(at + 16..)?.first_chunk()?;
    let reference =
        Reference { offset: read_u64(bytes, at), length: read_u64(bytes, at + 8), hash: ContentHash(hash) };
    let absent = reference.offset == 0 && reference.length == 0 && hash == [0; 32];
    (!absent).then_some(reference)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trailer() -> Trailer {
        let root = Reference { offset: 8, length: 100, hash: ContentHash::of(b"root") };
        Trailer { total_length: 364, root, text_column: None, prompt_column: None, honka_column: None }
    }

    #[test]
    fn a_trailer_reads_back() {
        let trailer = trailer();
        assert_eq!(Trailer::decode(&trailer.encode(), 364), Ok(trailer));
    }

    #[test]
    fn magic_comes_before_version_before_length() {
        let mut bytes = trailer().encode();
        assert_eq!(
            Trailer::decode(&bytes, 365),
            Err(ArchiveError::CutShort { declared: Some(364), found: 365 })
        );
        bytes[VERSION_AT] = 2;
        assert_eq!(Trailer::decode(&bytes, 365), Err(ArchiveError::TooNew { found: 2, newest: 1 }));
        bytes[VERSION_AT] = 0;
        assert_eq!(Trailer::decode(&bytes, 365), Err(ArchiveError::TooOld { found: 0, oldest: 1 }));
        bytes[MAGIC_AT] = b'X';
        assert_eq!(Trailer::decode(&bytes, 365), Err(ArchiveError::NotAnArchive { found: 365 }));
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
