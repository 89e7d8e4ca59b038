//! Huffman tables of JPEG.

/// A table, ready for decoding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Huffman {
    counts: [u8; 16],
    symbols: Vec<u8>,
    /// For each eight bits the length of the code that they begin with, and its symbol; length 0 if it is longer.
    quick: Vec<(u8, u8)>,
    /// For each length the first code, and how many codes and symbols there are before it.
    firsts: [(i32, usize); 16],
}

impl Huffman {
    /// Reads a table from the front of a segment and returns what follows it; `None` if it is broken.
    pub(super) fn read(body: &[u8]) -> Option<(Self, &[u8])> {
        let (counts, rest) = body.split_first_chunk::<16>()?;
        let total: usize = counts.iter().map(|count| usize::from(*count)).sum();
        if total > 256 {
            return None;
        }
        let (symbols, rest) = rest.split_at_checked(total)?;
        let mut quick = vec![(0, 0); 256];
        let mut firsts = [(0, 0); 16];
        let (mut code, mut before) = (0_i32, 0_usize);
        for ((length, count), first) in (1_u8..).zip(counts).zip(&mut firsts) {
            *first = (code, before);
            for symbol in symbols.iter().skip(before).take(usize::from(*count)) {
                if length <= 8 {
                    let shift = 8 - u32::from(length);
                    let start = usize::try_from(code).ok()? << shift;
                    quick.get_mut(start..start + (1 << shift))?.fill((length, *symbol));
                }
                code += 1;
            }
            // No code is all ones.
            if *count > 0 && code >= 1 << length {
                return None;
            }
            before += usize::from(*count);
            code <<= 1;
        }
        Some((Self { counts: *counts, symbols: symbols.to_owned(), quick, firsts }, rest))
    }

    /// Returns length and symbol of the code at the front of the lowest eight bits, if it is that short.
    pub(super) fn quick(&self, bits: u64) -> Option<(u32, u8)> {
        let (length, symbol) = *self.quick.get(usize::try_from(bits & 0xFF).ok()?)?;
        (length > 0).then_some((u32::from(length), symbol))
    }

    /// Returns the symbol of a code of this length.
    pub(super) fn symbol(&self, length: usize, code: i32) -> Option<u8> {
        let (first, before) = *self.firsts.get(length.checked_sub(1)?)?;
        let index = usize::try_from(code - first).ok()?;
        let count = usize::from(*self.counts.get(length - 1)?);
        if index < count { self.symbols.get(before + index).copied() } else { None }
    }

    /// Tells whether all symbols are lengths of numbers, as those of a table for the first coefficients are.
    pub(super) fn has_lengths_only(&self) -> bool {
        self.symbols.iter().all(|symbol| *symbol <= 15)
    }

    /// Returns the table as a segment holds it.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        [self.counts.as_slice(), &self.symbols].concat()
    }
}
