//! One server: which era it speaks, what it offers, and what it is asked.
//!
//! A server is probed with the modern `server/discover`. Legacy servers answer that with an error, with silence or by
//! ending; whichever it is, they are greeted with `initialize` then. The era is remembered.

pub(crate) mod changes;
mod offers;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Map, Value, json};
use tokio::sync::{broadcast, mpsc};
use tokio::time::Instant;
use wakashu_wire::Revision;
use wakashu_wire::error::code;

use crate::cache::Cache;
use crate::chain::Chain;
use crate::error::{Error, ErrorCode, Result};
use crate::link::{Answer, Call, Inbox, Link};
use crate::metrics::{Counter, Metrics};
use crate::passage::{Passage, refused};
use crate::policy::{Repeat, RetryPolicy};
use crate::rules::Rules;
use crate::splice;

pub use changes::Change;
pub use offers::Tool;

/// How long a server may take to answer the probe, before it is taken for a legacy one.
const PROBE_PATIENCE: Duration = Duration::from_secs(5);
/// What a server is like.
#[derive(Debug, Clone)]
pub struct Agreed {
    /// The revision spoken with it.
    pub revision: Revision,
    /// What it says it can do.
    pub capabilities: Value,
    /// Its name and version.
    pub info: Value,
    /// What it tells models about itself.
    pub instructions: Option<String>,
}

/// How a server is treated.
#[derive(Debug, Clone)]
pub struct Treatment {
    /// How long a request waits for an answer or a sign of progress.
    pub timeout: Duration,
    /// How failed requests are repeated.
    pub retry: RetryPolicy,
    /// Whether what the server says of its tools is believed.
    pub trusted: bool,
    /// A digest of the credentials it is asked with.
    pub authorisation: u64,
    /// Where its answers are kept.
    pub cache: Arc<Cache>,
    /// Where it is counted.
    pub metrics: Metrics,
}

impl Default for Treatment {
    fn default() -> Self {
        Self {
            timeout: crate::link::DEFAULT_PATIENCE,
            retry: RetryPolicy::default(),
            trusted: false,
            authorisation: 0,
            cache: Arc::default(),
            metrics: Metrics::default(),
        }
    }
}

/// One server.
#[derive(Debug)]
pub struct Server {
    name: Arc<str>,
    passage: Passage,
    treatment: Treatment,
    next_id: AtomicU64,
    agreed: Mutex<Option<Arc<Agreed>>>,
    /// Whether what was agreed upon may not hold any more: the next request asks once more.
    is_stale: AtomicBool,
    /// Held while a connection is made or ended.
    connecting: tokio::sync::Mutex<()>,
    /// How often it had been reached when it was last asked something; 0 if never.
    reached: AtomicU64,
    /// Whether it turned out to be a legacy server.
    is_legacy: Mutex<Option<bool>>,
    changes: broadcast::Sender<Change>,
    notices: broadcast::Sender<Chain>,
    under_way: AtomicUsize,
    last_used: Mutex<Instant>,
    subscription: Mutex<Option<tokio::task::AbortHandle>>,
}

