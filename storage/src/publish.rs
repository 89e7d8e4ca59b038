//! Publishing: the archive first, the pointer last, the litter after that.
//!
//! Whatever moment a publisher dies at, the pointer names a whole archive: the old one until the swap, the new one
//! from then on. Two publishers race for the pointer and one of them loses with a clear error.
//!
//! Pruning is what makes it subtle: a pruner deletes what it saw unnamed, and a publisher may be about to name
//! just that. Three things keep a named archive from staying lost. A pruner reads the pointer again before each
//! deletion. A publisher looks after the swap whether its archive is still there and writes it again if not; when it
//! found an archive that a pruner may have had in its sights, it looks once more after [`PublishOptions::settle`],
//! by when a deletion decided on before the swap has happened or been given up. And publishing what is already
//! current, which writes nothing otherwise, restores the archive if it is gone.

use std::path::Path;
use std::time::{Duration, SystemTime};

use wakashu_archive::{
    Archive, ContentHash, HEAD_MAGIC, ReadAt as _, Span, TAIL_BYTES, TRAILER_BYTES, Trailer,
};

use crate::changes;
use crate::error::StorageError;
use crate::file::LocalFile;
use crate::open::{OpenError, open_archive};
use crate::pointer::{
    ARCHIVES_PREFIX, MAX_NOTE_CHARACTERS, POINTER_KEY, Pointer, PointerOpening, Version, archive_key,
    digest_of_key,
};
use crate::storage::{Etag, Fetched, ObjectInfo, Progress, PutOutcome, ReadStore, Source, Store};
use crate::timestamp::Timestamp;

/// How old an archive that no history names must be before it is removed. Leaves time for readers that still
/// hold the old pointer and for publishers between upload and swap.
pub const PRUNE_AGE: Duration = Duration::from_hours(24);

/// Archives younger than this are in no pruner's sights, whatever its clock says.
const SAFE_AGE: Duration = Duration::from_hours(23);

/// How often a publisher writes an archive that keeps vanishing.
const MOST_WRITES: usize = 3;

/// How to publish.
#[derive(Debug, Clone)]
pub struct PublishOptions {
    /// How many earlier versions the history names, and so keeps.
    pub keep: usize,
    /// Only says what would be done.
    pub dry_run: bool,
    /// The time of publishing.
    pub now: SystemTime,
    /// How long a deletion that another publisher has begun may take to arrive. Waited only when the archive was
    /// found in the storage, old and named by no history.
    pub settle: Duration,
    /// What to say about the version; at most [`MAX_NOTE_CHARACTERS`](crate::MAX_NOTE_CHARACTERS), the rest is cut.
    pub note: Option<String>,
}

impl PublishOptions {
    /// Returns the usual options: ten earlier versions are kept.
    #[must_use]
    pub fn at(now: SystemTime) -> Self {
        Self { keep: 10, dry_run: false, now, settle: Duration::from_secs(35), note: None }
    }
}

/// What happened to the archive object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveWrite {
    /// It was written.
    Uploaded,
    /// It was there, whole, and was left alone.
    AlreadyThere,
    /// It was there but broken, or vanished, and was written again.
    Restored,
}

/// What publishing did, or would do in a dry run.
#[derive(Debug)]
pub struct PublishOutcome {
    /// What is served now.
    pub current: Version,
    /// What was served before.
    pub previous: Option<Version>,
    /// What happened to the archive object.
    pub archive: ArchiveWrite,
    /// Whether the pointer was written. It is not when the current version was built from the same inputs.
    pub switched: bool,
    /// The archives that were removed.
    pub pruned: Vec<ObjectInfo>,
    /// Why pruning stopped, if it did. The publish itself holds all the same.
    pub prune_problem: Option<StorageError>,
}

/// What rolling back did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RollbackOutcome {
    /// What is served now.
    pub current: Version,
    /// What was served before.
    pub previous: Version,
    /// The versions whose changes readers no longer see, the latest first. Empty when a later version is served again.
    pub taken_back: Vec<Version>,
}

/// Publishes an archive file. Running it again writes nothing.
pub async fn publish(
    storage: &dyn Store,
    file: &Path,
    options: &PublishOptions,
    progress: &Progress,
) -> Result<PublishOutcome, StorageError> {
    let opened = LocalFile::open(file);
    let opened = opened.map_err(|source| StorageError::Io { verb: "open", path: file.to_owned(), source })?;
    publish_file(storage, opened, options, progress).await
}

