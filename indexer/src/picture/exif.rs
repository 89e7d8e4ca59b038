//! The one EXIF field that matters here: which way is up.

use super::orient::Orientation;
use super::reader::Reader;

const ORIENTATION_TAG: u16 = 0x0112;

/// Returns the orientation an EXIF block states; upright if there is no orientation or the block is broken.
///
/// Accepts the block with and without the `Exif\0\0` lead that JPEG uses and some WebP writers copy.
pub(crate) fn orientation(exif: &[u8]) -> Orientation {
    let tiff = exif.strip_prefix(b"Exif\0\0").unwrap_or(exif);
    read_orientation(tiff).and_then(Orientation::from_exif).unwrap_or_default()
}

fn read_orientation(tiff: &[u8]) -> Option<u16> {
    let little_endian = match tiff.first_chunk::<4>()? {
        b"II*\0" => true,
        b"MM\0*" => false,
        _ => return None,
    };
    let u16_of =
        |bytes: [u8; 2]| if little_endian { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) };
    let u32_of =
        |bytes: [u8; 4]| if little_endian { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) };

    let directory_offset = u32_of(Reader::new(tiff.get(4..)?).array()?) as usize;
    let mut directory = Reader::new(tiff.get(directory_offset..)?);
    let entries = u16_of(directory.array()?);
    for _ in 0..entries {
        let tag = u16_of(directory.array()?);
        let _type_and_count = directory.take(6)?;
        let value = directory.array::<4>()?;
        if tag == ORIENTATION_TAG {
            return Some(u16_of(*value.first_chunk()?));
        }
    }
    None
}

/// Returns a TIFF block that states the orientation and nothing else.
pub(crate) fn orientation_only(orientation: Orientation) -> Vec<u8> {
    let mut tiff = Vec::with_capacity(26);
    tiff.extend_from_slice(b"MM\0*\0\0\0\x08");
    tiff.extend_from_slice(&1_u16.to_be_bytes());
    tiff.extend_from_slice(&ORIENTATION_TAG.to_be_bytes());
    tiff.extend_from_slice(b"\0\x03\0\0\0\x01");
    tiff.extend_from_slice(&orientation.to_exif().to_be_bytes());
    tiff.extend_from_slice(b"\0\0\0\0\0\0");
    tiff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back_with_and_without_the_jpeg_lead() {
        for value in 1..=8 {
            let turned = Orientation::from_exif(value).unwrap();
            let tiff = orientation_only(turned);
            assert_eq!(orientation(&tiff), turned);
            assert_eq!(orientation(&[b"Exif\0\0".as_slice(), &tiff].concat()), turned);
        }
    }

    #[test]
    fn little_endian_and_broken_blocks_are_read() {
        let little = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
        assert_eq!(orientation(little).to_exif(), 6);
        for broken in
            [&b""[..], b"II*\0", b"MM\0*\xff\xff\xff\xff", &little[..15], b"II*\0\x08\0\0\0\xff\xff"]
        {
            assert_eq!(orientation(broken), Orientation::default());
        }
    }
}
