//! JSON files as curators write them: read without recursion, duplicated keys noticed, values kept as written.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Says what is wrong with a file and what to do, before a path is put to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl Fault {
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }
}

/// Returns the text of a file; a byte order mark is dropped.
pub(crate) fn text_of(bytes: &[u8]) -> Result<&str, Fault> {
    const SAVE_AS_UTF8: &str = "save the file as UTF-8";
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err(Fault::new("file is UTF-16; expected UTF-8", SAVE_AS_UTF8));
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes.get(..error.valid_up_to()).unwrap_or_default().split(|byte| *byte == b'\n').count();
        Fault::new(
            format!("file is not UTF-8 (line {line}); expected UTF-8"),
            format!("{SAVE_AS_UTF8}; Shift_JIS is a common cause"),
        )
    })?;
    if text.trim().is_empty() {
        return Err(Fault::new("file is empty; expected JSON", "write the JSON object this file is for"));
    }
    Ok(text)
}

/// The members of a JSON object in file order, values as written.
pub(crate) struct Members<'a>(pub(crate) Vec<(String, &'a RawValue)>);

impl<'a> Members<'a> {
    /// Reads a text that must be one JSON object.
    pub(crate) fn parse(text: &'a str) -> Result<Self, Fault> {
        if text.trim_start().starts_with('{') {
            return serde_json::from_str(text).map_err(|error| syntax_fault(&error));
        }
        let found = kind(parse_value(text)?);
        Err(Fault::new(
            format!("expected a JSON object, found {found}"),
            "begin the file with `{` and end it with `}`",
        ))
    }

    /// Reads a value as an object; nothing if it is something else.
    pub(crate) fn of(value: &'a RawValue) -> Option<Result<Self, Fault>> {
        value.get().starts_with('{').then(|| serde_json::from_str(value.get()).map_err(|e| syntax_fault(&e)))
    }

    /// Returns the keys that stand more than once, each once.
    pub(crate) fn duplicated_keys(&self) -> Vec<&str> {
        let mut keys: Vec<&str> = self.0.iter().map(|(key, _)| key.as_str()).collect();
        keys.sort_unstable();
        let mut twice: Vec<&str> = keys
            .windows(2)
            .filter_map(|pair| (pair.first() == pair.last()).then(|| pair.first().copied())?)
            .collect();
        twice.dedup();
        twice
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Vec<(String, &'de RawValue)>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry::<String, &'de RawValue>()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(InOrder).map(Members)
    }
}

/// Reads a text as one JSON value of any kind.
pub(crate) fn parse_value(text: &str) -> Result<&RawValue, Fault> {
    serde_json::from_str(text).map_err(|error| syntax_fault(&error))
}

/// Reads a value as a string, exactly as written; nothing if it is something else.
pub(crate) fn string(value: &RawValue) -> Option<Result<String, Fault>> {
    value
        .get()
        .starts_with('"')
        .then(|| serde_json::from_str(value.get()).map_err(|error| syntax_fault(&error)))
}

/// Reads a value as an array; nothing if it is something else.
pub(crate) fn array(value: &RawValue) -> Option<Vec<&RawValue>> {
    value.get().starts_with('[').then(|| serde_json::from_str(value.get()).ok())?
}

/// Names what a value is.
pub(crate) fn kind(value: &RawValue) -> &'static str {
    match value.get().bytes().next() {
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "true or false",
        Some(b'n') => "null",
        _ => "a number",
    }
}

/// Returns a value as compact JSON. Blanks between tokens go; numbers and escapes stay as written.
pub(crate) fn compact(value: &RawValue) -> String {
    let mut compact = String::with_capacity(value.get().len());
    let (mut in_string, mut escaped) = (false, false);
    for character in value.get().chars() {
        if in_string {
            in_string = escaped || character != '"';
            escaped = !escaped && character == '\\';
        } else if matches!(character, ' ' | '\t' | '\r' | '\n') {
            continue;
        } else {
            in_string = character == '"';
        }
        compact.push(character);
    }
    compact
}

fn syntax_fault(error: &serde_json::Error) -> Fault {
    let message = error.to_string();
    let hint = if message.starts_with("trailing comma") {
        "remove the comma before the closing bracket"
    } else if message.starts_with("key must be a string") {
        "put quotes around the key, or remove a comma that no member follows"
    } else if message.starts_with("control character") {
        "write a line break inside a string as \\n"
    } else if message.starts_with("EOF") {
        "the file ends too early: a quote or a bracket is not closed"
    } else if message.starts_with("trailing characters") {
        "only one JSON value may stand in the file"
    } else {
        "look at the named line: quotes around keys and texts, commas between members, no comments"
    };
    Fault::new(format!("file is not valid JSON: {message}"), hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_order_and_spelling() {
        let members = Members::parse("{\"b\": 1.50, \"a\": [1, \"x \\\" y\"], \"b\": {}}").unwrap();
        let shown: Vec<_> = members.0.iter().map(|(key, value)| (key.as_str(), compact(value))).collect();
        assert_eq!(shown, [("b", "1.50".into()), ("a", "[1,\"x \\\" y\"]".into()), ("b", "{}".into())]);
        assert_eq!(members.duplicated_keys(), ["b"]);
    }

    #[test]
    fn a_million_brackets_do_not_overflow_the_stack() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(500_000), "]".repeat(500_000));
        let members = Members::parse(&deep).unwrap();
        assert_eq!(compact(members.0[0].1).len(), 1_000_000);
        assert!(Members::parse(&"[".repeat(500_000)).is_err());
        assert!(Members::parse(&"{\"a\":".repeat(200_000)).is_err());
    }

    #[test]
    fn foreign_encodings_and_empty_files_are_named() {
        assert!(text_of(b"\xff\xfe{\0").unwrap_err().message.contains("UTF-16"));
        assert!(text_of(b"\n{\"a\":\"\x82\xa0\"}").unwrap_err().message.contains("line 2"));
        assert!(text_of(b"\xef\xbb\xbf \r\n").unwrap_err().message.contains("empty"));
        assert_eq!(text_of(b"\xef\xbb\xbf{}\r\n").unwrap(), "{}\r\n");
    }

    #[test]
    fn broken_json_says_where() {
        for (text, part) in
            [("{\"a\":1,}", "trailing comma"), ("{\"a\":\"b", "EOF"), ("{} {}", "trailing"), ("[]", "array")]
        {
            let fault = Members::parse(text).err().unwrap();
            assert!(fault.message.contains(part), "{text}: {}", fault.message);
        }
    }
}
