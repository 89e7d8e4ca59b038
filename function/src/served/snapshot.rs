//! What the server knows at one moment: one archive or none. A request sees one snapshot from start to end.

use std::sync::Arc;
use std::time::SystemTime;

use wakashu_storage::Timestamp;

use crate::mcp::lists::Rendered;
use crate::served::index::Index;
use crate::served::limits::MAX_TITLE_CHARACTERS;
use crate::tools::ToolSet;

/// The collection's title until an archive says otherwise.
pub const DEFAULT_TITLE: &str = "遠慮したラップトップ和歌集";

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

/// What the server knows at one moment.
#[derive(Debug)]
pub struct Snapshot {
    configured: bool,
    loaded: Option<Loaded>,
    stale_since: Option<Timestamp>,
    title: String,
    disabled: ToolSet,
    rendered: Rendered,
}

impl Snapshot {
    /// Returns a snapshot without an archive; the tools in `disabled` are switched off.
    #[must_use]
    pub fn empty(configured: bool, can_push: bool, disabled: ToolSet) -> Self {
        let title = DEFAULT_TITLE.to_owned();
        Self {
            configured,
            loaded: None,
            stale_since: None,
            rendered: Rendered::new(&title, None, can_push, disabled),
            disabled,
            title,
        }
    }

    /// Returns a snapshot of an open archive.
    #[must_use]
    pub fn ready(
        index: Arc<Index>,
        published_at: Option<Timestamp>,
        can_push: bool,
        disabled: ToolSet,
    ) -> Self {
        let title = shortened(&index.archive().root().title, MAX_TITLE_CHARACTERS);
        let digest: Arc<str> = index.archive().digest().to_string().into();
        let rendered = Rendered::new(&title, Some(&digest), can_push, disabled);
        let loaded = Loaded { index, digest, published_at, loaded_at: SystemTime::now().into() };
        Self { configured: true, loaded: Some(loaded), stale_since: None, title, disabled, rendered }
    }

    /// Returns the same archive, marked stale since `since` or fresh again.
    #[must_use]
    pub fn with_staleness(&self, since: Option<Timestamp>) -> Self {
        Self {
            configured: self.configured,
            loaded: self.loaded.clone(),
            stale_since: since,
            title: self.title.clone(),
            disabled: self.disabled,
            rendered: self.rendered.clone(),
        }
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

    /// Tells whether an archive is configured at all.
    #[must_use]
    pub fn is_configured(&self) -> bool {
        self.configured
    }

    /// Returns since when refreshing has failed, if it does.
    #[must_use]
    pub fn stale_since(&self) -> Option<Timestamp> {
        self.stale_since
    }

    /// Returns the collection's title.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Returns the tools that are switched off.
    #[must_use]
    pub fn disabled(&self) -> ToolSet {
        self.disabled
    }

    /// Returns the answers that depend on the archive alone.
    pub(crate) fn rendered(&self) -> &Rendered {
        &self.rendered
    }
}

/// Returns `text`, cut to at most `most` characters.
#[must_use]
pub fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}
