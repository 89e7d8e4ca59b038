//! The verbs, one file each.

pub mod book;
pub mod add;
pub mod build;
pub mod bundle;
pub mod check;
pub mod completions;
pub mod export;
pub mod history;
pub mod new;
pub mod preview;
pub mod publish;
pub mod rollback;
pub mod show;

use std::sync::Arc;

use wakashu_storage::{Location, ReadStore, Store};

use crate::words::Remark;
use crate::words::talk::failure;

/// How a verb ended, when it could run at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Nothing to complain about.
    Fine,
    /// There are findings, or the result is partial.
    Findings,
}

impl Status {
    /// Returns the exit code.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Findings => 1,
        }
    }
}

/// Returns what to do next about an error that kept a verb from running, where there is something to say.
#[must_use]
pub fn hint_of(error: &anyhow::Error) -> Option<Remark> {
    if error.is::<crate::output::OutputError>() {
        return Some(failure::output());
    }
    if error.is::<wakashu_archive::ParseHashError>() {
        return Some(failure::digest());
    }
    if let Some(error) = error.downcast_ref::<wakashu_storage::StorageError>() {
        return error.hint().map(failure::other);
    }
    if let Some(error) = error.downcast_ref::<crate::site::SiteError>()
        && let Some(hint) = error.hint()
    {
        return Some(hint);
    }
    let kind =
        error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>()).map(std::io::Error::kind)?;
    match kind {
        std::io::ErrorKind::NotFound => Some(failure::nothing_there()),
        std::io::ErrorKind::PermissionDenied => Some(failure::permissions()),
        std::io::ErrorKind::StorageFull => Some(failure::disk_full()),
        _ => None,
    }
}

/// Builds the Tokio runtime, for storage and the preview's server.
pub(crate) fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()
}

/// Opens a store to write to, which must not be the address of one archive.
pub(crate) async fn open_store(address: &str) -> anyhow::Result<Arc<dyn Store>> {
    Ok(store_at(address)?.open_for_writing().await?)
}

/// Opens a store to read from, which must not be the address of one archive.
pub(crate) async fn open_store_to_read(address: &str) -> anyhow::Result<Arc<dyn ReadStore>> {
    Ok(store_at(address)?.open().await?)
}

fn store_at(address: &str) -> anyhow::Result<Location> {
    let location: Location = address.parse()?;
    anyhow::ensure!(
        location.archive().is_none(),
        "`{address}` names one archive; name the store that holds it"
    );
    Ok(location)
}
