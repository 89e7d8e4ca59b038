//! Settings become a running server: once, for all doors. `preview` of the indexer runs one, too.

#[cfg(test)]
mod matrix;

use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use wakashu_storage::Location;

use crate::config::Config;
use crate::door::{lambda, local, stdio};
use crate::exchange::Core;
use crate::mcp::lists;
use crate::observe::log;
use crate::served::limits::MAX_CONNECTIONS;
use crate::served::snapshot::Preparing;
use crate::served::state::ArchiveState;
use crate::web::App;
use crate::web::access::Access;

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
    ArchiveState::new(location, cache_bytes, preload_bytes, preparing)
}

impl For {
    fn state(self, config: &Config) -> Result<Arc<ArchiveState>, StartError> {
        crate::tools::check().map_err(|problems| StartError::Tools(problems.join("; ")))?;
        let can_push = self != Self::Lambda;
        let preparing =
            Preparing { prepare: lists::prepare, can_push, tools_off: config.tools_disabled.clone() };
        let state =
            ArchiveState::new(config.archive.clone(), config.cache_bytes, config.preload_bytes, preparing);
        Ok(Arc::new(state))
    }

    /// Puts everything together. Picture links begin with `base`, or with the name a request is sent to.
    fn app(self, config: &Config, state: Arc<ArchiveState>, base: Option<String>) -> App {
        let access = Access {
            loopback: self == Self::Local,
            hosts: config.allowed_hosts.clone(),
            origins: config.allowed_origins.clone(),
            function_urls: self == Self::Lambda,
        };
        let follows_host = self == Self::Local && base.is_none();
        let mut app = App::new(state, access, base).with_tokens(config.tokens.clone());
        if self == Self::Local {
            app = app.with_rates(config.rate_per_second, config.rate_per_client);
        }
        app.core.desk = config.desk();
        App { follows_host, ..app }
    }
}

/// A server that listens but does not answer yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    app: Arc<App>,
    refresh_every: Duration,
    /// Where the archive is, for the log.
    location: String,
    /// The settings that differ from their defaults, for the log.
    settings: String,
}

impl Server {
    /// Binds the address and opens the archive.
    pub async fn start(config: &Config) -> Result<Self, StartError> {
        let state = For::Local.state(config)?;
        let listen = |cause| StartError::Listen { host: config.host.clone(), port: config.port, cause };
        let listener = TcpListener::bind((config.host.as_str(), config.port)).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        if !local::is_local(address) && config.allowed_hosts.is_empty() {
            return Err(StartError::Exposed { host: config.host.clone() });
        }
        // An address that others reach by a name is no beginning of a link: it would be refused as a host.
        let own = local::is_local(address).then(|| format!("http://{address}"));
        let base = config.public_url.clone().or(own);
        state.refresh().await;
        let app = Arc::new(For::Local.app(config, state, base));
        let refresh_every = Duration::from_secs(config.refresh_seconds);
        let location = config.archive.as_ref().map(ToString::to_string).unwrap_or_default();
        Ok(Self { listener, address, app, refresh_every, location, settings: config.differences() })
    }

    /// Returns the address of the MCP endpoint.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Returns the state, to look at or to refresh by hand.
    #[must_use]
    pub fn state(&self) -> Arc<ArchiveState> {
        Arc::clone(&self.app.core.state)
    }

    /// Serves until `stop` resolves, looking for newer archives meanwhile.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        let refreshing = keep_fresh(self.state(), self.refresh_every);
        tracing::info!(
            version = env!("CARGO_PKG_VERSION"),
            address = %self.address,
            location = &*self.location,
            settings = &*self.settings,
            "started"
        );
        let app = Arc::clone(&self.app);
        let stop = async move {
            stop.await;
            app.core.close_streams();
        };
        local::serve(self.listener, self.app, MAX_CONNECTIONS, stop).await;
        refreshing.abort();
        tracing::info!("stopped");
        log::flush();
    }
}

/// Answers on standard input and output until the input ends.
pub async fn serve_stdio(config: &Config) -> Result<(), anyhow::Error> {
    let state = For::Stdio.state(config)?;
    state.refresh().await;
    let refreshing = keep_fresh(Arc::clone(&state), Duration::from_secs(config.refresh_seconds));
    let mut core = Core::new(state, config.public_url.clone());
    core.desk = config.desk();
    let served = stdio::run(Arc::new(core), tokio::io::stdin(), tokio::io::stdout()).await;
    refreshing.abort();
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
    let app = Arc::new(For::Lambda.app(config, state, config.public_url.clone()));
    let every = Duration::from_secs(config.refresh_seconds);
    lambda::run(app, config.invoke_mode, every).await.map_err(anyhow::Error::from_boxed)
}

fn keep_fresh(state: Arc<ArchiveState>, every: Duration) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(every).await;
            state.refresh().await;
        }
    })
}

/// Says how to connect to a server at `url`; and without a server, to `archive`, where that will stay.
pub fn write_connection_help(out: &mut impl Write, url: &str, archive: Option<&str>) -> io::Result<()> {
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
    write!(
        out,
        "
Claude Desktop, in claude_desktop_config.json, through this server:
  {{\"mcpServers\":{{\"wakashu\":{{\"command\":\"npx\",\"args\":[\"-y\",\"mcp-remote\",\"{url}\"]}}}}}}

Claude Code:
  claude mcp add --transport http wakashu {url}

MCP Inspector:
  npx @modelcontextprotocol/inspector --cli {url} --method tools/list
"
    )
}

fn json_string(text: &str) -> String {
    let mut quoted = String::from("\"");
    wakashu_archive::escape_into(&mut quoted, text);
    quoted.push('"');
    quoted
}
