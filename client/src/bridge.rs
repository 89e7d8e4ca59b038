//! A host on standard input and output, connected to a server over any link.
//!
//! Answers go out as the bytes that came in, each as one line, whole or not at all. Host and server are left to agree on
//! an era by themselves; only where they cannot are messages [changed](crate::splice) on their way.

mod eras;
mod stdio;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use memchr::memchr;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;
use wakashu_wire::error::code;
use wakashu_wire::{RpcError, message};

use crate::chain::Chain;
use crate::error::{Error, ErrorCode, Result};
use crate::link::{Answer, Call, CallKind, Inbox, Link, MAX_MESSAGE_BYTES};
use crate::passage::{Passage, refused};
use crate::policy::RetryPolicy;
use crate::rules::Rules;
use crate::splice;

pub use stdio::{Input, Output, stdio};

/// How long a server may be silent on a request. Hosts have limits of their own and cancel.
pub const DEFAULT_PATIENCE: Duration = Duration::from_mins(5);
/// How long requests wait for the end of the greeting before them.
const GREETING_PATIENCE: Duration = Duration::from_secs(1);
/// How long a subscription stays open without a sign of life.
const SUBSCRIPTION_PATIENCE: Duration = Duration::from_hours(24);

/// A bridge that is not connected yet. Its inbox goes to the link.
#[derive(Debug)]
pub struct Bridge {
    inbox: Inbox,
    outgoing: mpsc::Receiver<Chain>,
    patience: Duration,
    retry: RetryPolicy,
    rules: Rules,
}

/// What host and server need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// They speak the same era, as far as is known.
    Same,
    /// A legacy host with a server that is modern only.
    ToModern,
    /// A modern host with a server that is legacy only.
    ToLegacy,
}

#[derive(Debug)]
struct Shared {
    passage: Passage,
    out: Inbox,
    patience: Duration,
    mode: Mutex<Mode>,
    /// Held while the server's era is found out; tells whether it was, for a modern host.
    probed: tokio::sync::Mutex<bool>,
    under_way: Mutex<HashMap<Bytes, AbortHandle>>,
    /// The ids of requests that stay open, which end when the host does.
    open_ended: Mutex<Vec<Bytes>>,
    /// The ids of subscriptions that a modern host has with us in place of its legacy server.
    subscriptions: Mutex<Vec<Bytes>>,
}

impl Bridge {
    /// Prepares a bridge.
    #[must_use]
    pub fn new() -> Self {
        // What a server says by itself and its answers share one way out, so that they keep their order.
        let (inbox, outgoing) = mpsc::channel(64);
        let retry = RetryPolicy { initial_delay: Duration::from_millis(200), ..RetryPolicy::default() };
        Self { inbox, outgoing, patience: DEFAULT_PATIENCE, retry, rules: Rules::default() }
    }

    /// Changes how long a server may be silent on a request.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Changes how failed requests are repeated.
    #[must_use]
    pub fn with_retry(self, retry: RetryPolicy) -> Self {
        Self { retry, ..self }
    }

    /// Changes which tools the host sees and may run.
    #[must_use]
    pub fn with_rules(self, rules: Rules) -> Self {
        Self { rules, ..self }
    }

    /// Returns where the link must put messages that are no answers.
    #[must_use]
    pub fn inbox(&self) -> Inbox {
        self.inbox.clone()
    }

    /// Connects a host to a server until the host closes its side and every request is answered.
    pub async fn run(
        self,
        link: Arc<dyn Link>,
        input: impl AsyncRead + Unpin,
        output: impl AsyncWrite + Unpin + Send + 'static,
    ) -> std::io::Result<()> {
        let shared = Arc::new(Shared {
            passage: Passage::new(Arc::clone(&link), self.retry, self.rules),
            out: self.inbox,
            patience: self.patience,
            mode: Mutex::new(Mode::Same),
            probed: tokio::sync::Mutex::new(false),
            under_way: Mutex::default(),
            open_ended: Mutex::default(),
            subscriptions: Mutex::default(),
        });
        let mut writing = tokio::spawn(write(Arc::clone(&shared), self.outgoing, output));
        let mut tasks = JoinSet::new();
        let outcome = tokio::select! {
            read = serve(&shared, input, &mut tasks) => {
                shared.end_subscriptions();
                // A host that closes its side still expects its answers.
                let rest = async { while tasks.join_next().await.is_some() {} };
                tokio::select! {
                    () = rest => {}
                    _ = &mut writing => {}
                }
                read
            }
            // A host that does not read needs no answers.
            _ = &mut writing => Ok(()),
        };
        tasks.shutdown().await;
        link.close().await;
        // Everything that was sent before is written before this is.
        let _ = shared.out.send(Chain::default()).await;
        let _ = writing.await;
        outcome
    }
}

