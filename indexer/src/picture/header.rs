//! Reading a picture's header, and refusing what is too large before anything is decoded.

use wakashu_archive::MediaType;

use super::Settings;
use super::container::{self, Facts, pixels};
use super::problem::Problem;
use super::sniff::sniff;

/// Holds what a picture says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// What the bytes are.
    pub format: MediaType,
    /// Width in pixels once upright.
    pub width: u32,
    /// Height in pixels once upright.
    pub height: u32,
    /// There is more than one frame; renditions show the first.
    pub animated: bool,
    pub(crate) facts: Facts,
}

/// What reading a header may take at most: lists of a file's parts.
pub const HEADER_BYTES: u64 = 64 << 20;
/// Renditions, their pixels and the encoder's state, for the largest there are, and a band of linear light.
const FIXED_BYTES: u64 = 32 << 20;
/// What a pixel may take while it is decoded and converted; the samples of common pictures take half of it.
pub(crate) const MEMORY_BYTES_PER_PIXEL: u64 = 17;
/// The longest side; that of JPEG and GIF, whose files cannot say more.
///
/// What scaling takes goes with the length of a side, whatever the number of pixels.
const MAX_SIDE_PX: u32 = 65_535;

/// Returns the memory that one picture may take to decode.
///
/// It grows with the pixels allowed: allowing more pixels allows the memory they take.
#[must_use]
pub fn memory_limit_bytes(settings: &Settings) -> u64 {
    settings.max_pixels.saturating_mul(MEMORY_BYTES_PER_PIXEL).saturating_add(2 * FIXED_BYTES)
}

/// Reads a picture's header; cheap, and the pixel limit is enforced here.
pub fn header(bytes: &[u8], settings: &Settings) -> Result<Header, Problem> {
    let format = sniff(bytes)?;
    let facts = container::inspect(format, bytes)?;
    let (width, height) = facts.orientation.upright_size(facts.width, facts.height);
    if width == 0 || height == 0 {
        return Err(Problem::undecodable(format, format!("its size is {width} x {height}")));
    }
    for (width, height) in [(width, height), facts.largest] {
        if pixels((width, height)) > settings.max_pixels {
            return Err(Problem::TooManyPixels { width, height, limit: settings.max_pixels });
        }
    }
    if let Some(side) =
        [width, height, facts.largest.0, facts.largest.1].into_iter().find(|side| *side > MAX_SIDE_PX)
    {
        return Err(Problem::TooLong { side, limit: MAX_SIDE_PX });
    }
    let (needed, limit) = (cost_of(&facts), memory_limit_bytes(settings));
    if needed > limit {
        return Err(Problem::TooMuchMemory { format, needed, limit });
    }
    Ok(Header { format, width, height, animated: facts.animated, facts })
}

/// Estimates the peak memory of rendering a picture, in bytes; schedulers keep a budget of it.
#[must_use]
pub fn decoding_cost_bytes(header: &Header) -> u64 {
    cost_of(&header.facts)
}

fn cost_of(facts: &Facts) -> u64 {
    /// What is decoded becomes 8-bit samples, four at most.
    const CONVERTED_PIXEL_BYTES: u64 = 4;
    let converting = pixels((facts.width, facts.height))
        .saturating_mul(facts.decoded_bytes_per_pixel.saturating_add(CONVERTED_PIXEL_BYTES));
    FIXED_BYTES.saturating_add(facts.decoding_bytes.max(converting))
}