impl Server {
    /// Prepares a server; `link` makes the link, given where messages that are no answers go.
    pub fn new(
        name: impl Into<Arc<str>>,
        treatment: Treatment,
        link: impl FnOnce(Inbox) -> Result<Arc<dyn Link>>,
    ) -> Result<Arc<Self>> {
        let (inbox, messages) = mpsc::channel(64);
        let server = Arc::new(Self {
            name: name.into(),
            passage: Passage::new(link(inbox)?, treatment.retry.clone(), Rules::default()),
            treatment,
            next_id: AtomicU64::new(1),
            agreed: Mutex::default(),
            is_stale: AtomicBool::new(false),
            connecting: tokio::sync::Mutex::default(),
            reached: AtomicU64::new(0),
            is_legacy: Mutex::default(),
            changes: broadcast::channel(16).0,
            notices: broadcast::channel(64).0,
            under_way: AtomicUsize::new(0),
            last_used: Mutex::new(Instant::now()),
            subscription: Mutex::default(),
        });
        tokio::spawn(changes::take_messages(Arc::downgrade(&server), messages));
        Ok(server)
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Tells of changes from now on.
    #[must_use]
    pub fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    /// Passes on, from now on, what the server says of requests under way: progress and lines for a log, as they came.
    #[must_use]
    pub fn notices(&self) -> broadcast::Receiver<Chain> {
        self.notices.subscribe()
    }

    /// Connects, unless that is done, and says what the server is like.
    pub async fn connect(self: &Arc<Self>) -> Result<Arc<Agreed>> {
        self.passage.retry.run(Repeat::Safe, |_| self.connect_once()).await
    }

    async fn connect_once(self: &Arc<Self>) -> Result<Arc<Agreed>> {
        if let Some(agreed) = self.settled() {
            return Ok(agreed);
        }
        let _alone = self.connecting.lock().await;
        if let Some(agreed) = self.settled() {
            return Ok(agreed);
        }
        if self.agreed().is_none() {
            self.treatment.metrics.count(Counter::Connections, &self.name);
        }
        let was_stale = self.is_stale.swap(false, Ordering::AcqRel);
        let found = self.find_era().await.inspect_err(|_| {
            self.is_stale.fetch_or(was_stale, Ordering::AcqRel);
        })?;
        let found = Arc::new(found);
        let before = lock(&self.agreed).replace(Arc::clone(&found));
        if before.is_none_or(|before| {
            (before.revision, &before.capabilities) != (found.revision, &found.capabilities)
        }) {
            self.follow_changes(&found);
        }
        if self.is_reached_anew() {
            self.reconnected();
        }
        Ok(found)
    }

    /// Returns what was agreed upon, if it holds.
    fn settled(&self) -> Option<Arc<Agreed>> {
        if self.is_stale.load(Ordering::Acquire) { None } else { self.agreed() }
    }

    fn agreed(&self) -> Option<Arc<Agreed>> {
        lock(&self.agreed).clone()
    }

    /// Tells whether the server was reached anew since this was asked last, by us or by the link alone.
    fn is_reached_anew(&self) -> bool {
        let openings = self.passage.link.openings();
        let before = self.reached.swap(openings, Ordering::AcqRel);
        before != openings && before != 0
    }

    /// Notes that the server may be another than it was. What a legacy one said when the link greeted it holds; a modern
    /// one is asked by the next request.
    fn doubt(&self) {
        let said = self.passage.link.greeting().and_then(|said| read_greeted(&said).ok());
        let mut agreed = lock(&self.agreed);
        match (&*agreed, said) {
            (Some(before), Some(said)) if !before.revision.is_modern() => *agreed = Some(Arc::new(said)),
            _ => self.is_stale.store(true, Ordering::Release),
        }
    }

    /// Forgets what the server listed.
    fn reconnected(&self) {
        self.passage.forget_marks();
        self.treatment.cache.forget(&self.name, |_| true);
        // Nobody may be interested.
        let _ = self.changes.send(Change::Reconnected);
    }

    /// Ends the connection; the next request opens it again.
    pub async fn disconnect(&self) {
        self.disconnect_if(|| Some(())).await;
    }

    /// Does so if `may` returns something, which is kept until no new request takes it for connected.
    pub(crate) async fn disconnect_if<G>(&self, may: impl FnOnce() -> Option<G>) {
        let _alone = self.connecting.lock().await;
        {
            let Some(_kept) = may() else { return };
            *lock(&self.agreed) = None;
        }
        if let Some(task) = lock(&self.subscription).take() {
            task.abort();
        }
        self.passage.link.close().await;
    }

    /// Tells whether there is a connection.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.agreed().is_some() && self.passage.link.is_open()
    }

