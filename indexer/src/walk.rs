//! From a directory to a plan of rounds and entries, with every problem of names and structure collected.
//!
//! One pass over the tree. Only the few files that describe rounds are read here; texts and pictures are read
//! later, by the workers.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use wakashu_archive::{ContentHash, Period, title_key};
use walkdir::{DirEntry, WalkDir};

use crate::problem::Problem;
use crate::root::Root;

pub(crate) mod collection_file;
pub(crate) mod json;
pub(crate) mod names;
mod no_entries;
pub(crate) mod period_file;
mod settle;
pub(crate) mod text_data;

pub use json::Fault;
pub use period_file::{Read, parse_map as parse_period_map, parse_round as parse_period_file};
pub use text_data::parse as parse_text_data;

use names::{COLLECTION_FILE, EntryFile, PERIOD_FILE, RankName};

/// The collection's title when it does not name its own.
pub const DEFAULT_TITLE: &str = "遠慮したラップトップ和歌集";

/// The largest `編纂時期.json` or `和歌集.json` that is read; a map of 100,000 rounds fits.
const MAX_DESCRIPTION_FILE_BYTES: u64 = 16 << 20;

/// A collection as it lies on disk: what will be read, in reading order.
#[derive(Debug)]
#[non_exhaustive]
pub struct Collection {
    /// The directory that was walked.
    pub root: PathBuf,
    /// The same, held open; what was found is read through it.
    pub(crate) handle: Root,
    /// The collection's title.
    pub title: String,
    /// What the curator says about it; may be empty.
    pub description: String,
    /// Rounds in reading order: numbered ones by number, then the others by title.
    pub rounds: Vec<RoundPlan>,
    /// The files at the root that were read, by name.
    pub inputs: Vec<InputFile>,
    /// What is wrong with names and structure.
    pub problems: Vec<Problem>,
}

impl Collection {
    /// Returns how many entries there are, those to be left out included.
    #[must_use]
    pub fn entry_count(&self) -> usize {
        self.rounds.iter().map(|round| round.entries.len()).sum()
    }
}

/// A file that was read while walking.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InputFile {
    /// Where it is, relative to the root.
    pub path: PathBuf,
    /// Hash of its bytes.
    pub hash: ContentHash,
    /// Its length.
    pub bytes: u64,
}

/// A round as it lies on disk.
#[derive(Debug)]
#[non_exhaustive]
pub struct RoundPlan {
    /// Name of its directory.
    pub directory: OsString,
    /// Its title: the directory's name.
    pub title: String,
    /// When it was compiled.
    pub period: Option<Period>,
    /// Its own `編纂時期.json`.
    pub period_file: Option<InputFile>,
    /// Entries by rank.
    pub entries: Vec<EntryPlan>,
    /// An error was found: it is looked through, but not served.
    pub left_out: bool,
    /// The directory could not be listed; nobody knows what is in it.
    unreadable: bool,
}

/// An entry as it lies on disk.
#[derive(Debug)]
#[non_exhaustive]
pub struct EntryPlan {
    /// Its rank.
    pub rank: u32,
    /// Name of its directory.
    pub directory: OsString,
    /// The text file is there.
    pub has_text: bool,
    /// Names of its picture files; more than one is an error.
    pub pictures: Vec<OsString>,
    /// An error was found: it is looked through, but not served.
    pub left_out: bool,
    /// A misspelt text or picture was reported, or that nothing could be read; its absence is then no news.
    misspelt: bool,
}

impl EntryPlan {
    /// Returns the directory of the entry, relative to the root.
    #[must_use]
    pub fn path(&self, round: &RoundPlan) -> PathBuf {
        Path::new(&round.directory).join(&self.directory)
    }

    /// Returns the name of the text file.
    #[must_use]
    pub fn text_name(&self) -> String {
        format!("TextData{}.json", self.rank)
    }
}

