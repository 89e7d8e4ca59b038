//! Making pictures smaller, in linear light.

use std::borrow::Cow;
use std::sync::OnceLock;

use fast_image_resize::images::Image;
use fast_image_resize::{
    FilterType, PixelComponentMapper, PixelType, ResizeAlg, ResizeOptions, Resizer, create_srgb_mapper,
};

use super::problem::Problem;
use super::raster::{Channels, Raster};

/// Scales a picture to a size no larger than its own.
///
/// Light adds up, sRGB values do not: averaging them darkens fine bright detail (stars, rain, thin strokes).
/// The samples are therefore averaged as 16-bit linear light, colours weighted by alpha.
pub(crate) fn shrink(raster: Cow<'_, Raster>, width: u32, height: u32) -> Result<Raster, Problem> {
    if (width, height) == (raster.width, raster.height) {
        return Ok(raster.into_owned());
    }
    let channels = raster.channels;
    let (narrow, wide) = match channels {
        Channels::Rgb => (PixelType::U8x3, PixelType::U16x3),
        Channels::Rgba => (PixelType::U8x4, PixelType::U16x4),
    };
    let failed = |reason: String| Problem::Unencodable { reason };
    let stored =
        fast_image_resize::images::ImageRef::new(raster.width, raster.height, &raster.samples, narrow)
            .map_err(|error| failed(error.to_string()))?;
    let mut linear = Image::new(raster.width, raster.height, wide);
    srgb().forward_map(&stored, &mut linear).map_err(|error| failed(error.to_string()))?;
    drop(raster);

    let mut smaller = Image::new(width, height, wide);
    let options = ResizeOptions::new()
        .resize_alg(ResizeAlg::Convolution(FilterType::Lanczos3))
        .use_alpha(channels == Channels::Rgba);
    Resizer::new().resize(&linear, &mut smaller, &options).map_err(|error| failed(error.to_string()))?;
    drop(linear);

    let mut output = Image::new(width, height, narrow);
    srgb().backward_map(&smaller, &mut output).map_err(|error| failed(error.to_string()))?;
    Raster::new(width, height, channels, output.into_vec())
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