    /// Tells whether a request is under way.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.under_way.load(Ordering::Acquire) > 0
    }

    /// Returns when it was last asked something.
    #[must_use]
    pub fn last_used(&self) -> Instant {
        *lock(&self.last_used)
    }

    /// Marks it as in use while the returned value lives.
    pub(crate) fn busy(self: &Arc<Self>) -> Busy {
        self.under_way.fetch_add(1, Ordering::AcqRel);
        *lock(&self.last_used) = Instant::now();
        Busy(Arc::clone(self))
    }

    async fn find_era(&self) -> Result<Agreed> {
        let was_legacy = *lock(&self.is_legacy);
        if was_legacy == Some(true) {
            match self.greet().await {
                // It was upgraded, and is no legacy server any more.
                Err(error) if matches!(error.rpc_code(), Some(-32022 | -32601)) => {}
                greeted => return greeted,
            }
        }
        let soon = PROBE_PATIENCE.min(self.treatment.timeout);
        let refused = match self.discover(soon).await {
            Ok(agreed) => {
                *lock(&self.is_legacy) = Some(false);
                return Ok(agreed);
            }
            Err(error) => error,
        };
        let is_out_of_reach = refused.never_sent
            || matches!(refused.code, ErrorCode::PermissionDenied | ErrorCode::RateLimitExceeded);
        // A modern server that fails to answer is no legacy one for that; one that refuses may have been rolled back.
        if is_out_of_reach || (was_legacy == Some(false) && refused.retryable()) {
            return Err(refused);
        }
        let found = match self.greet().await {
            // It may have had a bad moment only.
            Ok(greeted) if was_legacy == Some(false) => self.discover(soon).await.unwrap_or(greeted),
            // It was only slow, and the probe has bound it to the modern era.
            Err(error) if error.rpc_code() == Some(i64::from(code::UNSUPPORTED_VERSION)) => {
                self.discover(self.treatment.timeout).await?
            }
            greeted => greeted?,
        };
        *lock(&self.is_legacy) = Some(!found.revision.is_modern());
        Ok(found)
    }

    /// Asks a modern server what it is like.
    async fn discover(&self, patience: Duration) -> Result<Agreed> {
        let discovered = self.ask("server/discover", Map::new(), true, patience).await?.result()?;
        read_discovered(&discovered).ok_or_else(|| {
            Error::new(ErrorCode::InvalidRequest, "the server speaks no revision that we speak")
        })
    }

    /// Greets a legacy server.
    async fn greet(&self) -> Result<Agreed> {
        let mut params = Map::new();
        params.insert("protocolVersion".to_owned(), json!(Revision::NEWEST_LEGACY.as_str()));
        params.insert("capabilities".to_owned(), json!({}));
        params.insert("clientInfo".to_owned(), splice::client_info());
        let answer = self.ask("initialize", params, false, self.treatment.timeout).await?.result()?;
        let agreed = read_greeted(&answer)?;
        let done = read_own(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned())?;
        self.passage.link.notify(done).await?;
        Ok(agreed)
    }

    /// Sends one request, and does not wait for the connection: it is how connections are made.
    async fn ask(
        &self,
        method: &str,
        params: Map<String, Value>,
        modern: bool,
        patience: Duration,
    ) -> Result<Answer> {
        self.passage.once(self.call(method, params, modern, patience)?).await
    }

    /// Writes a request.
    fn call(
        &self,
        method: &str,
        mut params: Map<String, Value>,
        modern: bool,
        patience: Duration,
    ) -> Result<Call> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut meta = if modern { splice::envelope() } else { Map::new() };
        if method == "tools/call" {
            meta.insert("progressToken".to_owned(), json!(id));
        }
        if !meta.is_empty() {
            params.insert("_meta".to_owned(), Value::Object(meta));
        }
        let message = if params.is_empty() {
            json!({"jsonrpc": "2.0", "id": id, "method": method})
        } else {
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        };
        let mut call = read_own(message.to_string())?;
        call.patience = patience;
        Ok(call)
    }

    /// Sends a request of any kind and returns its result.
    pub async fn request(self: &Arc<Self>, method: &str, params: Map<String, Value>) -> Result<Value> {
        self.request_as(method, params, Repeat::of_method(method)).await.map(|(result, _)| result)
    }

    /// Sends a request, again where that is allowed; returns the result and how many bytes it was.
    async fn request_as(
        self: &Arc<Self>,
        method: &str,
        params: Map<String, Value>,
        repeat: Repeat,
    ) -> Result<(Value, usize)> {
        let attempt = || async {
            let ask = |modern| self.ask(method, params.clone(), modern, self.treatment.timeout);
            let answer = self.in_era(ask).await?;
            Ok((answer.result()?, answer.message.len()))
        };
        self.counted(repeat, attempt).await
    }

    /// Passes a host's request on and its answer back. Both stay the bytes they are, but for what the server's era needs
    /// where it is not the host's.
    pub async fn forward(self: &Arc<Self>, mut call: Call) -> Result<Answer> {
        call.patience = self.treatment.timeout;
        let repeat = match call.method.as_str() {
            "tools/call" if self.treatment.trusted => {
                self.repeat_of_tool(call.name.as_deref().unwrap_or_default()).await?
            }
            method => Repeat::of_method(method),
        };
        self.counted(repeat, || self.in_era(|speaks_modern| self.send(&call, speaks_modern))).await
    }

    /// Sends a host's request to a server of either era.
    async fn send(&self, call: &Call, speaks_modern: bool) -> Result<Answer> {
        let fitting = match (call.version.is_some(), speaks_modern) {
            (false, true) => splice::add_envelope(call).map_err(refused)?,
            (true, false) => splice::drop_envelope(call).map_err(refused)?,
            _ => call.clone(),
        };
        // A legacy server on the web knows the requests of its session by their ids, and many hosts share it. Streams
        // count by themselves.
        let answer = if !speaks_modern && self.passage.link.has_headers() {
            let own_id = self.next_id.fetch_add(1, Ordering::Relaxed);
            self.passage.once(fitting.with_id(own_id)).await?.with_id(call.id_json())
        } else {
            self.passage.once(fitting).await?
        };
        let is_completed = call.version.is_some() && !speaks_modern;
        Ok(if is_completed { splice::complete_result(answer, &call.method) } else { answer })
    }

    /// Sends a request as the server's era wants it; once more if the server has changed its era.
    async fn in_era<F>(self: &Arc<Self>, send: impl Fn(bool) -> F) -> Result<Answer>
    where
        F: Future<Output = Result<Answer>>,
    {
        let unsent = |error| Error { never_sent: true, ..error };
        let is_modern = self.connect_once().await.map_err(unsent)?.revision.is_modern();
        let outcome = send(is_modern).await;
        let failed = match &outcome {
            Ok(answer) if answer.envelope.error().is_none() => return outcome,
            Ok(answer) => answer.result().err(),
            Err(error) => Some(error.clone()),
        };
        if !failed.is_some_and(|error| is_of_another_era(&error, is_modern)) {
            return outcome;
        }
        if !is_modern && !self.passage.link.has_headers() {
            // Else it goes on greeting whoever refuses that.
            self.passage.link.close().await;
        }
        self.is_stale.store(true, Ordering::Release);
        match self.connect_once().await {
            Ok(found) if found.revision.is_modern() != is_modern => send(!is_modern).await,
            _ => outcome,
        }
    }

    /// Does something, again where that is allowed, and counts it.
    async fn counted<T, F>(self: &Arc<Self>, repeat: Repeat, attempt: impl Fn() -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let _busy = self.busy();
        let metrics = &self.treatment.metrics;
        let attempts = self.passage.retry.run(repeat, |number| {
            if number > 0 {
                metrics.count(Counter::Retries, &self.name);
            }
            async {
                let started = Instant::now();
                let result = attempt().await;
                if self.is_reached_anew() {
                    self.doubt();
                    self.reconnected();
                }
                let outcome = result.as_ref().map_or_else(|error| error.code.as_str(), |_| "ok");
                metrics.answered(&self.name, outcome, started.elapsed());
                result
            }
        });
        attempts.await
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(task) = lock(&self.subscription).take() {
            task.abort();
        }
    }
}

