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
const METHOD: i32 = 2;

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

/// Finds a quality that fits with few encodings: most pictures fit at once, most others at the second try.
fn best_quality_within(raster: &Raster, max_bytes: usize) -> Result<Outcome, Problem> {
    let mut quality = BEST_QUALITY;
    loop {
        let bytes = encode(raster, quality)?;
        if bytes.len() <= max_bytes {
            let encoded =
                Encoded { bytes, media_type: MediaType::Webp, width: raster.width, height: raster.height };
            return Ok(Outcome::Fits(encoded));
        }
        if quality == LEAST_QUALITY {
            return Ok(Outcome::TooLarge { bytes: bytes.len() });
        }
        quality = lower_quality(quality, bytes.len(), max_bytes);
    }
}

/// Guesses the quality at which a picture comes out just below `max_bytes`, from its size at another one.
#[expect(clippy::cast_precision_loss, reason = "a guess, checked by encoding")]
fn lower_quality(quality: u8, bytes: usize, max_bytes: usize) -> u8 {
    let wanted = relative_size(quality) * (max_bytes as f64 / bytes as f64) * 0.99;
    (LEAST_QUALITY..quality).rev().find(|lower| relative_size(*lower) <= wanted).unwrap_or(LEAST_QUALITY)
}

/// Returns how large pictures typically are at a quality, the best being 1.
///
/// Between the points, which are the means of the pictures in docs/adr/0006-codecs.md, lines are close enough.
fn relative_size(quality: u8) -> f64 {
    const POINTS: [(u8, f64); 5] = [(50, 0.58), (60, 0.65), (70, 0.73), (76, 0.81), (82, 1.0)];
    let mut below = (0, 0.0);
    for point in POINTS {
        if quality <= point.0 {
            let share = f64::from(quality - below.0) / f64::from(point.0 - below.0);
            return below.1 + share * (point.1 - below.1);
        }
        below = point;
    }
    below.1
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_go_down_and_stay_in_range() {
        for quality in LEAST_QUALITY + 1..=BEST_QUALITY {
            for percent in 1..100 {
                let guess = lower_quality(quality, 100, percent);
                assert!((LEAST_QUALITY..quality).contains(&guess), "{quality} {percent} {guess}");
            }
        }
        assert_eq!(lower_quality(BEST_QUALITY, 100, 10), LEAST_QUALITY);
        assert_eq!(lower_quality(BEST_QUALITY, 1000, 999), BEST_QUALITY - 1);
    }

    #[test]
    fn noise_fits_into_any_bound() {
        let noise: Vec<u8> = (0..300_u32 * 300 * 3)
            .map(|index| index.wrapping_mul(2_654_435_761).rotate_left(index % 31).to_le_bytes()[1])
            .collect();
        let raster = Raster::new(300, 300, Channels::Rgb, noise).unwrap();
        for max_bytes in [100_000, 20_000, 3_000, 300, 100] {
            let encoded = encode_within(&raster, max_bytes, max_bytes).unwrap();
            assert!(encoded.bytes.len() <= max_bytes);
            assert!(encoded.width >= 1 && encoded.height >= 1);
        }
        // Nothing can be that small; it ends with a problem rather than not at all.
        assert!(encode_within(&raster, 10, 10).is_err());
        // A wish alone does not cost pixels.
        assert_eq!(encode_within(&raster, 1_000_000, 10).unwrap().width, 300);
    }
}
