//! How pictures lie in an archive: as standard base64 with padding, ready to be sent.
//!
//! The one place that encodes and decodes them, with the processor's vector instructions where `base64` knows them.

use base64::Engine as _;

#[cfg(any(target_arch = "x86_64", all(target_arch = "aarch64", target_feature = "neon")))]
static ENGINE: std::sync::LazyLock<base64::engine::Simd> =
    std::sync::LazyLock::new(|| base64::engine::Simd::standard(base64::engine::general_purpose::PAD));

#[cfg(not(any(target_arch = "x86_64", all(target_arch = "aarch64", target_feature = "neon"))))]
use base64::engine::general_purpose::STANDARD as ENGINE;

/// Returns a picture file as it is stored.
pub(crate) fn encode_picture(file: &[u8]) -> String {
    ENGINE.encode(file)
}

/// Returns the picture file that `stored` holds. Every [verified](crate::verify_rendition) rendition has one.
#[must_use]
pub fn decode_picture(stored: &[u8]) -> Option<Vec<u8>> {
    ENGINE.decode(stored).ok()
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Archives are equal whatever the processor, so vector instructions and plain ones must agree.
        #[test]
        fn vectors_encode_as_plain_instructions_do(file in prop::collection::vec(any::<u8>(), 0..400)) {
            let stored = encode_picture(&file);
            prop_assert_eq!(&stored, &STANDARD.encode(&file));
            prop_assert_eq!(decode_picture(stored.as_bytes()), Some(file));
        }

        #[test]
        fn vectors_refuse_what_plain_instructions_refuse(
            file in prop::collection::vec(any::<u8>(), 1..400),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let mut stored = STANDARD.encode(&file).into_bytes();
            let at = at.index(stored.len());
            stored[at] = byte;
            prop_assert_eq!(decode_picture(&stored), STANDARD.decode(&stored).ok());
        }
    }
}
