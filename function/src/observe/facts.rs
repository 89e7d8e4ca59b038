//! What the log says about a request. No poem text, no argument ever gets here.

use std::time::Instant;

use tracing::Level;
use wakashu_archive::escape_into;

use crate::observe::log;
use crate::served::snapshot::Snapshot;
use wakashu_wire::Revision;

/// The facts of one request, filled in on the way.
#[derive(Debug, Default)]
pub(crate) struct RequestLog {
    pub(crate) method: &'static str,
    pub(crate) tool: Option<&'static str>,
    pub(crate) era: &'static str,
    pub(crate) rpc_code: Option<i32>,
    /// Why it was refused: the code of a tool's error, or what of the HTTP request does not fit.
    pub(crate) error: Option<&'static str>,
    pub(crate) header_differs: bool,
    /// The revision an `initialize` agreed on; stdio remembers it.
    pub(crate) agreed: Option<Revision>,
}

/// The methods a log line may name; anything else is the caller's text and stays out.
const METHODS: [&str; 19] = [
    "tools/call",
    "tools/list",
    "server/discover",
    "initialize",
    "ping",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "subscriptions/listen",
    "logging/setLevel",
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/progress",
    "notifications/roots/list_changed",
];

impl RequestLog {
    /// Writes the line of a request that came in at `started` and was answered with `status` and `bytes`.
    ///
    /// By hand: every request has this line, and an event of `tracing` cost as much again as writing it.
    pub(crate) fn write(
        &self,
        request_id: &str,
        status: u16,
        bytes: usize,
        started: Instant,
        snapshot: &Snapshot,
    ) {
        if !tracing::event_enabled!(Level::INFO) {
            return;
        }
        let archive = snapshot.loaded().and_then(|loaded| loaded.digest.get(..16));
        if !log::is_started() {
            self.tell(request_id, status, bytes, started, archive);
            return;
        }
        log::write(Level::INFO, |line| {
            let mut number = itoa::Buffer::new();
            // The platform may have chosen the id; the other texts are ours and need no escapes.
            line.push_str(r#","request":""#);
            escape_into(line, request_id);
            line.push('"');
            push_text(line, r#","method":""#, Some(self.method));
            push_text(line, r#","tool":""#, self.tool);
            push_text(line, r#","era":""#, Some(self.era));
            line.push_str(r#","status":"#);
            line.push_str(number.format(status));
            if let Some(code) = self.rpc_code {
                line.push_str(r#","code":"#);
                line.push_str(number.format(code));
            }
            push_text(line, r#","error":""#, self.error);
            if self.header_differs {
                line.push_str(r#","header_differs":true"#);
            }
            line.push_str(r#","bytes":"#);
            line.push_str(number.format(bytes));
            line.push_str(r#","ms":"#);
            log::push_milliseconds(line, started.elapsed());
            push_text(line, r#","archive":""#, archive);
        });
    }

    /// Tells the same to the log of the program that borrows the server: `preview` has one.
    #[cold]
    fn tell(&self, request_id: &str, status: u16, bytes: usize, started: Instant, archive: Option<&str>) {
        let said = |text: &'static str| Some(text).filter(|text| !text.is_empty());
        let mut ms = String::new();
        log::push_milliseconds(&mut ms, started.elapsed());
        tracing::info!(
            request = request_id,
            method = said(self.method),
            tool = self.tool,
            era = said(self.era),
            status,
            code = self.rpc_code,
            error = self.error,
            header_differs = self.header_differs.then_some(true),
            bytes,
            ms = %ms,
            archive,
        );
    }

    pub(crate) fn set_method(&mut self, method: &str) {
        self.method = METHODS.iter().find(|known| **known == method).copied().unwrap_or("other");
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
