//! Writes an archive in one forward pass. Memory holds one chunk, the root and where search keys begin, never all pictures.

use std::collections::BTreeMap;
use std::io::{self, Cursor, Read, SeekFrom, Write};

use bytes::Bytes;
use rkyv::rancor;

use crate::column::{ColumnDraft, Spool};
use crate::date::Period;
use crate::hash::ContentHash;
use crate::json_text::escape_into;
use crate::limits::{
    CHUNK_ENTRIES, MAX_COLUMN_BYTES, MAX_ENTRY_TEXT_BYTES, MAX_PAGE_BYTES, MAX_RANK, MAX_ROOT_BYTES,
    MAX_STORED_PICTURE_BYTES,
};
use crate::model::{
    Chunk, Entry, Extra, MediaType, Page, Picture, Reference, Rendition, Root, Round, RoundExtra, TextRange,
};
use crate::normalize::{round_number, title_key};
use crate::sizes::{Size, Sizes};
use crate::stored::encode_picture;
use crate::table::{ColumnName, Section, SectionKind, SectionTable};
use crate::trailer::{HEAD_MAGIC, TRAILER_BYTES, Trailer};

/// The line that introduces the prompt in an entry's text.
pub const PROMPT_LABEL: &str = "ジャケット生成に使ったプロンプト";

/// Why an archive could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// Writing failed.
    #[error("could not write the archive")]
    Io(#[from] io::Error),
    /// Rounds or ranks came in the wrong order, or twice. A fault of the caller.
    #[error("{what} `{name}` is out of order")]
    Order {
        /// Round or rank.
        what: &'static str,
        /// Which one.
        name: String,
    },
    /// Something is larger than the format allows.
    #[error("{what} has {found} bytes, the format allows {most}")]
    TooLarge {
        /// What is too large.
        what: String,
        /// Its size.
        found: u64,
        /// The limit.
        most: u64,
    },
    /// The archived form could not be made.
    #[error("could not lay out the archive")]
    Layout(#[from] rancor::Error),
}

/// A round about to be written.
#[derive(Debug, Clone, Default)]
pub struct RoundDraft {
    /// The title exactly as the curator wrote it.
    pub title: String,
    /// When the round was compiled.
    pub period: Option<Period>,
    /// Texts about the round, each with its title, in the order they are shown.
    pub extras: Vec<RoundExtra>,
}

/// An entry about to be written.
#[derive(Debug, Clone, Default)]
pub struct EntryDraft {
    /// The rank, from 1.
    pub rank: u32,
    /// The account name.
    pub account: String,
    /// The poem.
    pub poem: String,
    /// The works answered.
    pub honka: Vec<String>,
    /// The prompt; may be empty.
    pub prompt: String,
    /// Keys the contract does not name, with their values as shown, in file order.
    pub extras: Vec<(String, String)>,
    /// Kana reading.
    pub yomi: Option<String>,
    /// The picture.
    pub picture: Option<PictureDraft>,
}

/// A picture about to be written.
pub type PictureDraft = Sizes<RenditionDraft>;

/// One encoding of a picture about to be written: the file's bytes, not base64.
#[derive(Debug, Clone)]
pub struct RenditionDraft {
    /// The picture file.
    pub bytes: Bytes,
    /// What the bytes are.
    pub media_type: MediaType,
    /// Width in pixels.
    pub width_px: u32,
    /// Height in pixels.
    pub height_px: u32,
}

/// An entry whose pictures are in the form they are stored in.
///
/// Made from an [`EntryDraft`], at the cost of encoding and hashing its pictures. That needs no writer and can be done on
/// another thread.
#[derive(Debug, Clone)]
pub struct PreparedEntry {
    /// Without its picture.
    draft: EntryDraft,
    picture: Option<Sizes<PreparedRendition>>,
}

#[derive(Debug, Clone)]
struct PreparedRendition {
    stored: Bytes,
    length: u64,
    /// Where the bytes are, if they wait in the spool.
    spooled_at: Option<u64>,
    hash: ContentHash,
    file_bytes: u32,
    media_type: MediaType,
    width_px: u32,
    height_px: u32,
}

impl From<EntryDraft> for PreparedEntry {
    fn from(mut draft: EntryDraft) -> Self {
        let picture = draft.picture.take();
        let picture = picture.map(|picture| picture.map(|size, draft| PreparedRendition::new(size, &draft)));
        Self { draft, picture }
    }
}

impl PreparedRendition {
    fn new(size: Size, draft: &RenditionDraft) -> Self {
        let stored = match size {
            Size::Original => draft.bytes.clone(),
            Size::Small | Size::Medium | Size::Large => encode_picture(&draft.bytes).into(),
        };
        Self {
            hash: ContentHash::of(&stored),
            length: stored.len() as u64,
            spooled_at: None,
            stored,
            file_bytes: u32::try_from(draft.bytes.len()).unwrap_or(u32::MAX),
            media_type: draft.media_type,
            width_px: draft.width_px,
            height_px: draft.height_px,
        }
    }
}

/// What was written.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Written {
    /// The archive's digest.
    pub digest: ContentHash,
    /// Length of the file.
    pub bytes: u64,
    /// Where the sections lie.
    pub table: SectionTable,
}

