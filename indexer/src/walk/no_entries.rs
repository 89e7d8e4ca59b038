//! A collection without entries: most often the wrong folder was named, and often the right one is near.

use std::ffi::OsStr;
use std::fs::{self, DirEntry};
use std::path::Path;

use wakashu_storage::{ARCHIVES_PREFIX, POINTER_KEY};

use super::RoundPlan;
use super::names::{self, COLLECTION_FILE, RankName, Spelling};
use crate::problem::printable_path;
use crate::words::Wording;
use crate::words::collection::{self as words, Meant};

/// How many folders a hint names.
const MOST_SUGGESTIONS: usize = 3;

/// Says that no round has an entry, and what was probably meant.
pub(super) fn wording(root: &Path, rounds: &[RoundPlan]) -> (Wording, Suspicion) {
    if root.join(POINTER_KEY).is_file() && root.join(ARCHIVES_PREFIX).is_dir() {
        return (words::is_a_store(POINTER_KEY, ARCHIVES_PREFIX), Suspicion::OtherDirectory);
    }
    if rounds.iter().any(|round| is_rank(&round.directory)) {
        return (words::no_entry(&Meant::Parent), Suspicion::OtherDirectory);
    }
    let mut likely: Vec<String> = rounds
        .iter()
        .map(|round| root.join(&round.directory))
        .filter(|directory| looks_like_a_collection(directory))
        .map(|directory| printable_path(&directory))
        .collect();
    likely.truncate(MOST_SUGGESTIONS);
    if likely.is_empty() {
        (words::no_entry(&Meant::Unknown), Suspicion::None)
    } else {
        (words::no_entry(&Meant::Inside(likely)), Suspicion::OtherDirectory)
    }
}

/// Whether another directory was meant. What is odd about this one is then of no use to anybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Suspicion {
    None,
    OtherDirectory,
}

/// Tells whether a directory names itself a collection, or holds a round with an entry.
fn looks_like_a_collection(directory: &Path) -> bool {
    children(directory).any(|child| {
        let name = child.file_name();
        let is_collection_file =
            name.to_str().is_some_and(|name| names::spelling(name, COLLECTION_FILE) != Spelling::Other);
        let holds_an_entry =
            || children(&child.path()).any(|entry| is_directory(&entry) && is_rank(&entry.file_name()));
        is_collection_file || (is_directory(&child) && holds_an_entry())
    })
}

pub(super) fn is_rank(name: &OsStr) -> bool {
    let read = name.to_str().map(names::rank_name);
    matches!(read, Some(RankName::Rank(_) | RankName::Near(..)))
}

/// Symlinks do not count: they may lead anywhere.
fn is_directory(entry: &DirEntry) -> bool {
    entry.file_type().is_ok_and(|kind| kind.is_dir())
}

/// Lists what a walk would look at. What cannot be listed is as good as empty: this is only about a hint.
fn children(directory: &Path) -> impl Iterator<Item = DirEntry> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter(|entry| !names::is_skipped(&entry.file_name()))
}
