//! `wakashu gateway`: all configured servers behind one endpoint, through the doors of the server of collections.

mod answer;
mod catalogue;
mod fold;
mod names;
mod rewrite;
mod upstream;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::Args;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use wakashu_client::bridge::stdio;
use wakashu_client::{Config as Servers, Manager};
use wakashu_function::{Config, Generation, app, door, log};

use self::catalogue::Catalogue;
use self::upstream::{State, Upstream};
use crate::servers;

/// How long a request may be under way. Each server's `timeout` ends those that say nothing long before.
const LONGEST: Duration = Duration::from_hours(1);

/// Put all configured servers behind one endpoint
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wakashu gateway                                  on standard input and output, for a host that starts programs
  wakashu gateway --listen 127.0.0.1:3000          over HTTP; the first line on stdout is the address
  wakashu gateway --list                           what hosts will see

Tools are called `server__tool`; collections of one kind share theirs, which take `collection`. What tokens, rates,
hosts and origins are asked for is set as for `serve` (docs/settings.md).

Exit codes: 0 fine; 1 with --list: a server is not there; 2 could not run.")]
pub(crate) struct GatewayArguments {
    /// The configuration [default: mcp.config.yaml or .mcp.json in this folder]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Serve HTTP on this address instead, as in 127.0.0.1:3000; port 0 is any
    #[arg(long, value_name = "HOST:PORT", value_parser = address)]
    listen: Option<(String, u16)>,
    /// Print what the servers have, under the names hosts see, and end
    #[arg(long, conflicts_with = "listen")]
    list: bool,
}

fn address(text: &str) -> Result<(String, u16), String> {
    let parts = text.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
    let (host, port) = parts.ok_or("an address has a host and a port: 127.0.0.1:3000")?;
    Ok((host.trim_matches(['[', ']']).to_owned(), port))
}

/// Serves, or lists, what the servers have.
pub(crate) fn run(arguments: GatewayArguments, is_quiet: bool) -> anyhow::Result<ExitCode> {
    let listen = arguments.listen;
    let given = |name: &str| match (name, &listen) {
        ("HOST", Some((host, _))) => Some(host.clone()),
        ("PORT", Some((_, port))) => Some(port.to_string()),
        _ => None,
    };
    let mut config = Config::read(given, std::env::vars_os())?;
    (config.archive, config.tool_timeout) = (None, LONGEST);
    if is_quiet {
        config.log = config.log.min(Some(tracing::Level::ERROR));
    }
    if !arguments.list {
        log::start(config.log, true);
    }
    let servers = servers::read(arguments.config.as_deref())?;
    anyhow::ensure!(!servers.servers.is_empty(), "the configuration has no servers");
    let mut builder = if listen.is_some() {
        tokio::runtime::Builder::new_multi_thread()
    } else {
        tokio::runtime::Builder::new_current_thread()
    };
    let runtime = builder.enable_all().build()?;
    let outcome = runtime.block_on(async {
        let (front, following) = Front::start(servers);
        let outcome = if arguments.list {
            front.print().await
        } else if listen.is_some() {
            serve(&config, &front).await
        } else {
            let (input, output) = stdio();
            let served = app::serve_gateway_stdio(&config, Arc::clone(&front) as _, input, output).await;
            served.map(|()| ExitCode::SUCCESS)
        };
        following.iter().for_each(AbortHandle::abort);
        front.manager.close().await;
        outcome
    });
    // Where standard input is a file or a terminal, a thread waits on it and cannot be woken.
    runtime.shutdown_background();
    outcome
}

async fn serve(config: &Config, front: &Arc<Front>) -> anyhow::Result<ExitCode> {
    let server = app::Server::start_gateway(config, Arc::clone(front) as _).await?;
    let stop = door::local::stop_requested();
    writeln!(io::stdout(), "{}", server.url())?;
    server.serve(stop).await;
    Ok(ExitCode::SUCCESS)
}

