//! `completions`: a script that teaches a shell the arguments.

use clap::CommandFactory as _;

use super::Status;
use crate::cli::{Cli, CompletionsArguments};
use crate::report::Report;

/// Prints the script.
pub fn run(arguments: &CompletionsArguments, report: &Report) -> anyhow::Result<Status> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "wakashu-indexer", &mut script);
    report.data(&String::from_utf8_lossy(&script))?;
    Ok(Status::Fine)
}
