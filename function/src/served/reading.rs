//! One request's view of an open archive: pages and pictures through the cache, search columns once for all.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use wakashu_archive::{
    ArchiveError, ArchivedChunk, ArchivedRendition, Column, ColumnName, ContentHash, Damage, KEYS_VERSION,
    PageView, Part, Span, verify_original, verify_rendition,
};

use crate::deadline::within;
use crate::served::cache::Cached;
use crate::served::index::{Index, ReadError, slice};
use crate::served::limits::MAX_ANSWER_BYTES;

/// How long an answer waits for one read from storage, its own or that of another request. Slightly longer than storage's
/// own timeout of a small read, so that storage's error is what gets reported. Requests queued behind a read that failed
/// do not start another one.
const PATIENCE: Duration = Duration::from_secs(9);

/// Search columns and originals may be large: for these, the time their bytes need on a slow line as well.
const SLOWEST_BYTES_PER_SECOND: u64 = 1 << 20;

/// One request's view of an open archive. What it finds out on the way, that the archive is gone, is its own.
#[derive(Debug)]
pub struct Reading {
    index: Arc<Index>,
    is_gone: AtomicBool,
}

impl Deref for Reading {
    type Target = Index;

    fn deref(&self) -> &Index {
        &self.index
    }
}

impl Reading {
    /// Begins to read.
    #[must_use]
    pub fn new(index: Arc<Index>) -> Self {
        Self { index, is_gone: AtomicBool::new(false) }
    }

