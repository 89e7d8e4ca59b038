//! Settings become a running server: once, for all doors. `preview` of the indexer runs one, too.

#[cfg(test)]
mod gone;
#[cfg(test)]
mod matrix;

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::watch;
use wakashu_pages::Preview;
use wakashu_storage::Location;

use crate::config::Config;
use crate::door::local::connections::Limits;
use crate::door::local::systemd;
use crate::door::{lambda, local, stdio};
use crate::exchange::Core;
use crate::exchange::streams::Streams;
use crate::fault::HANDLING;
use crate::gateway::Gateway;
use crate::mcp::lists;
use crate::observe::log;
use crate::observe::metrics::Metrics;
use crate::served::cache::ReadCache;
use crate::served::limits::MAX_CONNECTIONS;
use crate::served::snapshot::Preparing;
use crate::served::state::ArchiveState;
use crate::tools::TOOLS;
use crate::web::App;
use crate::web::access::Access;
use crate::web::routes::ROUTES;

/// Why a server could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The address is taken or not ours.
    #[error("cannot listen on {host}:{port}")]
    Listen {
        /// The address asked for.
        host: String,
        /// The port asked for.
        port: u16,
        /// Why not.
        #[source]
        cause: io::Error,
    },
    /// Others could reach the server, but no name is allowed.
    #[error("listening on {host} lets others in: set WAKASHU_ALLOWED_HOSTS to the names they will use")]
    Exposed {
        /// The address asked for.
        host: String,
    },
    /// The registry of tools is not sound. A fault of this program.
    #[error("the tools are not sound: {0}")]
    Tools(String),
}

/// Which of the doors is built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum For {
    Local,
    Lambda,
    Stdio,
}

/// Returns the state before anything was read: the archive at `location`, a cache of `cache_bytes`, archives of up to
/// `preload_bytes` fetched whole. `can_push` tells whether clients hear of changes.
#[must_use]
pub fn state_of(
    location: Option<Location>,
    cache_bytes: u64,
    preload_bytes: u64,
    can_push: bool,
) -> ArchiveState {
    let preparing = Preparing { prepare: lists::prepare, can_push, tools_off: Vec::new() };
    ArchiveState::new(location, ReadCache::new(cache_bytes), preload_bytes, preparing)
}

impl For {
    fn state(self, config: &Config) -> Result<Arc<ArchiveState>, StartError> {
        crate::tools::check().map_err(|problems| StartError::Tools(problems.join("; ")))?;
        let can_push = self != Self::Lambda;
        let preparing =
            Preparing { prepare: lists::prepare, can_push, tools_off: config.tools_disabled.clone() };
        let cache = ReadCache::new(config.cache_bytes).with_search_bytes(config.search_bytes);
        let state = ArchiveState::new(config.archive.clone(), cache, config.preload_bytes, preparing);
        Ok(Arc::new(state))
    }

    /// Puts everything together. Picture links begin with `base`, or with the name a request is sent to; `host` is
    /// answered besides those configured.
    fn app(
        self,
        config: &Config,
        state: Arc<ArchiveState>,
        base: Option<String>,
        host: Option<String>,
    ) -> App {
        let access = Access {
            loopback: self == Self::Local,
            hosts: config.allowed_hosts.iter().cloned().chain(host).collect(),
            origins: config.allowed_origins.clone(),
            function_urls: self == Self::Lambda,
        };
        let follows_host = self == Self::Local && base.is_none();
        let mut app = App::new(state, access, base).with_tokens(config.tokens.clone());
        if self == Self::Local {
            app = app.with_rates(config.rate_per_second, config.rate_per_client);
            app.core.streams = Streams::new(config.connections_per_client);
            app.core.metrics = config.metrics.then(|| Arc::new(metrics()));
        }
        app.core.desk = config.desk();
        App { follows_host, bundle: config.bundle_url.clone(), ..app }
    }
}

/// Returns counters for all that the server has.
fn metrics() -> Metrics {
    let routes = ROUTES.iter().map(|route| route.name);
    let tools = TOOLS.iter().map(|tool| tool.name);
    Metrics::new(routes, tools, HANDLING.iter().map(|handling| handling.code))
}

/// A server that listens but does not answer yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    app: Arc<App>,
    config: Config,
    limits: Limits,
}

