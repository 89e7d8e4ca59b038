//! `和歌集.json`: the collection's own title and description.

use super::fault::Fault;
use super::json::{Members, Parsed, kind, member_at, place_of, read, string};
use crate::words::texts as words;

/// What the collection says about itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct About {
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
}

/// Reads `{"Title": "…", "Description": "…"}`; both keys are optional.
pub(crate) fn parse(bytes: &[u8]) -> Parsed<About> {
    read(bytes, |text, faults| {
        let mut about = About::default();
        let members = match Members::parse(text) {
            Ok(members) => members,
            Err(fault) => {
                faults.push(fault);
                return about;
            }
        };
        for (key, value) in members.duplicated_keys() {
            faults.push(Fault::error(words::key_twice(key)).at(member_at(text, value)));
        }
        for (key, value) in &members.0 {
            let slot = match key.as_str() {
                "Title" => &mut about.title,
                "Description" => &mut about.description,
                _ => {
                    let unknown = words::key_unknown_in_collection(key);
                    faults.push(Fault::warning(unknown).at(member_at(text, value)));
                    continue;
                }
            };
            match string(text, value) {
                Some(Ok(title)) if key == "Title" && title.trim().is_empty() => {
                    faults.push(Fault::error(words::empty_title()).at(place_of(text, value)));
                }
                Some(Ok(text)) => *slot = Some(text),
                Some(Err(fault)) => faults.push(fault),
                None => {
                    let wording = words::must_be_string(key, kind(value));
                    faults.push(Fault::error(wording).at(place_of(text, value)));
                }
            }
        }
        about
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_keys_are_optional_and_nothing_else_is_known() {
        let read = parse("{\"$schema\":\"y\",\"Title\":\"春\",\"Author\":\"x\"}".as_bytes());
        assert_eq!(read.value, About { title: Some("春".into()), description: None });
        assert!(read.faults.len() == 1 && !read.faults[0].is_error());
        assert_eq!(parse(b"{}").faults, []);
        for text in ["[]", "{\"Title\":1}", "{\"Title\":\" \"}", "{\"Title\":\"a\",\"Title\":\"b\"}", ""] {
            assert_eq!(parse(text.as_bytes()).faults.len(), 1, "{text}");
        }
    }
}
