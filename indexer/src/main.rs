//! `wakashu-indexer`: the curator's verbs, for workflows.

use std::process::ExitCode;

use clap::CommandFactory as _;
use wakashu_indexer::cli::Cli;
use wakashu_indexer::program;
use wakashu_indexer::words::Language;

fn main() -> ExitCode {
    let language = Language::named_in(std::env::args_os()).unwrap_or_else(Language::of_surroundings);
    let cli = Cli::read(language);
    program::run(cli.verb, &cli.talk, language, Cli::command())
}
