//! `build`: from a collection to an archive.

use std::fs::File;
use std::io::{self, BufWriter};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use wakashu_archive::{ContentHash, PreparedEntry, RoundDraft, Sizes, WriteError, Writer};

use super::Status;
use crate::cli::{BuildArguments, PictureArguments};
use crate::entry::{Depth, EntryReader, Loaded, MAX_FILE_BYTES_AT_A_TIME};
use crate::output::{Output, OutputError};
use crate::picture::{self, Cache, Origin, Settings};
use crate::pipeline::{Budget, run_weighed};
use crate::problem::{self, Problem, Tally, printable_path};
use crate::report::{self, Report};
use crate::walk::{self, Collection, WalkError};
use crate::words::Remark;
use crate::words::talk::{self, Figure, Unwritten};

mod built_from;
mod cache_place;

use built_from::BuiltFrom;

/// Entries that may be read ahead of the one being written, for each thread.
const WINDOW_PER_THREAD: usize = 8;
/// The most of them, however many threads there are: each may hold a megabyte of renditions. Originals are counted in
/// bytes, with the files they are made of.
const MAX_WINDOW: usize = 64;

/// Bytes collected before they go to the file.
const WRITE_BUFFER_BYTES: usize = 1 << 20;

/// What to build, from what, and how. The same request can be built again and again.
#[derive(Debug, Clone)]
pub struct BuildRequest {
    /// The collection.
    pub wakashu_dir: PathBuf,
    /// Where the archive goes.
    pub output: Output,
    /// Bad entries are left out and the rest is written.
    pub keep_going: bool,
    /// Warnings count as errors.
    pub strict: bool,
    /// Rounds that are drafts go in; never for what others get to see.
    pub drafts: bool,
    /// How pictures are treated.
    pub settings: Settings,
    /// Where renditions are kept from one build to the next; `None` keeps no cache.
    pub cache_dir: Option<PathBuf>,
    /// Number of worker threads.
    pub threads: NonZeroUsize,
}

impl BuildRequest {
    /// Makes a request with defaults for everything else: not strict, the platform's cache directory.
    #[must_use]
    pub fn new(wakashu_dir: PathBuf, output: Output) -> Self {
        Self {
            wakashu_dir,
            output,
            keep_going: false,
            strict: false,
            drafts: false,
            settings: Settings::default(),
            cache_dir: cache_place::default_cache_dir(),
            threads: default_threads(),
        }
    }

    /// Treats pictures as a person asked for.
    #[must_use]
    pub fn with_pictures(mut self, arguments: &PictureArguments) -> Self {
        self.settings.originals = arguments.originals;
        self.settings.keep_metadata = arguments.keep_metadata;
        self.settings.max_pixels = arguments.max_pixels.unwrap_or(self.settings.max_pixels);
        if arguments.no_cache {
            self.cache_dir = None;
        } else if let Some(directory) = &arguments.cache_dir {
            self.cache_dir = Some(directory.clone());
        }
        self
    }
}

/// Returns one thread per processor.
pub(crate) fn default_threads() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// What a build came to.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct BuildOutcome {
    /// The archive; `None` if problems kept it from being written.
    pub archive: Option<BuiltArchive>,
    /// The archive itself, where it has no name.
    #[serde(skip)]
    pub unnamed: Option<Arc<File>>,
    /// The figures.
    pub summary: Summary,
    /// How many problems there are.
    pub tally: Tally,
    /// Directories of the entries that are not in the archive, relative to the collection.
    pub left_out: Vec<String>,
    /// Titles of the rounds that are drafts; they are in the archive only if the request said so.
    pub drafts: Vec<String>,
    /// What is wrong with the collection, by path.
    pub problems: Vec<Problem>,
}

/// An archive that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BuiltArchive {
    /// Where it is.
    #[serde(serialize_with = "as_printable")]
    pub path: PathBuf,
    /// Its digest.
    #[serde(serialize_with = "as_text")]
    pub digest: ContentHash,
    /// Its length.
    pub bytes: u64,
    /// Digest of what it was built from.
    #[serde(serialize_with = "as_text")]
    pub built_from: ContentHash,
}

