//! High dynamic range (PQ and HLG) brought into the range of sRGB.
//!
//! White of ordinary brightness (203 cd/m², ITU-R BT.2408) becomes white; what is brighter is pressed together below it.

use image::DynamicImage;

use crate::picture::container::Cicp;

/// Luminance of white in a picture of ordinary brightness.
const WHITE: f32 = 203.0;
/// Light up to here stays as it is.
const KNEE: f32 = 0.8;
const PQ: u8 = 16;
const HLG: u8 = 18;

type Matrix = [[f32; 3]; 3];

/// A way from samples to sRGB.
pub(super) struct Hdr {
    transfer: u8,
    to_srgb: Matrix,
}

impl Hdr {
    /// Returns the way for these code points; `None` if they are not of high dynamic range.
    pub(super) fn of(cicp: Cicp) -> Option<Self> {
        let to_srgb = match cicp.primaries {
            9 => [[1.6605, -0.5876, -0.0728], [-0.1246, 1.1329, -0.0083], [-0.0182, -0.1006, 1.1187]],
            11 | 12 => [[1.2249, -0.2247, 0.0], [-0.0420, 1.0419, 0.0], [-0.0197, -0.0786, 1.0979]],
            _ => [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        };
        matches!(cicp.transfer, PQ | HLG).then_some(Self { transfer: cicp.transfer, to_srgb })
    }

    /// Converts a picture to RGB, or RGBA if it has alpha, of 8 bits.
    pub(super) fn convert(&self, image: &DynamicImage) -> Vec<u8> {
        let alpha = image.color().has_alpha();
        let (width, height) = (image.width(), image.height());
        let count = if alpha { 4 } else { 3 };
        let mut output = Vec::with_capacity(width as usize * height as usize * count);
        let samples = image.color().bytes_per_pixel() / image.color().channel_count();
        let light: Vec<f32> = if samples > 1 { self.table(65_535) } else { self.table(255) };
        let mut push = |pixel: [usize; 3], alpha: Option<u8>| {
            output.extend_from_slice(
                &self.pixel(pixel.map(|sample| light.get(sample).copied().unwrap_or(0.0))),
            );
            output.extend(alpha);
        };
        match image {
            DynamicImage::ImageRgb8(image) => {
                image.pixels().for_each(|pixel| push(pixel.0.map(usize::from), None));
            }
            DynamicImage::ImageRgba8(image) => image.pixels().for_each(|pixel| {
                let [red, green, blue, alpha] = pixel.0;
                push([red, green, blue].map(usize::from), Some(alpha));
            }),
            DynamicImage::ImageRgb16(image) => {
                image.pixels().for_each(|pixel| push(pixel.0.map(usize::from), None));
            }
            DynamicImage::ImageRgba16(image) => image.pixels().for_each(|pixel| {
                let [red, green, blue, alpha] = pixel.0;
                push([red, green, blue].map(usize::from), Some(narrow(alpha)));
            }),
            DynamicImage::ImageLuma16(image) => image.pixels().for_each(|pixel| {
                let [grey] = pixel.0.map(usize::from);
                push([grey; 3], None);
            }),
            DynamicImage::ImageLumaA16(image) => image.pixels().for_each(|pixel| {
                let [grey, alpha] = pixel.0;
                push([usize::from(grey); 3], Some(narrow(alpha)));
            }),
            DynamicImage::ImageLumaA8(image) => image.pixels().for_each(|pixel| {
                let [grey, alpha] = pixel.0;
                push([usize::from(grey); 3], Some(alpha));
            }),
            other => other.to_luma8().pixels().for_each(|pixel| {
                let [grey] = pixel.0.map(usize::from);
                push([grey; 3], None);
            }),
        }
        output
    }

    /// Returns the light of every sample; 1 is white.
    fn table(&self, most: u16) -> Vec<f32> {
        let curve = if self.transfer == PQ { pq } else { hlg };
        (0..=most).map(|sample| curve(f32::from(sample) / f32::from(most))).collect()
    }

    fn pixel(&self, light: [f32; 3]) -> [u8; 3] {
        let [red, green, blue] = light;
        let light = self.to_srgb.map(|[r, g, b]| (r * red + g * green + b * blue).max(0.0));
        let brightest = light.into_iter().fold(0.0, f32::max);
        let scale = if brightest > KNEE { pressed(brightest) / brightest } else { 1.0 };
        light.map(|light| encode(light * scale))
    }
}

fn pressed(light: f32) -> f32 {
    KNEE + (1.0 - KNEE) * (1.0 - (-(light - KNEE) / (1.0 - KNEE)).exp())
}

/// The transfer function of SMPTE ST 2084.
fn pq(sample: f32) -> f32 {
    let power = sample.powf(1.0 / 78.843_75);
    let light = ((power - 0.835_937_5).max(0.0) / (18.851_563 - 18.6875 * power)).powf(1.0 / 0.159_301_76);
    light * 10_000.0 / WHITE
}

/// The transfer function of ARIB STD-B67, for a display of 1,000 cd/m².
fn hlg(sample: f32) -> f32 {
    let scene = if sample <= 0.5 {
        sample * sample / 3.0
    } else {
        (((sample - 0.559_910_7) / 0.178_832_77).exp() + 0.284_668_92) / 12.0
    };
    scene.powf(1.2) * 1_000.0 / WHITE
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates, which is what is wanted"
)]
fn encode(light: f32) -> u8 {
    let value = if light <= 0.003_130_8 { light * 12.92 } else { 1.055 * light.powf(1.0 / 2.4) - 0.055 };
    (value * 255.0).round() as u8
}

fn narrow(sample: u16) -> u8 {
    u8::try_from((u32::from(sample) + 128) / 257).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_white_stays_white_and_brighter_light_stays_below_it() {
        let hdr = Hdr::of(Cicp { primaries: 9, transfer: PQ }).unwrap();
        // 203 cd/m² is 58 % of PQ's range, and 75 % of HLG's.
        assert!((pq(0.58) - 1.0).abs() < 0.02 && (hlg(0.75) - 1.0).abs() < 0.02);
        let grey = hdr.pixel([0.2; 3]);
        assert!(grey.iter().all(|sample| sample.abs_diff(124) <= 1), "{grey:?}");
        assert!(hdr.pixel([1.0; 3]).iter().all(|sample| *sample > 235));
        assert_eq!(hdr.pixel([40.0; 3]), [255; 3]);
        assert_eq!(hdr.pixel([0.0; 3]), [0; 3]);
        assert!(Hdr::of(Cicp { primaries: 1, transfer: 13 }).is_none());
    }
}