/// Publishes an archive file that is open, which may have no name any more. Running it again writes nothing.
pub async fn publish_file(
    storage: &dyn Store,
    file: LocalFile,
    options: &PublishOptions,
    progress: &Progress,
) -> Result<PublishOutcome, StorageError> {
    let local = LocalArchive::open(file)?;
    let known = read_pointer(storage).await?;
    let current = known.as_ref().map(|(pointer, _)| &pointer.current);

    if let Some(current) = current.filter(|current| current.built_from == local.built_from) {
        let served = is_whole(storage, current.digest, current.bytes).await?;
        // Equal inputs may have been built into other bytes by another build of the indexer. What is served
        // stays; only if it is gone is there something to do: restore it, or go on and publish ours.
        if served || current.digest == local.digest {
            let archive = match (served, options.dry_run) {
                (true, _) => ArchiveWrite::AlreadyThere,
                (false, true) => ArchiveWrite::Restored,
                (false, false) => {
                    local.write(storage, progress).await?;
                    ArchiveWrite::Restored
                }
            };
            return Ok(PublishOutcome {
                current: current.clone(),
                previous: None,
                archive,
                switched: false,
                pruned: Vec::new(),
                prune_problem: None,
            });
        }
    }

    let next = Version {
        digest: local.digest,
        bytes: local.file.length(),
        built_from: local.built_from,
        published_at: Timestamp::from(options.now),
        changes: changes::count(storage, current, &local.archive, &local.file).await,
        note: options.note.as_ref().map(|note| note.chars().take(MAX_NOTE_CHARACTERS).collect()),
    };
    let mut next_pointer = match &known {
        Some((pointer, _)) => pointer.switched_to(next.clone(), options.keep),
        None => Pointer { current: next.clone(), history: Vec::new(), opening: None },
    };
    next_pointer.opening = Some(local.opening.clone());
    let mut outcome = PublishOutcome {
        previous: current.cloned(),
        current: next,
        archive: ArchiveWrite::Uploaded,
        switched: true,
        pruned: Vec::new(),
        prune_problem: None,
    };

    if options.dry_run {
        if is_whole(storage, local.digest, local.file.length()).await? {
            outcome.archive = ArchiveWrite::AlreadyThere;
        }
        match prunable(storage, options.now).await {
            Ok(old) => {
                outcome.pruned = old
                    .into_iter()
                    .filter(|old| !next_pointer.names(old.digest))
                    .map(|old| old.info)
                    .collect();
            }
            Err(problem) => outcome.prune_problem = Some(problem),
        }
        return Ok(outcome);
    }

    outcome.archive = local.write(storage, progress).await?;
    local.check_unchanged(storage, outcome.archive).await?;
    let unnamed_before = known.as_ref().is_none_or(|(pointer, _)| !pointer.names(local.digest));
    let endangered = outcome.archive == ArchiveWrite::AlreadyThere
        && unnamed_before
        && local.is_old(storage, options.now).await;

    let etag = known.as_ref().map(|(_, etag)| etag);
    storage.compare_and_swap(POINTER_KEY, next_pointer.to_json(), etag).await?;

    if local.write(storage, progress).await? != ArchiveWrite::AlreadyThere {
        outcome.archive = ArchiveWrite::Restored;
    }
    if endangered {
        tokio::time::sleep(options.settle).await;
        if local.write(storage, progress).await? != ArchiveWrite::AlreadyThere {
            outcome.archive = ArchiveWrite::Restored;
        }
    }
    outcome.prune_problem = prune(storage, options.now, &mut outcome.pruned).await.err();
    Ok(outcome)
}