/// The figures of a build.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// Rounds in the archive.
    pub rounds: usize,
    /// Entries in the archive.
    pub entries: usize,
    /// Pictures in the archive, by size.
    pub pictures: Sizes<RenditionFigures>,
    /// Bytes of all files read.
    pub bytes_in: u64,
    /// Bytes of the archive.
    pub bytes_out: u64,
    /// Pictures whose renditions were in the cache.
    pub cache_hits: usize,
    /// Pictures whose renditions had to be made.
    pub cache_misses: usize,
    /// Seconds from start to finish.
    pub seconds: f64,
}

/// One rendition of all pictures together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RenditionFigures {
    /// How many there are.
    pub count: u64,
    /// Bytes of the picture files, before base64; equal files of one picture count each time.
    pub bytes: u64,
}

/// Why a build could not run at all. Problems of the collection are reported, not returned as this.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The collection could not be opened.
    #[error(transparent)]
    Walk(#[from] WalkError),
    /// The output is not understood.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The output could not be written.
    #[error("could not write to `{path}`")]
    Io {
        /// Where.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The archive could not be written.
    #[error("could not write the archive")]
    Write(#[source] WriteError),
}

/// Builds an archive.
///
/// All problems are in the outcome, those of pictures included; nothing is printed but progress. The archive appears
/// under its name whole or not at all. Same collection, same settings: same bytes, whatever the threads and the cache.
pub fn build(request: &BuildRequest, report: &Report) -> Result<BuildOutcome, BuildError> {
    let started = Instant::now();
    let output_error = |source| BuildError::Io { path: printable_path(request.output.path()), source };
    let mut collection = walk::walk(&request.wakashu_dir)?;
    let drafts = if request.drafts {
        let drafts = collection.rounds.iter().filter(|round| round.is_draft);
        drafts.map(|round| round.title.clone()).collect()
    } else {
        collection.take_drafts()
    };
    let (rounds, entries) = (collection.rounds.len(), collection.entry_count());
    tracing::info!(rounds, entries, threads = request.threads, "collection walked");
    // Made before the long work, so that an output that cannot be written is known at once.
    let temporary = request.output.create().map_err(output_error)?;
    tracing::info!(directory = ?request.cache_dir, "cache of renditions");
    let cache = request.cache_dir.as_deref().map_or_else(Cache::disabled, Cache::open);
    let reader = EntryReader {
        root: &collection.handle,
        settings: &request.settings,
        depth: Depth::Render(&cache),
        budget: Budget::new(picture::memory_limit_bytes(&request.settings)),
    };

    let handle = temporary.handle().map_err(output_error)?;
    let mut assembly = Assembly::new(request, &collection, handle).map_err(BuildError::Write)?;
    let mut progress = report.progress("entries", collection.entry_count());
    let rounds = collection.rounds.iter().enumerate();
    let jobs =
        rounds.flat_map(|(position, round)| round.entries.iter().map(move |plan| (position, round, plan)));
    let jobs = jobs.map(|job @ (_, round, plan)| (job, reader.file_bytes(round, plan)));
    let window = NonZeroUsize::new(request.threads.get().saturating_mul(WINDOW_PER_THREAD).min(MAX_WINDOW));
    let window = window.unwrap_or(NonZeroUsize::MIN);
    let mut failure = None;
    run_weighed(
        request.threads,
        window,
        MAX_FILE_BYTES_AT_A_TIME,
        jobs,
        |(position, round, plan)| (position, plan.path(round), Prepared::from(reader.load(round, plan))),
        |(position, path, prepared)| {
            progress.advance();
            match assembly.add(position, &path, prepared) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failure = Some(error);
                    ControlFlow::Break(())
                }
            }
        },
    );
    drop(progress);
    if let Some(error) = failure {
        return Err(BuildError::Write(error));
    }

    let Assembled { mut summary, left_out, mut problems, written } =
        assembly.finish().map_err(BuildError::Write)?;
    let (archive, unnamed) = match written {
        Some((digest, bytes, built_from)) => {
            let (path, unnamed) = request.output.keep(temporary, digest).map_err(output_error)?;
            summary.bytes_out = bytes;
            (Some(BuiltArchive { path, digest, bytes, built_from }), unnamed.map(Arc::new))
        }
        None => (None, None),
    };
    problem::sort(&mut problems);
    summary.seconds = started.elapsed().as_secs_f64();
    Ok(BuildOutcome { archive, unnamed, summary, tally: Tally::of(&problems), left_out, drafts, problems })
}

