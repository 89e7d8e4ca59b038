//! A file that is read by position.
//!
//! Nothing is mapped into memory. What was read stays what it was, whatever becomes of the file: a file that shrinks
//! gives a short read, one that is overwritten gives bytes that do not fit their hash.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use wakashu_archive::{ReadAt, Span};

use crate::error::StorageError;
use crate::open::OpenError;
use crate::storage::{BoxFuture, Object, Tail};

/// The longest read that is made on the spot where the system has the bytes at hand. Copying so many takes as long as
/// handing the read to another thread does many times over, and no longer than the hash of them.
#[cfg(target_os = "linux")]
const ON_THE_SPOT_BYTES: u64 = 1 << 20;

/// An open file. Cheap to clone; all clones are the same file, also after its name was given to another.
#[derive(Debug, Clone)]
pub struct LocalFile {
    path: Arc<Path>,
    file: Arc<File>,
    length: u64,
    mark: FileMark,
}

/// By this a change of a file is noticed: all that the system knows of it without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileMark {
    length: u64,
    modified: Option<SystemTime>,
    /// Which file it is, and when anything of it changed: its times, too, can be set to whatever one likes.
    #[cfg(unix)]
    changed: (u64, i64, i64),
}

impl FileMark {
    /// Looks at the file of a name.
    pub fn of_path(path: &Path) -> io::Result<Self> {
        fs::metadata(path).map(|metadata| Self::of(&metadata))
    }

    fn of(metadata: &Metadata) -> Self {
        Self {
            length: metadata.len(),
            modified: metadata.modified().ok(),
            #[cfg(unix)]
            changed: {
                use std::os::unix::fs::MetadataExt as _;
                (metadata.ino(), metadata.ctime(), metadata.ctime_nsec())
            },
        }
    }

    /// Returns when the file was last written to, by its own account.
    #[must_use]
    pub fn modified(&self) -> Option<SystemTime> {
        self.modified
    }
}

impl LocalFile {
    /// Opens a file.
    pub fn open(path: &Path) -> io::Result<Self> {
        // Asked before opening: opening a pipe would wait for its writer.
        if !fs::metadata(path)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        Self::of(File::open(path)?, path)
    }

    /// Takes a file that is open, and says what errors call it.
    pub fn of(file: File, path: &Path) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let (length, mark) = (metadata.len(), FileMark::of(&metadata));
        Ok(Self { path: path.into(), file: Arc::new(file), length, mark })
    }

    /// Returns what errors call the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the length the file had when it was opened.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Reads a span, however long that takes.
    pub fn read_blocking(&self, span: Span) -> Result<Bytes, StorageError> {
        self.read_exact(span).map_err(|source| match source.kind() {
            io::ErrorKind::UnexpectedEof => self.short(span),
            _ => io_error("read", &self.path, source),
        })
    }

    /// Reads a span, and leaves it to the caller to say which file failed.
    pub fn read_exact(&self, span: Span) -> io::Result<Bytes> {
        let mut bytes = self.room_for(span).ok_or(io::ErrorKind::UnexpectedEof)?;
        read_at(&self.file, &mut bytes, span.offset)?;
        Ok(bytes.into())
    }

    /// Reads a span if the system has it in memory.
    #[cfg(target_os = "linux")]
    fn read_at_hand(&self, span: Span) -> Result<Option<Bytes>, StorageError> {
        use rustix::io::{ReadWriteFlags, preadv2};

        if span.length > ON_THE_SPOT_BYTES {
            return Ok(None);
        }
        let mut bytes = self.room_for(span).ok_or_else(|| self.short(span))?;
        let mut places = [io::IoSliceMut::new(&mut bytes)];
        let read = preadv2(&*self.file, &mut places, span.offset, ReadWriteFlags::NOWAIT);
        // A short read, an empty one, or a file system that cannot tell: the caller reads the rest the slow way.
        let is_whole = read.is_ok_and(|count| count as u64 == span.length);
        Ok(is_whole.then(|| bytes.into()))
    }

    /// Elsewhere the system cannot be asked.
    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unnecessary_wraps, reason = "as it is on Linux")]
    fn read_at_hand(&self, _: Span) -> Result<Option<Bytes>, StorageError> {
        Ok(None)
    }

    /// Returns room for what a span holds; `None` if it runs past the file, so that nothing is allocated for it.
    fn room_for(&self, span: Span) -> Option<Vec<u8>> {
        if span.end() > self.length {
            return None;
        }
        usize::try_from(span.length).map(|length| vec![0; length]).ok()
    }

    fn short(&self, span: Span) -> StorageError {
        let length = self.file.metadata().map_or(0, |now| now.len()).min(self.length);
        let found = length.saturating_sub(span.offset).min(span.length);
        StorageError::ShortRead { object: self.path.display().to_string(), expected: span.length, found }
    }

    /// Tells whether the file was written to since it was opened.
    pub(crate) fn is_changed(&self) -> bool {
        !self.file.metadata().is_ok_and(|now| FileMark::of(&now) == self.mark)
    }
}

