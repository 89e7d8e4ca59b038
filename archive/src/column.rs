//! Search columns: the keys of all entries, one after the other, to be scanned as they lie in the archive.

use std::cell::Cell;
use std::io::{self, Read, Seek, Write};
use std::ops::Range;

use bytes::Bytes;
use memchr::arch::all::packedpair::HeuristicFrequencyRank;
use memchr::memmem::{Finder, FinderBuilder};

use crate::error::{ArchiveError, Damage, Part};
use crate::limits::MAX_COLUMN_BYTES;
use crate::model::Reference;
use crate::reader::check_bytes;
use crate::search_key::{KEYS_VERSION, MAX_CANDIDATES, push_exact, push_loose_of};

/// Between the fields of one entry. No key contains it.
const FIELD_END: u8 = 0;

/// After each entry. No key contains it.
const ENTRY_END: u8 = b'\n';

const HEADER_BYTES: usize = 16;

/// How many bytes of keys are collected before they are spooled.
const SPOOL_BYTES: usize = 256 << 10;

/// Where keys wait until the column is written: all of them are known only after the last entry.
///
/// A temporary file keeps memory flat however many entries there are; `Cursor<Vec<u8>>` does for small archives.
pub trait Spool: Read + Write + Seek {}

impl<S: Read + Write + Seek> Spool for S {}

/// Collects a column while entries are written.
#[derive(Debug)]
pub(crate) struct ColumnDraft<S> {
    exact: KeysDraft<S>,
    loose: Option<KeysDraft<S>>,
}

#[cfg(test)]
impl<S: Spool> ColumnDraft<S> {
    /// Returns a draft that says it has so many bytes.
    pub(crate) fn of_length(spool: S, length: u64) -> Self {
        let exact = KeysDraft { length: length - HEADER_BYTES as u64, ..KeysDraft::new(spool) };
        Self { exact, loose: None }
    }
}

/// Collects the keys of one kind. Only where each begins is held in memory.
#[derive(Debug)]
struct KeysDraft<S> {
    starts: Vec<u32>,
    /// Bytes of all keys so far.
    length: u64,
    unspooled: Vec<u8>,
    spool: S,
}

impl<S: Spool> KeysDraft<S> {
    fn new(spool: S) -> Self {
        Self { starts: Vec::new(), length: 0, unspooled: Vec::new(), spool }
    }

    fn begin(&mut self) {
        // A column past 4 GiB is refused when it is written out.
        self.starts.push(u32::try_from(self.length).unwrap_or(u32::MAX));
    }

    fn push(&mut self, key: &[u8]) {
        self.unspooled.extend_from_slice(key);
        self.length += key.len() as u64;
    }

    fn end(&mut self) -> io::Result<()> {
        self.push(&[ENTRY_END]);
        if self.unspooled.len() >= SPOOL_BYTES {
            self.spool.write_all(&self.unspooled)?;
            self.unspooled.clear();
        }
        Ok(())
    }

    fn copy_keys(mut self, out: &mut impl Write) -> io::Result<()> {
        let spooled = self.length - self.unspooled.len() as u64;
        self.spool.rewind()?;
        let copied = io::copy(&mut (&mut self.spool).take(spooled), out)?;
        if copied != spooled {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "a spool lost bytes"));
        }
        out.write_all(&self.unspooled)
    }
}

impl<S: Spool> ColumnDraft<S> {
    pub(crate) fn new(exact: S, loose: Option<S>) -> Self {
        Self { exact: KeysDraft::new(exact), loose: loose.map(KeysDraft::new) }
    }

