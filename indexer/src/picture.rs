//! Pictures: from whatever the curator has to what every client can show.
//!
//! A picture becomes three renditions, `large`, `medium` and `small`, that keep within the limits of MCP clients
//! and models (`bounds.rs`). What already fits is passed on byte for byte, without its metadata; the rest is decoded,
//! turned upright, converted to sRGB, scaled and written as WebP. `docs/adr/0006-codecs.md` has the reasons.
//!
//! Nothing here reads files or knows of terminals, but for [`Cache`].

mod bounds;
mod cache;
mod colour;
mod container;
mod decode;
mod encode;
mod exif;
mod guard;
mod header;
mod orient;
mod problem;
mod raster;
mod reader;
mod scale;
mod sniff;

use std::borrow::Cow;

use bytes::Bytes;
pub use wakashu_archive::MediaType;
use wakashu_archive::Sizes;

use bounds::{Bounds, LARGE, MEDIUM, SMALL};
pub use cache::{Cache, Origin, Source};
use container::Purpose;
pub use header::{Header, decoding_cost_bytes, header};
use orient::Orientation;
pub use problem::Problem;
pub use raster::{Channels, Raster};
pub use sniff::sniff;

/// Names the way renditions are made; it must change whenever the bytes of any rendition may.
///
/// Part of the cache's keys and of what an archive says it was built from.
pub const ENCODER_VERSION: &str =
    "2 webp-0.3.1 fast_image_resize-6.1 moxcms-0.8 zune-jpeg-0.5 heic-decoder-0.1.1";

/// Says how pictures are to be treated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Pictures with more pixels are refused before they are decoded.
    pub max_pixels: u64,
    /// Pictures that are passed on keep EXIF, XMP and comments, places and names included.
    pub keep_metadata: bool,
    /// The original files are wanted too.
    pub originals: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { max_pixels: 50_000_000, keep_metadata: false, originals: false }
    }
}

/// Holds one encoding of a picture: the bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoded {
    /// The file's bytes.
    pub bytes: Bytes,
    /// What they are.
    pub media_type: MediaType,
    /// Width in pixels, upright.
    pub width: u32,
    /// Height in pixels, upright.
    pub height: u32,
}

/// Holds the renditions of one picture; equal ones share their bytes. The original is the file without its metadata, and
/// only there if it was asked for.
pub type Renditions = Sizes<Encoded>;

/// Decodes a picture, turns it upright and converts it to sRGB; of an animation the first frame.
pub fn upright_pixels(source: &[u8], settings: &Settings) -> Result<Raster, Problem> {
    let header = header(source, settings)?;
    let converted = colour::to_srgb(decode::decode(source, &header)?)?;
    Ok(orient::upright(converted.raster, header.facts.orientation))
}

/// Makes the renditions of a picture.
///
/// The same bytes and settings give the same renditions, on whatever thread.
pub fn render(source: &[u8], settings: &Settings) -> Result<Renditions, Problem> {
    let header = header(source, settings)?;
    let decoded = decode::decode(source, &header)?;
    let converted = colour::to_srgb(decoded)?;
    let passable = passable(source, &header, converted.was_srgb, settings)?;

    let large = match passable.filter(|passable| holds(LARGE, passable)) {
        Some(encoded) => Step { encoded, raster: converted.raster },
        None => first_step(converted.raster, header.facts.orientation)?,
    };
    let made = next_step(&large, MEDIUM)?;
    let medium = made.as_ref().unwrap_or(&large);
    let made = next_step(medium, SMALL)?;
    let small = made.as_ref().unwrap_or(medium);
    let original = if settings.originals { Some(original(source, &header, settings)?) } else { None };
    Ok(Renditions {
        small: small.encoded.clone(),
        medium: medium.encoded.clone(),
        large: large.encoded.clone(),
        original,
    })
}

/// Decodes a picture in full and compares it with what is said about it.
///
/// What is said bounds nothing: the limit of the settings holds here too.
pub fn verify(
    bytes: &[u8],
    media_type: MediaType,
    width: u32,
    height: u32,
    settings: &Settings,
) -> Result<(), Problem> {
    let found = sniff(bytes)?;
    if found != media_type {
        return Err(Problem::OtherType { stated: media_type, found });
    }
    let header = header(bytes, settings)?;
    if (header.width, header.height) != (width, height) {
        return Err(Problem::OtherSize {
            stated_width: width,
            stated_height: height,
            found_width: header.width,
            found_height: header.height,
        });
    }
    decode::decode(bytes, &header).map(drop)
}

/// A rendition together with the pixels it was made from, which the next smaller one is made from.
struct Step {
    encoded: Encoded,
    raster: Raster,
}

/// Makes the large rendition of a source that cannot be passed on.
fn first_step(source: Raster, orientation: Orientation) -> Result<Step, Problem> {
    // Scaling first leaves less to turn; the bounds are the same for both ways up.
    let (width, height) = LARGE.fit(source.width, source.height);
    let raster = orient::upright(scale::shrink(Cow::Owned(source), width, height)?, orientation);
    Ok(Step { encoded: encode::encode_within(&raster, LARGE.bytes, LARGE.bytes)?, raster })
}

/// Makes the next smaller rendition; `None` if the larger one will do.
fn next_step(larger: &Step, bounds: Bounds) -> Result<Option<Step>, Problem> {
    if holds(bounds, &larger.encoded) {
        return Ok(None);
    }
    let (width, height) = bounds.fit(larger.encoded.width, larger.encoded.height);
    let raster = scale::shrink(Cow::Borrowed(&larger.raster), width, height)?;
    let encoded = encode::encode_within(&raster, bounds.bytes, larger.encoded.bytes.len())?;
    Ok(Some(Step { encoded, raster }))
}

fn holds(bounds: Bounds, encoded: &Encoded) -> bool {
    encoded.bytes.len() <= bounds.bytes && bounds.hold_size(encoded.width, encoded.height)
}

/// Returns the source as a rendition, if every client shows it right as it stands.
fn passable(
    source: &[u8],
    header: &Header,
    was_srgb: bool,
    settings: &Settings,
) -> Result<Option<Encoded>, Problem> {
    let facts = &header.facts;
    if !(facts.plain && was_srgb && facts.orientation.is_upright()) {
        return Ok(None);
    }
    // Stripping a PNG leaves its animation out; the still picture is what remains.
    let still = !facts.animated || (header.format == MediaType::Png && !settings.keep_metadata);
    if !still {
        return Ok(None);
    }
    let bytes = if settings.keep_metadata {
        Cow::Borrowed(source)
    } else {
        container::strip(header.format, source, Purpose::Rendition)?
    };
    // In a broken file a decoder may find other segments than stripping does; what it then leaves is no picture.
    let was_stripped = matches!(bytes, Cow::Owned(_));
    if was_stripped && verify(&bytes, header.format, header.width, header.height, settings).is_err() {
        return Ok(None);
    }
    Ok(Some(as_encoded(&bytes, header)))
}

fn original(source: &[u8], header: &Header, settings: &Settings) -> Result<Encoded, Problem> {
    if settings.keep_metadata {
        return Ok(as_encoded(source, header));
    }
    let bytes = container::strip(header.format, source, Purpose::Original)?;
    Ok(as_encoded(&bytes, header))
}

fn as_encoded(bytes: &[u8], header: &Header) -> Encoded {
    Encoded {
        bytes: Bytes::copy_from_slice(bytes),
        media_type: header.format,
        width: header.width,
        height: header.height,
    }
}
