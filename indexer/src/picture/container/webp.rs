//! WebP: RIFF chunks.

use wakashu_archive::MediaType;

use super::{Facts, MAX_PIECES, Piece, Purpose, TOO_MANY_PIECES, pixels};
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
/// Where a frame of an animation lies, and how long it is shown.
const FRAME_HEAD_BYTES: usize = 16;
/// How a frame is put over the one before; the other bits mean nothing.
const FRAME_FLAGS: u8 = 0x03;

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
        if chunks.len() == MAX_PIECES {
            return Err(Problem::undecodable(MediaType::Webp, TOO_MANY_PIECES));
        }
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
    let image = chunks.iter().find(|chunk| is_image(chunk));
    let coded = image.and_then(|image| coded_size(image, bytes));
    let canvas = extended.map(|(_, width, height)| (width, height));
    let size = canvas.or(coded);
    let (width, height) =
        size.ok_or_else(|| Problem::undecodable(MediaType::Webp, "there is no image in it"))?;
    if image.is_some_and(|image| image.tag == *b"VP8 " && !is_shown(image.body(bytes))) {
        return Err(Problem::undecodable(
            MediaType::Webp,
            "its image is of no known kind, or not to be shown",
        ));
    }
    if coded.is_some_and(|coded| coded != (width, height)) {
        return Err(Problem::undecodable(MediaType::Webp, "its canvas and its image differ in size"));
    }
    // The decoder makes room for the first frame by what is coded, whatever the frame and the canvas say.
    let animated = extended.is_some_and(|(flags, ..)| is_animated(flags));
    let frame = match body_of(b"ANMF").filter(|_| animated) {
        Some(frame) => frame_size(frame).ok_or_else(broken_frame)?,
        None => (0, 0),
    };
    let largest = if pixels(frame) > pixels((width, height)) { frame } else { (width, height) };
    Ok(Facts {
        width,
        height,
        largest,
        orientation: body_of(b"EXIF").map(exif::orientation).unwrap_or_default(),
        animated,
        plain: true,
        has_profile: body_of(b"ICCP").is_some(),
        cicp: None,
        decoding_bytes: WEBP_PIXEL_BYTES * pixels(largest),
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

fn coded_size(image: &Chunk, file: &[u8]) -> Option<(u32, u32)> {
    let body = image.body(file);
    if image.tag == *b"VP8L" { lossless_size(body) } else { lossy_size(body) }
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

fn is_animated(flags: u8) -> bool {
    flags & ANIMATION_FLAG != 0
}

/// Writes the file anew from the chunks that a decoder needs, each of them once: decoders read the first.
pub(crate) fn rebuild(bytes: &[u8], purpose: Purpose) -> Result<Vec<u8>, Problem> {
    let chunks = chunks(bytes)?;
    let original = purpose == Purpose::Original;
    let orientation = if original { inspect(bytes)?.orientation } else { Orientation::default() };
    let first = |tag: &[u8; 4]| chunks.iter().find(|chunk| chunk.tag == *tag).map(|chunk| chunk.body(bytes));
    let mut extended = first(b"VP8X").and_then(|body| body.first_chunk::<10>().copied());
    let profile = first(b"ICCP").filter(|profile| original && colour::is_readable(profile));
    let animated = original && extended.is_some_and(|[flags, ..]| is_animated(flags));
    let mut picture = Vec::new();
    if animated {
        // A picture beside the frames is shown by nobody.
        if let Some(body) = first(b"ANIM").filter(|body| body.len() == 6) {
            push_chunk(&mut picture, *b"ANIM", body);
        }
        for frame in chunks.iter().filter(|chunk| chunk.tag == *b"ANMF") {
            push_chunk(&mut picture, *b"ANMF", &rebuilt_frame(frame.body(bytes))?);
        }
    } else {
        let has_alpha = extended.is_some_and(|[flags, ..]| flags & ALPHA_FLAG != 0);
        push_image(&mut picture, bytes, &chunks, has_alpha);
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

fn broken_frame() -> Problem {
    Problem::undecodable(MediaType::Webp, "a frame of its animation is broken")
}

/// Lists the chunks of a frame of an animation, behind its place.
fn frame_chunks(frame: &[u8]) -> Option<Vec<Chunk>> {
    let mut reader = Reader::new(frame);
    reader.take(FRAME_HEAD_BYTES)?;
    let mut chunks = Vec::new();
    while !reader.is_at_end() {
        let start = reader.position();
        let chunk = read_chunk(&mut reader, start)?;
        if matches!(&chunk.tag, b"ALPH" | b"VP8 " | b"VP8L")
            && chunks.iter().all(|known: &Chunk| known.tag != chunk.tag)
        {
            chunks.push(chunk);
        }
    }
    Some(chunks)
}

/// Returns the size that is coded in a frame; `None` if it has none.
fn frame_size(frame: &[u8]) -> Option<(u32, u32)> {
    let chunks = frame_chunks(frame)?;
    coded_size(chunks.iter().find(|chunk| is_image(chunk))?, frame)
}

/// Returns a frame of an animation with nothing but its place and its picture.
fn rebuilt_frame(frame: &[u8]) -> Result<Vec<u8>, Problem> {
    let chunks = frame_chunks(frame).ok_or_else(broken_frame)?;
    let image = chunks.iter().find(|chunk| is_image(chunk)).ok_or_else(broken_frame)?;
    if image.tag == *b"VP8 " && !is_shown(image.body(frame)) {
        return Err(broken_frame());
    }
    let mut output = frame.get(..FRAME_HEAD_BYTES).ok_or_else(broken_frame)?.to_owned();
    if let Some(flags) = output.last_mut() {
        *flags &= FRAME_FLAGS;
    }
    push_image(&mut output, frame, &chunks, true);
    Ok(output)
}

fn is_image(chunk: &Chunk) -> bool {
    matches!(&chunk.tag, b"VP8 " | b"VP8L")
}

/// Writes the image that a decoder reads: the first of the chunks that hold one, and the alpha before it.
fn push_image(output: &mut Vec<u8>, file: &[u8], chunks: &[Chunk], has_alpha: bool) {
    let Some(image) = chunks.iter().find(|chunk| is_image(chunk)) else { return };
    let mut before = chunks.iter().take_while(|chunk| !is_image(chunk));
    // A lossless image has its own alpha.
    let alpha = before.find(|chunk| chunk.tag == *b"ALPH" && image.tag == *b"VP8 " && has_alpha);
    for chunk in alpha.into_iter().chain([image]) {
        push_chunk(output, chunk.tag, chunk.body(file));
    }
}

fn push_chunk(output: &mut Vec<u8>, tag: [u8; 4], body: &[u8]) {
    output.extend_from_slice(&tag);
    output.extend_from_slice(&u32::try_from(body.len()).unwrap_or(u32::MAX).to_le_bytes());
    output.extend_from_slice(body);
    if body.len() % 2 == 1 {
        output.push(0);
    }
}
