//! The outermost object of a message, scanned while its bytes arrive.
//!
//! A client passes answers on as bytes and needs little of them: whether all of it came, and where the id stands. So
//! only the members of the outermost object are told apart; what lies inside them is counted by its brackets and its
//! strings, and not judged. Every proper beginning of an object is told from the whole one.

use std::ops::Range;

use memchr::memchr2;

/// The members of the outermost object that matter.
const NAMES: [&[u8]; 6] = [b"jsonrpc", b"id", b"method", b"params", b"result", b"error"];

/// The length of the longest of [`NAMES`]; longer names need no look-up.
const LONGEST_NAME: usize = 7;

/// What a message is, and where its parts stand, in bytes from its beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    spans: [Option<Range<usize>>; NAMES.len()],
}

/// What kind of message an envelope is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It names a method and has an id.
    Request,
    /// It names a method and has no id.
    Notification,
    /// It has a result.
    Result,
    /// It has an error.
    Error,
}

impl Envelope {
    /// Tells what kind of message it is; `None` if it is not a message.
    #[must_use]
    pub fn kind(&self) -> Option<Kind> {
        let [_, id, method, _, result, error] = &self.spans;
        Some(match (id, method, result, error) {
            (Some(_), Some(_), ..) => Kind::Request,
            (None, Some(_), ..) => Kind::Notification,
            (_, None, Some(_), _) => Kind::Result,
            (_, None, None, Some(_)) => Kind::Error,
            (_, None, None, None) => return None,
        })
    }

    /// Returns where the id stands.
    #[must_use]
    pub fn id(&self) -> Option<Range<usize>> {
        let [_, id, ..] = &self.spans;
        id.clone()
    }

    /// Returns it for a message whose id was replaced by one of `length` bytes.
    #[must_use]
    pub fn with_id_length(mut self, length: usize) -> Self {
        let Some(id) = self.id() else { return self };
        let moved = |at: usize| if at < id.end { at } else { at + length - id.len() };
        for span in self.spans.iter_mut().flatten() {
            *span =
                if *span == id { id.start..id.start + length } else { moved(span.start)..moved(span.end) };
        }
        self
    }

    /// Returns where the method stands, quotes included.
    #[must_use]
    pub fn method(&self) -> Option<Range<usize>> {
        let [_, _, method, ..] = &self.spans;
        method.clone()
    }

    /// Returns where the parameters stand.
    #[must_use]
    pub fn params(&self) -> Option<Range<usize>> {
        let [_, _, _, params, ..] = &self.spans;
        params.clone()
    }

    /// Returns where the result stands.
    #[must_use]
    pub fn result(&self) -> Option<Range<usize>> {
        let [_, _, _, _, result, _] = &self.spans;
        result.clone()
    }

    /// Returns where the error stands.
    #[must_use]
    pub fn error(&self) -> Option<Range<usize>> {
        let [.., error] = &self.spans;
        error.clone()
    }
}

/// Why bytes are not an envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// The object has not ended.
    Unfinished,
    /// The bytes are not an object of named members, name one of the known members twice, or go on after its end.
    Malformed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before the object.
    Start,
    /// Before the first name or the end.
    First,
    /// Before a name.
    Next,
    /// Inside a name.
    Name,
    /// Between name and value.
    Colon,
    /// Before a value.
    Value,
    /// Inside a value that is a string.
    Text,
    /// Inside a number or a word.
    Word,
    /// Inside an object or an array.
    Nested,
    /// Inside a string in there.
    NestedText,
    /// After a value.
    After,
    /// After the object.
    End,
    /// Where no message goes on.
    Lost,
}

/// A message that is being scanned.
#[derive(Debug)]
pub struct Scan {
    place: Place,
    /// Objects and arrays that are open inside the current value.
    depth: u32,
    /// Whether the last byte was a backslash in a string.
    escaped: bool,
    /// The bytes of the pieces before this one.
    before: usize,
    name: [u8; LONGEST_NAME],
    /// One more than fits for a name that is too long or has escapes.
    name_length: usize,
    value_start: usize,
    envelope: Envelope,
}

impl Default for Scan {
    fn default() -> Self {
        Self {
            place: Place::Start,
            depth: 0,
            escaped: false,
            before: 0,
            name: [0; LONGEST_NAME],
            name_length: 0,
            value_start: 0,
            envelope: Envelope { spans: [const { None }; NAMES.len()] },
        }
    }
}

impl Scan {
    /// Scans a whole message.
    pub fn whole(message: &[u8]) -> Result<Envelope, Flaw> {
        let mut scan = Self::default();
        scan.feed(message);
        scan.finish()
    }

