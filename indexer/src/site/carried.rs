//! What earlier deploys leave: fetched from the live site, or found in the folder.

use std::path::Path;

use bytes::Bytes;
use wakashu_archive::{ContentHash, Span};
use wakashu_storage::{LocalFile, ReadStore, StorageError, Version, archive_key};

use super::deploys::Needed;
use super::error::SiteError;
use crate::source::{self, Source};

/// What is carried over.
#[derive(Debug, Default)]
pub(crate) struct Carried {
    pub(crate) archives: Vec<Source>,
    /// What pages load, by its path.
    pub(crate) files: Vec<(String, Bytes)>,
    /// Archives that could not be had.
    pub(crate) lost: Vec<ContentHash>,
}

impl Carried {
    /// Fetches it all. What is gone is left out; a host that does not answer is an error, because what it has would be
    /// missing from the next deploy.
    ///
    /// Archives of a folder on this machine, `local`, are used where they lie.
    pub(crate) async fn fetch(
        store: &dyn ReadStore,
        local: Option<&Path>,
        versions: &[Version],
        files: &[Needed],
    ) -> Result<Self, SiteError> {
        let mut carried = Self::default();
        for version in versions {
            match archive(store, local, version).await {
                Ok(Some(archive)) => carried.archives.push(archive),
                Ok(None) => carried.lost.push(version.digest),
                Err(error) => return Err(error),
            }
        }
        for needed in files {
            let content = match small(store, needed).await {
                Err(StorageError::NotFound { .. } | StorageError::OtherLength { .. }) => continue,
                content => content?,
            };
            if needed.is(&content) {
                carried.files.push((needed.path.clone(), content));
            }
        }
        Ok(carried)
    }
}

/// Fetches an archive; nothing if it is gone or another.
async fn archive(
    store: &dyn ReadStore,
    local: Option<&Path>,
    version: &Version,
) -> Result<Option<Source>, SiteError> {
    let key = archive_key(version.digest);
    let file = match store.object(&key, Some(version.bytes)).await {
        Ok(object) => match local.and_then(|folder| LocalFile::open(&folder.join(&key)).ok()) {
            Some(file) => Ok(file),
            None => source::fetch(object.as_ref(), version.bytes, &key).await,
        },
        Err(error) => Err(error),
    };
    let file = match file {
        Err(StorageError::NotFound { .. } | StorageError::OtherLength { .. }) => return Ok(None),
        file => file?,
    };
    let source = Source::open(file, Some(version.published_at))?;
    Ok(Some(source).filter(|source| source.digest() == version.digest))
}

async fn small(store: &dyn ReadStore, needed: &Needed) -> Result<Bytes, StorageError> {
    let object = store.object(&needed.path, Some(needed.bytes)).await?;
    object.read(Span { offset: 0, length: needed.bytes }).await
}
