//! Content hashes: the links of the archive's hash tree.

use std::fmt;
use std::str::FromStr;

use rkyv::{Archive, Serialize};

/// The blake3 hash of some bytes; it names them everywhere: references, file names, ETags, cache keys.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Archive, Serialize)]
#[rkyv(derive(Clone, Copy, PartialEq, Eq))]
pub struct ContentHash(pub [u8; 32]);

impl ContentHash {
    /// Returns the hash as 64 lower-case hex digits.
    #[must_use]
    pub fn to_hex(self) -> Hex<64> {
        Hex::of(self)
    }

    /// Returns the first sixteen digits, by which links name a hash.
    #[must_use]
    pub fn to_short_hex(self) -> Hex<16> {
        Hex::of(self)
    }

    /// Returns the hash of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

fn hex_digit(nibble: u8) -> u8 {
    if nibble < 10 { b'0' + nibble } else { b'a' - 10 + nibble }
}

/// The first digits of a hash written out, without an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hex<const DIGITS: usize>([u8; DIGITS]);

impl<const DIGITS: usize> Hex<DIGITS> {
    fn of(hash: ContentHash) -> Self {
        let mut digits = [0; DIGITS];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(hash.0) {
            if let [high, low] = pair {
                (*high, *low) = (hex_digit(byte >> 4), hex_digit(byte & 15));
            }
        }
        Self(digits)
    }

    /// Returns the digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl From<&ArchivedContentHash> for ContentHash {
    fn from(archived: &ArchivedContentHash) -> Self {
        Self(archived.0)
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_hex().as_str())
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContentHash({self})")
    }
}

/// Says that a string is not the 64 lower-case hex digits of a content hash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a digest is 64 lower-case hex digits, got {characters} characters")]
pub struct ParseHashError {
    characters: usize,
}

impl FromStr for ContentHash {
    type Err = ParseHashError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = || ParseHashError { characters: text.chars().count() };
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return Err(refused());
        }
        let mut hash = [0; 32];
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            for digit in pair {
                let value = match digit {
                    b'0'..=b'9' => digit - b'0',
                    b'a'..=b'f' => digit - b'a' + 10,
                    _ => return Err(refused()),
                };
                *byte = (*byte << 4) | value;
            }
        }
        Ok(Self(hash))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_reads_back_from_its_hex() {
        let hash = ContentHash::of(b"waka");
        assert_eq!(hash.to_string().parse(), Ok(hash));
    }

    #[test]
    fn upper_case_short_and_foreign_digits_are_refused() {
        for text in ["", "ab", &"AB".repeat(32), &"g0".repeat(32), &"é".repeat(32)] {
            assert!(text.parse::<ContentHash>().is_err(), "{text}");
        }
    }
}
