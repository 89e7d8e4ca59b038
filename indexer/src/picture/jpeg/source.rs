//! Reading a JPEG file as libjpeg does: markers, entropy-coded bits, and what to do where either is broken.

use super::huffman::Huffman;

const FIRST_RESTART: u8 = 0xD0;
const LAST_RESTART: u8 = 0xD7;
/// Bits that fit the buffer while there is room for another byte.
const FULL_BITS: u32 = 57;

/// Reads bits and markers. Nothing here fails: beyond the end of the data there are zeros, and the first fault is noted.
pub(super) struct Source<'a> {
    bytes: &'a [u8],
    position: usize,
    /// A marker that was met and not taken yet; no bits are read past it.
    marker: Option<u8>,
    marker_start: usize,
    buffer: u64,
    bits: u32,
    /// The data of this scan, or of this part between restart markers, ended too early.
    pub(super) exhausted: bool,
    next_restart: u8,
    /// What is wrong, in words; the first of it.
    pub(super) fault: Option<&'static str>,
}

impl<'a> Source<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            position: 0,
            marker: None,
            marker_start: 0,
            buffer: 0,
            bits: 0,
            exhausted: false,
            next_restart: 0,
            fault: None,
        }
    }

    pub(super) fn position(&self) -> usize {
        self.position
    }

    pub(super) fn note(&mut self, fault: &'static str) {
        self.fault.get_or_insert(fault);
    }

    /// Returns the next byte; beyond the end of the file there are end marks.
    fn byte(&mut self) -> u8 {
        let past_end =
            if self.position.saturating_sub(self.bytes.len()).is_multiple_of(2) { 0xFF } else { 0xD9 };
        let byte = self.bytes.get(self.position).copied().unwrap_or(past_end);
        self.position += 1;
        byte
    }

    /// Returns the body of a segment and moves behind it; `None` if it is broken or runs past the end of the file.
    pub(super) fn segment(&mut self) -> Option<&'a [u8]> {
        let [high, low] = *self.bytes.get(self.position..)?.first_chunk::<2>()?;
        let end = self.position + usize::from(u16::from_be_bytes([high, low]));
        let body = self.bytes.get(self.position + 2..end)?;
        self.position = end;
        Some(body)
    }

    /// Takes the next marker; bytes before it belong to nothing.
    pub(super) fn take_marker(&mut self) -> u8 {
        match self.marker.take() {
            Some(marker) => marker,
            None => self.find_marker(),
        }
    }

    fn find_marker(&mut self) -> u8 {
        let start = self.position;
        loop {
            while self.byte() != 0xFF {}
            let mark = self.position - 1;
            let mut code = self.byte();
            while code == 0xFF {
                code = self.byte();
            }
            if code != 0 {
                if mark != start {
                    self.note("there are bytes between its parts that belong to nothing");
                }
                self.marker_start = mark;
                return code;
            }
        }
    }

    /// Begins the entropy-coded data of a scan.
    pub(super) fn begin_scan(&mut self) {
        (self.buffer, self.bits, self.exhausted, self.next_restart) = (0, 0, false, 0);
        self.marker = None;
    }

    /// Ends a scan and returns where its last byte in use ends.
    pub(super) fn end_scan(&mut self) -> usize {
        let mut end = if self.marker.is_some() { self.marker_start } else { self.position };
        let unused = self.bits / 8;
        if unused > 0 && !self.exhausted {
            self.note("there are bytes between its parts that belong to nothing");
            for _ in 0..unused {
                let stuffed =
                    end.checked_sub(2).and_then(|start| self.bytes.get(start..end)) == Some(&[0xFF, 0]);
                end = end.saturating_sub(if stuffed { 2 } else { 1 });
            }
        }
        self.bits = 0;
        end.min(self.bytes.len())
    }

    /// Moves past a restart marker. One that is missing, too many or out of order is dealt with as libjpeg does:
    /// markers of the past are passed over, and before those of the near future the missing part stays empty.
    pub(super) fn restart(&mut self) {
        if self.bits / 8 > 0 && !self.exhausted {
            self.note("there are bytes between its parts that belong to nothing");
        }
        self.bits = 0;
        let expected = FIRST_RESTART + self.next_restart;
        let mut found = self.take_marker();
        if found != expected {
            self.note("its restart markers are missing or out of order");
            loop {
                let ahead = found.wrapping_sub(expected) & 7;
                match found {
                    FIRST_RESTART..=LAST_RESTART if matches!(ahead, 1 | 2) => self.marker = Some(found),
                    FIRST_RESTART..=LAST_RESTART if !matches!(ahead, 6 | 7) => {}
                    0xC0..=0xCF | 0xD8..=0xFF => self.marker = Some(found),
                    _ => {
                        found = self.find_marker();
                        continue;
                    }
                }
                break;
            }
        }
        self.next_restart = (self.next_restart + 1) & 7;
        if self.marker.is_none() {
            self.exhausted = false;
        }
    }

    fn fill(&mut self) {
        while self.marker.is_none() && self.bits < FULL_BITS {
            let start = self.position;
            let mut byte = self.byte();
            if byte == 0xFF {
                byte = self.byte();
                while byte == 0xFF {
                    byte = self.byte();
                }
                if byte != 0 {
                    self.marker = Some(byte);
                    self.marker_start = start;
                    return;
                }
                byte = 0xFF;
            }
            self.buffer = self.buffer << 8 | u64::from(byte);
            self.bits += 8;
        }
    }

    fn need(&mut self, count: u32) {
        if self.bits < count {
            self.fill();
        }
        if self.bits < count {
            self.note("its data end before the picture does");
            self.exhausted = true;
            self.buffer <<= FULL_BITS - self.bits;
            self.bits = FULL_BITS;
        }
    }

    /// Reads up to 16 bits.
    pub(super) fn take(&mut self, count: u32) -> i32 {
        self.need(count);
        self.bits -= count;
        let mask = (1_u64 << count) - 1;
        i32::try_from(self.buffer >> self.bits & mask).unwrap_or(0)
    }

    /// Reads a number of `size` bits in the way JPEG writes them: the lower half is negative.
    pub(super) fn number(&mut self, size: u32) -> i32 {
        if size == 0 {
            return 0;
        }
        let value = self.take(size);
        if value < 1 << (size - 1) { value - (1 << size) + 1 } else { value }
    }

    /// Reads the symbol of a Huffman code.
    pub(super) fn symbol(&mut self, table: &Huffman) -> u8 {
        if self.bits < 16 {
            self.fill();
        }
        if self.bits >= 8
            && let Some((length, symbol)) = table.quick(self.buffer >> (self.bits - 8))
        {
            self.bits -= length;
            return symbol;
        }
        let mut code = 0;
        for length in 1..=17 {
            code = code << 1 | self.take(1);
            if let Some(symbol) = table.symbol(length, code) {
                return symbol;
            }
        }
        self.note("there is a code in its data that means nothing");
        0
    }
}
