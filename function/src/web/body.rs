//! Reading a request body: bounded in size and in time.

use std::pin::pin;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use http_body::Body;
use http_body_util::BodyExt as _;

use crate::deadline::within;
use crate::served::limits::MAX_BODY_BYTES;
use crate::web::routes::BodyRule;

/// How long a client may take to send its body.
const BODY_DEADLINE: Duration = Duration::from_secs(10);

/// Why a body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    OtherType,
    TooLarge,
    TooSlow,
    Broken,
}

impl Refused {
    pub(crate) fn status(self) -> u16 {
        match self {
            Self::OtherType => 415,
            Self::TooLarge => 413,
            Self::TooSlow => 408,
            Self::Broken => 400,
        }
    }

    pub(crate) fn sentence(self) -> &'static str {
        match self {
            Self::OtherType => "the Content-Type must be application/json",
            Self::TooLarge => "the body is larger than 1 MiB",
            Self::TooSlow => "the body did not arrive within 10 seconds",
            Self::Broken => "the body ended early or is badly framed",
        }
    }
}

/// Reads a body of at most [`MAX_BODY_BYTES`], where anybody looks at it.
pub(crate) async fn read(
    rule: BodyRule,
    headers: &HeaderMap,
    body: impl Body<Data = Bytes>,
) -> Result<Bytes, Refused> {
    if rule == BodyRule::Ignored {
        return Ok(Bytes::new());
    }
    if !is_json(headers) {
        return Err(Refused::OtherType);
    }
    if body.size_hint().lower() > MAX_BODY_BYTES as u64 {
        return Err(Refused::TooLarge);
    }
    within(BODY_DEADLINE, pin!(collect(body))).await.unwrap_or(Err(Refused::TooSlow))
}

/// Tells whether the body is declared as JSON or not declared at all.
fn is_json(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(CONTENT_TYPE) else { return true };
    let essence = value.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(b"application/json")
}

/// Collects the frames; a body in one piece, as nearly all are, is not copied.
async fn collect(body: impl Body<Data = Bytes>) -> Result<Bytes, Refused> {
    let mut body = pin!(body);
    let mut first = Bytes::new();
    let mut more = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Refused::Broken)?.into_data() else { continue };
        if first.len() + more.len() + data.len() > MAX_BODY_BYTES {
            return Err(Refused::TooLarge);
        }
        if first.is_empty() {
            first = data;
        } else {
            more.extend_from_slice(&data);
        }
    }
    if more.is_empty() {
        return Ok(first);
    }
    let mut whole = BytesMut::with_capacity(first.len() + more.len());
    whole.extend_from_slice(&first);
    whole.extend_from_slice(&more);
    Ok(whole.freeze())
}
