//! HEIC: ISO base media boxes.

use std::borrow::Cow;
use std::ops::Range;

use heic_decoder::HeifError;
use wakashu_archive::MediaType;

use super::{DEEP_PEAK_BYTES, Facts, Piece, hevc, pixels};
use crate::picture::guard::guarded;
use crate::picture::orient::Orientation;
use crate::picture::problem::Problem;
use crate::picture::reader::Reader;

/// The offset of the TIFF header, then a TIFF directory without entries.
const EMPTY_EXIF: &[u8] = b"\0\0\0\0MM\0*\0\0\0\x08\0\0\0\0\0\0";

type BoxPiece = Piece<[u8; 4]>;

pub(crate) fn inspect(bytes: &[u8]) -> Result<Facts, Problem> {
    let problem = |error: HeifError| match error {
        HeifError::Truncated { .. } => Problem::cut_short(MediaType::Heic, "its boxes run past its end"),
        other => Problem::undecodable(MediaType::Heic, other.to_string()),
    };
    let info = guarded(MediaType::Heic, || heic_decoder::probe(bytes).map_err(problem))?;
    let side = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    let coded = (side(info.coded_width), side(info.coded_height));
    let largest =
        claimed_sizes(bytes).into_iter().chain([coded]).max_by_key(|size| pixels(*size)).unwrap_or(coded);
    Ok(Facts {
        width: side(info.width),
        height: side(info.height),
        largest,
        // Rotation and mirroring boxes are applied by the decoder; they alone count in HEIC, EXIF does not.
        orientation: Orientation::default(),
        animated: false,
        plain: false,
        has_profile: false,
        cicp: None,
        peak_bytes_per_pixel: DEEP_PEAK_BYTES,
    })
}

/// Returns every size that the properties of the file's pictures claim: in a box, or inside the coded picture.
fn claimed_sizes(bytes: &[u8]) -> Vec<(u32, u32)> {
    let child = |within: Range<usize>, tag: &[u8; 4]| {
        boxes(bytes, within)?.into_iter().find(|piece| piece.tag == *tag).map(|piece| piece.body)
    };
    let properties = child(0..bytes.len(), b"meta")
        .and_then(|meta| child(meta.start + 4..meta.end, b"iprp"))
        .and_then(|properties| child(properties, b"ipco"))
        .and_then(|container| boxes(bytes, container))
        .unwrap_or_default();
    let claim = |property: &BoxPiece| match &property.tag {
        b"ispe" => {
            let mut reader = Reader::new(property.body(bytes));
            let _version_and_flags = reader.u32_be()?;
            Some((reader.u32_be()?, reader.u32_be()?))
        }
        b"hvcC" => hevc::coded_size(property.body(bytes)),
        _ => None,
    };
    properties.iter().filter_map(claim).collect()
}

/// Overwrites metadata in place, so that no offset in the file changes.
///
/// EXIF becomes an empty EXIF block, XMP and other text becomes spaces, top-level `uuid` boxes become free space.
/// Thumbnails, depth and gain maps stay: they are pictures of the same picture.
pub(crate) fn strip(bytes: &[u8]) -> Result<Cow<'_, [u8]>, Problem> {
    let broken =
        || Problem::undecodable(MediaType::Heic, "its metadata boxes are broken and cannot be cleared");
    let top = boxes(bytes, 0..bytes.len()).ok_or_else(broken)?;
    let mut output = Cow::Borrowed(bytes);
    for uuid in top.iter().filter(|piece| piece.tag == *b"uuid") {
        let output = output.to_mut();
        if let Some(tag) = output.get_mut(uuid.body.start.saturating_sub(4)..uuid.body.start) {
            tag.copy_from_slice(b"free");
        }
        if let Some(body) = output.get_mut(uuid.body.clone()) {
            body.fill(0);
        }
    }
    let Some(meta) = top.iter().find(|piece| piece.tag == *b"meta") else { return Ok(output) };
    // A full box: four bytes of version and flags come first.
    let children = boxes(bytes, meta.body.start + 4..meta.body.end).ok_or_else(broken)?;
    let body_of = |tag: &[u8; 4]| children.iter().find(|piece| piece.tag == *tag);
    let (Some(info), Some(locations)) = (body_of(b"iinf"), body_of(b"iloc")) else { return Ok(output) };
    let items = metadata_items(bytes, info).ok_or_else(broken)?;
    let data_box = body_of(b"idat").map_or(0..0, |piece| piece.body.clone());
    let extents = item_extents(locations.body(bytes), &data_box, bytes.len()).ok_or_else(broken)?;
    for (id, kind) in items {
        for (_, extent) in extents.iter().filter(|(item, _)| *item == id) {
            let target = output.to_mut().get_mut(extent.clone()).ok_or_else(broken)?;
            target.fill(b' ');
            if kind == *b"Exif" {
                target.fill(0);
                if let Some(start) = target.get_mut(..EMPTY_EXIF.len()) {
                    start.copy_from_slice(EMPTY_EXIF);
                }
            }
        }
    }
    Ok(output)
}

