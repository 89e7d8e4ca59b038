//! What can be wrong with a picture, in words for the person who put it there.

use std::borrow::Cow;

use wakashu_archive::MediaType;

use super::header::MEMORY_BYTES_PER_PIXEL;

/// Says why a picture could not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file has no bytes.
    #[error("picture is empty; expected PNG, JPEG, GIF, WebP or HEIC")]
    Empty,
    /// The bytes are a picture or document of a kind that is not read.
    #[error("picture is {found}, which is not supported; expected PNG, JPEG, GIF, WebP or HEIC")]
    Unsupported {
        /// The name of the format that was recognised.
        found: &'static str,
    },
    /// The bytes are of no known kind.
    #[error("file is not a picture: it starts with `{start}`; expected PNG, JPEG, GIF, WebP or HEIC")]
    NotAPicture {
        /// The first bytes, escaped.
        start: String,
    },
    /// The header declares more pixels than the settings allow.
    #[error("picture has {width} x {height} pixels; at most {limit} pixels are accepted")]
    TooManyPixels {
        /// Width as declared.
        width: u32,
        /// Height as declared.
        height: u32,
        /// The limit in force.
        limit: u64,
    },
    /// A side is longer than any picture in use has.
    #[error("picture has a side of {side} pixels; at most {limit} are accepted")]
    TooLong {
        /// The length of the side.
        side: u32,
        /// The limit.
        limit: u32,
    },
    /// The picture would take more memory to decode than the settings allow.
    #[error("{} would take {} MB of memory to decode; at most {} MB are allowed", name(*.format), .needed / 1_000_000, .limit / 1_000_000)]
    TooMuchMemory {
        /// The format of the file.
        format: MediaType,
        /// Bytes it would take.
        needed: u64,
        /// The limit in force.
        limit: u64,
    },
    /// The file ends before the picture does.
    #[error("{} is cut short: {missing}", name(*.format))]
    CutShort {
        /// The format of the file.
        format: MediaType,
        /// What was expected and is not there.
        missing: &'static str,
    },
    /// The bytes start like a picture but do not decode.
    #[error("{} does not decode: {reason}", name(*.format))]
    Undecodable {
        /// The format of the file.
        format: MediaType,
        /// What the decoder said.
        reason: String,
    },
    /// A rendition could not be written; a fault of this program rather than of the picture.
    #[error("rendition could not be encoded: {reason}")]
    Unencodable {
        /// What the encoder said.
        reason: String,
    },
    /// The bytes are of another type than stated.
    #[error("picture is stated to be `{}` but its bytes are `{}`", .stated.as_str(), .found.as_str())]
    OtherType {
        /// The type stated.
        stated: MediaType,
        /// The type of the bytes.
        found: MediaType,
    },
    /// The picture has another size than stated.
    #[error(
        "picture is stated to have {stated_width} x {stated_height} pixels but has {found_width} x {found_height}"
    )]
    OtherSize {
        /// Width stated.
        stated_width: u32,
        /// Height stated.
        stated_height: u32,
        /// Width found.
        found_width: u32,
        /// Height found.
        found_height: u32,
    },
}

impl Problem {
    /// Returns what to do next.
    #[must_use]
    pub fn hint(&self) -> Cow<'static, str> {
        match self {
            Self::Empty => "export or copy the picture again".into(),
            Self::Unsupported { .. } => "export the picture as PNG or JPEG".into(),
            Self::NotAPicture { .. } => {
                "put a picture in its place, as PNG or JPEG; the extension alone does not make a picture"
                    .into()
            }
            Self::TooManyPixels { width, height, .. } => format!(
                "make the picture smaller, or allow it with `--max-pixels {}`",
                u64::from(*width).saturating_mul(u64::from(*height))
            )
            .into(),
            Self::TooLong { .. } => "crop the picture, or make it smaller".into(),
            Self::TooMuchMemory { needed, .. } => format!(
                "export the picture as PNG or JPEG, or allow it with `--max-pixels {}`",
                needed.div_ceil(MEMORY_BYTES_PER_PIXEL)
            )
            .into(),
            Self::CutShort { .. } => "the file was not copied to the end; copy it again".into(),
            Self::Undecodable { .. } => {
                "open the picture in a viewer and export it again as PNG or JPEG".into()
            }
            Self::Unencodable { .. } => "please report this together with the picture".into(),
            Self::OtherType { .. } | Self::OtherSize { .. } => "build the archive again".into(),
        }
    }

    /// Returns the reason alone.
    pub(crate) fn reason(&self) -> &str {
        match self {
            Self::Undecodable { reason, .. } | Self::Unencodable { reason } => reason,
            Self::CutShort { missing, .. } => missing,
            _ => "it is not in order",
        }
    }

    pub(crate) fn undecodable(format: MediaType, reason: impl Into<String>) -> Self {
        Self::Undecodable { format, reason: reason.into() }
    }

    pub(crate) fn cut_short(format: MediaType, missing: &'static str) -> Self {
        Self::CutShort { format, missing }
    }
}

/// Says what is wrong with a picture that can be shown all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    message: String,
}

impl Damage {
    pub(crate) fn new(format: MediaType, reason: &str) -> Self {
        Self { message: format!("{} is damaged: {reason}; what is left of it is shown", name(format)) }
    }

    /// Returns damage that was noted before.
    pub(crate) fn noted(message: String) -> Self {
        Self { message }
    }

    /// Says it in words.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns what to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        "look at the picture as it is served, and copy or export it again if you can"
    }
}

/// Returns the name people use for a format.
pub(crate) fn name(format: MediaType) -> &'static str {
    match format {
        MediaType::Png => "PNG",
        MediaType::Jpeg => "JPEG",
        MediaType::Gif => "GIF",
        MediaType::Webp => "WebP",
        MediaType::Heic => "HEIC",
    }
}
