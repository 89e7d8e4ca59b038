//! A folder as storage.
//!
//! Archives are read by position ([`LocalFile`]), the pointer whole and on the spot: it is small and costs microseconds.
//! Writes copy, sync and may wait for a lock, so they run on the blocking pool. Symbolic links inside the folder
//! are the owner's business and are followed; keys cannot name anything outside.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use wakashu_archive::{ContentHash, Span};

use crate::error::{StorageError, check_total};
use crate::file::{LocalFile, io_error, on_blocking_pool};
use crate::key::{check_key, check_prefix};
use crate::storage::{
    BoxFuture, Etag, Fetched, MAX_SMALL_BYTES, Object, ObjectInfo, Progress, PutOutcome, ReadStore, Source,
    Store,
};
use crate::temporary::{TemporaryFile, folder_of, remove_file, sync_folder};

/// Held while a small object is replaced. Advisory; the system lets go of it when its holder dies.
const LOCK_NAME: &str = ".wakashu.lock";

/// How much is written between two progress reports.
const WRITE_BLOCK_BYTES: u64 = 4 << 20;

/// A folder whose files are objects.
#[derive(Debug, Clone)]
pub struct Folder {
    root: PathBuf,
}

impl Folder {
    /// Names a folder. It need not exist yet: the first write creates it.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    fn path(&self, key: &str) -> Result<PathBuf, StorageError> {
        check_key(key)?;
        Ok(self.root.join(key))
    }

    fn open(&self, key: &str, length: Option<u64>) -> Result<Arc<dyn Object>, StorageError> {
        let path = self.path(key)?;
        let file = LocalFile::open(&path).map_err(|source| io_error("open", &path, source))?;
        check_total(&path.display(), length, file.length())?;
        Ok(Arc::new(file))
    }

    fn get(&self, key: &str, known: Option<&Etag>) -> Result<Fetched, StorageError> {
        let path = self.path(key)?;
        Ok(match read_small(&path)? {
            None => Fetched::Missing,
            Some((_, etag)) if Some(&etag) == known => Fetched::Unchanged,
            Some((value, etag)) => Fetched::Changed { value, etag },
        })
    }

    fn put(&self, key: &str, source: &Source, progress: &Progress) -> Result<PutOutcome, StorageError> {
        let path = self.path(key)?;
        if path.exists() {
            return Ok(PutOutcome::AlreadyThere);
        }
        let folder = self.create_parent(&path)?;
        match write_temporary(folder, source, progress)?.keep_new(&path) {
            Ok(()) => Ok(PutOutcome::Created),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(PutOutcome::AlreadyThere),
            Err(error) => Err(io_error("create", &path, error)),
        }
    }

    fn swap(&self, key: &str, bytes: &Bytes, expected: Option<&Etag>) -> Result<Etag, StorageError> {
        let path = self.path(key)?;
        if bytes.len() as u64 > MAX_SMALL_BYTES {
            return Err(too_large(&path, bytes.len() as u64));
        }
        let folder = self.create_parent(&path)?;
        let lock_path = self.root.join(LOCK_NAME);
        let lock = File::options().create(true).append(true).open(&lock_path);
        let lock = lock.map_err(|source| io_error("open", &lock_path, source))?;
        // Released when the file is closed, at the end of this function or of the process.
        lock.lock().map_err(|source| io_error("lock", &lock_path, source))?;
        let current = read_small(&path)?.map(|(_, etag)| etag);
        if current.as_ref() != expected {
            return Err(StorageError::Changed { object: path.display().to_string() });
        }
        let file = write_temporary(folder, &Source::Bytes(bytes.clone()), &Progress::silent())?;
        file.keep(&path).map_err(|source| io_error("replace", &path, source))?;
        Ok(etag_of(bytes))
    }

    fn list_files(&self, prefix: &str) -> Result<Vec<ObjectInfo>, StorageError> {
        check_prefix(prefix)?;
        let folder = self.root.join(prefix);
        let entries = match fs::read_dir(&folder) {
            Err(missing) if missing.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|source| io_error("list", &folder, source))?,
        };
        let mut objects = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|source| io_error("list", &folder, source))?;
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
            let key = format!("{prefix}{name}");
            let metadata = match fs::metadata(entry.path()) {
                // Removed since the folder was read, or a link to nowhere.
                Err(missing) if missing.kind() == io::ErrorKind::NotFound => continue,
                metadata => metadata.map_err(|source| io_error("inspect", &entry.path(), source))?,
            };
            if !metadata.is_file() || check_key(&key).is_err() {
                continue;
            }
            let modified =
                metadata.modified().map_err(|source| io_error("inspect", &entry.path(), source))?;
            objects.push(ObjectInfo { key, bytes: metadata.len(), modified });
        }
        objects.sort_by(|one, other| one.key.cmp(&other.key));
        Ok(objects)
    }

    fn remove(&self, key: &str) -> Result<(), StorageError> {
        let path = self.path(key)?;
        match remove_file(&path) {
            Err(missing) if missing.kind() == io::ErrorKind::NotFound => return Ok(()),
            removed => removed.map_err(|source| io_error("remove", &path, source))?,
        }
        let folder = folder_of(&path);
        sync_folder(folder).map_err(|source| io_error("sync", folder, source))
    }

    /// Creates the folder a file lies in and returns it.
    fn create_parent<'a>(&'a self, path: &'a Path) -> Result<&'a Path, StorageError> {
        let folder = path.parent().unwrap_or(&self.root);
        if !folder.is_dir() {
            fs::create_dir_all(folder).map_err(|source| io_error("create", folder, source))?;
            sync_folder(&self.root).map_err(|source| io_error("sync", &self.root, source))?;
        }
        Ok(folder)
    }
}