/// Lists the boxes within a part of the file; `None` if one runs past its end.
fn boxes(file: &[u8], within: Range<usize>) -> Option<Vec<BoxPiece>> {
    let mut reader = Reader::new(file.get(..within.end)?);
    reader.take(within.start)?;
    let mut boxes = Vec::new();
    while !reader.is_at_end() {
        let start = reader.position();
        let short_length = reader.u32_be()?;
        let tag = reader.array()?;
        let length = match short_length {
            0 => within.end - start,
            1 => usize::try_from(reader.u64_be()?).ok()?,
            length => length as usize,
        };
        let body_start = reader.position();
        reader.take(length.checked_sub(body_start - start)?)?;
        boxes.push(BoxPiece { tag, span: start..reader.position(), body: body_start..reader.position() });
    }
    Some(boxes)
}

/// Returns id and type of the items that are no pictures.
fn metadata_items(file: &[u8], info: &BoxPiece) -> Option<Vec<(u32, [u8; 4])>> {
    let mut header = Reader::new(info.body(file));
    let version = header.u8()?;
    let header_bytes = if version == 0 { 6 } else { 8 };
    let mut items = Vec::new();
    for entry in boxes(file, info.body.start + header_bytes..info.body.end)? {
        let mut reader = Reader::new(entry.body(file));
        let version = reader.u8()?;
        reader.take(3)?;
        let id = if version >= 3 { reader.u32_be()? } else { u32::from(reader.u16_be()?) };
        let _protection = reader.u16_be()?;
        if version < 2 {
            // The oldest form names no type; pictures are never stored in it.
            items.push((id, *b"mime"));
            continue;
        }
        let kind = reader.array()?;
        if matches!(&kind, b"Exif" | b"mime" | b"uri ") {
            items.push((id, kind));
        }
    }
    Some(items)
}

/// Returns where the bytes of each item lie in the file, as (id, range).
fn item_extents(
    locations: &[u8],
    data_box: &Range<usize>,
    file_bytes: usize,
) -> Option<Vec<(u32, Range<usize>)>> {
    let mut reader = Reader::new(locations);
    let version = reader.u8()?;
    reader.take(3)?;
    let sizes = reader.u8()?;
    let (offset_bytes, length_bytes) = (sizes >> 4, sizes & 15);
    let sizes = reader.u8()?;
    let (base_bytes, index_bytes) = (sizes >> 4, if version == 0 { 0 } else { sizes & 15 });
    let count = if version < 2 { u32::from(reader.u16_be()?) } else { reader.u32_be()? };
    let mut extents = Vec::new();
    for _ in 0..count {
        let id = if version < 2 { u32::from(reader.u16_be()?) } else { reader.u32_be()? };
        let method = if version == 0 { 0 } else { reader.u16_be()? & 15 };
        let _data_reference = reader.u16_be()?;
        let base = sized(&mut reader, base_bytes)?;
        let room = match method {
            0 => 0..file_bytes,
            1 => data_box.clone(),
            _ => 0..0,
        };
        for _ in 0..reader.u16_be()? {
            sized(&mut reader, index_bytes)?;
            let offset = sized(&mut reader, offset_bytes)?;
            let length = sized(&mut reader, length_bytes)?;
            let start = room.start.checked_add(base)?.checked_add(offset)?;
            // No length means all there is; that cannot be metadata alone unless it has a box of its own.
            let end = if length == 0 && method == 1 { room.end } else { start.checked_add(length)? };
            if start < end && end <= room.end {
                extents.push((id, start..end));
            }
        }
    }
    Some(extents)
}

fn sized(reader: &mut Reader<'_>, bytes: u8) -> Option<usize> {
    match bytes {
        0 => Some(0),
        4 => usize::try_from(reader.u32_be()?).ok(),
        8 => usize::try_from(reader.u64_be()?).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PHOTO: &[u8] = include_bytes!("../../../../fixtures/pictures/heic-photo.heic");
    const GRID: &[u8] = include_bytes!("../../../../fixtures/pictures/heic-grid-phone.heic");

    #[test]
    fn sizes_are_found_in_boxes_and_in_the_coded_picture() {
        let sizes = claimed_sizes(PHOTO);
        assert_eq!(sizes.iter().filter(|size| **size == (256, 192)).count(), 2, "{sizes:?}");
        assert_eq!(inspect(PHOTO).unwrap().largest, (256, 192));
    }

    #[test]
    fn metadata_is_overwritten_where_it_stands() {
        let stripped = strip(GRID).unwrap();
        assert_eq!(stripped.len(), GRID.len());
        let contains = |file: &[u8], text: &[u8]| file.windows(text.len()).any(|window| window == text);
        assert!(contains(GRID, b"secret-maker") && !contains(&stripped, b"secret-maker"));
        assert!(contains(&stripped, EMPTY_EXIF));
        assert!(matches!(strip(PHOTO).unwrap(), Cow::Borrowed(_)), "nothing to overwrite");
    }
}
