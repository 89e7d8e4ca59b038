//! Files in the making: written under a hidden name beside their target, then given their name in one step.
//!
//! A temporary file is locked as long as its writer lives, and the system lets go of the lock when the writer dies,
//! however it dies. So a temporary file that can be locked is litter, and the next writer in that folder removes it.
//! The age of a file tells less: a long build or a slow upload looks dead, a writer killed a minute ago looks alive,
//! and the clocks of two machines that share a folder differ. Where a file system has no locks, nothing is removed.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use tempfile::NamedTempFile;

const PREFIX: &str = ".wakashu-";
const SUFFIX: &str = ".tmp";

/// A file under a hidden name. It is removed when it is dropped without having been given a name.
#[derive(Debug)]
pub struct TemporaryFile(NamedTempFile);

impl TemporaryFile {
    /// Creates a file in a folder that exists, and removes what dead writers left there.
    ///
    /// The process's mask decides who can read the file, as with any new file: a server may run as another user
    /// than the publisher.
    pub fn create_in(folder: &Path) -> io::Result<Self> {
        remove_litter(folder);
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX).suffix(SUFFIX);
        loop {
            // Opened here: the builder itself would ask for other rights than those of any new file.
            let file = builder
                .make_in(folder, |path| File::options().read(true).write(true).create_new(true).open(path))?;
            let taken = matches!(file.as_file().try_lock(), Err(fs::TryLockError::WouldBlock));
            // Before it was locked, another writer may have taken it for litter.
            if !taken && file.path().exists() {
                return Ok(Self(file));
            }
        }
    }

    /// Returns the hidden name.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Returns another handle of the file, with the same position.
    pub fn handle(&self) -> io::Result<File> {
        self.0.as_file().try_clone()
    }

    /// Makes the content durable and gives the file its name, in place of a file of that name.
    pub fn keep(self, path: &Path) -> io::Result<()> {
        self.0.as_file().sync_all()?;
        self.rename_over(path)?;
        sync_folder(folder_of(path))
    }

    /// Makes the content durable and gives the file its name, unless there is a file of that name: then the error is
    /// [`io::ErrorKind::AlreadyExists`].
    ///
    /// This renames without replacing where the file system can, else it makes a hard link: either way one of two
    /// racing writers wins. A file system that can do neither reports an error.
    pub fn keep_new(self, path: &Path) -> io::Result<()> {
        self.0.as_file().sync_all()?;
        let mut file = Some(self.0);
        patiently(is_in_use, || match file.take().map(|file| file.persist_noclobber(path)) {
            Some(Err(refused)) => {
                file = Some(refused.file);
                Err(refused.error)
            }
            _ => Ok(()),
        })?;
        sync_folder(folder_of(path))
    }

    /// Gives the file its name, in place of a file of that name. After a power cut its content may be lost: for files
    /// that show when they are broken and can be made again.
    pub fn keep_unsynced(self, path: &Path) -> io::Result<()> {
        self.rename_over(path)
    }

    /// The standard library's renaming also replaces a file that is being read, on Windows too.
    fn rename_over(mut self, path: &Path) -> io::Result<()> {
        patiently(is_in_use, || fs::rename(self.0.path(), path))?;
        self.0.disable_cleanup(true);
        Ok(())
    }
}

impl Write for TemporaryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.as_file_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.as_file_mut().flush()
    }
}

/// Returns a file to write to and read back from, on the file system of a folder. Its name is gone from the start, or
/// goes when the file is closed, so that a writer that dies leaves nothing behind.
pub fn spool_in(folder: &Path) -> io::Result<File> {
    tempfile::tempfile_in(folder)
}

/// Returns the folder a file lies in.
#[must_use]
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Removes a file that others may be looking at.
pub(crate) fn remove_file(path: &Path) -> io::Result<()> {
    patiently(is_in_use, || fs::remove_file(path))
}

/// Tells whether another program keeps a file from being renamed or removed, perhaps only for a moment: on Windows
/// virus scanners and search indexers look into every new file. Elsewhere names are nobody's.
fn is_in_use(error: &io::Error) -> bool {
    const ACCESS_DENIED: i32 = 5;
    const SHARING_VIOLATION: i32 = 32;
    const LOCK_VIOLATION: i32 = 33;
    cfg!(windows) && matches!(error.raw_os_error(), Some(ACCESS_DENIED | SHARING_VIOLATION | LOCK_VIOLATION))
}

