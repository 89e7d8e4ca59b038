//! Answers kept for a while: lists and reads, never calls.
//!
//! A server that says how long its answer holds (`ttlMs`) is believed; others get [`DEFAULT_TTL`]. The key names the
//! server, the authorisation it was asked with, the method and the parameters: what is kept for one is shown to no other,
//! so that either `cacheScope` is heeded. A hit does not prolong an entry's life: what is read often must still come to an
//! end.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

/// How many answers are kept.
pub const MAX_ENTRIES: usize = 1000;
/// How long an answer holds whose server does not say.
pub const DEFAULT_TTL: Duration = Duration::from_mins(1);
/// The longest an answer is kept, whatever its server says.
const MAX_TTL: Duration = Duration::from_hours(24);
/// How many bytes of answers are kept in all.
const MAX_BYTES: usize = 64 << 20;

/// What an answer is an answer to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The server.
    pub server: Arc<str>,
    /// A digest of the credentials it was asked with.
    pub authorisation: u64,
    /// The method.
    pub method: &'static str,
    /// The parameters.
    pub params: String,
}

/// Answers, the least recently used of which go first.
#[derive(Debug)]
pub struct Cache {
    max_entries: usize,
    ttl: Duration,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    entries: HashMap<Key, Entry>,
    /// How often answers of each server were forgotten.
    epochs: HashMap<Arc<str>, u64>,
    /// Keys by when they were last used.
    order: BTreeMap<u64, Key>,
    uses: u64,
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    value: Arc<Value>,
    bytes: usize,
    until: Instant,
    used: u64,
}

impl Default for Cache {
    fn default() -> Self {
        Self::new(MAX_ENTRIES, DEFAULT_TTL)
    }
}

impl Cache {
    /// Makes a cache for that many answers, which hold that long where their server does not say.
    #[must_use]
    pub fn new(max_entries: usize, ttl: Duration) -> Self {
        Self { max_entries, ttl, kept: Mutex::default() }
    }

    /// Tells whether answers to this method may be kept.
    #[must_use]
    pub fn keeps(method: &str) -> bool {
        matches!(
            method,
            "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" | "resources/read"
        )
    }

