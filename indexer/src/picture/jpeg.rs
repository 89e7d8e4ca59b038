//! JPEG from the first marker to the last: what is sound, what is damaged, and a sound file made of either.
//!
//! A decoder that meets damage shows something, and decoders differ in what. Here every scan is decoded to coefficients
//! in the way of libjpeg, which is what most viewers have: restart markers that are missing or out of order cost their
//! own part of the picture only. A damaged file is then written anew from the coefficients and given to the decoder.
//! A sound file is written anew too before it is passed on, from the few segments that a decoder needs.

mod huffman;
mod scan;
mod source;
mod write;

use std::ops::Range;

use huffman::Huffman;
use scan::{Part, Scan};
use source::Source;

use super::reader::Reader;

/// The coefficients of 8 x 8 samples, row by row.
type Block = [i16; 64];

/// More scans than any writer makes, and few enough to be decoded in a moment.
const MAX_SCANS: usize = 500;

/// Holds a file that can be shown, and what is wrong with it.
pub(crate) struct Examined<'a> {
    frame: Frame,
    /// What to write between the segments at the start and the end mark.
    body: Vec<Piece<'a>>,
    planes: Vec<Plane>,
    has_jfif: bool,
    /// How the colours are stored, if Adobe's segment says so.
    adobe: Option<u8>,
    profile: Vec<&'a [u8]>,
    /// What is wrong, in words; `None` if the file is sound.
    pub(crate) fault: Option<&'static str>,
}

/// A segment to be written, and the entropy-coded data behind it.
struct Piece<'a> {
    marker: u8,
    body: Vec<u8>,
    data: &'a [u8],
}

/// What the frame header says.
struct Frame {
    width: u32,
    height: u32,
    header: Vec<u8>,
    progressive: bool,
    components: Vec<Component>,
}

struct Component {
    id: u8,
    across: usize,
    down: usize,
    table: usize,
    /// The quantisation table in force at the component's first scan.
    quantisation: Option<Quantisation>,
    /// How much is known of each coefficient of a progressive picture: its lowest bit, if it came at all.
    known: [Option<u32>; 64],
}

type Quantisation = [u16; 64];

/// The coefficients of one component; none of them where nobody wants them.
#[derive(Default)]
struct Plane {
    columns: usize,
    blocks: Vec<Block>,
}

impl Plane {
    fn block(&mut self, column: usize, row: usize) -> Option<&mut Block> {
        if column >= self.columns { None } else { self.blocks.get_mut(row * self.columns + column) }
    }
}

/// Reads a file and decodes its coefficients.
///
/// Fails, with the reason in words, where libjpeg gives up before the first row of the picture.
pub(crate) fn examine(bytes: &[u8]) -> Result<Examined<'_>, &'static str> {
    let examined = Examiner::new(bytes, false).run()?;
    // A sequential file needs its coefficients only if it is to be repaired.
    if examined.fault.is_some() && !examined.frame.progressive {
        return Examiner::new(bytes, true).run();
    }
    Ok(examined)
}

/// Says in words why no decoder here reads this kind of JPEG.
pub(crate) fn unsupported_kind(marker: u8) -> Option<&'static str> {
    match marker {
        0xC3 => Some("it is lossless JPEG (SOF3), which hardly any viewer reads"),
        0xC5..=0xC7 => Some("it is hierarchical JPEG, which hardly any viewer reads"),
        0xC9 | 0xCA => Some("it is arithmetic-coded JPEG, which hardly any viewer reads"),
        0xCB | 0xCD..=0xCF => Some("it is a kind of JPEG that hardly any viewer reads"),
        _ => None,
    }
}

struct Examiner<'a> {
    source: Source<'a>,
    bytes: &'a [u8],
    keep_coefficients: bool,
    frame: Option<Frame>,
    planes: Vec<Plane>,
    quantisation: [Option<Quantisation>; 4],
    first_tables: [Option<Huffman>; 4],
    other_tables: [Option<Huffman>; 4],
    restart_interval: u16,
    written: Written,
    body: Vec<Piece<'a>>,
    scans: usize,
    has_jfif: bool,
    adobe: Option<u8>,
    profile: Vec<&'a [u8]>,
}

/// The tables as the pieces so far define them.
#[derive(Default)]
struct Written {
    quantisation: [Option<Quantisation>; 4],
    first_tables: [Option<Huffman>; 4],
    other_tables: [Option<Huffman>; 4],
    restart_interval: u16,
}

/// Whether there is more to read.
enum Next {
    More,
    End,
}

