//! What the log says about a request. No poem, no argument ever gets here: texts are the program's own.

use std::time::Instant;

use tracing::Level;
use wakashu_archive::escape_into;

use crate::observe::log;

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
pub(crate) struct Line<'a> {
    /// Its id.
    pub(crate) request: &'a str,
    pub(crate) status: u16,
    pub(crate) bytes: usize,
    pub(crate) started: Instant,
    /// The archive it was answered from, cut short.
    pub(crate) archive: Option<&'a str>,
    /// What a request for nothing asked for, cut short.
    pub(crate) path: Option<&'a str>,
}

impl Facts {
    /// Writes the line of a request.
    ///
    /// By hand: every request has this line, and an event of `tracing` cost as much again as writing it.
    pub(crate) fn write(&self, about: &Line<'_>) {
        if !tracing::event_enabled!(Level::INFO) {
            return;
        }
        if !log::is_started() {
            self.tell(about);
            return;
        }
        log::write(Level::INFO, |line| {
            let mut number = itoa::Buffer::new();
            // The platform may have chosen the id; the other texts are ours and need no escapes.
            line.push_str(r#","request":""#);
            escape_into(line, about.request);
            line.push('"');
            push_text(line, r#","method":""#, Some(self.method));
            push_text(line, r#","tool":""#, self.tool);
            push_text(line, r#","era":""#, Some(self.era));
            line.push_str(r#","status":"#);
            line.push_str(number.format(about.status));
            if let Some(code) = self.rpc_code {
                line.push_str(r#","code":"#);
                line.push_str(number.format(code));
            }
            push_text(line, r#","error":""#, self.error);
            if self.header_differs {
                line.push_str(r#","header_differs":true"#);
            }
            line.push_str(r#","bytes":"#);
            line.push_str(number.format(about.bytes));
            line.push_str(r#","ms":"#);
            log::push_milliseconds(line, about.started.elapsed());
            push_text(line, r#","archive":""#, about.archive);
            if let Some(path) = about.path {
                line.push_str(r#","path":""#);
                escape_into(line, path);
                line.push('"');
            }
        });
    }

    /// Tells the same to the log of the program that borrows the server: `preview` has one.
    #[cold]
    fn tell(&self, about: &Line<'_>) {
        let said = |text: &'static str| Some(text).filter(|text| !text.is_empty());
        let mut ms = String::new();
        log::push_milliseconds(&mut ms, about.started.elapsed());
        tracing::info!(
            request = about.request,
            method = said(self.method),
            tool = self.tool,
            era = said(self.era),
            status = about.status,
            code = self.rpc_code,
            error = self.error,
            header_differs = self.header_differs.then_some(true),
            bytes = about.bytes,
            ms = %ms,
            archive = about.archive,
            path = about.path,
        );
    }
}

/// Appends a field that opens like `name`, if there is anything to say: a message that was refused early has no method
/// and no era.
fn push_text(line: &mut String, name: &str, text: Option<&str>) {
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        line.push_str(name);
        line.push_str(text);
        line.push('"');
    }
}
