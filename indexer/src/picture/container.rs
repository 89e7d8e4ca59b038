//! The file formats around the pixels: reading headers, and writing files anew without what they need not have.

pub(crate) mod gif;
pub(crate) mod heic;
mod hevc;
pub(crate) mod jpeg;
pub(crate) mod png;
pub(crate) mod webp;

use std::ops::Range;

use wakashu_archive::MediaType;

use super::orient::Orientation;
use super::problem::Problem;

/// Holds what a file says about its picture before any pixel is decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Width as stored, before the orientation is applied.
    pub(crate) width: u32,
    /// Height as stored.
    pub(crate) height: u32,
    /// The largest size that anything in the file claims and a decoder may make room for.
    pub(crate) largest: (u32, u32),
    /// Which way is up.
    pub(crate) orientation: Orientation,
    /// There is more than one frame.
    pub(crate) animated: bool,
    /// 8-bit RGB(A), grey or palette: what every client can show as it is.
    pub(crate) plain: bool,
    /// There is an ICC profile, readable or not.
    pub(crate) has_profile: bool,
    /// Colour by code points (primaries, transfer) where the container has such; an ICC profile wins over it.
    pub(crate) cicp: Option<Cicp>,
    /// Memory that the decoder takes at its peak, what comes out included.
    pub(crate) decoding_bytes: u64,
    /// Memory that a decoded pixel takes.
    pub(crate) decoded_bytes_per_pixel: u64,
}

/// Names colour primaries and transfer function by the code points of ITU-T H.273.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cicp {
    pub(crate) primaries: u8,
    pub(crate) transfer: u8,
}

/// Says what a stripped file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A still picture to show: nothing but the pixels and how to read their colours.
    Rendition,
    /// The file as it was, animation and orientation included, without what it says about people and places.
    Original,
}

/// Returns the number of pixels of a size.
pub(crate) fn pixels((width, height): (u32, u32)) -> u64 {
    u64::from(width) * u64::from(height)
}

/// Reads what a file says about its picture.
pub(crate) fn inspect(format: MediaType, bytes: &[u8]) -> Result<Facts, Problem> {
    match format {
        MediaType::Png => png::inspect(bytes),
        MediaType::Jpeg => jpeg::inspect(bytes),
        MediaType::Gif => gif::inspect(bytes),
        MediaType::Webp => webp::inspect(bytes),
        MediaType::Heic => heic::inspect(bytes),
    }
}

/// Writes a file anew from the parts that the picture cannot be shown without; whatever else is in it stays behind.
///
/// Fails where the parts are not in order: what is passed on must open elsewhere.
pub(crate) fn rebuild(format: MediaType, bytes: &[u8], purpose: Purpose) -> Result<Vec<u8>, Problem> {
    match format {
        MediaType::Png => png::rebuild(bytes, purpose),
        MediaType::Jpeg => jpeg::rebuild(bytes, purpose),
        MediaType::Gif => gif::rebuild(bytes, purpose),
        MediaType::Webp => webp::rebuild(bytes, purpose),
        MediaType::Heic => heic::rebuild(bytes, purpose),
    }
}

/// The most pieces of a file. They are listed before the budget is asked, and take more than an empty one takes of the file.
pub(crate) const MAX_PIECES: usize = 1 << 20;
/// What is said of a file that has more.
pub(crate) const TOO_MANY_PIECES: &str = "it has more than a million parts";

/// One contiguous piece of a file with the tag that says what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece<Tag> {
    pub(crate) tag: Tag,
    /// The whole piece in the file: header, body and checksum.
    pub(crate) span: Range<usize>,
    /// The body alone.
    pub(crate) body: Range<usize>,
}

impl<Tag> Piece<Tag> {
    pub(crate) fn bytes<'a>(&self, file: &'a [u8]) -> &'a [u8] {
        file.get(self.span.clone()).unwrap_or_default()
    }

    pub(crate) fn body<'a>(&self, file: &'a [u8]) -> &'a [u8] {
        file.get(self.body.clone()).unwrap_or_default()
    }
}
