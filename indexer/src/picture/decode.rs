//! From a file's bytes to pixels in the file's own colours.

mod heic;

use std::io::Cursor;

use image::codecs::gif::GifDecoder;
use image::codecs::png::PngDecoder;
use image::codecs::webp::WebPDecoder;
use image::{DynamicImage, ImageBuffer, ImageDecoder, Limits};
use wakashu_archive::MediaType;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::container::{Cicp, pixels};
use super::guard::guarded;
use super::header::Header;
use super::jpeg;
use super::orient::Orientation;
use super::problem::Problem;

/// No colour profile in earnest use is larger; printers' profiles have about 2 MB.
pub(crate) const MAX_PROFILE_BYTES: usize = 8 << 20;

/// Holds decoded pixels together with what says how to read their colours.
pub(crate) struct Decoded {
    pub(crate) pixels: Pixels,
    /// There is a profile in the file, readable or not.
    pub(crate) has_profile: bool,
    pub(crate) icc: Option<Vec<u8>>,
    pub(crate) cicp: Option<Cicp>,
    /// What is wrong with the file, in words; what can be shown of it is in the pixels.
    pub(crate) fault: Option<&'static str>,
}

pub(crate) enum Pixels {
    /// Grey or RGB, with or without alpha, 8 or 16 bits.
    Additive(DynamicImage),
    /// Four inks per pixel, 255 is full ink.
    Cmyk { width: u32, height: u32, inks: Vec<u8> },
}

/// Decodes a picture whose header has passed; of an animation the first frame on its full canvas.
pub(crate) fn decode(bytes: &[u8], header: &Header) -> Result<Decoded, Problem> {
    let decoded = guarded(header.format, || match header.format {
        MediaType::Png => {
            let png = PngDecoder::with_limits(Cursor::new(bytes), limits(header));
            Ok(Decoded { cicp: header.facts.cicp, ..decode_with_image(header.format, png)? })
        }
        MediaType::Gif => decode_with_image(header.format, GifDecoder::new(Cursor::new(bytes))),
        MediaType::Webp => decode_with_image(header.format, WebPDecoder::new(Cursor::new(bytes))),
        MediaType::Jpeg => decode_jpeg(bytes, header),
        MediaType::Heic => heic::decode(bytes),
    })?;
    let (width, height) = decoded.size();
    if (width, height) != (header.facts.width, header.facts.height) {
        let reason = format!(
            "its header says {} x {} pixels but {width} x {height} came out",
            header.facts.width, header.facts.height
        );
        return Err(Problem::undecodable(header.format, reason));
    }
    Ok(Decoded { has_profile: header.facts.has_profile, ..decoded })
}

impl Decoded {
    fn size(&self) -> (u32, u32) {
        match &self.pixels {
            Pixels::Additive(image) => (image.width(), image.height()),
            Pixels::Cmyk { width, height, .. } => (*width, *height),
        }
    }
}

/// Bounds what a decoder may allocate beside the pixels: compressed text and profiles expand a thousandfold.
fn limits(header: &Header) -> Limits {
    let mut limits = Limits::no_limits();
    let pixel_bytes = pixels(header.facts.largest).saturating_mul(8);
    limits.max_alloc = Some(pixel_bytes.saturating_add(64 << 20));
    limits
}

fn decode_with_image(
    format: MediaType,
    decoder: image::ImageResult<impl ImageDecoder>,
) -> Result<Decoded, Problem> {
    let undecodable =
        |reason: image::ImageError| Problem::undecodable(format, plain_words(&reason.to_string()));
    let mut decoder = decoder.map_err(undecodable)?;
    let icc = decoder.icc_profile().ok().flatten().filter(|icc| icc.len() <= MAX_PROFILE_BYTES);
    let image = DynamicImage::from_decoder(decoder).map_err(undecodable)?;
    Ok(Decoded { pixels: Pixels::Additive(image), icc, has_profile: false, cicp: None, fault: None })
}

/// Returns what a decoder says up to where it begins to print its own structures.
fn plain_words(reason: &str) -> String {
    let words = reason.split(['{', '[', '(', '"']).next().unwrap_or_default();
    let printed = reason.get(words.len()..).unwrap_or_default();
    // The name of a structure stands right before it.
    let named = printed.starts_with('{') || (!printed.is_empty() && !words.ends_with(' '));
    let words = words.trim_end();
    let words = if named { words.rsplit_once(' ').map_or("", |(before, _)| before) } else { words };
    let words = words.trim_end_matches([' ', ':', ',', '.']);
    if words.is_empty() { "its data are broken".to_owned() } else { words.to_owned() }
}

