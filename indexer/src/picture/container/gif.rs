//! GIF: blocks.

use wakashu_archive::MediaType;

use super::{Facts, MAX_PIECES, Piece, Purpose, TOO_MANY_PIECES, pixels};
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
        if blocks.len() == MAX_PIECES {
            return Err(Problem::undecodable(MediaType::Gif, TOO_MANY_PIECES));
        }
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
        // The frame, and the canvas it is put on.
        decoding_bytes: 4 * (pixels((width, height)) + pixels((frame_width, frame_height))),
        decoded_bytes_per_pixel: 4,
    })
}

/// Writes the file anew from the blocks that a decoder needs; of a rendition's, the first image only.
pub(crate) fn rebuild(bytes: &[u8], purpose: Purpose) -> Result<Vec<u8>, Problem> {
    let broken = || Problem::undecodable(MediaType::Gif, "its compressed data are broken");
    let blocks = blocks(bytes)?;
    let mut output = Vec::with_capacity(bytes.len().min(1 << 20));
    for block in &blocks {
        match block.tag {
            Block::Header => output.extend_from_slice(block.bytes(bytes)),
            Block::GraphicControl => {
                // Timing and transparency are four bytes; a block of another length says nothing to a decoder.
                let control = block.body(bytes).get(1..6).filter(|control| control.first() == Some(&4));
                if let Some(control) = control {
                    output.extend_from_slice(&[0x21, 0xF9]);
                    output.extend_from_slice(control);
                    output.push(0);
                }
            }
            Block::Image => push_image(&mut output, block.body(bytes)).ok_or_else(broken)?,
            Block::Loop if purpose == Purpose::Original => {
                // Label and name come first, then one block of three bytes: a mark and how often.
                if let Some([3, 1, low, high]) = block.body(bytes).get(13..17) {
                    output.extend_from_slice(b"\x21\xff\x0bNETSCAPE2.0\x03\x01");
                    output.extend_from_slice(&[*low, *high, 0]);
                }
            }
            Block::Loop | Block::Metadata | Block::Trailer => {}
        }
    }
    output.push(TRAILER);
    Ok(output)
}

/// Writes an image with its compressed data up to the code that ends them.
fn push_image(output: &mut Vec<u8>, body: &[u8]) -> Option<()> {
    let mut reader = Reader::new(body);
    let descriptor = reader.take(9)?;
    skip_palette(&mut reader, *descriptor.get(8)?)?;
    let code_bits = reader.u8()?;
    let head = body.get(..reader.position())?;
    let mut data = Vec::with_capacity(reader.rest().len());
    loop {
        match reader.u8()? {
            0 => break,
            length => data.extend_from_slice(reader.take(usize::from(length))?),
        }
    }
    data.truncate(code_end(&data, code_bits)?);
    output.push(0x2C);
    output.extend_from_slice(head);
    for part in data.chunks(255) {
        output.push(u8::try_from(part.len()).ok()?);
        output.extend_from_slice(part);
    }
    output.push(0);
    Some(())
}

/// Returns where the compressed data (LZW) end; all of them if they have no end code, as many writers leave it out.
///
/// How many bits a code has follows from how many there were before it, so that nothing needs to be decoded.
fn code_end(data: &[u8], code_bits: u8) -> Option<usize> {
    let clear = match code_bits {
        1..=11 => 1_u32 << code_bits,
        _ => return None,
    };
    let (first_free, first_bits) = (clear + 2, u32::from(code_bits) + 1);
    let (mut next, mut bits, mut previous) = (first_free, first_bits, false);
    let (mut buffer, mut count) = (0_u32, 0);
    let mut end = 0;
    loop {
        while count < bits {
            let Some(byte) = data.get(end) else { return Some(data.len()) };
            buffer |= u32::from(*byte) << count;
            count += 8;
            end += 1;
        }
        let code = buffer & ((1 << bits) - 1);
        buffer >>= bits;
        count -= bits;
        if code == clear {
            (next, bits, previous) = (first_free, first_bits, false);
        } else if code == clear + 1 {
            return Some(end);
        } else {
            // The first code after a clear one adds nothing to the dictionary.
            if previous && next < 4096 {
                next += 1;
                if next == 1 << bits && bits < 12 {
                    bits += 1;
                }
            }
            previous = true;
        }
    }
}
