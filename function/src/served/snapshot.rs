//! What the server knows at one moment: one archive or none. A request sees one snapshot from start to end.

use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use wakashu_archive::ContentHash;
use wakashu_storage::{Pointer, Timestamp};

use crate::served::index::Index;
use crate::served::limits::MAX_TITLE_CHARACTERS;

/// The collection's title until an archive says otherwise.
pub(crate) const DEFAULT_TITLE: &str = "遠慮したラップトップ和歌集";

/// Whether there is an index to answer from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexState {
    /// No archive is configured.
    NotConfigured,
    /// One is configured but could not be opened yet.
    Unavailable,
    /// One is open.
    Ready,
}

impl IndexState {
    /// Returns the state's name, as `index_status` and the health page show it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotConfigured => "NOT_CONFIGURED",
            Self::Unavailable => "UNAVAILABLE",
            Self::Ready => "READY",
        }
    }
}

/// An archive that is being served.
#[derive(Debug, Clone)]
#[expect(clippy::struct_field_names, reason = "what `index_status` calls it")]
pub struct Loaded {
    /// The archive.
    pub index: Arc<Index>,
    /// Its digest, written out once.
    pub digest: Arc<str>,
    /// When it was published, or the file's own time.
    pub published_at: Option<Timestamp>,
    /// When this process opened it.
    pub loaded_at: Timestamp,
}

/// Fragments of answers that depend on the archive alone, written once for each archive. The layers
/// above prepare them; here they are only kept.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// `"tools":[…]`, spliced into answers: it is the longest of them.
    pub(crate) tools: Bytes,
    /// `"supportedVersions":…,"capabilities":…,"instructions":…`
    pub(crate) discover: String,
    /// `"capabilities":…,"serverInfo":…,"instructions":…`
    pub(crate) initialize: String,
    /// `"_meta":{…serverInfo…}`
    pub(crate) stamp: String,
    /// How long clients may keep lists.
    pub(crate) list_ttl_ms: u64,
}

/// What the prepared fragments rest on.
#[derive(Debug)]
pub(crate) struct Basis<'a> {
    pub(crate) title: &'a str,
    /// Whether an archive is open.
    pub(crate) is_ready: bool,
    pub(crate) can_push: bool,
    pub(crate) tools_off: &'a [&'static str],
}

/// How the fragments are prepared, and what besides the archive they depend on.
#[derive(Debug, Clone)]
pub(crate) struct Preparing {
    pub(crate) prepare: fn(&Basis<'_>) -> Prepared,
    /// Whether clients are told of changes.
    pub(crate) can_push: bool,
    /// The names of the tools that are switched off.
    pub(crate) tools_off: Vec<&'static str>,
}

impl Preparing {
    fn run(&self, title: &str, is_ready: bool) -> Arc<Prepared> {
        let (can_push, tools_off) = (self.can_push, self.tools_off.as_slice());
        Arc::new((self.prepare)(&Basis { title, is_ready, can_push, tools_off }))
    }
}

/// What the server knows at one moment.
#[derive(Debug)]
pub struct Snapshot {
    configured: bool,
    loaded: Option<Loaded>,
    stale_since: Option<Timestamp>,
    title: String,
    prepared: Arc<Prepared>,
}

impl Snapshot {
    /// Returns a snapshot without an archive.
    pub(crate) fn empty(configured: bool, preparing: &Preparing) -> Self {
        let title = DEFAULT_TITLE.to_owned();
        Self { configured, loaded: None, stale_since: None, prepared: preparing.run(&title, false), title }
    }

    /// Returns a snapshot of an open archive.
    pub(crate) fn ready(index: Arc<Index>, published_at: Option<Timestamp>, preparing: &Preparing) -> Self {
        let title = shortened(&index.archive().root().title, MAX_TITLE_CHARACTERS);
        let digest: Arc<str> = index.archive().digest().to_string().into();
        let prepared = preparing.run(&title, true);
        let loaded = Loaded { index, digest, published_at, loaded_at: SystemTime::now().into() };
        Self { configured: true, loaded: Some(loaded), stale_since: None, title, prepared }
    }

    /// Returns the same archive, marked stale since `since` or fresh again.
    #[must_use]
    pub fn with_staleness(&self, since: Option<Timestamp>) -> Self {
        Self {
            configured: self.configured,
            loaded: self.loaded.clone(),
            stale_since: since,
            title: self.title.clone(),
            prepared: Arc::clone(&self.prepared),
        }
    }

    /// Returns the same archive, opened anew and found sound.
    #[must_use]
    pub(crate) fn renewed(&self, index: Arc<Index>) -> Self {
        let mut renewed = self.with_staleness(None);
        if let Some(loaded) = &mut renewed.loaded {
            loaded.index = index;
        }
        renewed
    }

    /// Returns the same archive, fresh, and published at another time.
    #[must_use]
    pub(crate) fn republished(&self, published_at: Timestamp) -> Self {
        let mut republished = self.with_staleness(None);
        if let Some(loaded) = &mut republished.loaded {
            loaded.published_at = Some(published_at);
        }
        republished
    }

    /// Returns the state.
    #[must_use]
    pub fn state(&self) -> IndexState {
        match (&self.loaded, self.configured) {
            (Some(_), _) => IndexState::Ready,
            (None, true) => IndexState::Unavailable,
            (None, false) => IndexState::NotConfigured,
        }
    }

    /// Returns the archive, if one is open.
    #[must_use]
    pub fn loaded(&self) -> Option<&Loaded> {
        self.loaded.as_ref()
    }

    /// Returns the way to the archive's bytes, if one is open.
    #[must_use]
    pub fn index(&self) -> Option<&Arc<Index>> {
        self.loaded.as_ref().map(|loaded| &loaded.index)
    }

    /// Returns what is served if `pointer` is what a cache has kept from before that.
    pub(crate) fn leftover(&self, pointer: &Pointer) -> Option<ContentHash> {
        let loaded = self.loaded.as_ref()?;
        let digest = loaded.index.archive().digest();
        pointer.is_leftover_before(digest, loaded.published_at?).then_some(digest)
    }

    /// Tells whether an archive is configured at all.
    #[must_use]
    pub fn is_configured(&self) -> bool {
        self.configured
    }

    /// Returns since when refreshing has failed or the archive is known to be damaged where it lies, if so.
    #[must_use]
    pub fn stale_since(&self) -> Option<Timestamp> {
        self.stale_since.or_else(|| self.loaded.as_ref()?.index.doubted_since())
    }

    /// Returns the collection's title.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Returns the fragments that depend on the archive alone.
    pub(crate) fn prepared(&self) -> &Prepared {
        &self.prepared
    }
}

/// Returns `text`, cut to at most `most` characters.
#[must_use]
pub(crate) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}
