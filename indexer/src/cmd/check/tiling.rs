//! Proves that an archive's sections lie end to end, in the order they are written, with nothing between them.

use std::collections::BTreeMap;

use wakashu_archive::{ArchivedRendition, ContentHash, Span};

/// Where the next section must begin, and which pictures of the current chunk are known.
#[derive(Debug)]
pub(super) struct Tiling {
    cursor: u64,
    /// Set after a section that could not be read: what it covers is unknown, so that a gap proves nothing.
    blind: bool,
    shared: BTreeMap<ContentHash, Stated>,
    /// How far pictures were looked at.
    seen_to: u64,
}

/// What an archive says of one rendition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stated {
    span: Span,
    file_bytes: u32,
    width_px: u32,
    height_px: u32,
    media_type: &'static str,
}

/// How a rendition lies in its chunk.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Placed {
    /// Its bytes are here for the first time.
    New,
    /// Its bytes are another rendition's of the same chunk.
    Shared,
}

impl Tiling {
    /// Begins after the opening mark.
    pub(super) fn new(first: u64) -> Self {
        Self { cursor: first, blind: false, shared: BTreeMap::new(), seen_to: first }
    }

    /// Tells whether a picture lies behind all that were looked at, and notes that it is now: so no byte is looked
    /// at twice, however often it is named.
    pub(super) fn is_first_look(&mut self, span: Span) -> bool {
        let is_first = span.offset >= self.seen_to;
        self.seen_to = self.seen_to.max(span.end());
        is_first
    }

    /// Begins the next chunk: nothing is shared across chunks.
    pub(super) fn next_chunk(&mut self) {
        self.shared.clear();
    }

    /// Says that the sections from here to the next one are unknown.
    pub(super) fn lose_track(&mut self) {
        self.blind = true;
    }

    /// Places the next section.
    pub(super) fn section(&mut self, span: Span) -> Result<(), String> {
        let (expected, blind) = (self.cursor, std::mem::take(&mut self.blind));
        self.cursor = span.end();
        let (offset, length) = (span.offset, span.length);
        if offset == expected || (blind && offset > expected) {
            return Ok(());
        }
        let what = if offset > expected { "leaves a gap" } else { "overlaps the one before" };
        Err(format!("section of {length} bytes at byte {offset} {what}; expected it at byte {expected}"))
    }

    /// Places the next rendition of the chunk; renditions come small, medium, large, original, each by rank.
    pub(super) fn rendition(&mut self, rendition: &ArchivedRendition) -> Result<Placed, String> {
        let stated = Stated {
            span: rendition.span(),
            file_bytes: rendition.file_bytes.to_native(),
            width_px: rendition.width_px.to_native(),
            height_px: rendition.height_px.to_native(),
            media_type: rendition.media_type().as_str(),
        };
        match self.shared.get(&rendition.hash()) {
            Some(known) if *known == stated => Ok(Placed::Shared),
            Some(known) if known.span == stated.span => {
                Err("says something else of its bytes than another rendition that shares them".to_owned())
            }
            Some(_) => {
                self.section(stated.span)?;
                Err("its bytes are stored more than once in the chunk".to_owned())
            }
            None => {
                self.shared.insert(rendition.hash(), stated);
                self.section(stated.span).map(|()| Placed::New)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_byte_is_looked_at_twice() {
        let mut tiling = Tiling::new(8);
        let looks = [(8, 10), (8, 10), (17, 1), (18, 2), (40, 5), (20, 30), (50, 1)];
        let first: Vec<bool> =
            looks.map(|(offset, length)| tiling.is_first_look(Span { offset, length })).to_vec();
        assert_eq!(first, [true, false, false, true, true, false, true]);
    }

    #[test]
    fn gaps_and_overlaps_are_named_once() {
        let span = |offset, length| Span { offset, length };
        let mut tiling = Tiling::new(8);
        assert_eq!(tiling.section(span(8, 10)), Ok(()));
        assert!(tiling.section(span(20, 10)).unwrap_err().contains("gap"));
        assert!(tiling.section(span(25, 5)).unwrap_err().contains("overlaps"));
        assert_eq!(tiling.section(span(30, 5)), Ok(()));
        tiling.lose_track();
        assert_eq!(tiling.section(span(50, 5)), Ok(()));
        assert!(tiling.section(span(56, 5)).is_err());
        tiling.lose_track();
        assert!(tiling.section(span(3, 5)).is_err());
        assert!(tiling.section(span(u64::MAX, 5)).is_err());
    }
}
