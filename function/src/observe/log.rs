//! The log: one JSON object per line on stderr, collected in a buffer and written out often.
//!
//! A subscriber of our own, because the stock layers cost as much as a small answer; the line that every request gets
//! goes past `tracing` altogether ([`write`]). Lines are written out at once when they warn, when the buffer is large,
//! when [`flush`] is called, and by a thread a few times a second.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, Write as _};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use wakashu_archive::escape_into;
use wakashu_storage::Timestamp;

const FLUSH_BYTES: usize = 32 * 1024;
const FLUSH_EVERY: Duration = Duration::from_millis(250);

static BUFFER: OnceLock<Mutex<Vec<u8>>> = OnceLock::new();

/// Starts logging up to `level`; nothing is logged for `None`.
///
/// `background` starts a thread that writes out what has collected. On Lambda, where a process sleeps between
/// requests, [`flush`] is called before each answer instead.
pub fn start(level: Option<Level>, background: bool) {
    let Some(level) = level else { return };
    BUFFER.get_or_init(|| Mutex::new(Vec::with_capacity(2 * FLUSH_BYTES)));
    // A second call, as tests in one process make, keeps the first subscriber.
    if tracing::subscriber::set_global_default(Lines { level }).is_ok() && background {
        let writer = std::thread::Builder::new().name("log".to_owned());
        // Without the thread lines only wait longer.
        let _ = writer.spawn(|| {
            loop {
                std::thread::sleep(FLUSH_EVERY);
                flush();
            }
        });
    }
}

/// Tells whether there is a log of ours; a program that only borrows the server has one of its own.
pub(crate) fn is_started() -> bool {
    BUFFER.get().is_some()
}

/// Writes out what has collected.
pub fn flush() {
    let Some(buffer) = BUFFER.get() else { return };
    let mut buffer = buffer.lock().unwrap_or_else(PoisonError::into_inner);
    write_out(&mut buffer);
}

fn write_out(buffer: &mut Vec<u8>) {
    if !buffer.is_empty() {
        // There is nowhere left to complain when stderr is gone.
        let _ = io::stderr().write_all(buffer);
        buffer.clear();
    }
}

struct Lines {
    level: Level,
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // Other crates only speak up when something is wrong.
        let ours = metadata.target().starts_with("wakashu");
        metadata.is_event()
            && *metadata.level() <= if ours { self.level } else { self.level.min(Level::WARN) }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::from_level(self.level))
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        write(*event.metadata().level(), |line| event.record(&mut Fields(line)));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Writes one line, whose fields `fields` appends. Whoever calls it asks first whether `level` is wanted and the log
/// [is started](is_started).
pub(crate) fn write(level: Level, fields: impl FnOnce(&mut String)) {
    thread_local! {
        static LINE: RefCell<String> = RefCell::new(String::with_capacity(512));
    }
    LINE.with(|line| {
        let Ok(mut line) = line.try_borrow_mut() else { return };
        line.clear();
        line.push_str(r#"{"time":""#);
        push_time(&mut line);
        line.push_str(r#"","level":""#);
        line.push_str(level.as_str());
        line.push('"');
        fields(&mut line);
        line.push_str("}\n");
        let Some(buffer) = BUFFER.get() else { return };
        let mut buffer = buffer.lock().unwrap_or_else(PoisonError::into_inner);
        buffer.extend_from_slice(line.as_bytes());
        if buffer.len() >= FLUSH_BYTES || level <= Level::WARN {
            write_out(&mut buffer);
        }
    });
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

/// Appends milliseconds, three digits after the point.
pub(crate) fn push_milliseconds(line: &mut String, time: Duration) {
    let microseconds = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    line.push_str(itoa::Buffer::new().format(microseconds / 1_000));
    line.push('.');
    push_thousandths(line, u32::try_from(microseconds % 1_000).unwrap_or(0));
}

/// Appends a number below 1,000 as three digits.
fn push_thousandths(line: &mut String, number: u32) {
    for digit in [number / 100, number / 10, number] {
        line.push(char::from_digit(digit % 10, 10).unwrap_or('0'));
    }
}

struct Fields<'a>(&'a mut String);

impl Fields<'_> {
    fn name(&mut self, field: &Field) {
        self.0.push_str(",\"");
        self.0.push_str(field.name());
        self.0.push_str("\":");
    }
}

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.name(field);
        self.0.push('"');
        escape_into(self.0, value);
        self.0.push('"');
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.name(field);
        self.0.push_str(itoa::Buffer::new().format(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.name(field);
        self.0.push_str(itoa::Buffer::new().format(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.name(field);
        self.0.push_str(if value { "true" } else { "false" });
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}
