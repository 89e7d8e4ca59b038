//! Replacing parts of JSON and leaving the rest as it was written.

use std::ops::Range;

use wakashu_wire::Members;

/// Reads the members of an object, each as it is written.
pub(super) fn members(object: &str) -> Option<Members<'_>> {
    Members::read(serde_json::from_str(object).ok()?)
}

/// Returns where a part of `whole` lies in it.
pub(super) fn span(whole: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr().addr().saturating_sub(whole.as_ptr().addr()).min(whole.len());
    start..(start + part.len()).min(whole.len())
}

/// Replaces parts, which do not overlap.
pub(super) fn replace(whole: &str, mut parts: Vec<(Range<usize>, String)>) -> String {
    parts.sort_by_key(|(span, _)| span.start);
    let mut out = String::with_capacity(whole.len() + 64);
    let mut from = 0;
    for (span, with) in parts {
        out.push_str(whole.get(from..span.start).unwrap_or_default());
        out.push_str(&with);
        from = span.end;
    }
    out.push_str(whole.get(from..).unwrap_or_default());
    out
}

/// Returns an object with one member changed or, where it has none of that name, added in front.
pub(super) fn with_member(object: &str, name: &str, value: &str) -> Option<String> {
    if let Some(old) = members(object)?.get(name) {
        return Some(replace(object, vec![(span(object, old.get()), value.to_owned())]));
    }
    Some(with_first(object, &format!("{}:{value}", serde_json::json!(name))))
}

/// Returns an object or an array with something put before all that is in it.
pub(super) fn with_first(whole: &str, first: &str) -> String {
    let open = whole.find(['{', '[']).map_or(0, |at| at + 1);
    let (head, rest) = whole.split_at(open);
    let is_empty = rest.trim_start().starts_with(['}', ']']);
    format!("{head}{first}{}{rest}", if is_empty { "" } else { "," })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_replaced_stays_as_it_was_written() {
        let object = r#"{ "a" : 1.00, "b":{"a":"\ud800"},"c":[ ] }"#;
        assert_eq!(with_member(object, "b", "2").unwrap(), r#"{ "a" : 1.00, "b":2,"c":[ ] }"#);
        assert_eq!(
            with_member(object, "d", "2").unwrap(),
            r#"{"d":2, "a" : 1.00, "b":{"a":"\ud800"},"c":[ ] }"#
        );
        assert_eq!(with_member("{ }", "d", "2").unwrap(), r#"{"d":2 }"#);
        assert_eq!(with_first("[]", "1"), "[1]");
        assert_eq!(with_first("[2]", "1"), "[1,2]");
        assert_eq!(with_member("[]", "d", "2"), None);
    }
}