    /// Adds the next entry's fields.
    pub(crate) fn push<'a>(&mut self, fields: impl Iterator<Item = &'a str>) -> io::Result<()> {
        self.exact.begin();
        if let Some(loose) = &mut self.loose {
            loose.begin();
        }
        for (at, field) in fields.enumerate() {
            let mut exact = String::with_capacity(field.len());
            push_exact(&mut exact, field);
            if at > 0 {
                self.exact.push(&[FIELD_END]);
            }
            self.exact.push(exact.as_bytes());
            if let Some(loose) = &mut self.loose {
                let mut key = Vec::with_capacity(exact.len() / 3);
                push_loose_of(&mut key, &exact);
                if at > 0 {
                    loose.push(&[FIELD_END]);
                }
                loose.push(&key);
            }
        }
        self.exact.end()?;
        self.loose.as_mut().map_or(Ok(()), KeysDraft::end)
    }

    /// Returns how long the column will be.
    pub(crate) fn length(&self) -> u64 {
        let keys = [Some(&self.exact), self.loose.as_ref()].into_iter().flatten();
        HEADER_BYTES as u64 + keys.map(|keys| 4 * keys.starts.len() as u64 + keys.length).sum::<u64>()
    }

    /// Writes the column as it is stored, if it is not longer than the format allows: then every number in it fits.
    pub(crate) fn write_to(self, out: &mut impl Write) -> io::Result<()> {
        let loose_length = self.loose.as_ref().map_or(0, |loose| loose.length);
        for length in [self.exact.starts.len() as u64, self.exact.length, loose_length] {
            out.write_all(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes())?;
        }
        out.write_all(&KEYS_VERSION.to_le_bytes())?;
        out.write_all(&[0; 2])?;
        let mut keys: Vec<KeysDraft<S>> = [Some(self.exact), self.loose].into_iter().flatten().collect();
        for keys in &mut keys {
            for start in std::mem::take(&mut keys.starts) {
                out.write_all(&start.to_le_bytes())?;
            }
        }
        keys.into_iter().try_for_each(|keys| keys.copy_keys(out))
    }
}

