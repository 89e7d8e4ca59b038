//! Search columns: the keys of all entries, one after the other, to be scanned as they lie in the archive.

use bytes::Bytes;
use memchr::arch::all::packedpair::HeuristicFrequencyRank;
use memchr::memmem::{Finder, FinderBuilder};

use crate::error::{ArchiveError, Damage, Section};
use crate::hash::ContentHash;
use crate::model::Reference;
use crate::search_key::{push_exact, push_loose_of};
use crate::writer::MAX_COLUMN_BYTES;

/// Between the fields of one entry. No key contains it.
const FIELD_END: u8 = 0;

/// After each entry. No key contains it.
const ENTRY_END: u8 = b'\n';

const HEADER_BYTES: usize = 16;

/// Collects a column while entries are written.
#[derive(Debug, Default)]
pub(crate) struct ColumnDraft {
    exact: Draft,
    loose: Option<Draft>,
}

#[derive(Debug, Default)]
struct Draft {
    starts: Vec<u32>,
    keys: Vec<u8>,
}

impl Draft {
    fn begin(&mut self) {
        // A column past 4 GiB is refused when it is written out.
        self.starts.push(u32::try_from(self.keys.len()).unwrap_or(u32::MAX));
    }

    fn end(&mut self) {
        self.keys.push(ENTRY_END);
    }
}

impl ColumnDraft {
    pub(crate) fn new(with_loose: bool) -> Self {
        Self { exact: Draft::default(), loose: with_loose.then(Draft::default) }
    }

    /// Adds the next entry's fields.
    pub(crate) fn push<'a>(&mut self, fields: impl Iterator<Item = &'a str>) {
        self.exact.begin();
        if let Some(loose) = &mut self.loose {
            loose.begin();
        }
        for (at, field) in fields.enumerate() {
            let mut exact = String::with_capacity(field.len());
            push_exact(&mut exact, field);
            if at > 0 {
                self.exact.keys.push(FIELD_END);
            }
            self.exact.keys.extend_from_slice(exact.as_bytes());
            if let Some(loose) = &mut self.loose {
                let mut key = String::with_capacity(exact.len());
                push_loose_of(&mut key, &exact);
                if at > 0 {
                    loose.keys.push(FIELD_END);
                }
                loose.keys.extend_from_slice(key.as_bytes());
            }
        }
        self.exact.end();
        if let Some(loose) = &mut self.loose {
            loose.end();
        }
    }

    /// Returns the column as it is stored; nothing if it does not fit the format.
    pub(crate) fn encode(self) -> Option<Vec<u8>> {
        let loose = self.loose.unwrap_or_default();
        let mut bytes = Vec::with_capacity(HEADER_BYTES + self.exact.keys.len() + loose.keys.len());
        for length in [self.exact.starts.len(), self.exact.keys.len(), loose.keys.len(), 0] {
            bytes.extend_from_slice(&u32::try_from(length).ok()?.to_le_bytes());
        }
        for start in self.exact.starts.iter().chain(&loose.starts) {
            bytes.extend_from_slice(&start.to_le_bytes());
        }
        bytes.extend_from_slice(&self.exact.keys);
        bytes.extend_from_slice(&loose.keys);
        Some(bytes)
    }
}

/// A verified column. Cheap to clone; the keys stay where they are.
#[derive(Debug, Clone)]
pub struct Column {
    exact: Keys,
    loose: Option<Keys>,
}

/// The keys of all entries, of one kind.
#[derive(Debug, Clone)]
pub struct Keys {
    starts: Bytes,
    keys: Bytes,
}

impl Column {
    /// Verifies the bytes of a column of an archive with `entries` entries.
    pub fn open(reference: &Reference, bytes: &Bytes, entries: u32) -> Result<Self, ArchiveError> {
        let damaged =
            |damage| ArchiveError::Damaged { section: Section::Column, offset: reference.offset, damage };
        if reference.length > MAX_COLUMN_BYTES {
            return Err(damaged(Damage::Rule("a column is larger than the format allows")));
        }
        let expected = reference.length;
        if bytes.len() as u64 != expected {
            return Err(damaged(Damage::Length { expected, found: bytes.len() as u64 }));
        }
        let found = ContentHash::of(bytes);
        if found != reference.hash {
            return Err(damaged(Damage::Hash { expected: reference.hash, found }));
        }
        Self::split(bytes, entries)
            .ok_or_else(|| damaged(Damage::Rule("a column's tables do not fit together")))
    }

