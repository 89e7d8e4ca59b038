//! What is sent back over HTTP.

use std::convert::Infallible;
use std::io::IoSlice;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use http::header::{CONTENT_TYPE, HeaderName};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};

use crate::exchange::Weighed;
use crate::text::{Answer, AnswerBuf};
use crate::web::events::Events;

/// An answer before it is sealed.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) media: Media,
    /// Further headers.
    pub(crate) more: Option<Box<HeaderMap>>,
    pub(crate) body: Payload,
}

/// The `Content-Type` of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Media {
    /// There is no body.
    None,
    Json,
    Plain,
    /// What Prometheus reads.
    Metrics,
    Events,
    /// That of a picture.
    Picture(&'static str),
    /// That of a page, a style sheet, a script.
    Document(&'static str),
}

impl Media {
    /// Returns the header's value. All but a picture's are checked by the compiler and cost nothing.
    fn value(self) -> Option<HeaderValue> {
        const JSON: HeaderValue = HeaderValue::from_static("application/json");
        const PLAIN: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
        const METRICS: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
        const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
        match self {
            Self::None => None,
            Self::Json => Some(JSON),
            Self::Plain => Some(PLAIN),
            Self::Metrics => Some(METRICS),
            Self::Events => Some(EVENTS),
            Self::Picture(media) | Self::Document(media) => Some(HeaderValue::from_static(media)),
        }
    }
}

impl Reply {
    pub(crate) fn empty(status: u16) -> Self {
        Self { status, media: Media::None, more: None, body: Payload::Empty }
    }

    pub(crate) fn json(status: u16, answer: Answer) -> Self {
        Self { status, media: Media::Json, more: None, body: Payload::Answer(answer) }
    }

    /// A short answer in plain text, for people and for paths that are not the protocol's.
    pub(crate) fn plain(status: u16, text: &'static str) -> Self {
        let body = Payload::Bytes(Bytes::from_static(text.as_bytes()));
        Self { status, media: Media::Plain, more: None, body }
    }

    /// Adds a header.
    pub(crate) fn with(mut self, name: HeaderName, value: impl Into<HeaderValue>) -> Self {
        self.more.get_or_insert_default().insert(name, value.into());
        self
    }

    pub(crate) fn into_response(self) -> Response<Payload> {
        let mut response = Response::new(self.body);
        *response.status_mut() =
            StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        if let Some(more) = self.more {
            *response.headers_mut() = *more;
        }
        if let Some(media) = self.media.value() {
            response.headers_mut().insert(CONTENT_TYPE, media);
        }
        response
    }
}

impl Weighed for Reply {
    fn bytes(&self) -> usize {
        // Pictures are not bound by the budget of an answer.
        if matches!(self.media, Media::Picture(_)) { 0 } else { self.body.len() }
    }
}

/// The body of a response. Most are answers: these go out as one buffer, without a box around them or a count of who
/// holds which piece.
#[derive(Debug)]
pub enum Payload {
    /// No body, or the end of one.
    Empty,
    /// An answer, until it is taken.
    Answer(Answer),
    /// Bytes, until they are taken.
    Bytes(Bytes),
    /// Events, for as long as both sides like.
    Events(Pin<Box<Events>>),
}

impl Payload {
    /// Returns the pieces of a complete body; `None` for an event stream.
    #[must_use]
    pub fn into_pieces(self) -> Vec<Bytes> {
        match self {
            Self::Answer(answer) => answer.into_pieces().into(),
            Self::Bytes(bytes) => vec![bytes],
            Self::Empty | Self::Events(_) => Vec::new(),
        }
    }

    /// Returns how many bytes it has, as far as that is known.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Empty | Self::Events(_) => 0,
            Self::Answer(answer) => answer.len(),
            Self::Bytes(bytes) => bytes.len(),
        }
    }
}

/// What is written to a connection.
#[derive(Debug)]
pub enum PayloadData {
    /// An answer.
    Answer(AnswerBuf),
    /// Anything else.
    Bytes(Bytes),
}

impl Body for Payload {
    type Data = PayloadData;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<PayloadData>, Infallible>>> {
        let this = self.get_mut();
        if let Self::Events(events) = this {
            let polled = events.as_mut().poll_next(context);
            return polled.map(|events| events.map(|bytes| Ok(Frame::data(PayloadData::Bytes(bytes)))));
        }
        Poll::Ready(match std::mem::replace(this, Self::Empty) {
            Self::Answer(answer) => Some(Ok(Frame::data(PayloadData::Answer(answer.into_buf())))),
            Self::Bytes(bytes) => Some(Ok(Frame::data(PayloadData::Bytes(bytes)))),
            Self::Empty | Self::Events(_) => None,
        })
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Empty)
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Events(_) => SizeHint::default(),
            other => SizeHint::with_exact(other.len() as u64),
        }
    }
}

impl Buf for PayloadData {
    fn remaining(&self) -> usize {
        match self {
            Self::Answer(answer) => answer.remaining(),
            Self::Bytes(bytes) => bytes.remaining(),
        }
    }

    fn chunk(&self) -> &[u8] {
        match self {
            Self::Answer(answer) => answer.chunk(),
            Self::Bytes(bytes) => bytes.chunk(),
        }
    }

    fn chunks_vectored<'a>(&'a self, vectors: &mut [IoSlice<'a>]) -> usize {
        match self {
            Self::Answer(answer) => answer.chunks_vectored(vectors),
            Self::Bytes(bytes) => bytes.chunks_vectored(vectors),
        }
    }

    fn advance(&mut self, count: usize) {
        match self {
            Self::Answer(answer) => answer.advance(count),
            Self::Bytes(bytes) => bytes.advance(count),
        }
    }
}