/// Writes an archive to `W`, front to back.
///
/// Call [`begin_round`](Self::begin_round) and [`entry`](Self::entry) in reading order, then
/// [`finish`](Self::finish). The keys of the search columns wait in spools, as they follow after the last chunk, and
/// so do originals, which follow after the other pictures of a chunk.
#[derive(Debug)]
pub struct Writer<W, S = Cursor<Vec<u8>>> {
    out: Counted<W>,
    rounds: Vec<Round>,
    pending: Vec<PreparedEntry>,
    /// Poem, reading, account.
    text_column: ColumnDraft<S>,
    prompt_column: ColumnDraft<S>,
    honka_column: ColumnDraft<S>,
    /// The originals of the pending entries, each as long as a file may be, and how far they go.
    originals: S,
    originals_length: u64,
}

impl<W: Write> Writer<W> {
    /// Starts an archive whose search columns are held in memory until they are written.
    pub fn new(out: W) -> Result<Self, WriteError> {
        Self::spooled(out, || Ok(Cursor::default()))
    }
}

impl<W: Write, S: Spool> Writer<W, S> {
    /// Starts an archive whose search columns wait in what `spool` makes: an empty temporary file each, say.
    pub fn spooled(out: W, mut spool: impl FnMut() -> io::Result<S>) -> Result<Self, WriteError> {
        let mut out = Counted { out, offset: 0 };
        out.out.write_all(&HEAD_MAGIC)?;
        out.offset = HEAD_MAGIC.len() as u64;
        Ok(Self {
            out,
            rounds: Vec::new(),
            pending: Vec::new(),
            text_column: ColumnDraft::new(spool()?, Some(spool()?)),
            prompt_column: ColumnDraft::new(spool()?, None),
            honka_column: ColumnDraft::new(spool()?, None),
            originals: spool()?,
            originals_length: 0,
        })
    }

    /// Starts the next round. Numbered rounds come first, by number; then the others, by title.
    pub fn begin_round(&mut self, draft: RoundDraft) -> Result<(), WriteError> {
        self.flush_chunk()?;
        let number = round_number(&draft.title);
        let in_order = self.rounds.last().is_none_or(|last| match (last.number, number) {
            (Some(before), Some(this)) => before < this,
            (None, Some(_)) => false,
            (Some(_), None) => true,
            (None, None) => last.title < draft.title,
        });
        if !in_order {
            return Err(WriteError::Order { what: "round", name: draft.title });
        }
        self.rounds.push(Round {
            key: title_key(&draft.title),
            title: draft.title,
            number,
            period: draft.period,
            extras: draft.extras,
            entries: 0,
            pictures: 0,
            chunks: Vec::new(),
        });
        Ok(())
    }

