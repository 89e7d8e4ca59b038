//! Many servers and the program's own tools behind one interface.
//!
//! ```no_run
//! # async fn example() -> wakashu_client::Result<()> {
//! use serde_json::json;
//! use wakashu_client::config::Config;
//! use wakashu_client::manager::{Execution, Manager};
//!
//! let config = Config::read(std::path::Path::new("mcp.config.yaml"))?;
//! let manager = Manager::new(config.options);
//! for (server, error) in manager.initialize(config.servers).await {
//!     eprintln!("{server}: {error}; {}", error.next_step());
//! }
//! let result = manager.execute_tool("get_wakashu_ranking", json!({"round_title": "第1回"})).await;
//! assert!(result.success);
//! let both = manager.execute_parallel(vec![
//!     Execution::new("list_rounds", json!({})),
//!     Execution::new("search_poems", json!({"query": "月"})),
//! ]);
//! let results = both.await.all_or_error()?;
//! # Ok(()) }
//! ```

mod pool;
mod results;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use serde_json::{Map, Value};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, broadcast};

use crate::cache::Cache;
use crate::config::{Options, ServerConfig};
use crate::error::{Error, ErrorCode, Result};
use crate::link::{Answer, BoxFuture, Call};
use crate::metrics::Metrics;
use crate::mirror::sift_tools;
use crate::server::{Agreed, Change, Server, Tool, Treatment};
use crate::validate::Schema;

pub use results::{Execution, Metadata, ParallelResults, ToolResult};

/// Decides whether a tool may run with these parameters.
pub type CanExecute = Arc<dyn Fn(&Value) -> BoxFuture<'static, bool> + Send + Sync>;

/// Runs a tool of the program's own.
pub type Execute = Arc<dyn Fn(Value) -> BoxFuture<'static, Result<Value>> + Send + Sync>;

/// A tool of the program's own.
#[derive(Clone)]
pub struct OwnTool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// Its version.
    pub version: String,
    /// What it takes.
    pub input_schema: Value,
    /// What it gives.
    pub output_schema: Option<Value>,
    /// Decides whether it may run.
    pub can_execute: Option<CanExecute>,
    /// Runs it.
    pub execute: Execute,
}

impl fmt::Debug for OwnTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnTool").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A tool that can be run.
#[derive(Debug, Clone)]
pub struct RegisteredTool {
    /// What it is.
    pub tool: Tool,
    /// The server that has it; none for the program's own tools.
    pub server: Option<Arc<str>>,
}

/// A tool with what is known about it once.
struct Registered {
    tool: Tool,
    input: Option<Schema>,
    output: Option<Schema>,
    own: Option<OwnTool>,
}

impl Registered {
    fn new(tool: Tool, own: Option<OwnTool>) -> Arc<Self> {
        let input = Schema::compile(&tool.name, &tool.input_schema);
        let output = tool.output_schema.as_ref().and_then(|schema| Schema::compile(&tool.name, schema));
        Arc::new(Self { tool, input, output, own })
    }
}

/// A registered server.
struct Member {
    server: Arc<Server>,
    config: ServerConfig,
    tools: RwLock<BTreeMap<String, Arc<Registered>>>,
    /// Held while its tools are read, so that what was read last is kept.
    refreshing: tokio::sync::Mutex<()>,
    /// Its place among the live links.
    place: Mutex<Option<OwnedSemaphorePermit>>,
}

/// Many servers.
#[derive(Clone)]
pub struct Manager {
    inner: Arc<Inner>,
}

struct Inner {
    options: Options,
    cache: Arc<Cache>,
    metrics: Metrics,
    members: RwLock<BTreeMap<Arc<str>, Arc<Member>>>,
    own: RwLock<BTreeMap<String, Arc<Registered>>>,
    rules: RwLock<BTreeMap<String, CanExecute>>,
    parallel: Arc<Semaphore>,
    places: Arc<Semaphore>,
    /// Tells those who wait for a place that a server has nothing to do any more.
    released: Arc<Notify>,
}

impl fmt::Debug for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let servers: Vec<_> = read(&self.inner.members).keys().cloned().collect();
        f.debug_struct("Manager").field("servers", &servers).finish_non_exhaustive()
    }
}

