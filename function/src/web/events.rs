//! Server-sent events: the stream behind `subscriptions/listen`.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use http::{HeaderValue, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use tokio::sync::{OwnedSemaphorePermit, watch};

use crate::exchange::Context;
use crate::mcp::subscriptions::Subscription;
use crate::served::state::Generation;
use crate::text::Answer;

/// How often a quiet stream shows that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// A stream under way.
struct Listening {
    subscription: Subscription,
    changes: watch::Receiver<Generation>,
    closing: watch::Receiver<bool>,
    seen: Generation,
    state: State,
    _place: OwnedSemaphorePermit,
}

enum State {
    Opening,
    Open,
    Closed,
}

/// Returns a response that tells its client of changes until either side closes it. `place` is its place among the
/// streams.
pub(super) fn stream(
    context: &Context,
    subscription: Subscription,
    place: OwnedSemaphorePermit,
) -> Response<Body> {
    let changes = context.state.changes();
    let seen = *changes.borrow();
    let closing = context.closing();
    let listening = Listening { subscription, changes, closing, seen, state: State::Opening, _place: place };
    let frames = stream::unfold(listening, async |mut listening| {
        let events = listening.next().await?;
        Some((Ok::<_, Infallible>(Frame::data(events)), listening))
    });
    let mut response = Response::new(Body::new(StreamBody::new(Box::pin(frames))));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

impl Listening {
    async fn next(&mut self) -> Option<Bytes> {
        match self.state {
            State::Opening => {
                self.state = State::Open;
                Some(event(self.subscription.acknowledged()))
            }
            State::Open => Some(self.wait().await),
            State::Closed => None,
        }
    }

    async fn wait(&mut self) -> Bytes {
        let closes = tokio::select! {
            changed = self.changes.changed() => changed.is_err(),
            _ = self.closing.wait_for(|closing| *closing) => true,
            () = tokio::time::sleep(KEEP_ALIVE) => false,
        };
        if closes {
            return self.close();
        }
        let now = *self.changes.borrow_and_update();
        let events: Vec<u8> = self.subscription.changed(self.seen, now).into_iter().flat_map(event).collect();
        self.seen = now;
        // Nothing to tell: a comment shows that the stream lives.
        if events.is_empty() { Bytes::from_static(b":\n\n") } else { Bytes::from(events) }
    }

    fn close(&mut self) -> Bytes {
        self.state = State::Closed;
        event(self.subscription.closed())
    }
}

/// Returns a message as one event.
fn event(message: Answer) -> Bytes {
    Bytes::from(format!("data: {}\n\n", message.into_text()))
}