    /// Tells whether a read found that the archive is no longer in storage: a newer one was published and this one
    /// pruned, most likely.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Relaxed)
    }

    /// Returns a chunk's page, from the cache where it can be had.
    pub async fn page(&self, chunk: &ArchivedChunk) -> Result<PageView, ReadError> {
        let (span, key) = (chunk.page.span(), chunk.page.hash());
        if let Some(Cached::Page(page)) = self.cache.entries.get(&key) {
            return Ok(page);
        }
        let read = async {
            let open = |bytes| self.archive().page(chunk, bytes);
            if let Some(part) = self.preloaded(span)
                && let Ok(page) = open(Bytes::copy_from_slice(&part))
            {
                return Ok(Cached::Page(page));
            }
            let page = self.read(span).await.and_then(|bytes| Ok(open(bytes)?));
            page.map(Cached::Page).map_err(|error| self.noticed(span, key, error))
        };
        // Boxed, as a miss is rare and its state large.
        match in_time(0, Box::pin(self.cache.entries.get_or_insert_async(&key, read))).await? {
            Cached::Page(page) => Ok(page),
            Cached::Picture(_) | Cached::Document(_) => Err(mixed_up(span)),
        }
    }

    /// Returns the stored base64 of renditions, in order. One that cannot be read, or is larger than any answer, fails by
    /// itself.
    pub async fn pictures<'a, I>(&self, renditions: I) -> std::vec::IntoIter<Result<Bytes, ReadError>>
    where
        I: IntoIterator<Item = &'a ArchivedRendition>,
    {
        let mut renditions = renditions.into_iter();
        let mut found = Vec::with_capacity(renditions.size_hint().1.unwrap_or(0));
        while let Some(rendition) = renditions.next() {
            match self.cache.entries.get(&rendition.hash()) {
                Some(Cached::Picture(stored)) => found.push(Ok(stored)),
                Some(Cached::Page(_) | Cached::Document(_)) | None => {
                    let rest: Vec<_> = std::iter::once(rendition).chain(renditions).collect();
                    let fetching = Box::pin(async { Ok(self.fetch_pictures(&rest).await) });
                    match in_time(0, fetching).await {
                        Ok(fetched) => found.extend(fetched),
                        Err(_) => found.extend(rest.iter().map(|_| Err(late(PATIENCE)))),
                    }
                    break;
                }
            }
        }
        found.into_iter()
    }

    /// Returns a document that was made before, `named` by all that it was made of.
    pub(crate) fn document(&self, named: &ContentHash) -> Option<Bytes> {
        match self.cache.entries.get(named) {
            Some(Cached::Document(document)) => Some(document),
            _ => None,
        }
    }

    /// Keeps a document for those who ask next.
    pub(crate) fn keep_document(&self, named: ContentHash, document: Bytes) {
        self.cache.entries.insert(named, Cached::Document(document));
    }

    /// Returns the raw bytes of an original; these are served rarely and not cached.
    pub async fn original(&self, rendition: &ArchivedRendition) -> Result<Bytes, ReadError> {
        let (span, hash) = (rendition.span(), rendition.hash());
        if let Some(part) = self.preloaded(span)
            && verify_original(rendition, &part).is_ok()
        {
            return Ok(part);
        }
        let read = async {
            let bytes = self.read(span).await?;
            verify_original(rendition, &bytes)?;
            Ok(bytes)
        };
        in_time(span.length, pin!(read)).await.map_err(|error| self.noticed(span, hash, error))
    }

    /// Returns a search column: read and verified on first use, then held in memory as long as the archive is open. Reading it
    /// goes on when this is given up.
    pub async fn column(&self, name: ColumnName) -> Result<Column, ReadError> {
        let reference = self.archive().column(name).ok_or(ReadError::NoColumn)?;
        let column = if let Some(column) = self.columns.get(name) {
            column.clone()
        } else {
            let column = in_time(reference.length, Box::pin(self.index.column(name, reference))).await;
            self.notices_what_is_gone(column)?
        };
        match column.keys_version() {
            KEYS_VERSION => Ok(column),
            found => Err(ReadError::OtherKeys { found }),
        }
    }

    /// Reads from storage, and notices when the archive is not there any more.
    async fn read(&self, span: Span) -> Result<Bytes, ReadError> {
        let read = self.object.read(span).await;
        self.notices_what_is_gone(read.map_err(ReadError::from))
    }

    fn notices_what_is_gone<T>(&self, read: Result<T, ReadError>) -> Result<T, ReadError> {
        if read.as_ref().is_err_and(ReadError::is_gone) {
            self.is_gone.store(true, Ordering::Relaxed);
        }
        read
    }

    /// Fetches what the cache lacks, each only once however many requests want it: from afar touching spans in one read and
    /// the rest concurrently.
    async fn fetch_pictures(&self, renditions: &[&ArchivedRendition]) -> Vec<Result<Bytes, ReadError>> {
        let mut wanted: BTreeMap<ContentHash, &ArchivedRendition> = BTreeMap::new();
        for rendition in renditions {
            wanted.insert(rendition.hash(), rendition);
        }
        // Places in the cache are taken in the order of the hashes, by everyone: no two requests can wait for
        // each other.
        let mut found: BTreeMap<ContentHash, Bytes> = BTreeMap::new();
        let mut failed: BTreeMap<ContentHash, ReadError> = BTreeMap::new();
        let mut missing = Vec::new();
        for (hash, rendition) in wanted {
            // An indexer keeps them far smaller; a crafted archive may name hundreds of megabytes here.
            if rendition.span().length > MAX_ANSWER_BYTES as u64 {
                failed.insert(hash, broken(rendition.span(), "a rendition is larger than any answer"));
                continue;
            }
            match self.cache.entries.get_value_or_guard_async(&hash).await {
                Ok(Cached::Picture(stored)) => {
                    found.insert(hash, stored);
                }
                Ok(Cached::Page(_) | Cached::Document(_)) => {}
                Err(place) => match self.preloaded_picture(rendition) {
                    Some(stored) => {
                        found.insert(hash, stored.clone());
                        // A replaced place only means that the cache let go of it in between.
                        let _ = place.insert(Cached::Picture(stored));
                    }
                    None => missing.push((rendition, place)),
                },
            }
        }
        let mut spans: Vec<Span> = missing.iter().map(|(rendition, _)| rendition.span()).collect();
        if !self.object.is_near() {
            spans = merge_touching(spans);
        }
        let reads = spans.into_iter().map(|span| async move { (span, self.read(span).await) });
        let reads = futures_util::future::join_all(reads).await;

        for (rendition, place) in missing {
            let hash = rendition.hash();
            match cut_out(&reads, rendition) {
                Ok(stored) => {
                    found.insert(hash, stored.clone());
                    let _ = place.insert(Cached::Picture(stored));
                }
                Err(error) => {
                    failed.insert(hash, self.noticed(rendition.span(), hash, error));
                }
            }
        }
        renditions
            .iter()
            .map(|rendition| match found.get(&rendition.hash()) {
                Some(stored) => Ok(stored.clone()),
                None => Err(failed.remove(&rendition.hash()).unwrap_or_else(|| mixed_up(rendition.span()))),
            })
            .collect()
    }

    /// Returns a picture out of what was fetched at the start, unless that arrived damaged: then it is asked for again.
    fn preloaded_picture(&self, rendition: &ArchivedRendition) -> Option<Bytes> {
        let part = self.preloaded(rendition.span())?;
        verify_rendition(rendition, &part).ok().map(|()| Bytes::copy_from_slice(&part))
    }
}

