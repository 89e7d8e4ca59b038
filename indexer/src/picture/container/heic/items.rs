//! The boxes of a HEIC file: which items there are, where their bytes lie, what is said of them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use wakashu_archive::MediaType;

use super::super::Piece;
use crate::picture::problem::Problem;
use crate::picture::reader::Reader;

pub(super) type BoxPiece = Piece<[u8; 4]>;

/// The most boxes in a row, and the most items, extents, associations or references of a file, each in all.
///
/// All of them are read before the budget is asked, some cost the file nothing, and the largest grid with an alpha of its
/// own has fewer.
pub(super) const MAX_PARTS: usize = 1 << 17;
/// What describes a grid.
const MAX_GRID_BYTES: usize = 12;

/// How items refer to each other: kind, from and to.
type Reference = ([u8; 4], u32, Vec<u32>);

/// The items of a file.
pub(super) struct Items<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) primary: u32,
    pub(super) kinds: BTreeMap<u32, [u8; 4]>,
    extents: BTreeMap<u32, Arc<[Range<usize>]>>,
    properties: Vec<BoxPiece>,
    associations: BTreeMap<u32, Vec<usize>>,
    pub(super) references: Vec<Reference>,
}

pub(super) fn undecodable(reason: &'static str) -> Problem {
    Problem::undecodable(MediaType::Heic, reason)
}

fn cut_short() -> Problem {
    Problem::cut_short(MediaType::Heic, "its boxes run past its end")
}

impl<'a> Items<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Option<Self>, Problem> {
        let (top, complete) = boxes_until_broken(bytes, 0..bytes.len());
        let Some(meta) = top.iter().find(|piece| piece.tag == *b"meta") else {
            let sequence = top.iter().any(|piece| piece.tag == *b"moov");
            return match (sequence, complete) {
                (true, _) => Ok(None),
                (false, true) => Err(undecodable("there is no picture in it")),
                (false, false) => Err(cut_short()),
            };
        };
        let broken = || undecodable("the boxes that describe its pictures are broken");
        // A full box: four bytes of version and flags come first.
        let children = boxes(bytes, meta.body.start + 4..meta.body.end).ok_or_else(broken)?;
        let child = |tag: &[u8; 4]| children.iter().find(|piece| piece.tag == *tag);
        let primary = child(b"pitm").and_then(|piece| {
            let mut reader = Reader::new(piece.body(bytes));
            let wide = reader.u32_be()? >> 24 != 0;
            item_id(&mut reader, wide)
        });
        let info = child(b"iinf").ok_or_else(broken)?;
        let locations = child(b"iloc").ok_or_else(broken)?;
        let data_box = child(b"idat").map_or(0..0, |piece| piece.body.clone());
        let properties =
            child(b"iprp").and_then(|piece| boxes(bytes, piece.body.clone())).ok_or_else(broken)?;
        let container = properties.iter().find(|piece| piece.tag == *b"ipco").ok_or_else(broken)?;
        let mut associations = BTreeMap::new();
        for piece in properties.iter().filter(|piece| piece.tag == *b"ipma") {
            read_associations(piece.body(bytes), &mut associations).ok_or_else(broken)?;
        }
        let references =
            child(b"iref").map_or_else(|| Some(Vec::new()), |piece| read_references(bytes, piece));
        Ok(Some(Self {
            bytes,
            primary: primary.ok_or_else(|| undecodable("it does not say which of its pictures is meant"))?,
            kinds: read_kinds(bytes, info).ok_or_else(broken)?,
            extents: read_extents(locations.body(bytes), &data_box).ok_or_else(broken)?,
            properties: boxes(bytes, container.body.clone()).ok_or_else(broken)?,
            associations,
            references: references.ok_or_else(broken)?,
        }))
    }

    /// Returns the properties of an item in the order in which they apply; an index of zero means none.
    pub(super) fn properties(&self, item: u32) -> impl Iterator<Item = &BoxPiece> {
        let indices = self.associations.get(&item).map(Vec::as_slice).unwrap_or_default();
        indices.iter().filter_map(|index| self.properties.get(index.checked_sub(1)?))
    }

    pub(super) fn property(&self, item: u32, tag: [u8; 4]) -> Option<&BoxPiece> {
        self.properties(item).find(|piece| piece.tag == tag)
    }

    pub(super) fn references(&self, kind: [u8; 4], from: u32) -> Option<&[u32]> {
        let found = self.references.iter().find(|(found, item, _)| *found == kind && *item == from);
        found.map(|(.., to)| to.as_slice())
    }

    pub(super) fn extents(&self, item: u32) -> Result<Arc<[Range<usize>]>, Problem> {
        let extents =
            self.extents.get(&item).ok_or_else(|| undecodable("a part of its picture is missing"))?;
        if extents.iter().any(|extent| extent.end > self.bytes.len()) {
            return Err(cut_short());
        }
        Ok(Arc::clone(extents))
    }

    /// Returns the bytes that describe a grid, however often the item names the same part of the file.
    pub(super) fn grid(&self, item: u32) -> Result<Vec<u8>, Problem> {
        let extents = self.extents(item)?;
        let bytes = extents.iter().flat_map(|extent| self.bytes.get(extent.clone()).unwrap_or_default());
        Ok(bytes.take(MAX_GRID_BYTES).copied().collect())
    }
}