/// The servers, as hosts see them.
#[derive(Debug)]
struct Front {
    manager: Manager,
    upstreams: Vec<Arc<Upstream>>,
    catalogue: Mutex<Arc<Catalogue>>,
    generation: watch::Sender<Generation>,
    /// How many servers are still starting.
    starting: watch::Sender<usize>,
    /// Whether any host has seen a list: before that, none needs to hear that one changed.
    is_seen: AtomicBool,
}

impl Front {
    /// Begins to connect all servers, side by side.
    fn start(servers: Servers) -> (Arc<Self>, Vec<AbortHandle>) {
        let upstreams: Vec<Arc<Upstream>> =
            servers.servers.iter().map(|server| Arc::new(Upstream::new(&server.name))).collect();
        let front = Arc::new(Self {
            manager: Manager::new(servers.options),
            starting: watch::Sender::new(upstreams.len()),
            catalogue: Mutex::new(Arc::new(Catalogue::new(&upstreams, &Catalogue::default()))),
            generation: watch::Sender::default(),
            is_seen: AtomicBool::new(false),
            upstreams: upstreams.clone(),
        });
        let following = upstreams.into_iter().zip(servers.servers).map(|(upstream, config)| {
            let front = Arc::clone(&front);
            let task = async move { upstream.follow(&front.manager, config, || front.renew()).await };
            tokio::spawn(task).abort_handle()
        });
        let following = following.collect();
        (front, following)
    }

    fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.catalogue.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts the lists together anew, and tells of those that differ.
    fn renew(&self) {
        let mut catalogue = self.catalogue.lock().unwrap_or_else(PoisonError::into_inner);
        let is_seen = self.is_seen.load(Ordering::Acquire);
        // What nobody has seen may have any name, so that names do not depend on who was there first.
        let unseen = Catalogue::default();
        let renewed = Catalogue::new(&self.upstreams, if is_seen { &catalogue } else { &unseen });
        let tools = renewed.tools != catalogue.tools;
        let prompts = renewed.prompts != catalogue.prompts;
        let resources = renewed.resources != catalogue.resources || renewed.templates != catalogue.templates;
        *catalogue = Arc::new(renewed);
        drop(catalogue);
        let is_starting = |upstream: &&Arc<Upstream>| matches!(upstream.state(), State::Starting);
        self.starting.send_replace(self.upstreams.iter().filter(is_starting).count());
        if is_seen && (tools || prompts || resources) {
            self.generation.send_modify(|generation| {
                generation.tools += u64::from(tools);
                generation.prompts += u64::from(prompts);
                generation.resources += u64::from(resources);
            });
        }
    }

    /// Prints what hosts will see, and which servers are not there.
    async fn print(&self) -> anyhow::Result<ExitCode> {
        let mut starting = self.starting.subscribe();
        starting.wait_for(|count| *count == 0).await?;
        let catalogue = self.catalogue();
        let mut out = io::stdout().lock();
        for upstream in &self.upstreams {
            match upstream.state() {
                State::Up(lists) => writeln!(
                    out,
                    "{}: {} tools, {} prompts, {} resources",
                    upstream.name,
                    lists.tools.len(),
                    lists.prompts.len(),
                    lists.resources.len() + lists.templates.len()
                )?,
                State::Down(reason, _) => writeln!(out, "{}: NOT THERE: {reason}", upstream.name)?,
                State::Starting => {}
            }
        }
        for (what, field, entries) in [
            ("tools", "name", &catalogue.tools),
            ("prompts", "name", &catalogue.prompts),
            ("resources", "uri", &catalogue.resources),
            ("templates", "uriTemplate", &catalogue.templates),
        ] {
            if !entries.is_empty() {
                writeln!(out, "\n{what}")?;
            }
            for entry in entries {
                let entry: serde_json::Value = serde_json::from_str(entry)?;
                let name = entry.get(field).and_then(serde_json::Value::as_str).unwrap_or_default();
                let shared = entry.pointer("/inputSchema/properties/collection/enum");
                let shared = shared.map(|choices| format!("  collection: {choices}")).unwrap_or_default();
                writeln!(out, "  {name}{shared}")?;
            }
        }
        Ok(if catalogue.missing.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }
}
