//! The section table: what lies in the file besides chunks, and where.

use std::fmt;

use crate::error::{ArchiveError, Damage, Part};
use crate::hash::ContentHash;
use crate::limits::MAX_SECTIONS;
use crate::model::Reference;
use crate::reader::check_bytes;
use crate::trailer::{HEAD_MAGIC, Trailer, split};

/// Bytes of one row of the table.
pub(crate) const ROW_BYTES: usize = 56;

/// The flag of a section that a reader must understand to read the archive at all.
const MUST_BE_UNDERSTOOD: u32 = 1;

/// What a section holds: four bytes, readable ones by custom.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SectionKind(pub [u8; 4]);

impl SectionKind {
    /// The [`Root`](crate::Root).
    pub const ROOT: Self = Self(*b"root");

    fn is_known(self) -> bool {
        self == Self::ROOT || ColumnName::ALL.iter().any(|column| column.kind() == self)
    }
}

impl fmt::Display for SectionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}

impl fmt::Debug for SectionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SectionKind({self})")
    }
}

/// A search column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnName {
    /// Poems, readings, accounts.
    Text,
    /// Prompts.
    Prompt,
    /// Honka URLs.
    Honka,
}

impl ColumnName {
    /// All of them, in the order they are written.
    pub const ALL: [Self; 3] = [Self::Text, Self::Prompt, Self::Honka];

    /// Which field of the column of texts holds the reading.
    pub const READING_FIELD: usize = 1;

    /// The position of the account among the fields of the [text](Self::Text) column.
    pub const ACCOUNT_FIELD: usize = 2;

    /// Returns the kind of the column's section.
    #[must_use]
    pub fn kind(self) -> SectionKind {
        SectionKind(match self {
            Self::Text => *b"text",
            Self::Prompt => *b"prom",
            Self::Honka => *b"honk",
        })
    }
}

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section {
    /// What it holds.
    pub kind: SectionKind,
    /// Whether a reader that does not know the kind must refuse the archive. It skips the section otherwise.
    pub must_be_understood: bool,
    /// Where it lies.
    pub reference: Reference,
}

/// The sections of a file, ascending by kind.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SectionTable {
    rows: Vec<Section>,
}

impl SectionTable {
    /// Sorts sections into a table.
    #[must_use]
    pub fn new(mut rows: Vec<Section>) -> Self {
        rows.sort_by_key(|section| section.kind);
        Self { rows }
    }

    /// Verifies and reads the bytes that `trailer` names as the table.
    pub fn decode(trailer: &Trailer, bytes: &[u8]) -> Result<Self, ArchiveError> {
        let offset = trailer.table().offset;
        let damaged = |damage| ArchiveError::Damaged { part: Part::Table, offset, damage };
        let broken = |rule| damaged(Damage::Rule(rule));
        check_bytes(trailer.table().span(), trailer.table().hash, bytes).map_err(damaged)?;
        let (rows, _) = bytes.as_chunks::<ROW_BYTES>();
        let mut sections: Vec<Section> = Vec::with_capacity(rows.len().min(MAX_SECTIONS));
        for row in rows {
            let (kind, rest) = split::<4>(row);
            let (flags, rest) = split::<4>(rest);
            let (offset, rest) = split::<8>(rest);
            let (length, rest) = split::<8>(rest);
            let (hash, _) = split::<32>(rest);
            let (kind, flags) = (SectionKind(kind), u32::from_le_bytes(flags));
            if sections.last().is_some_and(|before| before.kind >= kind) {
                return Err(broken("the sections do not ascend by kind"));
            }
            if flags & !MUST_BE_UNDERSTOOD != 0 {
                return Err(broken("a section has flags that this version does not know"));
            }
            let reference = Reference {
                offset: u64::from_le_bytes(offset),
                length: u64::from_le_bytes(length),
                hash: ContentHash(hash),
            };
            if reference.offset < HEAD_MAGIC.len() as u64 || reference.span().end() > trailer.table().offset {
                return Err(broken("a section's span leaves the file"));
            }
            let must_be_understood = flags & MUST_BE_UNDERSTOOD != 0;
            if must_be_understood && !kind.is_known() {
                return Err(ArchiveError::UnknownSection { kind });
            }
            sections.push(Section { kind, must_be_understood, reference });
        }
        let table = Self { rows: sections };
        if table.find(SectionKind::ROOT).is_none() {
            return Err(broken("no root is named"));
        }
        Ok(table)
    }

    /// Returns the table's bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.rows.len() * ROW_BYTES);
        for Section { kind, must_be_understood, reference } in &self.rows {
            bytes.extend_from_slice(&kind.0);
            bytes.extend_from_slice(&u32::from(*must_be_understood).to_le_bytes());
            bytes.extend_from_slice(&reference.offset.to_le_bytes());
            bytes.extend_from_slice(&reference.length.to_le_bytes());
            bytes.extend_from_slice(&reference.hash.0);
        }
        bytes
    }

    /// Returns all sections, ascending by kind.
    #[must_use]
    pub fn sections(&self) -> &[Section] {
        &self.rows
    }

    /// Returns where the section of that kind lies, if there is one.
    #[must_use]
    pub fn find(&self, kind: SectionKind) -> Option<Reference> {
        let found = self.rows.binary_search_by_key(&kind, |section| section.kind).ok()?;
        self.rows.get(found).map(|section| section.reference)
    }

    /// Returns where a search column lies, if the archive has it.
    #[must_use]
    pub fn column(&self, name: ColumnName) -> Option<Reference> {
        self.find(name.kind())
    }
}