    fn split(bytes: &Bytes, entries: u32) -> Option<Self> {
        let header: &[u8; HEADER_BYTES] = bytes.first_chunk()?;
        let number = |at: usize| {
            header.get(at..).and_then(|rest| rest.first_chunk()).map(|four| u32::from_le_bytes(*four))
        };
        let (count, exact_bytes, loose_bytes, reserved) = (number(0)?, number(4)?, number(8)?, number(12)?);
        if count != entries || reserved != 0 {
            return None;
        }
        let table = (count as usize).checked_mul(4)?;
        let tables = if loose_bytes == 0 { 1 } else { 2 };
        let keys_at = HEADER_BYTES.checked_add(table.checked_mul(tables)?)?;
        let loose_at = keys_at.checked_add(exact_bytes as usize)?;
        let end = loose_at.checked_add(loose_bytes as usize)?;
        if bytes.len() != end {
            return None;
        }
        let keys = |starts_at: usize, from: usize, to: usize| {
            let keys =
                Keys { starts: bytes.slice(starts_at..starts_at + table), keys: bytes.slice(from..to) };
            keys.is_sound().then_some(keys)
        };
        let exact = keys(HEADER_BYTES, keys_at, loose_at)?;
        let loose = if loose_bytes == 0 { None } else { Some(keys(HEADER_BYTES + table, loose_at, end)?) };
        Some(Self { exact, loose })
    }

    /// Returns the exact keys.
    #[must_use]
    pub fn exact(&self) -> &Keys {
        &self.exact
    }

    /// Returns the loose keys, if the column has them.
    #[must_use]
    pub fn loose(&self) -> Option<&Keys> {
        self.loose.as_ref()
    }
}

