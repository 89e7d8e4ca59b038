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
    Ok(Header { format, width, height, animated: facts.animated, facts })
}

/// Estimates the peak memory of rendering a picture, in bytes; schedulers keep a budget of it.
#[must_use]
pub fn decoding_cost_bytes(header: &Header) -> u64 {
    /// Renditions, their pixels and the encoder's state, for the largest there are.
    const FIXED: u64 = 24 << 20;
    let coded = pixels(header.facts.largest).max(pixels((header.width, header.height)));
    FIXED.saturating_add(coded.saturating_mul(header.facts.peak_bytes_per_pixel))
}
