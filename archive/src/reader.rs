//! Verified, validated views of an archive, with typed look-ups.

use std::sync::Arc;

use bytes::Bytes;

use crate::access::Verified;
use crate::error::{ArchiveError, Damage, Part};
use crate::hash::ContentHash;
use crate::json_text::is_escaped;
use crate::limits::{
    CHUNK_ENTRIES, MAX_ENTRY_TEXT_BYTES, MAX_PAGE_BYTES, MAX_RANK, MAX_ROOT_BYTES, MAX_STORED_PICTURE_BYTES,
};
use crate::model::{
    ArchivedChunk, ArchivedEntry, ArchivedPage, ArchivedRendition, ArchivedRoot, ArchivedRound, MediaType,
    Page, Reference, Root, Span,
};
use crate::normalize::{bare_number, title_key};
use crate::table::{ColumnName, SectionKind, SectionTable};
use crate::trailer::{HEAD_MAGIC, Trailer};

/// A validated root.
pub type RootView = Verified<Root>;

/// A validated page.
pub type PageView = Verified<Page>;

/// An open archive: its trailer, its section table and its root. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Archive {
    trailer: Trailer,
    table: Arc<SectionTable>,
    root: RootView,
    /// How many entries come before each round.
    first_ordinals: Arc<[u32]>,
}

impl Archive {
    /// Opens an archive from the bytes of its root, which must be owned memory. Callers outside go through
    /// [`Opening`](crate::Opening).
    pub(crate) fn new(trailer: Trailer, table: SectionTable, root: Bytes) -> Result<Self, ArchiveError> {
        let reference = table.find(SectionKind::ROOT);
        let reference =
            reference.ok_or(ArchiveError::rule(Part::Table, trailer.table().offset, "no root is named"))?;
        let root = verified(&reference, root, Part::Root, MAX_ROOT_BYTES)?;
        check_root(&root, reference.offset)
            .map_err(|rule| ArchiveError::rule(Part::Root, reference.offset, rule))?;
        let counts = root.rounds.iter().scan(0_u32, |before, round| {
            let first = *before;
            *before = before.saturating_add(round.entries.to_native());
            Some(first)
        });
        let first_ordinals = counts.collect();
        Ok(Self { trailer, table: Arc::new(table), root, first_ordinals })
    }

    /// Returns the archive's digest, which is also its file name.
    #[must_use]
    pub fn digest(&self) -> ContentHash {
        self.trailer.digest()
    }

    /// Returns the trailer.
    #[must_use]
    pub fn trailer(&self) -> &Trailer {
        &self.trailer
    }

    /// Returns the root.
    #[must_use]
    pub fn root(&self) -> &ArchivedRoot {
        &self.root
    }

    /// Returns the section table.
    #[must_use]
    pub fn table(&self) -> &SectionTable {
        &self.table
    }

    /// Returns where a search column lies, if the archive has it.
    #[must_use]
    pub fn column(&self, name: ColumnName) -> Option<Reference> {
        self.table.column(name)
    }

    /// Returns the end of the file that suffices to open it: root, section table and trailer.
    #[must_use]
    pub fn opening_span(&self) -> Span {
        let end = self.trailer.total_length();
        let offset = self.table.find(SectionKind::ROOT).map_or(end, |root| root.offset);
        Span { offset, length: end - offset }
    }

    /// Finds a round by what a reader calls it: its exact title, else the title however it is written, else
    /// its bare number.
    #[must_use]
    pub fn find_round(&self, title: &str) -> Option<&ArchivedRound> {
        let by_key = |key: &str| {
            let found =
                self.root.by_key.binary_search_by(|position| self.key_at(position.to_native()).cmp(key));
            let position = found.ok().and_then(|at| self.root.by_key.get(at))?;
            self.root.rounds.get(position.to_native() as usize)
        };
        // Most callers write the title as it is, and its key is the same: nothing to fold.
        if let Some(round) = by_key(title).filter(|round| round.title == title) {
            return Some(round);
        }
        by_key(&title_key(title)).or_else(|| by_key(&format!("第{}回", bare_number(title)?)))
    }

    fn key_at(&self, position: u32) -> &str {
        self.root.rounds.get(position as usize).map_or("", |round| round.key.as_str())
    }

    /// Returns the chunk and the place in it of an entry, counted from 0 over the whole archive in reading order.
    #[must_use]
    pub fn locate(&self, ordinal: usize) -> Option<(&ArchivedRound, &ArchivedChunk, usize)> {
        let round = self.first_ordinals.partition_point(|first| *first as usize <= ordinal).checked_sub(1)?;
        let within = ordinal.checked_sub(*self.first_ordinals.get(round)? as usize)?;
        let round = self.root.rounds.get(round)?;
        Some((round, round.chunks.get(within / CHUNK_ENTRIES)?, within % CHUNK_ENTRIES))
    }

