//! The wakashu archive: one immutable file of rounds, ranks, poems and pre-encoded pictures.
//!
//! This crate is sans-IO. It parses bytes it is given and names the spans to read next; it opens no file,
//! knows no network and has no clock. `FORMAT.md` beside this crate is the byte-level specification.
//!
//! Reading: [`Archive::from_tail`] on the last [`TAIL_BYTES`] of the file, then [`Archive::page`] on the bytes
//! of a chunk's page, then [`verify_rendition`] on the bytes of a picture. Everything handed out was verified
//! against the hash tree first. Writing: [`Writer`], one forward pass.

mod access;
mod column;
mod date;
mod error;
mod hash;
mod json_text;
mod model;
mod normalize;
mod reader;
mod search_key;
mod stored;
mod trailer;
mod writer;

pub use access::Verified;
pub use column::{Column, Keys, finder};
pub use date::{Date, DateError, Period};
pub use error::{ArchiveError, Damage, Section};
pub use hash::{ContentHash, Hex, ParseHashError};
pub use json_text::{escape_into, plain_length, unescape};
pub use model::{
    ArchivedChunk, ArchivedEntry, ArchivedExtra, ArchivedPage, ArchivedPicture, ArchivedReference,
    ArchivedRendition, ArchivedRoot, ArchivedRound, ArchivedTextRange, Chunk, Entry, Extra, MediaType, Page,
    Picture, Reference, Rendition, Root, Round, Span, TextRange,
};
pub use normalize::{MAX_RANK, RankRange, RankRangeError, bare_number, round_number, title_key};
pub use reader::{Archive, Opening, PageView, RootView, verify_original, verify_rendition};
pub use search_key::{KEYS_VERSION, SearchKey};
pub use stored::decode_picture;
pub use trailer::{HEAD_MAGIC, TAIL_BYTES, TRAILER_BYTES, Trailer, VERSION};
pub use writer::{
    CHUNK_ENTRIES, EntryDraft, MAX_COLUMN_BYTES, MAX_ENTRY_TEXT_BYTES, MAX_PAGE_BYTES, MAX_ROOT_BYTES,
    MAX_STORED_PICTURE_BYTES, PROMPT_LABEL, PictureDraft, PreparedEntry, RenditionDraft, RoundDraft,
    WriteError, Writer, Written,
};
