//! Host and server of different eras: how that is found out, and what each is told in the place of the other.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Map, Value, json};
use wakashu_wire::envelope::Kind;
use wakashu_wire::error::code;

use super::{Mode, SUBSCRIPTION_PATIENCE, Shared, lock, own_answer};
use crate::chain::Chain;
use crate::error::{Error, ErrorCode, Result};
use crate::link::{Answer, Call};
use crate::passage::refused;
use crate::server::changes::keep_subscribed;
use crate::splice;

/// How long a server may take to answer a probe, before it is taken for a legacy one.
const PROBE_PATIENCE: Duration = Duration::from_secs(5);
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

impl Shared {
    /// Passes a legacy greeting on; a server that is modern only is asked what it is like instead.
    pub(super) async fn initialize(&self, call: &Call) -> Result<Answer> {
        let answer = self.passage.request(call.clone()).await;
        let refused = match &answer {
            Ok(answer) if answer.envelope.result().is_some() => None,
            Ok(answer) => answer.result().err(),
            Err(error) => Some(error.clone()),
        };
        let Some(refused) = refused else {
            *lock(&self.mode) = Mode::Same;
            return answer;
        };
        let is_out_of_reach = refused.never_sent
            || matches!(
                refused.code,
                ErrorCode::PermissionDenied | ErrorCode::RateLimitExceeded | ErrorCode::Timeout
            );
        if is_out_of_reach {
            return answer;
        }
        let Ok(discovered) = self.ask("server/discover", Map::new(), true).await else { return answer };
        *lock(&self.mode) = Mode::ToModern;
        self.follow_changes(&discovered);
        let params: Value =
            call.params().and_then(|params| serde_json::from_slice(&params).ok()).unwrap_or_default();
        let asked = params.get("protocolVersion").and_then(Value::as_str);
        own_answer(call, &splice::initialize_from_discover(&discovered, asked))
    }

    /// Passes a modern probe on; a legacy server is greeted instead.
    pub(super) async fn discover(&self, mut call: Call) -> Result<Answer> {
        let mut probed = self.probed.lock().await;
        if self.mode() == Mode::Same {
            call.patience = PROBE_PATIENCE.min(self.patience);
            let answer = self.passage.link.request(call.clone()).await;
            let refused = match &answer {
                Ok(answer) if answer.envelope.result().is_some() => None,
                Ok(answer) => answer.result().err(),
                Err(error) => Some(error.clone()),
            };
            match refused {
                Some(refused) if !tells_modern(&refused) => {}
                _ => {
                    *probed = true;
                    return answer;
                }
            }
        }
        let mut params = Map::new();
        params.insert("protocolVersion".to_owned(), json!(wakashu_wire::Revision::NEWEST_LEGACY.as_str()));
        params.insert("capabilities".to_owned(), json!({}));
        params.insert("clientInfo".to_owned(), splice::client_info());
        let initialized = match self.ask("initialize", params, false).await {
            // It was only slow, and the probe has bound it to the modern era.
            Err(error) if error.rpc_code() == Some(i64::from(code::UNSUPPORTED_VERSION)) => {
                call.patience = self.patience;
                let answer = self.passage.link.request(call).await?;
                *probed = answer.envelope.result().is_some();
                return Ok(answer);
            }
            initialized => initialized?,
        };
        *lock(&self.mode) = Mode::ToLegacy;
        *probed = true;
        if let Ok(done) =
            Call::read(Bytes::from_static(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#))
        {
            self.passage.link.notify(done).await?;
        }
        self.passage.link.listen();
        own_answer(&call, &splice::discover_from_initialize(&initialized))
    }

    /// Finds out the era of the server for a modern host that did not ask.
    pub(super) async fn probe(&self) -> Result<()> {
        if *self.probed.lock().await {
            return Ok(());
        }
        let own = json!({"jsonrpc": "2.0", "id": "wakashu-probe", "method": "server/discover", "params": {"_meta": splice::envelope()}});
        let call = Call::read(Bytes::from(own.to_string())).map_err(refused)?;
        self.discover(call).await.map(drop)
    }

    /// Asks the server something of our own.
    async fn ask(&self, method: &str, mut params: Map<String, Value>, modern: bool) -> Result<Value> {
        if modern {
            params.insert("_meta".to_owned(), Value::Object(splice::envelope()));
        }
        let own = json!({"jsonrpc": "2.0", "id": "wakashu-bridge", "method": method, "params": params});
        let mut call = Call::read(Bytes::from(own.to_string())).map_err(refused)?;
        call.patience = self.patience;
        self.passage.request(call).await?.result()
    }

    /// Subscribes a legacy host to the changes of a modern server.
    fn follow_changes(&self, discovered: &Value) {
        let lists = [
            ("tools", "toolsListChanged"),
            ("prompts", "promptsListChanged"),
            ("resources", "resourcesListChanged"),
        ];
        let says = |list: &str| {
            discovered.pointer(&format!("/capabilities/{list}/listChanged")) == Some(&Value::Bool(true))
        };
        let wanted: Map<String, Value> = lists
            .iter()
            .filter(|(list, _)| says(list))
            .map(|(_, name)| ((*name).to_owned(), Value::Bool(true)))
            .collect();
        if wanted.is_empty() {
            return;
        }
        let own = json!({"jsonrpc": "2.0", "id": "wakashu-subscription", "method": "subscriptions/listen",
            "params": {"_meta": splice::envelope(), "notifications": wanted}});
        let Ok(mut call) = Call::read(Bytes::from(own.to_string())) else { return };
        call.patience = SUBSCRIPTION_PATIENCE;
        let (link, out) = (Arc::clone(&self.passage.link), self.out.clone());
        let changed: Vec<&str> = lists.iter().filter(|(list, _)| says(list)).map(|(list, _)| *list).collect();
        let task = tokio::spawn(keep_subscribed(link, call, move || {
            for list in &changed {
                let told = json!({"jsonrpc": "2.0", "method": format!("notifications/{list}/list_changed")});
                // A host that does not read hears of it by the next change.
                let _ = out.try_send(Chain::from(told.to_string()));
            }
        }));
        self.keep_until_end(Bytes::from_static(b"subscription"), task.abort_handle());
    }

    /// Opens a subscription with us, in place of a server that knows none.
    pub(super) async fn subscribe(&self, call: &Call) {
        let params: Value =
            call.params().and_then(|params| serde_json::from_slice(&params).ok()).unwrap_or_default();
        let wanted = params.get("notifications").and_then(Value::as_object).cloned().unwrap_or_default();
        let taken: Map<String, Value> =
            wanted.into_iter().filter(|(name, _)| name.ends_with("ListChanged")).collect();
        let id: Value = serde_json::from_slice(&call.id_json()).unwrap_or_default();
        lock(&self.subscriptions).push(call.id_json());
        let acknowledged = json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
            "params": {"_meta": {SUBSCRIPTION_ID: id}, "notifications": taken}});
        self.send(acknowledged.to_string()).await;
    }