impl Manager {
    /// Makes a manager without servers.
    #[must_use]
    pub fn new(options: Options) -> Self {
        let inner = Inner {
            cache: Arc::new(Cache::new(options.cache_entries, options.cache_ttl)),
            metrics: Metrics::default(),
            members: RwLock::default(),
            own: RwLock::default(),
            rules: RwLock::default(),
            parallel: Arc::new(Semaphore::new(options.max_parallel.max(1))),
            places: Arc::new(Semaphore::new(options.max_connections.max(1))),
            released: Arc::default(),
            options,
        };
        Self { inner: Arc::new(inner) }
    }

    /// Registers servers side by side. One that cannot be reached is registered without tools, and returned with the
    /// reason; [`Manager::connect`] tries it again.
    pub async fn initialize(&self, servers: Vec<ServerConfig>) -> Vec<(Arc<str>, Error)> {
        let connecting = servers.into_iter().map(|config| async move {
            let name: Arc<str> = config.name.as_str().into();
            let added = self.add(config);
            let connected = match added {
                Ok(()) => self.connect(&name).await.map(drop),
                Err(error) => Err(error),
            };
            connected.err().map(|error| (name, error))
        });
        join_all(connecting).await.into_iter().flatten().collect()
    }

    /// Registers a server and its tools. One that cannot be reached is not registered.
    pub async fn register_server(&self, config: ServerConfig) -> Result<()> {
        let name = config.name.clone();
        self.add(config)?;
        let connected = self.connect(&name).await;
        if connected.is_err() {
            self.remove_server(&name).await?;
        }
        connected.map(drop)
    }

    fn add(&self, config: ServerConfig) -> Result<()> {
        let name: Arc<str> = config.name.as_str().into();
        let options = &self.inner.options;
        let treatment = Treatment {
            timeout: config.timeout.unwrap_or(options.timeout),
            retry: config.retry_policy.clone().unwrap_or_else(|| options.retry_policy.clone()),
            trusted: config.trusted,
            authorisation: config.authorisation()?,
            cache: Arc::clone(&self.inner.cache),
            metrics: self.inner.metrics.clone(),
        };
        let server = Server::new(Arc::clone(&name), treatment, |inbox| config.link(options, inbox))?;
        let changes = server.changes();
        let member = Arc::new(Member {
            server,
            config,
            tools: RwLock::default(),
            refreshing: tokio::sync::Mutex::default(),
            place: Mutex::default(),
        });
        match write(&self.inner.members).entry(Arc::clone(&name)) {
            Entry::Vacant(vacant) => {
                vacant.insert(Arc::clone(&member));
            }
            Entry::Occupied(_) => {
                let sentence = format!("there is a server `{name}` already");
                return Err(Error::unsent(ErrorCode::InvalidRequest, sentence));
            }
        }
        tokio::spawn(follow(Arc::downgrade(&self.inner), Arc::downgrade(&member), changes));
        if options.debug {
            tracing::info!(server = %name, "registered");
        }
        Ok(())
    }

    /// Removes a server and its tools, and ends its process or connection.
    pub async fn remove_server(&self, name: &str) -> Result<()> {
        let removed = write(&self.inner.members).remove(name);
        let member = removed.ok_or_else(|| no_server(name))?;
        self.inner.cache.forget(name, |_| true);
        member.server.disconnect().await;
        drop(lock(&member.place).take());
        self.inner.released.notify_waiters();
        Ok(())
    }

    /// Returns the names of the servers.
    #[must_use]
    pub fn servers(&self) -> Vec<Arc<str>> {
        read(&self.inner.members).keys().cloned().collect()
    }

    /// Returns a server. What is asked through it does not count for the pool of live links.
    #[must_use]
    pub fn server(&self, name: &str) -> Option<Arc<Server>> {
        read(&self.inner.members).get(name).map(|member| Arc::clone(&member.server))
    }

    /// Connects a server, unless that is done, and reads which tools it has.
    pub async fn connect(&self, name: &str) -> Result<Arc<Agreed>> {
        let member = self.member(name)?;
        let _in_use = self.inner.take_place(&member).await?;
        let agreed = member.server.connect().await?;
        self.inner.refresh(&member).await?;
        Ok(agreed)
    }

    /// Ends a server's process or connection; its tools stay, and running one connects it again.
    pub async fn disconnect(&self, name: &str) -> Result<()> {
        let member = self.member(name)?;
        member.server.disconnect().await;
        drop(lock(&member.place).take());
        self.inner.released.notify_waiters();
        Ok(())
    }

