//! Pictures: any bytes are decoded within the limits, or refused.

use wakashu_archive::MediaType;
use wakashu_indexer::picture::{
    Settings, decoding_cost_bytes, header, render, sniff, upright_pixels, verify,
};

/// Small, so that a run tries many pictures.
const MAX_PIXELS: u64 = 1 << 16;

/// Sniffs, decodes and renders bytes as a picture.
pub fn picture(bytes: &[u8]) {
    let settings = Settings { max_pixels: MAX_PIXELS, keep_metadata: false, originals: true };
    let sniffed = sniff(bytes);
    let Ok(header) = header(bytes, &settings) else {
        assert!(upright_pixels(bytes, &settings).is_err() && render(bytes, &settings).is_err());
        return;
    };
    assert_eq!(sniffed, Ok(header.format));
    let pixels = u64::from(header.width) * u64::from(header.height);
    assert!((1..=MAX_PIXELS).contains(&pixels) && decoding_cost_bytes(&header) >= pixels);

    if let Ok(raster) = upright_pixels(bytes, &settings) {
        assert_eq!((raster.width, raster.height), (header.width, header.height));
    }
    let Ok(rendered) = render(bytes, &settings) else { return };
    let renditions = rendered.renditions;
    for (rendition, most_px, most_bytes) in [
        (&renditions.large, 1568, 700_000),
        (&renditions.medium, 1092, 220_000),
        (&renditions.small, 512, 40_000),
    ] {
        assert!(rendition.width.max(rendition.height) <= most_px && rendition.bytes.len() <= most_bytes);
        assert_ne!(rendition.media_type, MediaType::Heic);
        let (width, height) = (rendition.width, rendition.height);
        let shown = verify(&rendition.bytes, rendition.media_type, width, height, &settings);
        assert_eq!(shown, Ok(()), "a rendition is what it says");
    }
    let Some(original) = renditions.original else {
        assert!(rendered.damage.is_some(), "an original is left out only with a word about it");
        return;
    };
    assert_eq!(original.media_type, header.format);
    // Stripping leaves a picture that reads the same.
    let stripped = header_of(&original.bytes, &settings);
    assert_eq!(
        stripped,
        Some((header.format, header.width, header.height)),
        "the original without its metadata"
    );
}

fn header_of(bytes: &[u8], settings: &Settings) -> Option<(MediaType, u32, u32)> {
    header(bytes, settings).ok().map(|header| (header.format, header.width, header.height))
}

/// Keeps a run going after a panic inside a codec, which the indexer contains; other panics still end it.
pub fn let_codecs_panic() {
    std::panic::set_hook(Box::new(|_| {}));
}
