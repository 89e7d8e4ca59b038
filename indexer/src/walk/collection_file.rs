//! `和歌集.json`: the collection's own title and description.

use super::json::{Fault, Members, kind, string, text_of};
use super::period_file::Read;

/// What the collection says about itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct About {
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
}

/// Reads `{"Title": "…", "Description": "…"}`; both keys are optional.
pub(crate) fn parse(bytes: &[u8]) -> Read<About> {
    let mut read = Read::<About>::default();
    let members = match text_of(bytes).and_then(Members::parse) {
        Ok(members) => members,
        Err(fault) => {
            read.errors.push(fault);
            return read;
        }
    };
    for key in members.duplicated_keys() {
        read.errors.push(Fault::new(format!("key `{key}` stands more than once"), "keep one of them"));
    }
    for (key, value) in &members.0 {
        let slot = match key.as_str() {
            "Title" => &mut read.value.title,
            "Description" => &mut read.value.description,
            _ => {
                read.warnings.push(Fault::new(
                    format!("key `{key}` is not known here and is ignored"),
                    "the collection has a `Title` and a `Description`",
                ));
                continue;
            }
        };
        match string(value) {
            Some(Ok(text)) if key == "Title" && text.trim().is_empty() => read
                .errors
                .push(Fault::new("`Title` is empty; expected a text", "write a title, or remove the key")),
            Some(Ok(text)) => *slot = Some(text),
            Some(Err(fault)) => read.errors.push(fault),
            None => read.errors.push(Fault::new(
                format!("`{key}` must be a string, found {}", kind(value)),
                format!("write \"{key}\": \"…\""),
            )),
        }
    }
    read
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_keys_are_optional_and_nothing_else_is_known() {
        let read = parse("{\"Title\":\"春\",\"Author\":\"x\"}".as_bytes());
        assert_eq!(read.value, About { title: Some("春".into()), description: None });
        assert_eq!((read.errors.len(), read.warnings.len()), (0, 1));
        assert_eq!(parse(b"{}").errors, []);
        for text in ["[]", "{\"Title\":1}", "{\"Title\":\" \"}", "{\"Title\":\"a\",\"Title\":\"b\"}", ""] {
            assert_eq!(parse(text.as_bytes()).errors.len(), 1, "{text}");
        }
    }
}
