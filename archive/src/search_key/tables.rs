//! The tables of the search keys, for those who make keys where this crate cannot run: in a browser.
//!
//! Whatever can be said in a table is taken from the code that decides it here, so that the two cannot differ.

use super::spelling::{GROUPS, ROWS, is_voiced, kana, places};
use super::{KEYS_VERSION, UNVOICED, VOICED, is_ignored, old_forms};
use crate::json_text::escape_into;
use crate::limits::MAX_KEY_BYTES;

/// Returns the tables as one JSON object.
///
/// `old` has each old form followed by today's; `ignored` the first and last code of each run of characters that leave no
/// trace; `places` has, for every kana from ぁ on, what may stand for it at the start of a word and inside, each with what may
/// besides in a text without marks.
#[must_use]
pub fn folding_tables() -> String {
    let old: String = old_forms::pairs().flat_map(|(old, modern)| [old, modern]).collect();
    let voiced: String = kana().filter(|kana| is_voiced(*kana)).collect();
    let mut out = format!("{{\"version\":{KEYS_VERSION},\"most\":{MAX_KEY_BYTES}");
    for (name, text) in [("old", old.as_str()), ("unvoiced", UNVOICED), ("voiced", VOICED), ("marked", &voiced)] {
        out.push_str(&format!(",\"{name}\":"));
        push_text(&mut out, text);
    }
    out.push_str(",\"ignored\":[");
    out.push_str(&ignored().map(|(first, last)| format!("{first},{last}")).collect::<Vec<_>>().join(","));
    out.push(']');
    for (name, texts) in [("groups", &GROUPS[..]), ("rows", &ROWS[..])] {
        out.push_str(&format!(",\"{name}\":"));
        push_texts(&mut out, texts.iter().copied());
    }
    out.push_str(",\"places\":[");
    for (at, kana) in kana().enumerate() {
        out.push_str(if at > 0 { "," } else { "" });
        push_texts(&mut out, places(kana).iter().map(String::as_str));
    }
    out.push_str("]}");
    out
}

/// Returns the runs of characters that leave no trace.
fn ignored() -> impl Iterator<Item = (u32, u32)> {
    let mut rest = ('\0'..=char::MAX).filter(|character| is_ignored(*character)).map(u32::from).peekable();
    std::iter::from_fn(move || {
        let first = rest.next()?;
        let mut last = first;
        while rest.next_if_eq(&(last + 1)).is_some() {
            last += 1;
        }
        Some((first, last))
    })
}

fn push_text(out: &mut String, text: &str) {
    out.push('"');
    escape_into(out, text);
    out.push('"');
}

fn push_texts<'a>(out: &mut String, texts: impl Iterator<Item = &'a str>) {
    out.push('[');
    for (at, text) in texts.enumerate() {
        out.push_str(if at > 0 { "," } else { "" });
        push_text(out, text);
    }
    out.push(']');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_the_tables_is_what_keys_are_made_with() {
        let tables = folding_tables();
        // は: at the start of a word, and inside it, where it is read わ.
        let ha = "[\"はばぱ\",\"\",\"はばぱゎわ\",\"\"]";
        for part in ["戀恋", "\"わゎはばぱ\"", "\"あいうえお\"", "\"ignored\":[0,32,127,160,173,173,", ha] {
            assert!(tables.contains(part), "{part}: {tables}");
        }
        assert!(ignored().any(|(first, last)| (first, last) == (0x2000, 0x200f)));
    }
}
