//! WebP: RIFF chunks.

use std::borrow::Cow;

use wakashu_archive::MediaType;

use super::{Facts, PLAIN_PEAK_BYTES, Piece, Purpose};
use crate::picture::exif;
use crate::picture::orient::Orientation;
use crate::picture::problem::Problem;
use crate::picture::reader::Reader;

const ANIMATION_FLAG: u8 = 0x02;
const XMP_FLAG: u8 = 0x04;
const EXIF_FLAG: u8 = 0x08;
const PICTURE_CHUNKS: [&[u8; 4]; 5] = [b"VP8X", b"ICCP", b"ALPH", b"VP8 ", b"VP8L"];
const ANIMATION_CHUNKS: [&[u8; 4]; 2] = [b"ANIM", b"ANMF"];

type Chunk = Piece<[u8; 4]>;

/// Lists the chunks within the RIFF frame.
fn chunks(bytes: &[u8]) -> Result<Vec<Chunk>, Problem> {
    let cut_short = || Problem::cut_short(MediaType::Webp, "it is shorter than its header declares");
    let mut header = Reader::new(bytes.get(4..).unwrap_or_default());
    let declared = header.u32_le().ok_or_else(cut_short)? as usize;
    let end = declared.saturating_add(8);
    let mut reader = Reader::new(bytes.get(..end).ok_or_else(cut_short)?);
    reader.take(12).ok_or_else(cut_short)?;
    let mut chunks = Vec::new();
    while !reader.is_at_end() {
        let start = reader.position();
        let chunk = read_chunk(&mut reader, start).ok_or_else(cut_short)?;
        chunks.push(chunk);
    }
    Ok(chunks)
}

fn read_chunk(reader: &mut Reader<'_>, start: usize) -> Option<Chunk> {
    let tag = reader.array()?;
    let length = reader.u32_le()? as usize;
    let body_start = reader.position();
    reader.take(length)?;
    let body = body_start..reader.position();
    if length % 2 == 1 && !reader.is_at_end() {
        reader.take(1)?;
    }
    Some(Chunk { tag, span: start..reader.position(), body })
}

pub(crate) fn inspect(bytes: &[u8]) -> Result<Facts, Problem> {
    let chunks = chunks(bytes)?;
    let body_of =
        |tag: &[u8; 4]| chunks.iter().find(|chunk| chunk.tag == *tag).map(|chunk| chunk.body(bytes));
    let extended = body_of(b"VP8X").and_then(extended_header);
    let coded = body_of(b"VP8 ").and_then(lossy_size).or_else(|| body_of(b"VP8L").and_then(lossless_size));
    let canvas = extended.map(|(_, width, height)| (width, height));
    let size = canvas.or(coded);
    let (width, height) =
        size.ok_or_else(|| Problem::undecodable(MediaType::Webp, "there is no image in it"))?;
    if coded.is_some_and(|coded| coded != (width, height)) {
        return Err(Problem::undecodable(MediaType::Webp, "its canvas and its image differ in size"));
    }
    Ok(Facts {
        width,
        height,
        largest: (width, height),
        orientation: body_of(b"EXIF").map(exif::orientation).unwrap_or_default(),
        animated: extended.is_some_and(|(flags, ..)| flags & ANIMATION_FLAG != 0),
        plain: true,
        has_profile: body_of(b"ICCP").is_some(),
        cicp: None,
        peak_bytes_per_pixel: PLAIN_PEAK_BYTES,
    })
}

/// Reads flags, width and height of the extended header.
fn extended_header(body: &[u8]) -> Option<(u8, u32, u32)> {
    let [flags, _, _, _, w0, w1, w2, h0, h1, h2] = *body.first_chunk::<10>()?;
    let width = u32::from_le_bytes([w0, w1, w2, 0]) + 1;
    let height = u32::from_le_bytes([h0, h1, h2, 0]) + 1;
    Some((flags, width, height))
}

fn lossy_size(body: &[u8]) -> Option<(u32, u32)> {
    let mut reader = Reader::new(body);
    reader.take(6)?;
    let width = reader.u16_le()? & 0x3FFF;
    let height = reader.u16_le()? & 0x3FFF;
    Some((u32::from(width), u32::from(height)))
}

fn lossless_size(body: &[u8]) -> Option<(u32, u32)> {
    let mut reader = Reader::new(body);
    reader.take(1)?;
    let packed = reader.u32_le()?;
    Some(((packed & 0x3FFF) + 1, ((packed >> 14) & 0x3FFF) + 1))
}

pub(crate) fn strip(bytes: &[u8], purpose: Purpose) -> Result<Cow<'_, [u8]>, Problem> {
    let chunks = chunks(bytes)?;
    let kept = |chunk: &&Chunk| {
        PICTURE_CHUNKS.contains(&&chunk.tag)
            || (purpose == Purpose::Original && ANIMATION_CHUNKS.contains(&&chunk.tag))
    };
    let kept_bytes = 12 + chunks.iter().filter(kept).map(|chunk| chunk.span.len()).sum::<usize>();
    if kept_bytes == bytes.len() {
        return Ok(Cow::Borrowed(bytes));
    }
    let orientation = match purpose {
        Purpose::Rendition => Orientation::default(),
        Purpose::Original => inspect(bytes)?.orientation,
    };
    let mut output = Vec::with_capacity(kept_bytes + 64);
    output.extend_from_slice(b"RIFF\0\0\0\0WEBP");
    for chunk in chunks.iter().filter(kept) {
        let start = output.len();
        output.extend_from_slice(chunk.bytes(bytes));
        if output.len() % 2 == 1 {
            output.push(0);
        }
        if chunk.tag == *b"VP8X"
            && let Some(flags) = output.get_mut(start + 8)
        {
            *flags &= !(XMP_FLAG | EXIF_FLAG);
            if !orientation.is_upright() {
                *flags |= EXIF_FLAG;
            }
        }
    }
    if !orientation.is_upright() {
        // The specification puts EXIF behind the picture.
        let body = exif::orientation_only(orientation);
        output.extend_from_slice(b"EXIF");
        output.extend_from_slice(&u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes());
        output.extend_from_slice(&body);
    }
    let riff_bytes = u32::try_from(output.len() - 8).unwrap_or(u32::MAX);
    if let Some(length) = output.get_mut(4..8) {
        length.copy_from_slice(&riff_bytes.to_le_bytes());
    }
    Ok(Cow::Owned(output))
}