    /// Takes the next piece of the message.
    pub fn feed(&mut self, piece: &[u8]) {
        let mut at = 0;
        while let Some(&byte) = piece.get(at) {
            if self.escaped {
                self.escaped = false;
                at += 1;
                continue;
            }
            if matches!(self.place, Place::Text | Place::NestedText | Place::Name) {
                at = self.string(piece, at);
                continue;
            }
            at += 1;
            self.byte(byte, self.before + at);
        }
        self.before += piece.len();
    }

    /// Returns the envelope once all pieces were taken.
    pub fn finish(self) -> Result<Envelope, Flaw> {
        match self.place {
            Place::End => Ok(self.envelope),
            Place::Lost => Err(Flaw::Malformed),
            _ => Err(Flaw::Unfinished),
        }
    }

    /// Returns where the id stands, if it was seen; the message need not be whole.
    #[must_use]
    pub fn id(&self) -> Option<Range<usize>> {
        self.envelope.id()
    }

    /// Goes on inside a string, from `at` in `piece`; returns where to go on.
    fn string(&mut self, piece: &[u8], at: usize) -> usize {
        let rest = piece.get(at..).unwrap_or_default();
        let length = memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
        if self.place == Place::Name {
            self.add_to_name(rest.get(..length).unwrap_or_default());
        }
        let Some(byte) = rest.get(length) else { return piece.len() };
        let after = at + length + 1;
        if *byte == b'\\' {
            self.escaped = true;
            if self.place == Place::Name {
                // None of the known names needs an escape.
                self.name_length = LONGEST_NAME + 1;
            }
            return after;
        }
        match self.place {
            Place::Name => self.place = Place::Colon,
            Place::NestedText => self.place = Place::Nested,
            _ => self.end_value(self.before + after),
        }
        after
    }

    /// Takes one byte outside of strings; `after` is the place behind it.
    fn byte(&mut self, byte: u8, after: usize) {
        let blank = matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
        self.place = match (self.place, byte) {
            (Place::Nested, b'"') => Place::NestedText,
            (Place::Nested, b'{' | b'[') => {
                self.depth += 1;
                Place::Nested
            }
            (Place::Nested, b'}' | b']') => {
                self.depth -= 1;
                if self.depth == 0 {
                    return self.end_value(after);
                }
                Place::Nested
            }
            (Place::Nested, _) => Place::Nested,
            (Place::Word, b',' | b'}' | b' ' | b'\t' | b'\r' | b'\n') => {
                self.end_value(after - 1);
                return self.byte(byte, after);
            }
            (Place::Word, b'"' | b'{' | b'[' | b']' | b':') => Place::Lost,
            (Place::Word, _) => Place::Word,
            (place, _) if blank => place,
            (Place::Start, b'{') => Place::First,
            (Place::First | Place::Next, b'"') => {
                self.name_length = 0;
                Place::Name
            }
            (Place::First | Place::After, b'}') => Place::End,
            (Place::Colon, b':') => Place::Value,
            (Place::Value, _) => {
                self.value_start = after - 1;
                match byte {
                    b'"' => Place::Text,
                    b'{' | b'[' => {
                        self.depth = 1;
                        Place::Nested
                    }
                    b'-' | b'0'..=b'9' | b'a'..=b'z' => Place::Word,
                    _ => Place::Lost,
                }
            }
            (Place::After, b',') => Place::Next,
            _ => Place::Lost,
        };
    }

    fn add_to_name(&mut self, bytes: &[u8]) {
        let end = self.name_length.saturating_add(bytes.len());
        match self.name.get_mut(self.name_length..end) {
            Some(place) => {
                place.copy_from_slice(bytes);
                self.name_length = end;
            }
            None => self.name_length = LONGEST_NAME + 1,
        }
    }

