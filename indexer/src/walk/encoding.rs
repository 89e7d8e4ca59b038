//! From the bytes of a curator's file to text.

use std::borrow::Cow;

use encoding_rs::{EUC_JP, SHIFT_JIS};

use super::fault::Fault;
use crate::problem::Place;
use crate::words::json::{self as words, Encoding};

/// Returns the text of a file; a byte order mark is dropped. What is worth saying about it goes to `faults`.
pub(crate) fn decode<'a>(bytes: &'a [u8], faults: &mut Vec<Fault>) -> Option<Cow<'a, str>> {
    let text = match found(bytes) {
        Found::Utf8(text) => Cow::Borrowed(text),
        Found::Marked(text) => {
            faults.push(Fault::warning(words::utf16_read()).fixed_by(Vec::new()));
            Cow::Owned(text)
        }
        Found::Other(encoding, text) => {
            let mut fault = Fault::error(words::other_encoding(encoding, text.is_some()));
            // In UTF-16 every character is foreign.
            fault.place = first_foreign_byte(bytes).filter(|_| encoding != Encoding::Utf16);
            fault.edits = text.map(|_| Vec::new());
            faults.push(fault);
            return None;
        }
        Found::Unknown => {
            let mut fault = Fault::error(words::not_utf8());
            fault.place = first_foreign_byte(bytes);
            faults.push(fault);
            return None;
        }
    };
    if text.trim().is_empty() {
        faults.push(Fault::error(words::empty()));
        return None;
    }
    Some(text)
}

/// Returns the text of a file in any encoding that can be told without a guess.
pub(crate) fn decode_for_fix(bytes: &[u8]) -> Option<(Cow<'_, str>, Option<Encoding>)> {
    match found(bytes) {
        Found::Utf8(text) => Some((Cow::Borrowed(text), None)),
        Found::Marked(text) => Some((Cow::Owned(text), Some(Encoding::Utf16))),
        Found::Other(encoding, text) => Some((Cow::Owned(text?), Some(encoding))),
        Found::Unknown => None,
    }
}

enum Found<'a> {
    Utf8(&'a str),
    /// UTF-16 that says so itself.
    Marked(String),
    /// Another encoding, and the text if nothing else can be meant.
    Other(Encoding, Option<String>),
    Unknown,
}

fn found(bytes: &[u8]) -> Found<'_> {
    if let Some(rest) = bytes.strip_prefix(b"\xff\xfe") {
        return utf16(rest, u16::from_le_bytes).map_or(Found::Other(Encoding::Utf16, None), Found::Marked);
    }
    if let Some(rest) = bytes.strip_prefix(b"\xfe\xff") {
        return utf16(rest, u16::from_be_bytes).map_or(Found::Other(Encoding::Utf16, None), Found::Marked);
    }
    // JSON begins with an ASCII character: a zero byte beside it is the other half of UTF-16.
    match bytes {
        [0, first, ..] if *first != 0 => {
            return Found::Other(Encoding::Utf16, utf16(bytes, u16::from_be_bytes));
        }
        [first, 0, ..] if *first != 0 => {
            return Found::Other(Encoding::Utf16, utf16(bytes, u16::from_le_bytes));
        }
        _ => {}
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Found::Utf8(text);
    }
    let shift_jis = SHIFT_JIS.decode_without_bom_handling_and_without_replacement(bytes);
    let euc_jp = EUC_JP.decode_without_bom_handling_and_without_replacement(bytes);
    match (shift_jis, euc_jp) {
        (Some(text), None) => Found::Other(Encoding::ShiftJis, Some(text.into_owned())),
        (None, Some(text)) => Found::Other(Encoding::EucJp, Some(text.into_owned())),
        // Bytes that are text in both: only a person can tell which is meant.
        (Some(_), Some(_)) | (None, None) => Found::Unknown,
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let text = char::decode_utf16(pairs.iter().copied().map(unit)).collect::<Result<String, _>>().ok()?;
    rest.is_empty().then_some(text)
}

/// Returns where a file stops being UTF-8.
fn first_foreign_byte(bytes: &[u8]) -> Option<Place> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let sound = std::str::from_utf8(bytes).err()?.valid_up_to();
    let before = std::str::from_utf8(bytes.get(..sound)?).ok()?;
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let column = before.get(line_start..)?.chars().count() + 1;
    Some(Place { line: before.matches('\n').count() + 1, column, excerpt: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(bytes: &[u8]) -> (Option<String>, Vec<String>) {
        let mut faults = Vec::new();
        let text = decode(bytes, &mut faults).map(Cow::into_owned);
        (text, faults.iter().map(|fault| fault.message().to_owned()).collect())
    }

    #[test]
    fn encodings_are_named_and_marked_utf16_is_read() {
        assert_eq!(told(b"\xef\xbb\xbf{}\r\n"), (Some("{}\r\n".into()), vec![]));
        let marked: Vec<u8> = "\u{feff}{\"歌\"}".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let (text, said) = told(&marked);
        assert_eq!(text.as_deref(), Some("{\"歌\"}"));
        assert!(said[0].contains("UTF-16"), "{said:?}");
        for (bytes, name) in [
            (marked[2..].to_vec(), "UTF-16"),
            (b"\xff\xfe{".to_vec(), "UTF-16"),
            (b"{\"\x82\xa0\"}".to_vec(), "Shift_JIS"),
            (b"{\"\xa4\xa2\xc6\xfd\"}".to_vec(), "EUC-JP"),
            (b"{\"\xff\"}".to_vec(), "not UTF-8"),
            (b" \r\n".to_vec(), "empty"),
        ] {
            let (text, said) = told(&bytes);
            assert!(text.is_none() && said[0].contains(name), "{name}: {said:?}");
        }
    }

    #[test]
    fn what_reads_in_two_encodings_is_not_converted() {
        // Half-width katakana in one, kanji in the other.
        assert!(decode_for_fix(b"{\"\xb1\xb2\xb3\xb4\"}").is_none());
        let (text, encoding) = decode_for_fix(b"{\"\x82\xa0\"}").unwrap();
        assert_eq!((text.as_ref(), encoding), ("{\"あ\"}", Some(Encoding::ShiftJis)));
    }

    #[test]
    fn the_first_foreign_byte_is_pointed_at() {
        let place = first_foreign_byte(b"{\n\"a\": \"\x82\xa0\"}").unwrap();
        assert_eq!((place.line, place.column), (2, 7));
    }
}
