//! An archive in depth: marks, hash tree, pages, spans, pictures.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;

use wakashu_archive::{
    Archive, ArchiveError, ArchivedChunk, ArchivedEntry, ArchivedRendition, ArchivedRound, CHUNK_ENTRIES,
    ColumnName, ContentHash, HEAD_MAGIC, KEYS_VERSION, PageView, Period, SectionKind, Size, Span, Trailer,
    decode_picture, round_number, title_key, unescape, verify_original, verify_rendition,
};

use super::columns::Columns;
use super::tiling::{Placed, Tiling};
use super::{CheckOutcome, CheckRequest, Checked, Kind, outcome};
use crate::archive_file::{ArchiveFile, ReadError};
use crate::picture::{self, Settings};
use crate::pipeline::{Budget, run_ordered};
use crate::problem::Problem;
use crate::report::Report;
use crate::words::{archive as words, pictures};

/// Pictures that may be under way.
const WINDOW: NonZeroUsize = NonZeroUsize::new(32).unwrap();

/// What a rendition may measure: longest edge in pixels, bytes. Stated here once more, apart from the code that makes
/// renditions: a check that asks the maker proves little.
const LIMITS: [(Size, u32, u32); 3] =
    [(Size::Small, 512, 40_000), (Size::Medium, 1092, 220_000), (Size::Large, 1568, 700_000)];

/// Most pixels of a rendition, from its longest edge; no more are decoded, whatever it says of itself.
const MAX_RENDITION_PIXELS: u64 = 1568 * 1568;

/// Most patches of 28 x 28 pixels that no model scales down.
const MAX_PATCHES: u64 = 1568;

pub(super) fn check(
    target: &Path,
    request: &CheckRequest,
    report: &Report,
) -> Result<CheckOutcome, ReadError> {
    let file = ArchiveFile::open(target)?;
    let mut problems = Vec::new();
    let head = file.read(Span { offset: 0, length: file.length().min(HEAD_MAGIC.len() as u64) })?;
    let head_check = Trailer::check_head(&head);
    let archive = match Archive::open(&file) {
        Ok(archive) => archive,
        Err(error @ ReadError::Io { .. }) => return Err(error),
        Err(ReadError::Archive(error)) => {
            if !matches!(error, ArchiveError::NotAnArchive { .. }) {
                problems.extend(head_check.err().map(|error| damaged("head", &error)));
            }
            let message = error.to_string();
            let wording = match error {
                ArchiveError::NotAnArchive { .. } => words::not_an_archive(&message),
                ArchiveError::TooOld { .. }
                | ArchiveError::TooNew { .. }
                | ArchiveError::UnknownSection { .. } => words::other_version(&message),
                _ => words::damaged(&message),
            };
            problems.push(Problem::error("archive", wording));
            let mut outcome = outcome(Kind::Archive, target, problems);
            outcome.not_checked.push(words::nothing_checked());
            return Ok(outcome);
        }
    };
    problems.extend(head_check.err().map(|error| damaged("head", &error)));
    problems.extend(check_name(target, archive.digest()));
    check_root(&archive, &mut problems);

    let mut checked =
        Checked { rounds: archive.root().rounds.len() as u64, bytes: file.length(), ..Checked::default() };
    let mut progress = report.progress("entries", archive.root().entries.to_native() as usize);
    let budget = Budget::new(picture::memory_limit_bytes(&request.settings));
    let columns = Columns::open(&file, &archive, |name, error| problems.push(unreadable(name, &error)));
    let mut jobs = Jobs::new(&file, &archive, &columns);
    run_ordered(
        request.threads,
        WINDOW,
        &mut jobs,
        |job| match job {
            Job::Page { entries, problems } => Done { entries, pictures: 0, problems },
            Job::Picture(job) => {
                let problem = job.check(&file, &budget, &request.settings).err();
                Done { entries: 0, pictures: 1, problems: Vec::from_iter(problem) }
            }
        },
        |done| {
            progress.advance_by(done.entries);
            checked.entries += done.entries;
            checked.pictures += done.pictures;
            problems.extend(done.problems);
            ControlFlow::Continue(())
        },
    );
    drop(progress);
    let mut tiling = jobs.tiling;
    check_sections(&file, &archive, &mut tiling, &mut problems);

    let mut outcome = outcome(Kind::Archive, target, problems);
    outcome.digest = Some(archive.digest().to_string());
    outcome.checked = checked;
    if jobs.lost_pages > 0 {
        outcome.not_checked.push(words::pages_not_checked(jobs.lost_pages));
    }
    if columns.too_large {
        outcome.not_checked.push(words::columns_too_large());
    }
    if let Some(found) = columns.other_keys {
        outcome.not_checked.push(words::columns_of_other_keys(found, KEYS_VERSION));
    }
    outcome.not_checked.push(words::metadata_not_checked());
    outcome.not_checked.push(words::currency_not_checked());
    Ok(outcome)
}