impl Object for LocalFile {
    fn tail(&self, most: u64) -> BoxFuture<'_, Result<Tail, StorageError>> {
        let (length, total_length) = (most.min(self.length), self.length);
        Box::pin(async move {
            let bytes = self.read(Span { offset: total_length - length, length }).await?;
            Ok(Tail { bytes, total_length })
        })
    }

    fn read(&self, span: Span) -> BoxFuture<'_, Result<Bytes, StorageError>> {
        Box::pin(async move {
            if let Some(bytes) = self.read_at_hand(span)? {
                return Ok(bytes);
            }
            let file = self.clone();
            on_blocking_pool(&self.path.to_string_lossy(), move || file.read_blocking(span)).await
        })
    }

    fn is_near(&self) -> bool {
        true
    }

    fn has_changed(&self) -> bool {
        self.is_changed()
    }
}

impl ReadAt for LocalFile {
    type Error = OpenError;

    fn length(&self) -> u64 {
        self.length
    }

    fn read_at(&self, span: Span) -> Result<Bytes, OpenError> {
        Ok(self.read_blocking(span)?)
    }
}

/// Runs work that waits for a disk where nobody else waits for the thread.
pub(crate) async fn on_blocking_pool<T: Send + 'static>(
    object: &str,
    work: impl FnOnce() -> Result<T, StorageError> + Send + 'static,
) -> Result<T, StorageError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|stopped| StorageError::Other { object: object.to_owned(), source: stopped.into() })?
}

pub(crate) fn io_error(verb: &'static str, path: &Path, source: io::Error) -> StorageError {
    match source.kind() {
        io::ErrorKind::NotFound => StorageError::NotFound { object: path.display().to_string() },
        _ => StorageError::Io { verb, path: PathBuf::from(path), source },
    }
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                bytes = bytes.get_mut(count..).unwrap_or_default();
                offset += count as u64;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(file: &LocalFile) -> Span {
        Span { offset: 0, length: file.length() }
    }

    #[tokio::test]
    async fn a_file_is_read_after_its_name_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        fs::write(&path, b"waka").unwrap();
        let file = LocalFile::open(&path).unwrap();
        assert!(!file.is_changed());
        fs::remove_file(&path).unwrap();
        assert_eq!(file.read_blocking(whole(&file)).unwrap(), "waka");
        assert_eq!(file.tail(2).await.unwrap().bytes, "ka");
    }

    #[tokio::test]
    async fn what_was_read_stays_and_what_shrank_is_short() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        fs::write(&path, b"waka").unwrap();
        let file = LocalFile::open(&path).unwrap();
        let read = file.read(whole(&file)).await.unwrap();
        let writer = File::options().write(true).open(&path).unwrap();
        writer.set_len(1).unwrap();
        assert_eq!(read, "waka");
        for refused in [file.read(whole(&file)).await, file.read_blocking(whole(&file))] {
            let refused = refused.unwrap_err();
            assert!(matches!(refused, StorageError::ShortRead { expected: 4, found: 1, .. }), "{refused:?}");
        }
        assert!(file.is_changed());
    }

    /// A program that overwrites a file can also restore its times.
    #[cfg(unix)]
    #[test]
    fn a_change_is_noticed_though_length_and_time_are_as_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        fs::write(&path, b"waka").unwrap();
        let file = LocalFile::open(&path).unwrap();
        let before = fs::metadata(&path).unwrap().modified().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        fs::write(&path, b"WAKA").unwrap();
        File::options().write(true).open(&path).unwrap().set_modified(before).unwrap();
        assert!(file.is_changed());
    }

    #[test]
    fn an_empty_file_has_no_bytes_and_a_folder_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        fs::write(&path, b"").unwrap();
        let file = LocalFile::open(&path).unwrap();
        assert!(file.read_blocking(whole(&file)).unwrap().is_empty());
        assert_eq!(LocalFile::open(folder.path()).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
