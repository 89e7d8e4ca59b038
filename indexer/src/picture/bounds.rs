//! How large a rendition may be.

/// A kilobyte is 1,000 bytes here, as in the limits of the clients.
const KB: usize = 1_000;

/// Longest edge that no Claude model scales down.
///
/// <https://platform.claude.com/docs/en/build-with-claude/vision>, checked 2026-11-16. Scaling at the other end costs
/// the reader time and detail.
const MAX_EDGE_PX: u32 = 1568;

/// Most patches of 28 x 28 pixels that no Claude model scales down; same source and date.
const MAX_PATCHES: u64 = 1568;
const PATCH_PX: u32 = 28;

/// Names what a rendition may measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) edge_px: u32,
    pub(crate) bytes: usize,
}

/// One picture in full view: base64 of it fits into a tool result of 1,048,576 bytes (Claude Desktop, checked
/// 2026-11-16) with room for the text.
pub(crate) const LARGE: Bounds = Bounds { edge_px: MAX_EDGE_PX, bytes: 700 * KB };
/// Three pictures in one answer.
pub(crate) const MEDIUM: Bounds = Bounds { edge_px: 1092, bytes: 220 * KB };
/// As many as an answer may have: 18 pictures at the limit, and few are.
pub(crate) const SMALL: Bounds = Bounds { edge_px: 512, bytes: 40 * KB };

impl Bounds {
    /// Tells whether a picture of this size needs no scaling.
    pub(crate) fn hold_size(self, width: u32, height: u32) -> bool {
        width.max(height) <= self.edge_px && patches(width, height) <= MAX_PATCHES
    }

    /// Returns the largest size of the same shape within the bounds; never larger than the picture is.
    pub(crate) fn fit(self, width: u32, height: u32) -> (u32, u32) {
        if self.hold_size(width, height) {
            return (width, height);
        }
        // Patches grow with the edge, so that the longest edge that fits can be found by halving.
        let (mut fitting, mut too_long) = (1, width.max(height).min(self.edge_px) + 1);
        while too_long - fitting > 1 {
            let middle = fitting + (too_long - fitting) / 2;
            let (scaled_width, scaled_height) = with_long_edge(width, height, middle);
            if self.hold_size(scaled_width, scaled_height) {
                fitting = middle;
            } else {
                too_long = middle;
            }
        }
        with_long_edge(width, height, fitting)
    }
}

/// Scales a size so that its longer edge has the given length; no edge vanishes.
pub(crate) fn with_long_edge(width: u32, height: u32, edge: u32) -> (u32, u32) {
    let long = u64::from(width.max(height)).max(1);
    let scale = |side: u32| {
        let scaled = (u64::from(side) * u64::from(edge) + long / 2) / long;
        u32::try_from(scaled).unwrap_or(u32::MAX).max(1)
    };
    (scale(width), scale(height))
}

fn patches(width: u32, height: u32) -> u64 {
    u64::from(width.div_ceil(PATCH_PX)) * u64::from(height.div_ceil(PATCH_PX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_fit_stay_and_others_come_as_close_as_they_can() {
        assert_eq!(LARGE.fit(1568, 784), (1568, 784));
        assert_eq!(LARGE.fit(1568, 1568), (1092, 1092));
        assert_eq!(LARGE.fit(1569, 1), (1568, 1));
        assert_eq!(LARGE.fit(1, 20_000), (1, 1568));
        assert_eq!(LARGE.fit(20_000, 1), (1568, 1));
        assert_eq!(LARGE.fit(1, 1), (1, 1));
        assert_eq!(MEDIUM.fit(1092, 1092), (1092, 1092));
        assert_eq!(SMALL.fit(1024, 768), (512, 384));
    }

    #[test]
    fn no_size_escapes_the_bounds() {
        for bounds in [LARGE, MEDIUM, SMALL] {
            for width in (1..6000).step_by(97) {
                for height in (1..6000).step_by(89) {
                    let (fit_width, fit_height) = bounds.fit(width, height);
                    assert!(bounds.hold_size(fit_width, fit_height), "{width} x {height}");
                    assert!(fit_width <= width && fit_height <= height && fit_width >= 1 && fit_height >= 1);
                }
            }
        }
    }
}
