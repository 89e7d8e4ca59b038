//! `book`: a collection, an archive or a store becomes an EPUB.

use std::io::{BufWriter, Write as _};
use std::ops::ControlFlow;
use std::time::SystemTime;

use anyhow::Context as _;
use serde::Serialize;
use wakashu_archive::{ArchivedEntry, ArchivedPicture, ArchivedRendition, ArchivedRound, Date, PageView};
use wakashu_pages::{Book, BookPicture, Collection};
use wakashu_storage::{TemporaryFile, Timestamp, folder_of};

use crate::cli::BookArguments;
use crate::cmd::build::default_threads;
use crate::cmd::export::source_date;
use crate::cmd::{Status, runtime};
use crate::picture::for_book::{Printable, for_book};
use crate::pipeline::run_ordered;
use crate::problem::{Problem, Tally, printable_path};
use crate::report::{self, Report};
use crate::source::{self, Source};
use crate::words::{Remark, site as words, talk};

/// What `--json` prints. When problems stopped it, nothing is written.
#[derive(Debug, Default, Serialize)]
struct Bound {
    path: Option<String>,
    digest: Option<String>,
    bytes: u64,
    rounds: usize,
    poems: usize,
    pictures: usize,
    tally: Tally,
    problems: Vec<Problem>,
}

/// Runs the verb.
pub fn run(arguments: &BookArguments, report: Report) -> anyhow::Result<Status> {
    let report = arguments.building.report(report);
    let prepared = runtime()?.block_on(source::prepare(&arguments.source, &arguments.building, &report))?;
    let mut bound =
        Bound { tally: Tally::of(&prepared.problems), problems: prepared.problems, ..Bound::default() };
    if let Some(file) = prepared.file {
        let source = Source::open(file, prepared.published_at)?;
        bound.digest = Some(source.digest().to_string());
        bind(&source, arguments, &report, &mut bound)?;
        bound.path = Some(printable_path(&arguments.output));
        let said = |remark: Remark| remark.said(report.language()).to_owned();
        let what = words::poems_in_book(bound.rounds, bound.poems, bound.pictures);
        report.summary(&[
            (&said(words::book()), said(what)),
            (&said(talk::written()), report::bytes(bound.bytes)),
        ]);
    }
    let status = if bound.path.is_some() { Status::Fine } else { Status::Findings };
    if arguments.json {
        report.json(&bound)?;
    } else if let Some(path) = &bound.path {
        report.data(&format!("{path}\n"))?;
    }
    Ok(status)
}

/// Writes the book under its name, whole or not at all.
fn bind(
    source: &Source,
    arguments: &BookArguments,
    report: &Report,
    bound: &mut Bound,
) -> anyhow::Result<()> {
    let rounds = chosen(source, &arguments.round)?;
    let doing = || format!("could not write `{}`", printable_path(&arguments.output));
    let file = TemporaryFile::create_in(folder_of(&arguments.output)).with_context(doing)?;
    let collection = Collection::new(source.archive.clone());
    let cover = cover(source, &rounds)?;
    let out = BufWriter::with_capacity(1 << 20, file);
    let mut book =
        Book::begin(out, &collection, &modified(source, &rounds)?, cover.as_ref().map(Print::picture))?;
    let poems = rounds.iter().map(|round| round.entries.to_native() as usize).sum();
    let mut progress = report.progress("poems", poems);
    for round in &rounds {
        book.round(round)?;
        for chunk in round.chunks.iter() {
            let view = source.page(chunk)?;
            let mut failure = None;
            run_ordered(
                default_threads(),
                default_threads(),
                view.entries.iter(),
                |entry| (entry, print(source, entry.picture.as_ref().map(|picture| &picture.medium))),
                |(entry, printed)| {
                    progress.advance();
                    let added = printed.and_then(|print| {
                        bound.pictures += usize::from(print.is_some());
                        Ok(book.poem(entry, print.as_ref().map(Print::picture))?)
                    });
                    match added {
                        Ok(()) => ControlFlow::Continue(()),
                        Err(error) => {
                            failure = Some(error.context(place(round, entry)));
                            ControlFlow::Break(())
                        }
                    }
                },
            );
            if let Some(error) = failure {
                return Err(error);
            }
        }
    }
    drop(progress);
    let mut out = book.finish()?;
    out.flush().with_context(doing)?;
    let file = out.into_inner().map_err(std::io::IntoInnerError::into_error).with_context(doing)?;
    bound.bytes = file.handle().and_then(|handle| handle.metadata()).with_context(doing)?.len();
    (bound.rounds, bound.poems) = (rounds.len(), poems);
    file.keep(&arguments.output).with_context(doing)
}

