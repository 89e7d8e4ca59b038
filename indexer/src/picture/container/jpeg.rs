//! JPEG: marker segments and entropy-coded scans.

use wakashu_archive::MediaType;

use super::{Facts, MAX_PIECES, Piece, Purpose, TOO_MANY_PIECES, pixels};
use crate::picture::orient::Orientation;
use crate::picture::problem::Problem;
use crate::picture::reader::Reader;
use crate::picture::{colour, exif, jpeg};

const SOI: u8 = 0xD8;
const EOI: u8 = 0xD9;
const SOS: u8 = 0xDA;
const APP1: u8 = 0xE1;
const APP2: u8 = 0xE2;

/// A marker with its segment.
type Segment = Piece<u8>;

/// Lists the segments from the start mark to the first scan.
///
/// Behind the scan there must be an end mark somewhere: without one the file was not copied to its end.
fn segments(bytes: &[u8]) -> Result<Vec<Segment>, Problem> {
    let cut_short = || Problem::cut_short(MediaType::Jpeg, "the end mark `EOI` is missing");
    let mut reader = Reader::new(bytes);
    let mut segments = Vec::new();
    loop {
        // Decoders skip stray bytes before a marker.
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
        if segments.len() == MAX_PIECES {
            return Err(Problem::undecodable(MediaType::Jpeg, TOO_MANY_PIECES));
        }
        segments.push(Segment { tag, span: start..reader.position(), body });
        match tag {
            SOS if reader.rest().windows(2).any(|pair| pair == [0xFF, EOI]) => return Ok(segments),
            SOS => return Err(cut_short()),
            EOI => {
                return Err(Problem::undecodable(MediaType::Jpeg, "there is no picture behind its header"));
            }
            _ => {}
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
    if let Some(reason) = jpeg::unsupported_kind(frame.tag) {
        return Err(Problem::undecodable(MediaType::Jpeg, reason));
    }
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
        // Coefficients are of two bytes for each sample, and none may be left out of the chroma; sequential pictures
        // have theirs written anew only if they are damaged.
        decoding_bytes: u64::from(components.clamp(1, 4)) * 3 * pixels((u32::from(width), u32::from(height))),
        decoded_bytes_per_pixel: u64::from(components.clamp(1, 4)),
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

/// Writes the file anew from the segments that a decoder needs.
pub(crate) fn rebuild(bytes: &[u8], purpose: Purpose) -> Result<Vec<u8>, Problem> {
    let examined = jpeg::examine(bytes).map_err(|reason| Problem::undecodable(MediaType::Jpeg, reason))?;
    Ok(match purpose {
        Purpose::Rendition => examined.rebuild(Orientation::default(), None),
        Purpose::Original => {
            let segments = segments(bytes)?;
            let orientation = exif_of(&segments, bytes).map(exif::orientation).unwrap_or_default();
            let profile = examined.profile().filter(|profile| colour::is_readable(profile));
            examined.rebuild(orientation, profile.as_deref())
        }
    })
}

fn is_profile(segment: &Segment, bytes: &[u8]) -> bool {
    segment.tag == APP2 && segment.body(bytes).starts_with(b"ICC_PROFILE\0")
}
