//! JPEG: marker segments and entropy-coded scans.

use std::borrow::Cow;

use wakashu_archive::MediaType;

use super::{Facts, PLAIN_PEAK_BYTES, Piece, Purpose};
use crate::picture::exif;
use crate::picture::orient::Orientation;
use crate::picture::problem::Problem;
use crate::picture::reader::Reader;

const SOI: u8 = 0xD8;
const EOI: u8 = 0xD9;
const SOS: u8 = 0xDA;
const COM: u8 = 0xFE;
const APP0: u8 = 0xE0;
const APP1: u8 = 0xE1;
const APP2: u8 = 0xE2;
const APP14: u8 = 0xEE;
const APP15: u8 = 0xEF;

/// A marker with its segment; that of `SOS` includes the entropy-coded data behind it.
type Segment = Piece<u8>;

/// Lists the segments from the start mark to the end mark; what follows the end mark is no part of the picture.
fn segments(bytes: &[u8]) -> Result<Vec<Segment>, Problem> {
    let cut_short = || Problem::cut_short(MediaType::Jpeg, "the end mark `EOI` is missing");
    let mut reader = Reader::new(bytes);
    let mut segments = Vec::new();
    loop {
        // Decoders skip stray bytes before a marker; as no part of any segment they are left out when stripping.
        let stray = scan_length(reader.rest()).ok_or_else(cut_short)?;
        reader.take(stray);
        let start = reader.position();
        let _mark = reader.u8();
        let mut tag = reader.u8().ok_or_else(cut_short)?;
        while tag == 0xFF {
            // Fill bytes may stand before any marker.
            tag = reader.u8().ok_or_else(cut_short)?;
        }
        let mut body = reader.position()..reader.position();
        let stands_alone = matches!(tag, SOI | EOI | 0x01 | 0xD0..=0xD7);
        if !stands_alone {
            let length = usize::from(reader.u16_be().ok_or_else(cut_short)?);
            let body_length = length.checked_sub(2).ok_or_else(|| {
                Problem::undecodable(MediaType::Jpeg, "a segment is shorter than its length")
            })?;
            body.start = reader.position();
            reader.take(body_length).ok_or_else(cut_short)?;
            body.end = reader.position();
        }
        if tag == SOS {
            let scan = scan_length(reader.rest()).ok_or_else(cut_short)?;
            reader.take(scan);
        }
        segments.push(Segment { tag, span: start..reader.position(), body });
        if tag == EOI {
            return Ok(segments);
        }
    }
}

/// Returns how many entropy-coded bytes stand before the next marker that ends the scan.
fn scan_length(data: &[u8]) -> Option<usize> {
    let mut searched = 0;
    loop {
        let rest = data.get(searched..)?;
        let mark = searched + rest.iter().position(|byte| *byte == 0xFF)?;
        match data.get(mark + 1)? {
            // A stuffed byte or a restart mark belongs to the scan.
            0x00 | 0xD0..=0xD7 => searched = mark + 2,
            0xFF => searched = mark + 1,
            _ => return Some(mark),
        }
    }
}

pub(crate) fn inspect(bytes: &[u8]) -> Result<Facts, Problem> {
    let segments = segments(bytes)?;
    let frame = segments
        .iter()
        .find(|segment| matches!(segment.tag, 0xC0..=0xCF if !matches!(segment.tag, 0xC4 | 0xC8 | 0xCC)))
        .ok_or_else(|| Problem::undecodable(MediaType::Jpeg, "there is no frame header"))?;
    let (precision, height, width, components) = read_frame(frame.body(bytes))
        .ok_or_else(|| Problem::undecodable(MediaType::Jpeg, "the frame header is broken"))?;
    Ok(Facts {
        width: u32::from(width),
        height: u32::from(height),
        largest: (u32::from(width), u32::from(height)),
        orientation: exif_of(&segments, bytes).map(exif::orientation).unwrap_or_default(),
        animated: false,
        plain: precision == 8 && matches!(components, 1 | 3),
        has_profile: segments.iter().any(|segment| is_profile(segment, bytes)),
        cicp: None,
        peak_bytes_per_pixel: PLAIN_PEAK_BYTES,
    })
}

fn read_frame(body: &[u8]) -> Option<(u8, u16, u16, u8)> {
    let mut reader = Reader::new(body);
    Some((reader.u8()?, reader.u16_be()?, reader.u16_be()?, reader.u8()?))
}

fn exif_of<'a>(segments: &[Segment], bytes: &'a [u8]) -> Option<&'a [u8]> {
    let mut bodies = segments.iter().filter(|segment| segment.tag == APP1).map(|segment| segment.body(bytes));
    bodies.find(|body| body.starts_with(b"Exif\0\0"))
}

pub(crate) fn strip(bytes: &[u8], purpose: Purpose) -> Result<Cow<'_, [u8]>, Problem> {
    let segments = segments(bytes)?;
    let kept = |segment: &&Segment| is_picture(segment, bytes);
    let kept_bytes: usize = segments.iter().filter(kept).map(|segment| segment.span.len()).sum();
    if kept_bytes == bytes.len() {
        return Ok(Cow::Borrowed(bytes));
    }
    let orientation = match purpose {
        Purpose::Rendition => Orientation::default(),
        Purpose::Original => exif_of(&segments, bytes).map(exif::orientation).unwrap_or_default(),
    };
    let mut output = Vec::with_capacity(kept_bytes + 64);
    let mut orientation_due = !orientation.is_upright();
    for segment in segments.iter().filter(kept) {
        // JFIF wants to be first, EXIF to be before everything else.
        if orientation_due && !matches!(segment.tag, SOI | APP0) {
            let body = [b"Exif\0\0".as_slice(), &exif::orientation_only(orientation)].concat();
            output.extend_from_slice(&[0xFF, APP1]);
            output.extend_from_slice(&u16::try_from(body.len() + 2).unwrap_or(u16::MAX).to_be_bytes());
            output.extend_from_slice(&body);
            orientation_due = false;
        }
        output.extend_from_slice(segment.bytes(bytes));
    }
    Ok(Cow::Owned(output))
}

/// Tells segments that say how the pixels look from metadata.
fn is_picture(segment: &Segment, bytes: &[u8]) -> bool {
    let body = segment.body(bytes);
    match segment.tag {
        // JFIF of this length has no thumbnail; with one, and with the thumbnail extension, it can go:
        // its pixel density is no matter here.
        APP0 => body.starts_with(b"JFIF\0") && body.len() == 14,
        APP2 => is_profile(segment, bytes),
        // Adobe's says how the colours are stored.
        APP14 => body.starts_with(b"Adobe") && body.len() == 12,
        APP1..=APP15 | COM => false,
        _ => true,
    }
}

fn is_profile(segment: &Segment, bytes: &[u8]) -> bool {
    segment.tag == APP2 && segment.body(bytes).starts_with(b"ICC_PROFILE\0")
}