/// Serves an earlier version again: the one with that digest, or the one before the current one. Doing the latter again
/// and again leads to ever earlier ones.
pub async fn rollback(
    storage: &dyn Store,
    target: Option<ContentHash>,
) -> Result<RollbackOutcome, StorageError> {
    let store = || storage.describe();
    let Some((pointer, etag)) = read_pointer(storage).await? else {
        return Err(StorageError::NothingPublished { store: store() });
    };
    let previous = pointer.current.clone();
    let target = match (target, pointer.earlier().first()) {
        (Some(digest), _) => digest,
        (None, Some(version)) => version.digest,
        (None, None) => {
            return Err(StorageError::NoEarlierVersion {
                store: store(),
                published_at: previous.published_at,
                others: pointer.rolled_back().len(),
            });
        }
    };
    let Some(mut next) = pointer.rolled_back_to(target) else {
        return Err(StorageError::NotInHistory { store: store(), digest: target });
    };
    let current = next.current.clone();
    if current.digest == previous.digest {
        return Ok(RollbackOutcome { current, previous, taken_back: Vec::new() });
    }
    let place = pointer.earlier().iter().position(|version| version.digest == current.digest);
    let taken_back = place.map_or_else(Vec::new, |place| {
        std::iter::once(&previous).chain(pointer.earlier().iter().take(place)).cloned().collect()
    });
    if !is_whole(storage, current.digest, current.bytes).await? {
        return Err(StorageError::ArchiveGone {
            object: format!("{}/{}", store(), archive_key(current.digest)),
        });
    }
    next.opening = opening_of(storage, &current).await?;
    storage.compare_and_swap(POINTER_KEY, next.to_json(), Some(&etag)).await?;
    Ok(RollbackOutcome { current, previous, taken_back })
}

/// Returns what is served and what was served before.
pub async fn history(storage: &dyn ReadStore) -> Result<Pointer, StorageError> {
    match read_pointer(storage).await? {
        Some((pointer, _)) => Ok(pointer),
        None => Err(StorageError::NothingPublished { store: storage.describe() }),
    }
}

/// An archive file about to be published.
struct LocalArchive {
    archive: Archive,
    digest: ContentHash,
    built_from: ContentHash,
    opening: PointerOpening,
    file: LocalFile,
}

impl LocalArchive {
    fn open(file: LocalFile) -> Result<Self, StorageError> {
        let path = || file.path().to_owned();
        let refused = |error: OpenError| match error {
            OpenError::Storage(error) => error,
            OpenError::Archive(source) => StorageError::BadArchive { path: path(), source },
        };
        let archive = Archive::open(&file).map_err(refused)?;
        let head = Span { offset: 0, length: file.length().min(HEAD_MAGIC.len() as u64) };
        let head = file.read_at(head).map_err(refused)?;
        Trailer::check_head(&head).map_err(|source| refused(source.into()))?;
        if archive.root().entries.to_native() == 0 {
            return Err(StorageError::NoEntries { path: path() });
        }
        let built_from = ContentHash::from(&archive.root().built_from);
        let length = file.length().min(TAIL_BYTES);
        let tail = file.read_at(Span { offset: file.length() - length, length }).map_err(refused)?;
        let opening = PointerOpening::of(&archive, &tail);
        Ok(Self { digest: archive.digest(), archive, built_from, opening, file })
    }

    /// Makes sure that what was written is what the digest names: takes it back if the file changed meanwhile.
    async fn check_unchanged(&self, storage: &dyn Store, written: ArchiveWrite) -> Result<(), StorageError> {
        if !self.file.is_changed() {
            return Ok(());
        }
        if written != ArchiveWrite::AlreadyThere {
            storage.delete(&archive_key(self.digest)).await?;
        }
        Err(StorageError::SourceChanged { path: self.file.path().to_owned() })
    }

    /// Makes sure that the archive object is there and whole.
    async fn write(&self, storage: &dyn Store, progress: &Progress) -> Result<ArchiveWrite, StorageError> {
        let key = archive_key(self.digest);
        let mut written = ArchiveWrite::Uploaded;
        for _ in 0..MOST_WRITES {
            match presence(storage, self.digest, self.file.length()).await? {
                Presence::Whole if written == ArchiveWrite::Uploaded => {
                    return Ok(ArchiveWrite::AlreadyThere);
                }
                Presence::Whole => return Ok(written),
                Presence::Absent => {}
                // Another file of that name, put there by hand or by another tool: it can serve nobody.
                Presence::Broken => {
                    storage.delete(&key).await?;
                    written = ArchiveWrite::Restored;
                }
            }
            if storage.put_if_absent(&key, Source::File(self.file.clone()), progress).await?
                == PutOutcome::Created
            {
                return Ok(written);
            }
        }
        Err(StorageError::DoesNotStay { object: format!("{}/{key}", storage.describe()) })
    }