    /// Tells whether a server is connected.
    #[must_use]
    pub fn is_connected(&self, name: &str) -> bool {
        self.member(name).is_ok_and(|member| member.server.is_connected())
    }

    /// Registers a tool of the program's own.
    pub fn register_tool(&self, tool: OwnTool) -> Result<()> {
        let mut own = write(&self.inner.own);
        if own.contains_key(&tool.name) {
            let sentence = format!("there is a tool `{}` already", tool.name);
            return Err(Error::unsent(ErrorCode::InvalidRequest, sentence));
        }
        let described = Tool {
            name: tool.name.clone(),
            description: tool.description.clone(),
            version: tool.version.clone(),
            input_schema: tool.input_schema.clone(),
            output_schema: tool.output_schema.clone(),
            definition: serde_json::json!({"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}),
        };
        own.insert(tool.name.clone(), Registered::new(described, Some(tool)));
        Ok(())
    }

    /// Sets the rule that decides whether a tool may run with given parameters. The name is one [`Manager::get_tool`]
    /// takes; a rule for `server__tool` is for that one, a rule for `tool` for those of all servers, however they are called.
    pub fn set_can_execute(&self, tool: impl Into<String>, rule: CanExecute) {
        write(&self.inner.rules).insert(tool.into(), rule);
    }

    /// Returns all tools that may be run: the program's own, then those of the servers.
    #[must_use]
    pub fn tools(&self) -> Vec<RegisteredTool> {
        let own = read(&self.inner.own);
        let own = own.values().map(|tool| RegisteredTool { tool: tool.tool.clone(), server: None });
        let mut tools: Vec<RegisteredTool> = own.collect();
        for (name, member) in &*read(&self.inner.members) {
            let of_server = read(&member.tools);
            let allowed = of_server.values().filter(|tool| member.config.rules.allow(&tool.tool.name));
            tools.extend(
                allowed
                    .map(|tool| RegisteredTool { tool: tool.tool.clone(), server: Some(Arc::clone(name)) }),
            );
        }
        tools
    }

    /// Returns a tool by its name, or by `server__tool`.
    #[must_use]
    pub fn get_tool(&self, name: &str) -> Option<RegisteredTool> {
        let (tool, member) = self.inner.find(name).ok()?;
        let server = member.map(|member| Arc::clone(member.server.name()));
        Some(RegisteredTool { tool: tool.tool.clone(), server })
    }

    /// Runs a tool. A name that several servers have is said as `server__tool`.
    pub async fn execute_tool(&self, name: &str, params: Value) -> ToolResult {
        let started = Instant::now();
        let found = self.inner.find(name);
        let server =
            found.as_ref().ok().and_then(|(_, member)| Some(member.as_ref()?.server.name().to_string()));
        let outcome = match found {
            Ok((tool, member)) => self.inner.execute(name, &tool, member.as_deref(), params).await,
            Err(error) => Err((error, None)),
        };
        let metadata = Metadata { execution_time: started.elapsed().as_secs_f64() * 1000.0, server };
        if self.inner.options.debug {
            let code = outcome.as_ref().err().map(|(error, _)| error.code.as_str());
            tracing::info!(tool = name, ms = metadata.execution_time, code, "executed");
        }
        match outcome {
            Ok(data) => ToolResult { success: true, data: Some(data), error: None, metadata },
            Err((error, data)) => ToolResult { success: false, data, error: Some(error), metadata },
        }
    }

    /// Runs several tools, as many at a time as the options allow. One that fails does not touch the others.
    pub async fn execute_parallel(&self, executions: Vec<Execution>) -> ParallelResults {
        let running = executions.into_iter().map(|execution| async move {
            // The semaphore is never closed.
            let _place = self.inner.parallel.acquire().await;
            self.execute_tool(&execution.tool, execution.params).await
        });
        ParallelResults(join_all(running).await)
    }

    /// Passes a host's request on to a server and its answer back, as the bytes they are; see [`Server::forward`]. Tools that
    /// the server's rules do not allow are neither listed nor run. Rules that look at parameters are not asked: they are for
    /// [`Manager::execute_tool`].
    pub async fn forward(&self, server: &str, call: Call) -> Result<Answer> {
        let member = self.member(server)?;
        if let Some(tool) = call.name.as_deref().filter(|_| call.method == "tools/call")
            && !member.config.rules.allow(tool)
        {
            let sentence = format!("the configuration does not allow `{tool}`");
            return Err(Error::unsent(ErrorCode::CannotExecute, sentence));
        }
        let is_sifted = call.method == "tools/list" && !member.config.rules.is_empty();
        let _in_use = self.inner.take_place(&member).await?;
        let answer = member.server.forward(call).await?;
        Ok(if is_sifted { sift_tools(answer, &member.config.rules).0 } else { answer })
    }

    /// Returns a server's prompt as one text.
    pub async fn execute_prompt(
        &self,
        server: &str,
        name: &str,
        args: &Map<String, Value>,
    ) -> Result<String> {
        let member = self.member(server)?;
        let _in_use = self.inner.take_place(&member).await?;
        member.server.execute_prompt(name, args).await
    }

    /// Returns the prompts of a server.
    pub async fn list_prompts(&self, server: &str) -> Result<Vec<Value>> {
        let member = self.member(server)?;
        let _in_use = self.inner.take_place(&member).await?;
        member.server.list_prompts().await
    }

    /// Returns the resources of a server.
    pub async fn list_resources(&self, server: &str) -> Result<Vec<Value>> {
        let member = self.member(server)?;
        let _in_use = self.inner.take_place(&member).await?;
        member.server.list_resources().await
    }

    /// Returns what is in a resource of a server.
    pub async fn read_resource(&self, server: &str, uri: &str) -> Result<Value> {
        let member = self.member(server)?;
        let _in_use = self.inner.take_place(&member).await?;
        member.server.read_resource(uri).await
    }

    /// Returns the counters.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.inner.metrics
    }

    /// Ends all processes and connections.
    pub async fn close(&self) {
        let members: Vec<_> = read(&self.inner.members).values().cloned().collect();
        join_all(members.iter().map(|member| member.server.disconnect())).await;
    }

    fn member(&self, name: &str) -> Result<Arc<Member>> {
        read(&self.inner.members).get(name).cloned().ok_or_else(|| no_server(name))
    }
}

fn no_server(name: &str) -> Error {
    Error::unsent(ErrorCode::ResourceNotFound, format!("there is no server `{name}`"))
}

fn qualified_name(member: &Member, tool: &Registered) -> String {
    format!("{}__{}", member.server.name(), tool.tool.name)
}

type Found = (Arc<Registered>, Option<Arc<Member>>);

impl Inner {
    fn find(&self, name: &str) -> Result<Found> {
        if let Some(tool) = read(&self.own).get(name) {
            return Ok((Arc::clone(tool), None));
        }
        let members = read(&self.members);
        let (mut qualified, mut bare) = (Vec::new(), Vec::new());
        for (server, member) in &*members {
            let tools = read(&member.tools);
            let rest = name.strip_prefix(&**server).and_then(|rest| rest.strip_prefix("__"));
            if let Some(tool) = rest.and_then(|tool| tools.get(tool)) {
                qualified.push((Arc::clone(tool), Arc::clone(member)));
            }
            if let Some(tool) = tools.get(name) {
                bare.push((Arc::clone(tool), Arc::clone(member)));
            }
        }
        let mut found = if qualified.is_empty() { bare } else { qualified };
        // One that may not be run is meant only where there is no other.
        let may_run =
            |(tool, member): &(Arc<Registered>, Arc<Member>)| member.config.rules.allow(&tool.tool.name);
        if found.iter().any(may_run) {
            found.retain(may_run);
        }
        if found.len() > 1 {
            let mut names: Vec<String> =
                found.iter().map(|(tool, member)| format!("`{}`", qualified_name(member, tool))).collect();
            names.dedup();
            let sentence = match names.as_slice() {
                [one] => format!("several servers have a tool {one}: give one of them another name"),
                _ => format!("several servers have a tool `{name}`: say {}", names.join(" or ")),
            };
            return Err(Error::unsent(ErrorCode::ToolNotFound, sentence));
        }
        let (tool, member) = found
            .pop()
            .ok_or_else(|| Error::unsent(ErrorCode::ToolNotFound, format!("tool `{name}` not found")))?;
        Ok((tool, Some(member)))
    }

