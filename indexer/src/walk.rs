//! From a directory to a plan of rounds and entries, with every problem of names and structure collected.
//!
//! One pass over the tree. Only the few files that describe rounds are read here; texts and pictures are read
//! later, by the workers.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use unicode_normalization::{UnicodeNormalization, is_nfc};
use wakashu_archive::{ContentHash, Period, title_key};
use walkdir::{DirEntry, WalkDir};

use crate::begun;
use crate::problem::Problem;
use crate::root::Root;
use crate::words::names::{self as words, Stray};
use crate::words::{Remark, Wording, curating, failure};

pub(crate) mod collection_file;
pub(crate) mod encoding;
mod era;
mod fault;
pub(crate) mod json;
pub(crate) mod names;
mod no_entries;
pub(crate) mod period_file;
mod plan;
mod settle;
pub(crate) mod syntax;
pub(crate) mod text_data;

pub use fault::Fault;
pub use json::Parsed;
pub use period_file::{AboutRound, parse_map as parse_period_map, parse_round as parse_period_file};
pub use plan::{Collection, EntryPlan, InputFile, RoundPlan};
pub use text_data::parse as parse_text_data;

use names::{COLLECTION_FILE, EntryFile, PERIOD_FILE, RankName, Spelling};

/// The collection's title when it does not name its own.
pub const DEFAULT_TITLE: &str = "遠慮したラップトップ和歌集";

/// The largest `編纂時期.json` or `和歌集.json` that is read; a map of 100,000 rounds fits.
const MAX_DESCRIPTION_FILE_BYTES: u64 = 16 << 20;

/// Says that a directory could not be walked at all.
#[derive(Debug, thiserror::Error)]
#[error("could not open `{path}` as a collection")]
pub struct WalkError {
    path: String,
    #[source]
    source: io::Error,
}

impl WalkError {
    pub(crate) fn remark(&self) -> Remark {
        failure::not_a_collection(&self.path, self.to_string())
    }
}

/// Walks a collection.
///
/// Problems inside it are collected in the plan; only a root that cannot be listed is an error here.
pub fn walk(root: &Path) -> Result<Collection, WalkError> {
    let failed = |source| WalkError { path: crate::problem::printable_path(root), source };
    let real_root = root.canonicalize().map_err(failed)?;
    if !real_root.is_dir() {
        return Err(failed(io::Error::new(io::ErrorKind::NotADirectory, "not a directory")));
    }
    std::fs::read_dir(root).map_err(failed)?;

    let handle = Root::open(root).map_err(failed)?;
    let mut walk = Walk::new(root, &real_root, handle);
    let mut entries = WalkDir::new(root).min_depth(1).max_depth(3).follow_links(true).into_iter();
    while let Some(entry) = entries.next() {
        match entry {
            Ok(entry) if walk.visit(&entry) == Descend::No && entry.file_type().is_dir() => {
                entries.skip_current_dir();
            }
            Ok(_) => {}
            Err(error) => walk.unreadable(&error),
        }
    }
    Ok(walk.finish())
}

/// Whether to look into a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Descend {
    Yes,
    No,
}

/// A file that may be the one that is expected under a name.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    path: PathBuf,
    is_file: bool,
    /// It has the name itself, not one that can mean nothing else.
    is_right: bool,
}

/// Where the walk stands inside a round.
#[derive(Debug)]
enum Inside {
    /// In no entry, or in a directory whose problem is already told.
    Nothing,
    /// In the entry added last.
    Entry,
    /// In a directory that does not belong to an entry. A text file in it is an error.
    Stray { path: PathBuf, has_text: bool, has_picture: bool },
}

struct Walk<'a> {
    root: &'a Path,
    real_root: &'a Path,
    handle: Root,
    rounds: Vec<RoundPlan>,
    inside: Inside,
    /// What may be the collection's own file, and what may be the map of periods.
    collection_files: Vec<Candidate>,
    period_files: Vec<Candidate>,
    inputs: Vec<InputFile>,
    /// The collection's own file is there.
    is_described: bool,
    title: Option<String>,
    description: Option<String>,
    periods: Vec<(String, Period)>,
    periods_path: PathBuf,
    /// Rounds whose ranks an `add` that was stopped is moving.
    being_moved: Vec<PathBuf>,
    problems: Vec<Problem>,
}

