//! Everything the program says. Data goes to stdout, messages for people to stderr; nothing else prints.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use unicode_width::UnicodeWidthStr as _;

use crate::problem::{Excerpt, Problem, Severity, Tally};
use crate::words::talk::{self, Figure};
use crate::words::{Language, Remark};

/// Time between two progress lines where there is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Colour {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How much to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Volume {
    /// Nothing at all; for callers inside the program.
    Silent,
    /// Problems only.
    Quiet,
    /// Problems, progress and a summary.
    Normal,
}

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progressing {
    Hidden,
    Lines,
    Bar,
}

/// The program's voice.
#[derive(Debug, Clone)]
pub struct Report {
    volume: Volume,
    colour: bool,
    progressing: Progressing,
    language: Language,
}

impl Report {
    /// Makes a voice for a person or a log.
    #[must_use]
    pub fn new(quiet: bool, colour: Colour) -> Self {
        let terminal = io::stderr().is_terminal();
        let colour = match colour {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        };
        let progressing = match (quiet, terminal) {
            (true, _) => Progressing::Hidden,
            (false, true) => Progressing::Bar,
            (false, false) => Progressing::Lines,
        };
        let volume = if quiet { Volume::Quiet } else { Volume::Normal };
        Self { volume, colour, progressing, language: Language::default() }
    }

    /// Makes a voice that says nothing.
    #[must_use]
    pub fn silent() -> Self {
        Self {
            volume: Volume::Silent,
            colour: false,
            progressing: Progressing::Hidden,
            language: Language::default(),
        }
    }

    /// Speaks a language.
    #[must_use]
    pub fn in_language(mut self, language: Language) -> Self {
        self.language = language;
        self
    }

    /// Returns the language it speaks.
    #[must_use]
    pub fn language(&self) -> Language {
        self.language
    }

    /// Shows no progress.
    #[must_use]
    pub fn without_progress(mut self) -> Self {
        self.progressing = Progressing::Hidden;
        self
    }

