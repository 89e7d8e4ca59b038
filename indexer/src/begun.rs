//! What `new` and `add` have begun. Killed at any step, nothing is lost and the next run knows what to do.
//!
//! Everything is made under a hidden name first and gets its place by renaming, which happens whole or not at all.
//!
//! | what is found | what it means | what is done |
//! |---|---|---|
//! | `.wakashu-new.part` in a folder | `new` was still writing its files | it is removed: `new` begins again |
//! | `.wakashu-new` in a folder | its files were being given their places | the rest get theirs |
//! | `.wakashu-adding` in a round or a collection, alone | `add` was still writing the entry | it is removed: the poem is where it came from |
//! | `.wakashu-add.json` in a round, the journal | later ranks were being moved | the moves it lists are finished |

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use wakashu_storage::{TemporaryFile, folder_of};

use crate::problem::printable_path;
use crate::report::Report;
use crate::words::curating as words;

/// Where `new` writes its files.
pub(crate) const NEW_PART: &str = ".wakashu-new.part";
/// The same, when they are all there.
pub(crate) const NEW: &str = ".wakashu-new";
/// Where `add` writes an entry, or a round with its first entry.
pub(crate) const ADDING: &str = ".wakashu-adding";
/// What `add` is about to move.
pub(crate) const JOURNAL: &str = ".wakashu-add.json";

/// The largest journal that is read: a round of 100,000 entries that all move fits.
const MAX_JOURNAL_BYTES: u64 = 64 << 20;

/// Why nothing can be changed now.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BegunError {
    /// Another program is changing the collection.
    #[error("another `wakashu` is changing `{0}`")]
    Busy(String),
    /// Something that the journal names is not there.
    #[error("`{journal}` cannot be finished: `{missing}` is not there")]
    Lost {
        /// The journal.
        journal: String,
        /// The name that nothing has.
        missing: String,
    },
    /// The journal is not one of ours.
    #[error("`{0}` cannot be finished: `add` has not written it")]
    Journal(String),
    /// The system refuses.
    #[error("could not change `{path}`")]
    Io {
        /// What.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
}

pub(crate) fn failed(path: &Path) -> impl Fn(io::Error) -> BegunError {
    let path = printable_path(path);
    move |source| BegunError::Io { path: path.clone(), source }
}

/// Keeps others from changing a folder as long as it lives. The system lets go of it when its holder dies.
#[derive(Debug)]
pub(crate) struct Alone(#[expect(dead_code, reason = "held, not used")] Option<File>);

impl Alone {
    pub(crate) fn with(folder: &Path) -> Result<Self, BegunError> {
        // Only Unix opens folders like files; elsewhere two at a time are told apart by their hidden names alone.
        let Ok(handle) = File::open(folder) else { return Ok(Self(None)) };
        match handle.try_lock() {
            Err(fs::TryLockError::WouldBlock) => Err(BegunError::Busy(printable_path(folder))),
            _ => Ok(Self(Some(handle))),
        }
    }
}

/// What an `add` moves in a round, in this order: names below the round's folder, from and to.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Journal {
    pub(crate) moves: Vec<(String, String)>,
}

impl Journal {
    /// Writes it down in a round. From now on the moves are made, by this run or by a later one.
    pub(crate) fn begin(&self, round: &Path) -> Result<(), BegunError> {
        let path = round.join(JOURNAL);
        let written = || -> io::Result<()> {
            let mut file = TemporaryFile::create_in(round)?;
            serde_json::to_writer_pretty(&mut file, self)?;
            file.keep_new(&path)
        };
        written().map_err(failed(&path))
    }

