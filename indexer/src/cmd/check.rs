//! `check`: an archive in depth, or a collection without building it.

use std::num::NonZeroUsize;
use std::path::Path;

use serde::Serialize;

use super::Status;
use super::build::default_threads;
use crate::begun::{self, Alone};
use crate::cli::{CheckArguments, Format};
use crate::picture::Settings;
use crate::problem::{Problem, Tally, printable_path};
use crate::report::Report;
use crate::words::{Language, Remark, failure, talk};

mod archive;
mod collection;
mod columns;
mod fix;
mod github;
mod tiling;

/// How often `--fix` looks again: what one fix uncovers, the next may mend.
const MAX_PASSES: usize = 4;

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
    pub not_checked: Vec<Remark>,
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

    let _alone = if arguments.fix && !arguments.dry_run {
        let alone = if arguments.target.is_dir() { Some(Alone::with(&arguments.target)?) } else { None };
        begun::settle(&arguments.target, &report)?;
        alone
    } else {
        None
    };
    let mut outcome = check(&arguments.target, &request, &report)?;
    if arguments.fix {
        let refusal = failure::fix_of_an_archive();
        anyhow::ensure!(outcome.kind == Kind::Collection, "{}", refusal.said(report.language()));
        outcome = fix_and_check(arguments, outcome, &request, &report)?;
    }
    let language = report.language();
    let verdict = sentence(&outcome, arguments.strict, language);
    match arguments.format() {
        Format::Text => {
            report.problems(&outcome.problems, arguments.strict);
            report.tally(&outcome.problems, arguments.strict);
            report.data(&verdict)?;
        }
        Format::Json => {
            report.problems(&outcome.problems, arguments.strict);
            report.tally(&outcome.problems, arguments.strict);
            report.json(&outcome)?;
        }
        Format::Github => {
            report.data(&format!("{}{verdict}", github::annotations(&outcome, language)))?;
            if let Some(summary) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) {
                github::write_summary(Path::new(&summary), &outcome, &verdict, language)?;
            }
        }
    }
    Ok(if outcome.tally.fails(arguments.strict) { Status::Findings } else { Status::Fine })
}

/// Puts right what needs no guess, and looks at what is left.
fn fix_and_check(
    arguments: &CheckArguments,
    mut outcome: CheckOutcome,
    request: &CheckRequest,
    report: &Report,
) -> anyhow::Result<CheckOutcome> {
    let mut fixed = 0;
    for _ in 0..MAX_PASSES {
        let made = fix::apply(&arguments.target, &outcome.problems, arguments.dry_run, report);
        fixed += made;
        if made == 0 || arguments.dry_run {
            break;
        }
        outcome = check(&arguments.target, request, report)?;
    }
    report.remark(&if fixed == 0 { talk::nothing_to_fix() } else { talk::fixed(fixed, arguments.dry_run) });
    Ok(outcome)
}

fn sentence(outcome: &CheckOutcome, strict: bool, language: Language) -> String {
    let Checked { rounds, entries, pictures, bytes } = outcome.checked;
    let mut sentences = vec![
        talk::verdict(&outcome.path, outcome.tally.fails(strict)),
        talk::checked(rounds, entries, pictures, &crate::report::bytes(bytes)),
    ];
    sentences.extend(outcome.not_checked.iter().map(talk::not_checked));
    sentences.iter().flat_map(|sentence| [sentence.said(language), "\n"]).collect()
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
