//! Running the doors: what `serve` and `stdio` do, and `preview` of the indexer with them.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;

use crate::config::Config;
use crate::door::{lambda, local, stdio};
use crate::exchange::Context;
use crate::exchange::rates::Rates;
use crate::served::limits::MAX_CONNECTIONS;
use crate::served::state::ArchiveState;
use crate::web::Routes;
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

/// A server that listens but does not answer yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    context: Arc<Context>,
    refresh_every: Duration,
}

impl Server {
    /// Binds the address and opens the archive.
    pub async fn start(config: &Config) -> Result<Self, StartError> {
        check_tools()?;
        let listen = |cause| StartError::Listen { host: config.host.clone(), port: config.port, cause };
        let listener = TcpListener::bind((config.host.as_str(), config.port)).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        if !local::is_local(address) && config.allowed_hosts.is_empty() {
            return Err(StartError::Exposed { host: config.host.clone() });
        }
        let access = Access {
            loopback: true,
            hosts: config.allowed_hosts.clone(),
            origins: config.allowed_origins.clone(),
            function_urls: false,
        };
        let base = config.public_url.clone().unwrap_or_else(|| format!("http://{address}"));
        let state = open_state(config).await;
        let rates = Rates::new(config.rate_per_second, config.rate_per_client);
        let context = Arc::new(Context::new(state, access, Some(base)).with_config(config).with_rates(rates));
        let refresh_every = Duration::from_secs(config.refresh_seconds);
        Ok(Self { listener, address, context, refresh_every })
    }

    /// Returns the address of the MCP endpoint.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Returns the state, to look at or to refresh by hand.
    #[must_use]
    pub fn state(&self) -> Arc<ArchiveState> {
        Arc::clone(&self.context.state)
    }

    /// Serves until `stop` resolves, looking for newer archives meanwhile.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        let refreshing = keep_fresh(self.state(), self.refresh_every);
        let context = Arc::clone(&self.context);
        let stop = async move {
            stop.await;
            context.close_streams();
        };
        let names_clients = self.context.rates.as_ref().is_some_and(Rates::tells_clients_apart);
        let routes = Routes::new(self.context);
        local::serve(self.listener, routes, MAX_CONNECTIONS, names_clients, stop).await;
        refreshing.abort();
        crate::observe::log::flush();
    }
}

/// Answers on standard input and output until the input ends.
pub async fn serve_stdio(config: &Config) -> Result<(), anyhow::Error> {
    check_tools()?;
    let state = open_state(config).await;
    let refreshing = keep_fresh(Arc::clone(&state), Duration::from_secs(config.refresh_seconds));
    let context = Context::new(state, Access::default(), config.public_url.clone());
    let context = Arc::new(context.with_config(config));
    let served = stdio::run(context, tokio::io::stdin(), tokio::io::stdout()).await;
    refreshing.abort();
    crate::observe::log::flush();
    match served {
        // The client closed its end: that is how a session ends.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// Answers Lambda's events until the platform ends the process.
pub async fn serve_lambda(config: &Config) -> Result<(), anyhow::Error> {
    let state = ArchiveState::new(config.archive.clone(), config.cache_bytes, config.preload_bytes, false);
    let access = Access {
        loopback: false,
        hosts: config.allowed_hosts.clone(),
        origins: config.allowed_origins.clone(),
        function_urls: true,
    };
    let state = Arc::new(state.with_disabled(config.tools_disabled));
    let context = Arc::new(Context::new(state, access, config.public_url.clone()).with_config(config));
    let every = Duration::from_secs(config.refresh_seconds);
    lambda::run(context, config.invoke_mode, every).await.map_err(anyhow::Error::from_boxed)
}

fn check_tools() -> Result<(), StartError> {
    crate::tools::check().map_err(|problems| StartError::Tools(problems.join("; ")))
}

async fn open_state(config: &Config) -> Arc<ArchiveState> {
    let state = ArchiveState::new(config.archive.clone(), config.cache_bytes, config.preload_bytes, true);
    let state = state.with_disabled(config.tools_disabled);
    state.refresh().await;
    Arc::new(state)
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
