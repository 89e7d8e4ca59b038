//! Server-sent events: the stream behind `subscriptions/listen`, and the one that pages of a preview listen to.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use http::HeaderValue;
use http::header::{CACHE_CONTROL, HeaderName};
use tokio::sync::watch;
use wakashu_pages::Preview;

use crate::exchange::Core;
use crate::exchange::streams::StreamPlace;
use crate::mcp::subscriptions::Subscription;
use crate::served::state::Generation;
use crate::text::Answer;
use crate::web::reply::{Media, Payload, Reply};

/// How often a quiet stream shows that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// What is sent where there is nothing to tell: a comment.
const ALIVE: &[u8] = b":\n\n";

/// A stream of events.
pub struct Events(BoxStream<'static, Bytes>);

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Events(..)")
    }
}

impl Events {
    pub(super) fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.0.poll_next_unpin(context)
    }
}

/// A stream under way.
struct Listening {
    subscription: Subscription,
    changes: watch::Receiver<Generation>,
    closing: watch::Receiver<bool>,
    seen: Generation,
    state: State,
    _place: StreamPlace,
}

enum State {
    Opening,
    Open,
    Closed,
}

/// Returns a reply that tells its client of changes until either side closes it. `place` is its place among the streams.
pub(super) fn stream(core: &Core, subscription: Subscription, place: StreamPlace) -> Reply {
    let changes = core.changes();
    let seen = *changes.borrow();
    let closing = core.closing();
    let listening = Listening { subscription, changes, closing, seen, state: State::Opening, _place: place };
    let events = stream::unfold(listening, async |mut listening| {
        let events = listening.next().await?;
        Some((events, listening))
    });
    sent(events.boxed())
}

/// Returns a reply that names what a preview shows, at once and whenever that changes. `place` is its place among the streams.
pub(super) fn of_preview(
    core: &Core,
    mut preview: watch::Receiver<Arc<Preview>>,
    place: StreamPlace,
) -> Reply {
    preview.mark_changed();
    let listening = (preview, core.closing(), place);
    let events = stream::unfold(listening, async |(mut preview, mut closing, place)| {
        let event = tokio::select! {
            changed = preview.changed() => {
                changed.ok()?;
                Bytes::from(format!("data: {}\n\n", preview.borrow_and_update().mark))
            }
            _ = closing.wait_for(|closing| *closing) => return None,
            () = tokio::time::sleep(KEEP_ALIVE) => Bytes::from_static(ALIVE),
        };
        Some((event, (preview, closing, place)))
    });
    sent(events.boxed())
}

fn sent(events: BoxStream<'static, Bytes>) -> Reply {
    let body = Payload::Events(Box::pin(Events(events)));
    let reply = Reply { status: 200, media: Media::Events, more: None, body };
    let reply = reply.with(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    reply.with(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"))
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
        if events.is_empty() { Bytes::from_static(ALIVE) } else { Bytes::from(events) }
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
