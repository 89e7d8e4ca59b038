//! GIF: blocks.

use std::borrow::Cow;

use wakashu_archive::MediaType;

use super::{Facts, PLAIN_PEAK_BYTES, Piece, Purpose};
use crate::picture::orient::Orientation;
use crate::picture::problem::Problem;
use crate::picture::reader::Reader;

const TRAILER: u8 = 0x3B;

/// Says what a block of a GIF is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block {
    /// Signature, screen size and global palette.
    Header,
    /// Timing and transparency of the next image.
    GraphicControl,
    Image,
    /// How often the animation repeats.
    Loop,
    /// Comments, XMP, ICC and the like.
    Metadata,
    Trailer,
}

/// Lists the blocks up to and including the trailer.
///
/// The walk is one pass over the file and decodes nothing, so that a file of a million frames costs no more than
/// reading it.
fn blocks(bytes: &[u8]) -> Result<Vec<Piece<Block>>, Problem> {
    let cut_short = || Problem::cut_short(MediaType::Gif, "the trailer is missing");
    let mut reader = Reader::new(bytes);
    let mut blocks = Vec::new();
    skip_header(&mut reader).ok_or_else(cut_short)?;
    blocks.push(Piece { tag: Block::Header, span: 0..reader.position(), body: 6..reader.position() });
    loop {
        let start = reader.position();
        let body_start = start + 1;
        let introducer = match reader.u8() {
            Some(introducer) => introducer,
            // Many writers forget the trailer; no viewer minds.
            None if blocks.iter().any(|block| block.tag == Block::Image) => return Ok(blocks),
            None => return Err(cut_short()),
        };
        let tag = match introducer {
            0x21 => skip_extension(&mut reader).ok_or_else(cut_short)?,
            0x2C => skip_image(&mut reader).ok_or_else(cut_short)?,
            TRAILER => Block::Trailer,
            other => {
                let reason = format!("expected a block at byte {start}, found 0x{other:02x}");
                return Err(Problem::undecodable(MediaType::Gif, reason));
            }
        };
        blocks.push(Piece { tag, span: start..reader.position(), body: body_start..reader.position() });
        if tag == Block::Trailer {
            return Ok(blocks);
        }
    }
}

fn skip_header(reader: &mut Reader<'_>) -> Option<()> {
    let header = reader.take(13)?;
    skip_palette(reader, *header.get(10)?)
}

/// Skips a palette if the flags say that there is one.
fn skip_palette(reader: &mut Reader<'_>, flags: u8) -> Option<()> {
    if flags & 0x80 != 0 {
        reader.take(3 << ((flags & 7) + 1))?;
    }
    Some(())
}

fn skip_image(reader: &mut Reader<'_>) -> Option<Block> {
    let descriptor = reader.take(9)?;
    skip_palette(reader, *descriptor.get(8)?)?;
    let _code_size = reader.u8()?;
    skip_sub_blocks(reader)?;
    Some(Block::Image)
}

fn skip_extension(reader: &mut Reader<'_>) -> Option<Block> {
    let label = reader.u8()?;
    let name = reader.rest().get(1..12).unwrap_or_default();
    let tag = match label {
        0xF9 => Block::GraphicControl,
        0xFF if name == b"NETSCAPE2.0" || name == b"ANIMEXTS1.0" => Block::Loop,
        _ => Block::Metadata,
    };
    skip_sub_blocks(reader)?;
    Some(tag)
}

fn skip_sub_blocks(reader: &mut Reader<'_>) -> Option<()> {
    loop {
        match reader.u8()? {
            0 => return Some(()),
            length => reader.take(usize::from(length))?,
        };
    }
}

pub(crate) fn inspect(bytes: &[u8]) -> Result<Facts, Problem> {
    let blocks = blocks(bytes)?;
    let mut images = blocks.iter().filter(|block| block.tag == Block::Image);
    let first =
        images.next().ok_or_else(|| Problem::undecodable(MediaType::Gif, "there is no image in it"))?;
    let animated = images.next().is_some();
    let size_at = |offset: usize| {
        let mut reader = Reader::new(bytes.get(offset..)?);
        Some((u32::from(reader.u16_le()?), u32::from(reader.u16_le()?)))
    };
    let screen = size_at(6);
    let frame = size_at(first.body.start + 4);
    let ((width, height), (frame_width, frame_height)) =
        screen.zip(frame).ok_or_else(|| Problem::cut_short(MediaType::Gif, "the screen size is missing"))?;
    Ok(Facts {
        width,
        height,
        // An image may be larger than the screen it is clipped to, and is decoded whole.
        largest: (width.max(frame_width), height.max(frame_height)),
        orientation: Orientation::default(),
        animated,
        plain: true,
        has_profile: false,
        cicp: None,
        peak_bytes_per_pixel: PLAIN_PEAK_BYTES,
    })
}

pub(crate) fn strip(bytes: &[u8], purpose: Purpose) -> Result<Cow<'_, [u8]>, Problem> {
    let blocks = blocks(bytes)?;
    let kept = |block: &&Piece<Block>| match block.tag {
        Block::Metadata => false,
        Block::Loop => purpose == Purpose::Original,
        Block::Header | Block::GraphicControl | Block::Image | Block::Trailer => true,
    };
    let kept_bytes: usize = blocks.iter().filter(kept).map(|block| block.span.len()).sum();
    if kept_bytes == bytes.len() {
        return Ok(Cow::Borrowed(bytes));
    }
    let mut output = Vec::with_capacity(kept_bytes);
    for block in blocks.iter().filter(kept) {
        output.extend_from_slice(block.bytes(bytes));
    }
    Ok(Cow::Owned(output))
}
