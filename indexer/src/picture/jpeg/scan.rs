//! The coefficients of a scan, sequential or progressive, decoded as libjpeg decodes them.

use super::huffman::Huffman;
use super::source::Source;
use super::{Block, Frame, Plane};

/// Positions in a block in the order in which they are coded. What a broken file codes beyond the last one goes there.
const ZIGZAG: [u8; 64] = [
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7,
    14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39,
    46, 53, 60, 61, 54, 47, 55, 62, 63,
];

/// Returns where the coefficient with this number stands in a block.
pub(super) fn place(number: usize) -> usize {
    usize::from(ZIGZAG.get(number).copied().unwrap_or(63))
}

/// One component of a scan.
pub(super) struct Part<'a> {
    /// Its number in the frame.
    pub(super) component: usize,
    /// What its first coefficients are multiplied by.
    pub(super) step: i32,
    pub(super) first_table: Option<&'a Huffman>,
    pub(super) other_table: Option<&'a Huffman>,
}

/// What the header of a scan says.
pub(super) struct Scan<'a> {
    pub(super) parts: Vec<Part<'a>>,
    pub(super) progressive: bool,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) high: u32,
    pub(super) low: u32,
    pub(super) restart_interval: u32,
}

/// Decodes all blocks of a scan into the planes, which are empty where nobody wants the coefficients.
pub(super) fn decode(source: &mut Source<'_>, frame: &Frame, scan: &Scan<'_>, planes: &mut [Plane]) {
    let mut state = State { last: [0; 4], end_run: 0 };
    let mut to_go = scan.restart_interval;
    let mut scratch = [0; 64];
    let (columns, rows) = frame.units(scan.parts.iter().map(|part| part.component));
    let single = scan.parts.len() == 1;
    for unit in 0..columns * rows {
        if scan.restart_interval > 0 {
            if to_go == 0 {
                source.restart();
                state = State { last: [0; 4], end_run: 0 };
                to_go = scan.restart_interval;
            }
            to_go -= 1;
        } else if source.exhausted {
            // There is nothing left that could change a block.
            return;
        }
        if source.exhausted {
            continue;
        }
        let (column, row) = (unit % columns, unit / columns);
        for (number, part) in scan.parts.iter().enumerate() {
            let (across, down) = if single { (1, 1) } else { frame.sampling(part.component) };
            for block_row in 0..down {
                for block_column in 0..across {
                    let plane = planes.get_mut(part.component);
                    let (column, row) = (column * across + block_column, row * down + block_row);
                    let block = plane.and_then(|plane| plane.block(column, row));
                    let block = block.unwrap_or_else(|| {
                        scratch.fill(0);
                        &mut scratch
                    });
                    state.block(source, scan, part, number, block);
                }
            }
        }
    }
}

/// What is carried from one block to the next.
struct State {
    /// The first coefficient of the last block of each part.
    last: [i32; 4],
    /// How many more blocks have nothing but zeros.
    end_run: u32,
}

impl State {
    fn block(
        &mut self,
        source: &mut Source<'_>,
        scan: &Scan<'_>,
        part: &Part<'_>,
        number: usize,
        block: &mut Block,
    ) {
        if !scan.progressive {
            self.first(source, part, number, 0, block);
            others(source, part, block);
        } else if scan.start == 0 && scan.high == 0 {
            self.first(source, part, number, scan.low, block);
        } else if scan.start == 0 {
            if source.take(1) == 1
                && let Some(first) = block.first_mut()
            {
                *first |= 1 << scan.low;
            }
        } else if scan.high == 0 {
            self.band(source, scan, part, block);
        } else {
            self.refine(source, scan, part, block);
        }
    }

    fn first(
        &mut self,
        source: &mut Source<'_>,
        part: &Part<'_>,
        number: usize,
        low: u32,
        block: &mut Block,
    ) {
        let Some(table) = part.first_table else { return };
        let size = u32::from(source.symbol(table));
        let step = source.number(size.min(16));
        if let (Some(last), Some(first)) = (self.last.get_mut(number), block.first_mut()) {
            *last = last.wrapping_add(step);
            let value = last.wrapping_shl(low);
            *first = to_coefficient(value);
            // A sound picture stays within 1,024 either way.
            if value.saturating_mul(part.step).abs() > 4_096 {
                source.note("its brightness leaves the range");
            }
        }
    }

