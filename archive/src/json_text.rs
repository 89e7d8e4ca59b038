//! Text kept JSON-escaped, so that an answer splices it as it lies in the archive.

use std::borrow::Cow;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Appends `text` to `out` as the inside of a JSON string (no quotes around it).
///
/// Only what JSON requires is escaped; all other characters stay as they are.
pub fn escape_into(out: &mut String, text: &str) {
    let mut rest = text;
    loop {
        let (plain, special) = rest.split_at_checked(plain_length(rest.as_bytes())).unwrap_or((rest, ""));
        out.push_str(plain);
        let Some(byte) = special.bytes().next() else { return };
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x08 => out.push_str("\\b"),
            0x0c => out.push_str("\\f"),
            control => {
                out.push_str("\\u00");
                for nibble in [control >> 4, control & 15] {
                    out.push(char::from(HEX.get(usize::from(nibble)).copied().unwrap_or(b'0')));
                }
            }
        }
        // What needs an escape is one byte long.
        rest = special.get(1..).unwrap_or_default();
    }
}

/// Returns how many bytes of `text`, from its start, stand for themselves inside a JSON string. Eight at a time: messages,
/// links and the log have many short texts.
#[must_use]
pub fn plain_length(text: &[u8]) -> usize {
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

/// Returns the text that `escaped` stands for; borrowed when nothing was escaped.
///
/// Made for text that passed `is_escaped`; what does not parse as an escape is kept as it is.
#[must_use]
pub fn unescape(escaped: &str) -> Cow<'_, str> {
    if !escaped.contains('\\') {
        return Cow::Borrowed(escaped);
    }
    let mut text = String::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some((plain, tail)) = rest.split_once('\\') {
        text.push_str(plain);
        let Some((character, length)) = read_escape(tail.as_bytes()) else {
            text.push('\\');
            rest = tail;
            continue;
        };
        text.push(character);
        rest = tail.get(length..).unwrap_or_default();
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// Tells whether `text` can stand inside a JSON string as it is, in exactly the form [`escape_into`] writes.
pub(crate) fn is_escaped(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' | 0..0x20 => return false,
            b'\\' => match bytes.get(at + 1..).and_then(read_escape) {
                Some((_, length)) => at += 1 + length,
                None => return false,
            },
            _ => at += 1,
        }
    }
    true
}

/// Reads what follows a backslash; returns the character and how many bytes it took.
fn read_escape(after: &[u8]) -> Option<(char, usize)> {
    let character = match after.first()? {
        b'"' => '"',
        b'\\' => '\\',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'u' => {
            let [b'0', b'0', high, low] = after.get(1..5)? else { return None };
            let nibble =
                |digit| HEX.iter().zip(0_u8..).find_map(|(hex, value)| (hex == digit).then_some(value));
            let control = nibble(high)? << 4 | nibble(low)?;
            // A control that has a short form is never written in the long one.
            let is_long = control < 0x20 && !matches!(control, b'\n' | b'\r' | b'\t' | 0x08 | 0x0c);
            return is_long.then_some((char::from(control), 5));
        }
        _ => return None,
    };
    Some((character, 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn escaped(text: &str) -> String {
        let mut out = String::new();
        escape_into(&mut out, text);
        out
    }

    #[test]
    fn only_what_json_requires_is_escaped() {
        assert_eq!(escaped("春\n\"夏\"\\\u{1}\u{2028}😀"), "春\\n\\\"夏\\\"\\\\\\u0001\u{2028}😀");
    }

    #[test]
    fn raw_quotes_controls_and_broken_escapes_are_noticed() {
        for text in [
            "\"",
            "\n",
            "\\",
            "\\x",
            "\\u00",
            "\\u0041",
            "\\u+001",
            "a\\\\\\",
            "p\\u00+1q",
            "\\u00-1",
            "\\u00 1",
            "\\u001F",
            "\\u000A",
            "\\u000a",
            "\\u0009",
            "\\u000c",
            "\\u0020",
            "\\u005c",
            "\\/",
            "\\U0001",
        ] {
            assert!(!is_escaped(text), "{text:?}");
        }
    }

    #[test]
    fn the_first_byte_that_needs_it_is_found_wherever_it_stands() {
        for byte in 0..=255_u8 {
            for length in 1..20 {
                for at in 0..length {
                    let mut text = vec![b'~'; length];
                    text[at] = byte;
                    let special = byte < 0x20 || byte == b'"' || byte == b'\\';
                    let expected = if special { at } else { length };
                    assert_eq!(plain_length(&text), expected, "{byte:#x} at {at} of {length}");
                    text[at..].fill(byte);
                    assert_eq!(plain_length(&text), expected, "{byte:#x} from {at} of {length}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn escaping_reads_back(text in any::<String>()) {
            let escaped = escaped(&text);
            prop_assert!(is_escaped(&escaped));
            prop_assert_eq!(unescape(&escaped), text);
        }

        /// Readers accept one form of a text: the one the writer writes.
        #[test]
        fn what_is_accepted_is_what_would_be_written(text in r#"([a春"]|\\(["\\nrtbf/xu]|u00[0-2+][0-9a-fA-F+]))*"#) {
            prop_assert_eq!(is_escaped(&text), escaped(&unescape(&text)) == text);
        }

        #[test]
        fn unescaping_never_panics(text in any::<String>()) {
            let _ = unescape(&text);
        }
    }
}
