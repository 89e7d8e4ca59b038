//! HEIC pixels: one row of tiles at a time, so that a row is all that the decoder holds.

use heic_decoder::{ChromaUpsampling, ColorInfo, DecodedImage, HeifError, RgbOptions};
use image::{DynamicImage, ImageBuffer};
use wakashu_archive::MediaType;

use super::{Decoded, MAX_PROFILE_BYTES, Pixels};
use crate::picture::container::Cicp;
use crate::picture::container::heic::{CodePoints, Picture, Still, Window, write_row};
use crate::picture::problem::Problem;

/// What libheif takes colours for that nothing in the file describes: sRGB, as BT.601 over the full range.
const UNLABELLED: CodePoints = CodePoints { primaries: 1, transfer: 13, matrix: 6, full_range: true };
/// A code point that says nothing.
const UNSPECIFIED: u16 = 2;

fn undecodable(reason: impl Into<String>) -> Problem {
    Problem::undecodable(MediaType::Heic, reason)
}

fn failed(error: &HeifError) -> Problem {
    undecodable(error.to_string())
}

/// Decodes what is shown of a file, without turning it upright.
pub(super) fn decode(bytes: &[u8]) -> Result<Decoded, Problem> {
    let Some(still) = Still::read(bytes)? else { return decode_sequence(bytes) };
    let colour = &still.colour;
    let deep = colour.tiles.first().is_some_and(|tile| tile.sequence.bits > 8);
    let mut canvas = Canvas::new(colour.window, deep, still.alpha.is_some());
    let mut points = None;
    for_rows(bytes, colour, |top, mut row| {
        let described = describe(colour.code_points, row.color_info);
        row.color_info = Some(ColorInfo {
            color_primaries: described.primaries,
            transfer_characteristics: described.transfer,
            matrix_coefficients: described.matrix,
            full_range: described.full_range,
        });
        points.get_or_insert(described);
        let options = options_for(&mut row);
        match &mut canvas.samples {
            Samples::Plain(samples) => {
                let rgb = row.to_rgb8_with_options(&options).map_err(|error| failed(&error))?.data;
                paste(samples, &rgb, colour.window, canvas.channels, top, row.width)
            }
            Samples::Deep(samples) => {
                let rgb = row.to_rgb16_with_options(&options).map_err(|error| failed(&error))?.data;
                paste(samples, &rgb, colour.window, canvas.channels, top, row.width)
            }
        }
        .ok_or_else(|| undecodable("its planes do not match its size"))
    })?;
    if let Some(alpha) = &still.alpha {
        let window = alpha.picture.window;
        if (window.width, window.height) != (colour.window.width, colour.window.height)
            || alpha.picture.orientation != colour.orientation
        {
            return Err(undecodable("its alpha does not match its picture"));
        }
        for_rows(bytes, &alpha.picture, |top, row| {
            canvas
                .paste_alpha(&row, window, top)
                .ok_or_else(|| undecodable("its alpha does not match its picture"))
        })?;
        if alpha.premultiplied {
            canvas.unpremultiply();
        }
    }
    let icc = colour.profile.clone().filter(|icc| icc.len() <= MAX_PROFILE_BYTES);
    let cicp = points.unwrap_or(UNLABELLED).cicp();
    let image = canvas.into_image().ok_or_else(|| undecodable("its planes do not match its size"))?;
    Ok(Decoded { pixels: Pixels::Additive(image), icc, has_profile: false, cicp, fault: None })
}

/// Decodes row after row of tiles and hands each over with its distance from the top.
fn for_rows(
    bytes: &[u8],
    picture: &Picture,
    mut take: impl FnMut(u32, DecodedImage) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let window = picture.window;
    let mut top = 0;
    for tiles in picture.rows() {
        let height = picture.row_height().min(picture.height - top);
        let shown = top < window.top + window.height && top + height > window.top;
        if shown {
            let file = write_row(bytes, picture, tiles, height)
                .ok_or_else(|| undecodable("its coded pictures are broken"))?;
            take(top, heic_decoder::decode(&file).map_err(|error| failed(&error))?)?;
        }
        top += height;
    }
    Ok(())
}

