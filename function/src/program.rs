//! The doors that a person opens, with their arguments: what `wakashu-function` and `wakashu` have in common.

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Subcommand;
use tokio::runtime::Builder;

use crate::app;
use crate::config::Config;
use crate::door;
use crate::observe::log;

/// The exit code of a program that could not do what it was asked.
const COULD_NOT_RUN: u8 = 2;

/// A door that is opened by its name.
#[derive(Debug, Subcommand)]
pub enum Door {
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
}

impl Door {
    /// Returns the settings in force: what was given as arguments goes before the environment.
    pub fn config(&self) -> anyhow::Result<Config> {
        let given = |name: &str| match (self, name) {
            (Self::Serve { archive, .. } | Self::Stdio { archive }, "WAKASHU_ARCHIVE") => archive.clone(),
            (Self::Serve { host, .. }, "HOST") => host.clone(),
            (Self::Serve { port, .. }, "PORT") => port.map(|port| port.to_string()),
            _ => None,
        };
        Ok(Config::read(given, std::env::vars_os())?)
    }

    /// Serves until the client leaves or the process is asked to stop.
    pub fn open(&self) -> anyhow::Result<()> {
        let config = self.config()?;
        log::start(config.log, true);
        match self {
            Self::Serve { .. } => Builder::new_multi_thread().enable_all().build()?.block_on(serve(&config)),
            Self::Stdio { .. } => {
                let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
                let served = runtime.block_on(app::serve_stdio(&config));
                // The thread that waits on standard input cannot be woken; do not wait for it.
                runtime.shutdown_background();
                served
            }
        }
    }
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

/// Says on stderr why the program failed, and returns the exit code for how it went.
#[must_use]
pub fn end(outcome: anyhow::Result<()>) -> ExitCode {
    match outcome {
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
            ExitCode::from(COULD_NOT_RUN)
        }
    }
}
