//! Turning and mirroring pictures upright.

use super::raster::Raster;

/// Names how stored rows and columns map to the upright picture, as in EXIF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Orientation {
    /// Rows and columns are exchanged first.
    transpose: bool,
    /// Then left and right are exchanged,
    mirror: bool,
    /// and top and bottom.
    flip: bool,
}

impl Orientation {
    /// Reads the EXIF value, 1 to 8.
    pub(crate) fn from_exif(value: u16) -> Option<Self> {
        let (transpose, mirror, flip) = match value {
            1 => (false, false, false),
            2 => (false, true, false),
            3 => (false, true, true),
            4 => (false, false, true),
            5 => (true, false, false),
            6 => (true, true, false),
            7 => (true, true, true),
            8 => (true, false, true),
            _ => return None,
        };
        Some(Self { transpose, mirror, flip })
    }

    pub(crate) fn to_exif(self) -> u16 {
        match (self.transpose, self.mirror, self.flip) {
            (false, false, false) => 1,
            (false, true, false) => 2,
            (false, true, true) => 3,
            (false, false, true) => 4,
            (true, false, false) => 5,
            (true, true, false) => 6,
            (true, true, true) => 7,
            (true, false, true) => 8,
        }
    }

    pub(crate) fn is_upright(self) -> bool {
        self == Self::default()
    }

    /// Turns by a quarter counter-clockwise.
    pub(crate) fn turned_left(self) -> Self {
        // Exchanging rows and columns and then top and bottom is such a turn.
        Self { transpose: !self.transpose, mirror: self.flip, flip: !self.mirror }
    }

    /// Exchanges left and right, or top and bottom.
    pub(crate) fn mirrored(self, left_and_right: bool) -> Self {
        if left_and_right { Self { mirror: !self.mirror, ..self } } else { Self { flip: !self.flip, ..self } }
    }

    /// Returns where a part of the upright picture, which has the size `shown`, is stored: left, top, width and height.
    pub(crate) fn stored_part(
        self,
        shown: (u32, u32),
        (left, top, width, height): (u32, u32, u32, u32),
    ) -> (u32, u32, u32, u32) {
        let left = if self.mirror { shown.0 - left - width } else { left };
        let top = if self.flip { shown.1 - top - height } else { top };
        if self.transpose { (top, left, height, width) } else { (left, top, width, height) }
    }

    /// Returns the upright size of a stored size.
    pub(crate) fn upright_size(self, width: u32, height: u32) -> (u32, u32) {
        if self.transpose { (height, width) } else { (width, height) }
    }
}

/// Turns a picture upright.
pub(crate) fn upright(raster: Raster, orientation: Orientation) -> Raster {
    let mut raster = raster;
    if orientation.transpose {
        raster = transpose(&raster);
    }
    let pixel_bytes = raster.channels.count();
    let row_bytes = raster.width as usize * pixel_bytes;
    if orientation.flip {
        raster.samples = raster.samples.rchunks_exact(row_bytes).flatten().copied().collect();
    }
    if orientation.mirror {
        for row in raster.samples.chunks_exact_mut(row_bytes) {
            // Reversing the bytes of the row and then those of each pixel reverses the pixels.
            row.reverse();
            row.chunks_exact_mut(pixel_bytes).for_each(<[u8]>::reverse);
        }
    }
    raster
}

fn transpose(raster: &Raster) -> Raster {
    let pixel_bytes = raster.channels.count();
    let row_bytes = raster.width as usize * pixel_bytes;
    let mut samples = Vec::with_capacity(raster.samples.len());
    for column in 0..raster.width as usize {
        let start = column * pixel_bytes;
        for row in raster.samples.chunks_exact(row_bytes) {
            samples.extend_from_slice(row.get(start..start + pixel_bytes).unwrap_or_default());
        }
    }
    Raster { width: raster.height, height: raster.width, channels: raster.channels, samples }
}

#[cfg(test)]
mod tests {
    use super::super::raster::Channels;
    use super::*;

    #[test]
    fn all_eight_orientations_follow_the_exif_table() {
        // a b c      EXIF names where row 0 and column 0 of the stored picture belong in the upright one.
        // d e f
        let stored = Raster {
            width: 3,
            height: 2,
            channels: Channels::Rgb,
            samples: b"abcdef".iter().flat_map(|letter| [*letter; 3]).collect(),
        };
        let expected =
            ["abc def", "cba fed", "fed cba", "def abc", "ad be cf", "da eb fc", "fc eb da", "cf be ad"];
        for (value, expected) in (1..).zip(expected) {
            let orientation = Orientation::from_exif(value).unwrap();
            let turned = upright(stored.clone(), orientation);
            let rows: Vec<String> = turned
                .samples
                .chunks(turned.width as usize * 3)
                .map(|row| row.iter().step_by(3).map(|byte| char::from(*byte)).collect())
                .collect();
            assert_eq!(rows.join(" "), expected, "orientation {value}");
            assert_eq!((turned.width, turned.height), orientation.upright_size(3, 2));
            assert_eq!(orientation.to_exif(), value);
        }
        assert_eq!(Orientation::from_exif(0), None);
        assert_eq!(Orientation::from_exif(9), None);
    }
}
