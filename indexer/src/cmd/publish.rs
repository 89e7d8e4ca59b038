//! `publish`: an archive, or a collection built first, becomes what is served.

use std::sync::Mutex;
use std::time::SystemTime;

use serde::Serialize;
use wakashu_storage::{
    ArchiveWrite, ObjectInfo, Progress, PublishOptions, PublishOutcome, Version, publish_file,
};

use crate::cli::PublishArguments;
use crate::cmd::{Status, open_store, runtime};
use crate::problem::{Problem, Tally, printable, printable_path};
use crate::report::{self, Report};
use crate::source::{self, Prepared};
use crate::words::talk::Figure;
use crate::words::{Remark, versions};

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
    let report = arguments.building.report(report);
    let Prepared { file, problems, .. } = prepare(arguments, &report)?;
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
        note: arguments.note.clone(),
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
    describe(&outcome, arguments.dry_run, arguments.note.as_deref(), &report);
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

/// Returns the archive that was named; builds it if a collection was.
fn prepare(arguments: &PublishArguments, report: &Report) -> anyhow::Result<Prepared> {
    if arguments.source.is_dir() {
        return source::build_unnamed(arguments.source.clone(), &arguments.building, report);
    }
    let file = source::open_file(&arguments.source)?;
    let named = printable_path(&arguments.source);
    source::refuse_options_of_building(&named, &arguments.building)?;
    Ok(Prepared { file: Some(file), published_at: None, problems: Vec::new() })
}

fn word(write: ArchiveWrite) -> &'static str {
    match write {
        ArchiveWrite::Uploaded => "uploaded",
        ArchiveWrite::AlreadyThere => "already there",
        ArchiveWrite::Restored => "restored",
    }
}

fn describe(outcome: &PublishOutcome, dry_run: bool, note: Option<&str>, report: &Report) {
    let said = |remark: Remark| remark.said(report.language()).to_owned();
    let archive = versions::archive(outcome.archive, &report::bytes(outcome.current.bytes), dry_run);
    let mut figures =
        vec![(Figure::Archive, said(archive)), (Figure::Serves, outcome.current.digest.to_string())];
    match (&outcome.previous, outcome.switched) {
        (_, false) => figures.push((Figure::Pointer, said(versions::pointer_unchanged()))),
        (None, true) => figures.push((Figure::Pointer, said(versions::pointer_first(dry_run)))),
        (Some(previous), true) => figures.push((Figure::Before, previous.digest.to_string())),
    }
    if outcome.switched {
        figures.push((Figure::Changes, said(versions::changes(outcome.current.changes.as_ref()))));
        if let Some(note) = &outcome.current.note {
            figures.push((Figure::Note, printable(note).into_owned()));
        }
    }
    if !outcome.pruned.is_empty() {
        let bytes = outcome.pruned.iter().map(|object: &ObjectInfo| object.bytes).sum();
        let pruned = versions::pruned(outcome.pruned.len(), &report::bytes(bytes), dry_run);
        figures.push((Figure::Pruned, said(pruned)));
    }
    report.figures(figures);
    if note.is_some() && !outcome.switched {
        report.remark(&versions::note_not_kept());
    }
    if let Some(problem) = &outcome.prune_problem {
        report.remark(&versions::not_pruned(&problem.to_string()));
    }
}
