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
pub(crate) mod for_book;
mod guard;
mod header;
mod jpeg;
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
pub use header::{HEADER_BYTES, Header, decoding_cost_bytes, header, memory_limit_bytes};
use orient::Orientation;
pub(crate) use problem::name;
pub use problem::{Damage, Problem};
pub use raster::{Channels, Raster};
pub use sniff::sniff;

/// Names the way renditions are made; it must change whenever the bytes of any rendition may.
///
/// Part of the cache's keys and of what an archive says it was built from.
pub const ENCODER_VERSION: &str =
    "4 webp-0.3.1 fast_image_resize-6.1 moxcms-0.8 zune-jpeg-0.5 heic-decoder-0.1.1";

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

/// The renditions of a picture, and what is wrong with it all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// What can be shown.
    pub renditions: Renditions,
    /// The damage to its file; others may show less of it, or something else.
    pub damage: Option<Damage>,
}

/// Decodes a picture, turns it upright and converts it to sRGB; of an animation the first frame.
pub fn upright_pixels(source: &[u8], settings: &Settings) -> Result<Raster, Problem> {
    let header = header(source, settings)?;
    let converted = colour::to_srgb(decode::decode(source, &header)?)?;
    Ok(orient::upright(converted.raster, header.facts.orientation))
}

/// Makes the renditions of a picture.
///
/// The same bytes and settings give the same renditions, on whatever thread.
pub fn render(source: &[u8], settings: &Settings) -> Result<Rendered, Problem> {
    let header = header(source, settings)?;
    let mut rendered = render_scaled(source, &header, settings)?;
    add_original(&mut rendered, source, &header, settings);
    Ok(rendered)
}

/// Makes the renditions of a picture but for the original.
fn render_scaled(source: &[u8], header: &Header, settings: &Settings) -> Result<Rendered, Problem> {
    let decoded = decode::decode(source, header)?;
    let mut damage = decoded.fault.map(|fault| Damage::new(header.format, fault));
    let converted = colour::to_srgb(decoded)?;
    let passable = match &damage {
        None => passable(source, header, converted.was_srgb, settings).unwrap_or_else(|problem| {
            damage = Some(Damage::new(header.format, problem.reason()));
            None
        }),
        // Others may refuse it, or show something else.
        Some(_) => None,
    };

    let large = match passable {
        Some(encoded) => Step { encoded, raster: converted.raster },
        None => first_step(converted.raster, header.facts.orientation)?,
    };
    let made = next_step(&large, MEDIUM)?;
    let medium = made.as_ref().unwrap_or(&large);
    let made = next_step(medium, SMALL)?;
    let small = made.as_ref().unwrap_or(medium);
    let renditions = Renditions {
        small: small.encoded.clone(),
        medium: medium.encoded.clone(),
        large: large.encoded.clone(),
        original: None,
    };
    Ok(Rendered { renditions, damage })
}

/// Adds the original, if it is asked for; one that cannot be written anew is left out, and that counts as damage.
fn add_original(rendered: &mut Rendered, source: &[u8], header: &Header, settings: &Settings) {
    if !settings.originals {
        return;
    }
    match original(source, header, settings) {
        Ok(original) => rendered.renditions.original = Some(original),
        Err(problem) => {
            rendered.damage.get_or_insert_with(|| Damage::new(header.format, problem.reason()));
        }
    }
}

/// Decodes a picture in full and returns the damage to its file.
pub fn decode_in_full(source: &[u8], settings: &Settings) -> Result<Option<Damage>, Problem> {
    let header = header(source, settings)?;
    let fault = decode::decode(source, &header)?.fault;
    Ok(fault.map(|fault| Damage::new(header.format, fault)))
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
    // Writing a PNG anew leaves its animation out; the still picture is what remains.
    let still = !facts.animated || (header.format == MediaType::Png && !settings.keep_metadata);
    if !still {
        return Ok(None);
    }
    // What cannot be written anew is not in order, even if it is to be passed on as it is.
    let rebuilt = container::rebuild(header.format, source, Purpose::Rendition)?;
    let bytes = if settings.keep_metadata { source } else { &rebuilt };
    if bytes.len() > LARGE.bytes || !LARGE.hold_size(header.width, header.height) {
        return Ok(None);
    }
    // In a broken file a decoder may find other parts than are kept here; what is left is then no picture. A JPEG was
    // decoded from these very bytes.
    let seen = bytes == source || header.format == MediaType::Jpeg;
    if !seen && verify(bytes, header.format, header.width, header.height, settings).is_err() {
        return Ok(None);
    }
    Ok(Some(as_encoded(Bytes::copy_from_slice(bytes), header)))
}

fn original(source: &[u8], header: &Header, settings: &Settings) -> Result<Encoded, Problem> {
    if settings.keep_metadata {
        return Ok(as_encoded(Bytes::copy_from_slice(source), header));
    }
    let bytes = container::rebuild(header.format, source, Purpose::Original)?;
    let again = self::header(&bytes, settings)?;
    if (again.format, again.width, again.height) != (header.format, header.width, header.height) {
        return Err(Problem::undecodable(header.format, "its parts do not fit together"));
    }
    Ok(as_encoded(bytes.into(), header))
}

fn as_encoded(bytes: Bytes, header: &Header) -> Encoded {
    Encoded { bytes, media_type: header.format, width: header.width, height: header.height }
}
