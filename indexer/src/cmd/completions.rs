//! `completions`: a script that teaches a shell the arguments.

use clap::Command;

use super::Status;
use crate::cli::CompletionsArguments;
use crate::report::Report;

/// Prints the script for the program that `command` describes.
pub fn run(
    arguments: &CompletionsArguments,
    mut command: Command,
    report: &Report,
) -> anyhow::Result<Status> {
    let mut script = Vec::new();
    let name = command.get_name().to_owned();
    clap_complete::generate(arguments.shell, &mut command, name, &mut script);
    report.data(&String::from_utf8_lossy(&script))?;
    Ok(Status::Fine)
}
