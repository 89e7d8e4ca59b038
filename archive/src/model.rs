//! What lies in an archive: the root, the pages, and the references between them.

use rkyv::{Archive, Serialize};

use crate::date::Period;
use crate::hash::ContentHash;
use crate::sizes::{ArchivedSizes, Sizes};

/// A run of bytes of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// First byte, counted from the start of the file.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
}

impl Span {
    /// Returns the first byte after the span; saturates, so that a crafted span cannot wrap around.
    #[must_use]
    pub fn end(self) -> u64 {
        self.offset.saturating_add(self.length)
    }
}

/// A span together with the hash of the bytes in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Archive, Serialize)]
pub struct Reference {
    /// First byte, counted from the start of the file.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
    /// blake3 of the bytes.
    pub hash: ContentHash,
}

impl Reference {
    /// Returns where the bytes lie.
    #[must_use]
    pub fn span(&self) -> Span {
        Span { offset: self.offset, length: self.length }
    }
}

impl ArchivedReference {
    /// Returns where the bytes lie.
    #[must_use]
    pub fn span(&self) -> Span {
        Span { offset: self.offset.to_native(), length: self.length.to_native() }
    }

    /// Returns the hash the bytes must have.
    #[must_use]
    pub fn hash(&self) -> ContentHash {
        (&self.hash).into()
    }
}

/// The whole collection at a glance: everything needed to find a page.
#[derive(Debug, Archive, Serialize)]
pub struct Root {
    /// The collection's own title.
    pub title: String,
    /// What the curator says about it; may be empty.
    pub description: String,
    /// Digest of the inputs and encoder settings the archive was built from.
    pub built_from: ContentHash,
    /// Entries of all rounds together.
    pub entries: u32,
    /// Rounds in reading order: numbered ones by number, then the others by title.
    pub rounds: Vec<Round>,
    /// Positions in `rounds`, sorted by the rounds' keys.
    pub by_key: Vec<u32>,
}

/// One round of the contest.
#[derive(Debug, Archive, Serialize)]
pub struct Round {
    /// The title exactly as the curator wrote it.
    pub title: String,
    /// The title as look-ups compare it ([`title_key`](crate::title_key)).
    pub key: String,
    /// N of 第N回.
    pub number: Option<u32>,
    /// When the round was compiled.
    pub period: Option<Period>,
    /// What the curator says about the round, in the order it is shown.
    pub extras: Vec<RoundExtra>,
    /// Number of entries.
    pub entries: u32,
    /// Number of entries with a picture.
    pub pictures: u32,
    /// The chunks, by rank.
    pub chunks: Vec<Chunk>,
}

/// A text about a round, with its title; both as the curator wrote them.
#[derive(Debug, Clone, PartialEq, Eq, Archive, Serialize)]
pub struct RoundExtra {
    /// What it is, as お題.
    pub title: String,
    /// The text.
    pub text: String,
}

/// A run of at most [`CHUNK_ENTRIES`](crate::CHUNK_ENTRIES) consecutive entries of one round.
#[derive(Debug, Archive, Serialize)]
pub struct Chunk {
    /// Rank of the first entry.
    pub first_rank: u32,
    /// Rank of the last entry.
    pub last_rank: u32,
    /// Where the chunk's [`Page`] lies.
    pub page: Reference,
}

/// The entries of one chunk.
#[derive(Debug, Archive, Serialize)]
pub struct Page {
    /// Entries by rank.
    pub entries: Vec<Entry>,
}

/// A ranked submission: its text as it is shown, the places of its fields in that text, its picture.
#[derive(Debug, Archive, Serialize)]
pub struct Entry {
    /// The rank, from 1.
    pub rank: u32,
    /// The whole text block as readers see it, JSON-escaped. All ranges below point into it.
    pub text: String,
    /// Characters of the text block when unescaped.
    pub text_characters: u32,
    /// The account name.
    pub account: TextRange,
    /// The poem.
    pub poem: TextRange,
    /// The works answered, one URL each.
    pub honka: Vec<TextRange>,
    /// The prompt the picture was made with; may be empty.
    pub prompt: TextRange,
    /// Keys of the text file that the contract does not name, in file order.
    pub extras: Vec<Extra>,
    /// Kana reading, JSON-escaped; not part of the text block.
    pub yomi: Option<String>,
    /// The picture.
    pub picture: Option<Picture>,
}