struct Done {
    entries: u64,
    pictures: u64,
    problems: Vec<Problem>,
}

fn damaged(place: &str, error: &impl ToString) -> Problem {
    Problem::error(place, words::damaged(&error.to_string()))
}

/// A file named like a digest must have that digest.
fn check_name(path: &Path, digest: ContentHash) -> Option<Problem> {
    let named: ContentHash = path.file_stem()?.to_str()?.parse().ok()?;
    (named != digest).then(|| Problem::error("trailer", words::named_otherwise(digest, named)))
}

/// What the reader does not ask of a root because no answer depends on it.
fn check_root(archive: &Archive, problems: &mut Vec<Problem>) {
    let root = archive.root();
    let mut wrong = |title: &str, what: &str| problems.push(damaged(&format!("root: {title}"), &what));
    let mut before: Option<(bool, Option<u32>, &str)> = None;
    for round in root.rounds.iter() {
        let title = round.title.as_str();
        let number = round.number.as_ref().map(|number| number.to_native());
        if number != round_number(title) {
            wrong(title, "the round's number is not its title's");
        }
        if round.key.as_str() != title_key(title) {
            wrong(title, "the round's key is not its title's");
        }
        let this = (number.is_none(), number, if number.is_some() { "" } else { title });
        if before.is_some_and(|before| before >= this) {
            wrong(title, "rounds are not in reading order");
        }
        before = Some(this);
        if round.period.as_ref().map(Period::from).is_some_and(|period| period.end < period.start) {
            wrong(title, "the round's period is reversed");
        }
    }
    if root.title.is_empty() {
        wrong("title", "the collection has no title");
    }
}

/// Sections lie after the last page, in whatever order, then table and trailer. Those of unknown kind are hashed here; the
/// others were verified when they were opened.
fn check_sections(file: &ArchiveFile, archive: &Archive, tiling: &mut Tiling, problems: &mut Vec<Problem>) {
    let mut sections = archive.table().sections().to_vec();
    sections.sort_by_key(|section| section.reference.span());
    for section in sections {
        let place = format!("section `{}`", section.kind);
        let span = section.reference.span();
        problems.extend(tiling.section(span).err().map(|gap| damaged(&place, &gap)));
        let known = section.kind == SectionKind::ROOT
            || ColumnName::ALL.iter().any(|column| column.kind() == section.kind);
        if known {
            continue;
        }
        match file.hash(span) {
            Ok(found) if found != section.reference.hash => {
                problems
                    .push(damaged(&place, &format!("hash is {found}, expected {}", section.reference.hash)));
            }
            Ok(_) => {}
            Err(error) => problems.push(unreadable(&place, &error)),
        }
    }
    let trailer = archive.trailer();
    problems.extend(tiling.section(trailer.table().span()).err().map(|gap| damaged("section table", &gap)));
    problems.extend(tiling.section(trailer.span()).err().map(|gap| damaged("trailer", &gap)));
}

fn unreadable(place: &str, error: &ReadError) -> Problem {
    match error {
        ReadError::Archive(error) => damaged(place, error),
        ReadError::Io { source, .. } => Problem::error(place, words::unreadable(source)),
    }
}

/// A piece of work: a page that was read, or one stored picture to look at.
enum Job {
    Page { entries: u64, problems: Vec<Problem> },
    Picture(PictureJob),
}

