//! From a file's own colours to sRGB.

mod hdr;

use image::DynamicImage;
use moxcms::{
    CicpColorPrimaries, CicpProfile, ColorProfile, DataColorSpace, Layout, MatrixCoefficients,
    TransferCharacteristics, TransformOptions,
};

use super::container::Cicp;
use super::decode::{Decoded, Pixels};
use super::problem::Problem;
use super::raster::{Channels, Raster};
use hdr::Hdr;

/// Holds a picture in sRGB.
pub(crate) struct Converted {
    pub(crate) raster: Raster,
    /// The file's samples are sRGB as they stand; a viewer that ignores profiles shows them right.
    pub(crate) was_srgb: bool,
}

/// Converts decoded pixels to 8-bit sRGB.
///
/// A profile that is broken or meant for another kind of picture is ignored, as viewers do.
pub(crate) fn to_srgb(decoded: Decoded) -> Result<Converted, Problem> {
    let profile = decoded.icc.as_deref().and_then(|icc| ColorProfile::new_from_slice(icc).ok());
    // Such a profile is not passed on either: it may be a trap for the next reader.
    let unreadable_profile = decoded.has_profile && profile.is_none();
    match decoded.pixels {
        Pixels::Cmyk { width, height, inks } => {
            let raster = cmyk_to_srgb(width, height, &inks, profile.as_ref())?;
            Ok(Converted { raster, was_srgb: false })
        }
        Pixels::Additive(image) => {
            if let (None, Some(hdr)) = (&profile, decoded.cicp.and_then(Hdr::of)) {
                let (width, height) = (image.width(), image.height());
                let channels = if image.color().has_alpha() { Channels::Rgba } else { Channels::Rgb };
                let raster = Raster::new(width, height, channels, hdr.convert(&image))?;
                return Ok(Converted { raster: raster.without_idle_alpha(), was_srgb: false });
            }
            let named = profile.is_none().then_some(decoded.cicp).flatten();
            let profile = profile.or_else(|| named.and_then(profile_of_code_points));
            // Code points that are not known here may be known elsewhere.
            let unknown_space = profile.is_none() && named.is_some();
            let profile = profile.filter(|profile| !is_srgb(profile));
            let was_srgb = profile.is_none() && !unreadable_profile && !unknown_space;
            let raster = additive_to_srgb(image, profile.as_ref())?;
            Ok(Converted { raster: raster.without_idle_alpha(), was_srgb })
        }
    }
}

/// Tells whether a profile can be read by others, as far as can be told from reading it here.
pub(crate) fn is_readable(profile: &[u8]) -> bool {
    ColorProfile::new_from_slice(profile).is_ok()
}

fn additive_to_srgb(image: DynamicImage, profile: Option<&ColorProfile>) -> Result<Raster, Problem> {
    let (width, height) = (image.width(), image.height());
    if let Some(samples) = profile.and_then(|profile| convert(&image, profile)) {
        let channels = if image.color().has_alpha() { Channels::Rgba } else { Channels::Rgb };
        return Raster::new(width, height, channels, samples);
    }
    if image.color().has_alpha() {
        Raster::new(width, height, Channels::Rgba, image.into_rgba8().into_raw())
    } else {
        Raster::new(width, height, Channels::Rgb, image.into_rgb8().into_raw())
    }
}

/// Pixels that are converted at a time: the picture is in memory before and after, but not once more in between.
const BAND_PIXELS: usize = 1 << 16;

