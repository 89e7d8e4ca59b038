//! What is kept in memory: never more than allowed, and to the byte what fits.
#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use wakashu_archive::{
    ArchivedRendition, ColumnName, ContentHash, EntryDraft, MediaType, PictureDraft, RenditionDraft,
    RoundDraft, Span, Writer,
};
use wakashu_function::{Index, ReadCache, ReadError};
use wakashu_storage::{BoxFuture, Object, StorageError, Tail};

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
    fn mapped(&self) -> Option<&Bytes> {
        None
    }

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
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.begin_round(RoundDraft { title: "第1回".to_owned(), ..RoundDraft::default() }).unwrap();
    for rank in 1..=RANKS {
        let rendition = |size: u8| {
            let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
            bytes.extend([size, u8::try_from(rank).unwrap()]);
            bytes.resize(FILE_BYTES, b'.');
            RenditionDraft { bytes: bytes.into(), media_type: MediaType::Png, width_px: 4, height_px: 4 }
        };
        let picture =
            PictureDraft { small: rendition(1), medium: rendition(2), large: rendition(3), original: None };
        let poem = format!("{rank}つ目の歌");
        writer.entry(EntryDraft { rank, poem, picture: Some(picture), ..EntryDraft::default() }).unwrap();
    }
    let (_, bytes) = writer.finish("試し".to_owned(), String::new(), ContentHash::of(b"")).unwrap();
    Arc::new(Counted { bytes: bytes.into(), reads: AtomicUsize::new(0) })
}

/// Asks for the same picture twice and counts the reads of the second time.
async fn reads_of_the_second_time(capacity_bytes: u64) -> usize {
    let object = archive();
    // The page has a cache of its own, so that only the picture is weighed.
    let (roomy, tight) = (Arc::new(ReadCache::new(1 << 20)), Arc::new(ReadCache::new(capacity_bytes)));
    let pages = Index::open(Arc::clone(&object) as Arc<dyn Object>, &roomy, 0, None).await.unwrap();
    let page = pages.page(&pages.archive().root().rounds[0].chunks[0]).await.unwrap();
    let rendition: &ArchivedRendition = &page.entries[0].picture.as_ref().unwrap().small;
    let index = Index::open(Arc::clone(&object) as Arc<dyn Object>, &tight, 0, None).await.unwrap();
    for picture in index.pictures([rendition]).await {
        assert_eq!(picture.unwrap().len() as u64, STORED_BYTES);
    }
    let before = object.reads.load(Ordering::Relaxed);
    assert!(index.pictures([rendition]).await.all(|picture| picture.is_ok()), "kept or not, it is answered");
    object.reads.load(Ordering::Relaxed) - before
}

#[tokio::test]
async fn a_picture_is_kept_if_it_fits_to_the_byte() {
    // The cache takes what weighs at most 97 hundredths of it.
    let limit = ((STORED_BYTES + OVERHEAD_BYTES) * 100).div_ceil(97);
    assert_eq!(reads_of_the_second_time(limit + 1).await, 0);
    assert_eq!(reads_of_the_second_time(limit).await, 0);
    assert_eq!(reads_of_the_second_time(limit - 1).await, 1);
    assert_eq!(reads_of_the_second_time(0).await, 1);
}

#[tokio::test]
async fn a_search_column_is_kept_if_it_fits_to_the_byte_and_refused_otherwise() {
    let object = archive();
    let open = async |capacity_bytes| {
        let cache = Arc::new(ReadCache::new(capacity_bytes));
        let index = Index::open(Arc::clone(&object) as Arc<dyn Object>, &cache, 0, None).await.unwrap();
        (cache, index)
    };
    let (_, index) = open(1 << 20).await;
    let length = index.archive().column(ColumnName::Text).unwrap().length;
    let limit = ((length + OVERHEAD_BYTES) * 100).div_ceil(97);

    let (cache, index) = open(limit).await;
    index.column(ColumnName::Text).await.unwrap();
    assert_eq!(cache.weight_bytes(), length + OVERHEAD_BYTES);
    let before = object.reads.load(Ordering::Relaxed);
    index.column(ColumnName::Text).await.unwrap();
    assert_eq!(object.reads.load(Ordering::Relaxed), before, "it is in the cache");

    let (cache, index) = open(limit - 1).await;
    let refused = index.column(ColumnName::Text).await.unwrap_err();
    assert!(matches!(refused, ReadError::ColumnTooLarge { needed, .. } if needed == limit), "{refused}");
    assert_eq!(object.reads.load(Ordering::Relaxed), before, "what cannot be kept is not fetched");
    assert_eq!(cache.weight_bytes(), 0);
}

#[tokio::test]
async fn the_cache_never_outgrows_its_limit() {
    for capacity_bytes in [0, 1, 10_000, 100_000, 1 << 20] {
        let cache = Arc::new(ReadCache::new(capacity_bytes));
        let index = Index::open(archive(), &cache, 0, None).await.unwrap();
        let page = index.page(&index.archive().root().rounds[0].chunks[0]).await.unwrap();
        for _ in 0..3 {
            for entry in page.entries.iter() {
                let picture = entry.picture.as_ref().unwrap();
                let mut all = index.pictures([&picture.small, &picture.medium, &picture.large]).await;
                assert!(all.all(|picture| picture.is_ok()));
                for name in [ColumnName::Text, ColumnName::Prompt, ColumnName::Honka] {
                    let fits = capacity_bytes >= 10_000;
                    assert_eq!(index.column(name).await.is_ok(), fits, "{name:?} in {capacity_bytes}");
                }
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
