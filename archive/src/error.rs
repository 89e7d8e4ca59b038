//! Why bytes are not a readable archive.

use std::fmt;

use crate::hash::ContentHash;
use crate::table::SectionKind;

/// Why an archive, or a part of one, could not be read.
///
/// The first five are told apart in the order magic, version, length, hash, so that a person learns the
/// nearest cause: a foreign file is not called damaged, a half upload is not called foreign.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The bytes carry none of the format's marks.
    #[error("not a wakashu archive: no archive mark in {found} bytes")]
    NotAnArchive {
        /// Length of the file.
        found: u64,
    },
    /// Written in a format older than this build reads.
    #[error(
        "archive format {found} is older than this build reads (from {oldest}); rebuild it with this indexer"
    )]
    TooOld {
        /// The version in the trailer.
        found: u16,
        /// The oldest version this build reads.
        oldest: u16,
    },
    /// Written in a format newer than this build reads.
    #[error("archive format {found} is newer than this build reads (up to {newest}); update this program")]
    TooNew {
        /// The version in the trailer.
        found: u16,
        /// The newest version this build reads.
        newest: u16,
    },
    /// Written in a format this build reads, with a section that must be understood and is not: too new as well.
    #[error("archive has a section `{kind}` that this build does not understand; update this program")]
    UnknownSection {
        /// The kind in the section table.
        kind: SectionKind,
    },
    /// The file's length is not the one its trailer declares, or its trailer is missing.
    #[error("archive is cut short: {} bytes declared, {found} found", Declared(*declared))]
    CutShort {
        /// Length the trailer declares; `None` when the trailer itself is gone.
        declared: Option<u64>,
        /// Length of the file.
        found: u64,
    },
    /// A part differs from what was written.
    #[error("archive is damaged: {part} at byte {offset}: {damage}")]
    Damaged {
        /// Which part.
        part: Part,
        /// Where the part begins in the file.
        offset: u64,
        /// What is wrong with it.
        damage: Damage,
    },
}

struct Declared(Option<u64>);

impl fmt::Display for Declared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(bytes) => write!(f, "{bytes}"),
            None => f.write_str("unknown (no trailer)"),
        }
    }
}

/// A part of an archive, as errors name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// The mark at the start of the file.
    Head,
    /// The fixed-size end of the file.
    Trailer,
    /// The table of sections before the trailer.
    Table,
    /// The table of rounds and chunks.
    Root,
    /// A chunk's page of entries.
    Page,
    /// One stored rendition of a picture.
    Picture,
    /// A search column.
    Column,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Head => "head",
            Self::Trailer => "trailer",
            Self::Table => "section table",
            Self::Root => "root",
            Self::Page => "page",
            Self::Picture => "picture",
            Self::Column => "column",
        })
    }
}

/// What is wrong with a damaged part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// The bytes differ from the hash that names them.
    #[error("hash is {found}, expected {expected}")]
    Hash {
        /// The hash in the reference.
        expected: ContentHash,
        /// The hash of the bytes.
        found: ContentHash,
    },
    /// The bytes given are not as many as the reference says.
    #[error("{found} bytes given, {expected} expected")]
    Length {
        /// Length in the reference.
        expected: u64,
        /// Length given.
        found: u64,
    },
    /// The hash holds but the content breaks a rule of the format.
    #[error("{0}")]
    Rule(&'static str),
    /// The bytes are not a valid rkyv value of the expected type.
    #[error("not a valid value: {0}")]
    Value(String),
}

impl ArchiveError {
    /// Builds the error for content that breaks a rule of the format.
    pub(crate) fn rule(part: Part, offset: u64, rule: &'static str) -> Self {
        Self::Damaged { part, offset, damage: Damage::Rule(rule) }
    }
}
