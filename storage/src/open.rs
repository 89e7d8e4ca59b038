//! Opening an archive that lies in a store.

use wakashu_archive::{Archive, ArchiveError, Opening};

use crate::error::StorageError;
use crate::storage::{Object, Tail};

/// Why an archive in a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The bytes are not an archive this build reads.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
}

/// Opens the archive in `object`, whose end is known. Reads the root if that end does not contain it.
pub async fn open_archive(object: &dyn Object, tail: Tail) -> Result<Archive, OpenError> {
    let mut opening = Opening::from_tail(tail.bytes, tail.total_length)?;
    loop {
        match opening {
            Opening::Ready(archive) => return Ok(archive),
            Opening::Needs(missing) => {
                let bytes = object.read(missing.span()).await?;
                opening = missing.supply(&bytes)?;
            }
        }
    }
}
