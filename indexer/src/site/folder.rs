//! The folder of a site being written: file by file, each whole or not at all, and no file twice.
//!
//! Every file is written under `.wakashu-site` and gets its name in one step. What stays the same is not touched, so it keeps
//! its time, and what is not ours is never touched. Whatever moment a run dies at, the [list](super::listing) names all that
//! it may have written, and the next run completes it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use wakashu_archive::Span;
use wakashu_storage::LocalFile;

use super::error::SiteError;
use super::listing::{Known, Listing, digits};
use crate::problem::printable_path;

/// Holds the list, the lock and files in the making. Hosts do not publish what begins with a dot, or may.
pub(crate) const STATE: &str = ".wakashu-site";
const LIST: &str = "files";
const LOCK: &str = "lock";
const STAGED: &str = "new";

/// How much of an archive is copied at a time.
const BLOCK_BYTES: u64 = 4 << 20;
/// How many foreign names are told.
const NAMES_TOLD: usize = 5;

/// A folder, held by this run alone.
#[derive(Debug)]
pub(crate) struct SiteFolder {
    root: PathBuf,
    dry_run: bool,
    /// Taken until the run ends, however it ends.
    _lock: Option<File>,
    /// As the last run left it.
    before: Listing,
    /// When it did. A file with a later time may have been changed by others.
    finished: Option<SystemTime>,
    /// Whether a list that was lost may be made up for: the folder is a site of ours all the same.
    is_ours: bool,
    after: BTreeMap<String, Option<Known>>,
    /// Folders that are there.
    made: BTreeSet<PathBuf>,
    pub(crate) counts: Counts,
}

/// What a run did, or would do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Counts {
    pub(crate) written: usize,
    pub(crate) unchanged: usize,
    pub(crate) removed: usize,
}

impl SiteFolder {
    /// Opens a folder, which need not exist. `is_ours` says that it holds a site even if its list is gone.
    pub(crate) fn open(root: &Path, is_ours: bool, dry_run: bool) -> Result<Self, SiteError> {
        let state = root.join(STATE);
        let mut lock = None;
        if !dry_run {
            let staged = state.join(STAGED);
            fs::create_dir_all(&staged).map_err(SiteError::io("create", &staged))?;
            let path = state.join(LOCK);
            let file = File::options().create(true).append(true).open(&path);
            let file = file.map_err(SiteError::io("open", &path))?;
            if let Err(TryLockError::WouldBlock) = file.try_lock() {
                return Err(SiteError::Busy { folder: printable_path(root) });
            }
            // Left by a run that died.
            for litter in fs::read_dir(&staged).map_err(SiteError::io("list", &staged))?.flatten() {
                let _ = fs::remove_file(litter.path());
            }
            lock = Some(file);
        }
        let (before, finished) = read_list(&state.join(LIST))?;
        Ok(Self {
            root: root.to_owned(),
            dry_run,
            _lock: lock,
            before,
            finished,
            // A list names what is ours, that of a run that was killed too.
            is_ours: is_ours && finished.is_none(),
            after: BTreeMap::new(),
            made: BTreeSet::new(),
            counts: Counts::default(),
        })
    }

    /// Tells whether the folder is what the last run made of the same things, and none of its files was changed since.
    pub(crate) fn is_finished(&self, made_of: &str) -> bool {
        self.before.made_of.as_deref() == Some(made_of)
            && self.before.files.iter().all(|(path, known)| {
                known.as_ref().is_some_and(|known| self.look(path) == Look::Untouched(known.bytes))
            })
    }

    /// Returns how many files there are and their bytes, by their paths.
    pub(crate) fn files_before(&self) -> impl Iterator<Item = (&str, u64)> {
        self.before
            .files
            .iter()
            .map(|(path, known)| (path.as_str(), known.as_ref().map_or(0, |known| known.bytes)))
    }

    /// Tells whether a file of that name was there before this run.
    pub(crate) fn was_there(&self, path: &str) -> bool {
        self.before.files.contains_key(path)
    }