    /// Runs a tool that was found; a failure may come with what the tool gave.
    async fn execute(
        &self,
        name: &str,
        tool: &Registered,
        member: Option<&Member>,
        params: Value,
    ) -> Result<Value, (Error, Option<Value>)> {
        let plain = |error| (error, None);
        if let Some(schema) = &tool.input {
            schema.check("parameters", &params, ErrorCode::InvalidParams).map_err(plain)?;
        }
        let refused = |sentence: String| plain(Error::unsent(ErrorCode::CannotExecute, sentence));
        if member.is_some_and(|member| !member.config.rules.allow(&tool.tool.name)) {
            return Err(refused(format!("the configuration does not allow `{name}`")));
        }
        // Those for either name, whichever was said.
        let names = [Some(tool.tool.name.clone()), member.map(|member| qualified_name(member, tool))];
        let mut rules: Vec<CanExecute> = tool.own.iter().filter_map(|own| own.can_execute.clone()).collect();
        rules.extend(names.iter().flatten().filter_map(|name| read(&self.rules).get(name).cloned()));
        for rule in rules {
            if !rule(&params).await {
                return Err(refused(format!("`{name}` cannot be executed with the given parameters")));
            }
        }
        let result = match (member, &tool.own) {
            (Some(member), _) => {
                let _in_use = self.take_place(member).await.map_err(plain)?;
                member.server.execute_tool(&tool.tool.name, &params).await.map_err(plain)?
            }
            (None, Some(own)) => {
                let late = |_| {
                    Error::new(
                        ErrorCode::Timeout,
                        format!("`{name}` took longer than {:?}", self.options.timeout),
                    )
                };
                let panicked = |_| Error::new(ErrorCode::ExecutionFailed, format!("`{name}` panicked"));
                // Others may run beside it, which its panic is not to end.
                let running = AssertUnwindSafe(async { (own.execute)(params).await }).catch_unwind();
                let ran = tokio::time::timeout(self.options.timeout, running).await;
                ran.map_err(late)
                    .and_then(|ended| ended.map_err(panicked))
                    .and_then(|result| result)
                    .map_err(plain)?
            }
            (None, None) => {
                return Err(plain(Error::unsent(
                    ErrorCode::ToolNotFound,
                    format!("tool `{name}` not found"),
                )));
            }
        };
        if member.is_some() && result.get("isError") == Some(&Value::Bool(true)) {
            let text = result
                .pointer("/content/0/text")
                .and_then(Value::as_str)
                .unwrap_or("the tool gave no reason");
            return Err((Error::new(ErrorCode::ExecutionFailed, text), Some(result)));
        }
        if let Some(schema) = tool.output.as_ref().filter(|_| self.options.validate_output) {
            let given = if member.is_some() {
                result.get("structuredContent").unwrap_or(&Value::Null)
            } else {
                &result
            };
            let checked = schema.check("result", given, ErrorCode::ExecutionFailed);
            if let Err(error) = checked {
                return Err((Error { never_sent: false, ..error }, Some(result)));
            }
        }
        Ok(result)
    }

