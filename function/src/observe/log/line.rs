//! One line of the log, as it is written.

use std::cell::RefCell;
use std::fmt::{self, Write as _};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tracing::Level;
use tracing::field::{Field, Visit};
use wakashu_archive::escape_into;
use wakashu_storage::Timestamp;

/// Who reads the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Programs: one object per line.
    Json,
    /// People: `name=value`.
    Readable,
}

/// The name of a field, as it opens one in either form: every request has a dozen of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Name {
    pub(crate) json: &'static str,
    pub(crate) readable: &'static str,
}

/// Returns the [`Name`] of a field.
macro_rules! name {
    ($name:literal) => {
        $crate::observe::log::Name { json: concat!(",\"", $name, "\":"), readable: concat!(" ", $name, "=") }
    };
}
pub(crate) use name;

/// A line that is being written.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    text: &'a mut String,
    form: Form,
}

impl<'a> Line<'a> {
    /// Appends a whole line to `text`, with the fields that `fields` appends.
    pub(super) fn compose(text: &mut String, form: Form, level: Level, fields: impl FnOnce(&mut Line<'_>)) {
        match form {
            Form::Json => {
                text.push_str(r#"{"time":""#);
                push_time(text);
                text.push_str(r#"","level":""#);
                text.push_str(level.as_str());
                text.push('"');
                fields(&mut Line { text, form });
                text.push_str("}\n");
            }
            Form::Readable => {
                let start = text.len();
                push_time(text);
                // On a terminal the day is known.
                if let Some(clock) = text.get(start..).and_then(|time| time.find('T')) {
                    text.replace_range(start..=start + clock, "");
                }
                // Writing to a string cannot fail.
                let _ = write!(text, " {level:<5}");
                fields(&mut Line { text, form });
                text.push('\n');
            }
        }
    }

    /// Begins with nothing but the fields, as people read them.
    pub(crate) fn readable(text: &'a mut String) -> Self {
        Self { text, form: Form::Readable }
    }

    fn open(&mut self, name: Name) {
        self.text.push_str(if self.form == Form::Json { name.json } else { name.readable });
    }

    /// Appends what the line is about.
    pub(super) fn message(&mut self, text: &str) {
        match self.form {
            Form::Json => self.text(name!("message"), text),
            Form::Readable => {
                self.text.push(' ');
                self.push_visible(text);
            }
        }
    }

    /// Appends a text from elsewhere.
    pub(crate) fn text(&mut self, name: Name, text: &str) {
        self.open(name);
        self.push_text(text);
    }

    /// Appends a text of this program's own, which needs no escapes, if there is anything to say: a message that was
    /// refused early has no method and no era.
    pub(crate) fn word(&mut self, name: Name, word: Option<&str>) {
        let Some(word) = word.filter(|word| !word.is_empty()) else { return };
        self.open(name);
        if self.form == Form::Json {
            self.text.push('"');
            self.text.push_str(word);
            self.text.push('"');
        } else {
            self.text.push_str(word);
        }
    }

    /// Appends a number.
    pub(crate) fn number(&mut self, name: Name, number: impl itoa::Integer) {
        self.open(name);
        self.text.push_str(itoa::Buffer::new().format(number));
    }

    /// Appends that something holds.
    pub(crate) fn truth(&mut self, name: Name) {
        self.open(name);
        self.text.push_str("true");
    }

    /// Appends milliseconds, three digits after the point.
    pub(crate) fn milliseconds(&mut self, name: Name, time: Duration) {
        self.open(name);
        let microseconds = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.text.push_str(itoa::Buffer::new().format(microseconds / 1_000));
        self.text.push('.');
        push_thousandths(self.text, u32::try_from(microseconds % 1_000).unwrap_or(0));
    }

    fn push_text(&mut self, text: &str) {
        match self.form {
            Form::Json => {
                self.text.push('"');
                escape_into(self.text, text);
                self.text.push('"');
            }
            Form::Readable if text.contains([' ', '"', '=']) || text.is_empty() => {
                self.text.push('"');
                self.push_visible(text);
                self.text.push('"');
            }
            Form::Readable => self.push_visible(text),
        }
    }

    /// Appends text for a terminal, which must not take any of it for a command.
    fn push_visible(&mut self, text: &str) {
        for character in text.chars() {
            if character.is_control() || is_turning(character) {
                self.text.extend(character.escape_default());
            } else {
                self.text.push(character);
            }
        }
    }

    fn open_field(&mut self, field: &Field) {
        let (before, after) = if self.form == Form::Json { (",\"", "\":") } else { (" ", "=") };
        for part in [before, field.name(), after] {
            self.text.push_str(part);
        }
    }
}

/// Tells whether a character turns the direction of what follows it.
fn is_turning(character: char) -> bool {
    matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

impl Visit for Line<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            return self.message(value);
        }
        self.open_field(field);
        self.push_text(value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.open_field(field);
        self.text.push_str(itoa::Buffer::new().format(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.open_field(field);
        self.text.push_str(itoa::Buffer::new().format(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.open_field(field);
        self.text.push_str(if value { "true" } else { "false" });
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}

/// Appends the time, to the millisecond.
fn push_time(line: &mut String) {
    thread_local! {
        /// The last second that was written, and how.
        static SECOND: RefCell<(u64, String)> = const { RefCell::new((0, String::new())) };
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    SECOND.with_borrow_mut(|(second, text)| {
        if *second != now.as_secs() || text.is_empty() {
            *second = now.as_secs();
            // `2026-11-16T09:30:00Z` without the `Z`, which comes after the milliseconds.
            *text = Timestamp::from(UNIX_EPOCH + Duration::from_secs(*second)).to_string();
            text.pop();
        }
        line.push_str(text);
    });
    line.push('.');
    push_thousandths(line, now.subsec_millis());
    line.push('Z');
}

/// Appends a number below 1,000 as three digits.
fn push_thousandths(line: &mut String, number: u32) {
    for digit in [number / 100, number / 10, number] {
        line.push(char::from_digit(digit % 10, 10).unwrap_or('0'));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(form: Form) -> String {
        let mut text = String::new();
        Line::compose(&mut text, form, Level::INFO, |line| {
            line.message("said");
            line.text(name!("path"), "a b\u{1b}[2J\u{202e}");
            line.word(name!("method"), Some("ping"));
            line.word(name!("tool"), None);
            line.number(name!("status"), 200_u16);
            line.milliseconds(name!("ms"), Duration::from_micros(12_034));
            line.truth(name!("header_differs"));
        });
        text
    }

    #[test]
    fn a_line_says_the_same_to_programs_and_to_people() {
        let json: serde_json::Value = serde_json::from_str(&line(Form::Json)).unwrap();
        assert_eq!(json["message"], "said");
        assert_eq!(json["path"], "a b\u{1b}[2J\u{202e}");
        assert_eq!((&json["status"], &json["ms"]), (&200.into(), &12.034.into()));
        assert_eq!((&json["header_differs"], json.get("tool")), (&true.into(), None));

        let text = line(Form::Readable);
        let (time, rest) = text.split_once(' ').unwrap();
        assert_eq!((time.len(), time.ends_with('Z')), ("09:30:00.000Z".len(), true), "{text}");
        let expected = "INFO  said path=\"a b\\u{1b}[2J\\u{202e}\" method=ping status=200 ms=12.034 header_differs=true\n";
        assert_eq!(rest, expected, "nothing of it is a command to the terminal");
    }
}