impl Server {
    /// Binds the address and opens the archive.
    pub async fn start(config: &Config) -> Result<Self, StartError> {
        Self::start_with(config, None, None).await
    }

    /// Binds the address for a preview: what it shows besides the archive stands on top of its pages, and they load
    /// themselves again when that changes. Where tokens are asked for there are no pages, and nothing of it is shown.
    pub async fn start_preview(
        config: &Config,
        shown: watch::Receiver<Arc<Preview>>,
    ) -> Result<Self, StartError> {
        Self::start_with(config, None, Some(shown)).await
    }

    /// Binds the address for a gateway, which answers in place of an archive.
    pub async fn start_gateway(config: &Config, gateway: Arc<dyn Gateway>) -> Result<Self, StartError> {
        Self::start_with(config, Some(gateway), None).await
    }

    async fn start_with(
        config: &Config,
        gateway: Option<Arc<dyn Gateway>>,
        preview: Option<watch::Receiver<Arc<Preview>>>,
    ) -> Result<Self, StartError> {
        let state = For::Local.state(config)?;
        let listen = |cause| StartError::Listen { host: config.host.clone(), port: config.port, cause };
        let listener = TcpListener::bind((config.host.as_str(), config.port)).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        if !local::is_local(address) && config.allowed_hosts.is_empty() {
            return Err(StartError::Exposed { host: config.host.clone() });
        }
        // An address that others reach by a name cannot begin a link: it would be refused as a host.
        let own = local::is_local(address).then(|| format!("http://{address}"));
        let base = config.public_url.clone().or(own);
        // Links to an address must lead to where it is answered: there are more loopback addresses than the usual one.
        let host = local::is_local(address).then(|| host_of(address.ip()));
        let mut app = For::Local.app(config, state, base, host);
        app.core.gateway = gateway;
        app.core.preview = preview.filter(|_| !app.core.is_guarded);
        look(&app.core, config).await;
        let app = Arc::new(app);
        let limits = Limits { together: MAX_CONNECTIONS, each: config.connections_per_client };
        Ok(Self { listener, address, app, config: config.clone(), limits })
    }

    /// Returns the address of the MCP endpoint, by a name that is answered.
    #[must_use]
    pub fn url(&self) -> String {
        let (address, hosts) = (self.address.ip(), &self.config.allowed_hosts);
        let name = match address {
            // A server that listens on all addresses is also reached on loopback.
            IpAddr::V4(any) if any.is_unspecified() => Ipv4Addr::LOCALHOST.to_string(),
            IpAddr::V6(any) if any.is_unspecified() => host_of(Ipv6Addr::LOCALHOST.into()),
            other if local::is_local(self.address) || hosts.contains(&host_of(other)) => host_of(other),
            other => hosts.first().cloned().unwrap_or_else(|| host_of(other)),
        };
        format!("http://{name}:{}/mcp", self.address.port())
    }

    /// Returns the state, to look at or to refresh by hand.
    #[must_use]
    pub fn state(&self) -> Arc<ArchiveState> {
        Arc::clone(&self.app.core.state)
    }

    /// Serves until `stop` resolves, looking for newer archives meanwhile.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        let every = Duration::from_secs(self.config.refresh_seconds);
        let refreshing = keep_fresh(self.state(), self.app.core.metrics.clone(), every);
        log_start(&self.config, Some(self.address));
        systemd::notify(systemd::READY);
        let app = Arc::clone(&self.app);
        let stop = async move {
            stop.await;
            systemd::notify(systemd::STOPPING);
            app.core.close_streams();
        };
        local::serve(self.listener, self.app, self.limits, stop).await;
        refreshing.abort();
        tracing::info!("stopped");
        log::flush();
    }
}

/// Answers on standard input and output until the input ends or the process is asked to stop.
pub async fn serve_stdio(config: &Config) -> Result<(), anyhow::Error> {
    serve_lines(config, None, tokio::io::stdin(), tokio::io::stdout()).await
}

