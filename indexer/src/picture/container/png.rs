//! PNG: chunks.

use std::collections::BTreeSet;

use wakashu_archive::MediaType;

use super::{Cicp, Facts, MAX_PIECES, Piece, Purpose, TOO_MANY_PIECES, pixels};
use crate::picture::decode::MAX_PROFILE_BYTES;
use crate::picture::orient::Orientation;
use crate::picture::problem::Problem;
use crate::picture::reader::Reader;
use crate::picture::{colour, exif};

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
/// The first bytes of compressed data with the largest window there is.
const ZLIB_HEADER: [u8; 2] = [0x78, 0x01];

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
        if chunks.len() == MAX_PIECES {
            return Err(Problem::undecodable(MediaType::Png, TOO_MANY_PIECES));
        }
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
    let pixel_bytes = if bit_depth <= 8 { 4 } else { 8 };
    Ok(Facts {
        width,
        height,
        largest: (width, height),
        orientation: body_of(b"eXIf").map(exif::orientation).unwrap_or_default(),
        animated: body_of(b"acTL").is_some(),
        plain: bit_depth <= 8,
        has_profile: body_of(b"iCCP").is_some(),
        cicp,
        // Rows come out one by one, those of an interlaced picture too.
        decoding_bytes: pixel_bytes * pixels((width, height)) + 16 * pixel_bytes * u64::from(width),
        decoded_bytes_per_pixel: pixel_bytes,
    })
}

fn read_header(body: &[u8]) -> Option<(u32, u32, u8)> {
    let mut reader = Reader::new(body);
    Some((reader.u32_be()?, reader.u32_be()?, reader.u8()?))
}

/// Writes the file anew from the chunks that a decoder needs.
///
/// Compressed data are inflated on the way: what stands behind their end is left out, and data of another length
/// than the picture's are refused, since other readers refuse them.
pub(crate) fn rebuild(bytes: &[u8], purpose: Purpose) -> Result<Vec<u8>, Problem> {
    let chunks = chunks(bytes)?;
    let broken = |reason: &str| Problem::undecodable(MediaType::Png, reason);
    let first = chunks.first().map(|chunk| chunk.body(bytes)).unwrap_or_default();
    let shape = Shape::read(first).ok_or_else(|| broken("the header chunk `IHDR` is missing or broken"))?;
    let orientation = match purpose {
        Purpose::Rendition => Orientation::default(),
        Purpose::Original => inspect(bytes)?.orientation,
    };
    let mut output = Vec::with_capacity(bytes.len().min(1 << 20));
    output.extend_from_slice(SIGNATURE);
    push_chunk(&mut output, *b"IHDR", first);
    if !orientation.is_upright() {
        push_chunk(&mut output, *b"eXIf", &exif::orientation_only(orientation));
    }
    let original = purpose == Purpose::Original;
    let mut frames = Frames { bytes, shape, sequence: 0, left: 0, control: None };
    let palette = shape.colours == Colours::Palette;
    // How many colours the palette has.
    let mut colours = 0;
    let mut seen = BTreeSet::new();
    let mut rest = chunks.as_slice();
    while let Some((chunk, later)) = rest.split_first() {
        let run = rest;
        rest = later;
        let body = chunk.body(bytes);
        let is_first = seen.insert(chunk.tag);
        if matches!(&chunk.tag, b"IDAT" | b"fdAT") {
            let count = 1 + rest.iter().take_while(|next| next.tag == chunk.tag).count();
            let (run, later) = run.split_at(count);
            rest = later;
            // The picture is in one run, and so is each frame; what comes in a second one belongs to nothing.
            let is_read = match &chunk.tag {
                b"IDAT" => is_first,
                _ => frames.control.is_some() && seen.contains(b"IDAT"),
            };
            if is_read {
                frames.data(&mut output, run).ok_or_else(|| broken("its compressed data are broken"))?;
            }
            continue;
        }
        if chunk.tag == *b"fcTL" {
            if body.len() == 26 {
                frames.control(body);
            }
            continue;
        }
        // Readers take the first, and behind the picture none.
        if !is_first || seen.contains(b"IDAT") {
            continue;
        }
        match &chunk.tag {
            b"PLTE" if palette => {
                if body.is_empty() || body.len() % 3 != 0 || body.len() > 768 {
                    return Err(broken("its palette is broken"));
                }
                colours = body.len() / 3;
                push_chunk(&mut output, *b"PLTE", body);
            }
            b"tRNS" if body.len() <= 256 && shape.may_be_transparent(body.len()) => {
                let used = if palette { body.get(..colours).unwrap_or(body) } else { body };
                if !used.is_empty() {
                    push_chunk(&mut output, *b"tRNS", used);
                }
            }
            b"gAMA" | b"cHRM" | b"sRGB" | b"cICP" if original && body.len() == colour_bytes(chunk.tag) => {
                push_chunk(&mut output, chunk.tag, body);
            }
            b"iCCP" if original => {
                if let Some(profile) = inflated_profile(body).filter(|profile| colour::is_readable(profile)) {
                    push_chunk(&mut output, *b"iCCP", &[b"icc\0\0".as_slice(), &stored(&profile)].concat());
                }
            }
            b"acTL" if original && body.len() == 8 => {
                frames.left = Reader::new(body).u32_be().unwrap_or(0);
                push_chunk(&mut output, *b"acTL", body);
            }
            _ => {}
        }
    }
    if palette && !seen.contains(b"PLTE") {
        return Err(broken("its palette is missing"));
    }
    push_chunk(&mut output, *b"IEND", &[]);
    Ok(output)
}