fn place(round: &ArchivedRound, entry: &ArchivedEntry) -> String {
    format!("round `{}`, rank {}", crate::problem::printable(&round.title), entry.rank.to_native())
}

/// Returns the rounds that go into the book, in reading order: all, or those that were named.
fn chosen<'a>(source: &'a Source, named: &[String]) -> anyhow::Result<Vec<&'a ArchivedRound>> {
    let rounds = &source.archive.root().rounds;
    if named.is_empty() {
        return Ok(rounds.iter().collect());
    }
    let mut chosen = Vec::new();
    for title in named {
        let round = source.archive.find_round(title).with_context(|| {
            let titles: Vec<&str> = rounds.iter().take(10).map(|round| round.title.as_str()).collect();
            format!(
                "there is no round `{}`; there are: {}",
                title.escape_debug(),
                crate::problem::printable(&titles.join(", "))
            )
        })?;
        chosen.push(round);
    }
    Ok(rounds.iter().filter(|round| chosen.iter().any(|one| std::ptr::eq(*one, *round))).collect())
}

/// When the book is of: what the environment says; else the end of its latest round; else when it was published, or now.
fn modified(source: &Source, rounds: &[&ArchivedRound]) -> anyhow::Result<String> {
    if let Some(moment) = source_date()? {
        return Ok(moment.to_string());
    }
    let ends = rounds.iter().filter_map(|round| round.period.as_ref()).map(|period| Date::from(&period.end));
    Ok(match (ends.max(), source.published_at) {
        (Some(end), _) => format!("{end}T00:00:00Z"),
        (None, Some(moment)) => moment.to_string(),
        (None, None) => Timestamp::from(SystemTime::now()).to_string(),
    })
}

/// A picture of the book, with the size at which it was encoded.
struct Print {
    printable: Printable,
    width_px: u32,
    height_px: u32,
}

impl Print {
    fn picture(&self) -> BookPicture<'_> {
        BookPicture {
            bytes: &self.printable.bytes,
            media_type: self.printable.media_type,
            width_px: self.width_px,
            height_px: self.height_px,
        }
    }
}

fn print(source: &Source, rendition: Option<&ArchivedRendition>) -> anyhow::Result<Option<Print>> {
    let Some(rendition) = rendition else { return Ok(None) };
    let file = source.rendition(rendition)?;
    let printable = for_book(file, rendition.media_type())?;
    let (width_px, height_px) = (rendition.width_px.to_native(), rendition.height_px.to_native());
    Ok(Some(Print { printable, width_px, height_px }))
}

/// Returns the first picture of the book, for its cover.
fn cover(source: &Source, rounds: &[&ArchivedRound]) -> anyhow::Result<Option<Print>> {
    for chunk in rounds.iter().flat_map(|round| round.chunks.iter()) {
        let view: PageView = source.page(chunk)?;
        let first = view.entries.iter().find_map(|entry| entry.picture.as_ref());
        if let Some(picture) = first {
            let picture: &ArchivedPicture = picture;
            return print(source, Some(&picture.large));
        }
    }
    Ok(None)
}
