//! `wakashu-function`: chooses a door and runs it.

use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tokio::runtime::Builder;
use wakashu_function::{Config, app, door, log, program, reference};

/// Answers MCP requests from a wakashu archive.
#[derive(Debug, Parser)]
#[command(
    version,
    about,
    after_help = "Examples:\n  wakashu-function serve poems.wakashu\n  wakashu-function serve file:///srv/poems --port 8080\n  wakashu-function serve https://poems.example.org/wakashu\n  wakashu-function stdio poems.wakashu\n  wakashu-function config"
)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    #[command(flatten)]
    Door(program::Door),
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
    program::end(if on_lambda { start_on_lambda() } else { start(&Arguments::parse().verb) })
}

fn start(verb: &Verb) -> anyhow::Result<()> {
    // The reference is the same whatever the settings are, also while they are wrong.
    match verb {
        Verb::Door(door) => return door.open(),
        Verb::Config { markdown: false } => {
            let config = Config::read(|_| None, std::env::vars_os())?;
            config.write(&mut io::stdout().lock())?;
        }
        Verb::Config { markdown: true } => reference::write_settings_markdown(&mut io::stdout())?,
        Verb::Tools { markdown: true } => reference::write_tools_markdown(&mut io::stdout())?,
        Verb::Tools { markdown: false } => reference::write_tools(&mut io::stdout())?,
        Verb::Errors { markdown: true } => reference::write_errors_markdown(&mut io::stdout())?,
        Verb::Errors { markdown: false } => reference::write_errors(&mut io::stdout())?,
    }
    Ok(())
}

fn start_on_lambda() -> anyhow::Result<()> {
    let config = Config::read(|_| None, std::env::vars_os())?;
    // The process sleeps between requests, and a thread of the log with it.
    log::start(config.log, false);
    let concurrent = door::lambda::is_concurrent();
    let mut builder = if concurrent { Builder::new_multi_thread() } else { Builder::new_current_thread() };
    builder.enable_all().build()?.block_on(app::serve_lambda(&config))
}