/// How the pixels of a picture are stored.
#[derive(Debug, Clone, Copy)]
struct Shape {
    width: u32,
    height: u32,
    bits_per_pixel: u64,
    interlaced: bool,
    colours: Colours,
}

/// What a pixel consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Colours {
    Grey,
    Rgb,
    Palette,
    WithAlpha,
}

impl Shape {
    fn read(header: &[u8]) -> Option<Self> {
        let [.., depth, colour, 0, 0, interlace @ (0 | 1)] = *header else { return None };
        let mut reader = Reader::new(header);
        let (width, height) = (reader.u32_be()?, reader.u32_be()?);
        let samples = match (colour, depth) {
            (0, 1 | 2 | 4 | 8 | 16) | (3, 1 | 2 | 4 | 8) => 1,
            (2, 8 | 16) => 3,
            (4, 8 | 16) => 2,
            (6, 8 | 16) => 4,
            _ => return None,
        };
        (header.len() == 13).then_some(Self {
            width,
            height,
            bits_per_pixel: samples * u64::from(depth),
            interlaced: interlace == 1,
            colours: match colour {
                0 => Colours::Grey,
                2 => Colours::Rgb,
                3 => Colours::Palette,
                _ => Colours::WithAlpha,
            },
        })
    }

    /// Returns how many bytes the rows take before they are compressed.
    fn row_bytes(self, width: u32, height: u32) -> u64 {
        // Where each of the seven passes starts, and how far apart its pixels are: columns, then rows.
        const PASSES: [(u32, u32, u32, u32); 7] = [
            (0, 8, 0, 8),
            (4, 8, 0, 8),
            (0, 4, 4, 8),
            (2, 4, 0, 4),
            (0, 2, 2, 4),
            (1, 2, 0, 2),
            (0, 1, 1, 2),
        ];
        let bytes = |width: u32, height: u32| {
            let row = 1 + (u64::from(width) * self.bits_per_pixel).div_ceil(8);
            if width == 0 { 0 } else { row.saturating_mul(u64::from(height)) }
        };
        if !self.interlaced {
            return bytes(width, height);
        }
        let part = |length: u32, start: u32, step: u32| length.saturating_sub(start).div_ceil(step);
        let passes = PASSES.iter();
        passes
            .map(|(left, across, top, down)| bytes(part(width, *left, *across), part(height, *top, *down)))
            .sum()
    }

    fn may_be_transparent(self, length: usize) -> bool {
        match self.colours {
            Colours::Palette => length > 0,
            Colours::Grey => length == 2,
            Colours::Rgb => length == 6,
            Colours::WithAlpha => false,
        }
    }
}

/// Returns how long a chunk that describes colours is.
fn colour_bytes(tag: [u8; 4]) -> usize {
    match &tag {
        b"cHRM" => 32,
        b"sRGB" => 1,
        _ => 4,
    }
}

/// Writes the frames of a picture or an animation, numbered anew.
struct Frames<'a> {
    bytes: &'a [u8],
    /// Of the frame that comes next.
    shape: Shape,
    sequence: u32,
    /// How many frames the animation still has; none if the picture is still.
    left: u32,
    /// Place and timing of the frame whose data come next.
    control: Option<&'a [u8]>,
}

impl<'a> Frames<'a> {
    fn number(&mut self) -> [u8; 4] {
        self.sequence += 1;
        (self.sequence - 1).to_be_bytes()
    }

    /// Takes place and timing of the next frame; they are written with its data.
    fn control(&mut self, body: &'a [u8]) {
        let mut reader = Reader::new(body.get(4..).unwrap_or_default());
        if let (Some(width), Some(height), 1..) = (reader.u32_be(), reader.u32_be(), self.left) {
            (self.shape.width, self.shape.height) = (width, height);
            self.control = Some(body);
        }
    }