    /// Returns the span of entries of a round, counted as [`locate`](Self::locate) counts.
    #[must_use]
    pub fn ordinals_of(&self, round: &ArchivedRound) -> std::ops::Range<usize> {
        let position = self.root.rounds.iter().position(|one| std::ptr::eq(one, round));
        let first = position.and_then(|at| self.first_ordinals.get(at)).map_or(0, |first| *first as usize);
        first..first + round.entries.to_native() as usize
    }

    /// Verifies and validates the bytes of a chunk's page, which must be owned memory.
    pub fn page(&self, chunk: &ArchivedChunk, bytes: Bytes) -> Result<PageView, ArchiveError> {
        let reference = Reference {
            offset: chunk.page.offset.to_native(),
            length: chunk.page.length.to_native(),
            hash: chunk.page.hash(),
        };
        let page: PageView = verified(&reference, bytes, Part::Page, MAX_PAGE_BYTES)?;
        check_page(&page, chunk, self.trailer.table().offset)
            .map_err(|rule| ArchiveError::rule(Part::Page, reference.offset, rule))?;
        Ok(page)
    }
}

impl ArchivedRound {
    /// Returns the chunks that may hold ranks from `first` to `last`.
    #[must_use]
    pub fn chunks_with(&self, first: u32, last: u32) -> &[ArchivedChunk] {
        let from = self.chunks.partition_point(|chunk| chunk.last_rank.to_native() < first);
        let to = self.chunks.partition_point(|chunk| chunk.first_rank.to_native() <= last);
        self.chunks.get(from..to).unwrap_or_default()
    }

    /// Returns the first and last rank, if the round has entries.
    #[must_use]
    pub fn rank_bounds(&self) -> Option<(u32, u32)> {
        let first = self.chunks.first()?.first_rank.to_native();
        Some((first, self.chunks.last()?.last_rank.to_native()))
    }
}

impl ArchivedPage {
    /// Returns the entries ranked from `first` to `last`.
    #[must_use]
    pub fn entries_between(&self, first: u32, last: u32) -> &[ArchivedEntry] {
        let from = self.entries.partition_point(|entry| entry.rank.to_native() < first);
        let to = self.entries.partition_point(|entry| entry.rank.to_native() <= last);
        self.entries.get(from..to).unwrap_or_default()
    }
}

/// Verifies stored base64 bytes of a rendition: hash, length, and that they are plain base64, so that nothing
/// but base64 is ever spliced into JSON.
pub fn verify_rendition(rendition: &ArchivedRendition, stored: &[u8]) -> Result<(), ArchiveError> {
    verify_original(rendition, stored)?;
    let padding = match rendition.file_bytes.to_native() % 3 {
        0 => 0,
        1 => 2,
        _ => 1,
    };
    let (digits, tail) = stored.split_at(stored.len().saturating_sub(padding));
    let plain = digits.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'));
    // The last digit before padding has bits that belong to no byte; strict decoders refuse others than zero.
    let ends_clean = match (padding, digits.last()) {
        (1, Some(last)) => b"AEIMQUYcgkosw048".contains(last),
        (2, Some(last)) => b"AQgw".contains(last),
        _ => true,
    };
    if !plain || !ends_clean || tail.iter().any(|byte| *byte != b'=') {
        return Err(ArchiveError::rule(
            Part::Picture,
            rendition.span().offset,
            "a rendition is not plain base64",
        ));
    }
    Ok(())
}

/// Verifies stored raw bytes of an original: length and hash.
pub fn verify_original(rendition: &ArchivedRendition, stored: &[u8]) -> Result<(), ArchiveError> {
    let span = rendition.span();
    check_bytes(span, rendition.hash(), stored).map_err(|damage| ArchiveError::Damaged {
        part: Part::Picture,
        offset: span.offset,
        damage,
    })
}

pub(crate) fn check_bytes(span: Span, expected: ContentHash, bytes: &[u8]) -> Result<(), Damage> {
    if bytes.len() as u64 != span.length {
        return Err(Damage::Length { expected: span.length, found: bytes.len() as u64 });
    }
    let found = ContentHash::of(bytes);
    if found == expected { Ok(()) } else { Err(Damage::Hash { expected, found }) }
}

/// Checks length and hash of `bytes`, then validates them as an archived `T`.
fn verified<T>(
    reference: &Reference,
    bytes: Bytes,
    part: Part,
    most: u64,
) -> Result<Verified<T>, ArchiveError>
where
    T: rkyv::Archive,
    T::Archived: rkyv::Portable
        + for<'a> rkyv::bytecheck::CheckBytes<rkyv::api::high::HighValidator<'a, rkyv::rancor::Error>>,
{
    let damaged = |damage| ArchiveError::Damaged { part, offset: reference.offset, damage };
    if reference.length > most {
        return Err(damaged(Damage::Rule("larger than the format allows")));
    }
    check_bytes(reference.span(), reference.hash, &bytes).map_err(damaged)?;
    Verified::new(bytes).map_err(|error| damaged(Damage::Value(error.to_string())))
}

type Rule = &'static str;

