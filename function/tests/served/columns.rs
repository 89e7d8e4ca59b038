//! How search columns are read: once, whoever waits for it and however long.
#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures_util::future::join;
use tokio::sync::Semaphore;
use wakashu_archive::{ColumnName, Span};
use wakashu_function::{Index, ReadCache, ReadError, Reading};
use wakashu_storage::{BoxFuture, Object, StorageError, Tail};
use wakashu_support::{Collection, poem};

/// An archive whose parts come when the test lets them; without their bytes, if it says so.
#[derive(Debug)]
struct Slow {
    bytes: Bytes,
    reads: AtomicUsize,
    comes: Semaphore,
    lacks: AtomicUsize,
}

impl Slow {
    fn reads(&self) -> usize {
        self.reads.load(Ordering::SeqCst)
    }
}

impl Object for Slow {
    fn tail(&self, _: u64) -> BoxFuture<'_, Result<Tail, StorageError>> {
        let tail = Tail { bytes: self.bytes.clone(), total_length: self.bytes.len() as u64 };
        Box::pin(std::future::ready(Ok(tail)))
    }

    fn read(&self, span: Span) -> BoxFuture<'_, Result<Bytes, StorageError>> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            self.comes.acquire().await.unwrap().forget();
            if self.lacks.load(Ordering::SeqCst) > 0 {
                self.lacks.fetch_sub(1, Ordering::SeqCst);
                return Err(StorageError::NotFound { object: "archive".to_owned() });
            }
            let (from, to) = (usize::try_from(span.offset).unwrap(), usize::try_from(span.end()).unwrap());
            Ok(self.bytes.slice(from..to))
        })
    }
}

async fn open(search_bytes: u64) -> (Arc<Slow>, Arc<Index>) {
    let bytes = Collection::default().round("第1回").entries((1..=3).map(|rank| poem(rank, None))).bytes();
    let (comes, lacks) = (Semaphore::new(0), AtomicUsize::new(0));
    let object = Arc::new(Slow { bytes, reads: AtomicUsize::new(0), comes, lacks });
    let cache = Arc::new(ReadCache::new(0).with_search_bytes(search_bytes));
    let index = Index::open(Arc::clone(&object) as Arc<dyn Object>, &cache, 0, None).await.unwrap();
    (object, Arc::new(index))
}

/// Begins to wait for a column and gives up at once.
async fn give_up(index: &Arc<Index>, name: ColumnName) {
    let reading = Reading::new(Arc::clone(index));
    tokio::select! {
        biased;
        column = reading.column(name) => unreachable!("it has not come: {column:?}"),
        () = tokio::task::yield_now() => {}
    }
    // A task that was only begun has its turn.
    tokio::task::yield_now().await;
}

/// Before, each search that was given up threw away what it had read, and gave back the room of what was still being read.
#[tokio::test]
async fn who_gives_up_waiting_for_a_column_does_not_end_its_read() {
    let (object, index) = open(u64::MAX).await;
    for _ in 0..3 {
        give_up(&index, ColumnName::Text).await;
        assert_eq!(object.reads(), 1, "the next to ask finds the read of the first");
    }
    object.comes.add_permits(1);
    let reading = Reading::new(Arc::clone(&index));
    let column = reading.column(ColumnName::Text).await.unwrap();
    assert_eq!((column.exact().len(), object.reads()), (3, 1));
}

#[tokio::test]
async fn a_column_that_is_still_being_read_takes_its_room() {
    let (_, index) = open(u64::MAX).await;
    let length = |name| index.archive().column(name).unwrap().length;
    let (text, prompt) = (length(ColumnName::Text), length(ColumnName::Prompt));
    let (object, index) = open(text + prompt - 1).await;
    give_up(&index, ColumnName::Text).await;
    let reading = Reading::new(Arc::clone(&index));
    let refused = reading.column(ColumnName::Prompt).await.unwrap_err();
    assert!(matches!(refused, ReadError::ColumnTooLarge { needed } if needed == text + prompt), "{refused}");
    // One that fails gives it back.
    object.lacks.store(1, Ordering::SeqCst);
    object.comes.add_permits(2);
    assert!(reading.column(ColumnName::Text).await.is_err());
    assert!(reading.column(ColumnName::Prompt).await.is_ok());
}

#[tokio::test]
async fn a_read_that_fails_fails_for_all_who_wait_and_is_made_again_for_the_next() {
    let (object, index) = open(u64::MAX).await;
    object.lacks.store(2, Ordering::SeqCst);
    // Nobody waits for the end of this one: nobody is told of it later.
    give_up(&index, ColumnName::Text).await;
    object.comes.add_permits(1);
    tokio::task::yield_now().await;
    give_up(&index, ColumnName::Text).await;
    assert_eq!(object.reads(), 2);
    object.comes.add_permits(1);
    let (one, other) = (Reading::new(Arc::clone(&index)), Reading::new(Arc::clone(&index)));
    let failed = join(one.column(ColumnName::Text), other.column(ColumnName::Text)).await;
    assert!(failed.0.is_err() && failed.1.is_err());
    assert!(one.is_gone() && other.is_gone(), "both have learnt that the archive is gone");
    assert_eq!(object.reads(), 2);
    object.comes.add_permits(1);
    let next = Reading::new(index);
    assert!(next.column(ColumnName::Text).await.is_ok() && !next.is_gone());
    assert_eq!(object.reads(), 3);
}
