//! A collection as it lies on disk: what will be read, and what is known of it before that.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use wakashu_archive::{ContentHash, Period, RoundExtra};

use super::Candidate;
use crate::problem::Problem;
use crate::root::Root;

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
    /// Takes the rounds away that are drafts, with what is wrong inside them, and returns their titles.
    pub(crate) fn take_drafts(&mut self) -> Vec<String> {
        let (drafts, rounds): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.rounds).into_iter().partition(|round| round.is_draft);
        self.rounds = rounds;
        let had_entries = drafts.iter().any(|round| !round.entries.is_empty());
        if had_entries && self.entry_count() == 0 {
            self.problems.push(Problem::error("", crate::words::collection::only_drafts()));
        }
        for draft in &drafts {
            // What is wrong with a round that is not shown yet stops nobody.
            self.problems.retain(|problem| !problem.is_inside(Path::new(&draft.directory)));
        }
        drafts.into_iter().map(|round| round.title).collect()
    }

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
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct RoundPlan {
    /// Name of its directory.
    pub directory: OsString,
    /// Its title: the directory's name, without blanks at its ends.
    pub title: String,
    /// When it was compiled.
    pub period: Option<Period>,
    /// The texts about it, in the order they are shown.
    pub extras: Vec<RoundExtra>,
    /// It is for the curator's eyes only.
    pub is_draft: bool,
    /// Its own `編纂時期.json`.
    pub period_file: Option<InputFile>,
    /// What may be that file.
    pub(super) period_files: Vec<Candidate>,
    /// Entries by rank.
    pub entries: Vec<EntryPlan>,
    /// Ranks of directories that are misspelt, and so no entries.
    pub(crate) misspelt_ranks: Vec<u32>,
    /// An error was found: it is looked through, but not served.
    pub left_out: bool,
    /// Why there are no entries is already told, or cannot be known.
    pub(super) explained: bool,
    /// It is named like an entry and holds the files of one.
    pub(super) is_entry: bool,
    /// Something that may be a poem or a picture lies in it, and is told of.
    pub(super) holds_lost: bool,
}

/// An entry as it lies on disk.
#[derive(Debug)]
#[non_exhaustive]
pub struct EntryPlan {
    /// Its rank.
    pub rank: u32,
    /// Name of its directory.
    pub directory: OsString,
    /// Name of its text file.
    pub text: Option<OsString>,
    /// Names of its picture files; more than one is an error.
    pub pictures: Vec<OsString>,
    /// An error was found: it is looked through, but not served.
    pub left_out: bool,
    /// A problem with this entry's files was already reported, so a missing text or picture is not reported again.
    pub(super) misspelt: bool,
    /// Files that can only be its text, though their names are spelt otherwise.
    pub(super) near_texts: Vec<OsString>,
    /// Files that look like texts.
    pub(super) like_texts: Vec<OsString>,
    /// Files that look like pictures, with the names they would have here.
    pub(super) like_pictures: Vec<(OsString, String)>,
}

impl EntryPlan {
    /// Returns the directory of the entry, relative to the root.
    #[must_use]
    pub fn path(&self, round: &RoundPlan) -> PathBuf {
        Path::new(&round.directory).join(&self.directory)
    }

    /// Returns the name the text file should have.
    #[must_use]
    pub fn text_name(&self) -> String {
        format!("TextData{}.json", self.rank)
    }
}
