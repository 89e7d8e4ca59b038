//! What is kept in memory: never more than allowed, and to the byte what fits.
#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use wakashu_archive::{ArchivedRendition, ColumnName, Span};
use wakashu_function::{Index, ReadCache, ReadError, Reading};
use wakashu_storage::{BoxFuture, Object, StorageError, Tail};
use wakashu_support::{Collection, Pictures, poem};

const RANKS: u32 = 30;

/// Bytes of a picture's file; as base64 it has a third more.
const FILE_BYTES: usize = 3_000;
const STORED_BYTES: u64 = 4_000;

/// What a kept thing weighs besides its bytes.
const OVERHEAD_BYTES: u64 = 128;

/// An archive that is read by range, and counts how often.
#[derive(Debug)]
struct Counted {
    bytes: Bytes,
    reads: AtomicUsize,
}

impl Object for Counted {
    fn tail(&self, most: u64) -> BoxFuture<'_, Result<Tail, StorageError>> {
        let from = self.bytes.len().saturating_sub(usize::try_from(most).unwrap());
        let tail = Tail { bytes: self.bytes.slice(from..), total_length: self.bytes.len() as u64 };
        Box::pin(std::future::ready(Ok(tail)))
    }

    fn read(&self, span: Span) -> BoxFuture<'_, Result<Bytes, StorageError>> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let (from, to) = (usize::try_from(span.offset).unwrap(), usize::try_from(span.end()).unwrap());
        Box::pin(std::future::ready(Ok(self.bytes.slice(from..to))))
    }
}

fn archive() -> Arc<Counted> {
    let pictures = Some(Pictures { small: FILE_BYTES, medium: FILE_BYTES, large: FILE_BYTES });
    let collection =
        Collection::default().round("第1回").entries((1..=RANKS).map(|rank| poem(rank, pictures)));
    Arc::new(Counted { bytes: collection.bytes(), reads: AtomicUsize::new(0) })
}

async fn reading(object: &Arc<Counted>, cache: &Arc<ReadCache>) -> Reading {
    let object = Arc::clone(object) as Arc<dyn Object>;
    Reading::new(Arc::new(Index::open(object, cache, 0, None).await.unwrap()))
}

/// Asks for the same picture twice and counts the reads of the second time.
async fn reads_of_the_second_time(capacity_bytes: u64) -> usize {
    let object = archive();
    // The page has a cache of its own, so that only the picture is weighed.
    let (roomy, tight) = (Arc::new(ReadCache::new(1 << 20)), Arc::new(ReadCache::new(capacity_bytes)));
    let pages = reading(&object, &roomy).await;
    let page = pages.page(&pages.archive().root().rounds[0].chunks[0]).await.unwrap();
    let rendition: &ArchivedRendition = &page.entries[0].picture.as_ref().unwrap().small;
    let index = reading(&object, &tight).await;
    for picture in index.pictures([rendition]).await {
        assert_eq!(picture.unwrap().len() as u64, STORED_BYTES);
    }
    let before = object.reads.load(Ordering::Relaxed);
    assert!(index.pictures([rendition]).await.all(|picture| picture.is_ok()), "kept or not, it is answered");
    object.reads.load(Ordering::Relaxed) - before
}

#[tokio::test]
async fn a_picture_is_kept_if_it_fits_to_the_byte() {
    // The cache takes what weighs at most three quarters of it.
    let limit = ((STORED_BYTES + OVERHEAD_BYTES) * 100).div_ceil(75);
    assert_eq!(reads_of_the_second_time(limit + 1).await, 0);
    assert_eq!(reads_of_the_second_time(limit).await, 0);
    assert_eq!(reads_of_the_second_time(limit - 1).await, 1);
    assert_eq!(reads_of_the_second_time(0).await, 1);
}

#[tokio::test]
async fn search_columns_are_read_once_and_refused_where_they_do_not_fit_to_the_byte() {
    let object = archive();
    let columns = [ColumnName::Text, ColumnName::Prompt, ColumnName::Honka];
    let open = async |search_bytes| {
        let cache = Arc::new(ReadCache::new(0).with_search_bytes(search_bytes));
        reading(&object, &cache).await
    };
    let index = open(u64::MAX).await;
    let lengths = columns.map(|name| index.archive().column(name).unwrap().length);
    let all: u64 = lengths.iter().sum();

    let index = open(all).await;
    let before = object.reads.load(Ordering::Relaxed);
    for _ in 0..2 {
        for name in columns {
            index.column(name).await.unwrap();
        }
        assert_eq!(object.reads.load(Ordering::Relaxed), before + 3, "each is read once, without any cache");
    }

    let index = open(all - 1).await;
    let before = object.reads.load(Ordering::Relaxed);
    for name in &columns[..2] {
        index.column(*name).await.unwrap();
    }
    let refused = index.column(columns[2]).await.unwrap_err();
    assert!(matches!(refused, ReadError::ColumnTooLarge { needed, .. } if needed == all), "{refused}");
    assert_eq!(object.reads.load(Ordering::Relaxed), before + 2, "what cannot be kept is not fetched");

    let index = open(lengths[0] - 1).await;
    let refused = index.column(columns[0]).await.unwrap_err();
    assert!(refused.to_string().contains("WAKASHU_SEARCH_BYTES"), "{refused}");
}

#[tokio::test]
async fn search_columns_are_let_go_with_their_archive() {
    let object = archive();
    let index = reading(&object, &Arc::new(ReadCache::new(1 << 20))).await;
    let column = index.column(ColumnName::Text).await.unwrap();
    let kept = object.bytes.len();
    drop(index);
    assert_eq!(column.exact().len(), RANKS as usize, "who still searches keeps it");
    drop(column);
    // Nothing else holds the object's bytes: neither the cache nor an index.
    let bytes = Arc::into_inner(object).unwrap().bytes;
    assert!(bytes.try_into_mut().is_ok_and(|whole| whole.len() == kept));
}

#[tokio::test]
async fn the_cache_never_outgrows_its_limit() {
    for capacity_bytes in [0, 1, 10_000, 100_000, 1 << 20] {
        let cache = Arc::new(ReadCache::new(capacity_bytes));
        let index = reading(&archive(), &cache).await;
        let page = index.page(&index.archive().root().rounds[0].chunks[0]).await.unwrap();
        for _ in 0..3 {
            for entry in page.entries.iter() {
                let picture = entry.picture.as_ref().unwrap();
                let mut all = index.pictures([&picture.small, &picture.medium, &picture.large]).await;
                assert!(all.all(|picture| picture.is_ok()));
                assert!(
                    cache.weight_bytes() <= capacity_bytes,
                    "{} of {capacity_bytes}",
                    cache.weight_bytes()
                );
            }
        }
        if capacity_bytes == 1 << 20 {
            let all = u64::from(RANKS) * 3 * (STORED_BYTES + OVERHEAD_BYTES);
            assert!(cache.weight_bytes() > all, "what fits is kept: {}", cache.weight_bytes());
        }
    }
}
