//! Writing renditions: lossy WebP within a number of bytes.

use std::borrow::Cow;

use bytes::Bytes;
use wakashu_archive::MediaType;
use webp::WebPConfig;

use super::Encoded;
use super::bounds::with_long_edge;
use super::guard::guarded;
use super::problem::Problem;
use super::raster::{Channels, Raster};
use super::scale::shrink;

/// What a picture gets when there is room: hard to tell from the source at arm's length.
const BEST_QUALITY: u8 = 82;
/// Below this, fewer pixels look better than worse ones.
const LEAST_QUALITY: u8 = 50;
/// Speed against size, 0 to 6; figures in docs/adr/0006-codecs.md.
const METHOD: i32 = 4;

/// Encodes a picture into at most `max_bytes`: quality gives way first, then dimensions.
///
/// `wanted_bytes` is a softer bound, for which quality gives way but not dimensions: a smaller rendition should not
/// take more bytes than a larger one, which a source of very few bytes can make impossible.
///
/// Ends always: each round takes at least a tenth off the longer edge, and one pixel fits into any bound in use.
pub(crate) fn encode_within(
    raster: &Raster,
    max_bytes: usize,
    wanted_bytes: usize,
) -> Result<Encoded, Problem> {
    if wanted_bytes < max_bytes
        && let Outcome::Fits(encoded) = best_quality_within(raster, wanted_bytes)?
    {
        return Ok(encoded);
    }
    let mut smaller: Option<Raster> = None;
    loop {
        let current = smaller.as_ref().unwrap_or(raster);
        let least = match best_quality_within(current, max_bytes)? {
            Outcome::Fits(encoded) => return Ok(encoded),
            Outcome::TooLarge { bytes } => bytes,
        };
        let long = current.width.max(current.height);
        if long == 1 {
            let reason = format!("one pixel takes {least} bytes, {max_bytes} are allowed");
            return Err(Problem::Unencodable { reason });
        }
        let (width, height) =
            with_long_edge(raster.width, raster.height, shorter_edge(long, least, max_bytes));
        smaller = Some(shrink(Cow::Borrowed(raster), width, height)?);
    }
}

enum Outcome {
    Fits(Encoded),
    /// The size at the least quality.
    TooLarge {
        bytes: usize,
    },
}

/// Finds the best quality that fits with few encodings: most pictures fit at once, the others take three or four.
fn best_quality_within(raster: &Raster, max_bytes: usize) -> Result<Outcome, Problem> {
    let first = encode(raster, BEST_QUALITY)?;
    if first.len() <= max_bytes {
        return Ok(Outcome::Fits(encoded(raster, first)));
    }
    let least = encode(raster, LEAST_QUALITY)?;
    if least.len() > max_bytes {
        return Ok(Outcome::TooLarge { bytes: least.len() });
    }
    let (mut fitting, mut too_much) = ((LEAST_QUALITY, least), (BEST_QUALITY, first.len()));
    // Between two known qualities the size grows almost evenly on a logarithmic scale: aim just below the bound,
    // twice. What is left to gain then is a level or two.
    for _ in 0..2 {
        if too_much.0 - fitting.0 <= 2 {
            break;
        }
        let aimed = interpolate((fitting.0, fitting.1.len()), too_much, max_bytes);
        let candidate = encode(raster, aimed)?;
        if candidate.len() <= max_bytes {
            fitting = (aimed, candidate);
        } else {
            too_much = (aimed, candidate.len());
        }
    }
    Ok(Outcome::Fits(encoded(raster, fitting.1)))
}

/// Guesses the quality at which a picture comes out just below `target` bytes, strictly between two known ones.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a guess, clamped to the range before it is used"
)]
fn interpolate(low: (u8, usize), high: (u8, usize), target: usize) -> u8 {
    let ratio = |bytes: usize| (bytes as f64 / low.1.max(1) as f64).ln();
    let share = ratio(target) / ratio(high.1).max(f64::EPSILON);
    let guess = f64::from(low.0) + share * f64::from(high.0 - low.0) - 0.5;
    (guess as u8).clamp(low.0 + 1, high.0 - 1)
}

/// Returns a longer edge at which the bytes, which go with the area, should fit.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a guess, clamped to the range before it is used"
)]
fn shorter_edge(long: u32, bytes: usize, max_bytes: usize) -> u32 {
    let guess = f64::from(long) * (max_bytes as f64 / bytes as f64).sqrt() * 0.97;
    let at_most = (u64::from(long) * 9 / 10).max(1);
    (guess as u32).clamp(1, u32::try_from(at_most).unwrap_or(1))
}

fn encoded(raster: &Raster, bytes: Bytes) -> Encoded {
    Encoded { bytes, media_type: MediaType::Webp, width: raster.width, height: raster.height }
}

fn encode(raster: &Raster, quality: u8) -> Result<Bytes, Problem> {
    let failed = |reason: &str| Problem::Unencodable { reason: reason.to_owned() };
    guarded(MediaType::Webp, || {
        let mut config = WebPConfig::new().map_err(|()| failed("the encoder does not start"))?;
        config.quality = f32::from(quality);
        config.method = METHOD;
        // One thread: the bytes must not depend on how many there are.
        config.thread_level = 0;
        let encoder = match raster.channels {
            Channels::Rgb => webp::Encoder::from_rgb(&raster.samples, raster.width, raster.height),
            Channels::Rgba => webp::Encoder::from_rgba(&raster.samples, raster.width, raster.height),
        };
        let memory = encoder.encode_advanced(&config).map_err(|error| failed(&format!("{error:?}")))?;
        Ok(Bytes::copy_from_slice(&memory))
    })
}
