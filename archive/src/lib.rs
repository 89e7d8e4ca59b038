//! The wakashu archive: one immutable file of rounds, ranks, poems and pre-encoded pictures.
//!
//! This crate is sans-IO. It parses bytes it is given and names the spans to read next; it opens no file,
//! knows no network and has no clock. `FORMAT.md` beside this crate is the byte-level specification.
//!
//! Reading: [`Archive::open`], or [`Opening`] where bytes are waited for; then [`Archive::page`] on the bytes of a
//! chunk's page, then [`verify_rendition`] on the bytes of a picture. Everything handed out was verified against the
//! hash tree first. Writing: [`Writer`], one forward pass.

mod access;
mod column;
mod date;
mod error;
mod hash;
mod json_text;
mod limits;
mod model;
mod normalize;
mod open;
mod rank;
mod reader;
mod search_key;
mod sizes;
mod stored;
mod table;
mod trailer;
mod writer;

pub use access::Verified;
pub use column::{Column, Keys, Spool, finder};
pub use date::{Date, DateError, Period};
pub use error::{ArchiveError, Damage, Part};
pub use hash::{ContentHash, Hex, ParseHashError};
pub use json_text::{escape_into, plain_length, unescape};
pub use limits::{
    CHUNK_ENTRIES, MAX_COLUMN_BYTES, MAX_ENTRY_TEXT_BYTES, MAX_KEY_BYTES, MAX_PAGE_BYTES, MAX_RANK,
    MAX_ROOT_BYTES, MAX_SECTIONS, MAX_STORED_PICTURE_BYTES,
};
pub use model::{
    ArchivedChunk, ArchivedEntry, ArchivedExtra, ArchivedPage, ArchivedPicture, ArchivedReference,
    ArchivedRendition, ArchivedRoot, ArchivedRound, ArchivedRoundExtra, ArchivedTextRange, Chunk, Entry,
    Extra, MediaType, Page, Picture, Reference, Rendition, Root, Round, RoundExtra, Span, TextRange,
};
pub use normalize::{bare_number, round_number, title_key};
pub use open::{Missing, Opening, ReadAt};
pub use rank::{Rank, RankError, RankRange, RankRangeError};
pub use reader::{Archive, PageView, RootView, verify_original, verify_rendition};
pub use search_key::{Fit, KEYS_VERSION, SearchKey, Spelling, Walk, Word, folding_tables, is_without_marks};
pub use sizes::{ArchivedSizes, Size, Sizes};
pub use stored::decode_picture;
pub use table::{ColumnName, Section, SectionKind, SectionTable};
pub use trailer::{HEAD_MAGIC, TAIL_BYTES, TRAILER_BYTES, Trailer, VERSION};
pub use writer::{
    EntryDraft, PROMPT_LABEL, PictureDraft, PreparedEntry, RenditionDraft, RoundDraft, WriteError, Writer,
    Written,
};
