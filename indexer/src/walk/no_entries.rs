//! A collection without entries: most often the wrong folder was named, and often the right one is near.

use std::ffi::OsStr;
use std::fs::{self, DirEntry};
use std::path::Path;

use wakashu_storage::{ARCHIVES_PREFIX, POINTER_KEY};

use super::RoundPlan;
use super::names::{self, COLLECTION_FILE, RankName};
use crate::problem::{Problem, printable_path};

/// How many folders a hint names.
const MOST_SUGGESTIONS: usize = 3;

/// Says that no round has an entry, and what was probably meant.
pub(super) fn problem(root: &Path, rounds: &[RoundPlan]) -> Problem {
    if root.join(POINTER_KEY).is_file() && root.join(ARCHIVES_PREFIX).is_dir() {
        let message =
            format!("this is a store, not a collection: it holds `{POINTER_KEY}` and `{ARCHIVES_PREFIX}`");
        return Problem::error("", message)
            .hint("name the collection, a directory of rounds such as `第1回`");
    }
    let problem =
        Problem::error("", "no round has an entry; expected directories such as `1-Laptop` inside a round");
    if rounds.iter().any(|round| is_rank(&round.directory)) {
        return problem.hint("this looks like a round: name the directory that holds the rounds");
    }
    let mut likely: Vec<String> = rounds
        .iter()
        .map(|round| root.join(&round.directory))
        .filter(|directory| looks_like_a_collection(directory))
        .map(|directory| printable_path(&directory))
        .collect();
    likely.truncate(MOST_SUGGESTIONS);
    if likely.is_empty() {
        problem.hint("add entries, or name the directory that holds the rounds")
    } else {
        problem.hint(format!("did you mean `{}`?", likely.join("` or `")))
    }
}

/// Tells whether a directory names itself a collection, or holds a round with an entry.
fn looks_like_a_collection(directory: &Path) -> bool {
    children(directory).any(|child| {
        let name = child.file_name();
        let is_collection_file = name.to_str().is_some_and(|name| names::is_named(name, COLLECTION_FILE));
        let holds_an_entry =
            || children(&child.path()).any(|entry| is_directory(&entry) && is_rank(&entry.file_name()));
        is_collection_file || (is_directory(&child) && holds_an_entry())
    })
}

fn is_rank(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| matches!(names::rank_name(name), RankName::Rank(_)))
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
