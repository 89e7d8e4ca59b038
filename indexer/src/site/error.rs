//! Why a folder could not be written.

use std::io;
use std::path::Path;

use wakashu_storage::{OpenError, StorageError};

use crate::problem::printable_path;
use crate::words::site::failure;
use crate::words::{self, Remark};

/// Why a site could not be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SiteError {
    /// Something of this machine failed.
    #[error("could not {verb} `{path}`")]
    Io {
        /// What was tried.
        verb: &'static str,
        path: String,
        #[source]
        source: io::Error,
    },
    /// Files of the site's names are there, and this program has not written them.
    #[error("`{folder}` already has {} of the site's names, and not from here: `{}`", count, names.join("`, `"))]
    Foreign {
        folder: String,
        count: usize,
        /// The first few.
        names: Vec<String>,
    },
    /// Another run is writing there.
    #[error("another export is writing to `{folder}`")]
    Busy { folder: String },
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The list of what was written is not one.
    #[error("`{path}` is damaged: {reason}")]
    BadList { path: String, reason: String },
}

impl SiteError {
    pub(crate) fn io(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = printable_path(path);
        move |source| Self::Io { verb, path, source }
    }
}

impl SiteError {
    /// Returns what to do next, where there is something to say.
    pub(crate) fn hint(&self) -> Option<Remark> {
        match self {
            Self::Foreign { .. } => Some(failure::foreign()),
            Self::Busy { .. } => Some(words::failure::busy()),
            Self::BadList { path, .. } => Some(failure::list(path)),
            Self::Storage(error) | Self::Open(OpenError::Storage(error)) => {
                words::failure::storage_hint(error)
            }
            Self::Io { .. } | Self::Open(_) => None,
        }
    }
}
