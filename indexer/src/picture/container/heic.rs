//! HEIC: ISO base media boxes.
//!
//! A file is read into the pictures that make up what is shown (the primary item, its tiles, its alpha), and whatever
//! is wanted of them is written as a file of its own: a part for the decoder, or the whole as an original. Everything
//! else in the file, and that can be a video, stays behind.

use std::ops::Range;
use std::sync::Arc;

use wakashu_archive::MediaType;

use super::hevc::Sequence;
use super::{Facts, Purpose, pixels};
use crate::picture::colour;
use crate::picture::orient::Orientation;
use crate::picture::problem::Problem;

mod items;
mod shown;
mod write;

pub(crate) use write::write_row;

const ALPHA_KINDS: [&[u8]; 3] = [
    b"urn:mpeg:hevc:2015:auxid:1",
    b"urn:mpeg:avc:2015:auxid:1",
    b"urn:mpeg:mpegB:cicp:systems:auxiliary:alpha",
];

/// What is shown of a file.
pub(crate) struct Still {
    pub(crate) colour: Picture,
    pub(crate) alpha: Option<Alpha>,
}

pub(crate) struct Alpha {
    pub(crate) picture: Picture,
    /// The colours are already multiplied by alpha.
    pub(crate) premultiplied: bool,
}

/// A picture made of one or more coded ones.
pub(crate) struct Picture {
    /// Row by row.
    pub(crate) tiles: Vec<Tile>,
    pub(crate) columns: usize,
    /// The size once the tiles are put together.
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// The part that is shown.
    pub(crate) window: Window,
    /// Which way is up.
    pub(crate) orientation: Orientation,
    /// The sizes that boxes claim, which another decoder may allocate by.
    claimed: Vec<(u32, u32)>,
    /// A coded picture that the first tile is predicted from.
    reference: Option<Tile>,
    /// The properties of orientation and crop as they stand in the file.
    transforms: Vec<([u8; 4], Vec<u8>)>,
    pub(crate) profile: Option<Vec<u8>>,
    pub(crate) code_points: Option<CodePoints>,
}

/// A part of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) left: u32,
    pub(crate) top: u32,
    pub(crate) width: u32,
    pub(crate) height: u32,
}

/// Colours as a `colr` box of the kind `nclx` describes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CodePoints {
    pub(crate) primaries: u16,
    pub(crate) transfer: u16,
    pub(crate) matrix: u16,
    pub(crate) full_range: bool,
}

/// One coded picture. Clones share what is large.
#[derive(Clone)]
pub(crate) struct Tile {
    /// Where its decoder configuration lies in the file.
    configuration: Range<usize>,
    data: Arc<[Range<usize>]>,
    data_bytes: u64,
    pub(crate) sequence: Sequence,
}

pub(crate) fn inspect(bytes: &[u8]) -> Result<Facts, Problem> {
    let Some(still) = Still::read(bytes)? else { return inspect_sequence(bytes) };
    let colour = &still.colour;
    let largest = |picture: &Picture| {
        let coded = picture.tiles.iter().chain(&picture.reference).map(|tile| tile.sequence.coded);
        let claimed = picture.claimed.iter().copied();
        coded.chain(claimed).chain([(picture.width, picture.height)]).max_by_key(|size| pixels(*size))
    };
    let pictures = [Some(colour), still.alpha.as_ref().map(|alpha| &alpha.picture)];
    let largest = pictures.into_iter().flatten().filter_map(largest).max_by_key(|size| pixels(*size));
    let deep = colour.tiles.first().is_some_and(|tile| tile.sequence.bits > 8);
    let canvas = pixels((colour.width, colour.height))
        .saturating_mul(if deep { 2 } else { 1 } * if still.alpha.is_some() { 4 } else { 3 });
    let rows = [Some(colour), still.alpha.as_ref().map(|alpha| &alpha.picture)];
    let row = rows.into_iter().flatten().map(Picture::row_bytes).max().unwrap_or(0);
    Ok(Facts {
        width: colour.window.width,
        height: colour.window.height,
        largest: largest.unwrap_or((colour.width, colour.height)),
        // Rotation and mirroring boxes alone count in HEIC, EXIF does not.
        orientation: colour.orientation,
        animated: false,
        plain: false,
        has_profile: colour.profile.is_some(),
        cicp: None,
        decoding_bytes: canvas.saturating_add(row),
        decoded_bytes_per_pixel: if deep { 8 } else { 4 },
    })
}

