//! `check`: an archive in depth, or a collection without building it.

use std::num::NonZeroUsize;
use std::path::Path;

use serde::Serialize;

use super::Status;
use super::build::default_threads;
use crate::cli::CheckArguments;
use crate::picture::Settings;
use crate::problem::{Problem, Tally, printable_path};
use crate::report::Report;

mod archive;
mod collection;
mod columns;
mod tiling;

/// What was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// An archive.
    Archive,
    /// A collection.
    Collection,
}

/// What a check found.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct CheckOutcome {
    /// What was looked at.
    pub kind: Kind,
    /// Where it is.
    pub path: String,
    /// The archive's digest, if its trailer could be read.
    pub digest: Option<String>,
    /// The figures.
    pub checked: Checked,
    /// What was not looked at, one sentence each.
    pub not_checked: Vec<String>,
    /// How many findings there are.
    pub tally: Tally,
    /// The findings: by path in a collection, in file order in an archive.
    pub problems: Vec<Problem>,
}

/// How much was looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Checked {
    /// Rounds.
    pub rounds: u64,
    /// Entries.
    pub entries: u64,
    /// Pictures; in an archive, stored renditions, shared ones once.
    pub pictures: u64,
    /// Bytes read.
    pub bytes: u64,
}

/// How to check.
#[derive(Debug, Clone)]
pub struct CheckRequest {
    /// Pictures of a collection are decoded in full.
    pub deep: bool,
    /// How pictures of a collection are treated.
    pub settings: Settings,
    /// Number of worker threads.
    pub threads: NonZeroUsize,
}

impl Default for CheckRequest {
    fn default() -> Self {
        Self { deep: false, settings: Settings::default(), threads: default_threads() }
    }
}

/// Checks an archive or a collection.
///
/// Everything found is in the outcome; an error means that there was nothing to look at.
pub fn check(target: &Path, request: &CheckRequest, report: &Report) -> anyhow::Result<CheckOutcome> {
    if target.is_dir() {
        Ok(collection::check(target, request, report)?)
    } else {
        Ok(archive::check(target, request, report)?)
    }
}

/// Runs the verb.
pub fn run(arguments: &CheckArguments, report: Report) -> anyhow::Result<Status> {
    let report = if arguments.no_progress { report.without_progress() } else { report };
    let mut request = CheckRequest { deep: arguments.deep, ..CheckRequest::default() };
    request.settings.max_pixels = arguments.max_pixels.unwrap_or(request.settings.max_pixels);
    request.threads = arguments.threads.unwrap_or(request.threads);

    let outcome = check(&arguments.target, &request, &report)?;
    report.problems(&outcome.problems, arguments.strict);
    report.tally(&outcome.problems, arguments.strict);
    if arguments.json {
        report.json(&outcome)?;
    } else {
        report.data(&sentence(&outcome, arguments.strict))?;
    }
    Ok(if outcome.tally.fails(arguments.strict) { Status::Findings } else { Status::Fine })
}

fn sentence(outcome: &CheckOutcome, strict: bool) -> String {
    let verdict = if outcome.tally.fails(strict) { "not in order" } else { "in order" };
    let Checked { rounds, entries, pictures, bytes } = outcome.checked;
    let bytes = crate::report::bytes(bytes);
    let mut text = format!(
        "{}: {verdict}\nchecked: {rounds} rounds, {entries} entries, {pictures} pictures, {bytes}\n",
        outcome.path
    );
    for item in &outcome.not_checked {
        text.extend(["not checked: ", item, "\n"]);
    }
    text
}

fn outcome(kind: Kind, path: &Path, problems: Vec<Problem>) -> CheckOutcome {
    CheckOutcome {
        kind,
        path: printable_path(path),
        digest: None,
        checked: Checked::default(),
        not_checked: Vec::new(),
        tally: Tally::of(&problems),
        problems,
    }
}