    /// Adds the next entry, by rank, to the round begun last.
    pub fn entry(&mut self, entry: impl Into<PreparedEntry>) -> Result<(), WriteError> {
        let mut entry = entry.into();
        let rank = entry.draft.rank;
        let out_of_order = WriteError::Order { what: "rank", name: rank.to_string() };
        let Some(round) = self.rounds.last_mut() else { return Err(out_of_order) };
        let before = self.pending.last().map(|entry| entry.draft.rank);
        let before = before.or(round.chunks.last().map(|chunk| chunk.last_rank)).unwrap_or(0);
        if rank <= before || rank > MAX_RANK {
            return Err(out_of_order);
        }
        round.entries += 1;
        round.pictures += u32::from(entry.picture.is_some());
        if let Some(original) = entry.picture.as_mut().and_then(|picture| picture.original.as_mut()) {
            self.originals.write_all(&original.stored)?;
            original.spooled_at = Some(self.originals_length);
            self.originals_length += original.length;
            original.stored = Bytes::new();
        }
        self.pending.push(entry);
        if self.pending.len() == CHUNK_ENTRIES {
            self.flush_chunk()?;
        }
        Ok(())
    }

    /// Writes columns, root and trailer, and flushes. Syncing and renaming the file is the caller's part.
    pub fn finish(
        mut self,
        title: String,
        description: String,
        built_from: ContentHash,
    ) -> Result<(Written, W), WriteError> {
        self.flush_chunk()?;
        let mut by_key: Vec<u32> = (0..).take(self.rounds.len()).collect();
        let key = |position: &u32| self.rounds.get(*position as usize).map(|round| round.key.as_str());
        by_key.sort_by(|one, other| key(one).cmp(&key(other)));
        if let Some(pair) = by_key.windows(2).find(|pair| pair.first().map(key) == pair.last().map(key)) {
            let name = pair.last().and_then(key).unwrap_or_default().to_owned();
            return Err(WriteError::Order { what: "round", name });
        }
        let mut sections = Vec::with_capacity(4);
        for (name, column) in [
            (ColumnName::Text, self.text_column),
            (ColumnName::Prompt, self.prompt_column),
            (ColumnName::Honka, self.honka_column),
        ] {
            let reference = self.out.column(column)?;
            sections.push(Section { kind: name.kind(), must_be_understood: false, reference });
        }
        let entries = self.rounds.iter().map(|round| round.entries).sum();
        let root = Root { title, description, built_from, entries, rounds: self.rounds, by_key };
        let root = self.out.section(&rkyv::to_bytes::<rancor::Error>(&root)?, "the root", MAX_ROOT_BYTES)?;
        sections.push(Section { kind: SectionKind::ROOT, must_be_understood: true, reference: root });
        let table = SectionTable::new(sections);
        let table_bytes = table.encode();
        let bytes = self.out.offset + (table_bytes.len() + TRAILER_BYTES) as u64;
        let trailer = Trailer::encode(bytes, &table_bytes);
        let mut out = self.out.out;
        out.write_all(&table_bytes)?;
        out.write_all(&trailer)?;
        out.flush()?;
        Ok((Written { digest: ContentHash::of(&trailer), bytes, table }, out))
    }

