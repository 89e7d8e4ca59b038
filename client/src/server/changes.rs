//! What a server says by itself: of changes, of requests under way, and what it asks.

use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::time::timeout;
use wakashu_wire::envelope::Kind;

use super::{Agreed, Server, lock, read_own};
use crate::chain::Chain;
use crate::link::{Call, Link};

/// How long a subscription waits for a sign of life; servers send one every quarter of a minute.
const SUBSCRIPTION_PATIENCE: Duration = Duration::from_hours(24);
/// The wait before a subscription that ended is opened again.
const RESUBSCRIBE_AFTER: Duration = Duration::from_secs(5);
/// How long a subscription that was opened again must hold, to be taken for one that tells of changes.
const SUBSCRIBED_AFTER: Duration = Duration::from_secs(1);
/// The longest line of a server's log that is passed on.
const LONGEST_LOG_LINE: usize = 2000;

/// What changed at a server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// Its list of tools.
    Tools,
    /// Its list of prompts.
    Prompts,
    /// Its list of resources.
    Resources,
    /// One resource.
    Resource(String),
    /// It was reached anew, and may have changed unheard meanwhile.
    Reconnected,
}

impl Server {
    /// Begins to take what the server says of changes.
    pub(super) fn follow_changes(self: &Arc<Self>, agreed: &Agreed) {
        if !agreed.revision.is_modern() {
            self.passage.link.listen();
            return;
        }
        let says = |list: &str| {
            agreed.capabilities.get(list).and_then(|list| list.get("listChanged")) == Some(&Value::Bool(true))
        };
        let mut wanted = Map::new();
        for (list, name) in [
            ("tools", "toolsListChanged"),
            ("prompts", "promptsListChanged"),
            ("resources", "resourcesListChanged"),
        ] {
            if says(list) {
                wanted.insert(name.to_owned(), Value::Bool(true));
            }
        }
        if wanted.is_empty() {
            return;
        }
        let mut params = Map::new();
        params.insert("notifications".to_owned(), Value::Object(wanted));
        let Ok(call) = self.call("subscriptions/listen", params, true, SUBSCRIPTION_PATIENCE) else { return };
        let (link, server) = (Arc::clone(&self.passage.link), Arc::downgrade(self));
        let task = tokio::spawn(keep_subscribed(link, call, move || {
            if let Some(server) = server.upgrade() {
                server.doubt();
                server.reconnected();
            }
        }));
        if let Some(before) = lock(&self.subscription).replace(task.abort_handle()) {
            before.abort();
        }
    }

    async fn take_message(&self, message: Chain) {
        let Ok(envelope) = message.scan() else { return };
        let part = |span: Option<_>| span.map(|span| message.slice(span).into_bytes()).unwrap_or_default();
        let method: String = serde_json::from_slice(&part(envelope.method())).unwrap_or_default();
        if envelope.kind() == Some(Kind::Request) {
            let id = String::from_utf8_lossy(&part(envelope.id())).into_owned();
            let answer = match method.as_str() {
                "ping" => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#),
                _ => wakashu_wire::error::method_not_found(false).to_json(Some(&id)),
            };
            if let Ok(answer) = read_own(answer)
                && let Err(error) = self.passage.link.notify(answer).await
            {
                tracing::debug!(server = %self.name, %error, "could not answer");
            }
            return;
        }
        let params: Value = serde_json::from_slice(&part(envelope.params())).unwrap_or_default();
        let (change, stale): (Change, fn(&str) -> bool) = match method.as_str() {
            "notifications/tools/list_changed" => {
                self.passage.forget_marks();
                (Change::Tools, |method| method == "tools/list")
            }
            "notifications/prompts/list_changed" => (Change::Prompts, |method| method == "prompts/list"),
            "notifications/resources/list_changed" => {
                (Change::Resources, |method| method.starts_with("resources/"))
            }
            "notifications/resources/updated" => {
                let uri = params.get("uri").and_then(Value::as_str).unwrap_or_default();
                (Change::Resource(uri.to_owned()), |method| method == "resources/read")
            }
            "notifications/message" => {
                let data = params.get("data").map(ToString::to_string).unwrap_or_default();
                let data: String = data.chars().take(LONGEST_LOG_LINE).collect();
                tracing::info!(server = %self.name, "{data}");
                let _ = self.notices.send(message);
                return;
            }
            "notifications/progress" => {
                let _ = self.notices.send(message);
                return;
            }
            _ => return,
        };
        self.treatment.cache.forget(&self.name, stale);
        // Nobody may be interested.
        let _ = self.changes.send(change);
    }
}

/// Keeps a subscription open until the server refuses it for good. `missed` is called whenever it was opened again: of what
/// changed since the one before ended, nothing was told.
pub(crate) async fn keep_subscribed(link: Arc<dyn Link>, call: Call, missed: impl Fn()) {
    let mut ended = link.request(call.clone()).await;
    while !ended.and_then(|answer| answer.result()).is_err_and(|error| !error.retryable()) {
        tokio::time::sleep(RESUBSCRIBE_AFTER).await;
        let mut subscribed = link.request(call.clone());
        if let Ok(soon) = timeout(SUBSCRIBED_AFTER, &mut subscribed).await {
            ended = soon;
            continue;
        }
        missed();
        ended = subscribed.await;
    }
}

pub(super) async fn take_messages(server: Weak<Server>, mut messages: mpsc::Receiver<Chain>) {
    while let Some(message) = messages.recv().await {
        let Some(server) = server.upgrade() else { return };
        server.take_message(message).await;
    }
}