/// Reads page after page and names the pictures in each; holds one chunk at a time.
struct Jobs<'a> {
    file: &'a ArchiveFile,
    archive: &'a Archive,
    columns: &'a Columns,
    /// Entries before the current round.
    first_ordinal: usize,
    round: usize,
    chunk: usize,
    counts: Counts,
    ready: VecDeque<Job>,
    tiling: Tiling,
    lost_pages: usize,
}

/// What the pages of a round came to so far.
#[derive(Default)]
struct Counts {
    entries: u64,
    pictures: u64,
    lost: bool,
}

impl<'a> Jobs<'a> {
    fn new(file: &'a ArchiveFile, archive: &'a Archive, columns: &'a Columns) -> Self {
        Self {
            file,
            archive,
            columns,
            first_ordinal: 0,
            round: 0,
            chunk: 0,
            counts: Counts::default(),
            ready: VecDeque::new(),
            tiling: Tiling::new(HEAD_MAGIC.len() as u64),
            lost_pages: 0,
        }
    }

    fn read_chunk(&mut self, round: &ArchivedRound, chunk: &ArchivedChunk, first_ordinal: usize) {
        let place = format!("{} {}-{}", round.title.as_str(), chunk.first_rank, chunk.last_rank);
        let page_place = format!("{place}: page");
        self.tiling.next_chunk();
        let page = match self.file.page(self.archive, chunk) {
            Ok(page) => page,
            Err(error) => {
                self.counts.lost = true;
                self.lost_pages += 1;
                self.tiling.lose_track();
                let mut problems = vec![unreadable(&page_place, &error)];
                problems.extend(
                    self.tiling.section(chunk.page.span()).err().map(|gap| damaged(&page_place, &gap)),
                );
                self.ready.push_back(Job::Page { entries: 0, problems });
                return;
            }
        };
        let mut problems = Vec::new();
        for (ordinal, entry) in (first_ordinal..).zip(page.entries.iter()) {
            self.counts.entries += 1;
            self.counts.pictures += u64::from(entry.picture.is_some());
            check_entry(round, entry, &mut problems);
            for column in self.columns.disagreeing(ordinal, entry) {
                let place = format!("{} {}", round.title.as_str(), entry.rank);
                problems.push(damaged(
                    &place,
                    &format!("the column of {column} holds other keys than its text has"),
                ));
            }
        }
        let mut pictures = Vec::new();
        for size in Size::ALL {
            for (position, entry) in page.entries.iter().enumerate() {
                let Some(rendition) = rendition_of(entry, size) else { continue };
                let place = place_of(round, entry, size);
                problems.extend(check_limits(rendition, size).map(|message| damaged(&place, &message)));
                match self.tiling.rendition(rendition) {
                    Ok(Placed::New) => {}
                    Ok(Placed::Shared) => continue,
                    Err(message) => problems.push(damaged(&place, &message)),
                }
                // What lies where other pictures were looked at is wrong already. Looking again and again would make
                // a crafted file endless to check.
                if self.tiling.is_first_look(rendition.span()) {
                    let page = page.clone();
                    pictures.push(Job::Picture(PictureJob { page, position, size, place }));
                }
            }
        }
        problems.extend(self.tiling.section(chunk.page.span()).err().map(|gap| damaged(&page_place, &gap)));
        self.ready.push_back(Job::Page { entries: page.entries.len() as u64, problems });
        self.ready.extend(pictures);
    }

    fn end_round(&mut self, round: &ArchivedRound) {
        let Counts { entries, pictures, lost } = std::mem::take(&mut self.counts);
        let stated = (u64::from(round.entries.to_native()), u64::from(round.pictures.to_native()));
        if !lost && (entries, pictures) != stated {
            let message = format!(
                "round is said to have {} entries and {} pictures, its pages have {entries} and {pictures}",
                stated.0, stated.1
            );
            let problems = vec![damaged(&format!("root: {}", round.title.as_str()), &message)];
            self.ready.push_back(Job::Page { entries: 0, problems });
        }
    }
}