/// Returns how the colours are to be read: by the box, or by the coded picture, or as libheif does without either.
fn describe(boxed: Option<CodePoints>, coded: Option<ColorInfo>) -> CodePoints {
    let coded = coded.map(|info| CodePoints {
        primaries: info.color_primaries,
        transfer: info.transfer_characteristics,
        matrix: info.matrix_coefficients,
        full_range: info.full_range,
    });
    let found = boxed.or(coded).unwrap_or(UNLABELLED);
    let or = |value: u16, otherwise: u16| if value == UNSPECIFIED { otherwise } else { value };
    CodePoints {
        primaries: or(found.primaries, UNLABELLED.primaries),
        transfer: or(found.transfer, UNLABELLED.transfer),
        matrix: or(found.matrix, UNLABELLED.matrix),
        full_range: found.full_range,
    }
}

/// Says how chroma is spread.
///
/// Each sample colours its whole block, as in libheif. What is written halves the chroma again: whole blocks come back
/// as they were, while interpolated ones would be blurred twice.
fn options_for(row: &mut DecodedImage) -> RgbOptions {
    let sampling = &mut row.chroma_sampling;
    sampling.origin_x = block_middle(sampling.origin_x, sampling.sub_x);
    sampling.origin_y = block_middle(sampling.origin_y, sampling.sub_y);
    RgbOptions { upsampling: ChromaUpsampling::Nearest, ..RgbOptions::default() }
}

/// Returns the middle of the block that a chroma sample belongs to, along one axis.
fn block_middle(sample: f32, block_size: u32) -> f32 {
    match block_size {
        // A crop at an odd place starts in the middle of a block.
        2 if sample < 0.0 => -0.5,
        2 => 0.5,
        _ => sample,
    }
}

/// The picture as it comes together.
struct Canvas {
    width: u32,
    height: u32,
    /// Three colours, and alpha if there is any.
    channels: usize,
    samples: Samples,
}

enum Samples {
    Plain(Vec<u8>),
    Deep(Vec<u16>),
}

impl Canvas {
    fn new(window: Window, deep: bool, alpha: bool) -> Self {
        let channels = if alpha { 4 } else { 3 };
        let count = window.width as usize * window.height as usize * channels;
        let samples = if deep { Samples::Deep(vec![0; count]) } else { Samples::Plain(vec![0; count]) };
        Self { width: window.width, height: window.height, channels, samples }
    }

    fn paste_alpha(&mut self, row: &DecodedImage, window: Window, top: u32) -> Option<()> {
        let most = (1_i64 << row.bit_depth_luma) - 1;
        let scale = |sample: i32, full: i64| (i64::from(sample).clamp(0, most) * full + most / 2) / most;
        match &mut self.samples {
            Samples::Plain(samples) => for_alpha(samples, row, window, top, |sample| {
                u8::try_from(scale(sample, 255)).unwrap_or(u8::MAX)
            }),
            Samples::Deep(samples) => for_alpha(samples, row, window, top, |sample| {
                u16::try_from(scale(sample, 65_535)).unwrap_or(u16::MAX)
            }),
        }
    }

    fn unpremultiply(&mut self) {
        match &mut self.samples {
            Samples::Plain(samples) => unpremultiply(samples, 255),
            Samples::Deep(samples) => unpremultiply(samples, 65_535),
        }
    }

    fn into_image(self) -> Option<DynamicImage> {
        let Self { width, height, channels, samples } = self;
        match (samples, channels) {
            (Samples::Plain(samples), 3) => {
                ImageBuffer::from_raw(width, height, samples).map(DynamicImage::ImageRgb8)
            }
            (Samples::Plain(samples), _) => {
                ImageBuffer::from_raw(width, height, samples).map(DynamicImage::ImageRgba8)
            }
            (Samples::Deep(samples), 3) => {
                ImageBuffer::from_raw(width, height, samples).map(DynamicImage::ImageRgb16)
            }
            (Samples::Deep(samples), _) => {
                ImageBuffer::from_raw(width, height, samples).map(DynamicImage::ImageRgba16)
            }
        }
    }
}

