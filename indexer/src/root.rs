//! Files of a collection, opened so that nothing outside it can take their place.
//!
//! A name that was looked at may lead elsewhere a moment later. Files are therefore opened relative to a handle of the
//! collection, without following a link on the way, and what was opened is looked at rather than what has the name.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::words::{Wording, names as words};

/// The directory of a collection, held open.
#[derive(Debug)]
pub(crate) struct Root {
    #[cfg(unix)]
    directory: File,
    /// Without links. On Windows in its long form, `\\?\…`, which nobody is shown.
    real_path: PathBuf,
}

impl Root {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let real_path = path.canonicalize()?;
        Ok(Self {
            #[cfg(unix)]
            directory: File::open(&real_path)?,
            real_path,
        })
    }

    /// Reads a file of at most `most` bytes; `path` is relative to the collection, and links in it stay inside.
    pub(crate) fn read(&self, path: &Path, most: u64) -> Result<Vec<u8>, Wording> {
        let unreadable = |error: io::Error| words::unreadable(&error);
        let too_large = |found: u64| words::too_large(found, most);
        let file = self.open_inside(path).map_err(unreadable)?;
        let before = file.metadata().map_err(unreadable)?;
        if !before.is_file() {
            return Err(words::not_a_regular_file());
        }
        if before.len() > most {
            return Err(too_large(before.len()));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(before.len()).unwrap_or(0));
        (&file).take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() as u64 > most {
            return Err(too_large(bytes.len() as u64));
        }
        let after = file.metadata().map_err(unreadable)?;
        if bytes.len() as u64 != before.len() || has_changed(&before, &after) {
            return Err(words::changed_while_read());
        }
        Ok(bytes)
    }

    /// Returns how long a file is, or zero if that is not known; whoever reads it may find another length.
    pub(crate) fn length(&self, path: &Path) -> u64 {
        self.real_path.join(path).metadata().map_or(0, |metadata| metadata.len())
    }

    fn open_inside(&self, path: &Path) -> io::Result<File> {
        let target = self.real_path.join(path).canonicalize()?;
        let inside = target
            .strip_prefix(&self.real_path)
            .map_err(|_| io::Error::new(io::ErrorKind::PermissionDenied, "it leads out of the collection"))?;
        self.open_without_links(inside)
    }

    /// Opens a file below the handle, from one directory to the next; a link that has come in between is an error, and
    /// a pipe does not wait. `openat2` does that in one call, but not on every Unix, nor in every container.
    #[cfg(unix)]
    fn open_without_links(&self, inside: &Path) -> io::Result<File> {
        use rustix::fs::{Mode, OFlags, openat};
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOFOLLOW;
        let mut file = None::<File>;
        for part in inside.components() {
            let std::path::Component::Normal(name) = part else {
                return Err(io::ErrorKind::InvalidInput.into());
            };
            let above = file.as_ref().unwrap_or(&self.directory);
            file = Some(File::from(openat(above, name, flags, Mode::empty())?));
        }
        file.ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }

    /// Opens a file below the collection, but not what a link leads to that has taken its place. A directory on the way
    /// could still be exchanged: there are no handles to start from.
    #[cfg(windows)]
    fn open_without_links(&self, inside: &Path) -> io::Result<File> {
        use std::os::windows::fs::OpenOptionsExt as _;
        const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;
        let mut options = File::options();
        options.read(true).custom_flags(FILE_FLAG_OPEN_REPARSE_POINT);
        options.open(self.real_path.join(inside))
    }
}

fn has_changed(before: &Metadata, after: &Metadata) -> bool {
    before.len() != after.len() || before.modified().ok() != after.modified().ok()
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_file_that_is_swapped_for_a_link_never_brings_in_what_is_outside() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = |name: &str| folder.path().join(name);
        let secret = outside.path().join("secret");
        fs::write(&secret, "secret").unwrap();
        fs::write(at("file"), "inside").unwrap();
        let root = Root::open(folder.path()).unwrap();
        let done = AtomicBool::new(false);
        let (mut read, mut refused) = (0, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    symlink(&secret, at("new")).unwrap();
                    fs::rename(at("new"), at("file")).unwrap();
                    fs::write(at("new"), "inside").unwrap();
                    fs::rename(at("new"), at("file")).unwrap();
                }
            });
            // On a busy machine either side may wait for long: go on until both were seen.
            while read + refused < 5_000 || ((read == 0 || refused == 0) && read + refused < 5_000_000) {
                match root.read(Path::new("file"), 100) {
                    Ok(bytes) => {
                        read += 1;
                        assert_eq!(bytes, b"inside");
                    }
                    Err(_) => refused += 1,
                }
            }
            done.store(true, Ordering::Relaxed);
        });
        assert!(read > 0 && refused > 0, "{read} read, {refused} refused");
    }

    #[test]
    fn names_with_their_marks_apart_are_opened_as_they_are_written() {
        let folder = tempfile::tempdir().unwrap();
        // As a Mac may have written it; composed, it would be another name to most file systems.
        let collection = folder.path().join("か\u{3099}くげい");
        fs::create_dir_all(collection.join("第1回/1-は\u{309a}")).unwrap();
        fs::write(collection.join("第1回/1-は\u{309a}/ほ\u{309a}"), "inside").unwrap();
        let root = Root::open(&collection).unwrap();
        assert_eq!(root.read(Path::new("第1回/1-は\u{309a}/ほ\u{309a}"), 100).unwrap(), b"inside");
    }

    #[test]
    fn links_inside_are_followed_and_pipes_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("kept")).unwrap();
        fs::write(at("kept/file"), "inside").unwrap();
        symlink("kept/file", at("relative")).unwrap();
        symlink(at("kept"), at("absolute")).unwrap();
        let root = Root::open(folder.path()).unwrap();
        for name in ["kept/file", "relative", "absolute/file"] {
            assert_eq!(root.read(Path::new(name), 100).unwrap(), b"inside", "{name}");
        }
        assert!(root.read(Path::new("kept/file"), 5).is_err(), "too large");
        assert!(root.read(Path::new("kept"), 100).is_err(), "a directory");
        assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        assert!(root.read(Path::new("pipe"), 100).is_err());
    }
}