/// An entry as the worker threads leave it to the one that writes.
struct Prepared {
    /// The entry, if it goes into the archive.
    entry: Option<PreparedEntry>,
    /// The bytes of its picture, by size.
    picture_bytes: Option<Sizes<u64>>,
    /// Everything else, without the draft.
    loaded: Loaded,
}

impl From<Loaded> for Prepared {
    fn from(mut loaded: Loaded) -> Self {
        let draft = loaded.draft.take();
        let picture = draft.as_ref().and_then(|draft| draft.picture.as_ref());
        let picture_bytes = picture.map(|picture| picture.as_ref().map(|_, one| one.bytes.len() as u64));
        Self { entry: draft.map(PreparedEntry::from), picture_bytes, loaded }
    }
}

/// The archive in the making, on the thread that writes.
struct Assembly<'a> {
    collection: &'a Collection,
    keep_going: bool,
    strict: bool,
    /// Gone as soon as it is clear that no archive will be kept; the rest is then only looked through.
    writer: Option<Writer<BufWriter<File>, File>>,
    built_from: BuiltFrom,
    /// How many of the collection's rounds are begun.
    begun: usize,
    summary: Summary,
    left_out: Vec<String>,
    problems: Vec<Problem>,
}

struct Assembled {
    summary: Summary,
    left_out: Vec<String>,
    problems: Vec<Problem>,
    written: Option<(ContentHash, u64, ContentHash)>,
}

impl<'a> Assembly<'a> {
    fn new(request: &BuildRequest, collection: &'a Collection, file: File) -> Result<Self, WriteError> {
        let mut assembly = Self {
            collection,
            keep_going: request.keep_going,
            strict: request.strict,
            writer: Some(Writer::spooled(BufWriter::with_capacity(WRITE_BUFFER_BYTES, file), || {
                request.output.spool()
            })?),
            built_from: BuiltFrom::new(&request.settings),
            begun: 0,
            summary: Summary {
                // Counted even if there are none: the figures always have the same shape.
                pictures: Sizes { original: Some(RenditionFigures::default()), ..Sizes::default() },
                ..Summary::default()
            },
            left_out: Vec::new(),
            problems: collection.problems.clone(),
        };
        for input in &collection.inputs {
            assembly.built_from.file(input);
            assembly.summary.bytes_in += input.bytes;
        }
        assembly.give_up_if_failed();
        Ok(assembly)
    }

    /// Adds the next entry, in reading order.
    fn add(&mut self, round: usize, path: &Path, prepared: Prepared) -> Result<(), WriteError> {
        let Prepared { entry, picture_bytes, loaded } = prepared;
        self.begin_rounds(round + 1)?;
        self.summary.bytes_in += loaded.inputs.iter().map(|input| input.bytes).sum::<u64>();
        match loaded.origin {
            Some(Origin::Cached) => self.summary.cache_hits += 1,
            Some(Origin::Rendered) => self.summary.cache_misses += 1,
            None => {}
        }
        if !loaded.problems.is_empty() {
            self.problems.extend(loaded.problems);
            self.give_up_if_failed();
        }
        let Some(entry) = entry else {
            self.left_out.push(printable_path(path));
            return Ok(());
        };
        loaded.inputs.iter().for_each(|input| self.built_from.file(input));
        self.summary.entries += 1;
        for (size, bytes) in picture_bytes.iter().flat_map(Sizes::iter) {
            if let Some(figures) = self.summary.pictures.get_mut(size) {
                figures.count += 1;
                figures.bytes += bytes;
            }
        }
        if let Some(writer) = &mut self.writer { writer.entry(entry) } else { Ok(()) }
    }

    /// Begins the rounds before `until` that are not begun yet; empty ones are served as they are.
    fn begin_rounds(&mut self, until: usize) -> Result<(), WriteError> {
        let collection = self.collection;
        for round in collection.rounds.iter().take(until).skip(self.begun) {
            if let Some(input) = &round.period_file {
                self.summary.bytes_in += input.bytes;
            }
            if round.left_out {
                continue;
            }
            self.summary.rounds += 1;
            self.built_from.round(round);
            if let Some(writer) = &mut self.writer {
                writer.begin_round(RoundDraft {
                    title: round.title.clone(),
                    period: round.period,
                    extras: round.extras.clone(),
                })?;
            }
        }
        self.begun = self.begun.max(until);
        Ok(())
    }