    fn read(path: &Path) -> Option<Self> {
        let metadata = path.symlink_metadata().ok()?;
        if !metadata.is_file() || metadata.len() > MAX_JOURNAL_BYTES {
            return None;
        }
        let journal: Self = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        let stays_inside = |name: &String| {
            let parts: Vec<Component<'_>> = Path::new(name).components().collect();
            (1..=2).contains(&parts.len()) && parts.iter().all(|part| matches!(part, Component::Normal(_)))
        };
        journal.moves.iter().all(|(from, to)| stays_inside(from) && stays_inside(to)).then_some(journal)
    }

    /// Makes the moves that are not made yet, and removes the journal. Each move frees the name the next one takes, so
    /// a move whose target is there is made.
    pub(crate) fn finish(&self, round: &Path) -> Result<(), BegunError> {
        for (from, to) in &self.moves {
            let (from, to) = (round.join(from), round.join(to));
            if to.symlink_metadata().is_ok() {
                continue;
            }
            if from.symlink_metadata().is_err() {
                let journal = printable_path(&round.join(JOURNAL));
                return Err(BegunError::Lost { journal, missing: printable_path(&from) });
            }
            rename_without_replacing(&from, &to).map_err(failed(&from))?;
        }
        sync(round);
        fs::remove_file(round.join(JOURNAL)).map_err(failed(&round.join(JOURNAL)))?;
        sync(round);
        Ok(())
    }
}

/// Finishes or undoes what was begun in a collection or around it, and says so. Whoever changes the collection does this
/// first.
pub(crate) fn settle(collection: &Path, report: &Report) -> Result<(), BegunError> {
    settle_new(&parent_of(collection), report)?;
    if !collection.is_dir() {
        return Ok(());
    }
    for folder in std::iter::once(collection.to_owned()).chain(rounds_of(collection)) {
        let journal = folder.join(JOURNAL);
        if journal.symlink_metadata().is_ok() {
            let begun =
                Journal::read(&journal).ok_or_else(|| BegunError::Journal(printable_path(&journal)))?;
            begun.finish(&folder)?;
            report.remark(&words::finished_adding(&printable_path(&folder)));
        }
        let adding = folder.join(ADDING);
        if adding.symlink_metadata().is_ok() {
            fs::remove_dir_all(&adding).map_err(failed(&adding))?;
            report.remark(&words::undone_adding(&printable_path(&folder)));
        }
    }
    Ok(())
}

/// Finishes or undoes what `new` has begun in a folder, and says so. Returns whether it was finished.
pub(crate) fn settle_new(folder: &Path, report: &Report) -> Result<bool, BegunError> {
    let (part, whole) = (folder.join(NEW_PART), folder.join(NEW));
    if part.symlink_metadata().is_ok() {
        fs::remove_dir_all(&part).map_err(failed(&part))?;
        report.remark(&words::undone_new(&printable_path(folder)));
    }
    if whole.symlink_metadata().is_err() {
        return Ok(false);
    }
    give_places(folder)?;
    report.remark(&words::finished_new(&printable_path(folder)));
    Ok(true)
}

/// Tells whether `new` has begun something in the folder that holds a collection.
pub(crate) fn is_new_begun(collection: &Path) -> bool {
    let folder = parent_of(collection);
    [NEW_PART, NEW].iter().any(|name| folder.join(name).symlink_metadata().is_ok())
}

/// Gives everything that `new` has written its place, the collection last. What is there already stays.
pub(crate) fn give_places(folder: &Path) -> Result<(), BegunError> {
    let whole = folder.join(NEW);
    let listed =
        fs::read_dir(&whole).and_then(Iterator::collect::<io::Result<Vec<_>>>).map_err(failed(&whole))?;
    let mut names: Vec<_> = listed.into_iter().map(|entry| entry.file_name()).collect();
    names.sort();
    for name in names {
        let to = folder.join(&name);
        if to.symlink_metadata().is_err() {
            rename_without_replacing(&whole.join(&name), &to).map_err(failed(&to))?;
        }
    }
    sync(folder);
    fs::remove_dir_all(&whole).map_err(failed(&whole))
}

