//! The log: one line per event on stderr, JSON for programs and `name=value` on a terminal.
//!
//! A subscriber of our own, because the stock layers cost as much as a small answer; the line that every request gets
//! goes past `tracing` altogether ([`write`]). Lines are collected in a buffer, and a thread of the log's own writes them
//! out: at once when they warn or are many, else a few times a second. Nobody else ever waits for stderr. While nobody
//! reads it, what does not fit into the buffer is dropped and counted.

mod line;

use std::cell::RefCell;
use std::io::{self, IsTerminal as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use line::Form;
pub(crate) use line::{Line, Name, name};

/// With so many bytes the writer is woken.
const FLUSH_BYTES: usize = 32 * 1024;
const FLUSH_EVERY: Duration = Duration::from_millis(250);

/// Most bytes that wait to be written: some 4,000 requests.
const MOST_WAITING_BYTES: usize = 1 << 20;

/// How long the end waits for somebody to read the last lines.
const LAST_FLUSH: Duration = Duration::from_secs(2);

static LOG: OnceLock<Log> = OnceLock::new();

/// Lines on their way to stderr.
struct Log {
    form: Form,
    waiting: Mutex<Waiting>,
    /// Tells that what was waiting is out.
    written: Condvar,
    /// The thread that writes; on Lambda there is none.
    writer: OnceLock<Thread>,
    /// All lines that were ever dropped.
    dropped: AtomicU64,
}

#[derive(Default)]
struct Waiting {
    lines: Vec<u8>,
    /// Lines dropped since these were written.
    dropped: u64,
    is_writing: bool,
}

/// Starts logging up to `level`; nothing is logged for `None`.
///
/// `background` starts a thread that writes out what has collected. On Lambda, where a process sleeps between
/// requests, [`flush`] is called before each answer instead.
pub fn start(level: Option<Level>, background: bool) {
    // The usual hook writes to stderr itself, and would wait there. Where nothing is logged, ours says nothing either.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(detail = panic.payload_as_str().unwrap_or_default(), place, "a panic");
    }));
    let Some(level) = level else { return };
    let form = if io::stderr().is_terminal() { Form::Readable } else { Form::Json };
    let log = LOG.get_or_init(|| Log::new(form));
    // A second call, as tests in one process make, keeps the first subscriber.
    if tracing::subscriber::set_global_default(Lines { level }).is_err() {
        return;
    }
    if background
        && let Ok(writer) = thread::Builder::new().name("log".to_owned()).spawn(move || log.keep_writing())
    {
        // It is set once: only the first call comes this far.
        let _ = log.writer.set(writer.thread().clone());
    }
}

/// Tells whether there is a log of ours; a program that only borrows the server has one of its own.
pub(crate) fn is_started() -> bool {
    LOG.get().is_some()
}

/// Returns how many lines were dropped because nobody read the log.
pub(crate) fn dropped() -> u64 {
    LOG.get().map_or(0, |log| log.dropped.load(Ordering::Relaxed))
}

/// Writes out what has collected. Where a thread does that, waits for it a little; tells whether everything is out.
pub fn flush() -> bool {
    LOG.get().is_none_or(Log::flush)
}

impl Log {
    fn new(form: Form) -> Self {
        Self {
            form,
            waiting: Mutex::default(),
            written: Condvar::new(),
            writer: OnceLock::new(),
            dropped: AtomicU64::new(0),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line to those that wait, if there is room for it.
    fn add(&self, line: &str, level: Level) {
        let mut waiting = self.waiting();
        if waiting.lines.len() + line.len() > MOST_WAITING_BYTES {
            waiting.dropped += 1;
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        waiting.lines.extend_from_slice(line.as_bytes());
        let is_due = waiting.lines.len() >= FLUSH_BYTES || level <= Level::WARN;
        drop(waiting);
        if is_due {
            match self.writer.get() {
                Some(writer) => writer.unpark(),
                None => while self.write_out(&mut Vec::new(), &mut io::stderr()) {},
            }
        }
    }

    fn keep_writing(&self) {
        let mut lines = Vec::new();
        loop {
            thread::park_timeout(FLUSH_EVERY);
            while self.write_out(&mut lines, &mut io::stderr()) {}
        }
    }

    /// Writes the waiting lines to `out`; tells whether there were any. `lines` is room for them. The others may go on
    /// adding lines meanwhile.
    fn write_out(&self, lines: &mut Vec<u8>, out: &mut impl io::Write) -> bool {
        lines.clear();
        lines.shrink_to(2 * FLUSH_BYTES);
        let mut waiting = self.waiting();
        if waiting.lines.is_empty() {
            return false;
        }
        std::mem::swap(lines, &mut waiting.lines);
        let dropped = std::mem::take(&mut waiting.dropped);
        waiting.is_writing = true;
        drop(waiting);
        if dropped > 0 {
            let mut report = String::new();
            Line::compose(&mut report, self.form, Level::WARN, |line| {
                line.message("lines of the log were dropped: nobody read them");
                line.number(name!("lines"), dropped);
            });
            lines.extend_from_slice(report.as_bytes());
        }
        // There is nowhere left to complain when stderr is gone.
        let _ = out.write_all(lines);
        self.waiting().is_writing = false;
        self.written.notify_all();
        true
    }

    fn flush(&self) -> bool {
        let Some(writer) = self.writer.get() else {
            while self.write_out(&mut Vec::new(), &mut io::stderr()) {}
            return true;
        };
        writer.unpark();
        let is_out = |waiting: &mut Waiting| waiting.is_writing || !waiting.lines.is_empty();
        let waited = self.written.wait_timeout_while(self.waiting(), LAST_FLUSH, is_out);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
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
        write(*event.metadata().level(), |line| event.record(line));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Writes one line, whose fields `fields` appends. The caller asks first whether `level` is wanted and the log
/// [is started](is_started).
pub(crate) fn write(level: Level, fields: impl FnOnce(&mut Line<'_>)) {
    thread_local! {
        static LINE: RefCell<String> = RefCell::new(String::with_capacity(512));
    }
    let Some(log) = LOG.get() else { return };
    LINE.with(|line| {
        let Ok(mut line) = line.try_borrow_mut() else { return };
        line.clear();
        Line::compose(&mut line, log.form, level, fields);
        log.add(&line, level);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beyond_the_bound_are_dropped_and_their_number_is_told() {
        let log = Log::new(Form::Json);
        let line = format!("{}\n", "x".repeat(1_023));
        // Nobody writes: as many as fit are kept, and no call waits. Where a thread writes, `INFO` wakes it at most.
        let writer = thread::current();
        log.writer.set(writer).unwrap();
        for _ in 0..2_000 {
            log.add(&line, Level::INFO);
        }
        let mut out = Vec::new();
        assert!(log.write_out(&mut Vec::new(), &mut out));
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().filter(|line| line.starts_with('x')).count(), 1_024);
        let told: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        assert_eq!((&told["lines"], &told["level"]), (&976.into(), &"WARN".into()));
        assert_eq!(log.dropped.load(Ordering::Relaxed), 976);
        assert!(!log.write_out(&mut Vec::new(), &mut Vec::new()), "told once");
    }
}
