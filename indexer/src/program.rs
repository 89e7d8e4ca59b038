//! What `wakashu-indexer` and `wakashu` have in common: from arguments to the exit code.

use std::process::ExitCode;

use clap::Command;
use tracing::Level;

use crate::cli::{Talk, Verb};
use crate::cmd::{self, Status};
use crate::report::Report;
use crate::words::Language;

/// The exit code of a verb that could not run.
const COULD_NOT_RUN: u8 = 2;

/// Runs a verb of the program whose arguments `command` describes, reports how it went, and returns the exit code.
#[must_use]
pub fn run(verb: Verb, talk: &Talk, language: Language, command: Command) -> ExitCode {
    let report = Report::new(talk.quiet, talk.color).in_language(language);
    start_log(talk, Level::WARN);
    match run_verb(verb, report.clone(), command) {
        Ok(status) => ExitCode::from(status.exit_code()),
        Err(error) => {
            let hint = cmd::hint_of(&error);
            let reasons = cmd::reasons(&error);
            report.failure(reasons.said(language), hint.as_ref().map(|hint| hint.said(language)));
            ExitCode::from(COULD_NOT_RUN)
        }
    }
}

fn run_verb(verb: Verb, report: Report, command: Command) -> anyhow::Result<Status> {
    match verb {
        Verb::New(arguments) => cmd::new::run(&arguments, &report),
        Verb::Add(arguments) => cmd::add::run(&arguments, &report),
        Verb::Build(arguments) => cmd::build::run(arguments, report),
        Verb::Check(arguments) => cmd::check::run(&arguments, report),
        Verb::Show(arguments) => cmd::show::run(&arguments, &report),
        Verb::Preview(arguments) => cmd::preview::run(&arguments, report),
        Verb::Publish(arguments) => cmd::publish::run(&arguments, report),
        Verb::Rollback(arguments) => cmd::rollback::run(&arguments, &report),
        Verb::History(arguments) => cmd::history::run(&arguments, &report),
        Verb::Export(arguments) => cmd::export::run(&arguments, report),
        Verb::Book(arguments) => cmd::book::run(&arguments, report),
        Verb::Bundle(arguments) => cmd::bundle::run(&arguments, report),
        Verb::Completions(arguments) => cmd::completions::run(&arguments, command, &report),
    }
}

/// Sends what libraries log to stderr: what is as grave as `usual`, more with `-v`, errors alone with `-q`.
pub fn start_log(talk: &Talk, usual: Level) {
    let steps = [Level::WARN, Level::INFO, Level::DEBUG];
    let from = steps.iter().position(|level| *level == usual).unwrap_or_default();
    let more = steps.into_iter().skip(from).take(usize::from(talk.verbose) + 1).next_back();
    let level = if talk.quiet { Level::ERROR } else { more.unwrap_or(usual) };
    let log = tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(level);
    log.without_time().with_target(false).with_ansi(false).init();
}
