//! One of the servers behind a gateway: what it lists, and whether it is there.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::sync::broadcast::error::RecvError;
use wakashu_client::Manager;
use wakashu_client::config::ServerConfig;
use wakashu_client::error::{Error, ErrorCode, Result};
use wakashu_client::link::{Call, MAX_MESSAGE_BYTES};
use wakashu_client::server::{Change, Server};

/// The first and the longest wait before a server that is not there is tried again.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(1));
/// How long changes are gathered before the lists are read again.
const GATHERING: Duration = Duration::from_millis(50);
/// The most pages of one list.
const MOST_PAGES: usize = 1000;

/// A server.
#[derive(Debug)]
pub(super) struct Upstream {
    pub(super) name: String,
    state: Mutex<State>,
    /// Told when the server did not answer: it may not be there any more.
    doubted: Notify,
}

/// How it is.
#[derive(Debug, Clone)]
pub(super) enum State {
    Starting,
    Up(Arc<Lists>),
    /// Why it is not there, and what it listed when it was.
    Down(String, Option<Arc<Lists>>),
}

/// What it lists, each entry as it wrote it.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// The name it gives itself: what kind of server it is.
    pub(super) kind: String,
    pub(super) title: String,
    /// Whether it tells of changed prompts.
    pub(super) prompts_change: bool,
    pub(super) tools: Vec<Box<RawValue>>,
    pub(super) prompts: Vec<Box<RawValue>>,
    pub(super) resources: Vec<Box<RawValue>>,
    pub(super) templates: Vec<Box<RawValue>>,
}

impl Upstream {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), state: Mutex::new(State::Starting), doubted: Notify::new() }
    }

    /// Has the server looked after if this failure was one of the way to it.
    pub(super) fn failed(&self, error: &Error) {
        let last = error.details.as_ref().and_then(|details| details.get("code")?.as_str());
        let code = last.filter(|_| error.code == ErrorCode::MaxRetriesExceeded);
        if code.unwrap_or(error.code.as_str()).starts_with("CONNECTION_") {
            self.doubted.notify_one();
        }
    }

    pub(super) fn state(&self) -> State {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, lists: Result<Lists>) {
        let mut state = self.lock();
        let before = match &*state {
            State::Up(lists) | State::Down(_, Some(lists)) => Some(Arc::clone(lists)),
            _ => None,
        };
        *state = match lists {
            Ok(lists) => State::Up(Arc::new(lists)),
            Err(error) => State::Down(error.message, before),
        };
    }

    /// Keeps up with the server for good; `told` hears of every change of its state.
    pub(super) async fn follow(&self, manager: &Manager, config: ServerConfig, told: impl Fn()) {
        // It is registered even if it cannot be reached yet.
        let failed = manager.initialize(vec![config]).await.pop();
        let Some(server) = manager.server(&self.name) else {
            let reason = failed.map_or_else(
                || Error::new(ErrorCode::ConnectionFailed, "not registered"),
                |(_, error)| error,
            );
            tracing::warn!(server = self.name, error = %reason, "cannot be used");
            self.set(Err(reason));
            return told();
        };
        let (mut pause, longest) = PAUSES;
        let mut known = None;
        loop {
            // From before the lists are read, so that no change is missed.
            let mut changes = server.changes();
            let lists = read_lists(manager, &server).await;
            let failed = lists.as_ref().err().map(ToString::to_string);
            self.set(lists);
            told();
            if let Some(error) = failed {
                if known.as_ref() != Some(&error) {
                    tracing::warn!(server = self.name, error, "is not there; it is tried again");
                }
                known = Some(error);
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(longest);
                continue;
            }
            if known.take().is_some() {
                tracing::info!(server = self.name, "is there");
            }
            (pause, _) = PAUSES;
            loop {
                let change = tokio::select! {
                    change = changes.recv() => change,
                    () = self.doubted.notified() => break,
                };
                match change {
                    Ok(Change::Resource(_)) => continue,
                    Ok(_) | Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return,
                }
                tokio::time::sleep(GATHERING).await;
                // One that was stopped meanwhile, to make room, is not started for that: this is heard again once it is.
                if server.is_connected() {
                    break;
                }
            }
        }
    }
}

async fn read_lists(manager: &Manager, server: &Arc<Server>) -> Result<Lists> {
    let agreed = manager.connect(server.name()).await?;
    let said = |what: &str| agreed.info.get(what).and_then(Value::as_str).unwrap_or_default().to_owned();
    let prompts_change = agreed.capabilities.pointer("/prompts/listChanged") == Some(&Value::Bool(true));
    let mut lists = Lists { kind: said("name"), title: said("title"), prompts_change, ..Lists::default() };
    for (capability, method, field, entries) in [
        ("tools", "tools/list", "tools", &mut lists.tools),
        ("prompts", "prompts/list", "prompts", &mut lists.prompts),
        ("resources", "resources/list", "resources", &mut lists.resources),
        ("resources", "resources/templates/list", "resourceTemplates", &mut lists.templates),
    ] {
        if agreed.capabilities.get(capability).is_none() {
            continue;
        }
        *entries = match list(manager, server, method, field).await {
            // Some say that they can, and have no such list.
            Err(error) if error.code == ErrorCode::MethodNotFound => Vec::new(),
            listed => listed?,
        };
    }
    Ok(lists)
}

/// Reads a list, page by page, each entry as it was written.
async fn list(
    manager: &Manager,
    server: &Arc<Server>,
    method: &str,
    field: &str,
) -> Result<Vec<Box<RawValue>>> {
    let wrong =
        |what: String| Error::new(ErrorCode::InvalidRequest, format!("the answer to `{method}` {what}"));
    let (mut entries, mut params, mut bytes) = (Vec::new(), json!({}), 0);
    for _ in 0..MOST_PAGES {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let call =
            Call::read(Bytes::from(message)).map_err(|refused| wrong(refused.error.message.into_owned()))?;
        let answer = manager.forward(server.name(), call).await?;
        let Some(span) = answer.envelope.result() else {
            return Err(answer.result().err().unwrap_or_else(|| wrong("is none".to_owned())));
        };
        bytes += span.len();
        if bytes > MAX_MESSAGE_BYTES {
            return Err(wrong(format!("is one of more than {MAX_MESSAGE_BYTES} bytes in all")));
        }
        let result = answer.message.slice(span).into_bytes();
        let mut raw: BTreeMap<String, Box<RawValue>> =
            serde_json::from_slice(&result).map_err(|error| wrong(format!("is not read: {error}")))?;
        let next = raw.remove("nextCursor").filter(|cursor| cursor.get() != "null");
        let listed = raw.remove(field).ok_or_else(|| wrong(format!("has no list `{field}`")))?;
        let more: Vec<Box<RawValue>> =
            serde_json::from_str(listed.get()).map_err(|error| wrong(format!("is not read: {error}")))?;
        entries.extend(more);
        match next {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => return Ok(entries),
        }
    }
    Err(wrong(format!("has more than {MOST_PAGES} pages")))
}
