//! JSON as clients write it, walked through once.
//!
//! Messages are short objects of plain strings. Only objects, plain strings and whole numbers are read here, and every
//! other value is left to `serde_json`, whose visitors take more instructions for the same messages (ADR 1). A property
//! test holds both to the same notion of JSON.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::Deserializer;
use serde_json::value::RawValue;

/// How deep objects are read here; what lies deeper is left to `serde_json`, which does not recurse.
const MAX_DEPTH: u8 = 8;

/// A JSON value as it was written, known to be valid.
#[derive(Debug, Clone, Copy)]
pub struct Raw<'a> {
    json: &'a str,
    /// Whether it is known to be a string without escapes.
    is_plain: bool,
}

impl<'a> Raw<'a> {
    /// Returns the JSON.
    #[must_use]
    pub fn get(self) -> &'a str {
        self.json
    }

    /// Tells whether it is `null`.
    #[must_use]
    pub fn is_null(self) -> bool {
        self.json == "null"
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Raw<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&RawValue>::deserialize(deserializer).map(|raw| Self { json: raw.get(), is_plain: false })
    }
}

/// Returns the string a raw JSON value holds.
#[must_use]
pub fn string(raw: Raw<'_>) -> Option<Cow<'_, str>> {
    if raw.is_plain {
        return raw.json.get(1..raw.json.len() - 1).map(Cow::Borrowed);
    }
    unusual_string(raw)
}

#[cold]
fn unusual_string(raw: Raw<'_>) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    serde_json::from_str::<Text<'_>>(raw.json).ok().map(|text| text.0)
}

/// What keeps a text from being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It is not JSON.
    Malformed,
    /// It names a field twice.
    Twice,
}

/// A place in a JSON text.
#[derive(Debug)]
pub struct Json<'a> {
    text: &'a str,
    at: usize,
    depth: u8,
}

impl<'a> Json<'a> {
    /// Starts at the beginning of `text`.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0, depth: 0 }
    }

    /// Returns the first byte of what comes next, blanks skipped.
    pub fn peek(&mut self) -> Option<u8> {
        // Few clients write blanks.
        let next = self.text.as_bytes().get(self.at).copied();
        if next.is_some_and(|byte| byte > b' ') { next } else { self.peek_past_blanks() }
    }

    #[cold]
    fn peek_past_blanks(&mut self) -> Option<u8> {
        loop {
            match self.text.as_bytes().get(self.at)? {
                b' ' | b'\t' | b'\r' | b'\n' => self.at += 1,
                byte => return Some(*byte),
            }
        }
    }

    /// Reads an object: `member` is given each name, and reads the value that follows.
    pub fn members(
        &mut self,
        mut member: impl FnMut(&mut Self, Raw<'a>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.expect(b'{')?;
        if self.peek() == Some(b'}') {
            return self.expect(b'}');
        }
        self.depth += 1;
        loop {
            if self.peek() != Some(b'"') {
                return Err(Fault::Malformed);
            }
            let name = self.string()?;
            self.expect(b':')?;
            member(self, name)?;
            let next = self.peek();
            self.at += 1;
            match next {
                Some(b',') => {}
                Some(b'}') => {
                    self.depth -= 1;
                    return Ok(());
                }
                _ => return Err(Fault::Malformed),
            }
        }
    }

    /// Reads a value of any kind.
    pub fn value(&mut self) -> Result<Raw<'a>, Fault> {
        if self.peek() == Some(b'"') { self.string() } else { self.other_value() }
    }

    fn other_value(&mut self) -> Result<Raw<'a>, Fault> {
        match self.peek() {
            Some(b'1'..=b'9') => self.number(),
            Some(b'{') if self.depth < MAX_DEPTH => {
                let start = self.at;
                self.members(|json, _| json.value().map(drop))?;
                let length = self.at - start;
                self.at = start;
                self.take(length, false)
            }
            _ => self.unusual(),
        }
    }

    /// Fails if anything but blanks follows.
    pub fn end(&mut self) -> Result<(), Fault> {
        if self.peek().is_none() { Ok(()) } else { Err(Fault::Malformed) }
    }

    fn expect(&mut self, expected: u8) -> Result<(), Fault> {
        if self.peek() != Some(expected) {
            return Err(Fault::Malformed);
        }
        self.at += 1;
        Ok(())
    }

    /// Always part of its caller: as a call of its own it made reading a message a fifth more expensive.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "measured")]
    fn string(&mut self) -> Result<Raw<'a>, Fault> {
        let inside = self.text.as_bytes().get(self.at + 1..).unwrap_or_default();
        let length = plain_length(inside);
        match inside.get(length) {
            Some(b'"') => self.take(length + 2, true),
            _ => self.unusual(),
        }
    }

    fn number(&mut self) -> Result<Raw<'a>, Fault> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        match rest.get(digits) {
            Some(b'.' | b'e' | b'E') => self.unusual(),
            _ => self.take(digits, false),
        }
    }

    /// Reads a value as `serde_json` does.
    #[cold]
    fn unusual(&mut self) -> Result<Raw<'a>, Fault> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let mut values = serde_json::Deserializer::from_str(rest).into_iter();
        let Some(Ok(value)) = values.next() else { return Err(Fault::Malformed) };
        self.at += values.byte_offset();
        Ok(value)
    }

    #[inline]
    fn take(&mut self, length: usize, is_plain: bool) -> Result<Raw<'a>, Fault> {
        let end = self.at + length;
        let json = self.text.get(self.at..end).ok_or(Fault::Malformed)?;
        self.at = end;
        Ok(Raw { json, is_plain })
    }
}

