//! What the log says about a request. No poem text, no argument ever gets here.

use crate::mcp::era::Revision;

/// The facts of one request, filled in on the way.
#[derive(Debug, Default)]
pub(crate) struct RequestLog {
    pub(crate) method: &'static str,
    pub(crate) tool: Option<&'static str>,
    pub(crate) era: &'static str,
    pub(crate) rpc_code: Option<i32>,
    pub(crate) tool_error: Option<&'static str>,
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
    pub(crate) fn set_method(&mut self, method: &str) {
        self.method = METHODS.into_iter().find(|known| *known == method).unwrap_or("other");
    }
}