    /// Begins to write files of these names: refuses if one of them is there and not ours, and notes that they are.
    pub(crate) fn begin<'a>(&mut self, names: impl Iterator<Item = &'a str>) -> Result<(), SiteError> {
        let mut foreign = Vec::new();
        let mut count = 0;
        let mut noted = Listing { made_of: None, files: BTreeMap::new() };
        // A folder that is not there yet has nothing foreign in it.
        let is_new = !self.is_ours && self.before.files.is_empty() && is_empty_but_for_state(&self.root);
        for name in names {
            if !is_new && !self.is_ours && !self.was_there(name) && self.look(name) != Look::Nothing {
                count += 1;
                if foreign.len() < NAMES_TOLD {
                    foreign.push(name.to_owned());
                }
            }
            noted.files.insert(name.to_owned(), None);
        }
        if count > 0 {
            self.leave_no_trace();
            return Err(SiteError::Foreign { folder: printable_path(&self.root), count, names: foreign });
        }
        for name in self.before.files.keys() {
            noted.files.entry(name.clone()).or_insert(None);
        }
        self.write_list(&noted)
    }

    /// Removes what opening a folder of others has put there.
    fn leave_no_trace(&self) {
        let state = self.root.join(STATE);
        if !self.dry_run && self.before.files.is_empty() {
            let _ = fs::remove_file(state.join(LOCK));
            let _ = fs::remove_dir(state.join(STAGED));
            let _ = fs::remove_dir(&state);
        }
    }

    /// Puts a file whose content is at hand.
    pub(crate) fn put(&mut self, path: &str, content: &[u8]) -> Result<(), SiteError> {
        let known = Known { bytes: content.len() as u64, hash: Some(digits(content)) };
        let place = self.root.join(path);
        if !self.is_there(path, &known, || Ok(has(&place, content)))? {
            self.write(path, |file| file.write_all(content))?;
        }
        self.after.insert(path.to_owned(), Some(known));
        Ok(())
    }

    /// Puts a file that is named by its content, which is made only where it is needed.
    pub(crate) fn put_named(
        &mut self,
        path: &str,
        bytes: u64,
        make: impl Fn() -> Result<Vec<u8>, SiteError>,
    ) -> Result<(), SiteError> {
        let known = Known { bytes, hash: None };
        let place = self.root.join(path);
        if !self.is_there(path, &known, || Ok(has(&place, &make()?)))? {
            let content = if self.dry_run { Vec::new() } else { make()? };
            self.write(path, |file| file.write_all(&content))?;
        }
        self.after.insert(path.to_owned(), Some(known));
        Ok(())
    }

    /// Puts an archive, which is named by its content and large.
    pub(crate) fn put_archive(&mut self, path: &str, archive: &LocalFile) -> Result<(), SiteError> {
        let known = Known { bytes: archive.length(), hash: None };
        let place = self.root.join(path);
        let is_same = || match LocalFile::open(&place) {
            Ok(there) => is_equal(archive, &there),
            Err(_) => Ok(false),
        };
        if !self.is_there(path, &known, is_same)? {
            self.write(path, |file| copy(archive, file).map_err(io::Error::other))?;
        }
        self.after.insert(path.to_owned(), Some(known));
        Ok(())
    }

    /// Makes all that was written durable, so far as the system can, before what leads to it is written.
    pub(crate) fn sync(&self) -> Result<(), SiteError> {
        #[cfg(target_os = "linux")]
        if !self.dry_run && self.counts.written > 0 {
            let folder = File::open(&self.root).map_err(SiteError::io("open", &self.root))?;
            rustix::fs::syncfs(folder).map_err(|error| SiteError::io("sync", &self.root)(error.into()))?;
        }
        Ok(())
    }

    /// Removes files of earlier runs that this one did not put, and notes what the folder now is.
    pub(crate) fn finish(&mut self, made_of: String) -> Result<(), SiteError> {
        let stale: Vec<String> =
            self.before.files.keys().filter(|path| !self.after.contains_key(*path)).cloned().collect();
        for path in stale {
            self.counts.removed += usize::from(self.look(&path) != Look::Nothing);
            if self.dry_run {
                continue;
            }
            let file = self.root.join(&path);
            match fs::remove_file(&file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(SiteError::io("remove", &file)(error));
                }
                _ => {}
            }
            // Folders that are empty now; a foreign file in one of them keeps it.
            for parent in Path::new(&path).ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty())
            {
                if fs::remove_dir(self.root.join(parent)).is_err() {
                    break;
                }
            }
        }
        let listing = Listing { made_of: Some(made_of), files: std::mem::take(&mut self.after) };
        self.write_list(&listing)?;
        self.before = listing;
        Ok(())
    }

    /// Tells whether a file is there with the wanted content, and counts it then.
    fn is_there(
        &mut self,
        path: &str,
        wanted: &Known,
        is_same: impl FnOnce() -> Result<bool, SiteError>,
    ) -> Result<bool, SiteError> {
        let is_there = match self.look(path) {
            Look::Nothing => false,
            Look::Untouched(bytes) | Look::Doubtful(bytes) if bytes != wanted.bytes => false,
            Look::Untouched(_) if self.before.files.get(path).is_some_and(Option::is_some) => {
                self.before.files.get(path).and_then(Option::as_ref) == Some(wanted)
            }
            _ => is_same()?,
        };
        self.counts.unchanged += usize::from(is_there);
        Ok(is_there)
    }

    fn look(&self, path: &str) -> Look {
        let Ok(metadata) = fs::symlink_metadata(self.root.join(path)) else { return Look::Nothing };
        if !metadata.is_file() {
            return Look::Other;
        }
        match (metadata.modified().ok(), self.finished) {
            (Some(modified), Some(finished)) if modified <= finished => Look::Untouched(metadata.len()),
            _ => Look::Doubtful(metadata.len()),
        }
    }

    /// Writes a file under another name, and gives it its own.
    fn write(&mut self, path: &str, fill: impl FnOnce(&mut File) -> io::Result<()>) -> Result<(), SiteError> {
        self.counts.written += 1;
        if self.dry_run {
            return Ok(());
        }
        let target = self.root.join(path);
        if let Some(parent) = target.parent().filter(|parent| !self.made.contains(*parent)) {
            fs::create_dir_all(parent).map_err(SiteError::io("create", parent))?;
            self.made.insert(parent.to_owned());
        }
        self.replace(&target, fill)
    }

    fn replace(
        &self,
        target: &Path,
        fill: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<(), SiteError> {
        let staged = self.root.join(STATE).join(STAGED).join("file");
        let written = File::create(&staged).and_then(|mut file| fill(&mut file));
        if let Err(error) = written {
            let _ = fs::remove_file(&staged);
            return Err(SiteError::io("write", target)(error));
        }
        fs::rename(&staged, target).map_err(SiteError::io("create", target))
    }

    fn write_list(&self, listing: &Listing) -> Result<(), SiteError> {
        if self.dry_run {
            return Ok(());
        }
        self.sync()?;
        let path = self.root.join(STATE).join(LIST);
        self.replace(&path, |file| {
            file.write_all(listing.to_text().as_bytes())?;
            file.sync_all()
        })
    }
}

