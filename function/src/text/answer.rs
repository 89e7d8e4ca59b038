//! An answer under construction: a frame of JSON with large pieces spliced in by reference.
//!
//! Pictures travel from the archive into the HTTP body as the same `Bytes`; they are neither copied nor
//! escaped. Short texts are copied into the frame, where one memcpy is cheaper than one more write vector.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::ops::ControlFlow;

use bytes::{Buf, Bytes};
use wakashu_archive::{Page, Verified, escape_into};

/// Texts up to this size are copied into the frame instead of being spliced.
const COPY_BELOW_BYTES: usize = 4096;

/// Room for the frame of a small answer, in a size that the usual allocators have at hand. Larger ones grow once or twice.
const FRAME_BYTES: usize = 1024;

/// A JSON document being written.
#[derive(Debug)]
pub struct Answer {
    frame: String,
    splices: Vec<(usize, Bytes)>,
    spliced_bytes: usize,
}

impl Default for Answer {
    fn default() -> Self {
        Self { frame: String::with_capacity(FRAME_BYTES), splices: Vec::new(), spliced_bytes: 0 }
    }
}

/// A place in an answer to go back to.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    frame: usize,
    splices: usize,
}

impl Answer {
    /// Appends JSON as it is.
    pub fn raw(&mut self, json: &str) -> &mut Self {
        self.frame.push_str(json);
        self
    }

    /// Appends `text` as the inside of a JSON string.
    pub fn text(&mut self, text: &str) -> &mut Self {
        escape_into(&mut self.frame, text);
        self
    }

    /// Appends `text` as a JSON string.
    pub fn string(&mut self, text: &str) -> &mut Self {
        self.raw("\"").text(text).raw("\"")
    }

    /// Appends a number.
    pub fn number(&mut self, number: u64) -> &mut Self {
        self.raw(itoa::Buffer::new().format(number))
    }

    /// Appends a part of `page`'s escaped text as it lies in the archive.
    pub fn escaped(&mut self, page: &Verified<Page>, part: &str) -> &mut Self {
        if part.len() < COPY_BELOW_BYTES { self.raw(part) } else { self.splice(page.share(part)) }
    }

    /// Appends bytes that were verified to be safe inside a JSON string.
    pub fn splice(&mut self, bytes: Bytes) -> &mut Self {
        self.spliced_bytes += bytes.len();
        self.splices.push((self.frame.len(), bytes));
        self
    }

    /// Appends all of `other`.
    pub fn append(&mut self, other: Answer) -> &mut Self {
        let shift = self.frame.len();
        self.frame.push_str(&other.frame);
        self.splices.extend(other.splices.into_iter().map(|(at, bytes)| (at + shift, bytes)));
        self.spliced_bytes += other.spliced_bytes;
        self
    }

    /// Returns the length of the document in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.frame.len() + self.spliced_bytes
    }

    /// Tells whether nothing was written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a place to go back to with [`rewind`](Self::rewind).
    #[must_use]
    pub fn mark(&self) -> Mark {
        Mark { frame: self.frame.len(), splices: self.splices.len() }
    }

    /// Forgets everything written since `mark`.
    pub fn rewind(&mut self, mark: Mark) {
        self.frame.truncate(mark.frame);
        self.splices.truncate(mark.splices);
        self.spliced_bytes = self.splices.iter().map(|(_, bytes)| bytes.len()).sum();
    }

    /// Returns the document as the pieces it is sent in.
    #[must_use]
    pub fn into_pieces(self) -> VecDeque<Bytes> {
        let frame = Bytes::from(self.frame);
        let mut pieces = VecDeque::with_capacity(2 * self.splices.len() + 1);
        let mut from = 0;
        for (at, bytes) in self.splices {
            if at > from {
                pieces.push_back(frame.slice(from..at));
            }
            if !bytes.is_empty() {
                pieces.push_back(bytes);
            }
            from = at;
        }
        if from < frame.len() {
            pieces.push_back(frame.slice(from..));
        }
        pieces
    }

    /// Returns the document in one piece; for small ones that are kept.
    #[must_use]
    pub fn into_text(self) -> String {
        if self.splices.is_empty() {
            return self.frame;
        }
        let bytes: Vec<u8> = self.into_pieces().into_iter().flatten().collect();
        String::from_utf8(bytes).unwrap_or_default()
    }

    /// Returns the document as it is written to a connection.
    #[must_use]
    pub fn into_buf(self) -> AnswerBuf {
        AnswerBuf {
            remaining: self.len(),
            frame: self.frame,
            frame_sent: 0,
            splices: self.splices,
            splices_sent: 0,
        }
    }
}

