//! What a server sends back, and what is to be made of it.

use http::header::{CONTENT_ENCODING, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use wakashu_wire::Envelope;
use wakashu_wire::envelope::{Flaw, Kind};

use super::Clock;
use crate::chain::Chain;
use crate::error::{Error, ErrorCode, Result};
use crate::link::{Answer, Call, MAX_MESSAGE_BYTES};
use crate::policy::retry_after;

/// How an answer's body is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Media {
    Json,
    Events,
    Other,
}

impl Media {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let named = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let essence = named.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match essence.as_str() {
            "application/json" => Self::Json,
            "text/event-stream" => Self::Events,
            _ => Self::Other,
        }
    }
}

pub(super) fn check_encoding(headers: &HeaderMap) -> Result<()> {
    match headers.get(CONTENT_ENCODING) {
        Some(encoding) if encoding != "identity" => {
            let sentence = "the answer is compressed although no compression was asked for";
            Err(Error::new(ErrorCode::ConnectionFailed, sentence))
        }
        _ => Ok(()),
    }
}

/// Takes a whole body.
pub(super) async fn collect(
    mut body: Incoming,
    call: &Call,
    clock: &mut Clock,
) -> Result<(Chain, Result<Envelope, Flaw>)> {
    let mut message = Chain::default();
    loop {
        match clock.race(call, body.frame()).await? {
            Some(Ok(frame)) => {
                if let Ok(piece) = frame.into_data() {
                    message.push(piece);
                    clock.grown(message.len());
                }
            }
            None => break,
            Some(Err(error)) => {
                let sentence = format!("the connection ended within the answer: {error}");
                return Err(Error::new(ErrorCode::ConnectionLost, sentence));
            }
        }
        if message.len() > MAX_MESSAGE_BYTES {
            return Err(too_large());
        }
    }
    let envelope = message.scan();
    Ok((message, envelope))
}

pub(super) fn too_large() -> Error {
    let sentence = format!("the answer is larger than {MAX_MESSAGE_BYTES} bytes, the most that is passed on");
    Error::new(ErrorCode::ExecutionFailed, sentence)
}

/// Decides what a body is.
pub(super) fn judge(
    headers: &HeaderMap,
    status: StatusCode,
    media: Media,
    message: Chain,
    envelope: Result<Envelope, Flaw>,
) -> Result<Answer> {
    let is_answer = |envelope: &Envelope| matches!(envelope.kind(), Some(Kind::Result | Kind::Error));
    let answer = match envelope {
        Ok(envelope) if is_answer(&envelope) && media != Media::Events => Some(Answer { message, envelope }),
        Err(Flaw::Unfinished) if status.is_success() && media == Media::Json => {
            return Err(Error::new(ErrorCode::ConnectionLost, "the answer ends in the middle"));
        }
        _ => None,
    };
    let code = match status.as_u16() {
        200..=299 | 400 | 404..=406 | 408 | 410 | 415 | 502..=504 => ErrorCode::ConnectionFailed,
        401 | 403 => ErrorCode::PermissionDenied,
        429 => ErrorCode::RateLimitExceeded,
        _ => ErrorCode::ExecutionFailed,
    };
    // These say something of the way to the server, whatever else there is in them.
    let is_of_the_way = matches!(status.as_u16(), 401 | 403 | 408 | 429 | 502..=504);
    let said = match answer {
        Some(answer) if !is_of_the_way => return Ok(answer),
        Some(answer) => answer.result().err(),
        None => None,
    };
    let reason = match (&said, headers.get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok())) {
        (Some(said), _) => format!(": {}", said.message),
        (None, Some(challenge)) => {
            format!(" and wants `{}`", challenge.chars().take(200).collect::<String>())
        }
        (None, None) => String::new(),
    };
    let sentence = if status.is_success() {
        let named = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("no type");
        format!("the answer is not a message but `{named}`: this is not the address of an MCP endpoint")
    } else {
        format!("the server answers {status}{reason}")
    };
    Err(Error {
        details: said.and_then(|said| said.details),
        is_final: !is_of_the_way,
        retry_after: retry_after(headers),
        ..Error::new(code, sentence)
    })
}
