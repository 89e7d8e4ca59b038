//! Where an archive goes: written under a temporary name, synced, renamed.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use wakashu_archive::ContentHash;

const TEMPORARY_PREFIX: &str = ".wakashu-build-";
const TEMPORARY_SUFFIX: &str = ".tmp";

/// The extension of archives.
pub const EXTENSION: &str = "wakashu";

/// Names the file an archive is written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// `<digest>.wakashu` in this directory, which is made if need be.
    Directory(PathBuf),
    /// Exactly this file.
    File(PathBuf),
}

/// Says that a path can be read neither as a directory nor as an archive's name.
#[derive(Debug, thiserror::Error)]
#[error("`{path}` is neither a directory nor a name that ends in `.{EXTENSION}`")]
pub struct OutputError {
    path: String,
}

impl Output {
    /// Reads what a person wrote after `-o`; nothing means the current directory.
    pub fn from_argument(argument: Option<&Path>) -> Result<Self, OutputError> {
        let Some(path) = argument else { return Ok(Self::Directory(PathBuf::from("."))) };
        let as_directory = path.as_os_str().as_encoded_bytes().last().is_some_and(|byte| *byte == b'/');
        if path.is_dir() || as_directory {
            return Ok(Self::Directory(path.to_owned()));
        }
        if path.extension().is_some_and(|extension| extension == EXTENSION) {
            return Ok(Self::File(path.to_owned()));
        }
        Err(OutputError { path: crate::problem::printable_path(path) })
    }

    fn directory(&self) -> &Path {
        match self {
            Self::Directory(directory) => directory,
            Self::File(file) => match file.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => parent,
                _ => Path::new("."),
            },
        }
    }

    /// Makes a file without a name in the same directory, for what must be written later than it is known.
    pub(crate) fn spool(&self) -> io::Result<File> {
        tempfile::tempfile_in(self.directory())
    }

    fn final_path(&self, digest: ContentHash) -> PathBuf {
        match self {
            Self::Directory(directory) if directory == Path::new(".") => {
                PathBuf::from(format!("{digest}.{EXTENSION}"))
            }
            Self::Directory(directory) => directory.join(format!("{digest}.{EXTENSION}")),
            Self::File(file) => file.clone(),
        }
    }
}

/// A file under a temporary name in the output's directory; removed when dropped before it is kept.
///
/// It is locked as long as this process lives, so that another build can tell a stale one, left by a build that was
/// killed, from one that is being written.
#[derive(Debug)]
pub(crate) struct TemporaryFile {
    output: Output,
    path: PathBuf,
    file: Option<File>,
}

impl TemporaryFile {
    /// Makes the file, and removes stale ones beside it.
    pub(crate) fn create(output: &Output) -> io::Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let directory = output.directory();
        if matches!(output, Output::Directory(_)) {
            fs::create_dir_all(directory)?;
        }
        remove_stale(directory);
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = format!("{TEMPORARY_PREFIX}{}-{number}{TEMPORARY_SUFFIX}", std::process::id());
            let path = directory.join(name);
            let file = match File::create_new(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            };
            // Where locks are not supported the file is merely not protected from another build's cleaning.
            let taken = matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock));
            // Between creating and locking another build may have taken it for a stale one.
            if !taken && path.exists() {
                return Ok(Self { output: output.clone(), path, file: Some(file) });
            }
        }
    }

    /// Returns a handle to write to.
    pub(crate) fn handle(&self) -> io::Result<File> {
        self.file.as_ref().ok_or(io::ErrorKind::NotFound)?.try_clone()
    }

    /// Makes the content durable and gives the file its name.
    pub(crate) fn keep(mut self, digest: ContentHash) -> io::Result<PathBuf> {
        let file = self.file.take().ok_or(io::ErrorKind::NotFound)?;
        let path = self.output.final_path(digest);
        let renamed = file.sync_all().and_then(|()| fs::rename(&self.path, &path));
        if let Err(error) = renamed {
            self.file = Some(file);
            return Err(error);
        }
        sync_directory(self.output.directory())?;
        Ok(path)
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            // Nothing depends on it: it is hidden, and the next build removes it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Makes a rename durable. Only Unix can sync a directory.
fn sync_directory(directory: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}

/// Removes temporary files that no living build holds. Failing to is harmless.
fn remove_stale(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !name.starts_with(TEMPORARY_PREFIX) || !name.ends_with(TEMPORARY_SUFFIX) {
            continue;
        }
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stale_files_go_and_living_ones_stay() {
        let directory = tempfile::tempdir().unwrap();
        let stale = directory.path().join(".wakashu-build-1-1.tmp");
        fs::write(&stale, "half").unwrap();
        let output = Output::Directory(directory.path().to_owned());
        let living = TemporaryFile::create(&output).unwrap();
        assert!(!stale.exists());
        let second = TemporaryFile::create(&output).unwrap();
        assert!(living.path.exists() && second.path.exists());
        drop(living);
        let digest = ContentHash::of(b"");
        assert_eq!(second.keep(digest).unwrap(), directory.path().join(format!("{digest}.wakashu")));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_argument_is_a_directory_or_an_archive_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        assert_eq!(Output::from_argument(Some(path)).unwrap(), Output::Directory(path.to_owned()));
        let new = path.join("new/");
        assert_eq!(Output::from_argument(Some(&new)).unwrap(), Output::Directory(new));
        let file = path.join("a.wakashu");
        assert_eq!(Output::from_argument(Some(&file)).unwrap(), Output::File(file));
        assert!(Output::from_argument(Some(&path.join("out"))).is_err());
    }
}