impl<'a> Examiner<'a> {
    fn new(bytes: &'a [u8], keep_coefficients: bool) -> Self {
        Self {
            source: Source::new(bytes),
            bytes,
            keep_coefficients,
            frame: None,
            planes: Vec::new(),
            quantisation: [None; 4],
            first_tables: [const { None }; 4],
            other_tables: [const { None }; 4],
            restart_interval: 0,
            written: Written::default(),
            body: Vec::new(),
            scans: 0,
            has_jfif: false,
            adobe: None,
            profile: Vec::new(),
        }
    }

    fn run(mut self) -> Result<Examined<'a>, &'static str> {
        if self.source.take_marker() != 0xD8 {
            return Err("it does not begin with the start mark `SOI`");
        }
        loop {
            match self.step() {
                Ok(Next::More) => {}
                Ok(Next::End) => break,
                // What came before is there to be shown.
                Err(reason) if self.scans > 0 => {
                    self.source.note(reason);
                    break;
                }
                Err(reason) => return Err(reason),
            }
        }
        let frame = self.frame.ok_or("there is no frame header")?;
        if self.scans == 0 {
            return Err("there is no picture behind its header");
        }
        if frame.components.iter().any(|component| component.quantisation.is_none()) {
            self.source.note("a part of its colours is missing");
        }
        Ok(Examined {
            frame,
            body: self.body,
            planes: self.planes,
            has_jfif: self.has_jfif,
            adobe: self.adobe,
            profile: self.profile,
            fault: self.source.fault,
        })
    }