    /// Reads which tools a server has.
    async fn refresh(&self, member: &Member) -> Result<()> {
        let _alone = member.refreshing.lock().await;
        let listed = member.server.list_tools().await?;
        let before = read(&member.tools).clone();
        // A tool that has not changed keeps its compiled schemas.
        let tools = listed.into_iter().map(|tool| match before.get(&tool.name) {
            Some(known) if known.tool == tool => (tool.name.clone(), Arc::clone(known)),
            _ => (tool.name.clone(), Registered::new(tool, None)),
        });
        let tools = tools.collect();
        *write(&member.tools) = tools;
        Ok(())
    }
}

/// Keeps the registry as the server's list is.
async fn follow(inner: Weak<Inner>, member: Weak<Member>, mut changes: broadcast::Receiver<Change>) {
    loop {
        match changes.recv().await {
            Ok(Change::Tools | Change::Reconnected) | Err(broadcast::error::RecvError::Lagged(_)) => {}
            Ok(_) => continue,
            Err(broadcast::error::RecvError::Closed) => return,
        }
        let (Some(inner), Some(member)) = (inner.upgrade(), member.upgrade()) else { return };
        if !member.server.is_connected() {
            // It was stopped meanwhile. Once it is started again this is heard again.
            continue;
        }
        if let Err(error) = inner.refresh(&member).await {
            tracing::warn!(server = %member.server.name(), %error, "the changed list of tools could not be read");
        }
    }
}

fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The longest a request waits when nothing else is configured.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
