//! WebP: RIFF chunks.

use wakashu_archive::MediaType;

use super::{Facts, Piece, Purpose, pixels};
use crate::picture::orient::Orientation;
use crate::picture::problem::Problem;
use crate::picture::reader::Reader;
use crate::picture::{colour, exif};

/// What the decoder takes for each pixel: coded planes or entropy images, and what comes out of them.
const WEBP_PIXEL_BYTES: u64 = 12;
const ANIMATION_FLAG: u8 = 0x02;
const EXIF_FLAG: u8 = 0x08;
const ALPHA_FLAG: u8 = 0x10;
const PROFILE_FLAG: u8 = 0x20;

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
    if body_of(b"VP8 ").is_some_and(|body| !is_shown(body)) {
        return Err(Problem::undecodable(
            MediaType::Webp,
            "its image is of no known kind, or not to be shown",
        ));
    }
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
        decoding_bytes: WEBP_PIXEL_BYTES * pixels((width, height)),
        decoded_bytes_per_pixel: 4,
    })
}

/// Reads flags, width and height of the extended header.
fn extended_header(body: &[u8]) -> Option<(u8, u32, u32)> {
    let [flags, _, _, _, w0, w1, w2, h0, h1, h2] = *body.first_chunk::<10>()?;
    let width = u32::from_le_bytes([w0, w1, w2, 0]) + 1;
    let height = u32::from_le_bytes([h0, h1, h2, 0]) + 1;
    Some((flags, width, height))
}

/// Tells whether the first bytes of a lossy image are as libwebp and browsers want them: some decoders look away.
fn is_shown(body: &[u8]) -> bool {
    let Some([low, middle, high]) = body.first_chunk::<3>() else { return false };
    let head = u32::from_le_bytes([*low, *middle, *high, 0]);
    let (is_key, version, is_visible, first_part) =
        (head & 1 == 0, head >> 1 & 7, head >> 4 & 1 == 1, head >> 5);
    is_key && version <= 3 && is_visible && (first_part as usize) < body.len()
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

/// Writes the file anew from the chunks that a decoder needs.
pub(crate) fn rebuild(bytes: &[u8], purpose: Purpose) -> Result<Vec<u8>, Problem> {
    let chunks = chunks(bytes)?;
    let original = purpose == Purpose::Original;
    let orientation = if original { inspect(bytes)?.orientation } else { Orientation::default() };
    let mut profile = None;
    let mut picture = Vec::new();
    let mut extended = None;
    let mut animated = false;
    for chunk in &chunks {
        let body = chunk.body(bytes);
        match &chunk.tag {
            b"VP8X" => extended = body.first_chunk::<10>().copied().or(extended),
            b"ICCP" if original && colour::is_readable(body) => profile = Some(body),
            b"ALPH" | b"VP8 " | b"VP8L" => push_chunk(&mut picture, chunk.tag, body),
            b"ANIM" if original && body.len() == 6 => push_chunk(&mut picture, chunk.tag, body),
            b"ANMF" if original => {
                animated = true;
                push_chunk(&mut picture, chunk.tag, &rebuilt_frame(bytes, chunk)?);
            }
            _ => {}
        }
    }
    let mut output = b"RIFF\0\0\0\0WEBP".to_vec();
    if extended.is_none() && !orientation.is_upright() {
        let facts = inspect(bytes)?;
        let [w0, w1, w2, _] = (facts.width - 1).to_le_bytes();
        let [h0, h1, h2, _] = (facts.height - 1).to_le_bytes();
        extended = Some([ALPHA_FLAG, 0, 0, 0, w0, w1, w2, h0, h1, h2]);
    }
    if let Some([flags, _, _, _, w0, w1, w2, h0, h1, h2]) = extended {
        let mut kept = flags & ALPHA_FLAG;
        for (flag, wanted) in [
            (ANIMATION_FLAG, animated),
            (PROFILE_FLAG, profile.is_some()),
            (EXIF_FLAG, !orientation.is_upright()),
        ] {
            kept |= if wanted { flag } else { 0 };
        }
        push_chunk(&mut output, *b"VP8X", &[kept, 0, 0, 0, w0, w1, w2, h0, h1, h2]);
        if let Some(profile) = profile {
            push_chunk(&mut output, *b"ICCP", profile);
        }
    }
    output.append(&mut picture);
    if !orientation.is_upright() {
        // The specification puts EXIF behind the picture.
        push_chunk(&mut output, *b"EXIF", &exif::orientation_only(orientation));
    }
    let riff_bytes = u32::try_from(output.len() - 8).unwrap_or(u32::MAX);
    if let Some(length) = output.get_mut(4..8) {
        length.copy_from_slice(&riff_bytes.to_le_bytes());
    }
    Ok(output)
}

/// Returns a frame of an animation with nothing but its place and its picture.
fn rebuilt_frame(bytes: &[u8], frame: &Chunk) -> Result<Vec<u8>, Problem> {
    let broken = || Problem::undecodable(MediaType::Webp, "a frame of its animation is broken");
    let body = frame.body(bytes);
    let mut reader = Reader::new(body);
    let mut output = reader.take(16).ok_or_else(broken)?.to_owned();
    while !reader.is_at_end() {
        let start = reader.position();
        let chunk = read_chunk(&mut reader, start).ok_or_else(broken)?;
        if chunk.tag == *b"VP8 " && !is_shown(chunk.body(body)) {
            return Err(broken());
        }
        if matches!(&chunk.tag, b"ALPH" | b"VP8 " | b"VP8L") {
            push_chunk(&mut output, chunk.tag, chunk.body(body));
        }
    }
    Ok(output)
}

fn push_chunk(output: &mut Vec<u8>, tag: [u8; 4], body: &[u8]) {
    output.extend_from_slice(&tag);
    output.extend_from_slice(&u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes());
    output.extend_from_slice(body);
    if body.len() % 2 == 1 {
        output.push(0);
    }
}
