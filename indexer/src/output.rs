//! Where an archive goes.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use wakashu_archive::ContentHash;
use wakashu_storage::{TemporaryFile, folder_of, spool_in};

use crate::words::{Remark, failure};

/// The extension of archives.
pub const EXTENSION: &str = "wakashu";

/// Names the file an archive is written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// `<digest>.wakashu` in this directory, which is made if need be.
    Directory(PathBuf),
    /// Exactly this file.
    File(PathBuf),
    /// A file without a name on the file system of this directory: it is gone when it is closed, however the program ends.
    Unnamed(PathBuf),
}

/// A file that an archive is being written to.
#[derive(Debug)]
pub(crate) enum Making {
    Named(TemporaryFile),
    Unnamed(File),
}

impl Making {
    /// Returns another handle of the file, with the same position.
    pub(crate) fn handle(&self) -> io::Result<File> {
        match self {
            Self::Named(file) => file.handle(),
            Self::Unnamed(file) => file.try_clone(),
        }
    }
}

/// Says that a path can be read neither as a directory nor as an archive's name.
#[derive(Debug, thiserror::Error)]
#[error("`{path}` is neither a directory nor a name that ends in `.{EXTENSION}`")]
pub struct OutputError {
    path: String,
}

impl OutputError {
    pub(crate) fn remark(&self) -> Remark {
        failure::not_an_output(&self.path, self.to_string())
    }
}

impl Output {
    /// Reads the argument of `-o`; without one it is the current directory.
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

    /// Creates the file to write the archive to, and the directory if need be.
    pub(crate) fn create(&self) -> io::Result<Making> {
        match self {
            Self::Directory(directory) => {
                std::fs::create_dir_all(directory)?;
                TemporaryFile::create_in(directory).map(Making::Named)
            }
            Self::File(file) => TemporaryFile::create_in(folder_of(file)).map(Making::Named),
            Self::Unnamed(directory) => spool_in(directory).map(Making::Unnamed),
        }
    }

    /// Returns the path a person would look at if it cannot be written.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Directory(path) | Self::File(path) | Self::Unnamed(path) => path,
        }
    }

    /// Makes a file without a name in the same directory, for what must be written later than it is known.
    pub(crate) fn spool(&self) -> io::Result<File> {
        match self {
            Self::Directory(directory) | Self::Unnamed(directory) => spool_in(directory),
            Self::File(file) => spool_in(folder_of(file)),
        }
    }

    /// Gives a written archive its name, and returns that; one that gets none is returned itself.
    pub(crate) fn keep(&self, archive: Making, digest: ContentHash) -> io::Result<(PathBuf, Option<File>)> {
        let path = self.final_path(digest);
        match archive {
            Making::Named(file) => file.keep(&path).map(|()| (path, None)),
            Making::Unnamed(file) => Ok((path, Some(file))),
        }
    }

    fn final_path(&self, digest: ContentHash) -> PathBuf {
        match self {
            Self::Directory(directory) if directory == Path::new(".") => {
                PathBuf::from(format!("{digest}.{EXTENSION}"))
            }
            Self::Directory(directory) => directory.join(format!("{digest}.{EXTENSION}")),
            Self::File(path) | Self::Unnamed(path) => path.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
