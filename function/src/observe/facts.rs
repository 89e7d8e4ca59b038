//! What the log says about a request. No poem, no argument ever gets here: texts are the program's own.

use std::time::Duration;

use tracing::Level;

use crate::observe::log::{self, Line, name};
use crate::observe::metrics::Outcome;

/// The facts of one request, filled in on the way.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) method: &'static str,
    pub(crate) tool: Option<&'static str>,
    pub(crate) era: &'static str,
    pub(crate) rpc_code: Option<i32>,
    /// Why it was refused: the code of a tool's error, or what of the HTTP request does not fit.
    pub(crate) error: Option<&'static str>,
    pub(crate) header_differs: bool,
}

/// What is known of a request when its answer is.
#[derive(Debug)]
pub(crate) struct Answered<'a> {
    /// Its id.
    pub(crate) request: &'a str,
    pub(crate) status: u16,
    pub(crate) bytes: usize,
    pub(crate) took: Duration,
    /// The archive it was answered from, cut short.
    pub(crate) archive: Option<&'a str>,
    /// The beginning of a path that does not exist.
    pub(crate) path: Option<&'a str>,
}

impl Facts {
    /// Tells whether anybody wants to read the lines of requests.
    pub(crate) fn are_wanted() -> bool {
        tracing::event_enabled!(Level::INFO)
    }

    /// Returns what came of a request that was answered with `status`.
    pub(crate) fn outcome(&self, status: u16) -> Outcome {
        match status {
            500.. => Outcome::Failed,
            400.. => Outcome::Refused,
            _ if self.error.is_some() || self.rpc_code.is_some() => Outcome::Error,
            _ => Outcome::Ok,
        }
    }

    /// Writes the line of a request: into our log, or into that of a program that borrows the server, as `preview` does.
    ///
    /// By hand: every request has this line, and an event of `tracing` cost as much again as writing it.
    pub(crate) fn write(&self, about: &Answered<'_>) {
        if log::is_started() {
            log::write(Level::INFO, |line| self.list(about, line));
        } else {
            let mut text = String::new();
            self.list(about, &mut Line::readable(&mut text));
            tracing::info!("{}", text.trim_start());
        }
    }

    /// Lists the fields.
    fn list(&self, about: &Answered<'_>, line: &mut Line<'_>) {
        // The platform may have chosen the id, and the path is the caller's.
        line.text(name!("request"), about.request);
        line.word(name!("method"), Some(self.method));
        line.word(name!("tool"), self.tool);
        line.word(name!("era"), Some(self.era));
        line.number(name!("status"), about.status);
        if let Some(code) = self.rpc_code {
            line.number(name!("code"), code);
        }
        line.word(name!("error"), self.error);
        if self.header_differs {
            line.truth(name!("header_differs"));
        }
        line.number(name!("bytes"), about.bytes);
        line.milliseconds(name!("ms"), about.took);
        line.word(name!("archive"), about.archive);
        if let Some(path) = about.path {
            line.text(name!("path"), path);
        }
    }
}
