//! The pointer: the small object that says which archive is served, and which were before.

use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use wakashu_archive::{Archive, ContentHash};

use crate::changes::Changes;
use crate::error::StorageError;
use crate::storage::{Etag, Fetched, ReadStore};
use crate::timestamp::Timestamp;

/// The pointer's key.
pub const POINTER_KEY: &str = "current.json";

/// What the keys of archives begin with.
pub const ARCHIVES_PREFIX: &str = "archives/";

const ARCHIVE_SUFFIX: &str = ".wakashu";

/// Returns the key of the archive with that digest.
#[must_use]
pub fn archive_key(digest: ContentHash) -> String {
    format!("{ARCHIVES_PREFIX}{digest}{ARCHIVE_SUFFIX}")
}

/// Returns the digest an archive's key names; `None` for other keys.
#[must_use]
pub fn digest_of_key(key: &str) -> Option<ContentHash> {
    key.strip_prefix(ARCHIVES_PREFIX)?.strip_suffix(ARCHIVE_SUFFIX)?.parse().ok()
}

/// One published archive, as the pointer names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// The archive's digest, which is its name.
    #[serde(with = "hex")]
    pub digest: ContentHash,
    /// Its length.
    pub bytes: u64,
    /// Digest of the inputs and encoder settings it was built from.
    #[serde(with = "hex")]
    pub built_from: ContentHash,
    /// When it was first published.
    pub published_at: Timestamp,
    /// What it changed when it was published. Nobody may have counted, as in pointers of older builds.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "if_readable")]
    pub changes: Option<Changes>,
    /// What its publisher had to say about it, in at most [`MAX_NOTE_CHARACTERS`].
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "if_readable")]
    pub note: Option<String>,
}

/// Most characters of a publisher's note.
pub const MAX_NOTE_CHARACTERS: usize = 500;

/// Reads what is told by the way: in another form than ours it counts as left out.
fn if_readable<'de, D: Deserializer<'de>, T: de::DeserializeOwned>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

/// Most bytes of an archive's end that the pointer carries. The root of 5,000 entries fits.
pub const MAX_INLINE_BYTES: u64 = 32 * 1024;

/// The end of the current archive that suffices to open it: root, section table and trailer.
///
/// It spares a cold reader one read. The digest vouches for it like for everything else of the archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PointerOpening {
    /// How many bytes that is.
    pub bytes: u64,
    /// These bytes, if they are at most [`MAX_INLINE_BYTES`]. What is not base64 counts as left out.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "base64_text")]
    pub inline: Option<Bytes>,
}

impl PointerOpening {
    /// Describes how `archive` is opened, given at least the last [`MAX_INLINE_BYTES`] of its file, or all of it.
    #[must_use]
    pub fn of(archive: &Archive, tail: &Bytes) -> Self {
        let bytes = archive.opening_span().length;
        let from = usize::try_from(bytes).ok().and_then(|bytes| tail.len().checked_sub(bytes));
        let inline = from.filter(|_| bytes <= MAX_INLINE_BYTES).map(|from| tail.slice(from..));
        Self { bytes, inline }
    }
}

/// The content of `current.json`. Fields that a newer version may add are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pointer {
    /// What is served.
    #[serde(flatten)]
    pub current: Version,
    /// What was served before, the latest first. Their archives are kept.
    ///
    /// Once something was rolled back, the current version itself stands among them: those before it can be gone back
    /// to, those after it were rolled back from. The place tells and not the time, because times are whole seconds of
    /// whatever clocks the publishers have.
    #[serde(default)]
    pub history: Vec<Version>,
    /// How the current version is opened. Pointers of older builds do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opening: Option<PointerOpening>,
}

impl Pointer {
    /// Reads the pointer of a storage, unless it is still the one `known` names.
    pub async fn read(storage: &dyn ReadStore, known: Option<&Etag>) -> Result<Fetched<Self>, StorageError> {
        Self::parse(storage, storage.get_if_changed(POINTER_KEY, known).await?)
    }

    /// Reads the pointer of a storage, and asks caches on the way not to answer.
    pub async fn read_past_caches(storage: &dyn ReadStore) -> Result<Fetched<Self>, StorageError> {
        Self::parse(storage, storage.get_past_caches(POINTER_KEY).await?)
    }

