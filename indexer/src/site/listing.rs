//! The list of files that this program has written into a folder: what it may change and remove there.
//!
//! It is written twice: before anything else, with all names that are old or new, and at the end, with what is there. A run
//! that was killed has left the first of them; then it is known which files are ours, and each is looked at again.

use std::collections::BTreeMap;

use wakashu_archive::ContentHash;
use wakashu_storage::check_key;

const FIRST_LINE: &str = "wakashu site 1";
/// Stands for what is not known.
const UNKNOWN: &str = "-";

/// What is known of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) bytes: u64,
    /// The first digits of its content's hash; of files that are named by their content, nothing.
    pub(crate) hash: Option<String>,
}

/// The files of a folder, by their paths below it.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// What the folder was made of; nothing if it was not finished.
    pub(crate) made_of: Option<String>,
    /// A file that may be half written, or an old one, is not known closer.
    pub(crate) files: BTreeMap<String, Option<Known>>,
}

/// Returns the digits by which a content is known.
pub(crate) fn digits(content: &[u8]) -> String {
    ContentHash::of(content).to_short_hex().as_str().to_owned()
}

impl Listing {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines();
        if lines.next() != Some(FIRST_LINE) {
            return Err(format!("it does not begin with `{FIRST_LINE}`"));
        }
        let made_of = lines.next().ok_or("it has no second line")?;
        let mut listing =
            Self { made_of: Some(made_of.to_owned()).filter(|text| text != UNKNOWN), files: BTreeMap::new() };
        for line in lines {
            let mut parts = line.splitn(3, ' ');
            let (Some(hash), Some(bytes), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
                return Err(format!("`{line}` is not a hash, a length and a path"));
            };
            // The list tells what may be removed: nothing outside, whoever wrote it.
            check_key(path).map_err(|error| error.to_string())?;
            let known = match bytes {
                UNKNOWN => None,
                bytes => {
                    let bytes = bytes.parse().map_err(|_| format!("`{bytes}` is not a length"))?;
                    Some(Known { bytes, hash: Some(hash.to_owned()).filter(|hash| hash != UNKNOWN) })
                }
            };
            listing.files.insert(path.to_owned(), known);
        }
        Ok(listing)
    }

    pub(crate) fn to_text(&self) -> String {
        let mut text = format!("{FIRST_LINE}\n{}\n", self.made_of.as_deref().unwrap_or(UNKNOWN));
        for (path, known) in &self.files {
            match known {
                Some(Known { bytes, hash }) => {
                    text.push_str(&format!("{} {bytes} {path}\n", hash.as_deref().unwrap_or(UNKNOWN)));
                }
                None => text.push_str(&format!("{UNKNOWN} {UNKNOWN} {path}\n")),
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let mut listing = Listing { made_of: Some("x".into()), files: BTreeMap::new() };
        listing
            .files
            .insert("rounds/春 の部/1/index.html".into(), Some(Known { bytes: 3, hash: Some("ab".into()) }));
        listing.files.insert("pictures/a.webp".into(), Some(Known { bytes: 5, hash: None }));
        listing.files.insert("index.html".into(), None);
        let read = Listing::parse(&listing.to_text()).unwrap();
        assert_eq!((read.made_of, read.files), (listing.made_of, listing.files));
    }

    #[test]
    fn a_list_names_nothing_outside_its_folder() {
        for line in ["- - ../x", "- - /etc/passwd", "- 1 a/../../b", "x", "- y a", ""] {
            assert!(Listing::parse(&format!("{FIRST_LINE}\n-\n{line}\n")).is_err(), "{line}");
        }
        assert!(Listing::parse("").is_err() && Listing::parse("other\n-\n").is_err());
    }
}
