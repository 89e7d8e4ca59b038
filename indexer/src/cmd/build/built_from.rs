//! The digest of everything an archive follows from.

use wakashu_archive::{ContentHash, KEYS_VERSION, VERSION};

use crate::picture::{ENCODER_VERSION, Settings};
use crate::walk::{InputFile, RoundPlan};

/// Hashes inputs and settings: equal results, equal archives.
///
/// blake3 in key-derivation mode with the context `wakashu built_from 1`, over, in this order:
///
/// 1. the version of this program, of the archive format, of the encoder, of the settings those that change bytes
///    (originals, metadata kept), and the version of the search keys;
/// 2. the files at the root, by name;
/// 3. for each round that is served, in reading order: its title (an empty round changes the archive, too), its period
///    file, and for each entry that is served, by rank: its text and its picture.
///
/// A file counts with its path relative to the root and the blake3 of its content. Every item is a tag byte and its
/// parts, each part with its length before it (64 bits, little-endian), so that no two lists read the same. Files that
/// are not used do not count, nor do times and the clock.
#[derive(Debug)]
pub(super) struct BuiltFrom(blake3::Hasher);

impl BuiltFrom {
    pub(super) fn new(settings: &Settings) -> Self {
        Self::with_keys(settings, KEYS_VERSION)
    }

    /// Begins with search keys of this version.
    fn with_keys(settings: &Settings, keys: u16) -> Self {
        // Taken apart in full, so that a new setting cannot be forgotten here. The pixel limit decides whether a
        // picture is used, not how.
        let Settings { max_pixels: _, keep_metadata, originals } = settings;
        let mut built_from = Self(blake3::Hasher::new_derive_key("wakashu built_from 1"));
        built_from.item(
            b'v',
            &[
                env!("CARGO_PKG_VERSION").as_bytes(),
                &VERSION.to_le_bytes(),
                ENCODER_VERSION.as_bytes(),
                &[u8::from(*originals), u8::from(*keep_metadata)],
                &keys.to_le_bytes(),
            ],
        );
        built_from
    }

    pub(super) fn file(&mut self, input: &InputFile) {
        let path: Vec<&[u8]> = input.path.iter().map(std::ffi::OsStr::as_encoded_bytes).collect();
        self.item(b'f', &[&path.join(&b'/'), &input.hash.0]);
    }

    pub(super) fn round(&mut self, round: &RoundPlan) {
        self.item(b'r', &[round.title.as_bytes()]);
        if let Some(input) = &round.period_file {
            self.file(input);
        }
    }

    pub(super) fn finish(&self) -> ContentHash {
        ContentHash(*self.0.finalize().as_bytes())
    }

    fn item(&mut self, tag: u8, parts: &[&[u8]]) {
        self.0.update(&[tag]);
        for part in parts {
            self.0.update(&(part.len() as u64).to_le_bytes());
            self.0.update(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else `publish` would take the archive with the old keys for the same, and leave it.
    #[test]
    fn other_search_keys_are_another_archive() {
        let built_from = |keys| BuiltFrom::with_keys(&Settings::default(), keys).finish();
        assert_eq!(built_from(KEYS_VERSION), BuiltFrom::new(&Settings::default()).finish());
        assert_ne!(built_from(KEYS_VERSION), built_from(KEYS_VERSION - 1));
    }
}