impl Default for Bridge {
    fn default() -> Self {
        Self::new()
    }
}

/// Writes messages as lines until the host stops reading, or an empty message says that it was the last one.
async fn write(
    shared: Arc<Shared>,
    mut messages: mpsc::Receiver<Chain>,
    mut output: impl AsyncWrite + Unpin,
) {
    while let Some(message) = messages.recv().await {
        if message.is_empty() {
            return;
        }
        let mode = *lock(&shared.mode);
        let mut lines = match mode {
            Mode::Same => message.in_one_line(),
            Mode::ToModern | Mode::ToLegacy => match shared.adapt(message, mode) {
                Some(message) => message.in_one_line(),
                None => continue,
            },
        };
        lines.push(Bytes::from_static(b"\n"));
        if output.write_all_buf(&mut lines).await.is_err() || output.flush().await.is_err() {
            return;
        }
    }
}

/// Reads the host's lines until it closes its side.
async fn serve(
    shared: &Arc<Shared>,
    mut input: impl AsyncRead + Unpin,
    tasks: &mut JoinSet<()>,
) -> std::io::Result<()> {
    let mut buffer = BytesMut::with_capacity(64 << 10);
    let (mut searched, mut skips) = (0, false);
    loop {
        while let Some(end) = buffer.get(searched..).and_then(|rest| memchr(b'\n', rest)) {
            let line = buffer.split_to(searched + end + 1).freeze();
            searched = 0;
            if !std::mem::take(&mut skips) {
                take_line(shared, line, tasks).await;
            }
        }
        searched = buffer.len();
        if searched > MAX_MESSAGE_BYTES {
            let sentence = format!("a message has at most {MAX_MESSAGE_BYTES} bytes");
            shared.send(RpcError::new(413, code::INVALID_REQUEST, sentence).to_json(None)).await;
            buffer.clear();
            (searched, skips) = (0, true);
        }
        while tasks.try_join_next().is_some() {}
        buffer.reserve(16 << 10);
        if input.read_buf(&mut buffer).await? == 0 {
            break;
        }
    }
    if !buffer.is_empty() && !skips {
        // A last line may lack its end.
        take_line(shared, buffer.freeze(), tasks).await;
    }
    Ok(())
}

async fn take_line(shared: &Arc<Shared>, line: Bytes, tasks: &mut JoinSet<()>) {
    if line.trim_ascii().is_empty() {
        return;
    }
    let mut call = match Call::read(line) {
        Ok(call) => call,
        Err(refused) => return shared.send(refused.error.to_json(refused.id.as_deref())).await,
    };
    call.patience = shared.patience;
    match call.kind {
        CallKind::Request => {
            let id = call.id_json();
            if call.method == "subscriptions/listen" {
                call.patience = SUBSCRIPTION_PATIENCE;
                lock(&shared.open_ended).push(id.clone());
            }
            let (task, own) = (Arc::clone(shared), id.clone());
            let mut answering = Box::pin(async move {
                let answer = task.answer(call).await;
                lock(&task.under_way).remove(&own);
                if let Some(answer) = answer {
                    task.pass_on(answer).await;
                }
            });
            // It is on its way before the next line is read, so that a program hears all in the host's order.
            if futures_util::poll!(answering.as_mut()).is_pending() {
                lock(&shared.under_way).insert(id, tasks.spawn(answering));
            }
        }
        CallKind::Notification if call.method == "notifications/cancelled" => shared.cancel(&call),
        // Requests that follow rely upon it, but not for ever.
        CallKind::Notification if call.method == "notifications/initialized" => {
            let (task, (told, heard)) = (Arc::clone(shared), oneshot::channel::<()>());
            let greeting = tasks.spawn(async move {
                task.notify(call).await;
                drop(told);
            });
            shared.keep_until_end(Bytes::from_static(b"greeting"), greeting);
            let _ = timeout(GREETING_PATIENCE, heard).await;
        }
        CallKind::Notification | CallKind::Response => {
            let shared = Arc::clone(shared);
            tasks.spawn(async move { shared.notify(call).await });
        }
    }
}