/// Where pages, pictures and columns may lie.
fn inside_body(span: Span, body_end: u64) -> bool {
    span.offset >= HEAD_MAGIC.len() as u64 && span.end() <= body_end
}

fn check_root(root: &ArchivedRoot, root_offset: u64) -> Result<(), Rule> {
    let mut entries = 0_u64;
    let mut page_bytes = 0_u64;
    for round in root.rounds.iter() {
        entries += u64::from(round.entries.to_native());
        // Every chunk but the last is full, so that an entry is found by its place in the round.
        if round.chunks.len() != (round.entries.to_native() as usize).div_ceil(CHUNK_ENTRIES) {
            return Err("a round's chunks do not fit its entries");
        }
        let mut previous = 0;
        for chunk in round.chunks.iter() {
            let (first, last) = (chunk.first_rank.to_native(), chunk.last_rank.to_native());
            if first <= previous || last < first || last > MAX_RANK {
                return Err("ranks of a round's chunks do not ascend");
            }
            previous = last;
            if chunk.page.length.to_native() > MAX_PAGE_BYTES || !inside_body(chunk.page.span(), root_offset)
            {
                return Err("a page's span leaves the file");
            }
            page_bytes = page_bytes.saturating_add(chunk.page.length.to_native());
        }
    }
    // No byte is in two pages. One page named a million times would make a small file endless to read.
    if page_bytes > root_offset {
        return Err("the pages are longer than the file");
    }
    if entries != u64::from(root.entries.to_native()) {
        return Err("the rounds' entries do not add up");
    }
    if root.by_key.len() != root.rounds.len() {
        return Err("the index of keys does not cover the rounds");
    }
    // Strictly ascending keys at valid positions make the index a permutation.
    let mut previous: Option<&str> = None;
    for position in root.by_key.iter() {
        let Some(round) = root.rounds.get(position.to_native() as usize) else {
            return Err("the index of keys names no round");
        };
        if previous.is_some_and(|before| before >= round.key.as_str()) {
            return Err("the index of keys does not ascend");
        }
        previous = Some(&round.key);
    }
    Ok(())
}

fn check_page(page: &ArchivedPage, chunk: &ArchivedChunk, body_end: u64) -> Result<(), Rule> {
    let (Some(first), Some(last)) = (page.entries.first(), page.entries.last()) else {
        return Err("a page has no entries");
    };
    if page.entries.len() > CHUNK_ENTRIES {
        return Err("a page has too many entries");
    }
    if first.rank != chunk.first_rank || last.rank != chunk.last_rank {
        return Err("a page holds other ranks than its chunk says");
    }
    if !page.entries.is_sorted_by(|one, next| one.rank.to_native() < next.rank.to_native()) {
        return Err("ranks of a page do not ascend");
    }
    page.entries.iter().try_for_each(|entry| check_entry(entry, body_end))
}

fn check_entry(entry: &ArchivedEntry, body_end: u64) -> Result<(), Rule> {
    let text: &str = &entry.text;
    if text.len() > MAX_ENTRY_TEXT_BYTES {
        return Err("an entry's text is larger than the format allows");
    }
    if entry.yomi.as_deref().is_some_and(|yomi| !is_escaped(yomi)) {
        return Err("a reading is not JSON-escaped");
    }
    // The ranges ascend, so the text is looked at once however many there are. Each piece, in a range or
    // between two, must be escaped by itself: no range cuts an escape or a character.
    let head = [&entry.account, &entry.poem].into_iter().chain(entry.honka.iter());
    let extras = entry.extras.iter().flat_map(|extra| [&extra.key, &extra.value]);
    let mut seen = 0;
    for range in head.chain([&entry.prompt]).chain(extras) {
        let (start, end) = (range.start.to_native() as usize, range.end.to_native() as usize);
        let pieces = [text.get(seen..start), text.get(start..end)];
        if !pieces.into_iter().all(|piece| piece.is_some_and(is_escaped)) {
            return Err("a field's range does not fit its text, or the text is not JSON-escaped");
        }
        seen = end;
    }
    if !text.get(seen..).is_some_and(is_escaped) {
        return Err("an entry's text is not JSON-escaped");
    }
    let Some(picture) = entry.picture.as_ref() else { return Ok(()) };
    for (_, rendition) in picture.renditions() {
        let file_bytes = u64::from(rendition.file_bytes.to_native());
        if rendition.span().length != file_bytes.div_ceil(3) * 4 {
            return Err("a rendition's lengths do not agree");
        }
        if rendition.media_type() == MediaType::Heic {
            return Err("a rendition is of a type no model accepts");
        }
    }
    if picture
        .original
        .as_ref()
        .is_some_and(|original| original.span().length != u64::from(original.file_bytes.to_native()))
    {
        return Err("an original's lengths do not agree");
    }
    for (_, rendition) in picture.as_ref().iter() {
        let span = rendition.span();
        if span.length > MAX_STORED_PICTURE_BYTES || !inside_body(span, body_end) {
            return Err("a picture's span leaves the file");
        }
    }
    Ok(())
}
