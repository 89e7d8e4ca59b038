//! What is wrong with a collection or an archive, in words for the person who keeps it.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};
use wakashu_archive::ContentHash;

use crate::walk::Fault;
use crate::words::Wording;

/// Tells what stops a build from what does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// No archive is written.
    Error,
    /// Served as it is; fails only under `--strict`.
    Warning,
}

impl Severity {
    /// Returns the word reports use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// One thing to put right: where it is, what was expected, what to do.
///
/// All texts are safe to print: control characters and bytes that are not UTF-8 are escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// Where it is, relative to the root of the collection; `.` is the root itself.
    pub path: String,
    /// Where it is inside the file.
    pub place: Option<Place>,
    /// What is wrong and what to do, in both languages.
    pub wording: Box<Wording>,
    /// Reported in one line, and left out under `-q` unless it makes the run fail.
    pub minor: bool,
    /// What puts it right without a guess.
    pub(crate) fix: Option<Box<Fix>>,
}

/// A place inside a text file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, counted in characters.
    pub column: usize,
    /// The line itself, where looking at it helps.
    pub(crate) excerpt: Option<Excerpt>,
}

/// A line of a file, or the part of it around a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Excerpt {
    /// The line, safe to print.
    pub(crate) text: String,
    /// Columns of a terminal before the place.
    pub(crate) before: usize,
}

/// A change that needs no guess.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fix {
    /// A file or directory gets another name in the same place.
    Rename {
        /// Where it is, relative to the collection.
        from: PathBuf,
        /// Its name from now on.
        to: String,
    },
    /// A text file is written anew, as UTF-8.
    Rewrite {
        /// Where it is, relative to the collection.
        path: PathBuf,
        /// Hash of the bytes that were looked at.
        before: ContentHash,
        /// What changes in its text, if anything but the encoding does.
        edits: Vec<Edit>,
    },
}

/// A part of a text, and what comes in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edit {
    /// Bytes of the text, a byte order mark not counted.
    pub(crate) range: Range<usize>,
    pub(crate) text: String,
}

impl Problem {
    /// Makes an error.
    pub(crate) fn error(path: impl AsRef<Path>, wording: Wording) -> Self {
        Self::new(Severity::Error, path.as_ref(), Box::new(wording))
    }

    /// Makes a warning.
    pub(crate) fn warning(path: impl AsRef<Path>, wording: Wording) -> Self {
        Self::new(Severity::Warning, path.as_ref(), Box::new(wording))
    }

    fn new(severity: Severity, path: &Path, wording: Box<Wording>) -> Self {
        let path = if path.as_os_str().is_empty() { ".".to_owned() } else { printable_path(path) };
        Self { severity, path, place: None, wording, minor: false, fix: None }
    }

    /// Makes it what is wrong with the file at `path`, whose bytes have the hash `before`.
    pub(crate) fn of(path: &Path, fault: Fault, before: ContentHash) -> Self {
        let Fault { severity, wording, place, edits, .. } = fault;
        let fix = edits.map(|edits| Box::new(Fix::Rewrite { path: path.to_owned(), before, edits }));
        Self { place, fix, ..Self::new(severity, path, wording) }
    }

    /// Adds that renaming `from` puts it right.
    pub(crate) fn renaming(mut self, from: impl Into<PathBuf>, to: impl Into<String>) -> Self {
        self.fix = Some(Box::new(Fix::Rename { from: from.into(), to: to.into() }));
        self
    }

    /// Makes it a thing that is told by the way.
    #[must_use]
    pub(crate) fn minor(mut self) -> Self {
        self.minor = true;
        self
    }

    /// Returns what is wrong, in English.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.wording.en.message
    }

    /// Tells whether it is about a directory, relative to the collection, or something in it.
    pub(crate) fn is_inside(&self, directory: &Path) -> bool {
        let rest = self.path.strip_prefix(&printable_path(directory));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Tells whether it stops a build.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Programs get the code and English; people get their language from the report.
impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Written<'a> {
            severity: Severity,
            code: &'static str,
            path: &'a str,
            line: Option<usize>,
            column: Option<usize>,
            message: &'a str,
            hint: Option<&'a str>,
        }
        Written {
            severity: self.severity,
            code: self.wording.code,
            path: &self.path,
            line: self.place.as_ref().map(|place| place.line),
            column: self.place.as_ref().map(|place| place.column),
            message: &self.wording.en.message,
            hint: self.wording.en.hint.as_deref(),
        }
        .serialize(serializer)
    }
}

