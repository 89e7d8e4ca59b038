//! What one file of the picture cache holds.
//!
//! ```text
//! blake3 of the rest                       32 bytes
//! large, medium, small, original           16 bytes each: kind, media type, 2 of zero, width, height, length
//! damage to the source, in words           2 bytes of length, text; no length if there is none
//! bytes of the renditions stored here      in the same order
//! ```
//!
//! Numbers are little-endian. Bytes that are the source's, or those of the rendition before, are not stored again.

use bytes::Bytes;
use wakashu_archive::MediaType;

use crate::picture::reader::Reader;
use crate::picture::{Damage, Encoded, Rendered, Renditions};

const HASH_BYTES: usize = 32;

/// There is no such rendition.
const ABSENT: u8 = 0;
/// The bytes are here.
const STORED: u8 = 1;
/// The bytes are the source's.
const SOURCE: u8 = 2;
/// Equal to the rendition before in every respect.
const SAME: u8 = 3;

const MEDIA_TYPES: [MediaType; 5] =
    [MediaType::Png, MediaType::Jpeg, MediaType::Gif, MediaType::Webp, MediaType::Heic];

/// Writes the renditions of a source.
pub(super) fn encode(rendered: &Rendered, source: &[u8]) -> Vec<u8> {
    let Renditions { large, medium, small, original } = &rendered.renditions;
    let slots = [Some(large), Some(medium), Some(small), original.as_ref()];
    let mut content = vec![0; HASH_BYTES];
    let mut stored = Vec::new();
    let mut before = None;
    for slot in slots {
        let kind = match slot {
            None => ABSENT,
            Some(encoded) if before == Some(encoded) => SAME,
            Some(encoded) if encoded.bytes == source => SOURCE,
            Some(_) => STORED,
        };
        let code = slot.map_or(0, |encoded| media_type_code(encoded.media_type));
        content.extend_from_slice(&[kind, code, 0, 0]);
        let length = slot.map_or(0, |encoded| encoded.bytes.len());
        let (width, height) = slot.map_or((0, 0), |encoded| (encoded.width, encoded.height));
        for number in [width, height, u32::try_from(length).unwrap_or(u32::MAX)] {
            content.extend_from_slice(&number.to_le_bytes());
        }
        if kind == STORED {
            stored.extend(slot.map(|encoded| &encoded.bytes));
        }
        before = slot;
    }
    let damage = rendered.damage.as_ref().map(Damage::message).unwrap_or_default();
    content.extend_from_slice(&u16::try_from(damage.len()).unwrap_or(0).to_le_bytes());
    content.extend_from_slice(damage.as_bytes());
    for bytes in stored {
        content.extend_from_slice(bytes);
    }
    let hash = hash_of(&content);
    if let Some(place) = content.first_chunk_mut::<HASH_BYTES>() {
        *place = hash;
    }
    content
}

/// Reads renditions back; `None` if anything is not as it was written. Stored bytes are slices of `content`.
pub(super) fn decode(content: &Bytes, source: &[u8]) -> Option<Rendered> {
    if *content.first_chunk::<HASH_BYTES>()? != hash_of(content) {
        return None;
    }
    let mut reader = Reader::new(content);
    reader.take(HASH_BYTES)?;
    let mut table = Reader::new(reader.take(4 * 16)?);
    let damage_bytes = usize::from(reader.u16_le()?);
    let damage = String::from_utf8(reader.take(damage_bytes)?.to_owned()).ok()?;
    let damage = (!damage.is_empty()).then(|| Damage::noted(damage));
    let mut position = reader.position();
    let mut slots: [Option<Encoded>; 4] = [None, None, None, None];
    let mut before: Option<Encoded> = None;
    let mut whole_source: Option<Bytes> = None;
    for slot in &mut slots {
        let [kind, code, _, _] = table.array()?;
        let (width, height) = (table.u32_le()?, table.u32_le()?);
        let length = table.u32_le()? as usize;
        let bytes = match kind {
            ABSENT => continue,
            SAME => {
                *slot = Some(before.clone()?);
                continue;
            }
            SOURCE => whole_source.get_or_insert_with(|| Bytes::copy_from_slice(source)).clone(),
            STORED => {
                let end = position.checked_add(length).filter(|end| *end <= content.len())?;
                let bytes = content.slice(position..end);
                position = end;
                bytes
            }
            _ => return None,
        };
        let media_type = *MEDIA_TYPES.get(usize::from(code))?;
        *slot = Some(Encoded { bytes, media_type, width, height });
        before.clone_from(slot);
    }
    let [large, medium, small, original] = slots;
    let renditions = Renditions { large: large?, medium: medium?, small: small?, original };
    Some(Rendered { renditions, damage })
}

fn hash_of(content: &[u8]) -> [u8; HASH_BYTES] {
    *blake3::hash(content.get(HASH_BYTES..).unwrap_or_default()).as_bytes()
}

fn media_type_code(media_type: MediaType) -> u8 {
    let position = MEDIA_TYPES.iter().position(|known| *known == media_type);
    position.and_then(|position| u8::try_from(position).ok()).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Rendered {
        let encoded = |bytes: &'static [u8], width| Encoded {
            bytes: Bytes::from_static(bytes),
            media_type: MediaType::Webp,
            width,
            height: 2,
        };
        let small = encoded(b"small", 1);
        let renditions =
            Renditions { large: encoded(b"source", 3), medium: small.clone(), small, original: None };
        Rendered { renditions, damage: Some(Damage::noted("damaged".to_owned())) }
    }

    #[test]
    fn what_is_written_is_read_back_and_nothing_is_stored_twice() {
        let renditions = sample();
        let content = encode(&renditions, b"source");
        assert_eq!(content.len(), HASH_BYTES + 64 + 2 + 7 + 5);
        assert_eq!(decode(&content.into(), b"source"), Some(renditions));
    }

    #[test]
    fn any_damage_is_noticed() {
        let content = encode(&sample(), b"source");
        for position in 0..content.len() {
            let mut damaged = content.clone();
            damaged[position] ^= 0x10;
            assert_eq!(decode(&damaged.into(), b"source"), None, "byte {position}");
            assert_eq!(decode(&content[..position].to_vec().into(), b"source"), None, "cut at {position}");
        }
    }
}