    /// Returns an answer that still holds.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<Arc<Value>> {
        self.get_at(key, Instant::now())
    }

    fn get_at(&self, key: &Key, now: Instant) -> Option<Arc<Value>> {
        let mut kept = self.lock();
        let entry = kept.entries.get(key)?;
        let (value, used, until) = (Arc::clone(&entry.value), entry.used, entry.until);
        if until <= now {
            kept.remove(key);
            return None;
        }
        kept.uses += 1;
        let use_number = kept.uses;
        kept.order.remove(&used);
        kept.order.insert(use_number, key.clone());
        if let Some(entry) = kept.entries.get_mut(key) {
            entry.used = use_number;
        }
        Some(value)
    }

    /// Counts how often answers of a server were forgotten: to be asked before an answer is asked for.
    #[must_use]
    pub fn epoch(&self, server: &str) -> u64 {
        self.lock().epochs.get(server).copied().unwrap_or_default()
    }

    /// Keeps a result of `bytes` bytes, as long as it says itself or as answers hold by default; not one that was asked for
    /// in another epoch, as it may be from before a change.
    pub fn put(&self, key: Key, value: Arc<Value>, bytes: usize, epoch: u64) {
        if self.epoch(&key.server) == epoch {
            self.put_at(key, value, bytes, Instant::now());
        }
    }

    fn put_at(&self, key: Key, value: Arc<Value>, bytes: usize, now: Instant) {
        let stated = value.get("ttlMs").and_then(Value::as_u64).map(Duration::from_millis);
        let ttl = stated.unwrap_or(self.ttl).min(MAX_TTL);
        if ttl.is_zero() || self.max_entries == 0 || bytes > MAX_BYTES / 4 {
            return;
        }
        let mut kept = self.lock();
        kept.remove(&key);
        kept.uses += 1;
        let used = kept.uses;
        kept.bytes += bytes;
        kept.order.insert(used, key.clone());
        kept.entries.insert(key, Entry { value, bytes, until: now + ttl, used });
        while kept.entries.len() > self.max_entries || kept.bytes > MAX_BYTES {
            let Some(oldest) = kept.order.first_key_value().map(|(_, key)| key.clone()) else { break };
            kept.remove(&oldest);
        }
    }

    /// Forgets the answers of a server to the methods `changed` accepts.
    pub fn forget(&self, server: &str, changed: impl Fn(&str) -> bool) {
        let mut kept = self.lock();
        *kept.epochs.entry(server.into()).or_default() += 1;
        let gone = kept.entries.keys().filter(|key| &*key.server == server && changed(key.method));
        for key in gone.cloned().collect::<Vec<_>>() {
            kept.remove(&key);
        }
    }

    /// Returns how many answers are kept.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().entries.len()
    }

    /// Tells whether none is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn remove(&mut self, key: &Key) {
        if let Some(entry) = self.entries.remove(key) {
            self.order.remove(&entry.used);
            self.bytes -= entry.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key(method: &'static str, params: &str) -> Key {
        Key { server: "a".into(), authorisation: 0, method, params: params.to_owned() }
    }

    fn put(cache: &Cache, key: Key, value: Value) {
        let epoch = cache.epoch(&key.server);
        cache.put(key, Arc::new(value), 10, epoch);
    }

    #[test]
    fn what_was_asked_for_before_a_change_is_not_kept() {
        let cache = Cache::default();
        let epoch = cache.epoch("a");
        cache.forget("a", |method| method == "tools/list");
        cache.put(key("tools/list", ""), Arc::new(json!("old")), 10, epoch);
        assert!(cache.is_empty());
        cache.forget("b", |_| true);
        put(&cache, key("tools/list", ""), json!("new"));
        assert_eq!(cache.len(), 1);
    }

    #[test]
    fn servers_say_how_long_an_answer_holds() {
        let (cache, start) = (Cache::default(), Instant::now());
        for (params, value) in
            [("default", json!({})), ("short", json!({"ttlMs": 5000})), ("none", json!({"ttlMs": 0}))]
        {
            cache.put_at(key("tools/list", params), Arc::new(value), 10, start);
        }
        let holds = |params, millis| {
            cache.get_at(&key("tools/list", params), start + Duration::from_millis(millis)).is_some()
        };
        assert!(!holds("none", 0));
        assert!(holds("short", 4999) && !holds("short", 5000));
        // Hits do not prolong it.
        assert!(holds("default", 59_999) && !holds("default", 60_000));
        assert!(cache.is_empty());
    }

    #[test]
    fn the_least_recently_used_goes_first() {
        let cache = Cache::new(2, DEFAULT_TTL);
        put(&cache, key("tools/list", "1"), json!(1));
        put(&cache, key("tools/list", "2"), json!(2));
        assert!(cache.get(&key("tools/list", "1")).is_some());
        put(&cache, key("tools/list", "3"), json!(3));
        assert!(cache.get(&key("tools/list", "2")).is_none());
        assert_eq!(*cache.get(&key("tools/list", "1")).unwrap(), json!(1));
        assert_eq!(cache.len(), 2);
        cache.put(key("tools/list", "4"), Arc::new(json!(4)), MAX_BYTES, 0);
        assert!(cache.get(&key("tools/list", "4")).is_none());
    }

    #[test]
    fn authorisations_do_not_share_and_changes_forget() {
        let cache = Cache::default();
        put(&cache, key("tools/list", ""), json!(1));
        put(&cache, key("resources/list", ""), json!(2));
        let other = Key { authorisation: 1, ..key("tools/list", "") };
        assert!(cache.get(&other).is_none());
        cache.forget("a", |method| method == "tools/list");
        assert!(cache.get(&key("tools/list", "")).is_none());
        assert!(cache.get(&key("resources/list", "")).is_some());
        cache.forget("b", |_| true);
        assert_eq!(cache.len(), 1);
        assert!(
            Cache::keeps("resources/read") && !Cache::keeps("tools/call") && !Cache::keeps("prompts/get")
        );
    }
}
