//! What is wrong inside a file, before the file's path is put to it.

use unicode_width::UnicodeWidthStr as _;

use crate::problem::{Edit, Excerpt, Place, Severity, printable};
use crate::words::Wording;

/// How much of a line is shown before and after the place that is meant.
const EXCERPT_CHARACTERS: (usize, usize) = (40, 24);

/// Says what is wrong with a file and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, in both languages.
    pub wording: Box<Wording>,
    /// Where it is.
    pub place: Option<Place>,
    /// Where it is in the text, in bytes.
    at: Option<usize>,
    /// The line helps to see it.
    shows_line: bool,
    /// What puts it right without a guess; nothing to change means that writing the text as UTF-8 does.
    pub(crate) edits: Option<Vec<Edit>>,
}

impl Fault {
    pub(crate) fn error(wording: Wording) -> Self {
        let wording = Box::new(wording);
        Self { severity: Severity::Error, wording, place: None, at: None, shows_line: false, edits: None }
    }

    pub(crate) fn warning(wording: Wording) -> Self {
        Self { severity: Severity::Warning, ..Self::error(wording) }
    }

    /// Says where it is in the text, and that the line is worth showing.
    pub(crate) fn at(self, at: usize) -> Self {
        Self { at: Some(at), shows_line: true, ..self }
    }

    /// Says which part of the text lacks something.
    pub(crate) fn around(self, at: usize) -> Self {
        Self { at: Some(at), ..self }
    }

    pub(crate) fn fixed_by(self, edits: Vec<Edit>) -> Self {
        Self { edits: Some(edits), ..self }
    }

    /// Returns what is wrong, in English.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.wording.en.message
    }

    /// Tells whether the file cannot be used.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Finds line and column of every fault in the text it was found in. One pass, however many there are.
pub(crate) fn locate(text: &str, faults: &mut [Fault]) {
    let mut faults: Vec<&mut Fault> = faults.iter_mut().filter(|fault| fault.at.is_some()).collect();
    faults.sort_by_key(|fault| fault.at);
    let (mut line, mut line_start, mut seen) = (1, 0, 0);
    for fault in faults {
        let at = text.floor_char_boundary(fault.at.unwrap_or_default());
        for (position, _) in text.get(seen..at).unwrap_or_default().match_indices('\n') {
            line += 1;
            line_start = seen + position + 1;
        }
        seen = at;
        let before = text.get(line_start..at).unwrap_or_default();
        let after = text.get(at..).unwrap_or_default().lines().next().unwrap_or_default();
        let excerpt = fault.shows_line.then(|| excerpt(before, after));
        fault.place = Some(Place { line, column: before.chars().count() + 1, excerpt });
    }
}

fn excerpt(before: &str, after: &str) -> Excerpt {
    let (most_before, most_after) = EXCERPT_CHARACTERS;
    let shown = |part: &str| printable(&part.replace('\t', " ")).into_owned();
    let start = before.char_indices().rev().nth(most_before - 1).map_or(0, |(at, _)| at);
    let end = after.char_indices().nth(most_after).map_or(after.len(), |(at, _)| at);
    let mut text = if start > 0 { "…".to_owned() } else { String::new() };
    text.push_str(&shown(before.get(start..).unwrap_or_default()));
    let before = text.width();
    text.push_str(&shown(after.get(..end).unwrap_or_default()));
    if end < after.len() {
        text.push('…');
    }
    Excerpt { text, before }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words;

    fn place(text: &str, at: usize) -> Place {
        let mut faults = [Fault::error(words::json::empty()).at(at)];
        locate(text, &mut faults);
        faults[0].place.clone().unwrap()
    }

    #[test]
    fn columns_are_characters_and_carets_are_columns_of_a_terminal() {
        let text = "{\r\n\t\"和歌\": ［］\r\n}";
        let found = place(text, text.find('［').unwrap());
        assert_eq!((found.line, found.column), (2, 8));
        let excerpt = found.excerpt.unwrap();
        assert_eq!((excerpt.text.as_str(), excerpt.before), (" \"和歌\": ［］", 9));
    }

    #[test]
    fn long_lines_are_shown_in_part_and_nothing_in_them_reaches_a_terminal() {
        let text = format!("{}\u{1b}{}", "長".repeat(100), "い".repeat(100));
        let excerpt = place(&text, 300).excerpt.unwrap();
        assert!(excerpt.text.starts_with("…長") && excerpt.text.ends_with("い…"), "{}", excerpt.text);
        assert!(excerpt.text.contains("\\u{1b}"));
        assert_eq!(excerpt.before, 1 + 2 * 40);
    }
}
