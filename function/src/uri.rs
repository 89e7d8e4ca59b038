//! Percent-encoding of titles in links and resource addresses.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Everything but the characters RFC 3986 calls unreserved.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Returns `text` as one segment of a path.
pub(crate) fn encode(text: &str) -> String {
    // Collected rather than formatted: this is on the way of every ranking answer.
    utf8_percent_encode(text, SEGMENT).collect()
}

/// Returns the text a segment stands for; nothing if it is not UTF-8.
pub(crate) fn decode(segment: &str) -> Option<Cow<'_, str>> {
    percent_decode_str(segment).decode_utf8().ok()
}