    /// Writes the pending entries as one chunk: pictures small, medium, large, originals, then the page.
    fn flush_chunk(&mut self) -> Result<(), WriteError> {
        let pending = std::mem::take(&mut self.pending);
        let (Some(first), Some(last)) = (pending.first(), pending.last()) else { return Ok(()) };
        let (first_rank, last_rank) = (first.draft.rank, last.draft.rank);

        let originals = &mut self.originals;
        let mut group = Group { out: &mut self.out, originals, written: BTreeMap::new() };
        let pictures = || pending.iter().filter_map(|entry| entry.picture.as_ref());
        for size in Size::ALL {
            for rendition in pictures().filter_map(|picture| picture.get(size)) {
                group.store(rendition)?;
            }
        }

        let mut entries = Vec::with_capacity(pending.len());
        for PreparedEntry { draft, picture } in &pending {
            let yomi = draft.yomi.as_deref().unwrap_or_default();
            self.text_column.push([draft.poem.as_str(), yomi, &draft.account].into_iter())?;
            self.prompt_column.push([draft.prompt.as_str()].into_iter())?;
            self.honka_column.push(draft.honka.iter().map(String::as_str))?;
            // All of them are stored by now: this looks up where.
            let picture = picture.as_ref().map(|picture| picture.as_ref().try_map(|_, one| group.store(one)));
            let picture = picture.transpose()?;
            entries.push(lay_out(draft, picture)?);
        }
        self.originals.rewind()?;
        self.originals_length = 0;
        let page = rkyv::to_bytes::<rancor::Error>(&Page { entries })?;
        let page = self.out.section(&page, "a page", MAX_PAGE_BYTES)?;
        if let Some(round) = self.rounds.last_mut() {
            round.chunks.push(Chunk { first_rank, last_rank, page });
        }
        Ok(())
    }
}

/// Writes an entry's text as readers see it and notes where its fields lie.
fn lay_out(draft: &EntryDraft, picture: Option<Picture>) -> Result<Entry, WriteError> {
    let mut text = format!("{}位：", draft.rank);
    let account = append(&mut text, &draft.account)?;
    text.push_str("\\n");
    let poem = append(&mut text, &draft.poem)?;
    let mut honka = Vec::with_capacity(draft.honka.len());
    for url in &draft.honka {
        text.push_str("\\n");
        honka.push(append(&mut text, url)?);
    }
    let prompt = if draft.prompt.is_empty() {
        append(&mut text, "")?
    } else {
        text.push_str("\\n");
        text.push_str(PROMPT_LABEL);
        text.push_str("\\n");
        append(&mut text, &draft.prompt)?
    };
    let mut extras = Vec::with_capacity(draft.extras.len());
    for (key, value) in &draft.extras {
        text.push_str("\\n");
        let key = append(&mut text, key)?;
        text.push_str(": ");
        extras.push(Extra { key, value: append(&mut text, value)? });
    }
    if text.len() > MAX_ENTRY_TEXT_BYTES {
        return Err(WriteError::TooLarge {
            what: format!("the text of rank {}", draft.rank),
            found: text.len() as u64,
            most: MAX_ENTRY_TEXT_BYTES as u64,
        });
    }
    let text_characters = u32::try_from(crate::unescape(&text).chars().count()).unwrap_or(u32::MAX);
    let yomi = draft.yomi.as_ref().map(|yomi| {
        let mut escaped = String::new();
        escape_into(&mut escaped, yomi);
        escaped
    });
    Ok(Entry { rank: draft.rank, text, text_characters, account, poem, honka, prompt, extras, yomi, picture })
}

/// Appends `part`, escaped, and returns where it lies.
fn append(text: &mut String, part: &str) -> Result<TextRange, WriteError> {
    let position = |at: usize| {
        let most = u64::from(u32::MAX);
        u32::try_from(at).map_err(|_| WriteError::TooLarge {
            what: "a text".to_owned(),
            found: at as u64,
            most,
        })
    };
    let start = position(text.len())?;
    escape_into(text, part);
    Ok(TextRange { start, end: position(text.len())? })
}

/// The pictures of one chunk; equal bytes are written once.
struct Group<'a, W, S> {
    out: &'a mut Counted<W>,
    originals: &'a mut S,
    written: BTreeMap<ContentHash, Reference>,
}