/// Applies a profile; 16-bit samples stay 16-bit until they are sRGB. `None` when the profile does not fit.
fn convert(image: &DynamicImage, profile: &ColorProfile) -> Option<Vec<u8>> {
    let grey_image = !image.color().has_color();
    let alpha = image.color().has_alpha();
    match profile.color_space {
        DataColorSpace::Gray if grey_image => {}
        DataColorSpace::Rgb => {}
        _ => return None,
    }
    let grey = profile.color_space == DataColorSpace::Gray;
    let source = match (grey, alpha) {
        (true, false) => Layout::Gray,
        (true, true) => Layout::GrayAlpha,
        (false, false) => Layout::Rgb,
        (false, true) => Layout::Rgba,
    };
    let target = if alpha { Layout::Rgba } else { Layout::Rgb };
    let (srgb, options) = (ColorProfile::new_srgb(), TransformOptions::default());
    let counts = Counts {
        stored: usize::from(image.color().channel_count()),
        source: source.channels(),
        target: target.channels(),
    };
    let deep = match image {
        DynamicImage::ImageLuma16(image) => Some(image.as_raw()),
        DynamicImage::ImageLumaA16(image) => Some(image.as_raw()),
        DynamicImage::ImageRgb16(image) => Some(image.as_raw()),
        DynamicImage::ImageRgba16(image) => Some(image.as_raw()),
        _ => None,
    };
    if let Some(samples) = deep {
        let transform = profile.create_transform_16bit(source, &srgb, target, options).ok()?;
        let narrow = |sample: &u16| u8::try_from((u32::from(*sample) + 128) / 257).unwrap_or(u8::MAX);
        in_bands(samples, &counts, |input, output| transform.transform(input, output).ok(), narrow)
    } else {
        let transform = profile.create_transform_8bit(source, &srgb, target, options).ok()?;
        let apply = |input: &[u8], output: &mut [u8]| transform.transform(input, output).ok();
        in_bands(image.as_bytes(), &counts, apply, |sample| *sample)
    }
}

/// How many samples a pixel has: in the picture, before and after the conversion.
struct Counts {
    stored: usize,
    source: usize,
    target: usize,
}

fn in_bands<T: Copy + Default>(
    samples: &[T],
    counts: &Counts,
    convert: impl Fn(&[T], &mut [T]) -> Option<()>,
    narrow: impl Fn(&T) -> u8,
) -> Option<Vec<u8>> {
    let mut output = Vec::with_capacity(samples.len() / counts.stored * counts.target);
    let mut converted = Vec::new();
    let mut spread = Vec::new();
    for band in samples.chunks(BAND_PIXELS * counts.stored) {
        converted.resize(band.len() / counts.stored * counts.target, T::default());
        if counts.stored == counts.source {
            convert(band, &mut converted)?;
        } else {
            // Grey samples under a profile for three colours.
            spread.clear();
            for pixel in band.chunks_exact(counts.stored) {
                let (grey, rest) = pixel.split_first()?;
                spread.extend_from_slice(&[*grey; 3]);
                spread.extend_from_slice(rest);
            }
            convert(&spread, &mut converted)?;
        }
        output.extend(converted.iter().map(&narrow));
    }
    Some(output)
}

fn cmyk_to_srgb(
    width: u32,
    height: u32,
    inks: &[u8],
    profile: Option<&ColorProfile>,
) -> Result<Raster, Problem> {
    let profile = profile.filter(|profile| profile.color_space == DataColorSpace::Cmyk);
    let managed = profile.and_then(|profile| {
        let srgb = ColorProfile::new_srgb();
        // Four inks travel in the layout of four samples.
        let options = TransformOptions::default();
        let transform = profile.create_transform_8bit(Layout::Rgba, &srgb, Layout::Rgb, options).ok()?;
        let mut output = vec![0; inks.len() / 4 * 3];
        transform.transform(inks, &mut output).ok()?;
        Some(output)
    });
    let samples = managed.unwrap_or_else(|| mix_inks(inks));
    Raster::new(width, height, Channels::Rgb, samples)
}