/// Sorts problems by path, numbers inside paths by value, so that a report reads the same every time.
pub fn sort(problems: &mut [Problem]) {
    let line = |problem: &Problem| problem.place.as_ref().map(|place| (place.line, place.column));
    problems.sort_by(|one, other| {
        natural_order(&one.path, &other.path)
            .then(one.severity.cmp(&other.severity))
            .then_with(|| line(one).cmp(&line(other)))
            .then_with(|| one.message().cmp(other.message()))
    });
}

/// How many problems there are of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Tally {
    /// Errors.
    pub errors: usize,
    /// Warnings.
    pub warnings: usize,
}

impl Tally {
    /// Counts `problems`.
    #[must_use]
    pub fn of(problems: &[Problem]) -> Self {
        let errors = problems.iter().filter(|problem| problem.is_error()).count();
        Self { errors, warnings: problems.len() - errors }
    }

    /// Tells whether a run with these problems fails.
    #[must_use]
    pub fn fails(self, strict: bool) -> bool {
        self.errors > 0 || (strict && self.warnings > 0)
    }
}

/// Returns a path as it may be printed: `/` between names, nothing a terminal would act on.
#[must_use]
pub fn printable_path(path: &Path) -> String {
    let mut shown = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        shown.push_str(&printable(chunk.valid()));
        shown.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    if std::path::MAIN_SEPARATOR != '/' {
        shown = shown.replace(std::path::MAIN_SEPARATOR, "/");
    }
    shown
}

/// Returns text with control characters and marks that reorder a line written out as escapes.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unprintable) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if is_unprintable(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// Like [`printable`], but line breaks stay: for poems and other texts of several lines.
#[must_use]
pub fn printable_lines(text: &str) -> String {
    text.lines().map(printable).collect::<Vec<_>>().join("\n")
}

fn is_unprintable(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Compares texts with their runs of ASCII digits read as numbers: 第2回 before 第10回.
fn natural_order(one: &str, other: &str) -> Ordering {
    let (mut left, mut right) = (one, other);
    loop {
        let (left_number, right_number) = (leading_digits(left), leading_digits(right));
        if !left_number.is_empty() && !right_number.is_empty() {
            let (a, b) = (left_number.trim_start_matches('0'), right_number.trim_start_matches('0'));
            let by_value = a.len().cmp(&b.len()).then_with(|| a.cmp(b));
            if by_value != Ordering::Equal {
                return by_value;
            }
            left = left.get(left_number.len()..).unwrap_or_default();
            right = right.get(right_number.len()..).unwrap_or_default();
            continue;
        }
        let (mut left_rest, mut right_rest) = (left.chars(), right.chars());
        match (left_rest.next(), right_rest.next()) {
            (None, None) => return one.cmp(other),
            (a, b) if a != b => return a.cmp(&b),
            _ => (left, right) = (left_rest.as_str(), right_rest.as_str()),
        }
    }
}

fn leading_digits(text: &str) -> &str {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_terminal_acts_on_is_printed() {
        assert_eq!(printable("和歌 1"), "和歌 1");
        assert_eq!(printable("a\nb\u{1b}[31m\u{202e}"), "a\\nb\\u{1b}[31m\\u{202e}");
        assert_eq!(printable_lines("a\n\u{1b}b"), "a\n\\u{1b}b");
    }

    #[cfg(unix)]
    #[test]
    fn bytes_that_are_no_text_are_written_as_hex() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt as _;
        assert_eq!(printable_path(Path::new(OsStr::from_bytes(b"\xe7\xac/a\xff\n"))), "\\xe7\\xac/a\\xff\\n");
    }

    #[test]
    fn problems_sort_by_number_inside_the_path() {
        let mut paths = ["第10回", "第2回/10-a", "第2回/9-b", "第2回", "第02回", ""]
            .map(|p| Problem::error(p, crate::words::names::not_utf8()));
        sort(&mut paths);
        let order: Vec<_> = paths.iter().map(|problem| problem.path.as_str()).collect();
        assert_eq!(order, [".", "第02回", "第2回", "第2回/9-b", "第2回/10-a", "第10回"]);
    }
}