/// Lists the boxes within a part of the file; `None` if one runs past its end, or if there are too many.
fn boxes(file: &[u8], within: Range<usize>) -> Option<Vec<BoxPiece>> {
    let (boxes, complete) = boxes_until_broken(file, within);
    complete.then_some(boxes)
}

/// Lists the boxes up to one that runs past the end or is one too many, and tells whether there is none such.
fn boxes_until_broken(file: &[u8], within: Range<usize>) -> (Vec<BoxPiece>, bool) {
    let mut boxes = Vec::new();
    let Some(part) = file.get(..within.end) else { return (boxes, false) };
    let mut reader = Reader::new(part);
    if reader.take(within.start).is_none() {
        return (boxes, false);
    }
    while !reader.is_at_end() {
        match read_box(&mut reader, within.end) {
            Some(piece) if boxes.len() < MAX_PARTS => boxes.push(piece),
            _ => return (boxes, false),
        }
    }
    (boxes, true)
}

fn read_box(reader: &mut Reader<'_>, end: usize) -> Option<BoxPiece> {
    let start = reader.position();
    let short_length = reader.u32_be()?;
    let tag = reader.array()?;
    let length = match short_length {
        0 => end - start,
        1 => usize::try_from(reader.u64_be()?).ok()?,
        length => length as usize,
    };
    let body_start = reader.position();
    reader.take(length.checked_sub(body_start - start)?)?;
    Some(BoxPiece { tag, span: start..reader.position(), body: body_start..reader.position() })
}

fn item_id(reader: &mut Reader<'_>, wide: bool) -> Option<u32> {
    if wide { reader.u32_be() } else { reader.u16_be().map(u32::from) }
}

/// Returns the types of the items.
fn read_kinds(file: &[u8], info: &BoxPiece) -> Option<BTreeMap<u32, [u8; 4]>> {
    let version = *info.body(file).first()?;
    let header_bytes = if version == 0 { 6 } else { 8 };
    let mut kinds = BTreeMap::new();
    for entry in boxes(file, info.body.start + header_bytes..info.body.end)? {
        let mut reader = Reader::new(entry.body(file));
        let version = reader.u32_be()? >> 24;
        // The oldest forms name no type; pictures are never stored in them.
        if version < 2 || entry.tag != *b"infe" {
            continue;
        }
        let id = item_id(&mut reader, version > 2)?;
        let _protection = reader.u16_be()?;
        kinds.insert(id, reader.array()?);
    }
    Some(kinds)
}