    fn band(&mut self, source: &mut Source<'_>, scan: &Scan<'_>, part: &Part<'_>, block: &mut Block) {
        let Some(table) = part.other_table else { return };
        if self.end_run > 0 {
            self.end_run -= 1;
            return;
        }
        let mut at = scan.start;
        while at <= scan.end {
            let symbol = source.symbol(table);
            let (run, size) = (usize::from(symbol >> 4), u32::from(symbol & 15));
            if size > 0 {
                at += run;
                if at > scan.end {
                    source.note("there is a code in its data that means nothing");
                }
                let value = source.number(size);
                set(block, at, value.wrapping_shl(scan.low));
            } else if run == 15 {
                at += 15;
            } else {
                self.end_run = end_run(source, run) - 1;
                return;
            }
            at += 1;
        }
    }

    fn refine(&mut self, source: &mut Source<'_>, scan: &Scan<'_>, part: &Part<'_>, block: &mut Block) {
        let Some(table) = part.other_table else { return };
        let step = 1 << scan.low;
        let mut at = scan.start;
        while self.end_run == 0 && at <= scan.end {
            let symbol = source.symbol(table);
            let (mut run, size) = (usize::from(symbol >> 4), symbol & 15);
            let mut value = 0;
            if size > 0 {
                if size != 1 {
                    source.note("there is a code in its data that means nothing");
                }
                value = if source.take(1) == 1 { step } else { -step };
            } else if run != 15 {
                self.end_run = end_run(source, run);
                break;
            }
            // Passes over so many zeros; what is not zero on the way gets its next bit.
            while at <= scan.end {
                if !correct(source, block, at, step) {
                    if run == 0 {
                        break;
                    }
                    run -= 1;
                }
                at += 1;
            }
            if value != 0 {
                set(block, at, value);
            }
            at += 1;
        }
        if self.end_run > 0 {
            for at in at..=scan.end {
                correct(source, block, at, step);
            }
            self.end_run -= 1;
        }
    }
}

/// Reads how many blocks, this one included, have nothing more.
fn end_run(source: &mut Source<'_>, size: usize) -> u32 {
    let size = u32::try_from(size).unwrap_or(0);
    let more = if size > 0 { source.take(size) } else { 0 };
    (1 << size) + u32::try_from(more).unwrap_or(0)
}

/// Reads the next bit of a coefficient that is not zero; `false` if it is.
fn correct(source: &mut Source<'_>, block: &mut Block, at: usize, step: i32) -> bool {
    let Some(coefficient) = block.get_mut(place(at)) else { return false };
    if *coefficient == 0 {
        return false;
    }
    let value = i32::from(*coefficient);
    if source.take(1) == 1 && value & step == 0 {
        *coefficient = to_coefficient(if value >= 0 { value + step } else { value - step });
    }
    true
}

fn others(source: &mut Source<'_>, part: &Part<'_>, block: &mut Block) {
    let Some(table) = part.other_table else { return };
    let mut at = 1;
    while at < 64 {
        let symbol = source.symbol(table);
        let (run, size) = (usize::from(symbol >> 4), u32::from(symbol & 15));
        if size > 0 {
            at += run;
            if at > 63 {
                source.note("there is a code in its data that means nothing");
            }
            let value = source.number(size);
            set(block, at, value);
        } else if run == 15 {
            at += 15;
        } else {
            return;
        }
        at += 1;
    }
}

fn set(block: &mut Block, at: usize, value: i32) {
    if let Some(coefficient) = block.get_mut(place(at)) {
        *coefficient = to_coefficient(value);
    }
}

#[expect(clippy::cast_possible_truncation, reason = "libjpeg cuts off what a broken file has too much")]
fn to_coefficient(value: i32) -> i16 {
    value as i16
}