/// A finished answer on its way out: all its pieces at once, as they lie.
#[derive(Debug)]
pub struct AnswerBuf {
    frame: String,
    frame_sent: usize,
    splices: Vec<(usize, Bytes)>,
    /// How many splices are sent; of the next one only the rest is kept.
    splices_sent: usize,
    remaining: usize,
}

impl AnswerBuf {
    /// Shows `take` what is left to send, piece by piece, until it has enough. No piece is empty.
    fn pieces<'a>(&'a self, mut take: impl FnMut(&'a [u8]) -> ControlFlow<()>) -> ControlFlow<()> {
        let frame = self.frame.as_bytes();
        let mut take =
            |piece: &'a [u8]| if piece.is_empty() { ControlFlow::Continue(()) } else { take(piece) };
        let mut from = self.frame_sent;
        for (at, splice) in self.splices.get(self.splices_sent..).unwrap_or_default() {
            take(frame.get(from..*at).unwrap_or_default())?;
            take(splice)?;
            from = *at;
        }
        take(frame.get(from..).unwrap_or_default())
    }
}

impl Buf for AnswerBuf {
    fn remaining(&self) -> usize {
        self.remaining
    }

    fn chunk(&self) -> &[u8] {
        let mut first = &[][..];
        let _ = self.pieces(|piece| {
            first = piece;
            ControlFlow::Break(())
        });
        first
    }

    fn chunks_vectored<'a>(&'a self, vectors: &mut [IoSlice<'a>]) -> usize {
        let room = vectors.len();
        let mut free = vectors.iter_mut();
        let _ = self.pieces(|piece| match free.next() {
            Some(vector) => {
                *vector = IoSlice::new(piece);
                ControlFlow::Continue(())
            }
            None => ControlFlow::Break(()),
        });
        room - free.len()
    }

    fn advance(&mut self, count: usize) {
        assert!(count <= self.remaining, "{count} of {} bytes sent", self.remaining);
        self.remaining -= count;
        let mut left = count;
        while left > 0 {
            let splice = self.splices.get_mut(self.splices_sent);
            let frame_end = splice.as_ref().map_or(self.frame.len(), |(at, _)| *at);
            let of_frame = left.min(frame_end - self.frame_sent);
            self.frame_sent += of_frame;
            left -= of_frame;
            let Some((_, splice)) = splice else { break };
            let of_splice = left.min(splice.len());
            splice.advance(of_splice);
            left -= of_splice;
            if splice.is_empty() {
                self.splices_sent += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collected(answer: Answer) -> String {
        let length = answer.len();
        let bytes: Vec<u8> = answer.into_pieces().iter().flat_map(|piece| piece.to_vec()).collect();
        assert_eq!(bytes.len(), length);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn pieces_come_out_in_the_order_they_were_written() {
        let mut answer = Answer::default();
        answer.splice(Bytes::from_static(b"AA")).raw("[").number(0).raw(",").string("い\"ろ");
        answer.raw(",").number(u64::MAX).splice(Bytes::from_static(b"BB")).raw("]");
        assert_eq!(collected(answer), "AA[0,\"い\\\"ろ\",18446744073709551615BB]");
    }

    #[test]
    fn a_buffer_gives_the_same_bytes_in_steps_of_any_size() {
        let answer = || {
            let mut answer = Answer::default();
            answer.splice(Bytes::from_static(b"AA")).raw("[").splice(Bytes::new());
            answer.raw("い").splice(Bytes::from_static(b"BBB")).splice(Bytes::from_static(b"C")).raw("]");
            answer
        };
        let expected = collected(answer());
        for step in 1..=expected.len() {
            let mut buf = answer().into_buf();
            let mut sent = Vec::new();
            while buf.has_remaining() {
                assert!(!buf.chunk().is_empty());
                let mut vectors = [IoSlice::new(&[]); 8];
                let filled = buf.chunks_vectored(&mut vectors);
                let left: Vec<u8> = vectors[..filled].iter().flat_map(|vector| vector.to_vec()).collect();
                assert_eq!(left, expected.as_bytes()[sent.len()..], "in steps of {step}");
                let now = step.min(left.len());
                sent.extend_from_slice(&left[..now]);
                buf.advance(now);
            }
            assert_eq!(sent, expected.as_bytes());
        }
    }

    #[test]
    fn rewinding_forgets_frame_and_splices() {
        let mut answer = Answer::default();
        answer.raw("a").splice(Bytes::from_static(b"1"));
        let mark = answer.mark();
        answer.raw("b").splice(Bytes::from_static(b"2"));
        answer.rewind(mark);
        let mut whole = Answer::default();
        whole.raw("<").append(answer).raw(">");
        assert_eq!(collected(whole), "<a1>");
    }
}