/// Says that a directory could not be walked at all.
#[derive(Debug, thiserror::Error)]
#[error("could not open `{path}` as a collection")]
pub struct WalkError {
    path: String,
    #[source]
    source: io::Error,
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

/// Where the walk stands inside a round.
#[derive(Debug)]
enum Inside {
    /// In no entry, or in a directory whose problem is already told.
    Nothing,
    /// In the entry added last.
    Entry,
    /// In a directory that is no entry's; it is an error if a text file lies in it.
    Stray { path: PathBuf, has_text: bool },
}

struct Walk<'a> {
    root: &'a Path,
    real_root: &'a Path,
    handle: Root,
    rounds: Vec<RoundPlan>,
    inside: Inside,
    inputs: Vec<InputFile>,
    title: Option<String>,
    description: Option<String>,
    periods: Vec<(String, Period)>,
    periods_path: PathBuf,
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
            inputs: Vec::new(),
            title: None,
            description: None,
            periods: Vec::new(),
            periods_path: PathBuf::new(),
            problems: Vec::new(),
        }
    }

    /// Takes note of one file or directory; parents come before their children.
    fn visit(&mut self, entry: &DirEntry) -> Descend {
        let name = entry.file_name();
        if names::is_skipped(name) {
            return Descend::No;
        }
        if entry.depth() < 3 && entry.file_type().is_dir() {
            self.leave_directory();
        }
        if entry.path_is_symlink() && !self.stays_inside(entry.path()) {
            let problem = Problem::error(
                self.relative(entry),
                "symlink leads out of the collection and is not followed",
            );
            self.problems.push(problem.hint("copy what it points to into the collection"));
            self.spoil_entry_of(entry.depth());
            return Descend::No;
        }
        match (entry.depth(), entry.file_type().is_dir()) {
            (1, true) => self.round(entry),
            (1, false) => self.root_file(entry),
            (2, true) => return self.rank(entry),
            (2, false) => self.round_file(entry),
            (_, true) => {
                if !matches!(self.inside, Inside::Stray { .. }) {
                    self.unexpected(entry, "directory", None);
                }
                return Descend::No;
            }
            (_, false) => self.entry_file(entry),
        }
        Descend::Yes
    }

    fn round(&mut self, entry: &DirEntry) {
        let mut left_out = false;
        let title = match names::text(entry.file_name()) {
            Ok(title) if title_key(title).is_empty() => {
                let problem = Problem::error(self.relative(entry), "round has a blank title");
                self.problems.push(problem.hint("rename the directory to the round's title, such as 第1回"));
                left_out = true;
                title.to_owned()
            }
            Ok(title) => title.to_owned(),
            Err(fault) => {
                self.fault(self.relative(entry), fault);
                left_out = true;
                entry.file_name().to_string_lossy().into_owned()
            }
        };
        self.rounds.push(RoundPlan {
            directory: entry.file_name().to_owned(),
            title,
            period: None,
            period_file: None,
            entries: Vec::new(),
            left_out,
            unreadable: false,
        });
    }

    fn root_file(&mut self, entry: &DirEntry) {
        let name = entry.file_name().to_str().unwrap_or_default();
        if names::is_named(name, COLLECTION_FILE) {
            let Some(bytes) = self.description_file(entry) else { return };
            let read = collection_file::parse(&bytes);
            (self.title, self.description) = (read.value.title, read.value.description);
            self.faults(&self.relative(entry), read.errors, read.warnings);
        } else if names::is_named(name, PERIOD_FILE) {
            let Some(bytes) = self.description_file(entry) else { return };
            let read = period_file::parse_map(&bytes);
            self.periods = read.value;
            self.periods_path = self.relative(entry);
            self.faults(&self.relative(entry), read.errors, read.warnings);
        } else if name.ends_with(".wakashu") {
            self.unexpected(entry, "file", Some("keep archives outside the collection: `build -o DIR`"));
        } else {
            self.unexpected(entry, "file", None);
        }
    }

    fn rank(&mut self, entry: &DirEntry) -> Descend {
        let path = self.relative(entry);
        let clean = names::text(entry.file_name());
        let left_out = clean.is_err();
        if let Err(fault) = clean {
            self.fault(path.clone(), fault);
        }
        let rank = match names::rank_name(&entry.file_name().to_string_lossy()) {
            RankName::Rank(rank) => rank,
            RankName::Misspelt(fault) => {
                if !left_out {
                    self.fault(path, fault);
                }
                return Descend::No;
            }
            RankName::Other => {
                if left_out {
                    return Descend::No;
                }
                self.inside = Inside::Stray { path, has_text: false };
                return Descend::Yes;
            }
        };
        if let Some(round) = self.rounds.last_mut() {
            round.entries.push(EntryPlan {
                rank,
                directory: entry.file_name().to_owned(),
                has_text: false,
                pictures: Vec::new(),
                left_out,
                misspelt: false,
            });
            self.inside = Inside::Entry;
        }
        Descend::Yes
    }

    fn round_file(&mut self, entry: &DirEntry) {
        if !names::is_named(entry.file_name().to_str().unwrap_or_default(), PERIOD_FILE) {
            self.unexpected(entry, "file", None);
            return;
        }
        let Some(bytes) = self.description_file(entry) else { return };
        let input = self.inputs.pop();
        let read = period_file::parse_round(&bytes);
        self.faults(&self.relative(entry), read.errors, read.warnings);
        if let Some(round) = self.rounds.last_mut() {
            round.period = read.value;
            round.period_file = input;
        }
    }

    fn entry_file(&mut self, entry: &DirEntry) {
        let name = entry.file_name().to_string_lossy();
        match &mut self.inside {
            Inside::Nothing => return,
            Inside::Stray { has_text, .. } => {
                *has_text |= name.starts_with("TextData");
                return;
            }
            Inside::Entry => {}
        }
        let Some(rank) = self.current_entry().map(|plan| plan.rank) else { return };
        let kind = names::entry_file(&name, rank);
        if matches!(kind, EntryFile::Text | EntryFile::Picture) && !entry.file_type().is_file() {
            self.fault(self.relative(entry), not_a_regular_file());
            self.spoil_current_entry();
            return;
        }
        match kind {
            EntryFile::Text => {
                if let Some(plan) = self.current_entry() {
                    plan.has_text = true;
                }
            }
            EntryFile::Picture => {
                if let Some(plan) = self.current_entry() {
                    plan.pictures.push(entry.file_name().to_owned());
                }
            }
            EntryFile::Misspelt(fault) => {
                self.fault(self.relative(entry), fault);
                self.spoil_current_entry();
            }
            EntryFile::Other(hint) => self.unexpected(entry, "file", hint.as_deref()),
        }
    }

    /// Ends the directory the walk was in.
    fn leave_directory(&mut self) {
        if let Inside::Stray { path, has_text } = std::mem::replace(&mut self.inside, Inside::Nothing) {
            let expected = "expected `{rank}-{name}`, for example `1-Laptop`";
            self.problems.push(if has_text {
                Problem::error(path, format!("directory holds a text but has no rank; {expected}"))
                    .hint("put the rank and a hyphen before its name")
            } else {
                Problem::warning(path, format!("unexpected directory is ignored; {expected}"))
                    .hint("remove it, or begin its name with a dot to keep it out of the collection")
            });
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

    /// Leaves out the round or the entry the walk is in if its directory could not be listed.
    fn spoil_directory(&mut self, path: &Path) {
        let Some(round) = self.rounds.last_mut() else { return };
        if path == Path::new(&round.directory) {
            round.left_out = true;
            round.unreadable = true;
        } else if round.entries.last().is_some_and(|plan| plan.path(round) == path) {
            self.spoil_current_entry();
        }
    }

    /// Reads a file that describes the collection or a round, and takes note of it as an input.
    fn description_file(&mut self, entry: &DirEntry) -> Option<Vec<u8>> {
        let path = self.relative(entry);
        if !entry.file_type().is_file() {
            self.fault(path, not_a_regular_file());
            return None;
        }
        match self.handle.read(&path, MAX_DESCRIPTION_FILE_BYTES) {
            Ok(bytes) => {
                self.inputs.push(InputFile {
                    path,
                    hash: ContentHash::of(&bytes),
                    bytes: bytes.len() as u64,
                });
                Some(bytes)
            }
            Err(fault) => {
                self.fault(path, fault);
                None
            }
        }
    }

    fn unexpected(&mut self, entry: &DirEntry, what: &str, hint: Option<&str>) {
        let problem = Problem::warning(self.relative(entry), format!("unexpected {what} is ignored"));
        let usual = "remove it, or begin its name with a dot to keep it out of the collection";
        self.problems.push(problem.hint(hint.unwrap_or(usual)));
    }

    fn unreadable(&mut self, error: &walkdir::Error) {
        let path = error.path().unwrap_or(self.root);
        let path = path.strip_prefix(self.root).unwrap_or(path).to_owned();
        if path.file_name().is_some_and(names::is_skipped) {
            return;
        }
        self.spoil_entry_of(error.depth());
        self.spoil_directory(&path);
        let problem = if error.loop_ancestor().is_some() {
            Problem::error(path, "symlink leads back to a directory it lies in and is not followed")
                .hint("remove the symlink")
        } else {
            let reason = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
            let kind = error.io_error().map(io::Error::kind);
            let is_symlink = || self.root.join(&path).is_symlink();
            if kind == Some(io::ErrorKind::NotFound) {
                Problem::error(path, "symlink leads nowhere").hint("remove it, or restore what it points to")
            } else if kind != Some(io::ErrorKind::PermissionDenied) && is_symlink() {
                // One that points to itself, for example.
                Problem::error(path, format!("symlink could not be followed: {reason}"))
                    .hint("remove it, or let it point to what is meant")
            } else {
                Problem::error(path, format!("could not be read: {reason}"))
                    .hint("look at its permissions and the disk")
            }
        };
        self.problems.push(problem);
    }

    /// Tells whether a symlink's target lies in the collection.
    fn stays_inside(&self, path: &Path) -> bool {
        path.canonicalize().is_ok_and(|target| target.starts_with(self.real_root))
    }

    fn relative(&self, entry: &DirEntry) -> PathBuf {
        entry.path().strip_prefix(self.root).unwrap_or(entry.path()).to_owned()
    }

    fn fault(&mut self, path: PathBuf, fault: Fault) {
        self.problems.push(Problem::error(path, fault.message).hint(fault.hint));
    }

    fn faults(&mut self, path: &Path, errors: Vec<Fault>, warnings: Vec<Fault>) {
        let errors = errors.into_iter().map(|fault| Problem::error(path, fault.message).hint(fault.hint));
        self.problems.extend(errors);
        let warnings =
            warnings.into_iter().map(|fault| Problem::warning(path, fault.message).hint(fault.hint));
        self.problems.extend(warnings);
    }
}

fn not_a_regular_file() -> Fault {
    Fault::new("not a regular file", "replace it by an ordinary file")
}