impl Keys {
    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len() / 4
    }

    /// Tells whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Every entry begins where the one before ended, and ends with its mark.
    fn is_sound(&self) -> bool {
        let mut previous = 0;
        for ordinal in 0..self.len() {
            let start = self.start(ordinal);
            let follows = if ordinal == 0 {
                start == 0
            } else {
                start > previous && start <= self.keys.len() && self.keys.get(start - 1) == Some(&ENTRY_END)
            };
            if !follows {
                return false;
            }
            previous = start;
        }
        self.is_empty() == self.keys.is_empty() && self.keys.last().is_none_or(|last| *last == ENTRY_END)
    }

    /// Returns where the key of an entry begins; the end of all keys for the one after the last.
    fn start(&self, ordinal: usize) -> usize {
        let four = self.starts.get(ordinal * 4..).and_then(|rest| rest.first_chunk());
        four.map_or(self.keys.len(), |four| u32::from_le_bytes(*four) as usize)
    }

    /// Returns the key of an entry: its fields, each but the last followed by a zero byte.
    #[must_use]
    pub fn entry(&self, ordinal: usize) -> &[u8] {
        let end = self.start(ordinal + 1).saturating_sub(1);
        self.keys.get(self.start(ordinal)..end).unwrap_or_default()
    }

    /// Returns one field of an entry's key.
    #[must_use]
    pub fn field(&self, ordinal: usize, field: usize) -> &[u8] {
        self.entry(ordinal).split(|byte| *byte == FIELD_END).nth(field).unwrap_or_default()
    }

    /// Calls `found` with every entry that contains the needle, in order, and where in its key it first does.
    pub fn scan(&self, needle: &Finder<'_>, mut found: impl FnMut(usize, usize)) {
        let mut ordinal = 0;
        let mut from = 0;
        while let Some(at) = self.keys.get(from..).and_then(|rest| needle.find(rest)) {
            let position = from + at;
            if self.start(ordinal + 1) <= position {
                ordinal = self.ordinal_at(position, ordinal + 1);
            }
            found(ordinal, position - self.start(ordinal));
            ordinal += 1;
            from = self.start(ordinal);
        }
    }

    /// Returns the entry whose key holds a byte, given that it is not before `least`.
    fn ordinal_at(&self, position: usize, least: usize) -> usize {
        // Gallop first: matches of common terms are close together.
        let mut step = 1;
        let mut low = least;
        while low + step < self.len() && self.start(low + step) <= position {
            low += step;
            step *= 2;
        }
        let mut high = (low + step).min(self.len());
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            if self.start(middle) <= position {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// Returns a finder of `needle` that knows Japanese text: it looks first for the bytes that are rare there.
#[must_use]
pub fn finder(needle: &str) -> Finder<'_> {
    FinderBuilder::new().build_forward_with_ranker(Japanese, needle.as_bytes())
}

/// How common a byte is in UTF-8 Japanese: the lead bytes of kana and kanji, then the second bytes of kana.
struct Japanese;

impl HeuristicFrequencyRank for Japanese {
    fn rank(&self, byte: u8) -> u8 {
        match byte {
            0xe3 => 255,
            0x81 => 250,
            0x82 => 245,
            0xe5..=0xe8 => 220,
            0xe4 | 0xe9 => 210,
            0x83..=0xbf | 0x80 => 150,
            b'a'..=b'z' => 100,
            _ => 50,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(entries: &[&[&str]]) -> Column {
        let mut draft = ColumnDraft::new(true);
        for fields in entries {
            draft.push(fields.iter().copied());
        }
        let bytes = Bytes::from(draft.encode().unwrap());
        let reference = Reference { offset: 8, length: bytes.len() as u64, hash: ContentHash::of(&bytes) };
        Column::open(&reference, &bytes, u32::try_from(entries.len()).unwrap()).unwrap()
    }

    fn hits(keys: &Keys, needle: &str) -> Vec<(usize, usize)> {
        let mut hits = Vec::new();
        keys.scan(&finder(needle), |ordinal, position| hits.push((ordinal, position)));
        hits
    }

    #[test]
    fn each_entry_is_found_once_at_its_first_match() {
        let column = column(&[&["さくらさく", "@a"], &["うめ", "@さく"], &[], &["さ"], &["くさ", "@b"]]);
        assert_eq!(hits(column.exact(), "さく"), [(0, 0), (1, 8)]);
        assert_eq!(hits(column.exact(), "く"), [(0, 3), (1, 11), (4, 0)]);
        assert_eq!(hits(column.exact(), "めさ"), []);
        assert_eq!(column.exact().field(1, 1), "@さく".as_bytes());
        assert_eq!(column.exact().entry(2), b"");
    }

    #[test]
    fn far_matches_are_assigned_to_their_entries() {
        let texts: Vec<String> = (0..5_000).map(|n| format!("うた{n}め")).collect();
        let entries: Vec<[&str; 1]> = texts.iter().map(|text| [text.as_str()]).collect();
        let entries: Vec<&[&str]> = entries.iter().map(<[&str; 1]>::as_slice).collect();
        let column = column(&entries);
        for ordinal in [0, 1, 2, 3, 17, 999, 1000, 2500, 4998, 4999] {
            assert_eq!(hits(column.exact(), &format!("た{ordinal}め")), [(ordinal, 3)], "{ordinal}");
        }
        assert_eq!(hits(column.exact(), "うた").len(), 5_000);
    }

    #[test]
    fn tables_that_do_not_fit_are_refused() {
        let mut draft = ColumnDraft::new(false);
        draft.push(["あ"].into_iter());
        draft.push(["い"].into_iter());
        let good = draft.encode().unwrap();
        for at in 0..good.len() {
            for flip in [1_u8, 0x80, 0xff] {
                let mut bad = good.clone();
                bad[at] ^= flip;
                // Whatever the tables say, looking around in them stays inside.
                if let Some(column) = Column::split(&Bytes::from(bad), 2) {
                    hits(column.exact(), "い");
                    assert!(column.exact().field(1, 3).is_empty());
                }
            }
        }
        let huge = Reference { offset: 8, length: MAX_COLUMN_BYTES + 1, hash: ContentHash::of(&good) };
        let refused = Column::open(&huge, &Bytes::from(good.clone()), 2).unwrap_err().to_string();
        assert!(refused.contains("larger than the format allows"), "{refused}");
        assert!(Column::split(&Bytes::from(good.clone()), 3).is_none());
        assert!(Column::split(&Bytes::from(good[..good.len() - 1].to_vec()), 2).is_none());
    }
}
