//! A simulated store: slow, faulty for a while, published to and pruned.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use wakashu_archive::{ContentHash, Span};
use wakashu_storage::{
    BoxFuture, Etag, Fetched, Object, POINTER_KEY, Pointer, ReadStore, StorageError, Tail, Version,
    archive_key,
};

use super::library::library;
use super::schedule::{Clock, Random};

/// A store of which all copies are the same one.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    clock: Clock,
    held: Arc<Mutex<Held>>,
}

#[derive(Debug)]
struct Held {
    random: Random,
    objects: BTreeMap<String, Bytes>,
    pointer: Option<Pointer>,
    /// Those before it: a cache on the way may have kept one.
    earlier: Vec<Pointer>,
    /// Whether a cache has just answered with one of them.
    has_leftover: bool,
    /// Which archive the pointer named, at every flip.
    named: Vec<usize>,
    /// Which archives were ever removed, also those that came back.
    pruned: BTreeSet<usize>,
    fault_percent: usize,
    /// Seeded bug: keys lead to another archive.
    swaps_archives: bool,
    /// Seeded bug: what a cache has kept cannot be told from what is new.
    dates_leftovers_anew: bool,
    faults: usize,
    leftovers: usize,
}

impl Store {
    pub(crate) fn new(clock: Clock, random: Random, fault_percent: usize) -> Self {
        let held = Held {
            random,
            objects: BTreeMap::new(),
            pointer: None,
            earlier: Vec::new(),
            has_leftover: false,
            named: Vec::new(),
            pruned: BTreeSet::new(),
            fault_percent,
            swaps_archives: false,
            dates_leftovers_anew: false,
            faults: 0,
            leftovers: 0,
        };
        Self { clock, held: Arc::new(Mutex::new(held)) }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn swap_archives(&self) {
        self.held().swaps_archives = true;
    }

    pub(crate) fn date_leftovers_anew(&self) {
        self.held().dates_leftovers_anew = true;
    }

    /// Writes the archive, then the pointer, then removes all but the `keep` latest, as publishing does.
    pub(crate) fn publish(&self, version: usize, keep: usize) {
        let mut held = self.held();
        let published = &library()[version];
        held.objects.insert(archive_key(published.digest), published.bytes.clone());
        let next = Version {
            digest: published.digest,
            bytes: published.bytes.len() as u64,
            built_from: ContentHash::of(&[]),
            published_at: format!("2026-11-16T00:00:{:02}Z", held.named.len()).parse().unwrap(),
            changes: None,
            note: None,
        };
        let pointer = match &held.pointer {
            Some(pointer) => pointer.switched_to(next, keep),
            None => Pointer { current: next, history: Vec::new(), opening: None },
        };
        held.named.push(version);
        for (other, published) in library().iter().enumerate() {
            if !pointer.names(published.digest)
                && held.objects.remove(&archive_key(published.digest)).is_some()
            {
                held.pruned.insert(other);
            }
        }
        let before = held.pointer.replace(pointer);
        held.earlier.extend(before);
        held.has_leftover = false;
    }

    /// Ends all faults, and empties the caches on the way.
    pub(crate) fn heal(&self) {
        let mut held = self.held();
        held.fault_percent = 0;
        held.earlier.clear();
    }

    /// Returns how often the pointer was flipped.
    pub(crate) fn flips(&self) -> usize {
        self.held().named.len()
    }

    /// Returns which archives the pointer named since a number of flips, the one it named then included.
    pub(crate) fn named_since(&self, flips: usize) -> Vec<usize> {
        self.held().named.iter().skip(flips.saturating_sub(1)).copied().collect()
    }

    pub(crate) fn newest(&self) -> Option<usize> {
        self.held().named.last().copied()
    }

    pub(crate) fn was_pruned(&self, version: usize) -> bool {
        self.held().pruned.contains(&version)
    }

    pub(crate) fn faults(&self) -> usize {
        self.held().faults
    }

    pub(crate) fn leftovers(&self) -> usize {
        self.held().leftovers
    }

    /// Takes its time, then perhaps fails.
    async fn work(&self, object: &str) -> Result<(), StorageError> {
        let delay = self.held().random.delay();
        self.clock.sleep(delay).await;
        let mut held = self.held();
        let percent = held.fault_percent;
        if !held.random.chance(percent) {
            return Ok(());
        }
        held.faults += 1;
        let object = object.to_owned();
        Err(match held.random.below(4) {
            0 => StorageError::Timeout { object, seconds: 1 },
            1 => StorageError::Unreachable { object, source: "simulated".into() },
            2 => StorageError::Denied { object, source: "simulated".into() },
            _ => StorageError::ShortRead { object, expected: 2, found: 1 },
        })
    }

    /// Returns the bytes under a key as they are now.
    fn bytes(&self, key: &str) -> Result<Bytes, StorageError> {
        let held = self.held();
        let mut found = held.objects.get(key);
        if held.swaps_archives {
            found = held.objects.values().find(|bytes| Some(*bytes) != found).or(found);
        }
        found.cloned().ok_or_else(|| StorageError::NotFound { object: key.to_owned() })
    }

    /// Returns what a bad line would make of these bytes: now and then one is another.
    fn damaged(&self, bytes: Bytes) -> Bytes {
        let mut held = self.held();
        let percent = held.fault_percent / 2;
        if bytes.is_empty() || !held.random.chance(percent) {
            return bytes;
        }
        held.faults += 1;
        let mut bytes = bytes.to_vec();
        let at = held.random.below(bytes.len());
        bytes[at] ^= 1 << held.random.below(8);
        bytes.into()
    }
}

impl Held {
    fn etag(&self) -> Etag {
        Etag::new(self.named.len().to_string())
    }

