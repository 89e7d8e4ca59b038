//! The file formats around the pixels: reading headers and leaving metadata out, without decoding.

pub(crate) mod gif;
pub(crate) mod heic;
mod hevc;
pub(crate) mod jpeg;
pub(crate) mod png;
pub(crate) mod webp;

use std::borrow::Cow;
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
    /// Memory that decoding, converting and scaling take at their peak, for each pixel.
    pub(crate) peak_bytes_per_pixel: u64,
}

/// Scaling holds 8-bit samples and their 16-bit linear light, four of each; up to 8-bit decoders stay below that.
pub(crate) const PLAIN_PEAK_BYTES: u64 = 12;
/// 16-bit samples as decoded, copied for the profile, and converted; or the planes of a HEIC picture, which are of
/// 32 bits and exist twice while tiles are put together.
pub(crate) const DEEP_PEAK_BYTES: u64 = 24;

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

/// Leaves out all metadata that the picture can be shown without; borrows when there is none.
pub(crate) fn strip(format: MediaType, bytes: &[u8], purpose: Purpose) -> Result<Cow<'_, [u8]>, Problem> {
    match format {
        MediaType::Png => png::strip(bytes, purpose),
        MediaType::Jpeg => jpeg::strip(bytes, purpose),
        MediaType::Gif => gif::strip(bytes, purpose),
        MediaType::Webp => webp::strip(bytes, purpose),
        MediaType::Heic => heic::strip(bytes),
    }
}

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
