//! `wakashu-indexer`: parse the arguments, run the verb, report how it went.

use std::process::ExitCode;

use wakashu_indexer::cli::{Cli, Verb};
use wakashu_indexer::cmd::{self, Status};
use wakashu_indexer::report::Report;
use wakashu_indexer::words::Language;

/// The exit code of a verb that could not run.
const COULD_NOT_RUN: u8 = 2;

fn main() -> ExitCode {
    let language = Language::named_in(std::env::args_os()).unwrap_or_else(Language::of_surroundings);
    let cli = Cli::read(language);
    let report = Report::new(cli.talk.quiet, cli.talk.color).in_language(language);
    start_log(cli.talk.quiet, cli.talk.verbose);
    match run(cli.verb, report.clone()) {
        Ok(status) => ExitCode::from(status.exit_code()),
        Err(error) => {
            let hint = cmd::hint_of(&error);
            report.failure(&format!("{error:#}"), hint.as_ref().map(|hint| hint.said(language)));
            ExitCode::from(COULD_NOT_RUN)
        }
    }
}

fn run(verb: Verb, report: Report) -> anyhow::Result<Status> {
    match verb {
        Verb::Build(arguments) => cmd::build::run(arguments, report),
        Verb::Check(arguments) => cmd::check::run(&arguments, report),
        Verb::Show(arguments) => cmd::show::run(&arguments, &report),
        Verb::Preview(arguments) => cmd::preview::run(&arguments, report),
        Verb::Publish(arguments) => cmd::publish::run(&arguments, report),
        Verb::Rollback(arguments) => cmd::rollback::run(&arguments, &report),
        Verb::History(arguments) => cmd::history::run(&arguments, &report),
        Verb::Completions(arguments) => cmd::completions::run(&arguments, &report),
    }
}

/// Sends what libraries log to stderr: warnings, and more with `-v`.
fn start_log(quiet: bool, verbose: u8) {
    let level = match (quiet, verbose) {
        (true, _) => tracing::Level::ERROR,
        (false, 0) => tracing::Level::WARN,
        (false, 1) => tracing::Level::INFO,
        (false, _) => tracing::Level::DEBUG,
    };
    let log = tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(level);
    log.without_time().with_target(false).with_ansi(false).init();
}