impl Iterator for Jobs<'_> {
    type Item = Job;

    fn next(&mut self) -> Option<Job> {
        loop {
            if let Some(job) = self.ready.pop_front() {
                return Some(job);
            }
            let round = self.archive.root().rounds.get(self.round)?;
            if let Some(chunk) = round.chunks.get(self.chunk) {
                let first_ordinal = self.first_ordinal + self.chunk * CHUNK_ENTRIES;
                self.chunk += 1;
                self.read_chunk(round, chunk, first_ordinal);
            } else {
                self.round += 1;
                self.chunk = 0;
                self.first_ordinal += round.entries.to_native() as usize;
                self.end_round(round);
            }
        }
    }
}

/// What the reader does not ask of an entry because no answer depends on it.
fn check_entry(round: &ArchivedRound, entry: &ArchivedEntry, problems: &mut Vec<Problem>) {
    let place = || format!("{} {}", round.title.as_str(), entry.rank);
    let text = unescape(&entry.text);
    let characters = text.chars().count() as u64;
    let stated = u64::from(entry.text_characters.to_native());
    if characters != stated {
        let message = format!("text has {characters} characters, {stated} are stated");
        problems.push(damaged(&place(), &message));
    }
    if !text.starts_with(&format!("{}位：", entry.rank)) {
        problems.push(damaged(&place(), &"text does not begin with its rank"));
    }
}

fn rendition_of(entry: &ArchivedEntry, size: Size) -> Option<&ArchivedRendition> {
    entry.picture.as_ref()?.as_ref().get(size).copied()
}

fn place_of(round: &ArchivedRound, entry: &ArchivedEntry, size: Size) -> String {
    format!("{} {} {}", round.title.as_str(), entry.rank, size.as_str())
}

fn check_limits(rendition: &ArchivedRendition, size: Size) -> Option<String> {
    let (_, edge_px, bytes) = LIMITS.iter().find(|(limited, ..)| *limited == size)?;
    let (width, height) = (rendition.width_px.to_native(), rendition.height_px.to_native());
    let found_bytes = rendition.file_bytes.to_native();
    let patches = u64::from(width.div_ceil(28)) * u64::from(height.div_ceil(28));
    if width.max(height) > *edge_px || patches > MAX_PATCHES {
        return Some(format!(
            "has {width} x {height} pixels; at most {edge_px} on an edge and {MAX_PATCHES} patches are allowed"
        ));
    }
    (found_bytes > *bytes).then(|| format!("has {found_bytes} bytes; at most {bytes} are allowed"))
}

struct PictureJob {
    page: PageView,
    position: usize,
    size: Size,
    place: String,
}

impl PictureJob {
    fn check(&self, file: &ArchiveFile, budget: &Budget, settings: &Settings) -> Result<(), Problem> {
        let entry = self.page.entries.get(self.position);
        let Some(rendition) = entry.and_then(|entry| rendition_of(entry, self.size)) else { return Ok(()) };
        let stored = file.stored(rendition).map_err(|error| unreadable(&self.place, &error))?;
        let (bytes, max_pixels) = if self.size == Size::Original {
            verify_original(rendition, &stored).map_err(|error| damaged(&self.place, &error))?;
            (stored, settings.max_pixels)
        } else {
            verify_rendition(rendition, &stored).map_err(|error| damaged(&self.place, &error))?;
            let decoded = decode_picture(&stored);
            drop(stored);
            let decoded = decoded.ok_or_else(|| damaged(&self.place, &"base64 does not decode"))?;
            (decoded.into(), MAX_RENDITION_PIXELS)
        };
        let (width, height) = (rendition.width_px.to_native(), rendition.height_px.to_native());
        let settings = Settings { max_pixels, ..Settings::default() };
        let wrong = |problem: picture::Problem| match problem {
            // An original may have been built under a more generous limit.
            picture::Problem::TooManyPixels { .. } if self.size == Size::Original => {
                Problem::error(&self.place, pictures::problem(&problem))
            }
            problem => Problem::error(&self.place, pictures::in_archive(&problem)),
        };
        let header = picture::header(&bytes, &settings).map_err(wrong)?;
        let _reservation = budget.reserve(picture::decoding_cost_bytes(&header));
        picture::verify(&bytes, rendition.media_type(), width, height, &settings).map_err(wrong)
    }
}
