//! Cursors: opaque to clients, bound to the archive they were made for.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use wakashu_archive::ContentHash;

/// A place in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub(crate) offset: usize,
}

impl Cursor {
    pub(crate) fn encode(self, digest: ContentHash) -> String {
        URL_SAFE_NO_PAD.encode(format!("v1|{digest}|{}", self.offset))
    }

    /// Reads a cursor; `None` if it is not ours or was made for another archive.
    pub(crate) fn parse(text: &str, digest: ContentHash) -> Option<Self> {
        let text = String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
        let offset = text.strip_prefix("v1|")?.strip_prefix(&digest.to_string())?.strip_prefix('|')?;
        let plain = offset.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| offset.parse().ok()).flatten().map(|offset| Self { offset })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_belongs_to_one_archive() {
        let (this, other) = (ContentHash::of(b"this"), ContentHash::of(b"other"));
        let cursor = Cursor { offset: 100 };
        assert_eq!(Cursor::parse(&cursor.encode(this), this), Some(cursor));
        assert_eq!(Cursor::parse(&cursor.encode(this), other), None);
        for garbage in ["", "v1", "!!", "djF8", "あ"] {
            assert_eq!(Cursor::parse(garbage, this), None, "{garbage}");
        }
    }
}
