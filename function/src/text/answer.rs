//! An answer under construction: a frame of JSON with large pieces spliced in by reference.
//!
//! Pictures travel from the archive into the HTTP body as the same `Bytes`; they are neither copied nor
//! escaped. Short texts are copied into the frame, where one memcpy is cheaper than one more write vector.
//!
//! Objects, arrays and fields are scopes, which write commas, quotes and brackets themselves.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::ops::ControlFlow;

use bytes::{Buf, Bytes};
use serde::Serialize;
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
    /// Whether the innermost object or array has something in it, so that a comma comes before what is next.
    is_begun: bool,
}

impl Default for Answer {
    fn default() -> Self {
        Self {
            frame: String::with_capacity(FRAME_BYTES),
            splices: Vec::new(),
            spliced_bytes: 0,
            is_begun: false,
        }
    }
}

/// What closes an object, an array or a text that is still being written.
#[derive(Debug)]
#[must_use = "what is opened must be closed"]
pub struct Open(char);

/// Writes the name of a field into an answer, and returns the answer for the value. A value that never changes can be
/// given with the name. One copy writes all that is known beforehand, the comma included.
macro_rules! field {
    ($out:expr, $name:literal) => {
        $out.named(concat!(",\"", $name, "\":"))
    };
    ($out:expr, $name:literal: $text:literal) => {
        $out.named(concat!(",\"", $name, "\":\"", $text, "\""))
    };
}
pub(crate) use field;

impl Answer {
    /// Writes an object; `members` writes its fields.
    #[inline]
    pub fn object(&mut self, members: impl FnOnce(&mut Self)) -> &mut Self {
        let object = self.open_object();
        members(self);
        self.close(object)
    }

    /// Writes an array; `write` writes each of the items.
    #[inline]
    pub fn array<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) -> &mut Self {
        let array = self.open_array();
        for item in items {
            write(self.item(), item);
        }
        self.close(array)
    }

    /// Writes an array of strings.
    pub fn strings<T: AsRef<str>>(&mut self, texts: impl IntoIterator<Item = T>) -> &mut Self {
        self.array(texts, |out, text| {
            out.string(text.as_ref());
        })
    }

    /// Opens an object that no closure can write, as when its parts are waited for.
    #[inline]
    pub fn open_object(&mut self) -> Open {
        self.open('{', '}')
    }

    /// Opens an array that no closure can write.
    #[inline]
    pub fn open_array(&mut self) -> Open {
        self.open('[', ']')
    }

    /// Opens a string of several parts.
    #[inline]
    pub fn open_string(&mut self) -> Open {
        self.open('"', '"')
    }

    #[inline]
    fn open(&mut self, open: char, close: char) -> Open {
        self.frame.push(open);
        self.is_begun = false;
        Open(close)
    }

    /// Closes what was opened last.
    #[inline]
    pub fn close(&mut self, Open(close): Open) -> &mut Self {
        self.frame.push(close);
        self.is_begun = true;
        self
    }

    /// Begins the next item of an array, or the next field of an object whose name is written as a string.
    #[inline]
    pub fn item(&mut self) -> &mut Self {
        if self.is_begun {
            self.frame.push(',');
        }
        self.is_begun = true;
        self
    }

    /// Begins the next field. [`field!`] calls this with the name as it is written after another field.
    #[inline]
    pub(crate) fn named(&mut self, after_another: &'static str) -> &mut Self {
        if self.is_begun {
            return self.raw(after_another);
        }
        self.is_begun = true;
        self.raw(after_another.get(1..).unwrap_or_default())
    }

    /// Begins the next field, whose name is known only now.
    pub fn field_called(&mut self, name: &str) -> &mut Self {
        self.item().string(name).colon()
    }

    /// Ends the name of a field that was written as a string.
    pub fn colon(&mut self) -> &mut Self {
        self.raw(":")
    }

    /// Appends fields that were written before.
    #[inline]
    pub fn fields(&mut self, json: &str) -> &mut Self {
        self.item().raw(json)
    }

    /// Appends a value that was written before.
    #[inline]
    pub fn value(&mut self, json: &str) -> &mut Self {
        self.raw(json)
    }

    /// Appends what serde makes of a value, for answers that are rare.
    pub fn serialized(&mut self, value: &impl Serialize) -> &mut Self {
        // Only a map whose keys are not texts cannot be written, and a value must stand here.
        self.raw(&serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned()))
    }

    /// Appends bytes of the archive, or constants whose length counts, as they are.
    #[inline]
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

    /// Appends a JSON string of several parts, which `inside` writes.
    #[inline]
    pub fn quoted(&mut self, inside: impl FnOnce(&mut Self)) -> &mut Self {
        let string = self.open_string();
        inside(self);
        self.close(string)
    }

    /// Appends a number.
    pub fn number(&mut self, number: u64) -> &mut Self {
        self.raw(itoa::Buffer::new().format(number))
    }

    /// Appends a number with three digits after the point.
    pub fn thousandths(&mut self, number: f64) -> &mut Self {
        self.raw(&format!("{number:.3}"))
    }

    /// Appends `true` or `false`.
    pub fn boolean(&mut self, is_true: bool) -> &mut Self {
        self.raw(if is_true { "true" } else { "false" })
    }

    /// Appends `null`.
    pub fn null(&mut self) -> &mut Self {
        self.raw("null")
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

    /// Returns a document that others have written, in its pieces.
    #[must_use]
    pub fn of_pieces(pieces: Vec<Bytes>) -> Self {
        let spliced_bytes = pieces.iter().map(Bytes::len).sum();
        let splices = pieces.into_iter().map(|piece| (0, piece)).collect();
        Self { frame: String::new(), splices, spliced_bytes, is_begun: true }
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
    fn appending_moves_the_splices() {
        let mut answer = Answer::default();
        answer.raw("a").splice(Bytes::from_static(b"1"));
        let mut whole = Answer::default();
        whole.raw("<").append(answer).raw(">");
        assert_eq!(collected(whole), "<a1>");
    }

    #[test]
    fn scopes_write_commas_quotes_and_brackets() {
        let mut out = Answer::default();
        out.object(|out| {
            field!(out, "none").array([0; 0], |_, _| {});
            field!(out, "some").array([1, 2], |out, number| {
                out.object(|out| {
                    field!(out, "number").number(number);
                });
            });
            field!(out, "kind": "text");
            let nested = field!(out, "nested").open_object();
            out.close(nested);
            out.fields(r#""x":1"#);
            out.field_called("い\"").strings(["ろ", "は"]);
            field!(out, "last").quoted(|out| {
                out.text("a").number(1);
            });
            field!(out, "took").thousandths(1.0);
            field!(out, "seen").boolean(true);
        });
        let expected = r#"{"none":[],"some":[{"number":1},{"number":2}],"kind":"text","nested":{},"x":1,"い\"":["ろ","は"],"last":"a1","took":1.000,"seen":true}"#;
        assert_eq!(collected(out), expected);
    }
}