    fn step(&mut self) -> Result<Next, &'static str> {
        let marker = self.source.take_marker();
        match marker {
            0xD9 => return Ok(Next::End),
            0x01 | 0xD0..=0xD7 => return Ok(Next::More),
            0xD8 => return Err("there is a second start mark in it"),
            _ => {}
        }
        let body = self.source.segment().ok_or("a segment of it is broken or cut short")?;
        match marker {
            0xC0..=0xC2 => self.frame(marker, body)?,
            0xC4 => self.huffman_tables(body)?,
            0xDA => return self.scan(body),
            0xDB => self.quantisation_tables(body)?,
            0xDD => {
                let interval = body.first_chunk::<2>().filter(|_| body.len() == 2);
                self.restart_interval =
                    u16::from_be_bytes(*interval.ok_or("its restart interval is broken")?);
            }
            0xE0 => self.has_jfif |= body.starts_with(b"JFIF\0"),
            0xE2 => self.profile.extend(body.strip_prefix(b"ICC_PROFILE\0")),
            0xEE if body.starts_with(b"Adobe") => self.adobe = body.get(11).copied().or(self.adobe),
            0xDC | 0xE0..=0xEF | 0xFE => {}
            _ => {
                if let Some(reason) = unsupported_kind(marker) {
                    return Err(reason);
                }
                self.source.note("there is a segment of an unknown kind in it");
            }
        }
        Ok(Next::More)
    }

    fn frame(&mut self, marker: u8, body: &[u8]) -> Result<(), &'static str> {
        const BROKEN: &str = "the frame header is broken";
        if self.frame.is_some() {
            return Err("there are two frame headers in it");
        }
        let mut reader = Reader::new(body);
        let mut size =
            || Some((reader.u8()?, u32::from(reader.u16_be()?), u32::from(reader.u16_be()?), reader.u8()?));
        let (precision, height, width, count) = size().ok_or(BROKEN)?;
        if precision != 8 {
            return Err("it has more than 8 bits for each colour, which hardly any viewer reads");
        }
        if width == 0 || height == 0 || !matches!(count, 1..=4) || body.len() != 6 + 3 * usize::from(count) {
            return Err(BROKEN);
        }
        let mut components = Vec::new();
        for field in body.get(6..).unwrap_or_default().chunks_exact(3) {
            let [id, sampling, table] = *field else { return Err(BROKEN) };
            let (across, down) = (usize::from(sampling >> 4), usize::from(sampling & 15));
            if !matches!((across, down, table), (1..=4, 1..=4, 0..=3)) {
                return Err(BROKEN);
            }
            let table = usize::from(table);
            components.push(Component { id, across, down, table, quantisation: None, known: [None; 64] });
        }
        let progressive = marker == 0xC2;
        let frame = Frame { width, height, header: body.to_owned(), progressive, components };
        for number in 0..frame.components.len() {
            let (columns, rows) = frame.stored_blocks(number);
            let kept = self.keep_coefficients || progressive;
            let blocks = if kept { vec![[0; 64]; columns * rows] } else { Vec::new() };
            self.planes.push(Plane { columns, blocks });
        }
        // Sequential files may say so in either of two ways; what matters is that they are not progressive.
        self.body.push(Piece { marker, body: frame.header.clone(), data: &[] });
        self.frame = Some(frame);
        Ok(())
    }

    fn huffman_tables(&mut self, mut body: &[u8]) -> Result<(), &'static str> {
        const BROKEN: &str = "a Huffman table is broken";
        while let Some((place, rest)) = body.split_first() {
            let (table, rest) = Huffman::read(rest).ok_or(BROKEN)?;
            let tables = match place >> 4 {
                0 if table.has_lengths_only() => &mut self.first_tables,
                1 => &mut self.other_tables,
                _ => return Err(BROKEN),
            };
            *tables.get_mut(usize::from(place & 15)).ok_or(BROKEN)? = Some(table);
            body = rest;
        }
        Ok(())
    }

    fn quantisation_tables(&mut self, mut body: &[u8]) -> Result<(), &'static str> {
        const BROKEN: &str = "a quantisation table is broken";
        while let Some((place, rest)) = body.split_first() {
            let wide = place >> 4 != 0;
            let (values, rest) = rest.split_at_checked(if wide { 128 } else { 64 }).ok_or(BROKEN)?;
            let mut table = [0; 64];
            for (number, value) in table.iter_mut().enumerate() {
                let byte = |at: usize| u16::from(values.get(at).copied().unwrap_or(0));
                *value = if wide { byte(2 * number) << 8 | byte(2 * number + 1) } else { byte(number) };
            }
            *self.quantisation.get_mut(usize::from(place & 15)).ok_or(BROKEN)? = Some(table);
            body = rest;
        }
        Ok(())
    }

    fn scan(&mut self, body: &[u8]) -> Result<Next, &'static str> {
        const BROKEN: &str = "the header of a scan is broken";
        const MISSING: &str = "a Huffman table is missing";
        let frame = self.frame.as_mut().ok_or("a scan comes before the frame header")?;
        if self.scans >= MAX_SCANS {
            return Err("it has too many scans");
        }
        let (count, rest) = body.split_first().ok_or(BROKEN)?;
        let (fields, rest) = rest.split_at_checked(2 * usize::from(*count)).ok_or(BROKEN)?;
        let [start, end, approximation] = *rest else { return Err(BROKEN) };
        if !matches!(count, 1..=4) {
            return Err(BROKEN);
        }
        let (start, end) = (usize::from(start), usize::from(end));
        let (high, low) = (u32::from(approximation >> 4), u32::from(approximation & 15));
        let progressive = frame.progressive;
        if progressive {
            let first = start == 0;
            let whole = if first { end == 0 } else { start <= end && end < 64 && *count == 1 };
            if !whole || (high != 0 && low + 1 != high) || low > 13 {
                return Err("its scans do not make a picture");
            }
        } else if (start, end, approximation) != (0, 63, 0) {
            self.source.note("the header of a scan is broken");
        }
        let needs_first = !progressive || (start == 0 && high == 0);
        let needs_other = !progressive || start > 0;
        let mut parts = Vec::new();
        let mut pieces = Vec::new();
        for field in fields.chunks_exact(2) {
            let [id, tables] = *field else { return Err(BROKEN) };
            let number = frame.components.iter().position(|component| component.id == id).ok_or(BROKEN)?;
            if parts.iter().any(|part: &Part<'_>| part.component == number) {
                return Err(BROKEN);
            }
            let component = frame.components.get_mut(number).ok_or(BROKEN)?;
            if component.quantisation.is_none() {
                let table = self.quantisation.get(component.table).copied().flatten();
                let table = table.ok_or("a quantisation table is missing")?;
                component.quantisation = Some(table);
                pieces.extend(self.written.quantisation(component.table, &table));
            }
            if progressive && !component.learn(start..end + 1, high, low) {
                self.source.note("its scans do not make a picture");
            }
            let (first, other) = (usize::from(tables >> 4), usize::from(tables & 15));
            let table =
                |tables: &'_ [Option<Huffman>; 4], number: usize| tables.get(number).cloned().flatten();
            if needs_first {
                let table = table(&self.first_tables, first).ok_or(MISSING)?;
                pieces.extend(Written::huffman(&mut self.written.first_tables, 0, first, table));
            }
            if needs_other {
                let table = table(&self.other_tables, other).ok_or(MISSING)?;
                pieces.extend(Written::huffman(&mut self.written.other_tables, 1, other, table));
            }
            let step = component.quantisation.and_then(|table| table.first().copied()).unwrap_or(1);
            parts.push(Part {
                component: number,
                step: i32::from(step),
                first_table: self.first_tables.get(first).and_then(Option::as_ref).filter(|_| needs_first),
                other_table: self.other_tables.get(other).and_then(Option::as_ref).filter(|_| needs_other),
            });
        }
        let blocks =
            parts.iter().map(|part| frame.sampling(part.component)).map(|(across, down)| across * down);
        if parts.len() > 1 && blocks.sum::<usize>() > 10 {
            return Err("its colours are stored in too large pieces");
        }
        if self.written.restart_interval != self.restart_interval {
            self.written.restart_interval = self.restart_interval;
            pieces.push(Piece { marker: 0xDD, body: self.restart_interval.to_be_bytes().into(), data: &[] });
        }
        // Quantisation tables belong before the frame header, and may stand anywhere else.
        if self.scans == 0 {
            let tables = pieces.extract_if(.., |piece| piece.marker == 0xDB).collect::<Vec<_>>();
            self.body.splice(0..0, tables);
        }
        self.body.append(&mut pieces);

        let restart_interval = u32::from(self.restart_interval);
        let scan = Scan { parts, progressive, start, end, high, low, restart_interval };
        let data_start = self.source.position();
        self.source.begin_scan();
        scan::decode(&mut self.source, frame, &scan, &mut self.planes);
        let data_end = self.source.end_scan();
        let data = self.bytes.get(data_start..data_end).unwrap_or_default();
        self.body.push(Piece { marker: 0xDA, body: body.to_owned(), data });
        self.scans += 1;
        Ok(Next::More)
    }
}