/// Tries again for half a second in all.
fn patiently(passes: impl Fn(&io::Error) -> bool, mut act: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    for pause in [1, 4, 15, 60, 120, 300].map(Duration::from_millis) {
        match act() {
            Err(error) if passes(&error) => std::thread::sleep(pause),
            done => return done,
        }
    }
    act()
}

/// Makes new and removed names in a folder survive a power cut. Only Unix can sync a folder.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Removes the files of dead writers. A failure here does not keep us from writing.
fn remove_litter(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let ours = name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
        if !ours || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        // Opened for writing, without which a network file system refuses the lock.
        let Ok(file) = File::options().write(true).open(entry.path()) else { continue };
        if file.try_lock().is_ok() {
            // Locked until it is gone: a writer that has only just created it then sees that it was taken for litter.
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Seek as _};
    use std::time::{Duration, SystemTime};

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn litter_goes_at_once_and_what_is_being_written_stays_however_old() {
        let folder = tempfile::tempdir().unwrap();
        let living = TemporaryFile::create_in(folder.path()).unwrap();
        let long_ago = SystemTime::now() - Duration::from_hours(24 * 365);
        living.handle().unwrap().set_modified(long_ago).unwrap();
        let [litter, other] = [".wakashu-build-1-1.tmp", "notes.tmp"].map(|name| folder.path().join(name));
        fs::write(&litter, "half").unwrap();
        fs::write(&other, "whole").unwrap();
        let second = TemporaryFile::create_in(folder.path()).unwrap();
        assert!(!litter.exists(), "nobody writes it any more");
        assert!(living.path().exists() && second.path().exists() && other.exists());
        drop((living, second));
        assert_eq!(names(folder.path()), ["notes.tmp"]);
    }

    #[test]
    fn a_file_that_was_only_just_created_is_not_swept_by_another_writer() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let path = folder.path().join(format!("{writer}"));
                scope.spawn(move || {
                    for _ in 0..500 {
                        let file = TemporaryFile::create_in(folder_of(&path)).unwrap();
                        file.keep_unsynced(&path).unwrap();
                    }
                });
            }
        });
        assert_eq!(names(folder.path()).len(), 8);
    }

    #[test]
    fn a_file_gets_its_name_with_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let written = |text: &str| {
            let mut file = TemporaryFile::create_in(folder.path()).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            file
        };
        written("1").keep_new(&path).unwrap();
        assert_eq!(written("2").keep_new(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"1");
        written("3").keep(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"3");
        written("4").keep_unsynced(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"4");
        assert_eq!(names(folder.path()), ["x"]);
    }

    #[test]
    fn a_file_that_is_being_read_is_replaced_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        fs::write(&path, "before").unwrap();
        let mut reader = File::open(&path).unwrap();
        let mut file = TemporaryFile::create_in(folder.path()).unwrap();
        file.write_all(b"after").unwrap();
        file.keep(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"after");
        let _second = File::open(&path).unwrap();
        remove_file(&path).unwrap();
        let mut read = String::new();
        reader.read_to_string(&mut read).unwrap();
        assert_eq!(read, "before");
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn what_passes_is_waited_for_and_what_does_not_is_told_at_once() {
        let failing = |times: u32, kind: io::ErrorKind| {
            let mut tried = 0;
            let done = patiently(
                |error| error.kind() == io::ErrorKind::ResourceBusy,
                || {
                    tried += 1;
                    if tried > times { Ok(()) } else { Err(kind.into()) }
                },
            );
            (done.is_ok(), tried)
        };
        assert_eq!(failing(2, io::ErrorKind::ResourceBusy), (true, 3));
        assert_eq!(failing(1, io::ErrorKind::NotFound), (false, 1));
        assert_eq!(failing(100, io::ErrorKind::ResourceBusy), (false, 7));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_can_be_read_by_whoever_may_read_any_new_file() {
        use std::os::unix::fs::MetadataExt as _;

        let folder = tempfile::tempdir().unwrap();
        let [plain, ours] = ["plain", "ours"].map(|name| folder.path().join(name));
        fs::write(&plain, "").unwrap();
        TemporaryFile::create_in(folder.path()).unwrap().keep(&ours).unwrap();
        assert_eq!(fs::metadata(&ours).unwrap().mode(), fs::metadata(&plain).unwrap().mode());
    }

    #[test]
    fn a_spool_is_read_back_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = spool_in(folder.path()).unwrap();
        spool.write_all(b"waka").unwrap();
        spool.seek(io::SeekFrom::Start(2)).unwrap();
        let mut read = String::new();
        spool.read_to_string(&mut read).unwrap();
        assert_eq!(read, "ka");
        drop(spool);
        assert!(names(folder.path()).is_empty());
    }
}
