//! One server: which era it speaks, what it offers, and what it is asked.
//!
//! A server is probed with the modern `server/discover`. Legacy servers answer that with an error, with silence or by
//! ending; whichever it is, they are greeted with `initialize` then. The era is remembered.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Map, Value, json};
use tokio::sync::{broadcast, mpsc};
use tokio::time::{Instant, timeout};
use wakashu_wire::Revision;
use wakashu_wire::envelope::Kind;
use wakashu_wire::error::code;

use crate::cache::{Cache, Key};
use crate::chain::Chain;
use crate::error::{Error, ErrorCode, Result};
use crate::link::{Answer, Call, Inbox, Link, MAX_MESSAGE_BYTES};
use crate::metrics::{Counter, Metrics};
use crate::passage::{Passage, refused};
use crate::policy::{Repeat, RetryPolicy};
use crate::rules::Rules;
use crate::splice;

/// How long a server may take to answer the probe, before it is taken for a legacy one.
const PROBE_PATIENCE: Duration = Duration::from_secs(5);
/// The most pages of one list.
const MAX_PAGES: usize = 1000;
/// How long a subscription waits for a sign of life; servers send one every quarter of a minute.
const SUBSCRIPTION_PATIENCE: Duration = Duration::from_hours(24);
/// The wait before a subscription that ended is opened again.
const RESUBSCRIBE_AFTER: Duration = Duration::from_secs(5);
/// How long a subscription that was opened again must hold, to be taken for one that tells of changes.
const SUBSCRIBED_AFTER: Duration = Duration::from_secs(1);

/// The longest line of a server's log that is passed on.
const LONGEST_LOG_LINE: usize = 2000;

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

/// A tool as a server lists it.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The version of its server, as tools have none of their own.
    pub version: String,
    /// What it takes.
    pub input_schema: Value,
    /// What it gives.
    pub output_schema: Option<Value>,
    /// The whole definition.
    pub definition: Value,
}