    fn parse(storage: &dyn ReadStore, fetched: Fetched) -> Result<Fetched<Self>, StorageError> {
        match fetched {
            Fetched::Unchanged => Ok(Fetched::Unchanged),
            Fetched::Missing => Ok(Fetched::Missing),
            Fetched::Changed { value, etag } => {
                let value = serde_json::from_slice(&value).map_err(|source| StorageError::BadPointer {
                    object: format!("{}/{POINTER_KEY}", storage.describe()),
                    source,
                })?;
                Ok(Fetched::Changed { value, etag })
            }
        }
    }

    /// Says whether this pointer is what a cache has kept from before the archive `digest`, published then, was served: it
    /// is older and does not know it. A pointer that went back to an earlier version names what it went back from.
    #[must_use]
    pub fn is_leftover_before(&self, digest: ContentHash, published_at: Timestamp) -> bool {
        !self.names(digest) && self.current.published_at < published_at
    }

    /// Says whether the archive is the current one or in the history.
    #[must_use]
    pub fn names(&self, digest: ContentHash) -> bool {
        self.versions().any(|version| version.digest == digest)
    }

    /// Returns every version once: the current one, those before it, the latest first, then those rolled back from.
    pub fn versions(&self) -> impl Iterator<Item = &Version> {
        std::iter::once(&self.current).chain(self.earlier()).chain(self.rolled_back())
    }

    /// Returns what can be gone back to step by step, the latest first.
    #[must_use]
    pub fn earlier(&self) -> &[Version] {
        self.history.get(..self.own_place()).unwrap_or_default()
    }

    /// Returns what was rolled back from; going back step by step does not lead there.
    #[must_use]
    pub fn rolled_back(&self) -> &[Version] {
        self.history.get(self.own_place() + 1..).unwrap_or_default()
    }

    /// Returns where in the history the current version stands; its end if it does not.
    fn own_place(&self) -> usize {
        let own = self.history.iter().position(|version| version.digest == self.current.digest);
        own.unwrap_or(self.history.len())
    }

    /// Returns the pointer after a switch to `next`: what was current opens the history, of which at most `keep`
    /// versions stay. How `next` is opened is for the caller to say.
    #[must_use]
    pub fn switched_to(&self, next: Version, keep: usize) -> Self {
        let others = |version: &&Version| version.digest != next.digest;
        let earlier = std::iter::once(&self.current).chain(self.earlier()).filter(others);
        let earlier: Vec<Version> = earlier.take(keep).cloned().collect();
        let left = keep - earlier.len();
        let rolled_back = self.rolled_back().iter().filter(others).take(left).cloned().collect();
        Self::new(next, earlier, rolled_back)
    }

    /// Returns the pointer after going back to the version with that digest: what was served since then is rolled back.
    /// A version that was itself rolled back from is served again like a new one. `None` if there is no such version.
    #[must_use]
    pub fn rolled_back_to(&self, digest: ContentHash) -> Option<Self> {
        let earlier = self.earlier();
        let Some(place) = earlier.iter().position(|version| version.digest == digest) else {
            let next = self.versions().find(|version| version.digest == digest)?;
            return Some(self.switched_to(next.clone(), self.history.len()));
        };
        let (since, from) = earlier.split_at(place);
        let (next, before) = from.split_first()?;
        let rolled_back = std::iter::once(&self.current).chain(since).chain(self.rolled_back());
        Some(Self::new(next.clone(), before.to_vec(), rolled_back.cloned().collect()))
    }

    fn new(current: Version, mut history: Vec<Version>, rolled_back: Vec<Version>) -> Self {
        if !rolled_back.is_empty() {
            history.push(current.clone());
            history.extend(rolled_back);
        }
        Self { current, history, opening: None }
    }

    /// Returns the JSON to store: indented, because people read it, and ending in a line feed.
    #[must_use]
    pub fn to_json(&self) -> Bytes {
        // Only maps whose keys are not strings and failing `Serialize` implementations can fail; there are none.
        let mut json = serde_json::to_vec_pretty(self).unwrap_or_default();
        json.push(b'\n');
        json.into()
    }
}

