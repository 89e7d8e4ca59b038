//! The icon of a bundle: the first picture of the collection, cut square.

use image::imageops::{self, FilterType};
use image::{DynamicImage, ImageFormat, RgbImage, RgbaImage};
use wakashu_archive::{Reference, Span};
use wakashu_storage::OpenError;

use crate::picture::{Channels, Settings, upright_pixels};
use crate::source::Source;

/// Width and height of the icon in pixels.
pub(super) const SIDE: u32 = 512;

/// The seal, where there is no picture.
const SEAL: image::Rgba<u8> = image::Rgba([0xa3, 0x30, 0x1f, 0xff]);

/// Draws the icon as a PNG file. A picture that cannot be shown is passed over for the next.
pub(super) fn draw(source: &Source) -> anyhow::Result<Vec<u8>> {
    let icon = first_picture(source)?.unwrap_or_else(|| RgbaImage::from_pixel(SIDE, SIDE, SEAL).into());
    let mut png = std::io::Cursor::new(Vec::new());
    icon.write_to(&mut png, ImageFormat::Png)?;
    Ok(png.into_inner())
}

fn first_picture(source: &Source) -> Result<Option<DynamicImage>, OpenError> {
    for chunk in source.archive.root().rounds.iter().flat_map(|round| round.chunks.iter()) {
        for entry in source.page(chunk)?.entries.iter() {
            let Some(picture) = entry.picture.as_ref() else { continue };
            let Span { offset, length } = picture.large.span();
            let file = source.picture(&Reference { offset, length, hash: picture.large.hash() })?;
            if let Some(square) = square(&file) {
                return Ok(Some(square));
            }
        }
    }
    Ok(None)
}

/// Cuts the largest square out of the middle.
fn square(file: &[u8]) -> Option<DynamicImage> {
    let raster = upright_pixels(file, &Settings::default()).ok()?;
    let picture: RgbaImage = match raster.channels {
        Channels::Rgb => {
            DynamicImage::from(RgbImage::from_raw(raster.width, raster.height, raster.samples)?).into_rgba8()
        }
        Channels::Rgba => RgbaImage::from_raw(raster.width, raster.height, raster.samples)?,
    };
    let side = picture.width().min(picture.height());
    let (left, top) = ((picture.width() - side) / 2, (picture.height() - side) / 2);
    let cut = imageops::crop_imm(&picture, left, top, side, side).to_image();
    Some(imageops::resize(&cut, SIDE, SIDE, FilterType::Lanczos3).into())
}
