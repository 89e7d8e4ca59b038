//! `subscriptions/listen`: hearing of a replaced archive. Only doors that outlive a request offer it.

use crate::mcp::error::{self, RpcError};
use crate::served::state::Generation;
use crate::text::Answer;
use wakashu_wire::{Part, Raw, Request};

/// A client that listens.
#[derive(Debug, Clone)]
pub(crate) struct Subscription {
    /// The id of the request that opened it, as it was written.
    pub(crate) id: String,
    tools: bool,
    resources: bool,
}

impl Subscription {
    /// Reads what a client wants to hear of; what this server never announces is left out.
    pub(super) fn read(request: &Request<'_>) -> Result<Self, RpcError> {
        let Part::Object(wanted) = &request.params.notifications else {
            return Err(error::invalid_params("`notifications` must be an object"));
        };
        let is_on = |name: &str| wanted.get(name).map(Raw::get) == Some("true");
        Ok(Self {
            id: request.id.to_owned(),
            tools: is_on("toolsListChanged"),
            resources: is_on("resourcesListChanged"),
        })
    }

    /// Returns the first message of the subscription: what it will hear of.
    pub(crate) fn acknowledged(&self) -> Answer {
        let mut out = Answer::default();
        out.raw(r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"#);
        self.write_meta(&mut out);
        out.raw(r#","notifications":{"#);
        out.raw(if self.tools { r#""toolsListChanged":true"# } else { "" });
        out.raw(if self.tools && self.resources { "," } else { "" });
        out.raw(if self.resources { r#""resourcesListChanged":true"# } else { "" });
        out.raw("}}}");
        out
    }

    /// Returns what to say when the archive went from one generation to the next.
    pub(crate) fn changed(&self, before: Generation, now: Generation) -> Vec<Answer> {
        let mut messages = Vec::new();
        for (wanted, method) in changes(before, now) {
            let listens = if wanted == Kind::Tools { self.tools } else { self.resources };
            if listens {
                let mut out = Answer::default();
                out.raw(r#"{"jsonrpc":"2.0","method":"#).string(method).raw(r#","params":{"#);
                self.write_meta(&mut out);
                out.raw("}}");
                messages.push(out);
            }
        }
        messages
    }

    /// Returns the last message: the answer to the request that opened the subscription.
    pub(crate) fn closed(&self) -> Answer {
        let mut out = Answer::default();
        out.raw(r#"{"jsonrpc":"2.0","id":"#).raw(&self.id).raw(r#","result":{"resultType":"complete","#);
        self.write_meta(&mut out);
        out.raw("}}");
        out
    }

    fn write_meta(&self, out: &mut Answer) {
        out.raw(r#""_meta":{"io.modelcontextprotocol/subscriptionId":"#).raw(&self.id).raw("}");
    }
}

/// Returns what a legacy client on stdio is told, unasked, when the archive was replaced.
pub(crate) fn legacy_changed(before: Generation, now: Generation) -> Vec<Answer> {
    let messages = changes(before, now).into_iter().map(|(_, method)| {
        let mut out = Answer::default();
        out.raw(r#"{"jsonrpc":"2.0","method":"#).string(method).raw("}");
        out
    });
    messages.collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tools,
    Resources,
}

fn changes(before: Generation, now: Generation) -> Vec<(Kind, &'static str)> {
    let mut changes = Vec::new();
    if now.tools != before.tools {
        changes.push((Kind::Tools, "notifications/tools/list_changed"));
    }
    if now.resources != before.resources {
        changes.push((Kind::Resources, "notifications/resources/list_changed"));
    }
    changes
}