    fn finish(mut self) -> Result<Assembled, WriteError> {
        self.begin_rounds(self.collection.rounds.len())?;
        if self.summary.entries == 0 {
            // Not even when told to keep going: the wrong directory must not come out as an empty archive.
            self.writer = None;
        }
        let written = match self.writer.take() {
            Some(writer) => {
                let built_from = self.built_from.finish();
                let title = self.collection.title.clone();
                let description = self.collection.description.clone();
                let (written, _) = writer.finish(title, description, built_from)?;
                Some((written.digest, written.bytes, built_from))
            }
            None => None,
        };
        Ok(Assembled { summary: self.summary, left_out: self.left_out, problems: self.problems, written })
    }

    fn give_up_if_failed(&mut self) {
        if self.writer.is_some() && !self.keep_going && Tally::of(&self.problems).fails(self.strict) {
            self.writer = None;
        }
    }
}

/// Runs the verb.
pub fn run(arguments: BuildArguments, report: Report) -> anyhow::Result<Status> {
    let report = if arguments.no_progress { report.without_progress() } else { report };
    let output = Output::from_argument(arguments.output.as_deref())?;
    let mut request = BuildRequest::new(arguments.wakashu_dir, output).with_pictures(&arguments.pictures);
    request.keep_going = arguments.keep_going;
    request.strict = arguments.strict;
    request.threads = arguments.threads.unwrap_or(request.threads);

    let outcome = build(&request, &report)?;
    describe(&outcome, &request, Purpose::File, &report);
    if arguments.json {
        report.json(&outcome)?;
    } else if let Some(archive) = &outcome.archive {
        report.data(&format!("{}\n", archive.path.display()))?;
    }
    Ok(if outcome.tally.fails(arguments.strict) { Status::Findings } else { Status::Fine })
}

/// What becomes of the archive of a build; what is said about it follows from that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// It stays where it was written.
    File,
    /// It goes into a store; where it was before is of no use to anybody.
    Store,
}

/// Tells a person how a build went: problems first, then what was left out, then the figures.
pub fn describe(outcome: &BuildOutcome, request: &BuildRequest, purpose: Purpose, report: &Report) {
    report.problems(&outcome.problems, request.strict);
    report.tally(&outcome.problems, request.strict);
    if !outcome.drafts.is_empty() {
        report.remark(&if request.drafts {
            talk::drafts_shown(&outcome.drafts)
        } else {
            talk::drafts_left_out(&outcome.drafts)
        });
    }
    let Some(archive) = &outcome.archive else {
        report.remark(&talk::no_archive(match (purpose, request.keep_going) {
            (Purpose::File, false) => Unwritten::Problems,
            (Purpose::File, true) => Unwritten::NothingLeft,
            (Purpose::Store, _) => Unwritten::ForStore,
        }));
        return;
    };
    if outcome.tally.fails(request.strict) {
        report.remark(&talk::partial(outcome.left_out.len()));
        outcome.left_out.iter().for_each(|path| report.remark(&talk::left_out(path)));
    }
    let summary = &outcome.summary;
    let said = |remark: Remark| remark.said(report.language()).to_owned();
    let rendition =
        |figures: RenditionFigures| said(talk::bytes_in_files(&report::bytes(figures.bytes), figures.count));
    let pictures = &summary.pictures;
    let mut figures = vec![
        (Figure::Rounds, summary.rounds.to_string()),
        (Figure::Entries, summary.entries.to_string()),
        (Figure::Small, rendition(pictures.small)),
        (Figure::Medium, rendition(pictures.medium)),
        (Figure::Large, rendition(pictures.large)),
    ];
    if let Some(originals) = pictures.original.filter(|originals| originals.count > 0) {
        figures.push((Figure::Originals, rendition(originals)));
    }
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    let rate = summary.bytes_in as f64 / 1e6 / summary.seconds.max(1e-9);
    figures.extend([
        (Figure::Renditions, said(talk::renditions(summary.cache_hits, summary.cache_misses))),
        (Figure::In, report::bytes(summary.bytes_in)),
        (Figure::Out, report::bytes(summary.bytes_out)),
        (Figure::Time, format!("{}, {rate:.1} MB/s", report::duration(summary.seconds))),
        (Figure::Digest, archive.digest.to_string()),
    ]);
    if purpose == Purpose::File {
        figures.push((Figure::Archive, printable_path(&archive.path)));
    }
    report.figures(figures);
}

fn as_text<S: serde::Serializer>(hash: &ContentHash, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(hash)
}

fn as_printable<S: serde::Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}
