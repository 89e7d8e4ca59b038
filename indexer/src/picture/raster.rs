//! Decoded pixels on their way to a rendition.

use super::problem::Problem;

/// Holds 8-bit sRGB pixels, row by row without padding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raster {
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// What the samples of a pixel are.
    pub channels: Channels,
    /// `width * height * channels.count()` bytes.
    pub samples: Vec<u8>,
}

/// Names the samples of one pixel. Grey is kept as RGB: what is written is YUV either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channels {
    /// Red, green, blue.
    Rgb,
    /// The same and alpha, which is straight, not premultiplied.
    Rgba,
}

impl Channels {
    /// Returns the samples of one pixel.
    #[must_use]
    pub fn count(self) -> usize {
        match self {
            Self::Rgb => 3,
            Self::Rgba => 4,
        }
    }
}

impl Raster {
    /// Pairs samples with a size they must fill exactly.
    pub(crate) fn new(
        width: u32,
        height: u32,
        channels: Channels,
        samples: Vec<u8>,
    ) -> Result<Self, Problem> {
        let expected = (width as usize).saturating_mul(height as usize).saturating_mul(channels.count());
        if width == 0 || height == 0 || samples.len() != expected {
            let reason =
                format!("{} samples for {width} x {height} pixels, expected {expected}", samples.len());
            return Err(Problem::Unencodable { reason });
        }
        Ok(Self { width, height, channels, samples })
    }

    /// Drops an alpha channel that says nothing; most RGBA files are opaque.
    pub(crate) fn without_idle_alpha(mut self) -> Self {
        let opaque = || self.samples.chunks_exact(4).all(|pixel| pixel.last() == Some(&255));
        if self.channels != Channels::Rgba || !opaque() {
            return self;
        }
        let pixels = self.samples.len() / 4;
        for pixel in 0..pixels {
            self.samples.copy_within(4 * pixel..4 * pixel + 3, 3 * pixel);
        }
        self.samples.truncate(3 * pixels);
        self.samples.shrink_to_fit();
        Self { channels: Channels::Rgb, ..self }
    }
}