/// Reads which properties the items have, by their numbers from one upwards.
fn read_associations(body: &[u8], associations: &mut BTreeMap<u32, Vec<usize>>) -> Option<()> {
    let mut reader = Reader::new(body);
    let head = reader.u32_be()?;
    let (wide_ids, wide_indices) = (head >> 24 != 0, head & 1 != 0);
    let mut left = MAX_PARTS;
    for _ in 0..reader.u32_be()? {
        let id = item_id(&mut reader, wide_ids)?;
        let mut indices = Vec::new();
        let count = reader.u8()?;
        left = left.checked_sub(1 + usize::from(count))?;
        for _ in 0..count {
            let index = if wide_indices { reader.u16_be()? & 0x7FFF } else { u16::from(reader.u8()? & 0x7F) };
            indices.push(usize::from(index));
        }
        associations.insert(id, indices);
    }
    Some(())
}

/// Reads how items refer to each other.
fn read_references(file: &[u8], piece: &BoxPiece) -> Option<Vec<Reference>> {
    let wide = *piece.body(file).first()? != 0;
    let mut references = Vec::new();
    let mut left = MAX_PARTS;
    for reference in boxes(file, piece.body.start + 4..piece.body.end)? {
        let mut reader = Reader::new(reference.body(file));
        let from = item_id(&mut reader, wide)?;
        let count = reader.u16_be()?;
        left = left.checked_sub(usize::from(count))?;
        let to = (0..count).map(|_| item_id(&mut reader, wide)).collect::<Option<Vec<_>>>()?;
        references.push((reference.tag, from, to));
    }
    Some(references)
}

/// Returns where the bytes of each item lie in the file.
fn read_extents(locations: &[u8], data_box: &Range<usize>) -> Option<BTreeMap<u32, Arc<[Range<usize>]>>> {
    let mut reader = Reader::new(locations);
    let version = reader.u32_be()? >> 24;
    let sizes = reader.u8()?;
    let (offset_bytes, length_bytes) = (sizes >> 4, sizes & 15);
    let sizes = reader.u8()?;
    let (base_bytes, index_bytes) = (sizes >> 4, if version == 0 { 0 } else { sizes & 15 });
    let count = item_id(&mut reader, version > 1)?;
    let mut items = BTreeMap::new();
    let mut left = MAX_PARTS;
    for _ in 0..count {
        let id = item_id(&mut reader, version > 1)?;
        let method = if version == 0 { 0 } else { reader.u16_be()? & 15 };
        let _data_reference = reader.u16_be()?;
        let base = sized(&mut reader, base_bytes)?;
        let mut extents = Vec::new();
        let count = reader.u16_be()?;
        // An item without extents counts too. Without sizes an extent takes no byte here.
        left = left.checked_sub(usize::from(count.max(1)))?;
        for _ in 0..count {
            sized(&mut reader, index_bytes)?;
            let offset = sized(&mut reader, offset_bytes)?;
            let length = sized(&mut reader, length_bytes)?;
            let start = base.checked_add(offset)?;
            match method {
                0 => extents.push(start..start.checked_add(length)?),
                1 => {
                    let start = data_box.start.checked_add(start)?;
                    // No length means all there is.
                    let end = if length == 0 { data_box.end } else { start.checked_add(length)? };
                    extents.push(start..end.min(data_box.end).max(start));
                }
                // Parts of other items.
                _ => {}
            }
        }
        items.insert(id, extents.into());
    }
    Some(items)
}

fn sized(reader: &mut Reader<'_>, bytes: u8) -> Option<usize> {
    match bytes {
        0 => Some(0),
        2 => reader.u16_be().map(usize::from),
        4 => usize::try_from(reader.u32_be()?).ok(),
        8 => usize::try_from(reader.u64_be()?).ok(),
        _ => None,
    }
}
