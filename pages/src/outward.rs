//! Links that lead out of the collection: the works that a poem answers.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

/// What an address may not contain as it is. `%` stays: it begins what is encoded already.
const FORBIDDEN: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}')
    .add(b'[')
    .add(b']');

/// A link to a page of the web.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outward<'a> {
    /// The address, in ASCII.
    pub(crate) href: String,
    /// The host it leads to.
    pub(crate) host: &'a str,
    /// What follows the host, as people read it; may be empty.
    pub(crate) rest: String,
}

impl<'a> Outward<'a> {
    /// Reads an address of the web; anything else is no link, whatever a browser might make of it.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let (scheme, after) = text.split_once("://")?;
        if !(scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http")) {
            return None;
        }
        // Browsers drop some of these and read on; what is shown would not be where it leads.
        if after.chars().any(|letter| {
            letter.is_whitespace() || letter.is_control() || letter == '\\' || is_direction(letter)
        }) {
            return None;
        }
        let (authority, rest) = after.split_at(after.find(['/', '?', '#']).unwrap_or(after.len()));
        // A name before the host could pass for the host.
        let (host, port) = authority.split_once(':').unwrap_or((authority, ""));
        let is_name = !host.is_empty()
            && host.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '-' | '.' | '_'));
        if !is_name || !port.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let href = format!(
            "{}://{}{}",
            scheme.to_ascii_lowercase(),
            utf8_percent_encode(authority, FORBIDDEN),
            encoded(rest)
        );
        Some(Self { href, host, rest: readable(rest) })
    }
}

/// Encodes what an address may not contain, and a `%` that begins nothing.
fn encoded(rest: &str) -> String {
    let mut out = String::with_capacity(rest.len());
    for (at, part) in rest.split('%').enumerate() {
        if at > 0 {
            let begins =
                part.as_bytes().get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
            out.push_str(if begins { "%" } else { "%25" });
        }
        out.extend(utf8_percent_encode(part, FORBIDDEN));
    }
    out
}

/// Returns what follows the host with its letters decoded, without what could disturb the line it stands in.
fn readable(rest: &str) -> String {
    let decoded = percent_decode_str(rest).decode_utf8().unwrap_or(Cow::Borrowed(rest));
    let harmless = |letter: char| !(letter.is_control() || letter.is_whitespace() || is_direction(letter));
    let shown = if decoded.chars().all(harmless) { &*decoded } else { rest };
    shown.trim_start_matches('/').trim_end_matches('/').to_owned()
}

/// Tells whether a letter is invisible and changes the direction or the joints of what stands around it.
fn is_direction(letter: char) -> bool {
    matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{61c}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(text: &str) -> (String, &str, String) {
        let Outward { href, host, rest } = Outward::parse(text).unwrap();
        (href, host, rest)
    }

    #[test]
    fn addresses_of_the_web_are_links_with_their_host() {
        let encoded = "https://ja.wikipedia.org/wiki/%E5%B0%8F%E9%87%8E%E5%B0%8F%E7%94%BA";
        let expected = (encoded.to_owned(), "ja.wikipedia.org", "wiki/小野小町".to_owned());
        assert_eq!(link("https://ja.wikipedia.org/wiki/小野小町"), expected);
        assert_eq!(link(encoded), expected);
        assert_eq!(
            link("HTTP://例え.jp:8080/?q=1#a"),
            ("http://%E4%BE%8B%E3%81%88.jp:8080/?q=1#a".to_owned(), "例え.jp", "?q=1#a".to_owned())
        );
        assert_eq!(link("https://example.org").2, "");
        assert_eq!(link("https://example.org/100%/\"<a>").0, "https://example.org/100%25/%22%3Ca%3E");
        assert_eq!(
            link("https://example.org/%e2%80%ae").2,
            "%e2%80%ae",
            "what would turn the line around stays encoded"
        );
    }

    #[test]
    fn everything_else_is_text() {
        for text in [
            "javascript:alert(1)",
            "java\nscript://x",
            "data:text/html,x",
            "古今和歌集 巻二",
            "",
            "https://",
            "https:///x",
            "//example.org",
            "ftp://example.org",
            "https://user@example.org",
            "https://example.org@evil.example",
            "https://example.org\\@evil.example",
            "https://exa mple.org",
            "https://example.org/a\tb",
            "https://example.org:80a/",
            "https://[::1]/",
            "https://example.org/\u{202e}gpj",
        ] {
            assert_eq!(Outward::parse(text), None, "{text:?}");
        }
    }
}