/// Writes a file that is not there yet, durably.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), BegunError> {
    let written = || -> io::Result<()> {
        fs::create_dir_all(folder_of(path))?;
        let mut file = File::options().write(true).create_new(true).open(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    written().map_err(failed(path))?;
    sync(folder_of(path));
    Ok(())
}

/// Gives something its place, which must be free.
pub(crate) fn give_place(from: &Path, to: &Path) -> Result<(), BegunError> {
    rename_without_replacing(from, to).map_err(failed(to))?;
    sync(folder_of(to));
    Ok(())
}

/// Renames a file or folder, unless something has the new name.
#[cfg(target_os = "linux")]
pub(crate) fn rename_without_replacing(old: &Path, new: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    match renameat_with(CWD, old, CWD, new, RenameFlags::NOREPLACE) {
        // Not every file system knows how.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => fs::rename(old, new),
        result => Ok(result?),
    }
}

/// Renames a file or folder.
#[cfg(not(target_os = "linux"))]
pub(crate) fn rename_without_replacing(old: &Path, new: &Path) -> io::Result<()> {
    fs::rename(old, new)
}

/// Returns the folder that holds a collection, however the collection is named.
fn parent_of(collection: &Path) -> PathBuf {
    match collection.canonicalize() {
        Ok(real) => folder_of(&real).to_owned(),
        Err(_) => folder_of(collection).to_owned(),
    }
}

fn rounds_of(collection: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(collection).into_iter().flatten().flatten();
    let is_round = |entry: &fs::DirEntry| {
        entry.file_type().is_ok_and(|kind| kind.is_dir()) && !is_hidden(&entry.file_name())
    };
    let mut rounds: Vec<PathBuf> = entries.filter(is_round).map(|entry| entry.path()).collect();
    rounds.sort();
    rounds
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// Makes names in a folder survive a power cut, where the system can.
fn sync(folder: &Path) {
    if cfg!(unix) {
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_finished_from_wherever_it_was_left() {
        let moves =
            [("2-a", "3-a"), ("3-a/T2", "3-a/T3"), ("1-a", "2-a"), ("2-a/T1", "2-a/T2"), (ADDING, "1-x")];
        let moves = moves.map(|(from, to)| (from.to_owned(), to.to_owned()));
        let journal = Journal { moves: moves.to_vec() };
        for left_at in 0..=moves.len() {
            let folder = tempfile::tempdir().unwrap();
            let at = |name: &str| folder.path().join(name);
            for (name, content) in [("1-a/T1", "one"), ("2-a/T2", "two"), (".wakashu-adding/T1", "new")] {
                write(&at(name), content.as_bytes()).unwrap();
            }
            journal.begin(folder.path()).unwrap();
            for (from, to) in moves.iter().take(left_at) {
                fs::rename(at(from), at(to)).unwrap();
            }
            Journal::read(&at(JOURNAL)).unwrap().finish(folder.path()).unwrap();
            let read = |name: &str| fs::read_to_string(at(name)).unwrap();
            assert_eq!(
                (read("1-x/T1"), read("2-a/T2"), read("3-a/T3")),
                ("new".into(), "one".into(), "two".into())
            );
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
        }
    }

    #[test]
    fn a_journal_that_leads_elsewhere_is_not_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(JOURNAL);
        for moves in
            ["[[\"../x\",\"y\"]]", "[[\"x\",\"/etc/y\"]]", "[[\"a/b/c\",\"y\"]]", "[[\"\",\"y\"]]", "1"]
        {
            fs::write(&path, format!("{{\"moves\":{moves}}}")).unwrap();
            assert_eq!(Journal::read(&path), None, "{moves}");
        }
        fs::write(&path, "{\"moves\":[[\"a\",\"b/c\"]]}").unwrap();
        assert!(Journal::read(&path).unwrap().finish(folder.path()).is_err(), "nothing is there to move");
    }
}