/// A verified column. Cheap to clone; the keys stay where they are.
#[derive(Debug, Clone)]
pub struct Column {
    keys_version: u16,
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
        let damaged = |damage| ArchiveError::Damaged { part: Part::Column, offset: reference.offset, damage };
        if reference.length > MAX_COLUMN_BYTES {
            return Err(damaged(Damage::Rule("a column is larger than the format allows")));
        }
        check_bytes(reference.span(), reference.hash, bytes).map_err(damaged)?;
        Self::split(bytes, entries)
            .ok_or_else(|| damaged(Damage::Rule("a column's tables do not fit together")))
    }

    fn split(bytes: &Bytes, entries: u32) -> Option<Self> {
        let header: &[u8; HEADER_BYTES] = bytes.first_chunk()?;
        let number = |at: usize| {
            header.get(at..).and_then(|rest| rest.first_chunk()).map(|four| u32::from_le_bytes(*four))
        };
        let (count, exact_bytes, loose_bytes, versions) = (number(0)?, number(4)?, number(8)?, number(12)?);
        // Its upper half is reserved, and zero.
        let keys_version = u16::try_from(versions).ok()?;
        if count != entries {
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
        Some(Self { keys_version, exact, loose })
    }

    /// Returns which keys the column holds. Keys of another version than [`KEYS_VERSION`] were folded in another way:
    /// what this build makes of a query does not find in them what it should.
    #[must_use]
    pub fn keys_version(&self) -> u16 {
        self.keys_version
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

    /// Returns where a field other than the first begins; where the key of its entry ends, if that has no such field.
    fn field_start(&self, ordinal: usize, field: usize) -> usize {
        let key = self.entry(ordinal);
        let before = memchr::memchr_iter(FIELD_END, key).nth(field - 1);
        self.start(ordinal) + before.map_or(key.len(), |end| end + 1)
    }

    /// Calls `fits` with each entry among `ordinals` that contains the needle, in order, and with where in its key it does:
    /// with every place up to the first that fits, or until too many did not.
    pub fn scan(&self, needle: &Finder<'_>, ordinals: Range<usize>, fits: impl FnMut(usize, usize) -> bool) {
        self.scan_on(needle, ordinals, 0, &Cell::new(usize::MAX), fits);
    }

    /// Does the same with the fields from `field` on, and only until the `work` that may be done is used up; returns with which
    /// entry to go on. Work is counted in bytes that are passed over and characters that are compared; whoever has more
    /// to do with an entry takes off what that is. One entry is always gone through.
    pub fn scan_on(
        &self,
        needle: &Finder<'_>,
        ordinals: Range<usize>,
        field: usize,
        work: &Cell<usize>,
        mut fits: impl FnMut(usize, usize) -> bool,
    ) -> usize {
        let takes = |done: usize| work.set(work.get().saturating_sub(done));
        let (first, most) = (ordinals.start, ordinals.end);
        let mut next = self.portion(&ordinals, work.get());
        let end = self.start(next);
        let mut ordinal = first;
        let mut from = self.start(ordinal);
        let mut tried = 0;
        while let Some(at) = self.keys.get(from..end).and_then(|rest| needle.find(rest)) {
            let position = from + at;
            if self.start(ordinal + 1) <= position {
                ordinal = self.ordinal_at(position, ordinal + 1);
                tried = 0;
            }
            if tried == 0 {
                if work.get() == 0 && ordinal > first {
                    next = ordinal;
                    break;
                }
                if field > 0 && position < self.field_start(ordinal, field) {
                    from = self.field_start(ordinal, field);
                    continue;
                }
            }
            tried += 1;
            takes(needle.needle().len());
            if fits(ordinal, position - self.start(ordinal)) || tried == MAX_CANDIDATES {
                ordinal += 1;
                tried = 0;
                from = self.start(ordinal);
            } else {
                // Matches may overlap.
                from = position + 1;
            }
        }
        takes(if next < most { usize::MAX } else { self.start(next) - self.start(first) });
        next
    }

    /// Returns where among `ordinals` a portion of about `bytes` ends that begins at the first; it has one entry at least.
    #[must_use]
    pub fn portion(&self, ordinals: &Range<usize>, bytes: usize) -> usize {
        let least = ordinals.start + 1;
        let until = self.start(ordinals.start).saturating_add(bytes);
        if until >= self.start(ordinals.end) {
            return ordinals.end;
        }
        self.ordinal_at(until, ordinals.start).clamp(least, ordinals.end.max(least))
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
    use std::io::Cursor;

    use super::*;
    use crate::hash::ContentHash;
    use crate::limits::MAX_KEY_BYTES;
    use crate::search_key::SearchKey;

    fn encoded(entries: &[&[&str]], loose: bool) -> Bytes {
        let spool = Cursor::<Vec<u8>>::default;
        let mut draft = ColumnDraft::new(spool(), loose.then(spool));
        for fields in entries {
            draft.push(fields.iter().copied()).unwrap();
        }
        let (length, mut bytes) = (draft.length(), Vec::new());
        draft.write_to(&mut bytes).unwrap();
        assert_eq!(bytes.len() as u64, length);
        bytes.into()
    }

    fn column(entries: &[&[&str]]) -> Column {
        let bytes = encoded(entries, true);
        let reference = Reference { offset: 8, length: bytes.len() as u64, hash: ContentHash::of(&bytes) };
        Column::open(&reference, &bytes, u32::try_from(entries.len()).unwrap()).unwrap()
    }

    fn hits(keys: &Keys, needle: &str) -> Vec<(usize, usize)> {
        let mut hits = Vec::new();
        keys.scan(&finder(needle), 0..keys.len(), |ordinal, position| {
            hits.push((ordinal, position));
            true
        });
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
    fn places_that_do_not_fit_are_passed_over() {
        let column = column(&[&["ささささ"], &["さ"], &["くさ", "さく"]]);
        let mut tried = Vec::new();
        column.exact().scan(&finder("さ"), 0..3, |ordinal, position| {
            tried.push((ordinal, position));
            position == 6 || ordinal == 1
        });
        assert_eq!(tried, [(0, 0), (0, 3), (0, 6), (1, 0), (2, 3), (2, 7)]);
        // No entry takes for ever.
        let long = "さ".repeat(10 * MAX_CANDIDATES);
        let column = self::column(&[&[&long], &["さ"]]);
        let mut tried = 0;
        column.exact().scan(&finder("さ"), 0..2, |_, _| {
            tried += 1;
            false
        });
        assert_eq!(tried, MAX_CANDIDATES + 1);
    }

    #[test]
    fn a_scan_begins_at_the_field_that_is_asked_for() {
        let long = "a".repeat(2 * MAX_CANDIDATES);
        let column =
            column(&[&[&long, &long, "@ba"], &["a"], &["a", "b"], &["", "", "ca", "a"], &["b", "", "a"]]);
        for (keys, needle) in [(column.exact(), "a"), (column.loose().unwrap(), "a")] {
            let mut found = Vec::new();
            keys.scan_on(&finder(needle), 0..5, 2, &Cell::new(usize::MAX), |ordinal, position| {
                found.push((ordinal, position));
                true
            });
            assert_eq!(found, [(0, 4 * MAX_CANDIDATES + 4), (3, 3), (4, 3)]);
        }
    }

    /// Places that are compared count as well as bytes that are passed over, or a scan of many would hold up others.
    #[test]
    fn a_scan_stops_where_its_work_is_used_up() {
        let text = "さ".repeat(100);
        let column = column(&[[text.as_str()].as_slice(); 100]);
        let (keys, needle) = (column.loose().unwrap(), SearchKey::loose("ささささ"));
        let needle = Finder::new(&needle);
        let (mut at, mut turns, mut places) = (0, 0, 0);
        while at < 100 {
            let work = Cell::new(4_000);
            let next = keys.scan_on(&needle, at..100, 0, &work, |_, _| {
                places += 1;
                false
            });
            assert!(at < next && (next == 100 || work.get() == 0), "{at} {next} {}", work.get());
            (at, turns) = (next, turns + 1);
        }
        // 97 places of 4 characters in each: eleven of them are more than 4,000.
        assert_eq!((places, turns), (9_700, 100_usize.div_ceil(11)));
    }

    #[test]
    fn portions_follow_each_other_to_the_end() {
        let texts: Vec<String> = (0..500).map(|n| "あ".repeat(n % 50)).collect();
        let entries: Vec<[&str; 1]> = texts.iter().map(|text| [text.as_str()]).collect();
        let entries: Vec<&[&str]> = entries.iter().map(<[&str; 1]>::as_slice).collect();
        let column = column(&entries);
        for bytes in [0, 1, 100, 1_000, 1_000_000] {
            let (mut at, mut portions, mut found) = (7, 0, 0);
            while at < 450 {
                let end = column.exact().portion(&(at..450), bytes);
                assert!(at < end && end <= 450, "{at} {end}");
                column.exact().scan(&finder("あ"), at..end, |ordinal, _| {
                    assert!((at..end).contains(&ordinal));
                    found += 1;
                    true
                });
                (at, portions) = (end, portions + 1);
            }
            assert_eq!(found, (7..450).filter(|n| n % 50 > 0).count(), "{bytes}");
            assert_eq!(portions == 1, bytes == 1_000_000);
        }
    }

    #[test]
    fn keys_that_were_spooled_read_back() {
        let long = "あ".repeat(MAX_KEY_BYTES / 3);
        let longs = [long.as_str(); SPOOL_BYTES / MAX_KEY_BYTES];
        let column = column(&[&["うめ"], &longs, &["さくら"], &[&long, "@a"], &["もみじ"]]);
        assert_eq!(hits(column.exact(), "さくら"), [(2, 0)]);
        assert_eq!(column.exact().field(3, 0), long.as_bytes());
        assert_eq!(column.exact().field(3, 1), b"@a");
        assert_eq!(column.loose().unwrap().entry(4), SearchKey::loose("もみじ"));
    }

    #[test]
    fn a_column_says_which_keys_it_holds() {
        let mut bytes = encoded(&[&["あ"]], false).to_vec();
        assert_eq!(Column::split(&bytes.clone().into(), 1).unwrap().keys_version(), KEYS_VERSION);
        bytes[12..14].copy_from_slice(&0x1234_u16.to_le_bytes());
        assert_eq!(Column::split(&bytes.clone().into(), 1).unwrap().keys_version(), 0x1234);
        bytes[14] = 1;
        assert!(Column::split(&bytes.into(), 1).is_none(), "reserved bytes are zero");
    }

    #[test]
    fn tables_that_do_not_fit_are_refused() {
        let good = encoded(&[&["あ"], &["い"]], false).to_vec();
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