impl Shared {
    async fn send(&self, message: String) {
        self.pass_on(Chain::from(message)).await;
    }

    async fn pass_on(&self, message: Chain) {
        // Nobody reads any more if this fails.
        let _ = self.out.send(message).await;
    }

    fn mode(&self) -> Mode {
        *lock(&self.mode)
    }

    /// Stops waiting for an answer. Dropping a request is how a link is told.
    fn cancel(&self, call: &Call) {
        let text = std::str::from_utf8(&call.body).unwrap_or_default();
        let Ok(wakashu_wire::Incoming::Notification(notification)) = message::read(text) else { return };
        let Some(id) = notification.request_id else { return };
        lock(&self.subscriptions).retain(|subscription| subscription != id.as_bytes());
        if let Some(task) = lock(&self.under_way).remove(id.as_bytes()) {
            task.abort();
        }
    }

    /// Has a task of our own end with the host. No request's id is written as such a name.
    fn keep_until_end(&self, name: Bytes, task: AbortHandle) {
        lock(&self.open_ended).push(name.clone());
        lock(&self.under_way).insert(name, task);
    }

    fn end_subscriptions(&self) {
        for id in lock(&self.open_ended).drain(..) {
            if let Some(task) = lock(&self.under_way).remove(&id) {
                task.abort();
            }
        }
    }

    async fn notify(&self, call: Call) {
        let is_greeting = call.method == "notifications/initialized";
        if self.mode() == Mode::ToModern && is_greeting {
            return;
        }
        match self.passage.link.notify(call).await {
            Ok(()) if is_greeting => self.passage.link.listen(),
            Ok(()) => {}
            Err(error) => tracing::warn!(%error, "the server did not take a message"),
        }
    }

    /// Returns the answer to a request of the host; `None` if there is to be none.
    async fn answer(&self, call: Call) -> Option<Chain> {
        let id = call.id_json();
        match self.answer_in_mode(call).await {
            Ok(answer) => answer.map(|answer| answer.message),
            Err(error) => Some(error_line(&id, &error)),
        }
    }

    async fn answer_in_mode(&self, call: Call) -> Result<Option<Answer>> {
        let is_modern = call.version.is_some();
        if is_modern && call.method != "server/discover" {
            self.probe().await?;
        }
        match (self.mode(), call.method.as_str()) {
            (Mode::Same | Mode::ToModern, "initialize") => self.initialize(&call).await.map(Some),
            (Mode::Same, "server/discover") if is_modern => self.discover(call).await.map(Some),
            (Mode::ToModern, "ping" | "logging/setLevel") => own_answer(&call, &json!({})).map(Some),
            (Mode::ToModern, _) => {
                let modern = splice::add_envelope(&call).map_err(refused)?;
                self.passage.request(modern).await.map(Some)
            }
            (Mode::ToLegacy, "server/discover") => self.discover(call).await.map(Some),
            (Mode::ToLegacy, "subscriptions/listen") => {
                self.subscribe(&call).await;
                Ok(None)
            }
            (Mode::ToLegacy, _) => {
                let method = call.method.clone();
                let legacy = splice::drop_envelope(&call).map_err(refused)?;
                let answer = self.passage.request(legacy).await?;
                Ok(Some(splice::complete_result(answer, &method)))
            }
            (Mode::Same, _) => self.passage.request(call).await.map(Some),
        }
    }
}

fn own_answer(call: &Call, result: &Value) -> Result<Answer> {
    let id = String::from_utf8_lossy(&call.id_json()).into_owned();
    let message = Chain::from(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
    let envelope = message
        .scan()
        .map_err(|_| Error::new(ErrorCode::InvalidRequest, "an answer of our own is broken"))?;
    Ok(Answer { message, envelope })
}

fn error_line(id: &Bytes, error: &Error) -> Chain {
    let id = String::from_utf8_lossy(id);
    Chain::from(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{}}}"#, error.to_rpc()))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