/// Decodes a JPEG; a damaged one from a sound file made of what is left of it.
fn decode_jpeg(bytes: &[u8], header: &Header) -> Result<Decoded, Problem> {
    match jpeg::examine(bytes) {
        // Written anew like what may be passed on, which the decoder cannot misunderstand.
        Ok(examined) if examined.fault.is_none() => {
            let rebuilt = examined.rebuild(Orientation::default(), examined.profile().as_deref());
            drop(examined);
            decode_sound_jpeg(&rebuilt, header)
        }
        Ok(examined) => {
            let (repaired, fault) = (examined.repair(), examined.fault);
            drop(examined);
            Ok(Decoded { fault, ..decode_sound_jpeg(&repaired, header)? })
        }
        // The decoder may still read what others refuse.
        Err(reason) => match decode_sound_jpeg(bytes, header) {
            Ok(decoded) => Ok(Decoded { fault: Some(reason), ..decoded }),
            Err(_) => Err(Problem::undecodable(MediaType::Jpeg, reason)),
        },
    }
}

fn decode_sound_jpeg(bytes: &[u8], header: &Header) -> Result<Decoded, Problem> {
    let undecodable = |reason: zune_jpeg::errors::DecodeErrors| {
        Problem::undecodable(MediaType::Jpeg, plain_words(reason.to_string().trim_matches('"')))
    };
    let options = DecoderOptions::default()
        .set_max_width(header.facts.width as usize)
        .set_max_height(header.facts.height as usize);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(undecodable)?;
    let stored = decoder.input_colorspace().unwrap_or(ColorSpace::RGB);
    let wanted = match stored {
        ColorSpace::Luma | ColorSpace::CMYK | ColorSpace::YCCK => stored,
        _ => ColorSpace::RGB,
    };
    decoder.set_options(options.jpeg_set_out_colorspace(wanted));
    let samples = decoder.decode().map_err(undecodable)?;
    let icc = decoder.icc_profile().filter(|icc| icc.len() <= MAX_PROFILE_BYTES);
    let (width, height) = (header.facts.width, header.facts.height);
    let short = || Problem::undecodable(MediaType::Jpeg, "fewer pixels than its header says");
    let pixels = match wanted {
        ColorSpace::Luma => ImageBuffer::from_raw(width, height, samples)
            .map(|luma| Pixels::Additive(DynamicImage::ImageLuma8(luma))),
        ColorSpace::CMYK | ColorSpace::YCCK => {
            let inks = inks_of(samples, wanted == ColorSpace::YCCK);
            Some(Pixels::Cmyk { width, height, inks })
        }
        _ => ImageBuffer::from_raw(width, height, samples)
            .map(|rgb| Pixels::Additive(DynamicImage::ImageRgb8(rgb))),
    };
    Ok(Decoded { pixels: pixels.ok_or_else(short)?, icc, has_profile: false, cicp: None, fault: None })
}

/// Turns stored four-component samples into amounts of ink.
///
/// All writers follow Adobe in storing CMYK upside down (255 is no ink), marked or not, and in YCCK the first three
/// components are luma and chroma of the amounts of ink themselves.
fn inks_of(mut samples: Vec<u8>, ycck: bool) -> Vec<u8> {
    for pixel in samples.chunks_exact_mut(4) {
        let [first, second, third, black] = pixel else { continue };
        *black = 255 - *black;
        if ycck {
            let luma = f32::from(*first);
            let blue = f32::from(*second) - 128.0;
            let red = f32::from(*third) - 128.0;
            *first = to_sample(luma + 1.402 * red);
            *second = to_sample(luma - 0.344_136 * blue - 0.714_136 * red);
            *third = to_sample(luma + 1.772 * blue);
        } else {
            *first = 255 - *first;
            *second = 255 - *second;
            *third = 255 - *third;
        }
    }
    samples
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates, which is what is wanted"
)]
fn to_sample(value: f32) -> u8 {
    value.round() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_decoders_are_kept_and_their_structures_are_not() {
        let words = [
            (
                "Format error decoding Png: Missing chunk ChunkType { type: PLTE, critical: true }",
                "Format error decoding Png: Missing chunk",
            ),
            ("Corrupt filter method", "Corrupt filter method"),
            ("Error in data: Wrong(7)", "Error in data"),
            ("ChunkType { type: PLTE }", "its data are broken"),
        ];
        for (reason, expected) in words {
            assert_eq!(plain_words(reason), expected);
        }
    }
}
