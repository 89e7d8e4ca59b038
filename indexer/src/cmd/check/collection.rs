//! A collection, parsed as `build` would, without making anything.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;

use super::{CheckOutcome, CheckRequest, Checked, Kind, outcome};
use crate::entry::{Depth, EntryReader, MAX_FILE_BYTES_AT_A_TIME};
use crate::picture;
use crate::pipeline::{Budget, run_weighed};
use crate::problem;
use crate::report::Report;
use crate::walk::{self, WalkError};
use crate::words::talk;

/// Entries that may be checked ahead; only the report is kept in order.
const WINDOW: NonZeroUsize = NonZeroUsize::new(64).unwrap();

pub(super) fn check(
    target: &Path,
    request: &CheckRequest,
    report: &Report,
) -> Result<CheckOutcome, WalkError> {
    let mut collection = walk::walk(target)?;
    let mut problems = std::mem::take(&mut collection.problems);
    let mut checked = Checked { rounds: collection.rounds.len() as u64, ..Checked::default() };
    let descriptions = collection
        .inputs
        .iter()
        .chain(collection.rounds.iter().filter_map(|round| round.period_file.as_ref()));
    checked.bytes = descriptions.map(|input| input.bytes).sum();

    let reader = EntryReader {
        root: &collection.handle,
        settings: &request.settings,
        depth: if request.deep { Depth::Decode } else { Depth::Header },
        budget: Budget::new(picture::memory_limit_bytes(&request.settings)),
    };
    let mut progress = report.progress("entries", collection.entry_count());
    let jobs = collection.rounds.iter().flat_map(|round| round.entries.iter().map(move |plan| (round, plan)));
    let jobs = jobs.map(|job @ (round, plan)| (job, reader.file_bytes(round, plan)));
    run_weighed(
        request.threads,
        WINDOW,
        MAX_FILE_BYTES_AT_A_TIME,
        jobs,
        |(round, plan)| (plan.pictures.len() as u64, reader.load(round, plan)),
        |(pictures, loaded)| {
            progress.advance();
            checked.entries += 1;
            checked.pictures += pictures;
            checked.bytes += loaded.inputs.iter().map(|input| input.bytes).sum::<u64>();
            problems.extend(loaded.problems);
            ControlFlow::Continue(())
        },
    );
    drop(progress);
    problem::sort(&mut problems);
    let mut outcome = outcome(Kind::Collection, target, problems);
    outcome.checked = checked;
    if !request.deep {
        outcome.not_checked.push(talk::pictures_not_decoded());
    }
    outcome.not_checked.push(talk::links_not_asked());
    Ok(outcome)
}
