//! Fetching what answers link to: pictures and pages.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{ACCEPT_ENCODING, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderValue, Request};
use http_body_util::{BodyExt as _, Full};
use tokio::time::timeout;

use super::address::{SCHEMES, build_client, read_address, redirected, unreachable, without_secrets};
use super::answer::check_encoding;
use super::{AGENT, MOST_REDIRECTS};
use crate::error::{Error, ErrorCode, Result};

/// What an address gave.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// The status.
    pub status: u16,
    /// The media type, without its parameters; empty where none was named.
    pub media: String,
    /// The body.
    pub body: Bytes,
}

/// Fetches an address by GET: at most `limit` bytes within `patience`. Redirects are followed to the same origin alone,
/// as `headers` may hold secrets.
pub async fn fetch(address: &str, headers: &HeaderMap, limit: usize, patience: Duration) -> Result<Fetched> {
    let shown = without_secrets(address);
    let late = |_| Error::new(ErrorCode::Timeout, format!("`{shown}` was not there within {patience:?}"));
    timeout(patience, fetch_all(address, headers, limit)).await.map_err(late)?
}

async fn fetch_all(address: &str, headers: &HeaderMap, limit: usize) -> Result<Fetched> {
    let mut uri = read_address(address, SCHEMES)?;
    let shown = without_secrets(address);
    let client = build_client(uri.scheme_str() == Some("https"))?;
    for _ in 0..=MOST_REDIRECTS {
        let mut request = Request::new(Full::<Bytes>::default());
        *request.uri_mut() = uri.clone();
        let sent = request.headers_mut();
        sent.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        sent.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        sent.extend(headers.iter().map(|(name, value)| (name.clone(), value.clone())));
        let response = client.request(request).await.map_err(|error| unreachable(&uri, &error))?;
        let (head, mut body) = response.into_parts();
        if matches!(head.status.as_u16(), 301 | 302 | 303 | 307 | 308) {
            uri = redirected(&uri, &head.headers)?;
            continue;
        }
        check_encoding(&head.headers)?;
        let mut whole = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| {
                Error::new(ErrorCode::ConnectionLost, format!("`{shown}` ended early: {error}"))
            })?;
            let Ok(piece) = frame.into_data() else { continue };
            if whole.len() + piece.len() > limit {
                let sentence = format!("`{shown}` has more than {limit} bytes");
                return Err(Error::new(ErrorCode::ExecutionFailed, sentence));
            }
            whole.extend_from_slice(&piece);
        }
        let media = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let media = media.unwrap_or_default().split(';').next().unwrap_or_default();
        let media = media.trim().to_ascii_lowercase();
        return Ok(Fetched { status: head.status.as_u16(), media, body: whole.freeze() });
    }
    let sentence = format!("`{shown}` redirects more than {MOST_REDIRECTS} times");
    Err(Error::new(ErrorCode::ConnectionFailed, sentence))
}
