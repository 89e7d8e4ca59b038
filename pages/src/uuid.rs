//! Names that stay the same wherever the collection is shown.

use std::fmt;

use wakashu_archive::ContentHash;

/// A UUID (RFC 9562, version 8) made from titles, so that it survives a change of address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Uuid([u8; 16]);

impl Uuid {
    /// Makes the name of a collection, or of a round in it.
    pub(crate) fn of(collection: &str, round: Option<&str>) -> Self {
        // Lengths first: no two lists of titles are the same text.
        let mut named = format!("wakashu\0{}\0{collection}", collection.len());
        if let Some(round) = round {
            named.push('\0');
            named.push_str(round);
        }
        let hash = ContentHash::of(named.as_bytes()).0;
        let mut bytes: [u8; 16] = hash.first_chunk().copied().unwrap_or_default();
        let [_, _, _, _, _, _, version, _, variant, ..] = &mut bytes;
        *version = (*version & 0x0f) | 0x80;
        *variant = (*variant & 0x3f) | 0x80;
        Self(bytes)
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("urn:uuid:")?;
        for (at, byte) in self.0.iter().enumerate() {
            let hyphen = if matches!(at, 4 | 6 | 8 | 10) { "-" } else { "" };
            write!(f, "{hyphen}{byte:02x}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feed readers show everything anew when this changes.
    #[test]
    fn names_are_frozen() {
        assert_eq!(Uuid::of("和歌集", None).to_string(), "urn:uuid:b730fb1a-828e-8878-927c-dba5f66683e1");
        assert_eq!(
            Uuid::of("和歌集", Some("第1回")).to_string(),
            "urn:uuid:1b56f0fc-c060-8344-9bd7-7bf8e82c0956"
        );
    }

    #[test]
    fn different_titles_have_different_names() {
        assert_ne!(Uuid::of("a", Some("b")), Uuid::of("a\0b", None));
        assert_ne!(Uuid::of("a", Some("")), Uuid::of("a", None));
    }
}