impl ReadStore for Folder {
    fn object<'a>(
        &'a self,
        key: &'a str,
        length: Option<u64>,
    ) -> BoxFuture<'a, Result<Arc<dyn Object>, StorageError>> {
        Box::pin(async move { self.open(key, length) })
    }

    fn get_if_changed<'a>(
        &'a self,
        key: &'a str,
        known: Option<&'a Etag>,
    ) -> BoxFuture<'a, Result<Fetched, StorageError>> {
        Box::pin(async move { self.get(key, known) })
    }

    fn describe(&self) -> String {
        self.root.display().to_string()
    }
}

impl Store for Folder {
    fn put_if_absent<'a>(
        &'a self,
        key: &'a str,
        source: Source,
        progress: &'a Progress,
    ) -> BoxFuture<'a, Result<PutOutcome, StorageError>> {
        let (folder, name, progress) = (self.clone(), key.to_owned(), progress.clone());
        Box::pin(on_blocking_pool(key, move || folder.put(&name, &source, &progress)))
    }

    fn compare_and_swap<'a>(
        &'a self,
        key: &'a str,
        bytes: Bytes,
        expected: Option<&'a Etag>,
    ) -> BoxFuture<'a, Result<Etag, StorageError>> {
        let (folder, name, expected) = (self.clone(), key.to_owned(), expected.cloned());
        Box::pin(on_blocking_pool(key, move || folder.swap(&name, &bytes, expected.as_ref())))
    }

    fn list<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<ObjectInfo>, StorageError>> {
        let (folder, name) = (self.clone(), prefix.to_owned());
        Box::pin(on_blocking_pool(prefix, move || folder.list_files(&name)))
    }

    fn delete<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), StorageError>> {
        let (folder, name) = (self.clone(), key.to_owned());
        Box::pin(on_blocking_pool(key, move || folder.remove(&name)))
    }
}

fn read_small(path: &Path) -> Result<Option<(Bytes, Etag)>, StorageError> {
    let file = match File::open(path) {
        Err(missing) if missing.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(|source| io_error("open", path, source))?,
    };
    let mut bytes = Vec::new();
    let read = file.take(MAX_SMALL_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|source| io_error("read", path, source))?;
    if bytes.len() as u64 > MAX_SMALL_BYTES {
        return Err(too_large(path, fs::metadata(path).map_or(bytes.len() as u64, |found| found.len())));
    }
    let etag = etag_of(&bytes);
    Ok(Some((bytes.into(), etag)))
}

fn etag_of(bytes: &[u8]) -> Etag {
    Etag(ContentHash::of(bytes).to_string())
}

/// Writes a file of a name that nobody looks at.
fn write_temporary(
    folder: &Path,
    source: &Source,
    progress: &Progress,
) -> Result<TemporaryFile, StorageError> {
    let created = TemporaryFile::create_in(folder);
    let mut file = created.map_err(|source| io_error("create a file in", folder, source))?;
    let mut written = 0;
    while written < source.length() {
        let length = WRITE_BLOCK_BYTES.min(source.length() - written);
        let block = source.read_blocking(Span { offset: written, length })?;
        file.write_all(&block).map_err(|source| io_error("write", file.path(), source))?;
        written += length;
        progress.report(written);
    }
    Ok(file)
}

fn too_large(path: &Path, found: u64) -> StorageError {
    StorageError::TooLarge { object: path.display().to_string(), found, most: MAX_SMALL_BYTES }
}