    /// Returns one of the earlier pointers, if there is one that does not know the archive that is newest.
    fn leftover(&mut self) -> Option<Fetched> {
        let newest = self.pointer.as_ref()?.current.digest;
        let kept: Vec<usize> =
            (0..self.earlier.len()).filter(|at| !self.earlier[*at].names(newest)).collect();
        if kept.is_empty() {
            return None;
        }
        let at = self.random.pick(&kept);
        let mut pointer = self.earlier[at].clone();
        if self.dates_leftovers_anew {
            pointer.current.published_at = "2027-01-01T00:00:00Z".parse().unwrap();
        }
        (self.has_leftover, self.leftovers) = (true, self.leftovers + 1);
        let value = serde_json::to_vec(&pointer).unwrap().into();
        Some(Fetched::Changed { value, etag: Etag::new(format!("kept {at}")) })
    }
}

impl Store {
    /// Answers with the pointer that is stored.
    async fn stored(&self, known: Option<&Etag>) -> Result<Fetched, StorageError> {
        let (etag, json, garbled) = {
            let mut held = self.held();
            let Some(pointer) = &held.pointer else { return Ok(Fetched::Missing) };
            let json = serde_json::to_vec(pointer).unwrap();
            let percent = held.fault_percent / 2;
            (held.etag(), json, held.random.chance(percent))
        };
        // The answer too takes its way; meanwhile the pointer may flip again.
        let delay = self.held().random.delay();
        self.clock.sleep(delay).await;
        if garbled {
            let mut held = self.held();
            held.faults += 1;
            if held.random.chance(30) {
                return Ok(Fetched::Missing);
            }
            let cut = held.random.below(json.len());
            return Ok(Fetched::Changed { value: Bytes::copy_from_slice(&json[..cut]), etag });
        }
        if known == Some(&etag) {
            return Ok(Fetched::Unchanged);
        }
        Ok(Fetched::Changed { value: json.into(), etag })
    }
}

impl ReadStore for Store {
    /// Says nothing of other lengths: that an archive is another one is for its reader to notice.
    fn object<'a>(
        &'a self,
        key: &'a str,
        _: Option<u64>,
    ) -> BoxFuture<'a, Result<Arc<dyn Object>, StorageError>> {
        Box::pin(async move {
            Ok(Arc::new(Stored { store: self.clone(), key: key.to_owned() }) as Arc<dyn Object>)
        })
    }

    fn get_if_changed<'a>(
        &'a self,
        key: &'a str,
        known: Option<&'a Etag>,
    ) -> BoxFuture<'a, Result<Fetched, StorageError>> {
        Box::pin(async move {
            assert_eq!(key, POINTER_KEY);
            self.work(key).await?;
            // To one who has the newest: of an older one it could not be told that it is left over.
            let leftover = {
                let mut held = self.held();
                let is_newest = known == Some(&held.etag());
                if is_newest && held.random.chance(20) { held.leftover() } else { None }
            };
            if let Some(answer) = leftover {
                return Ok(answer);
            }
            self.stored(known).await
        })
    }

    /// Some caches answer all the same.
    fn get_past_caches<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Fetched, StorageError>> {
        Box::pin(async move {
            assert_eq!(key, POINTER_KEY);
            self.work(key).await?;
            let stubborn = {
                let mut held = self.held();
                let percent = held.fault_percent;
                if std::mem::take(&mut held.has_leftover) && held.random.chance(percent) {
                    held.leftover()
                } else {
                    None
                }
            };
            if let Some(answer) = stubborn {
                return Ok(answer);
            }
            self.stored(None).await
        })
    }

    fn describe(&self) -> String {
        "a simulated store".to_owned()
    }
}

#[derive(Debug)]
struct Stored {
    store: Store,
    key: String,
}

impl Object for Stored {
    fn tail(&self, most: u64) -> BoxFuture<'_, Result<Tail, StorageError>> {
        Box::pin(async move {
            self.store.work(&self.key).await?;
            let whole = self.store.bytes(&self.key)?;
            let from = whole.len().saturating_sub(usize::try_from(most).unwrap());
            let bytes = self.store.damaged(whole.slice(from..));
            Ok(Tail { total_length: whole.len() as u64, bytes })
        })
    }

    fn read(&self, span: Span) -> BoxFuture<'_, Result<Bytes, StorageError>> {
        Box::pin(async move {
            self.store.work(&self.key).await?;
            let whole = self.store.bytes(&self.key)?;
            let (from, to) = (usize::try_from(span.offset).unwrap(), usize::try_from(span.end()).unwrap());
            if to > whole.len() {
                let found = whole.len().saturating_sub(from) as u64;
                return Err(StorageError::ShortRead {
                    object: self.key.clone(),
                    expected: span.length,
                    found,
                });
            }
            Ok(self.store.damaged(whole.slice(from..to)))
        })
    }
}
