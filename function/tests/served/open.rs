//! How a remote archive is opened: with as few reads as what is known of it allows.
#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use wakashu_archive::{Archive, EntryDraft, Span};
use wakashu_function::{Announced, Index, ReadCache};
use wakashu_storage::{BoxFuture, Object, PointerOpening, StorageError, Tail};
use wakashu_support::Collection;

/// An archive that is read by range, and keeps a list of what was read.
#[derive(Debug)]
struct Listed {
    bytes: Bytes,
    reads: Mutex<Vec<Span>>,
}

impl Object for Listed {
    fn tail(&self, most: u64) -> BoxFuture<'_, Result<Tail, StorageError>> {
        let total_length = self.bytes.len() as u64;
        let length = most.min(total_length);
        Box::pin(async move {
            let bytes = self.read(Span { offset: total_length - length, length }).await?;
            Ok(Tail { bytes, total_length })
        })
    }

    fn read(&self, span: Span) -> BoxFuture<'_, Result<Bytes, StorageError>> {
        self.reads.lock().unwrap().push(span);
        let (from, to) = (usize::try_from(span.offset).unwrap(), usize::try_from(span.end()).unwrap());
        Box::pin(std::future::ready(Ok(self.bytes.slice(from..to))))
    }
}

/// Returns an archive of so many rounds of one entry, longer than one tail read.
fn archive(rounds: u32) -> (Arc<Listed>, Archive) {
    let collection = (1..=rounds).fold(Collection::default(), |collection, number| {
        let entry = EntryDraft { rank: 1, poem: "歌".repeat(20_000), ..EntryDraft::default() };
        collection.round(&format!("第{number}回")).entry(entry)
    });
    let bytes = collection.bytes();
    let opened = Archive::open(&*bytes).unwrap();
    (Arc::new(Listed { bytes, reads: Mutex::default() }), opened)
}

/// Opens it as the pointer announces it and returns what was read.
async fn reads(object: &Arc<Listed>, preload_bytes: u64, announced: Option<Announced<'_>>) -> Vec<Span> {
    let cache = Arc::new(ReadCache::new(1 << 20));
    let digest = Archive::open(&*object.bytes).unwrap().digest();
    let index = Index::open(Arc::clone(object) as Arc<dyn Object>, &cache, preload_bytes, announced).await;
    assert_eq!(index.unwrap().archive().digest(), digest);
    std::mem::take(&mut object.reads.lock().unwrap())
}

fn announced<'a>(archive: &Archive, opening: Option<&'a PointerOpening>) -> Announced<'a> {
    let bytes = archive.trailer().total_length();
    Announced { digest: archive.digest(), bytes, opening, trusts_inline: true }
}

#[tokio::test]
async fn what_the_pointer_carries_takes_no_read() {
    let (object, archive) = archive(2);
    let opening = PointerOpening::of(&archive, &object.bytes);
    let known = announced(&archive, Some(&opening));
    assert_eq!(reads(&object, 0, Some(known)).await, []);
    let before_a_swap = Announced { trusts_inline: false, ..known };
    assert_eq!(reads(&object, 0, Some(before_a_swap)).await, [archive.opening_span()]);
}

#[tokio::test]
async fn what_the_pointer_measures_takes_one_read() {
    let (object, archive) = archive(2);
    let opening = PointerOpening { bytes: archive.opening_span().length, inline: None };
    assert_eq!(reads(&object, 0, Some(announced(&archive, Some(&opening)))).await, [archive.opening_span()]);
}

#[tokio::test]
async fn an_opening_of_another_archive_or_of_none_is_not_believed() {
    let (object, archive) = archive(2);
    let (other, other_archive) = self::archive(3);
    let bytes = archive.opening_span().length;
    for inline in [
        PointerOpening::of(&other_archive, &other.bytes).inline.unwrap(),
        Bytes::from_static(b"no opening at all"),
        Bytes::new(),
        object.bytes.slice(object.bytes.len() - 64..),
    ] {
        let opening = PointerOpening { bytes, inline: Some(inline) };
        let known = announced(&archive, Some(&opening));
        assert_eq!(reads(&object, 0, Some(known)).await, [archive.opening_span()]);
    }
    for bytes in [0, 1, 63, 64, 100, u64::MAX] {
        let opening = PointerOpening { bytes, inline: None };
        let taken = reads(&object, 0, Some(announced(&archive, Some(&opening)))).await;
        assert!(taken.len() <= 4, "{bytes}: {taken:?}");
    }
}

#[tokio::test]
async fn a_pointer_that_says_nothing_of_the_opening_costs_one_tail() {
    let (object, archive) = archive(2);
    let length = archive.trailer().total_length();
    let tail = Span { offset: length - (64 << 10), length: 64 << 10 };
    assert_eq!(reads(&object, 0, Some(announced(&archive, None))).await, [tail]);
    assert_eq!(reads(&object, 0, None).await, [tail]);
}

#[tokio::test]
async fn what_is_small_enough_is_fetched_whole_and_what_is_larger_is_not() {
    let (object, archive) = archive(2);
    let length = archive.trailer().total_length();
    let opening = PointerOpening::of(&archive, &object.bytes);
    for opening in [None, Some(&opening)] {
        let known = announced(&archive, opening);
        assert_eq!(reads(&object, length, Some(known)).await, [Span { offset: 0, length }]);
        let read: u64 = reads(&object, length - 1, Some(known)).await.iter().map(|span| span.length).sum();
        assert!(read <= 64 << 10, "{read} bytes of an archive that is too large to preload");
    }
    // Without a pointer its length is known from the end; then what lies before.
    let tail = Span { offset: length - (64 << 10), length: 64 << 10 };
    assert_eq!(reads(&object, length, None).await, [tail, Span { offset: 0, length: tail.offset }]);
}
