//! Limits of the format. The writer keeps them, the reader refuses what passes them; `FORMAT.md` section 6 lists them.

/// Most entries in one chunk.
pub const CHUNK_ENTRIES: usize = 32;

/// The largest rank and round number.
pub const MAX_RANK: u32 = 999_999;

/// Most bytes of one entry's escaped text.
pub const MAX_ENTRY_TEXT_BYTES: usize = 1 << 20;

/// Most bytes of one page.
pub const MAX_PAGE_BYTES: u64 = 64 << 20;

/// Most bytes of the root.
pub const MAX_ROOT_BYTES: u64 = 1 << 30;

/// Most stored bytes of one rendition or original.
pub const MAX_STORED_PICTURE_BYTES: u64 = 256 << 20;

/// Most bytes of one search column.
pub const MAX_COLUMN_BYTES: u64 = 4 << 30;

/// Most bytes of the search key of one field. What of a text is beyond is served, but not found.
pub const MAX_KEY_BYTES: usize = 64 << 10;

/// Most rows of the section table.
pub const MAX_SECTIONS: usize = 64;