/// Gives up on storage after a while; `bytes` are what may take longer than a small read.
async fn in_time<T>(
    bytes: u64,
    reading: impl Future<Output = Result<T, ReadError>> + Unpin,
) -> Result<T, ReadError> {
    let patience = PATIENCE + Duration::from_secs(bytes / SLOWEST_BYTES_PER_SECOND);
    within(patience, reading).await.unwrap_or_else(|| Err(late(patience)))
}

fn late(patience: Duration) -> ReadError {
    ReadError::Late { seconds: patience.as_secs() }
}

/// Finds a rendition's bytes among the reads made for it, and verifies them.
fn cut_out(
    reads: &[(Span, Result<Bytes, ReadError>)],
    rendition: &ArchivedRendition,
) -> Result<Bytes, ReadError> {
    let span = rendition.span();
    let read = reads.iter().find(|(read, _)| read.offset <= span.offset && span.end() <= read.end());
    let Some((read_span, bytes)) = read else { return Err(mixed_up(span)) };
    let bytes = match bytes {
        Ok(bytes) => bytes,
        Err(ReadError::Storage(error)) => return Err(ReadError::Storage(Arc::clone(error))),
        Err(_) => return Err(mixed_up(span)),
    };
    let stored = slice(bytes, Span { offset: span.offset - read_span.offset, length: span.length });
    verify_rendition(rendition, &stored)?;
    // Owned by itself, so that a cached picture does not keep its neighbours in memory.
    let stored = if stored.len() == bytes.len() { stored } else { Bytes::copy_from_slice(&stored) };
    Ok(stored)
}

/// Joins spans that touch; the order of the result is by offset.
fn merge_touching(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable();
    spans.dedup();
    let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match merged.last_mut() {
            Some(last) if last.end() == span.offset => last.length += span.length,
            _ => merged.push(span),
        }
    }
    merged
}

/// The error for bytes that are not where their reference says; hashes make it impossible for honest archives.
fn mixed_up(span: Span) -> ReadError {
    broken(span, "one hash names two different things")
}

/// The error for a picture that breaks a rule.
fn broken(span: Span, rule: &'static str) -> ReadError {
    let (part, damage) = (Part::Picture, Damage::Rule(rule));
    ReadError::Archive(ArchiveError::Damaged { part, offset: span.offset, damage })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touching_spans_merge_and_others_stay_apart() {
        let span = |offset, length| Span { offset, length };
        let merged = merge_touching(vec![span(30, 5), span(10, 10), span(20, 5), span(10, 10)]);
        assert_eq!(merged, [span(10, 15), span(30, 5)]);
    }
}