    /// Says whether the archive object is old enough for a pruner to have looked at it. Unknown counts as old.
    async fn is_old(&self, storage: &dyn Store, now: SystemTime) -> bool {
        let Ok(objects) = storage.list(ARCHIVES_PREFIX).await else { return true };
        let key = archive_key(self.digest);
        let modified = objects.into_iter().find(|object| object.key == key).map(|object| object.modified);
        modified.is_none_or(|modified| age(now, modified) >= SAFE_AGE)
    }
}

/// How an archive object lies in the storage.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    Absent,
    Broken,
    Whole,
}

/// Looks at the length and the end of an archive object. The end is the trailer, whose hash is the digest and
/// which vouches for the rest.
async fn presence(
    storage: &dyn ReadStore,
    digest: ContentHash,
    length: u64,
) -> Result<Presence, StorageError> {
    let tail = match storage.object(&archive_key(digest), None).await {
        Ok(object) => object.tail(TRAILER_BYTES as u64).await,
        Err(error) => Err(error),
    };
    match tail {
        Ok(tail) if tail.total_length == length && ContentHash::of(&tail.bytes) == digest => {
            Ok(Presence::Whole)
        }
        Ok(_) => Ok(Presence::Broken),
        Err(error) if error.is_not_found() => Ok(Presence::Absent),
        Err(error) => Err(error),
    }
}

async fn is_whole(storage: &dyn ReadStore, digest: ContentHash, length: u64) -> Result<bool, StorageError> {
    Ok(presence(storage, digest, length).await? == Presence::Whole)
}

/// Says how a published version is opened. `None` if it is of a format that this build does not read: others may.
async fn opening_of(
    storage: &dyn ReadStore,
    version: &Version,
) -> Result<Option<PointerOpening>, StorageError> {
    let object = storage.object(&archive_key(version.digest), Some(version.bytes)).await?;
    let tail = object.tail(TAIL_BYTES).await?;
    match open_archive(object.as_ref(), tail.clone()).await {
        Ok(archive) => Ok(Some(PointerOpening::of(&archive, &tail.bytes))),
        Err(OpenError::Archive(_)) => Ok(None),
        Err(OpenError::Storage(error)) => Err(error),
    }
}

async fn read_pointer(storage: &dyn ReadStore) -> Result<Option<(Pointer, Etag)>, StorageError> {
    match Pointer::read(storage, None).await? {
        Fetched::Changed { value, etag } => Ok(Some((value, etag))),
        Fetched::Missing | Fetched::Unchanged => Ok(None),
    }
}

/// An archive object old enough to go.
struct OldArchive {
    digest: ContentHash,
    info: ObjectInfo,
}

/// Lists the archives that are old enough to go, named or not. Other objects are left alone.
async fn prunable(storage: &dyn Store, now: SystemTime) -> Result<Vec<OldArchive>, StorageError> {
    let objects = storage.list(ARCHIVES_PREFIX).await?;
    let old = objects.into_iter().filter(|object| age(now, object.modified) > PRUNE_AGE);
    Ok(old.filter_map(|info| Some(OldArchive { digest: digest_of_key(&info.key)?, info })).collect())
}

/// Removes old archives that no history names and notes them in `pruned`.
async fn prune(
    storage: &dyn Store,
    now: SystemTime,
    pruned: &mut Vec<ObjectInfo>,
) -> Result<(), StorageError> {
    let mut known: Option<(Pointer, Etag)> = None;
    for old in prunable(storage, now).await? {
        // Asked again each time, right before deleting: another publisher may have named it since.
        match Pointer::read(storage, known.as_ref().map(|(_, etag)| etag)).await? {
            Fetched::Changed { value, etag } => known = Some((value, etag)),
            Fetched::Unchanged => {}
            Fetched::Missing => return Err(StorageError::NothingPublished { store: storage.describe() }),
        }
        if known.as_ref().is_some_and(|(pointer, _)| !pointer.names(old.digest)) {
            storage.delete(&old.info.key).await?;
            pruned.push(old.info);
        }
    }
    Ok(())
}

fn age(now: SystemTime, modified: SystemTime) -> Duration {
    now.duration_since(modified).unwrap_or_default()
}