    fn end_value(&mut self, end: usize) {
        self.place = Place::After;
        let Some(name) = self.name.get(..self.name_length) else { return };
        let known = NAMES.iter().zip(&mut self.envelope.spans).find(|(known, _)| **known == name);
        let Some((_, span)) = known else { return };
        if span.is_some() {
            self.place = Place::Lost;
        }
        *span = Some(self.value_start..end);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ANSWER: &str = "{ \"jsonrpc\" : \"2.0\",\r\n \"result\":{\"a\":[1,{\"b\":\"}]\\\"\"}],\"id\":7},\"more\\n\":[],\"id\" : \"x\\\"y\" } ";

    #[test]
    fn parts_are_found_wherever_they_stand() {
        let envelope = Scan::whole(ANSWER.as_bytes()).unwrap();
        assert_eq!(envelope.kind(), Some(Kind::Result));
        assert_eq!(&ANSWER[envelope.id().unwrap()], r#""x\"y""#);
        assert_eq!(&ANSWER[envelope.result().unwrap()], r#"{"a":[1,{"b":"}]\""}],"id":7}"#);
        assert_eq!((envelope.method(), envelope.params(), envelope.error()), (None, None, None));
        let request = r#"{"id":-12,"method":"a","params":{},"jsonrpc":"2.0"}"#;
        let envelope = Scan::whole(request.as_bytes()).unwrap();
        assert_eq!(envelope.kind(), Some(Kind::Request));
        assert_eq!(&request[envelope.id().unwrap()], "-12");
        assert_eq!(&request[envelope.method().unwrap()], r#""a""#);
        assert_eq!(&request[envelope.params().unwrap()], "{}");
        assert_eq!(Scan::whole(br#"{"method":"a"}"#).unwrap().kind(), Some(Kind::Notification));
        assert_eq!(Scan::whole(br#"{"error":{},"id":null}"#).unwrap().kind(), Some(Kind::Error));
        assert_eq!(Scan::whole(b"{}").unwrap().kind(), None);
    }

    #[test]
    fn every_beginning_is_unfinished_and_every_cut_into_pieces_the_same() {
        let whole = Scan::whole(ANSWER.as_bytes());
        let object = ANSWER.trim_end().len();
        for cut in 0..ANSWER.len() {
            let (first, second) = ANSWER.as_bytes().split_at(cut);
            let expected = if cut < object { Err(Flaw::Unfinished) } else { whole.clone() };
            assert_eq!(Scan::whole(first), expected, "{cut}");
            let mut scan = Scan::default();
            scan.feed(first);
            scan.feed(second);
            assert_eq!(scan.finish(), whole, "{cut}");
        }
    }

    #[test]
    fn what_is_no_object_or_says_a_thing_twice_is_malformed() {
        for text in [
            "<html>",
            "[]",
            "1",
            "{}x",
            "{}{}",
            r#"{"id":1,"id":2}"#,
            r#"{"id" 1}"#,
            r#"{"id":1,,}"#,
            r#"{"id":1"#.trim_end_matches('1'),
            r"{id:1}",
            r#"{"id":]}"#,
            r#"{"id":1"a":2}"#,
        ] {
            let found = Scan::whole(text.as_bytes());
            assert!(found.is_err(), "{text}: {found:?}");
        }
        assert!(Scan::whole(br#"{"result":{"a":1,"a":2},"x":1,"x":2}"#).is_ok());
    }

    proptest! {
        #[test]
        fn any_json_object_is_scanned_as_serde_json_reads_it(
            id in prop::sample::select(vec!["1", "-7", "\"a\"", "\"\\u0041\\\\\"", "null", "1e400"]),
            filler in prop::sample::select(vec![
                "{}", "[]", "\"\"", "\"\\\\\"", "[[\"]\"],{\"}\":\"{\"}]", "12345678901234567890", "\"\\ud800\"", "true",
            ]),
            order in Just(vec![0_usize, 1, 2]).prop_shuffle(),
            blank in prop::sample::select(vec!["", " ", "\r\n", "\t "]),
        ) {
            let members = [format!("\"id\"{blank}:{blank}{id}"), format!("\"result\":{filler}"), format!("\"other\":{filler}")];
            let members: Vec<&str> = order.iter().map(|at| members[*at].as_str()).collect();
            let text = format!("{blank}{{{blank}{}{blank}}}{blank}", members.join(&format!("{blank},")));
            let envelope = Scan::whole(text.as_bytes()).unwrap();
            prop_assert_eq!(&text[envelope.id().unwrap()], id);
            prop_assert_eq!(&text[envelope.result().unwrap()], filler);
        }

        #[test]
        fn no_bytes_make_it_panic(pieces in prop::collection::vec(prop::collection::vec(prop::sample::select(
            vec![b'{', b'}', b'[', b']', b'"', b'\\', b':', b',', b'i', b'd', b'1', b' ', 0xff]), 0..12), 0..5)
        ) {
            let mut scan = Scan::default();
            for piece in &pieces {
                scan.feed(piece);
            }
            if let Ok(envelope) = scan.finish() {
                let whole = pieces.concat();
                prop_assert!(envelope.id().is_none_or(|span| whole.get(span).is_some()));
            }
        }
    }
}
