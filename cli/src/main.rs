//! `wakashu`: one program for people. It only puts together the verbs of the libraries.

mod ask;
mod bridge;
mod gateway;
mod servers;
mod smoke;

use std::process::ExitCode;

use clap::{Command, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use wakashu_function::program::{self, Door};
use wakashu_indexer::cli::{Talk, Verb as Curators};
use wakashu_indexer::words::Language;

/// Poem collections: check, build, publish and serve them.
#[derive(Debug, Parser)]
#[command(name = "wakashu", version, max_term_width = 100, propagate_version = true)]
#[command(after_help = "\
Exit codes: 0 fine, 1 findings or a partial result, 2 could not run.
Data goes to stdout, talk to stderr.

Examples:
  wakashu preview wakashu_dir --watch
  wakashu check wakashu_dir
  wakashu publish wakashu_dir s3://poems-bucket/wakashu
  wakashu serve s3://poems-bucket/wakashu
  wakashu bridge https://example.org/mcp")]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    talk: Talk,
}

#[derive(Debug, Subcommand)]
enum Verb {
    #[command(flatten)]
    Curators(Curators),
    #[command(flatten)]
    Servers(Door),
    Bridge(bridge::BridgeArguments),
    Smoke(smoke::Smoke),
    Ask(ask::Ask),
    Gateway(gateway::GatewayArguments),
}

fn main() -> ExitCode {
    if let Some(code) = servers::run_as_helper() {
        return code;
    }
    let language = Language::named_in(std::env::args_os()).unwrap_or_else(Language::of_surroundings);
    let command = || for_people(wakashu_indexer::cli::in_language(Cli::command(), language));
    let matches = command().get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    match cli.verb {
        Verb::Curators(verb) => wakashu_indexer::program::run(verb, &cli.talk, language, command()),
        Verb::Servers(door) => program::end(door.open()),
        Verb::Bridge(arguments) => {
            wakashu_indexer::program::start_log(&cli.talk, tracing::Level::INFO);
            program::end(bridge::run(arguments))
        }
        // It has the log of a server.
        Verb::Gateway(arguments) => code(gateway::run(arguments, cli.talk.quiet)),
        Verb::Smoke(arguments) => code(smoke::run(&arguments)),
        Verb::Ask(arguments) => {
            wakashu_indexer::program::start_log(&cli.talk, tracing::Level::WARN);
            code(ask::run(&arguments))
        }
    }
}

/// Returns the exit code of a program that says how it went, or could not run.
fn code(outcome: anyhow::Result<ExitCode>) -> ExitCode {
    match outcome {
        Ok(code) => code,
        Err(error) => program::end(Err(error)),
    }
}

/// Shows the examples that the libraries give for their own programs for this one.
fn for_people(command: Command) -> Command {
    command.mut_subcommands(|verb| match verb.get_after_help().map(ToString::to_string) {
        None => verb,
        Some(help) => {
            verb.after_help(help.replace("wakashu-indexer", "wakashu").replace("wakashu-function", "wakashu"))
        }
    })
}
