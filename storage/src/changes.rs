//! What a version changed, as people count it: rounds and poems.
//!
//! Counted once, when it is published, by comparing with what is served until then. Pages with equal hashes are the same
//! poems and are not read. A picture that moved inside the file changes its page's hash, so pages that differ are
//! compared poem by poem. A poem is what stands at one rank of one round: its address, as readers know it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;
use wakashu_archive::{
    Archive, ArchivedChunk, ArchivedEntry, ArchivedRound, ContentHash, Period, TAIL_BYTES,
};

use crate::error::StorageError;
use crate::file::LocalFile;
use crate::open::open_archive;
use crate::pointer::{Version, archive_key};
use crate::storage::{Object, ReadStore};

/// Most bytes of pages that are read to count, both versions together. Beyond, a version is published uncounted.
const MAX_COMPARED_BYTES: u64 = 128 << 20;

/// Pages that are asked for at a time.
const AT_A_TIME: usize = 16;

/// How many of one kind a version added, changed and removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Not there before.
    pub added: u32,
    /// There before, and different.
    pub changed: u32,
    /// No longer there.
    pub removed: u32,
}

/// What a version changed against the one that was served before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// Rounds; one is changed if its texts, its period or any of its poems are.
    pub rounds: Counts,
    /// Poems, by round and rank.
    pub poems: Counts,
}

/// Counts what `new`, which lies in `file`, changes against `before`. `None` if that cannot be told: the archive before
/// is gone, is of a format this build does not read, or the comparison would be too large.
pub(crate) async fn count(
    storage: &dyn ReadStore,
    before: Option<&Version>,
    new: &Archive,
    file: &LocalFile,
) -> Option<Changes> {
    let new = (new, Arc::new(file.clone()) as Arc<dyn Object>);
    let Some(before) = before else { return compare(None, new).await.ok() };
    let object = storage.object(&archive_key(before.digest), Some(before.bytes)).await.ok()?;
    let tail = object.tail(TAIL_BYTES).await.ok()?;
    let archive = open_archive(object.as_ref(), tail).await.ok()?;
    compare(Some((&archive, object)), new).await.ok()
}

/// The comparison was given up.
struct GivenUp;

impl From<StorageError> for GivenUp {
    fn from(_: StorageError) -> Self {
        Self
    }
}

/// An entry is the same if this is: its words and its picture, wherever they lie.
type Entries = BTreeMap<u32, ContentHash>;

async fn compare(
    old: Option<(&Archive, Arc<dyn Object>)>,
    (new, new_object): (&Archive, Arc<dyn Object>),
) -> Result<Changes, GivenUp> {
    let mut changes = Changes::default();
    let mut left = MAX_COMPARED_BYTES;
    let no_rounds = BTreeMap::new();
    let old_rounds = old.as_ref().map_or(no_rounds, |(archive, _)| by_key(archive));
    let new_rounds = by_key(new);
    for (key, round) in &old_rounds {
        if !new_rounds.contains_key(key) {
            changes.rounds.removed += 1;
            changes.poems.removed += round.entries.to_native();
        }
    }
    for (key, round) in &new_rounds {
        let Some((before, (old_archive, object))) = old_rounds.get(key).zip(old.as_ref()) else {
            changes.rounds.added += 1;
            changes.poems.added += round.entries.to_native();
            continue;
        };
        let (old_chunks, new_chunks) = (differing(before, round), differing(round, before));
        let bytes =
            |chunks: &[&ArchivedChunk]| chunks.iter().map(|chunk| chunk.page.span().length).sum::<u64>();
        left = left.checked_sub(bytes(&old_chunks) + bytes(&new_chunks)).ok_or(GivenUp)?;
        let old_entries = entries_of(old_archive, object, &old_chunks).await?;
        let new_entries = entries_of(new, &new_object, &new_chunks).await?;
        let poems = &mut changes.poems;
        let untouched = *poems;
        poems.removed += count_of(old_entries.keys().filter(|rank| !new_entries.contains_key(rank)));
        for (rank, entry) in &new_entries {
            match old_entries.get(rank) {
                None => poems.added += 1,
                Some(old) if old != entry => poems.changed += 1,
                Some(_) => {}
            }
        }
        changes.rounds.changed += u32::from(*poems != untouched || !same_about(before, round));
    }
    Ok(changes)
}

fn count_of<T>(things: impl Iterator<Item = T>) -> u32 {
    u32::try_from(things.count()).unwrap_or(u32::MAX)
}

fn by_key(archive: &Archive) -> BTreeMap<&str, &ArchivedRound> {
    archive.root().rounds.iter().map(|round| (round.key.as_str(), round)).collect()
}

fn same_about(one: &ArchivedRound, other: &ArchivedRound) -> bool {
    let period = |round: &ArchivedRound| round.period.as_ref().map(Period::from);
    let extras = |round: &ArchivedRound| -> Vec<(String, String)> {
        round.extras.iter().map(|extra| (extra.title.to_string(), extra.text.to_string())).collect()
    };
    one.title == other.title && period(one) == period(other) && extras(one) == extras(other)
}

/// Returns the chunks of a round whose page the other does not have.
fn differing<'a>(round: &'a ArchivedRound, other: &ArchivedRound) -> Vec<&'a ArchivedChunk> {
    let known: std::collections::BTreeSet<[u8; 32]> =
        other.chunks.iter().map(|chunk| chunk.page.hash().0).collect();
    round.chunks.iter().filter(|chunk| !known.contains(&chunk.page.hash().0)).collect()
}

/// Reads the entries of some chunks, several pages at a time.
async fn entries_of(
    archive: &Archive,
    object: &Arc<dyn Object>,
    chunks: &[&ArchivedChunk],
) -> Result<Entries, GivenUp> {
    let mut entries = Entries::new();
    for some in chunks.chunks(AT_A_TIME) {
        let mut reads = JoinSet::new();
        for (place, chunk) in some.iter().enumerate() {
            let (object, span) = (Arc::clone(object), chunk.page.span());
            reads.spawn(async move { (place, object.read(span).await) });
        }
        while let Some(read) = reads.join_next().await {
            let (place, bytes) = read.map_err(|_| GivenUp)?;
            let chunk = some.get(place).ok_or(GivenUp)?;
            let page = archive.page(chunk, bytes?).map_err(|_| GivenUp)?;
            entries.extend(page.entries.iter().map(signed));
        }
    }
    Ok(entries)
}

fn signed(entry: &ArchivedEntry) -> (u32, ContentHash) {
    let mut bytes = Vec::with_capacity(entry.text.len() + 256);
    // Each part with its length before it, so that no two entries read the same.
    let mut part = |part: &[u8]| {
        bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
        bytes.extend_from_slice(part);
    };
    part(entry.text.as_bytes());
    part(entry.yomi.as_deref().unwrap_or_default().as_bytes());
    if let Some(picture) = entry.picture.as_ref() {
        // The smaller ones follow from it, as from the encoder's settings.
        part(&picture.large.hash().0);
    }
    (entry.rank.to_native(), ContentHash::of(&bytes))
}
