//! Writing JPEG files: sound ones from their own segments, repaired ones from coefficients.

use super::scan::place;
use super::{Block, Examined, Piece, Quantisation};
use crate::picture::exif;
use crate::picture::orient::Orientation;

const END: &[u8] = &[0xFF, 0xD9];
/// Version 1.1, no density, no thumbnail.
const JFIF: &[u8] = b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0";
/// What a segment holds of a profile, beside its own 16 bytes.
const PROFILE_PART_BYTES: usize = 65_519;

/// Codes of one length for the first coefficients, and of another for the rest: what is written here is read once.
const FIRST_CODE_BITS: u8 = 5;
const OTHER_CODE_BITS: u8 = 9;

impl Examined<'_> {
    /// Returns the colour profile, if all of it is there.
    pub(crate) fn profile(&self) -> Option<Vec<u8>> {
        let mut parts: Vec<(u8, u8, &[u8])> = Vec::new();
        for part in &self.profile {
            let ([number, count], rest) = part.split_first_chunk::<2>()?;
            parts.push((*number, *count, rest));
        }
        parts.sort_by_key(|(number, ..)| *number);
        let complete = parts.iter().enumerate().all(|(position, (number, count, _))| {
            usize::from(*number) == position + 1 && usize::from(*count) == parts.len()
        });
        (complete && !parts.is_empty()).then(|| parts.iter().flat_map(|(.., part)| *part).copied().collect())
    }

    /// Writes the file anew: the picture, which way is up, a profile, and nothing else.
    pub(crate) fn rebuild(&self, orientation: Orientation, profile: Option<&[u8]>) -> Vec<u8> {
        let mut output = self.begin(orientation, profile);
        for piece in &self.body {
            push(&mut output, piece);
        }
        output.extend_from_slice(END);
        output
    }

    /// Writes a sound file from the coefficients of a damaged one.
    pub(crate) fn repair(&self) -> Vec<u8> {
        let mut output = self.begin(Orientation::default(), self.profile().as_deref());
        let mut header = self.frame.header.clone();
        let mut scan = vec![u8::try_from(self.frame.components.len()).unwrap_or(0)];
        for (number, component) in self.frame.components.iter().enumerate() {
            // Each component gets a table of its own.
            let table = component.quantisation.unwrap_or([1; 64]);
            push(&mut output, &quantisation_segment(number, &table));
            if let Some(field) = header.get_mut(8 + 3 * number) {
                *field = u8::try_from(number).unwrap_or(0);
            }
            scan.extend_from_slice(&[component.id, 0]);
        }
        scan.extend_from_slice(&[0, 63, 0]);
        push(&mut output, &Piece { marker: 0xC1, body: header, data: &[] });
        push(&mut output, &Piece { marker: 0xC4, body: table_of(0, FIRST_CODE_BITS, 0..=15), data: &[] });
        push(&mut output, &Piece { marker: 0xC4, body: table_of(0x10, OTHER_CODE_BITS, 0..=255), data: &[] });
        push(&mut output, &Piece { marker: 0xDA, body: scan, data: &[] });
        self.write_blocks(&mut Bits { output: &mut output, buffer: 0, count: 0 });
        output.extend_from_slice(END);
        output
    }

    fn begin(&self, orientation: Orientation, profile: Option<&[u8]>) -> Vec<u8> {
        let mut output = vec![0xFF, 0xD8];
        let mut segment = |marker, body: Vec<u8>| push(&mut output, &Piece { marker, body, data: &[] });
        if self.has_jfif {
            segment(0xE0, JFIF.to_owned());
        }
        if !orientation.is_upright() {
            segment(0xE1, [b"Exif\0\0".as_slice(), &exif::orientation_only(orientation)].concat());
        }
        if let Some(colours) = self.adobe {
            segment(0xEE, [b"Adobe\0\x64\0\0\0\0".as_slice(), &[colours]].concat());
        }
        let parts = profile.unwrap_or_default().chunks(PROFILE_PART_BYTES);
        if let Ok(count) = u8::try_from(parts.len()) {
            for (number, part) in (1..).zip(parts) {
                segment(0xE2, [b"ICC_PROFILE\0".as_slice(), &[number, count], part].concat());
            }
        }
        output
    }

    fn write_blocks(&self, bits: &mut Bits<'_>) {
        const EMPTY: Block = [0; 64];
        let single = self.frame.components.len() == 1;
        let (columns, rows) = self.frame.units(0..self.frame.components.len());
        let mut last = [0; 4];
        for unit in 0..columns * rows {
            let (column, row) = (unit % columns, unit / columns);
            let components = self.frame.components.iter().zip(&self.planes).zip(&mut last);
            for ((component, plane), last) in components {
                let (across, down) = if single { (1, 1) } else { (component.across, component.down) };
                let table = component.quantisation.unwrap_or([1; 64]);
                for block in 0..across * down {
                    let (column, row) = (column * across + block % across, row * down + block / across);
                    let block = plane.blocks.get(row * plane.columns + column).unwrap_or(&EMPTY);
                    bits.block(block, &table, last);
                }
            }
        }
        bits.finish();
    }
}