/// Mixes inks without a profile: each takes its share of the light away.
fn mix_inks(inks: &[u8]) -> Vec<u8> {
    let mut samples = Vec::with_capacity(inks.len() / 4 * 3);
    for pixel in inks.chunks_exact(4) {
        let [cyan, magenta, yellow, black] = *pixel else { continue };
        let paper = 255 - u32::from(black);
        for ink in [cyan, magenta, yellow] {
            let light = ((255 - u32::from(ink)) * paper + 127) / 255;
            samples.push(u8::try_from(light).unwrap_or(u8::MAX));
        }
    }
    samples
}

/// Builds a profile from code points, for the colour spaces of still pictures.
///
/// The transfer functions of high dynamic range (PQ, HLG) have a way of their own.
fn profile_of_code_points(cicp: Cicp) -> Option<ColorProfile> {
    let color_primaries = CicpColorPrimaries::try_from(cicp.primaries).ok()?;
    let transfer_characteristics = TransferCharacteristics::try_from(cicp.transfer).ok()?;
    let known_primaries = matches!(cicp.primaries, 1 | 4..=12 | 22);
    // BT.709 and its like are shown with the sRGB curve by convention.
    let transfer_characteristics = match cicp.transfer {
        1 | 2 | 6 | 14 | 15 => TransferCharacteristics::Srgb,
        4 | 5 | 8 | 13 => transfer_characteristics,
        _ => return None,
    };
    known_primaries.then(|| {
        ColorProfile::new_from_cicp(CicpProfile {
            color_primaries,
            transfer_characteristics,
            matrix_coefficients: MatrixCoefficients::Identity,
            full_range: true,
        })
    })
}

/// Tells whether a profile leaves colours within two levels of where sRGB has them.
///
/// There are dozens of sRGB profiles that differ in their bytes; asking the profile is surer than a list.
fn is_srgb(profile: &ColorProfile) -> bool {
    const LEVELS: [u8; 9] = [0, 8, 32, 64, 96, 128, 176, 224, 255];
    let grey = profile.color_space == DataColorSpace::Gray;
    let source = match profile.color_space {
        DataColorSpace::Gray => Layout::Gray,
        DataColorSpace::Rgb => Layout::Rgb,
        _ => return false,
    };
    let srgb = ColorProfile::new_srgb();
    let transform = profile.create_transform_8bit(source, &srgb, Layout::Rgb, TransformOptions::default());
    let Ok(transform) = transform else { return false };
    let (input, expected): (Vec<u8>, Vec<u8>) = if grey {
        (LEVELS.to_vec(), LEVELS.iter().flat_map(|level| [*level; 3]).collect())
    } else {
        let cube = LEVELS.iter().flat_map(|red| {
            LEVELS.iter().flat_map(move |green| LEVELS.iter().flat_map(move |blue| [*red, *green, *blue]))
        });
        let cube: Vec<u8> = cube.collect();
        (cube.clone(), cube)
    };
    let mut output = vec![0; expected.len()];
    transform.transform(&input, &mut output).is_ok()
        && output.iter().zip(&expected).all(|(found, wanted)| found.abs_diff(*wanted) <= 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn srgb_is_recognised_and_others_are_not() {
        assert!(is_srgb(&ColorProfile::new_srgb()));
        assert!(!is_srgb(&ColorProfile::new_display_p3()));
        assert!(!is_srgb(&ColorProfile::new_adobe_rgb()));
        assert!(is_srgb(&profile_of_code_points(Cicp { primaries: 1, transfer: 13 }).unwrap()));
        assert!(!is_srgb(&profile_of_code_points(Cicp { primaries: 12, transfer: 13 }).unwrap()));
        assert!(profile_of_code_points(Cicp { primaries: 9, transfer: 16 }).is_none());
    }

    #[test]
    fn inks_without_a_profile_mix_plainly() {
        let inks = [0, 0, 0, 0, 255, 0, 0, 0, 0, 0, 0, 255, 0, 255, 255, 128];
        assert_eq!(mix_inks(&inks), [255, 255, 255, 0, 255, 255, 0, 0, 0, 127, 0, 0]);
    }
}
