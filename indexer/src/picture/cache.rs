//! Renditions kept from one build to the next.
//!
//! One file per picture, named by the hash of everything the renditions follow from: the source's bytes, the settings
//! and [`ENCODER_VERSION`]. A file carries the hash of its own content, is written under a temporary name and renamed,
//! and is never changed afterwards: concurrent builds can only write the same thing twice. Whatever is broken is made
//! again. The directory holds nothing of value and can be deleted at any time.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use wakashu_archive::ContentHash;
use wakashu_storage::{TemporaryFile, folder_of};

use super::{ENCODER_VERSION, Problem, Rendered, Settings, add_original, header, render_scaled};

mod entry;

/// Entries that no build has used for this long are removed.
const MAX_AGE: Duration = Duration::from_hours(90 * 24);
/// How often an entry's time of last use is written down, and how often old entries are looked for.
const BOOKKEEPING_INTERVAL: Duration = Duration::from_hours(24);
const CLEANED_MARK: &str = "cleaned";

/// Says where renditions came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// They were in the cache.
    Cached,
    /// They were made now.
    Rendered,
}

/// A picture file and its hash, which is dear enough to be made only once.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    bytes: &'a [u8],
    hash: ContentHash,
}

impl<'a> Source<'a> {
    /// Hashes a picture file.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, hash: ContentHash::of(bytes) }
    }

    /// Returns the file.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the hash of the file.
    #[must_use]
    pub fn hash(&self) -> ContentHash {
        self.hash
    }
}

/// Keeps renditions in a directory. Safe to share between threads and between processes.
#[derive(Debug)]
pub struct Cache {
    /// `None` if there is none.
    directory: Option<PathBuf>,
    warned: AtomicBool,
}

impl Cache {
    /// Opens the cache in a directory, which is made if need be, and removes what was not used for 90 days.
    ///
    /// A directory that cannot be used costs time, not correctness: there is one warning and no cache.
    #[must_use]
    pub fn open(directory: &Path) -> Self {
        let cache = Self { directory: Some(directory.to_owned()), warned: AtomicBool::new(false) };
        if let Err(error) = fs::create_dir_all(directory) {
            cache.warn_once(directory, &error);
            return Self { directory: None, ..cache };
        }
        remove_old_entries(directory, SystemTime::now());
        cache
    }

    /// Returns a cache that keeps nothing.
    #[must_use]
    pub fn disabled() -> Self {
        Self { directory: None, warned: AtomicBool::new(false) }
    }

    /// Returns the renditions of a picture, made only if they are not in the cache.
    pub fn renditions(
        &self,
        source: &Source<'_>,
        settings: &Settings,
    ) -> Result<(Rendered, Origin), Problem> {
        let Source { bytes: source, hash } = *source;
        // The limit holds for what was rendered under another one, too; the header is cheap.
        let header = header(source, settings)?;
        let path = self.directory.as_ref().map(|directory| entry_path(directory, hash, settings));
        let cached = path.as_ref().and_then(|path| read_entry(path, source));
        let origin = if cached.is_some() { Origin::Cached } else { Origin::Rendered };
        let mut rendered = cached.map_or_else(|| render_scaled(source, &header, settings), Ok)?;
        if let (Some(path), Origin::Rendered) = (&path, origin)
            && let Err(error) = write_entry(path, &entry::encode(&rendered, source))
        {
            self.warn_once(path, &error);
        }
        // The original is not kept: it is as good as in the source, and asking for it must not cost the others.
        add_original(&mut rendered, source, &header, settings);
        Ok((rendered, origin))
    }

    fn warn_once(&self, path: &Path, error: &io::Error) {
        if !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(path = %path.display(), %error, "picture cache cannot be written; building without it");
        }
    }
}

fn entry_path(directory: &Path, source: ContentHash, settings: &Settings) -> PathBuf {
    let Settings { max_pixels: _, keep_metadata, originals: _ } = settings;
    let mut hasher = blake3::Hasher::new_derive_key("wakashu picture cache 3");
    hasher.update(ENCODER_VERSION.as_bytes());
    hasher.update(&[0, u8::from(*keep_metadata)]);
    hasher.update(&source.0);
    let name = hasher.finalize().to_hex();
    let (shard, rest) = name.split_at_checked(2).unwrap_or(("", &name));
    directory.join(shard).join(rest)
}

