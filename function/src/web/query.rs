//! What stands behind the question mark of an address.

use std::borrow::Cow;

use http::Uri;
use percent_encoding::percent_decode_str;

/// Returns a parameter, as it was sent.
pub(super) fn parameter<'a>(uri: &'a Uri, name: &str) -> Option<&'a str> {
    let pairs = uri.query().unwrap_or_default().split('&');
    let mut pairs = pairs.filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// Returns a field of a form, as it was typed.
pub(super) fn field<'a>(uri: &'a Uri, name: &str) -> Option<Cow<'a, str>> {
    let sent = parameter(uri, name)?;
    if !sent.contains('+') {
        return Some(percent_decode_str(sent).decode_utf8_lossy());
    }
    let spaced = sent.replace('+', " ");
    Some(percent_decode_str(&spaced).decode_utf8_lossy().into_owned().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_they_were_typed() {
        for (query, expected) in [
            ("q=%E8%8A%B1+%E6%9C%88&page=2", Some("花 月")),
            ("page=2&q=a%2Bb", Some("a+b")),
            ("q=", Some("")),
            ("q=%ff%", Some("\u{fffd}%")),
            ("qq=1", None),
            ("q", None),
        ] {
            let uri: Uri = format!("/search?{query}").parse().unwrap();
            assert_eq!(field(&uri, "q").as_deref(), expected, "{query}");
        }
        assert_eq!(field(&Uri::from_static("/search"), "q"), None);
    }
}