/// Bytes `start..end` of an entry's escaped text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Archive, Serialize)]
pub struct TextRange {
    /// First byte.
    pub start: u32,
    /// First byte after the range.
    pub end: u32,
}

/// A key the contract does not name, with its value.
#[derive(Debug, Archive, Serialize)]
pub struct Extra {
    /// The key.
    pub key: TextRange,
    /// The value: a string as it is, anything else as compact JSON.
    pub value: TextRange,
}

/// A picture in its renditions. Renditions with equal bytes share one span.
pub type Picture = Sizes<Rendition>;

/// A picture as it lies in an archive.
pub type ArchivedPicture = ArchivedSizes<Rendition>;

/// One encoding of a picture.
#[derive(Debug, Archive, Serialize)]
pub struct Rendition {
    /// Where the stored bytes lie: base64, except of an original.
    pub stored: Reference,
    /// Length of the picture file itself, before base64.
    pub file_bytes: u32,
    /// Width in pixels.
    pub width_px: u32,
    /// Height in pixels.
    pub height_px: u32,
    /// What the bytes are.
    pub media_type: MediaType,
}

/// The type of a picture's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Archive, Serialize)]
#[rkyv(derive(Debug, Clone, Copy, PartialEq, Eq))]
#[repr(u8)]
pub enum MediaType {
    /// PNG.
    Png,
    /// JPEG.
    Jpeg,
    /// GIF.
    Gif,
    /// WebP.
    Webp,
    /// HEIC; only ever an original, no model accepts it.
    Heic,
}

impl MediaType {
    /// Returns the media type's name, as in `Content-Type`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
            Self::Heic => "image/heic",
        }
    }

    /// Returns the usual file extension, without the dot.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpg",
            Self::Gif => "gif",
            Self::Webp => "webp",
            Self::Heic => "heic",
        }
    }
}

impl From<ArchivedMediaType> for MediaType {
    fn from(archived: ArchivedMediaType) -> Self {
        match archived {
            ArchivedMediaType::Png => Self::Png,
            ArchivedMediaType::Jpeg => Self::Jpeg,
            ArchivedMediaType::Gif => Self::Gif,
            ArchivedMediaType::Webp => Self::Webp,
            ArchivedMediaType::Heic => Self::Heic,
        }
    }
}

impl ArchivedTextRange {
    /// Returns the range's part of `text`; empty where it does not fit, which a validated page rules out.
    #[must_use]
    pub fn of<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.start.to_native() as usize..self.end.to_native() as usize).unwrap_or_default()
    }
}

impl ArchivedEntry {
    /// Returns the account name, JSON-escaped.
    #[must_use]
    pub fn account_escaped(&self) -> &str {
        self.account.of(&self.text)
    }

    /// Returns the poem, JSON-escaped.
    #[must_use]
    pub fn poem_escaped(&self) -> &str {
        self.poem.of(&self.text)
    }

    /// Returns the prompt, JSON-escaped.
    #[must_use]
    pub fn prompt_escaped(&self) -> &str {
        self.prompt.of(&self.text)
    }

    /// Returns the honka URLs, JSON-escaped, in file order.
    #[must_use]
    pub fn honka_escaped(&self) -> impl ExactSizeIterator<Item = &str> {
        self.honka.iter().map(|range| range.of(&self.text))
    }

    /// Returns the extra keys and values, JSON-escaped, in file order.
    #[must_use]
    pub fn extras_escaped(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.extras.iter().map(|extra| (extra.key.of(&self.text), extra.value.of(&self.text)))
    }
}

impl ArchivedRendition {
    /// Returns where the stored bytes lie.
    #[must_use]
    pub fn span(&self) -> Span {
        self.stored.span()
    }

    /// Returns the hash of the stored bytes: the picture's ETag and cache key.
    #[must_use]
    pub fn hash(&self) -> ContentHash {
        self.stored.hash()
    }

    /// Returns what the bytes are.
    #[must_use]
    pub fn media_type(&self) -> MediaType {
        self.media_type.into()
    }
}
