//! Percent-encoding of titles in links and resource addresses.

use std::borrow::Cow;

use percent_encoding::{percent_decode_str, percent_encode_byte};
use wakashu_pages::VIEW_VERSION;

/// Returns `text` as one segment of a path: everything encoded but what RFC 3986 calls unreserved.
pub(crate) fn encode(text: &str) -> String {
    // Byte by byte into room enough for all: this is on the way of every ranking answer.
    let mut encoded = String::with_capacity(3 * text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(percent_encode_byte(byte));
        }
    }
    encoded
}

/// The address of the list of rounds; all others begin with it.
pub(crate) const ROUNDS: &str = "wakashu://rounds";

/// Returns the address of a round.
pub(crate) fn of_round(title: &str) -> String {
    format!("{ROUNDS}/{}", encode(title))
}

/// Returns the address of an entry.
pub(crate) fn of_entry(title: &str, rank: u32) -> String {
    format!("{ROUNDS}/{}/{rank}", encode(title))
}

/// The address of the view that hosts show, without the build it is of.
pub(crate) const VIEW: &str = "ui://wakashu/poems.html";

/// Returns the address of today's view.
pub(crate) fn of_view() -> String {
    format!("{VIEW}?v={VIEW_VERSION}")
}

/// Returns the text a segment stands for; `None` if it is not UTF-8.
pub(crate) fn decode(segment: &str) -> Option<Cow<'_, str>> {
    if !segment.contains('%') {
        return Some(Cow::Borrowed(segment));
    }
    percent_decode_str(segment).decode_utf8().ok()
}
