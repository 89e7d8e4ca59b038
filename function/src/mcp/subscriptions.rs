//! `subscriptions/listen`: hearing of a replaced archive. Only doors that outlive a request offer it.

use crate::mcp::error::{self, RpcError};
use crate::served::state::Generation;
use crate::text::{Answer, field};
use wakashu_wire::{Part, Raw, Request};

/// A client that listens.
#[derive(Debug, Clone)]
pub(crate) struct Subscription {
    /// The id of the request that opened it, as it was written.
    pub(crate) id: String,
    tools: bool,
    resources: bool,
    prompts: bool,
}

impl Subscription {
    /// Reads what a client wants to hear of; what this server never announces is left out. Prompts change where others'
    /// are passed on.
    pub(super) fn read(request: &Request<'_>, prompts_change: bool) -> Result<Self, RpcError> {
        let Part::Object(wanted) = &request.params.notifications else {
            return Err(error::invalid_params("`notifications` must be an object"));
        };
        let is_on = |name: &str| wanted.get(name).map(Raw::get) == Some("true");
        Ok(Self {
            id: request.id.to_owned(),
            tools: is_on("toolsListChanged"),
            resources: is_on("resourcesListChanged"),
            prompts: prompts_change && is_on("promptsListChanged"),
        })
    }

    /// Returns the first message of the subscription: what it will hear of.
    pub(crate) fn acknowledged(&self) -> Answer {
        notification("notifications/subscriptions/acknowledged", |out| {
            field!(out, "params").object(|out| {
                self.write_meta(out);
                field!(out, "notifications").object(|out| {
                    if self.tools {
                        field!(out, "toolsListChanged").boolean(true);
                    }
                    if self.resources {
                        field!(out, "resourcesListChanged").boolean(true);
                    }
                    if self.prompts {
                        field!(out, "promptsListChanged").boolean(true);
                    }
                });
            });
        })
    }

    /// Returns what to say when the archive went from one generation to the next.
    pub(crate) fn changed(&self, before: Generation, now: Generation) -> Vec<Answer> {
        let listens = |kind: Kind| match kind {
            Kind::Tools => self.tools,
            Kind::Resources => self.resources,
            Kind::Prompts => self.prompts,
        };
        let heard = changes(before, now).into_iter().filter(|(kind, _)| listens(*kind));
        let message = |(_, method)| {
            notification(method, |out| {
                field!(out, "params").object(|out| self.write_meta(out));
            })
        };
        heard.map(message).collect()
    }

    /// Returns the last message: the answer to the request that opened the subscription.
    pub(crate) fn closed(&self) -> Answer {
        let mut out = Answer::default();
        out.object(|out| {
            field!(out, "jsonrpc": "2.0");
            field!(out, "id").value(&self.id);
            field!(out, "result").object(|out| {
                field!(out, "resultType": "complete");
                self.write_meta(out);
            });
        });
        out
    }

    fn write_meta(&self, out: &mut Answer) {
        field!(out, "_meta").object(|out| {
            field!(out, "io.modelcontextprotocol/subscriptionId").value(&self.id);
        });
    }
}

/// Returns what a legacy client on stdio is told, unasked, when the archive was replaced.
pub(crate) fn legacy_changed(before: Generation, now: Generation) -> Vec<Answer> {
    changes(before, now).into_iter().map(|(_, method)| notification(method, |_| {})).collect()
}

/// Writes a notification; `params` writes what it says.
fn notification(method: &str, params: impl FnOnce(&mut Answer)) -> Answer {
    let mut out = Answer::default();
    out.object(|out| {
        field!(out, "jsonrpc": "2.0");
        field!(out, "method").string(method);
        params(out);
    });
    out
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tools,
    Resources,
    Prompts,
}

fn changes(before: Generation, now: Generation) -> Vec<(Kind, &'static str)> {
    let mut changes = Vec::new();
    if now.tools != before.tools {
        changes.push((Kind::Tools, "notifications/tools/list_changed"));
    }
    if now.resources != before.resources {
        changes.push((Kind::Resources, "notifications/resources/list_changed"));
    }
    if now.prompts != before.prompts {
        changes.push((Kind::Prompts, "notifications/prompts/list_changed"));
    }
    changes
}
