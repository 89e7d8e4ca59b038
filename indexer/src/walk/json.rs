//! JSON files as curators write them: read without recursion, duplicated keys noticed, values kept as written.

use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::fault::{Fault, locate};
use super::{encoding, syntax};
use crate::words::json::{self as words, Kind};

/// What a file came to: the part that could be read, and what is wrong or odd about the rest.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Parsed<T> {
    /// What could be read.
    pub value: T,
    /// What was found, errors and warnings.
    pub faults: Vec<Fault>,
}

/// Reads a file that must be JSON. `work` gets its text, in which every place is that of the file.
pub(crate) fn read<T: Default>(bytes: &[u8], work: impl FnOnce(&str, &mut Vec<Fault>) -> T) -> Parsed<T> {
    let mut parsed = Parsed::default();
    let Some(text) = encoding::decode(bytes, &mut parsed.faults) else { return parsed };
    match syntax::clean(&text) {
        Ok(clean) => {
            parsed.faults.extend(clean.faults);
            parsed.value = work(&clean.text, &mut parsed.faults);
        }
        Err(fault) => parsed.faults.push(fault),
    }
    locate(&text, &mut parsed.faults);
    parsed
}

/// The members of a JSON object in file order, values as written. Keys that begin with `$` are for programs such as
/// editors and are left away.
pub(crate) struct Members<'a>(pub(crate) Vec<(String, &'a RawValue)>);

impl<'a> Members<'a> {
    /// Reads a text that must be one JSON object.
    pub(crate) fn parse(text: &'a str) -> Result<Self, Fault> {
        let value = parse_value(text)?;
        Self::of(value)
            .unwrap_or_else(|| Err(Fault::error(words::not_an_object(kind(value))).at(place_of(text, value))))
    }

    /// Reads a value as an object; `None` if it is something else.
    pub(crate) fn of(value: &'a RawValue) -> Option<Result<Self, Fault>> {
        let is_object = value.get().starts_with('{');
        is_object.then(|| serde_json::from_str(value.get()).map_err(|_| Fault::error(words::bad_escape())))
    }

    /// Returns the keys that stand more than once, each once, with its last value.
    pub(crate) fn duplicated_keys(&self) -> Vec<(&str, &'a RawValue)> {
        let mut keys: Vec<(&str, &RawValue)> =
            self.0.iter().map(|(key, value)| (key.as_str(), *value)).collect();
        keys.sort_by_key(|(key, _)| *key);
        let same = keys.chunk_by(|(one, _), (other, _)| one == other);
        same.filter(|same| same.len() > 1).filter_map(|same| same.last().copied()).collect()
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
                    if !member.0.starts_with('$') {
                        members.push(member);
                    }
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(InOrder).map(Members)
    }
}

/// Reads a text as one JSON value of any kind.
pub(crate) fn parse_value(text: &str) -> Result<&RawValue, Fault> {
    serde_json::from_str(text).map_err(|_| Fault::error(words::bad_escape()))
}

/// Reads a value as a string, exactly as written; `None` if it is something else.
pub(crate) fn string(text: &str, value: &RawValue) -> Option<Result<String, Fault>> {
    // A half of a surrogate pair is all that can still be wrong.
    let broken = |_| Fault::error(words::bad_escape()).at(place_of(text, value));
    value.get().starts_with('"').then(|| serde_json::from_str(value.get()).map_err(broken))
}

/// Reads a value as an array; `None` if it is something else.
pub(crate) fn array(value: &RawValue) -> Option<Vec<&RawValue>> {
    value.get().starts_with('[').then(|| serde_json::from_str(value.get()).ok())?
}

/// Names what a value is.
pub(crate) fn kind(value: &RawValue) -> Kind {
    match value.get().bytes().next() {
        Some(b'{') => Kind::Object,
        Some(b'[') => Kind::Array,
        Some(b'"') => Kind::String,
        Some(b't' | b'f') => Kind::Bool,
        Some(b'n') => Kind::Null,
        _ => Kind::Number,
    }
}

/// Returns where a value of `text` begins.
pub(crate) fn place_of(text: &str, value: &RawValue) -> usize {
    value.get().as_ptr().addr().saturating_sub(text.as_ptr().addr())
}

/// Returns where a value of `text` is.
pub(crate) fn span_of(text: &str, value: &RawValue) -> Range<usize> {
    let start = place_of(text, value);
    start..start + value.get().len()
}

/// Returns where the key before a value of `text` is, its quotes included.
pub(crate) fn key_span(text: &str, value: &RawValue) -> Option<Range<usize>> {
    let before = text.get(..place_of(text, value))?.trim_end().strip_suffix(':')?.trim_end();
    let inside = before.strip_suffix('"')?;
    let is_escaped = |quote: usize| {
        inside.get(..quote).is_some_and(|start| (start.len() - start.trim_end_matches('\\').len()) % 2 == 1)
    };
    let open = inside.rmatch_indices('"').map(|(at, _)| at).find(|at| !is_escaped(*at))?;
    Some(open..before.len())
}

/// Returns where a member begins: at its key.
pub(crate) fn member_at(text: &str, value: &RawValue) -> usize {
    key_span(text, value).map_or_else(|| place_of(text, value), |span| span.start)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_order_and_spelling() {
        let text = "{\"b\": 1.50, \"$schema\": \"x\", \"a\": [1, \"x \\\" y\"], \"b\": {}}";
        let members = Members::parse(text).unwrap();
        let shown: Vec<_> = members.0.iter().map(|(key, value)| (key.as_str(), compact(value))).collect();
        assert_eq!(shown, [("b", "1.50".into()), ("a", "[1,\"x \\\" y\"]".into()), ("b", "{}".into())]);
        let twice = members.duplicated_keys();
        assert_eq!(twice.iter().map(|(key, value)| (*key, value.get())).collect::<Vec<_>>(), [("b", "{}")]);
    }

    #[test]
    fn keys_and_values_are_found_where_they_are() {
        let text = "{ \"a\\\"\\\\\" : {\"い\":[ 7 ]} }";
        let outer = Members::parse(text).unwrap();
        assert_eq!(&text[key_span(text, outer.0[0].1).unwrap()], "\"a\\\"\\\\\"");
        let inner = Members::of(outer.0[0].1).unwrap().ok().unwrap();
        assert_eq!(&text[key_span(text, inner.0[0].1).unwrap()], "\"い\"");
        assert_eq!(&text[span_of(text, inner.0[0].1)], "[ 7 ]");
    }

    #[test]
    fn a_million_brackets_do_not_overflow_the_stack() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(500_000), "]".repeat(500_000));
        let members = Members::parse(&deep).unwrap();
        assert_eq!(compact(members.0[0].1).len(), 1_000_000);
    }

    #[test]
    fn half_a_surrogate_pair_is_refused_where_it_stands() {
        let parsed = read(b"{\n\"a\": \"\\ud800\"}", |text, faults| {
            let members = Members::parse(text).ok().unwrap();
            faults.extend(string(text, members.0[0].1).unwrap().err());
        });
        let place = parsed.faults[0].place.as_ref().unwrap();
        assert_eq!((place.line, place.column), (2, 6));
    }
}