impl Written {
    /// Returns the segment of a table, if it is not the one written last.
    fn quantisation(&mut self, place: usize, table: &Quantisation) -> Option<Piece<'static>> {
        let written = self.quantisation.get_mut(place).filter(|written| **written != Some(*table))?;
        *written = Some(*table);
        Some(write::quantisation_segment(place, table))
    }

    fn huffman(
        written: &mut [Option<Huffman>; 4],
        class: u8,
        place: usize,
        table: Huffman,
    ) -> Option<Piece<'static>> {
        let written = written.get_mut(place).filter(|written| written.as_ref() != Some(&table))?;
        let place = u8::try_from(place).ok()?;
        let body = [[class << 4 | place].as_slice(), &table.to_bytes()].concat();
        *written = Some(table);
        Some(Piece { marker: 0xC4, body, data: &[] })
    }
}

impl Component {
    /// Notes what a scan tells of the coefficients; `false` if that does not follow from what came before.
    fn learn(&mut self, coefficients: Range<usize>, high: u32, low: u32) -> bool {
        let begun = coefficients.start == 0 || self.known.first().is_some_and(Option::is_some);
        let mut follows = begun;
        for known in self.known.get_mut(coefficients).unwrap_or_default() {
            follows &= known.unwrap_or(0) == high;
            *known = Some(low);
        }
        follows
    }
}

impl Frame {
    fn sampling(&self, component: usize) -> (usize, usize) {
        self.components.get(component).map_or((1, 1), |component| (component.across, component.down))
    }

    fn largest_sampling(&self) -> (usize, usize) {
        let across = self.components.iter().map(|component| component.across).max().unwrap_or(1);
        let down = self.components.iter().map(|component| component.down).max().unwrap_or(1);
        (across, down)
    }

    /// Returns columns and rows of the units that a scan of these components is made of.
    fn units(&self, mut components: impl ExactSizeIterator<Item = usize>) -> (usize, usize) {
        let (most_across, most_down) = self.largest_sampling();
        let (across, down) = match (components.len(), components.next()) {
            // Alone, a component is coded block by block.
            (1, Some(component)) => self.sampling(component),
            _ => (1, 1),
        };
        let blocks = |length: u32, times: usize, most: usize| (length as usize * times).div_ceil(8 * most);
        (blocks(self.width, across, most_across), blocks(self.height, down, most_down))
    }

    /// Returns columns and rows of the blocks of a component, those beyond the edges included.
    fn stored_blocks(&self, component: usize) -> (usize, usize) {
        let (columns, rows) = self.units([0, 0].into_iter());
        let (across, down) = self.sampling(component);
        (columns * across, rows * down)
    }
}