/// Returns the rows of a canvas that a row of tiles covers, each with the part of the tiles that belongs there.
fn shared_rows<'a, 'b, Target, Source>(
    canvas: &'a mut [Target],
    row: &'b [Source],
    window: Window,
    top: u32,
    row_width: usize,
    (channels, row_channels): (usize, usize),
) -> Option<impl Iterator<Item = (&'a mut [Target], &'b [Source])>> {
    let (first, skipped) = (top.saturating_sub(window.top) as usize, window.top.saturating_sub(top) as usize);
    let width = window.width as usize;
    let left = window.left as usize;
    if left + width > row_width {
        return None;
    }
    let targets = canvas.chunks_exact_mut(width * channels).skip(first);
    let sources = row.chunks_exact(row_width * row_channels).skip(skipped);
    let part = left * row_channels..(left + width) * row_channels;
    Some(
        targets
            .zip(sources)
            .map(move |(target, source)| (target, source.get(part.clone()).unwrap_or_default())),
    )
}

/// Copies colours; `None` if the row is too short.
fn paste<T: Copy>(
    canvas: &mut [T],
    rgb: &[T],
    window: Window,
    channels: usize,
    top: u32,
    row_width: usize,
) -> Option<()> {
    for (target, source) in shared_rows(canvas, rgb, window, top, row_width, (channels, 3))? {
        for (pixel, colours) in target.chunks_exact_mut(channels).zip(source.chunks_exact(3)) {
            pixel.get_mut(..3)?.copy_from_slice(colours);
        }
    }
    Some(())
}

fn for_alpha<T: Copy>(
    canvas: &mut [T],
    row: &DecodedImage,
    window: Window,
    top: u32,
    scale: impl Fn(i32) -> T,
) -> Option<()> {
    for (target, source) in shared_rows(canvas, &row.y, window, top, row.width, (4, 1))? {
        for (pixel, alpha) in target.chunks_exact_mut(4).zip(source) {
            *pixel.last_mut()? = scale(*alpha);
        }
    }
    Some(())
}

fn unpremultiply<T: Copy + Into<u32> + TryFrom<u32>>(samples: &mut [T], most: u32) {
    for pixel in samples.chunks_exact_mut(4) {
        let Some((alpha, colours)) = pixel.split_last_mut() else { continue };
        let alpha: u32 = (*alpha).into();
        if alpha == 0 {
            continue;
        }
        for colour in colours {
            let straight = ((*colour).into() * most + alpha / 2) / alpha;
            *colour = T::try_from(straight.min(most)).unwrap_or(*colour);
        }
    }
}

/// Decodes a file that has a sequence of pictures and no still one.
fn decode_sequence(bytes: &[u8]) -> Result<Decoded, Problem> {
    let mut frame = heic_decoder::decode(bytes).map_err(|error| failed(&error))?;
    let side = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    let (width, height) = (side(frame.width), side(frame.height));
    let points = describe(None, frame.color_info);
    let cicp: Option<Cicp> = points.cicp();
    let options = options_for(&mut frame);
    let image = if frame.bit_depth_luma > 8 {
        let samples = frame.to_rgb16_with_options(&options).map_err(|error| failed(&error))?.data;
        ImageBuffer::from_raw(width, height, samples).map(DynamicImage::ImageRgb16)
    } else {
        let samples = frame.to_rgb8_with_options(&options).map_err(|error| failed(&error))?.data;
        ImageBuffer::from_raw(width, height, samples).map(DynamicImage::ImageRgb8)
    };
    let image = image.ok_or_else(|| undecodable("its planes do not match its size"))?;
    Ok(Decoded { pixels: Pixels::Additive(image), icc: None, has_profile: false, cicp, fault: None })
}
