//! From a file's own colours to sRGB.

use image::DynamicImage;
use moxcms::{
    CicpColorPrimaries, CicpProfile, ColorProfile, DataColorSpace, Layout, MatrixCoefficients,
    TransferCharacteristics, TransformOptions,
};

use super::container::Cicp;
use super::decode::{Decoded, Pixels};
use super::problem::Problem;
use super::raster::{Channels, Raster};

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
            let profile = profile.or_else(|| decoded.cicp.and_then(profile_of_code_points));
            let profile = profile.filter(|profile| !is_srgb(profile));
            let was_srgb = profile.is_none() && !unreadable_profile;
            let raster = additive_to_srgb(image, profile.as_ref())?;
            Ok(Converted { raster: raster.without_idle_alpha(), was_srgb })
        }
    }
}

fn additive_to_srgb(image: DynamicImage, profile: Option<&ColorProfile>) -> Result<Raster, Problem> {
    let converted = profile.and_then(|profile| convert(&image, profile));
    let image = converted.unwrap_or(image);
    let (width, height) = (image.width(), image.height());
    if image.color().has_alpha() {
        Raster::new(width, height, Channels::Rgba, image.into_rgba8().into_raw())
    } else {
        Raster::new(width, height, Channels::Rgb, image.into_rgb8().into_raw())
    }
}

/// Applies a profile; 16-bit samples stay 16-bit until they are sRGB. `None` when the profile does not fit.
fn convert(image: &DynamicImage, profile: &ColorProfile) -> Option<DynamicImage> {
    let grey_image = !image.color().has_color();
    let alpha = image.color().has_alpha();
    let deep = image.color().bytes_per_pixel() / image.color().channel_count() > 1;
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
    let srgb = ColorProfile::new_srgb();
    let options = TransformOptions::default();
    let (width, height) = (image.width(), image.height());
    let pixels = width as usize * height as usize;
    let samples = pixels * if alpha { 4 } else { 3 };
    if deep {
        let transform = profile.create_transform_16bit(source, &srgb, target, options).ok()?;
        let mut output = vec![0_u16; samples];
        match source {
            Layout::Gray => transform.transform(image.to_luma16().as_raw(), &mut output),
            Layout::GrayAlpha => transform.transform(image.to_luma_alpha16().as_raw(), &mut output),
            Layout::Rgba => transform.transform(image.to_rgba16().as_raw(), &mut output),
            _ => transform.transform(image.to_rgb16().as_raw(), &mut output),
        }
        .ok()?;
        if alpha {
            image::ImageBuffer::from_raw(width, height, output).map(DynamicImage::ImageRgba16)
        } else {
            image::ImageBuffer::from_raw(width, height, output).map(DynamicImage::ImageRgb16)
        }
    } else {
        let transform = profile.create_transform_8bit(source, &srgb, target, options).ok()?;
        let mut output = vec![0_u8; samples];
        match source {
            Layout::Gray => transform.transform(image.to_luma8().as_raw(), &mut output),
            Layout::GrayAlpha => transform.transform(image.to_luma_alpha8().as_raw(), &mut output),
            Layout::Rgba => transform.transform(image.to_rgba8().as_raw(), &mut output),
            _ => transform.transform(image.to_rgb8().as_raw(), &mut output),
        }
        .ok()?;
        if alpha {
            image::ImageBuffer::from_raw(width, height, output).map(DynamicImage::ImageRgba8)
        } else {
            image::ImageBuffer::from_raw(width, height, output).map(DynamicImage::ImageRgb8)
        }
    }
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
/// Pictures with the transfer functions of high dynamic range (PQ, HLG) would need tone mapping; their samples
/// are taken as they stand.
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