    /// Starts showing the progress of `total` things, named `what`.
    #[must_use]
    pub fn progress(&self, what: &'static str, total: usize) -> Progress {
        let total = total as u64;
        let display = match self.progressing {
            Progressing::Hidden => Display::Hidden,
            Progressing::Lines => Display::Lines { started: Instant::now(), last: Instant::now() },
            Progressing::Bar => {
                let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(10));
                let template = "{bar:28} {pos}/{len} {msg}  {per_sec:.0}  {eta} left";
                if let Ok(style) = ProgressStyle::with_template(template) {
                    bar.set_style(style.progress_chars("=> "));
                }
                bar.set_message(what);
                Display::Bar(bar)
            }
        };
        Progress { what, total, done: 0, display }
    }

    /// Says what is wrong: one line, the line of the file where it helps, and at most one hint each.
    pub fn problems(&self, problems: &[Problem], strict: bool) {
        let mut text = String::new();
        for problem in problems.iter().filter(|problem| self.tells(problem, strict)) {
            let said = problem.wording.said(self.language);
            text.extend([&self.severity(problem.severity), ": ", &problem.path]);
            if let Some(place) = &problem.place {
                text.push_str(&format!(":{}:{}", place.line, place.column));
            }
            text.extend([": ", &said.message, "\n"]);
            if let Some((line, Excerpt { text: excerpt, before })) =
                problem.place.as_ref().and_then(|place| Some((place.line, place.excerpt.as_ref()?)))
            {
                let caret = format!("{}{}", " ".repeat(*before), self.paint("1;31", "^"));
                text.push_str(&format!("{line:>6} | {excerpt}\n       | {caret}\n"));
            }
            if let Some(hint) = said.hint.as_ref().filter(|_| !problem.minor) {
                text.push_str(&self.hint(hint));
            }
        }
        say(&text);
    }

    /// Says how many problems there were, if it told any.
    pub fn tally(&self, problems: &[Problem], strict: bool) {
        if problems.iter().any(|problem| self.tells(problem, strict)) {
            say(&format!("{}\n", talk::tally(Tally::of(problems)).said(self.language)));
        }
    }

    fn tells(&self, problem: &Problem, strict: bool) -> bool {
        match self.volume {
            Volume::Silent => false,
            Volume::Quiet => strict || !problem.minor,
            Volume::Normal => true,
        }
    }

    /// Says one thing by the way.
    pub fn note(&self, text: &str) {
        if self.volume >= Volume::Normal {
            say(&format!("{text}\n"));
        }
    }

    /// Says one thing by the way, in the language of the person.
    pub(crate) fn remark(&self, remark: &Remark) {
        self.note(remark.said(self.language));
    }

    /// Says why the program could not run.
    pub fn failure(&self, text: &str, hint: Option<&str>) {
        let mut line = format!("{}: {text}\n", self.severity(Severity::Error));
        if let Some(hint) = hint {
            line.push_str(&self.hint(hint));
        }
        say(&line);
    }

    /// Says the closing figures, one per line.
    pub fn summary(&self, figures: &[(&str, String)]) {
        if self.volume < Volume::Normal {
            return;
        }
        let width = figures.iter().map(|(label, _)| label.width()).max().unwrap_or(0);
        let lines = figures.iter().map(|(label, value)| {
            let padding = " ".repeat(width - label.width());
            format!("{} {value}\n", self.paint("1", &format!("{label}{padding}")))
        });
        say(&lines.collect::<String>());
    }

    /// Says the closing figures in the language of the person.
    pub(crate) fn figures(&self, figures: Vec<(Figure, String)>) {
        let labelled = figures.into_iter().map(|(figure, value)| (figure.label(self.language), value));
        self.summary(&labelled.collect::<Vec<_>>());
    }

    /// Writes data to stdout. A reader that has gone away is not a failure.
    pub fn data(&self, text: &str) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            result => result,
        }
    }

    /// Writes one JSON object to stdout.
    pub fn json(&self, object: &impl Serialize) -> io::Result<()> {
        let mut text = serde_json::to_string_pretty(object)?;
        text.push('\n');
        self.data(&text)
    }

    fn hint(&self, hint: &str) -> String {
        format!("  {}: {hint}\n", self.paint("36", talk::hint().said(self.language)))
    }

    fn severity(&self, severity: Severity) -> String {
        let code = if severity == Severity::Error { "1;31" } else { "1;33" };
        self.paint(code, talk::severity(severity).said(self.language))
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// Writes a message for people. When even stderr is gone there is nobody to tell.
fn say(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// The progress of something under way; cleared when dropped.
#[derive(Debug)]
pub struct Progress {
    what: &'static str,
    total: u64,
    done: u64,
    display: Display,
}

#[derive(Debug)]
enum Display {
    Hidden,
    Lines { started: Instant, last: Instant },
    Bar(ProgressBar),
}

impl Progress {
    /// Counts one more.
    pub fn advance(&mut self) {
        self.advance_by(1);
    }

    /// Counts so many more.
    pub fn advance_by(&mut self, count: u64) {
        self.done += count;
        match &mut self.display {
            Display::Hidden => {}
            Display::Bar(bar) => bar.inc(count),
            Display::Lines { started, last } => {
                if last.elapsed() < LINE_INTERVAL {
                    return;
                }
                *last = Instant::now();
                let seconds = started.elapsed().as_secs_f64();
                #[expect(clippy::cast_precision_loss, reason = "figures for people")]
                let rate = self.done as f64 / seconds;
                #[expect(clippy::cast_precision_loss, reason = "figures for people")]
                let left = self.total.saturating_sub(self.done) as f64 / rate;
                let (done, total, what) = (self.done, self.total, self.what);
                say(&format!("{done}/{total} {what}, {rate:.0}/s, {} left\n", duration(left)));
            }
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Display::Bar(bar) = &self.display {
            bar.finish_and_clear();
        }
    }
}

/// Returns a number of bytes as people read it, in steps of 1,000.
#[must_use]
pub fn bytes(count: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    let value = count as f64;
    // A unit ends where rounding would lead to its thousand.
    match count {
        0..1_000 => format!("{count} B"),
        1_000..999_950 => format!("{:.1} kB", value / 1e3),
        999_950..999_950_000 => format!("{:.1} MB", value / 1e6),
        _ => format!("{:.2} GB", value / 1e9),
    }
}

/// Returns a number of seconds as people read it.
#[must_use]
pub fn duration(seconds: f64) -> String {
    if seconds < 59.95 {
        return format!("{seconds:.1} s");
    }
    let seconds = seconds.round();
    let minutes = (seconds / 60.0).floor();
    format!("{minutes:.0} min {:.0} s", seconds - minutes * 60.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        assert_eq!([bytes(999), bytes(1_500), bytes(2_000_000)], ["999 B", "1.5 kB", "2.0 MB"]);
        assert_eq!([duration(1.25), duration(61.0)], ["1.2 s", "1 min 1 s"]);
    }

    #[test]
    fn rounding_leads_to_the_next_unit() {
        let sizes = [bytes(999_949), bytes(999_950), bytes(999_949_999), bytes(999_950_000)];
        assert_eq!(sizes, ["999.9 kB", "1.0 MB", "999.9 MB", "1.00 GB"]);
        assert_eq!([duration(59.94), duration(59.96), duration(119.6)], ["59.9 s", "1 min 0 s", "2 min 0 s"]);
    }
}
