//! `wakashu-function`: chooses a door and runs it.

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tokio::runtime::Builder;
use wakashu_function::{Config, app, door, log, reference};

/// Answers MCP requests from a wakashu archive.
#[derive(Debug, Parser)]
#[command(
    version,
    about,
    after_help = "Examples:\n  wakashu-function serve poems.wakashu\n  wakashu-function serve file:///srv/poems --port 8080\n  wakashu-function serve https://poems.example.org/wakashu\n  wakashu-function stdio poems.wakashu\n  wakashu-function config"
)]
struct Arguments {
    #[command(subcommand)]
    door: Door,
}

#[derive(Debug, Subcommand)]
enum Door {
    /// Serve HTTP on this machine.
    #[command(
        after_help = "Example:\n  wakashu-function serve poems.wakashu --port 0\n\nThe first line on stdout is the endpoint's address, alone."
    )]
    Serve {
        /// The archive or store: a path, file://…, s3://… or https://…; else WAKASHU_ARCHIVE.
        archive: Option<String>,
        /// The address to listen on [default: HOST or 127.0.0.1].
        #[arg(long)]
        host: Option<String>,
        /// The port to listen on, 0 for any [default: PORT or 3000].
        #[arg(long)]
        port: Option<u16>,
    },
    /// Answer on standard input and output, as Claude Desktop starts local servers.
    Stdio {
        /// The archive or store: a path, file://…, s3://… or https://…; else WAKASHU_ARCHIVE.
        archive: Option<String>,
    },
    /// Show the settings in force.
    Config {
        /// Show all settings with their defaults instead, as a table for the docs.
        #[arg(long)]
        markdown: bool,
    },
    /// List the tools.
    Tools {
        /// Show their arguments too, as a chapter for the docs.
        #[arg(long)]
        markdown: bool,
    },
    /// List the kinds of errors.
    Errors {
        /// Show how each travels too, as a table for the docs.
        #[arg(long)]
        markdown: bool,
    },
}

fn main() -> ExitCode {
    // Lambda starts the program without arguments; a door that is named is opened there too.
    let on_lambda = door::lambda::is_here() && std::env::args_os().len() <= 1;
    match if on_lambda { start_on_lambda() } else { start(&Arguments::parse()) } {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of our output has read enough.
        Err(error)
            if error
                .downcast_ref()
                .is_some_and(|error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe) =>
        {
            ExitCode::SUCCESS
        }
        Err(error) => {
            // Where nobody reads the log, nobody reads this, and it would wait for that.
            if log::flush() {
                let _ = writeln!(io::stderr(), "error: {error:#}");
            }
            ExitCode::from(2)
        }
    }
}

fn start(arguments: &Arguments) -> anyhow::Result<()> {
    // The reference is the same whatever the settings are, also while they are wrong.
    match arguments.door {
        Door::Config { markdown: true } => return Ok(reference::write_settings_markdown(&mut io::stdout())?),
        Door::Tools { markdown: true } => return Ok(reference::write_tools_markdown(&mut io::stdout())?),
        Door::Tools { markdown: false } => return Ok(reference::write_tools(&mut io::stdout())?),
        Door::Errors { markdown: true } => return Ok(reference::write_errors_markdown(&mut io::stdout())?),
        Door::Errors { markdown: false } => return Ok(reference::write_errors(&mut io::stdout())?),
        Door::Serve { .. } | Door::Stdio { .. } | Door::Config { .. } => {}
    }
    let given = |name: &str| match (&arguments.door, name) {
        (Door::Serve { archive, .. } | Door::Stdio { archive }, "WAKASHU_ARCHIVE") => archive.clone(),
        (Door::Serve { host, .. }, "HOST") => host.clone(),
        (Door::Serve { port, .. }, "PORT") => port.map(|port| port.to_string()),
        _ => None,
    };
    let config = Config::read(given, std::env::vars_os())?;
    match arguments.door {
        Door::Serve { .. } => {
            log::start(config.log, true);
            Builder::new_multi_thread().enable_all().build()?.block_on(serve(&config))
        }
        Door::Stdio { .. } => {
            log::start(config.log, true);
            let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
            let served = runtime.block_on(app::serve_stdio(&config));
            // The thread that waits on standard input cannot be woken; do not wait for it.
            runtime.shutdown_background();
            served
        }
        Door::Config { .. } => Ok(config.write(&mut io::stdout().lock())?),
        Door::Tools { .. } | Door::Errors { .. } => Ok(()),
    }
}

fn start_on_lambda() -> anyhow::Result<()> {
    let config = Config::read(|_| None, std::env::vars_os())?;
    // The process sleeps between requests, and a thread of the log with it.
    log::start(config.log, false);
    let concurrent = door::lambda::is_concurrent();
    let mut builder = if concurrent { Builder::new_multi_thread() } else { Builder::new_current_thread() };
    builder.enable_all().build()?.block_on(app::serve_lambda(&config))
}

async fn serve(config: &Config) -> anyhow::Result<()> {
    let server = app::Server::start(config).await?;
    let archive = config.archive.as_ref().map(ToString::to_string);
    // The program that reads the address may stop the server at once.
    let stop = door::local::stop_requested();
    writeln!(io::stdout(), "{}", server.url())?;
    let asks_for_tokens = !config.tokens.is_empty();
    app::write_connection_help(&mut io::stderr(), &server.url(), asks_for_tokens, archive.as_deref())?;
    server.serve(stop).await;
    Ok(())
}
