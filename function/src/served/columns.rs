//! The search columns of an open archive: each is read once, by a task of its own, whoever waits for it.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use tokio::sync::watch;
use wakashu_archive::{Column, ColumnName, Reference};

use crate::served::cache::Room;
use crate::served::index::{Index, ReadError};

/// Columns up to this size are checked on the spot; larger ones where nobody else waits for the thread.
const ON_THE_SPOT_BYTES: u64 = 1 << 20;

/// What came of a read, once it has ended.
type Outcome = Option<Result<Column, ReadError>>;

/// The search columns that are in memory. They go with their archive.
#[derive(Debug, Default)]
pub(super) struct Columns {
    text: Slot,
    prompt: Slot,
    honka: Slot,
    /// What they take together.
    bytes: AtomicU64,
}

#[derive(Debug, Default)]
struct Slot {
    column: OnceLock<Column>,
    /// The read that was begun last.
    reading: Mutex<Option<watch::Receiver<Outcome>>>,
}

impl Columns {
    fn slot(&self, name: ColumnName) -> &Slot {
        match name {
            ColumnName::Text => &self.text,
            ColumnName::Prompt => &self.prompt,
            ColumnName::Honka => &self.honka,
        }
    }

    /// Returns a column that is in memory.
    pub(super) fn get(&self, name: ColumnName) -> Option<&Column> {
        self.slot(name).column.get()
    }
}

impl Index {
    /// Waits for a column that is being read, or begins to read it. Who gives up waiting ends nothing: the next to ask finds the
    /// same read under way, or its column. So there is one copy of a column at most, and a storage that needs longer than
    /// an answer may take is waited for all the same.
    pub(super) async fn column(
        self: &Arc<Self>,
        name: ColumnName,
        reference: Reference,
    ) -> Result<Column, ReadError> {
        let mut reading = self.reading_of(name, reference);
        let outcome = reading.wait_for(Option::is_some).await.map(|outcome| outcome.clone());
        // Without an outcome the read ended with the program.
        outcome.ok().flatten().unwrap_or(Err(ReadError::Late { seconds: 0 }))
    }

    fn reading_of(self: &Arc<Self>, name: ColumnName, reference: Reference) -> watch::Receiver<Outcome> {
        let slot = self.columns.slot(name);
        let mut reading = slot.reading.lock().unwrap_or_else(PoisonError::into_inner);
        // Closed once the read has ended: one that failed is made again, one that did not stays good.
        let goes_on = |reading: &&watch::Receiver<Outcome>| reading.has_changed().is_ok();
        if let Some(reading) = reading.as_ref().filter(|one| goes_on(one) || slot.column.get().is_some()) {
            return reading.clone();
        }
        let (tell, told) = watch::channel(None);
        let index = Arc::clone(self);
        tokio::spawn(async move {
            let outcome = index.read_column(reference).await;
            if let Ok(column) = &outcome {
                let _ = index.columns.slot(name).column.set(column.clone());
            }
            // Before anybody is told, so that an archive goes with the last who uses it.
            drop(index);
            let _ = tell.send(Some(outcome));
        });
        *reading = Some(told.clone());
        told
    }

    /// Reads a column, for as long as storage allows itself, and verifies it.
    async fn read_column(&self, reference: Reference) -> Result<Column, ReadError> {
        let room = Room::take(&self.columns.bytes, reference.length, self.cache.search_bytes);
        let room = room.map_err(|needed| ReadError::ColumnTooLarge { needed })?;
        let entries = self.archive().root().entries.to_native();
        let open = move |bytes: &Bytes| Column::open(&reference, bytes, entries);
        let column = match self.preloaded(reference.span()).and_then(|part| open(&part).ok()) {
            Some(column) => Ok(column),
            None => match self.object.read(reference.span()).await {
                Ok(bytes) if reference.length <= ON_THE_SPOT_BYTES => open(&bytes).map_err(ReadError::from),
                Ok(bytes) => {
                    let opened = tokio::task::spawn_blocking(move || open(&bytes)).await;
                    opened
                        .map_or(Err(ReadError::Late { seconds: 0 }), |opened| opened.map_err(ReadError::from))
                }
                Err(error) => Err(error.into()),
            },
        };
        let column = column.map_err(|error| self.noticed(reference.span(), reference.hash, error))?;
        room.keep();
        Ok(column)
    }
}
