//! The verbs, one file each.

pub mod add;
pub mod book;
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

use wakashu_storage::{Location, OpenError, ReadStore, StorageError, Store};

use crate::archive_file::ReadError;
use crate::begun::BegunError;
use crate::output::OutputError;
use crate::site::SiteError;
use crate::walk::WalkError;
use crate::words::{Remark, failure, talk};

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
    if error.is::<OutputError>() {
        return Some(failure::output());
    }
    if let Some(error) = error.downcast_ref::<BegunError>()
        && let Some(hint) = failure::begun_hint(error)
    {
        return Some(hint);
    }
    if error.is::<wakashu_archive::ParseHashError>() {
        return Some(failure::digest());
    }
    if let Some(error) = error.downcast_ref::<StorageError>() {
        return failure::storage_hint(error);
    }
    if let Some(error) = error.downcast_ref::<SiteError>()
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

/// Returns what kept a verb from running and why, in both languages as far as this program knows the reasons.
pub(crate) fn reasons(error: &anyhow::Error) -> Remark {
    let reasons: Vec<Remark> = error.chain().map(reason).collect();
    let joined =
        |said: fn(&Remark) -> &str, between| reasons.iter().map(said).collect::<Vec<_>>().join(between);
    Remark { en: joined(|remark| &remark.en, ": "), ja: joined(|remark| &remark.ja, "：") }
}

fn reason(error: &(dyn std::error::Error + 'static)) -> Remark {
    let en = error.to_string();
    if let Some(error) = error.downcast_ref::<WalkError>() {
        error.remark()
    } else if let Some(error) = error.downcast_ref::<OutputError>() {
        error.remark()
    } else if let Some(error) = error.downcast_ref::<build::BuildError>() {
        match error {
            build::BuildError::Walk(error) => error.remark(),
            build::BuildError::Output(error) => error.remark(),
            build::BuildError::Io { path, .. } => failure::unwritable(path, en),
            build::BuildError::Write(_) => failure::archive_unwritten(en),
        }
    } else if let Some(ReadError::Io { path, .. }) = error.downcast_ref::<ReadError>() {
        failure::unreadable(path, en)
    } else if let Some(error) = error.downcast_ref::<BegunError>() {
        failure::begun(error)
    } else if let Some(error) = error.downcast_ref::<SiteError>() {
        failure::site(error)
    } else if let Some(error) = error.downcast_ref::<StorageError>() {
        failure::storage(error)
    } else if let Some(OpenError::Storage(error)) = error.downcast_ref::<OpenError>() {
        failure::storage(error)
    } else if let Some(error) = error.downcast_ref::<std::io::Error>() {
        talk::system_says(error)
    } else {
        Remark { ja: en.clone(), en }
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
