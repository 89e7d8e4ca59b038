//! `publish`: an archive, or a collection built first, becomes what is served.

use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use anyhow::Context as _;
use serde::Serialize;
use wakashu_storage::{
    ArchiveWrite, LocalFile, ObjectInfo, Progress, PublishOptions, PublishOutcome, Version, publish_file,
};

use crate::cli::PublishArguments;
use crate::cmd::build::{self, BuildRequest, Purpose};
use crate::cmd::{Status, open_store, runtime};
use crate::output::Output;
use crate::problem::{Problem, Tally, printable_path};
use crate::report::{self, Report};

/// What `--json` prints. When problems stopped it, nothing is switched and the other fields are empty.
#[derive(Debug, Default, Serialize)]
struct Published<'a> {
    dry_run: bool,
    switched: bool,
    archive: Option<&'static str>,
    current: Option<&'a Version>,
    previous: Option<&'a Version>,
    pruned: Vec<&'a str>,
    prune_problem: Option<String>,
    tally: Tally,
    problems: Vec<Problem>,
}

/// Runs the verb.
pub fn run(arguments: &PublishArguments, report: Report) -> anyhow::Result<Status> {
    let report = if arguments.no_progress { report.without_progress() } else { report };
    let Prepared { file, problems } = prepare(arguments, &report)?;
    let published = Published {
        dry_run: arguments.dry_run,
        tally: Tally::of(&problems),
        problems,
        ..Published::default()
    };
    let Some(file) = file else {
        if arguments.json {
            report.json(&published)?;
        }
        return Ok(Status::Findings);
    };
    let options = PublishOptions {
        keep: arguments.keep,
        dry_run: arguments.dry_run,
        ..PublishOptions::at(SystemTime::now())
    };
    let bar = Mutex::new((report.progress("bytes", usize::try_from(file.length()).unwrap_or(usize::MAX)), 0));
    let progress = Progress::new(move |written| {
        let Ok(mut bar) = bar.lock() else { return };
        let (bar, shown) = &mut *bar;
        bar.advance_by(written.saturating_sub(*shown));
        *shown = written.max(*shown);
    });
    let outcome = runtime()?.block_on(async {
        let storage = open_store(&arguments.store).await?;
        Ok::<_, anyhow::Error>(publish_file(storage.as_ref(), file, &options, &progress).await?)
    })?;
    drop(progress);
    describe(&outcome, arguments.dry_run, &report);
    if arguments.json {
        report.json(&Published {
            switched: outcome.switched,
            archive: Some(word(outcome.archive)),
            current: Some(&outcome.current),
            previous: outcome.previous.as_ref(),
            pruned: outcome.pruned.iter().map(|object| object.key.as_str()).collect(),
            prune_problem: outcome.prune_problem.as_ref().map(ToString::to_string),
            ..published
        })?;
    } else {
        report.data(&format!("{}\n", outcome.current.digest))?;
    }
    Ok(Status::Fine)
}

/// The archive to publish, and what was found wrong with the collection it was built from.
struct Prepared {
    /// `None` if problems of the collection stopped the build.
    file: Option<LocalFile>,
    problems: Vec<Problem>,
}

/// Returns the archive that was named; builds it if a collection was.
fn prepare(arguments: &PublishArguments, report: &Report) -> anyhow::Result<Prepared> {
    if !arguments.source.is_dir() {
        let file = LocalFile::open(&arguments.source);
        let file = file.with_context(|| format!("could not open `{}`", printable_path(&arguments.source)))?;
        refuse_options_of_building(arguments)?;
        return Ok(Prepared { file: Some(file), problems: Vec::new() });
    }
    // Needed only until it is in the store, and gone by itself however this program ends.
    let output = Output::Unnamed(std::env::temp_dir());
    let mut request = BuildRequest::new(arguments.source.clone(), output).with_pictures(&arguments.pictures);
    request.strict = arguments.strict;
    let outcome = build::build(&request, report)?;
    build::describe(&outcome, &request, Purpose::Store, report);
    let usable = !outcome.tally.fails(arguments.strict);
    let file = match outcome.unnamed.filter(|_| usable).and_then(Arc::into_inner) {
        Some(file) => Some(LocalFile::of(file, &arguments.source)?),
        None => None,
    };
    Ok(Prepared { file, problems: outcome.problems })
}

/// An archive is published as it is; options that would have changed it must not seem to work.
fn refuse_options_of_building(arguments: &PublishArguments) -> anyhow::Result<()> {
    let mut given = arguments.pictures.given();
    if arguments.strict {
        given.push("--strict");
    }
    anyhow::ensure!(
        given.is_empty(),
        "`{}` is an archive, and `{}` only matters when a collection is built; \
         leave it out, or name the collection's directory",
        printable_path(&arguments.source),
        given.join("`, `")
    );
    Ok(())
}

fn word(write: ArchiveWrite) -> &'static str {
    match write {
        ArchiveWrite::Uploaded => "uploaded",
        ArchiveWrite::AlreadyThere => "already there",
        ArchiveWrite::Restored => "restored",
    }
}

fn describe(outcome: &PublishOutcome, dry_run: bool, report: &Report) {
    let done = if dry_run { "would be " } else { "" };
    let mut figures = vec![
        ("archive", format!("{done}{}, {}", word(outcome.archive), report::bytes(outcome.current.bytes))),
        ("serves", outcome.current.digest.to_string()),
    ];
    match (&outcome.previous, outcome.switched) {
        (_, false) => figures.push(("pointer", "unchanged: these inputs are already served".to_owned())),
        (None, true) => figures.push(("pointer", format!("{done}written, the first version here"))),
        (Some(previous), true) => figures.push(("before", previous.digest.to_string())),
    }
    if !outcome.pruned.is_empty() {
        let bytes = outcome.pruned.iter().map(|object: &ObjectInfo| object.bytes).sum();
        let count = outcome.pruned.len();
        figures.push(("pruned", format!("{done}removed: {count} old archives, {}", report::bytes(bytes))));
    }
    report.summary(&figures);
    if let Some(problem) = &outcome.prune_problem {
        report.note(&format!("published, but old archives could not be removed: {problem}"));
    }
}