    /// Writes the compressed data of one frame; `None` if they do not make its rows.
    fn data(&mut self, output: &mut Vec<u8>, run: &[Chunk]) -> Option<()> {
        if let Some(control) = self.control.take() {
            self.left = self.left.saturating_sub(1);
            let number = self.number();
            push_chunk(output, *b"fcTL", &[number.as_slice(), control.get(4..)?].concat());
        }
        let tag = run.first()?.tag;
        // In an animation's chunks a number comes first.
        let skipped = if tag == *b"fdAT" { 4 } else { 0 };
        let bodies: Option<Vec<&[u8]>> =
            run.iter().map(|chunk| chunk.body(self.bytes).get(skipped..)).collect();
        let bodies = bodies?;
        let mut data = bodies.concat();
        let (end, produced) = inflate(&data)?;
        if produced != self.shape.row_bytes(self.shape.width, self.shape.height) {
            return None;
        }
        // A reader believes in the window declared here, while writers do not always keep to it.
        let narrow = data.first()? >> 4 != 7;
        if narrow {
            data.first_chunk_mut::<2>()?.copy_from_slice(&ZLIB_HEADER);
        }
        if narrow || end < data.len() {
            self.push_part(output, tag, data.get(..end)?);
        } else {
            // Not needed beside its copy.
            drop(data);
            for part in bodies {
                self.push_part(output, tag, part);
            }
        }
        Some(())
    }

    fn push_part(&mut self, output: &mut Vec<u8>, tag: [u8; 4], part: &[u8]) {
        if tag == *b"fdAT" {
            let number = self.number();
            push_chunk(output, tag, &[&number, part].concat());
        } else {
            push_chunk(output, tag, part);
        }
    }
}

/// Follows compressed data to their end, and returns where that is and how many bytes came out; `None` if they are
/// broken.
fn inflate(data: &[u8]) -> Option<(usize, u64)> {
    /// What the data may refer back to.
    const WINDOW: usize = 1 << 15;
    let mut inflater = fdeflate::Decompressor::new();
    let mut window = vec![0; 8 * WINDOW];
    let (mut consumed, mut position, mut total) = (0, 0, 0);
    let mut checksum = Adler::default();
    while !inflater.is_done() {
        if position == window.len() {
            window.copy_within(position - WINDOW.., 0);
            position = WINDOW;
        }
        let (read, produced) = inflater.read(data.get(consumed..)?, &mut window, position, true).ok()?;
        checksum.add(window.get(position..position + produced)?);
        consumed += read;
        position += produced;
        total += produced as u64;
    }
    // Up to four bytes too many may have been read; the data end with their checksum.
    let ends = consumed.saturating_sub(4)..=consumed;
    let checksum = checksum.finish();
    let end = ends.into_iter().find(|end| data.get(..*end).is_some_and(|data| data.ends_with(&checksum)))?;
    Some((end, total))
}

/// The checksum of compressed data (Adler-32).
struct Adler {
    low: u32,
    high: u32,
}

impl Default for Adler {
    fn default() -> Self {
        Self { low: 1, high: 0 }
    }
}

impl Adler {
    const MODULUS: u32 = 65_521;
    /// So many bytes cannot overflow the sums.
    const RUN: usize = 5_552;

    fn add(&mut self, bytes: &[u8]) {
        for run in bytes.chunks(Self::RUN) {
            for byte in run {
                self.low += u32::from(*byte);
                self.high += self.low;
            }
            self.low %= Self::MODULUS;
            self.high %= Self::MODULUS;
        }
    }

    fn finish(&self) -> [u8; 4] {
        (self.high << 16 | self.low).to_be_bytes()
    }
}

fn inflated_profile(body: &[u8]) -> Option<Vec<u8>> {
    let name_end = body.iter().position(|byte| *byte == 0)?;
    fdeflate::decompress_to_vec_bounded(body.get(name_end + 2..)?, MAX_PROFILE_BYTES).ok()
}

/// Returns bytes in the form of compressed data, as they are.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let mut output = ZLIB_HEADER.to_vec();
    let mut parts = bytes.chunks(usize::from(u16::MAX)).peekable();
    while let Some(part) = parts.next() {
        let length = u16::try_from(part.len()).unwrap_or(u16::MAX);
        output.push(u8::from(parts.peek().is_none()));
        output.extend_from_slice(&length.to_le_bytes());
        output.extend_from_slice(&(!length).to_le_bytes());
        output.extend_from_slice(part);
    }
    let mut checksum = Adler::default();
    checksum.add(bytes);
    output.extend_from_slice(&checksum.finish());
    output
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
    const TABLE: [u32; 256] = crc_table();
    let folded = bytes.fold(u32::MAX, |crc, byte| {
        let [low, ..] = crc.to_le_bytes();
        crc >> 8 ^ TABLE.get(usize::from(low ^ byte)).copied().unwrap_or(0)
    });
    !folded
}

#[expect(clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "computed by the compiler")]
const fn crc_table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg());
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
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