/// What is found under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    Nothing,
    /// A file of so many bytes, not younger than the list.
    Untouched(u64),
    /// A file of so many bytes that may be anything.
    Doubtful(u64),
    /// A folder, a link, a pipe.
    Other,
}

fn read_list(path: &Path) -> Result<(Listing, Option<SystemTime>), SiteError> {
    let text = match fs::read_to_string(path) {
        Err(missing) if missing.kind() == io::ErrorKind::NotFound => return Ok((Listing::default(), None)),
        text => text.map_err(SiteError::io("read", path))?,
    };
    let bad = |reason| SiteError::BadList { path: printable_path(path), reason };
    let listing = Listing::parse(&text).map_err(bad)?;
    let finished = fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    Ok((listing, finished))
}

fn is_empty_but_for_state(folder: &Path) -> bool {
    fs::read_dir(folder)
        .is_ok_and(|mut entries| entries.all(|entry| entry.is_ok_and(|entry| entry.file_name() == STATE)))
        || !folder.exists()
}

fn has(file: &Path, content: &[u8]) -> bool {
    fs::read(file).is_ok_and(|there| there == content)
}

fn blocks(length: u64) -> impl Iterator<Item = Span> {
    (0..length.div_ceil(BLOCK_BYTES)).map(move |number| {
        let offset = number * BLOCK_BYTES;
        Span { offset, length: BLOCK_BYTES.min(length - offset) }
    })
}

fn copy(archive: &LocalFile, file: &mut File) -> Result<(), wakashu_storage::StorageError> {
    for span in blocks(archive.length()) {
        let block = archive.read_blocking(span)?;
        file.write_all(&block).map_err(|source| wakashu_storage::StorageError::Io {
            verb: "write",
            path: archive.path().to_owned(),
            source,
        })?;
    }
    Ok(())
}

fn is_equal(one: &LocalFile, other: &LocalFile) -> Result<bool, SiteError> {
    if one.length() != other.length() {
        return Ok(false);
    }
    for span in blocks(one.length()) {
        if one.read_blocking(span)? != other.read_blocking(span)? {
            return Ok(false);
        }
    }
    Ok(true)
}
