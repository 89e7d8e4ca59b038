//! Which revision of the protocol a message speaks, decided for each message by itself.
//!
//! The body decides: a version in `params._meta` means the modern revision, its absence a legacy one. The HTTP
//! header is a cross-check, and the tie-breaker when the body is silent.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName};

use crate::error::{self, RpcError};
use crate::json::string;
use crate::message::{Members, Request};

/// The beginning of the names that the protocol keeps for itself in `_meta`.
pub const RESERVED: &str = "io.modelcontextprotocol/";
/// The member of `_meta` that names the revision.
pub const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
/// The member of `_meta` that says what the client can do.
pub const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const LOG_LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";
const LOG_LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// The header that names the revision.
pub static VERSION_HEADER: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// The header that repeats the method.
pub static METHOD_HEADER: HeaderName = HeaderName::from_static("mcp-method");
/// The header that repeats the tool, the prompt or the resource.
pub static NAME_HEADER: HeaderName = HeaderName::from_static("mcp-name");

/// A revision of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revision {
    /// The modern one: no `initialize`, an envelope in every message.
    V2026_07_28,
    /// The newest with `initialize`.
    V2025_11_25,
    /// Without batches.
    V2025_06_18,
    /// With batches.
    V2025_03_26,
    /// Taken in `initialize` for the clients that still ask for it; not advertised.
    V2024_11_05,
}

/// The revisions advertised, newest first.
pub const SUPPORTED: [Revision; 4] =
    [Revision::V2026_07_28, Revision::V2025_11_25, Revision::V2025_06_18, Revision::V2025_03_26];

impl Revision {
    /// The newest revision that has `initialize`.
    pub const NEWEST_LEGACY: Self = Self::V2025_11_25;

    /// Returns the revision's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2026_07_28 => "2026-07-28",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2024_11_05 => "2024-11-05",
        }
    }

    /// Reads a revision's name; returns `None` for one that is not served.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        SUPPORTED.into_iter().chain([Self::V2024_11_05]).find(|revision| revision.as_str() == text)
    }

    /// Tells whether the revision has the modern envelope.
    #[must_use]
    pub fn is_modern(self) -> bool {
        self == Self::V2026_07_28
    }

    /// Tells whether arrays of messages are taken.
    #[must_use]
    pub fn has_batches(self) -> bool {
        matches!(self, Self::V2025_03_26 | Self::V2024_11_05)
    }
}

/// The MCP headers of an HTTP request. Stdio has none, and nothing to cross-check.
#[derive(Debug)]
pub struct Headers<'a> {
    map: &'a HeaderMap,
    version: Option<Cow<'a, str>>,
}

impl<'a> Headers<'a> {
    /// Reads them.
    #[must_use]
    pub fn read(map: &'a HeaderMap) -> Self {
        Self { map, version: version_header(map) }
    }

    fn first(&self, name: &HeaderName) -> Option<&'a [u8]> {
        self.map.get(name).map(|value| value.as_bytes().trim_ascii())
    }

    /// Returns the revision the header names, if it is one that is served.
    #[must_use]
    pub fn revision(&self) -> Option<Revision> {
        self.version.as_deref().and_then(Revision::parse)
    }

    /// Returns the header's value.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }
}

/// Joins repeated version headers; equal values count once (Claude Code was seen sending it twice).
fn version_header(map: &HeaderMap) -> Option<Cow<'_, str>> {
    let mut values = map.get_all(&VERSION_HEADER).iter();
    let first = values.next()?.to_str().unwrap_or("?");
    let mut rest = values.map(|value| value.to_str().unwrap_or("?")).peekable();
    if rest.peek().is_none() && !first.contains(',') {
        return Some(Cow::Borrowed(first.trim()));
    }
    let mut distinct: Vec<&str> = Vec::new();
    for value in std::iter::once(first).chain(rest).flat_map(|value| value.split(',')).map(str::trim) {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    match distinct.as_slice() {
        [one] => Some(Cow::Borrowed(*one)),
        _ => Some(Cow::Owned(distinct.join(", "))),
    }
}

/// How a request is to be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Era {
    /// The revision it is answered in.
    pub revision: Revision,
    /// The header named another served revision than the body; served by the body, and logged.
    pub header_differs: bool,
}

impl Era {
    /// Tells whether it is the modern era.
    #[must_use]
    pub fn is_modern(self) -> bool {
        self.revision.is_modern()
    }
}

/// Chooses the era of a request.
///
/// `headers` are those of an HTTP request; stdio passes none. `remembered` is the legacy revision to assume
/// where body and header are silent.
pub fn choose(
    request: &Request<'_>,
    headers: Option<&Headers<'_>>,
    remembered: Revision,
) -> Result<Era, RpcError> {
    let legacy = |revision| Ok(Era { revision, header_differs: false });
    let meta = request.params.meta.members();
    let Some(version) = meta.get(VERSION_KEY) else {
        if request.method == "initialize" {
            return legacy(remembered);
        }
        let header = headers.and_then(Headers::version);
        let modern_only = matches!(&*request.method, "server/discover" | "subscriptions/listen");
        if modern_only || header == Some(Revision::V2026_07_28.as_str()) {
            return Err(missing_envelope(meta));
        }
        return match (header, headers.and_then(Headers::revision)) {
            (None, _) => legacy(remembered),
            (Some(_), Some(revision)) => legacy(revision),
            (Some(unknown), None) => Err(error::unsupported_version(unknown)),
        };
    };
    let Some(version) = string(version) else {
        return Err(error::envelope(format!("`_meta[\"{VERSION_KEY}\"]` must be a string")));
    };
    let revision = Revision::parse(&version);
    if revision.is_none_or(Revision::is_modern) {
        check_envelope(meta)?;
    }
    let mut header_differs = false;
    if let Some(headers) = headers {
        header_differs = check_version_header(headers, &version, revision)?;
        if revision.is_none_or(Revision::is_modern) {
            check_routing_headers(headers, request, header_differs)?;
        }
    }
    let Some(revision) = revision else { return Err(error::unsupported_version(&version)) };
    Ok(Era { revision, header_differs })
}