impl<'a> Walk<'a> {
    fn new(root: &'a Path, real_root: &'a Path, handle: Root) -> Self {
        Self {
            root,
            real_root,
            handle,
            rounds: Vec::new(),
            inside: Inside::Nothing,
            collection_files: Vec::new(),
            period_files: Vec::new(),
            inputs: Vec::new(),
            is_described: false,
            title: None,
            description: None,
            periods: Vec::new(),
            periods_path: PathBuf::new(),
            being_moved: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// Takes note of one file or directory; parents come before their children.
    fn visit(&mut self, entry: &DirEntry) -> Descend {
        let name = entry.file_name();
        if names::is_skipped(name) {
            self.note_begun(entry);
            return Descend::No;
        }
        if entry.depth() < 3 && entry.file_type().is_dir() {
            self.leave_directory();
        }
        if entry.path_is_symlink() && !self.stays_inside(entry.path()) {
            let path = self.relative(entry);
            self.spoil_entry_of(entry.depth());
            self.spoil_round_of(&path);
            self.problems.push(Problem::error(path, words::symlink_leads_out()));
            return Descend::No;
        }
        match (entry.depth(), entry.file_type().is_dir()) {
            (1, true) => self.round(entry),
            (1, false) => self.root_file(entry),
            (2, true) => return self.rank(entry),
            (2, false) => self.round_file(entry),
            (_, true) => {
                if !matches!(self.inside, Inside::Stray { .. }) {
                    let wording = words::unexpected_directory_in_entry();
                    self.problems.push(Problem::warning(self.relative(entry), wording));
                }
                return Descend::No;
            }
            (_, false) => self.entry_file(entry),
        }
        Descend::Yes
    }

    /// Takes note of an `add` that was stopped. While its moves are half-made, names in the round say nothing.
    fn note_begun(&mut self, entry: &DirEntry) {
        let (name, depth) = (entry.file_name(), entry.depth());
        if name == begun::JOURNAL && depth == 2 {
            let round = self.relative(entry).parent().map(Path::to_owned).unwrap_or_default();
            if let Some(plan) = self.rounds.last_mut() {
                plan.left_out = true;
                plan.explained = true;
            }
            self.being_moved.push(round);
        } else if name == begun::ADDING && depth <= 2 {
            self.problems.push(Problem::warning(self.relative(entry), curating::adding_left()));
        }
    }

    fn round(&mut self, entry: &DirEntry) {
        let path = self.relative(entry);
        let mut left_out = false;
        let title = match names::text(entry.file_name()) {
            Ok(name) if title_key(name).is_empty() => {
                self.error(path, words::blank_title());
                left_out = true;
                name.to_owned()
            }
            Ok(name) => {
                let title = name.trim();
                if title != name {
                    let problem = Problem::warning(&path, words::blanks_around_title(title));
                    self.problems.push(problem.renaming(&path, title));
                } else if !is_nfc(name) {
                    let composed: String = name.nfc().collect();
                    let problem = Problem::warning(&path, words::decomposed(&composed));
                    self.problems.push(problem.renaming(&path, composed));
                }
                title.to_owned()
            }
            Err(wording) => {
                self.error(path, wording);
                left_out = true;
                entry.file_name().to_string_lossy().into_owned()
            }
        };
        self.rounds.push(RoundPlan {
            directory: entry.file_name().to_owned(),
            title,
            period: None,
            extras: Vec::new(),
            is_draft: false,
            period_file: None,
            period_files: Vec::new(),
            entries: Vec::new(),
            misspelt_ranks: Vec::new(),
            left_out,
            explained: left_out,
            is_entry: false,
            holds_lost: false,
        });
    }

    fn root_file(&mut self, entry: &DirEntry) {
        if let Some(candidate) = self.candidate(entry, COLLECTION_FILE) {
            self.collection_files.push(candidate);
        } else if let Some(candidate) = self.candidate(entry, PERIOD_FILE) {
            self.period_files.push(candidate);
        } else {
            let name = entry.file_name().to_string_lossy();
            self.unexpected(self.relative(entry), &name, names::stray(&name, Stray::LostAtRoot));
        }
    }

    /// Returns a file that may be the one that is expected under a name. Which one is, shows when all are seen.
    fn candidate(&self, entry: &DirEntry, expected: &str) -> Option<Candidate> {
        let spelling = names::spelling(entry.file_name().to_str()?, expected);
        let is_file = entry.file_type().is_file();
        let is_right = spelling == Spelling::Right;
        (spelling != Spelling::Other).then(|| Candidate { path: self.relative(entry), is_file, is_right })
    }

    fn rank(&mut self, entry: &DirEntry) -> Descend {
        let path = self.relative(entry);
        let clean = names::text(entry.file_name());
        let left_out = clean.is_err();
        if let Err(wording) = clean {
            self.error(path.clone(), wording);
            self.explain_round();
        }
        let rank = match names::rank_name(&entry.file_name().to_string_lossy()) {
            RankName::Rank(rank) => rank,
            RankName::Near(rank, to) => {
                if !left_out {
                    let problem = Problem::warning(&path, words::rank_read_as(rank, &to));
                    self.problems.push(problem.renaming(&path, to));
                }
                rank
            }
            RankName::Misspelt(wording, rank, to) => {
                if let Some(round) = self.rounds.last_mut() {
                    round.misspelt_ranks.extend(rank);
                }
                if !left_out {
                    let mut problem = Problem::error(&path, wording);
                    if let Some(to) = to {
                        problem = problem.renaming(&path, to);
                    }
                    self.problems.push(problem);
                    self.explain_round();
                }
                return Descend::No;
            }
            RankName::Other => {
                if left_out {
                    return Descend::No;
                }
                self.inside = Inside::Stray { path, has_text: false, has_picture: false };
                return Descend::Yes;
            }
        };
        if let Some(round) = self.rounds.last_mut() {
            round.entries.push(EntryPlan {
                rank,
                directory: entry.file_name().to_owned(),
                text: None,
                pictures: Vec::new(),
                left_out,
                misspelt: false,
                near_texts: Vec::new(),
                like_texts: Vec::new(),
                like_pictures: Vec::new(),
            });
            self.inside = Inside::Entry;
        }
        Descend::Yes
    }

    fn round_file(&mut self, entry: &DirEntry) {
        let candidate = self.candidate(entry, PERIOD_FILE);
        let Some(round) = self.rounds.last_mut() else { return };
        if let Some(candidate) = candidate {
            round.period_files.push(candidate);
            return;
        }
        let name = entry.file_name().to_string_lossy();
        let stray = names::stray(&name, Stray::LostInRound);
        if stray == Stray::LostInRound {
            round.holds_lost = true;
            if no_entries::is_rank(&round.directory) {
                // Told once, for the directory.
                round.is_entry = true;
                return;
            }
        }
        self.unexpected(self.relative(entry), &name, stray);
    }

    fn entry_file(&mut self, entry: &DirEntry) {
        let name = entry.file_name().to_string_lossy();
        match &mut self.inside {
            Inside::Nothing => return,
            Inside::Stray { has_text, has_picture, .. } => {
                match names::entry_file(&name, 1) {
                    EntryFile::Text | EntryFile::NearText | EntryFile::LikeText => *has_text = true,
                    EntryFile::Picture | EntryFile::NearPicture(_) | EntryFile::LikePicture(_) => {
                        *has_picture = true;
                    }
                    EntryFile::Misspelt(..) => *has_text |= names::plain(&name).starts_with("textdata"),
                    EntryFile::Unfinished(_) | EntryFile::Other(_) => {}
                }
                return;
            }
            Inside::Entry => {}
        }
        let path = self.relative(entry);
        let Some(plan) = self.rounds.last_mut().and_then(|round| round.entries.last_mut()) else { return };
        let file = entry.file_name().to_owned();
        let kind = names::entry_file(&name, plan.rank);
        let is_work = !matches!(kind, EntryFile::Unfinished(_) | EntryFile::Other(_));
        if is_work && !entry.file_type().is_file() {
            self.error(path, words::not_a_regular_file());
            self.spoil_current_entry();
            return;
        }
        match kind {
            EntryFile::Text => plan.text = Some(file),
            EntryFile::NearText => plan.near_texts.push(file),
            EntryFile::LikeText => plan.like_texts.push(file),
            EntryFile::Picture => plan.pictures.push(file),
            EntryFile::NearPicture(to) => {
                plan.pictures.push(file);
                let problem = Problem::warning(&path, words::read_as(&to));
                self.problems.push(problem.renaming(&path, to));
            }
            EntryFile::LikePicture(to) => plan.like_pictures.push((file, to)),
            EntryFile::Unfinished(finished) => {
                plan.misspelt = true;
                self.problems.push(Problem::warning(path, words::unfinished_download(&finished)));
            }
            EntryFile::Misspelt(wording, to) => {
                let mut problem = Problem::error(&path, wording);
                if let Some(to) = to {
                    problem = problem.renaming(&path, to);
                }
                self.problems.push(problem);
                self.spoil_current_entry();
            }
            EntryFile::Other(stray) => self.unexpected(path, &name, stray),
        }
    }

    /// Ends the directory the walk was in.
    fn leave_directory(&mut self) {
        if let Inside::Stray { path, has_text, has_picture } =
            std::mem::replace(&mut self.inside, Inside::Nothing)
        {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let example = format!("1-{name}");
            self.problems.push(match (has_text, has_picture) {
                (true, _) => Problem::error(&path, words::directory_without_rank(&example)),
                (false, true) => Problem::warning(&path, words::directory_without_rank(&example)),
                (false, false) => Problem::warning(&path, words::unexpected_directory()),
            });
            if has_text {
                self.explain_round();
            }
            if let Some(round) = self.rounds.last_mut() {
                round.holds_lost |= has_picture;
            }
        }
    }

    /// Takes note that an error says why the current round has no entries.
    fn explain_round(&mut self) {
        if let Some(round) = self.rounds.last_mut() {
            round.explained = true;
        }
    }

    fn current_entry(&mut self) -> Option<&mut EntryPlan> {
        self.rounds.last_mut()?.entries.last_mut()
    }

    fn spoil_current_entry(&mut self) {
        if let Some(plan) = self.current_entry() {
            plan.left_out = true;
            plan.misspelt = true;
        }
    }

    /// Leaves out the current entry if something at `depth` that belongs to it could not be read.
    fn spoil_entry_of(&mut self, depth: usize) {
        if depth == 3 && matches!(self.inside, Inside::Entry) {
            self.spoil_current_entry();
        }
    }

    /// Leaves out the current round if what could not be read may be its own `編纂時期.json`: it may be a draft.
    fn spoil_round_of(&mut self, path: &Path) {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        if path.components().count() == 2
            && names::spelling(name, PERIOD_FILE) != Spelling::Other
            && let Some(round) = self.rounds.last_mut()
        {
            round.left_out = true;
        }
    }

    /// Leaves out the round or the entry the walk is in if its directory could not be listed.
    fn spoil_directory(&mut self, path: &Path) {
        let Some(round) = self.rounds.last_mut() else { return };
        if path == Path::new(&round.directory) {
            round.left_out = true;
            round.explained = true;
        } else if round.entries.last().is_some_and(|plan| plan.path(round) == path) {
            self.spoil_current_entry();
        }
    }

    /// Reads a file that describes the collection or a round.
    fn description_file(
        &mut self,
        Candidate { path, is_file, .. }: Candidate,
    ) -> Option<(Vec<u8>, InputFile)> {
        if !is_file {
            self.error(path, words::not_a_regular_file());
            return None;
        }
        match self.handle.read(&path, MAX_DESCRIPTION_FILE_BYTES) {
            Ok(bytes) => {
                let input = InputFile { path, hash: ContentHash::of(&bytes), bytes: bytes.len() as u64 };
                Some((bytes, input))
            }
            Err(wording) => {
                self.error(path, wording);
                None
            }
        }
    }

    fn unexpected(&mut self, path: PathBuf, name: &str, stray: Stray) {
        let wording = match names::unfinished(name) {
            Some(finished) => words::unfinished_download(finished),
            None => words::unexpected_file(stray),
        };
        self.problems.push(Problem::warning(path, wording));
    }

    fn unreadable(&mut self, error: &walkdir::Error) {
        let path = error.path().unwrap_or(self.root);
        let path = path.strip_prefix(self.root).unwrap_or(path).to_owned();
        if path.file_name().is_some_and(names::is_skipped) {
            return;
        }
        self.spoil_entry_of(error.depth());
        self.spoil_directory(&path);
        self.spoil_round_of(&path);
        let reason = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
        let kind = error.io_error().map(io::Error::kind);
        let is_symlink = || self.root.join(&path).is_symlink();
        let wording = if error.loop_ancestor().is_some() {
            words::symlink_loops()
        } else if kind == Some(io::ErrorKind::NotFound) {
            words::symlink_leads_nowhere()
        } else if kind != Some(io::ErrorKind::PermissionDenied) && is_symlink() {
            // One that points to itself, for example.
            words::symlink_unfollowable(&reason)
        } else {
            words::unlistable(error.io_error(), &reason)
        };
        self.error(path, wording);
    }

    /// Tells whether a symlink's target lies in the collection.
    fn stays_inside(&self, path: &Path) -> bool {
        path.canonicalize().is_ok_and(|target| target.starts_with(self.real_root))
    }

    fn relative(&self, entry: &DirEntry) -> PathBuf {
        entry.path().strip_prefix(self.root).unwrap_or(entry.path()).to_owned()
    }

    fn error(&mut self, path: PathBuf, wording: Wording) {
        self.problems.push(Problem::error(path, wording));
    }

    fn faults(&mut self, input: &InputFile, faults: Vec<Fault>) {
        let problems = faults.into_iter().map(|fault| Problem::of(&input.path, fault, input.hash));
        self.problems.extend(problems);
    }
}