/// Says that a server is in use.
#[derive(Debug)]
pub(crate) struct Busy(Arc<Server>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::AcqRel);
        *lock(&self.0.last_used) = Instant::now();
    }
}

fn read_discovered(discovered: &Value) -> Option<Agreed> {
    let versions = discovered.get("supportedVersions").and_then(Value::as_array)?;
    let revision = Revision::V2026_07_28;
    if !versions.iter().any(|version| version == revision.as_str()) {
        return None;
    }
    let info = discovered.get("_meta").and_then(|meta| meta.get("io.modelcontextprotocol/serverInfo"));
    Some(Agreed {
        revision,
        capabilities: discovered.get("capabilities").cloned().unwrap_or_else(|| json!({})),
        info: info.cloned().unwrap_or_else(|| json!({})),
        instructions: discovered.get("instructions").and_then(Value::as_str).map(str::to_owned),
    })
}

fn read_greeted(said: &Value) -> Result<Agreed> {
    let version = said.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
    let Some(revision) = Revision::parse(version).filter(|revision| !revision.is_modern()) else {
        let sentence = format!("the server speaks revision `{version}`, which is not known here");
        return Err(Error::new(ErrorCode::ConnectionFailed, sentence));
    };
    let instructions = said.get("instructions").and_then(Value::as_str).map(str::to_owned);
    let part = |name: &str| said.get(name).cloned().unwrap_or_else(|| json!({}));
    Ok(Agreed { revision, capabilities: part("capabilities"), info: part("serverInfo"), instructions })
}

/// Tells whether a server refuses like this what is of the era that it does not speak.
fn is_of_another_era(error: &Error, is_modern: bool) -> bool {
    match error.rpc_code() {
        Some(-32022 | -32020) => true,
        // What legacy servers say to those without a session, and to methods that they do not know.
        Some(-32601 | -32600 | -32019..=-32000) => is_modern,
        Some(_) => false,
        None => error.code == ErrorCode::ConnectionFailed && error.is_final,
    }
}

/// Reads a message of our own.
fn read_own(text: String) -> Result<Call> {
    Call::read(Bytes::from(text)).map_err(refused)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