/// Content hashes as 64 hex digits.
mod hex {
    use super::{ContentHash, Deserialize, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(hash: &ContentHash, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(hash)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ContentHash, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// Bytes as base64.
mod base64_text {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::{Bytes, Deserialize, Deserializer, Serializer};

    #[expect(clippy::ref_option, reason = "the signature that serde calls")]
    pub(super) fn serialize<S: Serializer>(bytes: &Option<Bytes>, serializer: S) -> Result<S::Ok, S::Error> {
        match bytes {
            Some(bytes) => serializer.serialize_str(&STANDARD.encode(bytes)),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Bytes>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        Ok(text.and_then(|text| STANDARD.decode(text).ok()).map(Bytes::from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(name: &str) -> Version {
        Version {
            digest: ContentHash::of(name.as_bytes()),
            bytes: 364,
            built_from: ContentHash::of(b"inputs"),
            published_at: "2026-11-16T09:30:00Z".parse().unwrap(),
            changes: None,
            note: None,
        }
    }

    #[test]
    fn a_pointer_reads_back_and_ignores_what_it_does_not_know() {
        let pointer = Pointer { current: version("a"), history: vec![version("b")], opening: None };
        let json = pointer.to_json();
        assert_eq!(serde_json::from_slice::<Pointer>(&json).unwrap(), pointer);

        let mut value: serde_json::Value = serde_json::from_slice(&json).unwrap();
        assert_eq!(value["published_at"], "2026-11-16T09:30:00Z");
        value["signature"] = "new".into();
        value["history"][0]["note"] = 1.into();
        value["changes"] = "many".into();
        assert_eq!(serde_json::from_value::<Pointer>(value.clone()).unwrap(), pointer);

        value["digest"] = "../../etc/passwd".into();
        assert!(serde_json::from_value::<Pointer>(value).is_err());
    }

    #[test]
    fn a_switch_keeps_the_latest_and_repeats_nothing() {
        let pointer =
            Pointer { current: version("a"), history: vec![version("b"), version("c")], opening: None };
        let next = pointer.switched_to(version("d"), 2);
        assert_eq!(
            next,
            Pointer { current: version("d"), history: vec![version("a"), version("b")], opening: None }
        );
        let back = next.switched_to(version("b"), 10);
        assert_eq!(
            back,
            Pointer { current: version("b"), history: vec![version("d"), version("a")], opening: None }
        );
        assert!(pointer.switched_to(version("d"), 0).history.is_empty());
    }

    #[test]
    fn going_back_leads_to_ever_earlier_versions_whatever_the_clocks_say() {
        let names = |pointer: &Pointer| {
            let name = |version: &Version| {
                ["a", "b", "c", "d"]
                    .into_iter()
                    .find(|name| version.digest == ContentHash::of(name.as_bytes()))
            };
            let names = |versions: &[Version]| versions.iter().filter_map(name).collect::<String>();
            format!(
                "{} {} {}",
                names(std::slice::from_ref(&pointer.current)),
                names(pointer.earlier()),
                names(pointer.rolled_back())
            )
        };
        let back = |pointer: &Pointer| pointer.rolled_back_to(pointer.earlier().first()?.digest);
        let digest = |name: &str| ContentHash::of(name.as_bytes());

        let pointer =
            Pointer { current: version("c"), history: vec![version("b"), version("a")], opening: None };
        let once = back(&pointer).unwrap();
        assert_eq!(names(&once), "b a c");
        assert_eq!(once.versions().count(), 3);
        let twice = back(&once).unwrap();
        assert_eq!(names(&twice), "a  bc");
        assert_eq!(back(&twice), None);
        assert_eq!(pointer.rolled_back_to(digest("a")).as_ref().map(names), Some("a  cb".to_owned()));

        // Forward by name, and on with something new: what was rolled back from stays that.
        assert_eq!(twice.rolled_back_to(digest("c")).as_ref().map(names), Some("c a b".to_owned()));
        assert_eq!(twice.rolled_back_to(digest("d")), None);
        let next = twice.switched_to(version("d"), 10);
        assert_eq!(names(&next), "d a bc");
        assert_eq!(back(&next).as_ref().map(names), Some("a  dbc".to_owned()));
        assert_eq!(names(&twice.switched_to(version("d"), 2)), "d a b");
        // Without anything that was rolled back from, the current version is not in the history.
        assert_eq!(twice.switched_to(version("d"), 1).history, [version("a")]);
        assert_eq!(once.switched_to(version("c"), 10), pointer);
    }

    #[test]
    fn an_archive_key_names_its_digest() {
        let digest = ContentHash::of(b"x");
        assert_eq!(digest_of_key(&archive_key(digest)), Some(digest));
        assert_eq!(digest_of_key("archives/notes.txt"), None);
    }
}
