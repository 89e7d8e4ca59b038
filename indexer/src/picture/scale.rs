//! Making pictures smaller, in linear light.

use std::borrow::Cow;
use std::sync::OnceLock;

use fast_image_resize::images::{Image, ImageRef};
use fast_image_resize::pixels::{U16x3, U16x4};
use fast_image_resize::{
    FilterType, MulDiv, PixelComponentMapper, PixelTrait, PixelType, ResizeAlg, ResizeOptions, Resizer,
    create_srgb_mapper,
};

use super::problem::Problem;
use super::raster::{Channels, Raster};

/// Pixels of the source that are in memory as linear light at a time.
const BAND_PIXELS: usize = 1 << 20;

/// Scales a picture to a size no larger than its own.
///
/// Light adds up, sRGB values do not: averaging them darkens fine bright detail (stars, rain, thin strokes).
/// The samples are therefore averaged as 16-bit linear light, colours weighted by alpha. Rows are made shorter band by
/// band and columns afterwards, so that the whole source never exists as linear light.
pub(crate) fn shrink(raster: Cow<'_, Raster>, width: u32, height: u32) -> Result<Raster, Problem> {
    if (width, height) == (raster.width, raster.height) {
        return Ok(raster.into_owned());
    }
    let channels = raster.channels;
    let (narrow, wide) = match channels {
        Channels::Rgb => (PixelType::U8x3, PixelType::U16x3),
        Channels::Rgba => (PixelType::U8x4, PixelType::U16x4),
    };
    let source_height = raster.height;
    let shorter = shorten_rows(&raster, width, narrow, wide)?;
    drop(raster);
    let shorter = Image::from_vec_u8(width, source_height, shorter, wide).map_err(failed)?;
    let mut smaller = Image::new(width, height, wide);
    resize(channels, &shorter, &mut smaller)?;
    drop(shorter);
    if let Some(mut pixels) = smaller.typed_image_mut::<U16x4>() {
        MulDiv::new().divide_alpha_inplace_typed(&mut pixels).map_err(failed)?;
    }
    let mut output = Image::new(width, height, narrow);
    srgb().backward_map(&smaller, &mut output).map_err(failed)?;
    Raster::new(width, height, channels, output.into_vec())
}

/// Returns the rows as linear light, multiplied by alpha, and with fewer pixels each.
fn shorten_rows(raster: &Raster, width: u32, narrow: PixelType, wide: PixelType) -> Result<Vec<u8>, Problem> {
    let row_bytes = raster.width as usize * raster.channels.count();
    let rows = (BAND_PIXELS / raster.width.max(1) as usize).max(1);
    let mut output = Vec::with_capacity(width as usize * raster.height as usize * wide.size());
    for band in raster.samples.chunks(rows * row_bytes) {
        let height = u32::try_from(band.len() / row_bytes.max(1)).unwrap_or(0);
        let stored = ImageRef::new(raster.width, height, band, narrow).map_err(failed)?;
        let mut linear = Image::new(raster.width, height, wide);
        srgb().forward_map(&stored, &mut linear).map_err(failed)?;
        if let Some(mut pixels) = linear.typed_image_mut::<U16x4>() {
            MulDiv::new().multiply_alpha_inplace_typed(&mut pixels).map_err(failed)?;
        }
        let mut shorter = Image::new(width, height, wide);
        resize(raster.channels, &linear, &mut shorter)?;
        output.extend_from_slice(shorter.buffer());
    }
    Ok(output)
}

/// Names the type of pixels in the program: with a choice made at run time, code for all twelve types would be in it.
fn resize(channels: Channels, from: &Image<'_>, to: &mut Image<'_>) -> Result<(), Problem> {
    match channels {
        Channels::Rgb => resize_pixels::<U16x3>(from, to),
        Channels::Rgba => resize_pixels::<U16x4>(from, to),
    }
}

fn resize_pixels<P: PixelTrait>(from: &Image<'_>, to: &mut Image<'_>) -> Result<(), Problem> {
    let options =
        ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::Lanczos3)).use_alpha(false);
    let (Some(from), Some(mut to)) = (from.typed_image::<P>(), to.typed_image_mut::<P>()) else {
        return Err(failed("the rows are not of the picture's kind of pixels"));
    };
    Resizer::new().resize_typed(&from, &mut to, &options).map_err(failed)
}

fn failed(error: impl std::fmt::Display) -> Problem {
    Problem::Unencodable { reason: error.to_string() }
}

fn srgb() -> &'static PixelComponentMapper {
    static MAPPER: OnceLock<PixelComponentMapper> = OnceLock::new();
    MAPPER.get_or_init(create_srgb_mapper)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn black_and_white_lines_average_to_half_the_light() {
        let samples = (0..64 * 64).flat_map(|index| [if index % 2 == 0 { 0 } else { 255 }; 3]).collect();
        let lines = Raster::new(64, 64, Channels::Rgb, samples).unwrap();
        let grey = shrink(Cow::Borrowed(&lines), 16, 16).unwrap();
        let middle = grey.samples[(8 * 16 + 8) * 3];
        // Half the light is 188 in sRGB; averaging the values would give 128.
        assert!(middle.abs_diff(188) <= 2, "{middle}");
    }

    #[test]
    fn invisible_colour_does_not_bleed() {
        let samples = (0..64 * 64)
            .flat_map(|index| if index % 64 < 32 { [255, 0, 0, 255] } else { [0, 255, 0, 0] })
            .collect();
        let half_red = Raster::new(64, 64, Channels::Rgba, samples).unwrap();
        let small = shrink(Cow::Borrowed(&half_red), 15, 15).unwrap();
        for pixel in small.samples.chunks(4).filter(|pixel| pixel[3] > 8) {
            assert!(pixel[1] < 8, "{pixel:?}");
        }
    }
}