pub(super) fn quantisation_segment(place: usize, table: &Quantisation) -> Piece<'static> {
    let wide = table.iter().any(|value| *value > 255);
    let place = u8::try_from(place).unwrap_or(0);
    let mut body = vec![u8::from(wide) << 4 | place];
    for value in table {
        let [high, low] = value.to_be_bytes();
        if wide {
            body.push(high);
        }
        body.push(low);
    }
    Piece { marker: 0xDB, body, data: &[] }
}

fn push(output: &mut Vec<u8>, piece: &Piece<'_>) {
    output.extend_from_slice(&[0xFF, piece.marker]);
    output.extend_from_slice(&u16::try_from(piece.body.len() + 2).unwrap_or(u16::MAX).to_be_bytes());
    output.extend_from_slice(&piece.body);
    output.extend_from_slice(piece.data);
}

/// Returns a table in which every symbol has a code of the same length.
fn table_of(place: u8, bits: u8, symbols: std::ops::RangeInclusive<u8>) -> Vec<u8> {
    let mut body = vec![place];
    // 256 codes do not fit the one byte of their number; the last takes one bit more.
    let (count, rest) = match symbols.clone().count() {
        256 => (255, 1),
        count => (u8::try_from(count).unwrap_or(u8::MAX), 0),
    };
    body.extend((1..=16).map(|length| {
        if length == bits {
            count
        } else if length == bits + 1 {
            rest
        } else {
            0
        }
    }));
    body.extend(symbols);
    body
}

/// Writes entropy-coded data.
struct Bits<'a> {
    output: &'a mut Vec<u8>,
    buffer: u64,
    count: u32,
}

impl Bits<'_> {
    fn block(&mut self, block: &Block, table: &Quantisation, last: &mut i32) {
        let coefficient = |number: usize| {
            let value = block.get(place(number)).copied().unwrap_or(0);
            // Beyond this a decoder shows black or white in any case, or leaves the range of its numbers.
            let most = 16_383 / i32::from(table.get(number).copied().unwrap_or(1)).max(1);
            i32::from(value).clamp(-most, most)
        };
        let first = coefficient(0);
        let size = size_of(first - *last);
        self.push(size, u32::from(FIRST_CODE_BITS));
        self.number(first - *last, size);
        *last = first;
        let mut zeros = 0;
        for number in 1..64 {
            let value = coefficient(number);
            if value == 0 {
                zeros += 1;
                continue;
            }
            while zeros > 15 {
                self.other(0xF0);
                zeros -= 16;
            }
            let size = size_of(value);
            self.other(zeros << 4 | size);
            self.number(value, size);
            zeros = 0;
        }
        if zeros > 0 {
            self.other(0);
        }
    }

    fn other(&mut self, symbol: u32) {
        if symbol == 255 {
            // The one longer code follows the last of the others.
            self.push(255 << 1, u32::from(OTHER_CODE_BITS) + 1);
        } else {
            self.push(symbol, u32::from(OTHER_CODE_BITS));
        }
    }

    #[expect(clippy::cast_sign_loss, reason = "the lowest bits of two's complement are what is written")]
    fn number(&mut self, value: i32, size: u32) {
        let value = if value < 0 { value - 1 } else { value };
        self.push(value as u32 & ((1 << size) - 1), size);
    }

    fn push(&mut self, bits: u32, count: u32) {
        self.buffer = self.buffer << count | u64::from(bits);
        self.count += count;
        while self.count >= 8 {
            self.count -= 8;
            let byte = u8::try_from(self.buffer >> self.count & 0xFF).unwrap_or(0);
            self.output.push(byte);
            if byte == 0xFF {
                self.output.push(0);
            }
        }
    }

    fn finish(&mut self) {
        // The last byte is filled up with ones.
        let missing = (8 - self.count % 8) % 8;
        self.push((1 << missing) - 1, missing);
    }
}

/// Returns how many bits a number takes.
fn size_of(value: i32) -> u32 {
    32 - value.unsigned_abs().leading_zeros()
}