impl<W: Write, S: Spool> Group<'_, W, S> {
    fn store(&mut self, prepared: &PreparedRendition) -> Result<Rendition, WriteError> {
        let PreparedRendition { stored, length, spooled_at, hash, .. } = prepared;
        let PreparedRendition { file_bytes, media_type, width_px, height_px, .. } = prepared;
        let (what, most) = ("a picture", MAX_STORED_PICTURE_BYTES);
        let stored = match (self.written.get(hash), spooled_at) {
            (Some(reference), _) => *reference,
            (None, None) => self.out.hashed_section(&mut &stored[..], *length, *hash, what, most)?,
            (None, Some(start)) => {
                self.originals.seek(SeekFrom::Start(*start))?;
                self.out.hashed_section(self.originals, *length, *hash, what, most)?
            }
        };
        self.written.insert(*hash, stored);
        Ok(Rendition {
            stored,
            file_bytes: *file_bytes,
            width_px: *width_px,
            height_px: *height_px,
            media_type: *media_type,
        })
    }
}

/// A writer that knows how far it has come.
#[derive(Debug)]
struct Counted<W> {
    out: W,
    offset: u64,
}

impl<W: Write> Counted<W> {
    fn section(&mut self, bytes: &[u8], what: &str, most: u64) -> Result<Reference, WriteError> {
        self.hashed_section(&mut &bytes[..], bytes.len() as u64, ContentHash::of(bytes), what, most)
    }

    fn column<S: Spool>(&mut self, draft: ColumnDraft<S>) -> Result<Reference, WriteError> {
        let length = draft.length();
        let what = "a search column";
        if length > MAX_COLUMN_BYTES {
            return Err(WriteError::TooLarge {
                what: what.to_owned(),
                found: length,
                most: MAX_COLUMN_BYTES,
            });
        }
        let mut hashed = Hashed { out: &mut self.out, hasher: blake3::Hasher::new() };
        draft.write_to(&mut hashed)?;
        let hash = ContentHash(*hashed.hasher.finalize().as_bytes());
        let reference = Reference { offset: self.offset, length, hash };
        self.offset += length;
        Ok(reference)
    }

    fn hashed_section(
        &mut self,
        bytes: &mut impl Read,
        length: u64,
        hash: ContentHash,
        what: &str,
        most: u64,
    ) -> Result<Reference, WriteError> {
        if length > most {
            return Err(WriteError::TooLarge { what: what.to_owned(), found: length, most });
        }
        let reference = Reference { offset: self.offset, length, hash };
        if io::copy(&mut bytes.take(length), &mut self.out)? != length {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        self.offset += length;
        Ok(reference)
    }
}

/// Hashes what passes through.
struct Hashed<'a, W> {
    out: &'a mut W,
    hasher: blake3::Hasher,
}

impl<W: Write> Write for Hashed<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hasher.update(bytes.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column_of(length: u64) -> (Result<Reference, WriteError>, usize) {
        let mut counted = Counted { out: Vec::new(), offset: 0 };
        let draft = ColumnDraft::of_length(Cursor::<Vec<u8>>::default(), length);
        (counted.column(draft), counted.out.len())
    }

    /// Four gigabytes of keys cannot be written for a test; a draft that only says that it has them comes as far as its keys.
    #[test]
    fn a_column_longer_than_the_format_allows_is_refused_before_any_of_it_is_written() {
        let (refused, written) = column_of(MAX_COLUMN_BYTES + 1);
        let refused = refused.unwrap_err();
        assert!(
            matches!(refused, WriteError::TooLarge { found, most, .. } if found == most + 1 && most == MAX_COLUMN_BYTES),
            "{refused}"
        );
        assert_eq!(written, 0);
        let (begun, written) = column_of(MAX_COLUMN_BYTES);
        assert!(matches!(begun, Err(WriteError::Io(_))) && written > 0, "it has no keys: {begun:?}");
    }
}