impl Tool {
    fn read(definition: Value, version: &str) -> Option<Self> {
        let text = |name: &str| definition.get(name).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            name: text("name")?,
            description: text("description").unwrap_or_default(),
            version: version.to_owned(),
            input_schema: definition.get("inputSchema").cloned().unwrap_or_else(|| json!({"type": "object"})),
            output_schema: definition.get("outputSchema").cloned(),
            definition,
        })
    }
}

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
            connecting: tokio::sync::Mutex::default(),
            reached: AtomicU64::new(0),
            is_legacy: Mutex::default(),
            changes: broadcast::channel(16).0,
            notices: broadcast::channel(64).0,
            under_way: AtomicUsize::new(0),
            last_used: Mutex::new(Instant::now()),
            subscription: Mutex::default(),
        });
        tokio::spawn(take_messages(Arc::downgrade(&server), messages));
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
        if let Some(agreed) = self.agreed() {
            return Ok(agreed);
        }
        let _alone = self.connecting.lock().await;
        if let Some(agreed) = self.agreed() {
            return Ok(agreed);
        }
        self.treatment.metrics.count(Counter::Connections, &self.name);
        let found = Arc::new(self.find_era().await?);
        *lock(&self.agreed) = Some(Arc::clone(&found));
        self.follow_changes(&found);
        Ok(found)
    }

    fn agreed(&self) -> Option<Arc<Agreed>> {
        lock(&self.agreed).clone()
    }

    /// Notices that the server was reached anew, by us or by the link alone: its lists may be others.
    fn note_openings(&self) {
        let openings = self.passage.link.openings();
        let before = self.reached.swap(openings, Ordering::AcqRel);
        if before != openings && before != 0 {
            self.reconnected();
        }
    }

    fn reconnected(&self) {
        self.passage.forget_marks();
        self.treatment.cache.forget(&self.name, |_| true);
        // Nobody may be interested.
        let _ = self.changes.send(Change::Reconnected);
    }

    /// Ends the connection; the next request opens it again.
    pub async fn disconnect(&self) {
        let _alone = self.connecting.lock().await;
        *lock(&self.agreed) = None;
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
        if *lock(&self.is_legacy) == Some(true) {
            return self.greet().await;
        }
        let probe = self.ask("server/discover", Map::new(), true, PROBE_PATIENCE.min(self.treatment.timeout));
        let refused = match probe.await.and_then(|answer| answer.result()) {
            Ok(discovered) => match read_discovered(&discovered) {
                Some(agreed) => {
                    *lock(&self.is_legacy) = Some(false);
                    return Ok(agreed);
                }
                None => Error::new(ErrorCode::InvalidRequest, "the server speaks no revision that we speak"),
            },
            Err(error) => error,
        };
        let is_out_of_reach = refused.never_sent
            || matches!(refused.code, ErrorCode::PermissionDenied | ErrorCode::RateLimitExceeded);
        if is_out_of_reach || *lock(&self.is_legacy) == Some(false) {
            return Err(refused);
        }
        match self.greet().await {
            Ok(agreed) => {
                *lock(&self.is_legacy) = Some(true);
                Ok(agreed)
            }
            // It was only slow, and the probe has bound it to the modern era.
            Err(error) if error.rpc_code() == Some(i64::from(code::UNSUPPORTED_VERSION)) => {
                let again =
                    self.ask("server/discover", Map::new(), true, self.treatment.timeout).await?.result()?;
                let agreed = read_discovered(&again).ok_or(error)?;
                *lock(&self.is_legacy) = Some(false);
                Ok(agreed)
            }
            Err(error) => Err(error),
        }
    }

    /// Greets a legacy server.
    async fn greet(&self) -> Result<Agreed> {
        let mut params = Map::new();
        params.insert("protocolVersion".to_owned(), json!(Revision::NEWEST_LEGACY.as_str()));
        params.insert("capabilities".to_owned(), json!({}));
        params.insert("clientInfo".to_owned(), splice::client_info());
        let answer = self.ask("initialize", params, false, self.treatment.timeout).await?.result()?;
        let version = answer.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
        let Some(revision) = Revision::parse(version).filter(|revision| !revision.is_modern()) else {
            let sentence = format!("the server speaks revision `{version}`, which is not known here");
            return Err(Error::new(ErrorCode::ConnectionFailed, sentence));
        };
        let done = read_own(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned())?;
        self.passage.link.notify(done).await?;
        let instructions = answer.get("instructions").and_then(Value::as_str).map(str::to_owned);
        let part = |name: &str| answer.get(name).cloned().unwrap_or_else(|| json!({}));
        Ok(Agreed { revision, capabilities: part("capabilities"), info: part("serverInfo"), instructions })
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
            let modern = self.connect_once().await?.revision.is_modern();
            let answer = self.ask(method, params.clone(), modern, self.treatment.timeout).await?;
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
        let attempt = || async {
            let speaks_modern = self.connect_once().await?.revision.is_modern();
            match (call.version.is_some(), speaks_modern) {
                (false, true) => self.passage.once(splice::add_envelope(&call).map_err(refused)?).await,
                (true, false) => {
                    let answer = self.passage.once(splice::drop_envelope(&call).map_err(refused)?).await?;
                    Ok(splice::complete_result(answer, &call.method))
                }
                _ => self.passage.once(call.clone()).await,
            }
        };
        self.counted(repeat, attempt).await
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
                self.note_openings();
                let outcome = result.as_ref().map_or_else(|error| error.code.as_str(), |_| "ok");
                metrics.answered(&self.name, outcome, started.elapsed());
                result
            }
        });
        attempts.await
    }

    /// Tells whether a tool may be run twice: if it says that it only reads, and is believed.
    async fn repeat_of_tool(self: &Arc<Self>, name: &str) -> Result<Repeat> {
        if !self.treatment.trusted {
            return Ok(Repeat::Unsafe);
        }
        let list = self.list("tools/list", "tools").await?;
        let tool = entries(&list).iter().find(|tool| tool.get("name").and_then(Value::as_str) == Some(name));
        let reads =
            tool.and_then(|tool| tool.pointer("/annotations/readOnlyHint")) == Some(&Value::Bool(true));
        Ok(if reads { Repeat::Safe } else { Repeat::Unsafe })
    }

    /// Returns a result from the cache, or asks for it.
    async fn cached<F>(self: &Arc<Self>, method: &'static str, params: String, fetch: F) -> Result<Arc<Value>>
    where
        F: Future<Output = Result<(Value, usize)>>,
    {
        let (cache, metrics) = (&self.treatment.cache, &self.treatment.metrics);
        let key = Key {
            server: Arc::clone(&self.name),
            authorisation: self.treatment.authorisation,
            method,
            params,
        };
        if let Some(kept) = cache.get(&key) {
            metrics.count(Counter::CacheHits, &self.name);
            return Ok(kept);
        }
        metrics.count(Counter::CacheMisses, &self.name);
        let (value, bytes) = fetch.await?;
        let value = Arc::new(value);
        cache.put(key, Arc::clone(&value), bytes);
        Ok(value)
    }

    /// Returns all entries of a list, page by page. If a page is refused because the list changed meanwhile, it is read
    /// once more from its beginning.
    async fn list(self: &Arc<Self>, method: &'static str, field: &'static str) -> Result<Arc<Value>> {
        self.cached(method, String::new(), async {
            match self.pages(method, field).await {
                Err(Broken { error, at_first: false }) if error.code == ErrorCode::InvalidParams => {
                    self.pages(method, field).await.map_err(|broken| broken.error)
                }
                read => read.map_err(|broken| broken.error),
            }
        })
        .await
    }

    async fn pages(
        self: &Arc<Self>,
        method: &'static str,
        field: &'static str,
    ) -> Result<(Value, usize), Broken> {
        let (mut entries, mut bytes, mut ttl) = (Vec::new(), 0, None);
        let mut cursor: Option<Value> = None;
        for page in 0..MAX_PAGES {
            let broken = |error| Broken { error, at_first: page == 0 };
            let mut params = Map::new();
            if let Some(cursor) = &cursor {
                params.insert("cursor".to_owned(), cursor.clone());
            }
            let (mut result, size) = self.request_as(method, params, Repeat::Safe).await.map_err(broken)?;
            bytes += size;
            if bytes > MAX_MESSAGE_BYTES {
                let sentence = format!("the list `{method}` has more than {MAX_MESSAGE_BYTES} bytes");
                return Err(broken(Error::new(ErrorCode::InvalidRequest, sentence)));
            }
            if let Some(stated) = result.get("ttlMs").and_then(Value::as_u64) {
                ttl = Some(ttl.map_or(stated, |ttl: u64| ttl.min(stated)));
            }
            let Some(Value::Array(more)) = result.get_mut(field).map(Value::take) else {
                let sentence = format!("the answer to `{method}` has no list `{field}`");
                return Err(broken(Error::new(ErrorCode::InvalidRequest, sentence)));
            };
            entries.extend(more);
            let next = result.get_mut("nextCursor").map(Value::take).filter(|next| !next.is_null());
            if next.is_none() {
                let list = match ttl {
                    Some(ttl) => json!({"entries": entries, "ttlMs": ttl}),
                    None => json!({"entries": entries}),
                };
                return Ok((list, bytes));
            }
            if next == cursor {
                let sentence = format!("the server lists the same page of `{method}` without end");
                return Err(broken(Error::new(ErrorCode::InvalidRequest, sentence)));
            }
            cursor = next;
        }
        let sentence = format!("the list `{method}` has more than {MAX_PAGES} pages");
        Err(Broken { error: Error::new(ErrorCode::InvalidRequest, sentence), at_first: false })
    }

    /// Tells whether the server says that it can do something.
    async fn can(self: &Arc<Self>, what: &str) -> Result<bool> {
        Ok(self.connect().await?.capabilities.get(what).is_some())
    }

    /// Returns its tools.
    pub async fn list_tools(self: &Arc<Self>) -> Result<Vec<Tool>> {
        let agreed = self.connect().await?;
        if agreed.capabilities.get("tools").is_none() {
            return Ok(Vec::new());
        }
        let version = agreed.info.get("version").and_then(Value::as_str).unwrap_or_default();
        let list = self.list("tools/list", "tools").await?;
        Ok(entries(&list).iter().filter_map(|definition| Tool::read(definition.clone(), version)).collect())
    }

    /// Returns one of its tools.
    pub async fn get_tool(self: &Arc<Self>, name: &str) -> Result<Option<Tool>> {
        Ok(self.list_tools().await?.into_iter().find(|tool| tool.name == name))
    }

    /// Runs a tool and returns what it gives: `content`, and whatever else there is.
    pub async fn execute_tool(self: &Arc<Self>, name: &str, arguments: &Value) -> Result<Value> {
        let repeat = self.repeat_of_tool(name).await?;
        let mut params = Map::new();
        params.insert("name".to_owned(), json!(name));
        params
            .insert("arguments".to_owned(), if arguments.is_null() { json!({}) } else { arguments.clone() });
        let (result, _) = self.request_as("tools/call", params, repeat).await?;
        complete(result)
    }

    /// Returns its prompts.
    pub async fn list_prompts(self: &Arc<Self>) -> Result<Vec<Value>> {
        if !self.can("prompts").await? {
            return Ok(Vec::new());
        }
        Ok(entries(&*self.list("prompts/list", "prompts").await?).to_vec())
    }

    /// Returns the messages of a prompt.
    pub async fn get_prompt(self: &Arc<Self>, name: &str, arguments: &Map<String, Value>) -> Result<Value> {
        let mut params = Map::new();
        params.insert("name".to_owned(), json!(name));
        params.insert("arguments".to_owned(), Value::Object(arguments.clone()));
        complete(self.request("prompts/get", params).await?)
    }

    /// Returns a prompt as one text.
    pub async fn execute_prompt(
        self: &Arc<Self>,
        name: &str,
        arguments: &Map<String, Value>,
    ) -> Result<String> {
        let prompt = self.get_prompt(name, arguments).await?;
        let messages =
            prompt.get("messages").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let texts = messages.iter().filter_map(|message| message.pointer("/content/text")?.as_str());
        Ok(texts.collect::<Vec<_>>().join("\n\n"))
    }

    /// Returns its resources.
    pub async fn list_resources(self: &Arc<Self>) -> Result<Vec<Value>> {
        if !self.can("resources").await? {
            return Ok(Vec::new());
        }
        Ok(entries(&*self.list("resources/list", "resources").await?).to_vec())
    }

    /// Returns the templates of its resources.
    pub async fn list_resource_templates(self: &Arc<Self>) -> Result<Vec<Value>> {
        if !self.can("resources").await? {
            return Ok(Vec::new());
        }
        match self.list("resources/templates/list", "resourceTemplates").await {
            Ok(list) => Ok(entries(&list).to_vec()),
            Err(error) if error.code == ErrorCode::MethodNotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Returns what is in a resource.
    pub async fn read_resource(self: &Arc<Self>, uri: &str) -> Result<Value> {
        let mut params = Map::new();
        params.insert("uri".to_owned(), json!(uri));
        let read = async {
            let read = self.request_as("resources/read", params, Repeat::Safe).await;
            // In the modern era a missing resource is a parameter that does not fit.
            read.map_err(|error| match error.code {
                ErrorCode::InvalidParams => Error { code: ErrorCode::ResourceNotFound, ..error },
                _ => error,
            })
        };
        let read = self.cached("resources/read", uri.to_owned(), read).await?;
        complete(Arc::unwrap_or_clone(read))
    }

    /// Completes an argument of a prompt or of a template: `reference` is `{"type": "ref/prompt", "name": …}` or
    /// `{"type": "ref/resource", "uri": …}`.
    pub async fn complete(
        self: &Arc<Self>,
        reference: Value,
        name: &str,
        value: &str,
    ) -> Result<Vec<String>> {
        let mut params = Map::new();
        params.insert("ref".to_owned(), reference);
        params.insert("argument".to_owned(), json!({"name": name, "value": value}));
        let result = self.request("completion/complete", params).await?;
        let values = result.pointer("/completion/values").and_then(Value::as_array);
        let values = values.into_iter().flatten().filter_map(Value::as_str);
        Ok(values.map(str::to_owned).collect())
    }

    /// Begins to take what the server says of changes.
    fn follow_changes(self: &Arc<Self>, agreed: &Agreed) {
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
        let task = tokio::spawn(async move {
            let mut ended = link.request(call.clone()).await;
            while !ended.and_then(|answer| answer.result()).is_err_and(|error| !error.retryable()) {
                tokio::time::sleep(RESUBSCRIBE_AFTER).await;
                let mut subscribed = link.request(call.clone());
                ended = match timeout(SUBSCRIBED_AFTER, &mut subscribed).await {
                    Ok(ended) => ended,
                    Err(_) => {
                        // Of what changed since the one before ended, nothing was told.
                        if let Some(server) = server.upgrade() {
                            server.reconnected();
                        }
                        subscribed.await
                    }
                };
            }
        });
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

/// A list that could not be read, and whether its first page was the reason.
struct Broken {
    error: Error,
    at_first: bool,
}

async fn take_messages(server: Weak<Server>, mut messages: mpsc::Receiver<Chain>) {
    while let Some(message) = messages.recv().await {
        let Some(server) = server.upgrade() else { return };
        server.take_message(message).await;
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

/// Refuses a result that is a question: we declare nothing that would let a server ask one.
fn complete(result: Value) -> Result<Value> {
    match result.get("resultType").and_then(Value::as_str) {
        None | Some("complete") => Ok(result),
        Some(kind) => {
            let sentence = format!("the server answers with `{kind}`, which was not offered to it");
            Err(Error::new(ErrorCode::ExecutionFailed, sentence).with_details(result))
        }
    }
}

fn entries(list: &Value) -> &[Value] {
    list.get("entries").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Reads a message of our own.
fn read_own(text: String) -> Result<Call> {
    Call::read(Bytes::from(text)).map_err(refused)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
