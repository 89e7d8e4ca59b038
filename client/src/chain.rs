//! A message in the pieces it arrived in, passed on without being copied.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::ops::Range;

use bytes::{Buf, Bytes, BytesMut};
use memchr::memchr2;
use wakashu_wire::envelope::{Envelope, Flaw, Scan};

/// How many pieces a chain may have whatever their size, and how many bytes each has on average beyond that: keeping a
/// piece takes memory too, and a server may send its answer byte by byte.
const MANY: usize = 1024;
const SMALL: usize = 64;

/// Bytes in one or more pieces.
#[derive(Debug, Clone, Default)]
pub struct Chain {
    pieces: VecDeque<Bytes>,
    length: usize,
}

impl Chain {
    /// Adds a piece at the end.
    pub fn push(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            self.length += piece.len();
            self.pieces.push_back(piece);
            self.gather();
        }
    }

    /// Copies many small pieces into one.
    fn gather(&mut self) {
        if self.pieces.len() > MANY && self.length / self.pieces.len() < SMALL {
            *self = Self::from(std::mem::take(self).into_bytes());
        }
    }

    /// Returns how many bytes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Tells whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns a part of it, sharing the bytes.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Self {
        let mut part = Self::default();
        let mut start = 0;
        for piece in &self.pieces {
            let end = start + piece.len();
            let (from, to) = (range.start.clamp(start, end), range.end.clamp(start, end));
            if from < to {
                part.push(piece.slice(from - start..to - start));
            }
            start = end;
        }
        part
    }

    /// Returns it with `range` replaced by other bytes.
    #[must_use]
    pub fn replace(&self, range: Range<usize>, with: Bytes) -> Self {
        let mut whole = self.slice(0..range.start);
        whole.push(with);
        whole.append(self.slice(range.end..self.length));
        whole
    }

    /// Adds all pieces of another chain at the end.
    pub fn append(&mut self, mut other: Self) {
        self.length += other.length;
        self.pieces.append(&mut other.pieces);
        self.gather();
    }

    /// Returns all bytes in one piece; they are copied only where there are several.
    #[must_use]
    pub fn into_bytes(mut self) -> Bytes {
        if self.pieces.len() <= 1 {
            return self.pieces.pop_front().unwrap_or_default();
        }
        let mut whole = BytesMut::with_capacity(self.length);
        for piece in &self.pieces {
            whole.extend_from_slice(piece);
        }
        whole.freeze()
    }

    /// Returns its pieces.
    #[must_use]
    pub fn into_pieces(self) -> Vec<Bytes> {
        self.pieces.into()
    }

    /// Returns it with line breaks as blanks, as a message must be that is sent as a line. In JSON a line break is a
    /// blank wherever it may stand.
    #[must_use]
    pub fn in_one_line(mut self) -> Self {
        for piece in &mut self.pieces {
            if memchr2(b'\n', b'\r', piece).is_some() {
                let blank = |byte: &u8| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte };
                *piece = piece.iter().map(blank).collect();
            }
        }
        self
    }

    /// Scans the outermost object.
    pub fn scan(&self) -> Result<Envelope, Flaw> {
        let mut scan = Scan::default();
        for piece in &self.pieces {
            scan.feed(piece);
        }
        scan.finish()
    }
}

impl From<Bytes> for Chain {
    fn from(piece: Bytes) -> Self {
        let mut chain = Self::default();
        chain.push(piece);
        chain
    }
}

impl From<String> for Chain {
    fn from(text: String) -> Self {
        Self::from(Bytes::from(text))
    }
}

impl Buf for Chain {
    fn remaining(&self) -> usize {
        self.length
    }

    fn chunk(&self) -> &[u8] {
        self.pieces.front().map(AsRef::as_ref).unwrap_or_default()
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let mut filled = 0;
        for (slice, piece) in slices.iter_mut().zip(&self.pieces) {
            *slice = IoSlice::new(piece);
            filled += 1;
        }
        filled
    }

    fn advance(&mut self, mut count: usize) {
        self.length = self.length.saturating_sub(count);
        while let Some(piece) = self.pieces.front_mut() {
            if count < piece.len() {
                piece.advance(count);
                return;
            }
            count -= piece.len();
            self.pieces.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn chain(pieces: &[&str]) -> Chain {
        let mut chain = Chain::default();
        for piece in pieces {
            chain.push(Bytes::copy_from_slice(piece.as_bytes()));
        }
        chain
    }

    #[test]
    fn parts_are_replaced_across_pieces() {
        let message = chain(&["{\"id\"", ":1", "2,\"result\":", "{}}"]);
        let span = message.scan().unwrap().id().unwrap();
        let replaced = message.replace(span, Bytes::from_static(b"\"host\""));
        assert_eq!(replaced.len(), 25);
        assert_eq!(replaced.into_bytes(), "{\"id\":\"host\",\"result\":{}}");
        let mut drops = Chain::default();
        (0..1 << 20).for_each(|_| drops.push(Bytes::from_static(b".")));
        assert_eq!((drops.len(), drops.clone().into_bytes().len()), (1 << 20, 1 << 20));
        assert!(drops.pieces.len() <= (1 << 20) / SMALL + 1, "{}", drops.pieces.len());
        let pretty = chain(&["{\r\n", " \"a\":1\n}"]);
        assert_eq!(pretty.in_one_line().into_bytes(), "{   \"a\":1 }");
    }

    proptest! {
        #[test]
        fn a_chain_is_the_bytes_in_it(
            pieces in prop::collection::vec("[a-z\n]{0,6}", 0..6),
            from in 0_usize..40,
            length in 0_usize..40,
            step in 1_usize..9,
        ) {
            let refs: Vec<&str> = pieces.iter().map(String::as_str).collect();
            let (whole, text) = (chain(&refs), pieces.concat());
            let (from, to) = (from.min(text.len()), (from + length).min(text.len()).max(from.min(text.len())));
            prop_assert_eq!(whole.slice(from..to).into_bytes(), &text[from..to]);
            let mut expected = text.clone();
            expected.replace_range(from..to, "XY");
            prop_assert_eq!(whole.replace(from..to, Bytes::from_static(b"XY")).into_bytes(), expected);
            prop_assert_eq!(whole.clone().in_one_line().into_bytes(), text.replace('\n', " "));
            let (mut rest, mut read) = (whole, Vec::new());
            while rest.has_remaining() {
                let taken = step.min(rest.chunk().len());
                read.extend_from_slice(&rest.chunk()[..taken]);
                rest.advance(taken);
            }
            prop_assert_eq!(read, text.as_bytes());
        }
    }
}