/// Returns an entry's renditions; `None` if it is absent or not in order.
fn read_entry(path: &Path, source: &[u8]) -> Option<Rendered> {
    // Whatever else has the name, a pipe for one, might never come to an end.
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let bytes = fs::read(path).ok()?;
    let rendered = entry::decode(&bytes.into(), source)?;
    note_use(path, SystemTime::now());
    Some(rendered)
}

/// Writes down that an entry was used, at most once a day.
fn note_use(path: &Path, now: SystemTime) {
    let last_use = fs::metadata(path).and_then(|metadata| metadata.modified());
    if last_use.is_ok_and(|last_use| is_older(last_use, now, BOOKKEEPING_INTERVAL)) {
        // Without it the entry is made again some day.
        let _ = File::options().write(true).open(path).and_then(|file| file.set_modified(now));
    }
}

fn write_entry(path: &Path, content: &[u8]) -> io::Result<()> {
    let directory = folder_of(path);
    fs::create_dir_all(directory)?;
    let mut file = TemporaryFile::create_in(directory)?;
    file.write_all(content)?;
    // An entry tells by its own hash that it is broken, so it need not outlive a power cut.
    file.keep_unsynced(path)
}

/// Removes entries that were not used for a long time; at most once a day.
fn remove_old_entries(directory: &Path, now: SystemTime) {
    let mark = directory.join(CLEANED_MARK);
    let mark_data = fs::metadata(&mark);
    if mark_data.as_ref().is_ok_and(|metadata| !metadata.is_file()) {
        return;
    }
    let last_time = mark_data.and_then(|metadata| metadata.modified());
    if last_time.is_ok_and(|last_time| !is_older(last_time, now, BOOKKEEPING_INTERVAL)) {
        return;
    }
    // Whatever goes wrong here is tried again tomorrow.
    let _ = fs::write(&mark, "");
    for shard in fs::read_dir(directory).into_iter().flatten().flatten() {
        if shard.file_name().len() != 2 {
            continue;
        }
        for entry in fs::read_dir(shard.path()).into_iter().flatten().flatten() {
            let last_use = entry.metadata().and_then(|metadata| metadata.modified());
            if last_use.is_ok_and(|last_use| is_older(last_use, now, MAX_AGE)) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

fn is_older(time: SystemTime, now: SystemTime, age: Duration) -> bool {
    now.duration_since(time).is_ok_and(|elapsed| elapsed > age)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_go_after_ninety_days_without_use() {
        let directory = tempfile::tempdir().unwrap();
        let shard = directory.path().join("ab");
        fs::create_dir(&shard).unwrap();
        let now = SystemTime::now();
        for (name, days) in [("fresh", 0), ("used", 89), ("old", 91)] {
            let file = File::create(shard.join(name)).unwrap();
            file.set_modified(now - Duration::from_hours(days * 24)).unwrap();
        }
        remove_old_entries(directory.path(), now);
        assert!(shard.join("fresh").exists() && shard.join("used").exists() && !shard.join("old").exists());

        note_use(&shard.join("used"), now);
        let later = now + Duration::from_hours(48);
        remove_old_entries(directory.path(), later);
        assert!(shard.join("used").exists());
    }

    #[test]
    fn what_a_killed_build_left_goes_with_the_next_entry_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let shard = directory.path().join("ab");
        fs::create_dir(&shard).unwrap();
        fs::write(shard.join(".wakashu-x.tmp"), "half").unwrap();
        write_entry(&shard.join("entry"), b"whole").unwrap();
        let names: Vec<_> = fs::read_dir(&shard).unwrap().map(|file| file.unwrap().file_name()).collect();
        assert_eq!(names, ["entry"]);
    }

    #[test]
    fn the_key_follows_everything_the_renditions_follow_from() {
        let directory = Path::new("cache");
        let plain = Settings::default();
        let source = ContentHash::of(b"source");
        let base = entry_path(directory, source, &plain);
        assert_ne!(base, entry_path(directory, ContentHash::of(b"other"), &plain));
        assert_ne!(base, entry_path(directory, source, &Settings { keep_metadata: true, ..plain.clone() }));
        // Originals are made each time.
        assert_eq!(base, entry_path(directory, source, &Settings { originals: true, ..plain.clone() }));
        // The limit is checked anew each time.
        assert_eq!(base, entry_path(directory, source, &Settings { max_pixels: 1, ..plain }));
    }
}
