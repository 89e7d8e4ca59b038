//! `wakashu bridge`: a host that only starts programs, connected to a server.

use std::path::PathBuf;

use clap::Args;
use wakashu_client::ServerConfig;
use wakashu_client::bridge::{Bridge, stdio};
use wakashu_client::config::{Options, Transport};

use crate::servers;

/// Connect standard input and output to a server
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wakashu bridge https://example.org/mcp --header-file headers.txt
  wakashu bridge poems --config mcp.config.yaml

A header file has a line `Name: value` for each header; it keeps tokens out of the list of processes.
stdout carries the server's messages and nothing else; the log goes to stderr.")]
pub(crate) struct BridgeArguments {
    /// The server: an address, or the name of one in the configuration
    #[arg(value_name = "URL|NAME")]
    server: String,
    /// The configuration NAME is in [default: mcp.config.yaml or .mcp.json in this folder]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A file of headers that go with every request to URL
    #[arg(long, value_name = "FILE")]
    header_file: Option<PathBuf>,
}

/// Runs until the host closes its side.
pub(crate) fn run(arguments: BridgeArguments) -> anyhow::Result<()> {
    let (bridge, server, options) = find(arguments)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let bridged = runtime.block_on(async {
        let link = server.link(&options, bridge.inbox())?;
        let (input, output) = stdio();
        Ok(bridge.run(link, input, output).await?)
    });
    // Where standard input is a file or a terminal, a thread waits on it and cannot be woken.
    runtime.shutdown_background();
    bridged
}

fn find(arguments: BridgeArguments) -> anyhow::Result<(Bridge, ServerConfig, Options)> {
    let BridgeArguments { server, config, header_file } = arguments;
    if server.contains("://") {
        anyhow::ensure!(config.is_none(), "--config goes with the name of a server, not with an address");
        let mut server = ServerConfig::http("server", server);
        if let Transport::Http { headers_file, .. } = &mut server.transport {
            *headers_file = header_file;
        }
        return Ok((Bridge::new(), server, Options::default()));
    }
    anyhow::ensure!(
        header_file.is_none(),
        "--header-file goes with an address; in the configuration it is `headersFile`"
    );
    let config = servers::read(config.as_deref())?;
    let names: Vec<String> = config.servers.iter().map(|server| format!("`{}`", server.name)).collect();
    let found = config.servers.into_iter().find(|found| found.name == server);
    let found = found.ok_or_else(|| match names.as_slice() {
        [] => anyhow::anyhow!("there is no server `{server}`: the configuration has none"),
        names => anyhow::anyhow!("there is no server `{server}`, but {}", names.join(", ")),
    })?;
    let bridge = Bridge::new()
        .with_patience(found.timeout.unwrap_or(config.options.timeout))
        .with_retry(found.retry_policy.clone().unwrap_or_else(|| config.options.retry_policy.clone()))
        .with_rules(found.rules.clone());
    Ok((bridge, found, config.options))
}
