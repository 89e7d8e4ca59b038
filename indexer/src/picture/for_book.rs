//! Pictures for a book: JPEG and PNG, which every reader of books shows. Others are written as JPEG.

use std::io::Cursor;

use bytes::Bytes;
use image::codecs::jpeg::JpegEncoder;
use image::{ExtendedColorType, ImageFormat};
use wakashu_archive::MediaType;

use super::guard::guarded;
use super::problem::Problem;

/// Hard to tell from the rendition it is made from.
const QUALITY: u8 = 88;

/// A picture file, and what it is.
#[derive(Debug, Clone)]
pub(crate) struct Printable {
    pub(crate) bytes: Bytes,
    pub(crate) media_type: MediaType,
}

/// Returns a rendition as books show it: as it is, or as JPEG with what is transparent on white.
pub(crate) fn for_book(file: Vec<u8>, media_type: MediaType) -> Result<Printable, Problem> {
    let format = match media_type {
        MediaType::Jpeg | MediaType::Png => return Ok(Printable { bytes: file.into(), media_type }),
        MediaType::Gif => ImageFormat::Gif,
        MediaType::Webp | MediaType::Heic => ImageFormat::WebP,
    };
    guarded(media_type, || {
        let reason = |error: image::ImageError| Problem::Unencodable { reason: error.to_string() };
        let picture = image::load_from_memory_with_format(&file, format).map_err(reason)?.into_rgba8();
        let (width, height) = picture.dimensions();
        let mut rgb = Vec::with_capacity(picture.len() / 4 * 3);
        for pixel in picture.pixels() {
            let [red, green, blue, alpha] = pixel.0;
            rgb.extend([red, green, blue].map(|colour| on_white(colour, alpha)));
        }
        let mut jpeg = Cursor::new(Vec::new());
        JpegEncoder::new_with_quality(&mut jpeg, QUALITY)
            .encode(&rgb, width, height, ExtendedColorType::Rgb8)
            .map_err(reason)?;
        Ok(Printable { bytes: jpeg.into_inner().into(), media_type: MediaType::Jpeg })
    })
}

fn on_white(colour: u8, alpha: u8) -> u8 {
    let (colour, alpha) = (u32::from(colour), u32::from(alpha));
    u8::try_from((colour * alpha + 255 * (255 - alpha) + 127) / 255).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use image::{Rgba, RgbaImage};

    use super::*;

    #[test]
    fn what_is_transparent_is_white_and_what_readers_know_stays() {
        let mut webp = Cursor::new(Vec::new());
        let half = RgbaImage::from_fn(32, 32, |x, _| if x < 16 { Rgba([200, 0, 0, 255]) } else { Rgba([0, 0, 0, 0]) });
        half.write_to(&mut webp, ImageFormat::WebP).unwrap();
        let printed = for_book(webp.into_inner(), MediaType::Webp).unwrap();
        assert_eq!(printed.media_type, MediaType::Jpeg);
        let read = image::load_from_memory_with_format(&printed.bytes, ImageFormat::Jpeg).unwrap().into_rgb8();
        let [red, white] = [(4, 16), (28, 16)].map(|(x, y)| read.get_pixel(x, y).0);
        assert!(red[0] > 180 && red[1] < 30 && white.iter().all(|colour| *colour > 245), "{red:?} {white:?}");
        let png = b"any bytes".to_vec();
        assert_eq!(for_book(png.clone(), MediaType::Png).unwrap().bytes, png);
        assert!(for_book(png, MediaType::Webp).is_err());
    }
}