fn missing_envelope(meta: &Members<'_>) -> RpcError {
    let missing: Vec<&str> =
        [VERSION_KEY, CAPABILITIES_KEY].into_iter().filter(|key| meta.get(key).is_none()).collect();
    error::envelope(format!("`params._meta` lacks {}", missing.join(" and ")))
}

fn check_envelope(meta: &Members<'_>) -> Result<(), RpcError> {
    match meta.get(CAPABILITIES_KEY) {
        None => return Err(missing_envelope(meta)),
        Some(capabilities) if !capabilities.get().starts_with('{') => {
            return Err(error::envelope(format!("`_meta[\"{CAPABILITIES_KEY}\"]` must be an object")));
        }
        Some(_) => {}
    }
    if let Some(level) = meta.get(LOG_LEVEL_KEY)
        && !string(level).is_some_and(|level| LOG_LEVELS.contains(&&*level))
    {
        return Err(error::envelope(format!("`_meta[\"{LOG_LEVEL_KEY}\"]` is not a log level")));
    }
    Ok(())
}

/// Compares the version header with the body; tells whether a tolerated difference was found.
fn check_version_header(
    headers: &Headers<'_>,
    body: &str,
    revision: Option<Revision>,
) -> Result<bool, RpcError> {
    match headers.version() {
        None => Err(error::header_mismatch("the header MCP-Protocol-Version is missing")),
        Some(header) if header == body => Ok(false),
        // Claude's connectors send the header of the negotiated legacy revision with a modern body.
        Some(_) if headers.revision().is_some() && revision.is_some() => Ok(true),
        Some(_) => Err(error::header_mismatch("the header MCP-Protocol-Version differs from the body")),
    }
}

fn check_routing_headers(
    headers: &Headers<'_>,
    request: &Request<'_>,
    lenient: bool,
) -> Result<(), RpcError> {
    match headers.first(&METHOD_HEADER) {
        None if lenient => {}
        Some(method) if method == request.method.as_bytes() => {}
        None => return Err(error::header_mismatch("the header Mcp-Method is missing")),
        Some(_) => return Err(error::header_mismatch("the header Mcp-Method differs from the body")),
    }
    let expected = match &*request.method {
        "tools/call" | "prompts/get" => request.params.name,
        "resources/read" => request.params.uri,
        _ => return Ok(()),
    };
    let Some(expected) = expected.and_then(string) else { return Ok(()) };
    match headers.first(&NAME_HEADER) {
        None if lenient => Ok(()),
        None => Err(error::header_mismatch("the header Mcp-Name is missing")),
        Some(name) => match decode_name(name) {
            Some(name) if *name == *expected.as_bytes() => Ok(()),
            Some(_) => Err(error::header_mismatch("the header Mcp-Name differs from the body")),
            None => Err(error::header_mismatch("the header Mcp-Name is not valid base64 of UTF-8")),
        },
    }
}

/// Decodes `=?base64?…?=`; any other value stands for itself.
fn decode_name(value: &[u8]) -> Option<Cow<'_, [u8]>> {
    match value.strip_prefix(b"=?base64?").and_then(|rest| rest.strip_suffix(b"?=")) {
        None => Some(Cow::Borrowed(value)),
        Some(encoded) => {
            let decoded = STANDARD.decode(encoded).ok()?;
            std::str::from_utf8(&decoded).ok()?;
            Some(Cow::Owned(decoded))
        }
    }
}

/// Writes a value for a header: as it is where a header can hold it, else as `=?base64?…?=`.
#[must_use]
pub fn encode_value(value: &str) -> Cow<'_, str> {
    let is_plain = value.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~'));
    let looks_encoded = value.starts_with("=?base64?") && value.ends_with("?=");
    let has_edges = value.starts_with([' ', '\t']) || value.ends_with([' ', '\t']);
    if is_plain && !looks_encoded && !has_edges {
        return Cow::Borrowed(value);
    }
    Cow::Owned(format!("=?base64?{}?=", STANDARD.encode(value)))
}

/// Tells whether a request carries a modern envelope.
#[must_use]
pub fn has_envelope(request: &Request<'_>) -> bool {
    request.params.meta.members().get(VERSION_KEY).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_header_cannot_hold_is_encoded_and_decodes_to_itself() {
        for plain in ["", "get_poem", "wakashu://rounds/%E7%AC%AC1%E5%9B%9E", "a b", "=?base64?x", "~"] {
            assert_eq!(encode_value(plain), plain);
        }
        for odd in ["第1回", " a", "a\t", "a\nb", "\u{7f}", "=?base64?YQ==?=", "é"] {
            let encoded = encode_value(odd);
            assert!(encoded.starts_with("=?base64?"), "{odd}");
            assert_eq!(decode_name(encoded.as_bytes()).as_deref(), Some(odd.as_bytes()));
        }
    }
}