/// Reads the size of a file that has a sequence of pictures and no still one.
fn inspect_sequence(bytes: &[u8]) -> Result<Facts, Problem> {
    use heic_decoder::HeifError;
    let problem = |error: HeifError| match error {
        HeifError::Truncated { .. } => Problem::cut_short(MediaType::Heic, "its boxes run past its end"),
        other => Problem::undecodable(MediaType::Heic, other.to_string()),
    };
    let info =
        crate::picture::guard::guarded(MediaType::Heic, || heic_decoder::probe(bytes).map_err(problem))?;
    let side = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    let coded = (side(info.coded_width), side(info.coded_height));
    Ok(Facts {
        width: side(info.width),
        height: side(info.height),
        largest: coded,
        orientation: Orientation::default(),
        animated: true,
        plain: false,
        has_profile: false,
        cicp: None,
        decoding_bytes: pixels(coded).saturating_mul(write::coded_pixel_bytes(3)),
        decoded_bytes_per_pixel: 8,
    })
}

/// Writes an original anew: what is shown, and nothing else.
pub(crate) fn rebuild(bytes: &[u8], purpose: Purpose) -> Result<Vec<u8>, Problem> {
    debug_assert!(purpose == Purpose::Original, "no client shows HEIC");
    let broken = || Problem::undecodable(MediaType::Heic, "its coded pictures are broken");
    let still = Still::read(bytes)?.ok_or_else(|| {
        Problem::undecodable(
            MediaType::Heic,
            "it is a sequence of pictures, which cannot be kept as an original",
        )
    })?;
    write::write_still(bytes, &still).ok_or_else(broken)
}

impl Picture {
    /// Returns the rows of tiles.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &[Tile]> {
        self.tiles.chunks(self.columns.max(1))
    }

    /// Returns the height of all rows of tiles but the last.
    pub(crate) fn row_height(&self) -> u32 {
        self.tiles.first().map_or(1, |tile| tile.sequence.shown.1)
    }

    /// Estimates the memory that the decoder takes for one row of tiles, at its peak.
    fn row_bytes(&self) -> u64 {
        let row = |tiles: &[Tile]| {
            let bytes = |tile: &Tile| {
                pixels(tile.sequence.coded)
                    .saturating_mul(write::coded_pixel_bytes(tile.sequence.chroma_format))
            };
            tiles.iter().chain(&self.reference).map(bytes).sum()
        };
        self.rows().map(row).max().unwrap_or(0)
    }
}

/// Tells whether a profile may be kept.
fn kept_profile(picture: &Picture) -> Option<&[u8]> {
    picture.profile.as_deref().filter(|profile| colour::is_readable(profile))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PHOTO: &[u8] = include_bytes!("../../../../fixtures/pictures/heic-photo.heic");
    const GRID: &[u8] = include_bytes!("../../../../fixtures/pictures/heic-grid-phone.heic");

    #[test]
    fn sizes_are_those_of_the_coded_picture() {
        let facts = inspect(PHOTO).unwrap();
        assert_eq!((facts.width, facts.height, facts.largest), (256, 192, (256, 192)));
    }

    #[test]
    fn originals_are_what_is_shown_and_nothing_else() {
        let rebuilt = rebuild(GRID, Purpose::Original).unwrap();
        let contains = |file: &[u8], text: &[u8]| file.windows(text.len()).any(|window| window == text);
        assert!(contains(GRID, b"secret-maker") && !contains(&rebuilt, b"secret-maker"));
        let (before, after) = (inspect(GRID).unwrap(), inspect(&rebuilt).unwrap());
        assert_eq!((before.width, before.height), (after.width, after.height));
        // What is rebuilt has nothing left to leave out.
        assert_eq!(rebuild(&rebuilt, Purpose::Original).unwrap(), rebuilt);
    }
}
