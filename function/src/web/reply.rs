//! What a response is made of.

use std::io::IoSlice;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::{Buf, Bytes};
use http_body::{Frame, SizeHint};

use crate::text::{Answer, AnswerBuf};

/// The body of a response. Most are answers: these go out as one buffer, without a box around them or a count of who
/// holds which piece.
#[derive(Debug)]
pub enum ResponseBody {
    /// An answer, until it is taken.
    Answer(Option<Answer>),
    /// Anything else.
    Other(Body),
}

impl ResponseBody {
    /// Returns it as the router knows bodies.
    pub(crate) fn into_body(self) -> Body {
        match self {
            Self::Answer(answer) => answer.map_or_else(Body::empty, |answer| Body::new(answer.into_body())),
            Self::Other(body) => body,
        }
    }
}

/// What is written to a connection.
#[derive(Debug)]
pub enum ResponseData {
    /// An answer.
    Answer(AnswerBuf),
    /// Anything else.
    Other(Bytes),
}

impl http_body::Body for ResponseBody {
    type Data = ResponseData;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<ResponseData>, axum::Error>>> {
        match self.get_mut() {
            Self::Answer(answer) => {
                let data = answer.take().map(|answer| ResponseData::Answer(answer.into_buf()));
                Poll::Ready(data.map(|data| Ok(Frame::data(data))))
            }
            Self::Other(body) => {
                let polled = Pin::new(body).poll_frame(context);
                polled.map_ok(|frame| frame.map_data(ResponseData::Other))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Answer(answer) => answer.is_none(),
            Self::Other(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Answer(answer) => SizeHint::with_exact(answer.as_ref().map_or(0, Answer::len) as u64),
            Self::Other(body) => body.size_hint(),
        }
    }
}

impl Buf for ResponseData {
    fn remaining(&self) -> usize {
        match self {
            Self::Answer(answer) => answer.remaining(),
            Self::Other(bytes) => bytes.remaining(),
        }
    }

    fn chunk(&self) -> &[u8] {
        match self {
            Self::Answer(answer) => answer.chunk(),
            Self::Other(bytes) => bytes.chunk(),
        }
    }

    fn chunks_vectored<'a>(&'a self, vectors: &mut [IoSlice<'a>]) -> usize {
        match self {
            Self::Answer(answer) => answer.chunks_vectored(vectors),
            Self::Other(bytes) => bytes.chunks_vectored(vectors),
        }
    }

    fn advance(&mut self, count: usize) {
        match self {
            Self::Answer(answer) => answer.advance(count),
            Self::Other(bytes) => bytes.advance(count),
        }
    }
}