/// Has a gateway answer lines from `input` on `output`, in place of an archive.
pub async fn serve_gateway_stdio(
    config: &Config,
    gateway: Arc<dyn Gateway>,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> Result<(), anyhow::Error> {
    serve_lines(config, Some(gateway), input, output).await
}

async fn serve_lines(
    config: &Config,
    gateway: Option<Arc<dyn Gateway>>,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> Result<(), anyhow::Error> {
    let state = For::Stdio.state(config)?;
    let mut core = Core::new(Arc::clone(&state), config.public_url.clone());
    core.desk = config.desk();
    core.gateway = gateway;
    let stop = local::stop_requested();
    look(&core, config).await;
    let refreshing = keep_fresh(state, None, Duration::from_secs(config.refresh_seconds));
    log_start(config, None);
    let served = stdio::run(Arc::new(core), input, output, stop).await;
    refreshing.abort();
    tracing::info!("stopped");
    log::flush();
    match served {
        // The client closed its end: that is how a session ends.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// Answers Lambda's events until the platform ends the process.
pub async fn serve_lambda(config: &Config) -> Result<(), anyhow::Error> {
    let state = For::Lambda.state(config)?;
    let app = Arc::new(For::Lambda.app(config, state, config.public_url.clone(), None));
    let every = Duration::from_secs(config.refresh_seconds);
    lambda::run(app, config.invoke_mode, every).await.map_err(anyhow::Error::from_boxed)
}

/// Looks for the archive for the first time. Of one on this machine that is not there it is said where it was looked for.
async fn look(core: &Core, config: &Config) {
    let path = config.archive.as_ref().and_then(Location::local_path);
    if let Some(path) = path.filter(|path| !path.exists()) {
        let every_seconds = config.refresh_seconds;
        tracing::warn!(path = %path.display(), every_seconds, "this path does not exist; it is looked for again");
    }
    let succeeded = core.state.refresh().await;
    if let Some(metrics) = &core.metrics {
        metrics.refreshes.looked(succeeded);
    }
}

/// Writes the first line of the log.
fn log_start(config: &Config, address: Option<SocketAddr>) {
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        address = address.map(tracing::field::display),
        location = config.archive.as_ref().map(ToString::to_string).unwrap_or_default(),
        settings = config.differences(),
        "started"
    );
}

/// Returns an address as it stands in a link.
fn host_of(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

fn keep_fresh(
    state: Arc<ArchiveState>,
    metrics: Option<Arc<Metrics>>,
    every: Duration,
) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        loop {
            state.until_due(every).await;
            let succeeded = state.refresh().await;
            if let Some(metrics) = &metrics {
                metrics.refreshes.looked(succeeded);
            }
        }
    })
}

/// Says how to connect to a server at `url`, which may ask for tokens; and without a server, to `archive`, where that will
/// stay.
pub fn write_connection_help(
    out: &mut impl Write,
    url: &str,
    asks_for_tokens: bool,
    archive: Option<&str>,
) -> io::Result<()> {
    if let Some(archive) = archive {
        let program = std::env::current_exe().ok().and_then(|path| path.to_str().map(json_string));
        let program = program.unwrap_or_else(|| "\"wakashu-function\"".to_owned());
        let archive = json_string(archive);
        writeln!(out, "\nClaude Desktop, in claude_desktop_config.json, without a server (stdio):")?;
        writeln!(
            out,
            "  {{\"mcpServers\":{{\"wakashu\":{{\"command\":{program},\"args\":[\"stdio\",{archive}]}}}}}}"
        )?;
    }
    // mcp-remote takes no blanks inside an argument on Windows; what stands for the token is filled in by hand.
    let (argument, value, header) = if asks_for_tokens {
        (
            r#","--header","Authorization:${AUTH}""#,
            r#","env":{"AUTH":"Bearer TOKEN"}"#,
            " --header \"Authorization: Bearer TOKEN\"",
        )
    } else {
        ("", "", "")
    };
    write!(
        out,
        "
Claude Desktop, in claude_desktop_config.json, through this server:
  {{\"mcpServers\":{{\"wakashu\":{{\"command\":\"npx\",\"args\":[\"-y\",\"mcp-remote\",\"{url}\"{argument}]{value}}}}}}}

Claude Code:
  claude mcp add --transport http wakashu {url}{header}

MCP Inspector:
  npx @modelcontextprotocol/inspector --cli {url}{header} --method tools/list
"
    )
}

fn json_string(text: &str) -> String {
    let mut quoted = String::from("\"");
    wakashu_archive::escape_into(&mut quoted, text);
    quoted.push('"');
    quoted
}