    /// Changes what a server says by itself so that a host of the other era understands it; `None` if it cannot.
    pub(super) fn adapt(&self, message: Chain, mode: Mode) -> Option<Chain> {
        let Ok(envelope) = message.scan() else { return Some(message) };
        let is_own = |name: &str| name == "notifications/subscriptions/acknowledged";
        let method = envelope.method().map(|span| message.slice(span).into_bytes());
        let method: String = method.and_then(|json| serde_json::from_slice(&json).ok()).unwrap_or_default();
        match (mode, envelope.kind()) {
            (Mode::ToModern, Some(Kind::Notification)) if is_own(&method) => None,
            (Mode::ToLegacy, Some(Kind::Notification)) if method.ends_with("/list_changed") => {
                // The first subscription hears of it; a host has one.
                let subscription = lock(&self.subscriptions).first().cloned()?;
                let id: Value = serde_json::from_slice(&subscription).unwrap_or_default();
                let told =
                    json!({"jsonrpc": "2.0", "method": method, "params": {"_meta": {SUBSCRIPTION_ID: id}}});
                Some(Chain::from(told.to_string()))
            }
            (Mode::ToLegacy, Some(Kind::Request)) => {
                self.refuse_request(&message, &envelope, &method);
                None
            }
            // A modern host hears of logs only if it asks for them.
            (Mode::ToLegacy, Some(Kind::Notification)) if method == "notifications/message" => None,
            _ => Some(message),
        }
    }

    /// Answers what a legacy server asks a host that cannot be asked.
    fn refuse_request(&self, message: &Chain, envelope: &wakashu_wire::Envelope, method: &str) {
        let id = envelope.id().map(|span| message.slice(span).into_bytes()).unwrap_or_default();
        let id = String::from_utf8_lossy(&id).into_owned();
        let answer = match method {
            "ping" => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#),
            _ => wakashu_wire::error::method_not_found(false).to_json(Some(&id)),
        };
        let Ok(answer) = Call::read(Bytes::from(answer)) else { return };
        let link = Arc::clone(&self.passage.link);
        tokio::spawn(async move { link.notify(answer).await });
    }
}

/// Tells whether a refusal is one that only a modern server gives, or one that says nothing of the era.
fn tells_modern(error: &Error) -> bool {
    let modern = [code::HEADER_MISMATCH, -32021, code::UNSUPPORTED_VERSION];
    let says_so = error.rpc_code().is_some_and(|found| modern.iter().any(|code| i64::from(*code) == found));
    let is_out_of_reach =
        error.never_sent || matches!(error.code, ErrorCode::PermissionDenied | ErrorCode::RateLimitExceeded);
    says_so || is_out_of_reach
}
