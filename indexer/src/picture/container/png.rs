//! PNG: chunks.

use std::borrow::Cow;

use wakashu_archive::MediaType;

use super::{Cicp, DEEP_PEAK_BYTES, Facts, PLAIN_PEAK_BYTES, Piece, Purpose};
use crate::picture::exif;
use crate::picture::orient::Orientation;
use crate::picture::problem::Problem;
use crate::picture::reader::Reader;

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
/// Chunks that say how the pixels look; everything else is metadata.
const PICTURE_CHUNKS: [&[u8; 4]; 13] = [
    b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"cHRM", b"gAMA", b"iCCP", b"sBIT", b"sRGB", b"cICP",
    b"bKGD", b"pHYs",
];
const ANIMATION_CHUNKS: [&[u8; 4]; 3] = [b"acTL", b"fcTL", b"fdAT"];

type Chunk = Piece<[u8; 4]>;

/// Lists the chunks up to and including the end mark.
fn chunks(bytes: &[u8]) -> Result<Vec<Chunk>, Problem> {
    let mut reader = Reader::new(bytes);
    reader.take(SIGNATURE.len());
    let mut chunks = Vec::new();
    loop {
        let start = reader.position();
        let chunk = read_chunk(&mut reader, start)
            .ok_or(Problem::cut_short(MediaType::Png, "the end chunk `IEND` is missing"))?;
        let end = chunk.tag == *b"IEND";
        chunks.push(chunk);
        if end {
            return Ok(chunks);
        }
    }
}

fn read_chunk(reader: &mut Reader<'_>, start: usize) -> Option<Chunk> {
    let length = reader.u32_be()? as usize;
    let tag = reader.array()?;
    let body_start = reader.position();
    reader.take(length)?;
    let body = body_start..reader.position();
    let _checksum = reader.take(4)?;
    Some(Chunk { tag, span: start..reader.position(), body })
}

pub(crate) fn inspect(bytes: &[u8]) -> Result<Facts, Problem> {
    let chunks = chunks(bytes)?;
    let body_of =
        |tag: &[u8; 4]| chunks.iter().find(|chunk| chunk.tag == *tag).map(|chunk| chunk.body(bytes));
    let header = chunks.first().filter(|chunk| chunk.tag == *b"IHDR").map(|chunk| chunk.body(bytes));
    let (width, height, bit_depth) = header.and_then(read_header).ok_or_else(|| {
        Problem::undecodable(MediaType::Png, "the header chunk `IHDR` is missing or broken")
    })?;
    let cicp = body_of(b"cICP").and_then(|body| match body {
        [primaries, transfer, ..] => Some(Cicp { primaries: *primaries, transfer: *transfer }),
        _ => None,
    });
    Ok(Facts {
        width,
        height,
        largest: (width, height),
        orientation: body_of(b"eXIf").map(exif::orientation).unwrap_or_default(),
        animated: body_of(b"acTL").is_some(),
        plain: bit_depth <= 8,
        has_profile: body_of(b"iCCP").is_some(),
        cicp,
        peak_bytes_per_pixel: if bit_depth <= 8 { PLAIN_PEAK_BYTES } else { DEEP_PEAK_BYTES },
    })
}

fn read_header(body: &[u8]) -> Option<(u32, u32, u8)> {
    let mut reader = Reader::new(body);
    Some((reader.u32_be()?, reader.u32_be()?, reader.u8()?))
}

pub(crate) fn strip(bytes: &[u8], purpose: Purpose) -> Result<Cow<'_, [u8]>, Problem> {
    let chunks = chunks(bytes)?;
    let kept = |chunk: &&Chunk| {
        PICTURE_CHUNKS.contains(&&chunk.tag)
            || (purpose == Purpose::Original && ANIMATION_CHUNKS.contains(&&chunk.tag))
    };
    let kept_bytes =
        SIGNATURE.len() + chunks.iter().filter(kept).map(|chunk| chunk.span.len()).sum::<usize>();
    if kept_bytes == bytes.len() {
        return Ok(Cow::Borrowed(bytes));
    }
    let orientation = match purpose {
        Purpose::Rendition => Orientation::default(),
        Purpose::Original => inspect(bytes)?.orientation,
    };
    let mut output = Vec::with_capacity(kept_bytes + 64);
    output.extend_from_slice(SIGNATURE);
    for chunk in chunks.iter().filter(kept) {
        output.extend_from_slice(chunk.bytes(bytes));
        if chunk.tag == *b"IHDR" && !orientation.is_upright() {
            push_chunk(&mut output, *b"eXIf", &exif::orientation_only(orientation));
        }
    }
    Ok(Cow::Owned(output))
}

fn push_chunk(output: &mut Vec<u8>, tag: [u8; 4], body: &[u8]) {
    output.extend_from_slice(&u32::try_from(body.len()).unwrap_or(u32::MAX).to_be_bytes());
    output.extend_from_slice(&tag);
    output.extend_from_slice(body);
    let checksum = crc32(tag.iter().chain(body));
    output.extend_from_slice(&checksum.to_be_bytes());
}

/// Computes the checksum of a PNG chunk (CRC-32, reflected, polynomial 0xEDB88320).
fn crc32<'a>(bytes: impl Iterator<Item = &'a u8>) -> u32 {
    let folded = bytes.fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg()))
    });
    !folded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_is_that_of_the_standard() {
        assert_eq!(crc32(b"IEND".iter()), 0xAE42_6082);
        assert_eq!(crc32(b"123456789".iter()), 0xCBF4_3926);
    }
}