/// Returns how many bytes of `text`, from its start, stand for themselves inside a JSON string. Eight at a time, as
/// messages have many short texts. The archive has the same function: neither crate knows the other.
#[inline]
fn plain_length(text: &[u8]) -> usize {
    const fn all(byte: u8) -> u64 {
        u64::from_le_bytes([byte; 8])
    }
    // Sets the top bit of every byte below `limit`, and perhaps of bytes after one that is; `limit` is at most 0x80.
    let below = |bytes: u64, limit: u8| bytes.wrapping_sub(all(limit)) & !bytes & all(0x80);
    let special =
        |bytes: u64| below(bytes, 0x20) | below(bytes ^ all(b'"'), 1) | below(bytes ^ all(b'\\'), 1);
    let (eights, rest) = text.as_chunks();
    for (at, eight) in eights.iter().enumerate() {
        let found = special(u64::from_le_bytes(*eight));
        if found != 0 {
            return 8 * at + found.trailing_zeros() as usize / 8;
        }
    }
    let plain = rest.iter().take_while(|byte| !matches!(byte, 0..0x20 | b'"' | b'\\'));
    8 * eights.len() + plain.count()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde::de::IgnoredAny;

    use super::*;

    fn is_json(text: &str) -> bool {
        let mut json = Json::new(text);
        json.value().and_then(|_| json.end()).is_ok()
    }

    fn agrees(text: &str) -> bool {
        is_json(text) == serde_json::from_str::<IgnoredAny>(text).is_ok()
    }

    #[test]
    fn what_is_json_is_what_serde_json_takes() {
        for text in [
            "{}",
            "{ }",
            "{,}",
            r#"{"a"}"#,
            r#"{"a":}"#,
            r#"{"a":1,}"#,
            r#"{"a":1 "b":2}"#,
            r#"{"a":1}}"#,
            r#"{"a":01}"#,
            r#"{"a":1.}"#,
            r#"{"a":1e9}"#,
            r#"{"a":-0}"#,
            r#"{"a":12x}"#,
            r#"{"a":"\ud800"}"#,
            r#"{"\ud800":1}"#,
            r#"{"a":"\x"}"#,
            "{\"a\":\"\t\"}",
            "{\"a\u{7f}\":\"\u{80}\"}",
            r#"{"a":[1,{"b":[]}],"c":null}"#,
            r#"{"a":nul}"#,
            "{\u{a0}}",
            r#"{"a" : "b" , "c" : true }"#,
            "\"",
            "\"\\",
            "1 2",
            "",
            " ",
            "12345678901234567890123",
            "\u{feff}{}",
        ] {
            assert!(agrees(text), "{text}");
        }
        let nested = |open: &str, close: &str| format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        assert!(is_json(&nested("[", "]")) && is_json(&nested(r#"{"a":"#, "}")));
    }

    #[test]
    fn values_come_as_they_were_written() {
        let text = r#" {"a" : "い\n" , "b":[1, 2],"c":{ "d":{} },"e":7 ,"f":1.5} "#;
        let mut json = Json::new(text);
        let mut seen = Vec::new();
        json.members(|json, name| {
            seen.push((name.get(), json.value()?.get()));
            Ok(())
        })
        .unwrap();
        json.end().unwrap();
        let expected = [
            (r#""a""#, r#""い\n""#),
            (r#""b""#, "[1, 2]"),
            (r#""c""#, r#"{ "d":{} }"#),
            (r#""e""#, "7"),
            (r#""f""#, "1.5"),
        ];
        assert_eq!(seen, expected);
    }

    /// Reads the members of an object both ways; tells whether names, values and what strings hold are the same.
    fn members_agree(text: &str) -> bool {
        let theirs = serde_json::from_str::<BTreeMap<String, &RawValue>>(text).ok();
        let mut json = Json::new(text);
        let mut ours = BTreeMap::new();
        let read = json.members(|json, name| {
            let name = string(name).ok_or(Fault::Malformed)?;
            ours.insert(name.into_owned(), json.value()?);
            Ok(())
        });
        match (theirs, read.and_then(|()| json.end())) {
            (None, Err(_)) => true,
            (Some(theirs), Ok(())) => {
                let text_of = |json| serde_json::from_str::<String>(json).ok();
                theirs.len() == ours.len()
                    && theirs.iter().zip(&ours).all(|((their_name, theirs), (our_name, ours))| {
                        their_name == our_name
                            && theirs.get() == ours.get()
                            && text_of(theirs.get()).as_deref() == string(*ours).as_deref()
                    })
            }
            _ => false,
        }
    }

    fn some_of(texts: &'static [&'static str]) -> impl Strategy<Value = String> {
        prop::sample::select(texts).prop_map(str::to_owned)
    }

    fn any_string() -> impl Strategy<Value = String> {
        let parts = ["a", "い", "name", " ", "\\n", "\\\"", "\\u3042", "\\ud83d\\ude00", "\\ud800", "\u{7f}"];
        prop::collection::vec(prop::sample::select(parts.to_vec()), 0..4)
            .prop_map(|parts| format!("\"{}\"", parts.concat()))
    }

    /// JSON of any kind, a dozen levels deep, with blanks anywhere.
    fn any_json() -> impl Strategy<Value = String> {
        let blank = || some_of(&["", "", "", " ", "\n\t"]);
        let other = some_of(&["0", "7", "-1", "12.5", "3e2", "true", "null", "[]", "{}", "{ }"]);
        prop_oneof![any_string(), other].prop_recursive(12, 40, 4, move |inner| {
            let member = (any_string(), blank(), inner.clone())
                .prop_map(|(name, blank, value)| format!("{name}{blank}:{value}"));
            let object =
                prop::collection::vec(member, 0..4).prop_map(|members| format!("{{{}}}", members.join(",")));
            let array =
                prop::collection::vec(inner, 0..3).prop_map(|values| format!("[{}]", values.join(" ,")));
            (blank(), prop_oneof![4 => object, 1 => array], blank())
                .prop_map(|(before, value, after)| format!("{before}{value}{after}"))
        })
    }

    /// The same text with one character replaced, or left as it is.
    fn with_a_slip(text: &str, place: usize, slip: Option<char>) -> String {
        let place = place % text.chars().count().max(1);
        let changed = |(at, character)| slip.filter(|_| at == place).unwrap_or(character);
        text.chars().enumerate().map(changed).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

        #[test]
        fn json_and_nearly_json_is_read_as_serde_json_reads_it(
            text in any_json(),
            place in any::<usize>(),
            slip in prop::option::of(prop::sample::select(vec!['{', '}', '[', '"', ':', ',', '\\', '0', ' ', '\u{1}'])),
        ) {
            prop_assert!(agrees(&text) && members_agree(&text), "{text}");
            let text = with_a_slip(&text, place, slip);
            prop_assert!(agrees(&text) && members_agree(&text), "{text}");
        }

        #[test]
        fn any_text_is_judged_as_serde_json_judges_it(
            tokens in prop::collection::vec(prop::sample::select(vec![
                "{", "}", "[", "]", ":", ",", "\"", "\"a\"", "\"い\"", "\"\\n\"", "\"\\u12\"", "\\", "0", "1", "23", "-", ".5", "e3",
                "true", "null", " ", "\n", "\"a\":", "\"b\":{", "{\"c\":1}", "\u{1}", "é",
            ]), 0..16),
        ) {
            let text = tokens.concat();
            prop_assert!(agrees(&text), "{text}");
        }
    }
}
