//! Streams of events: answers among them, and what a legacy server says by itself.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use http::header::ACCEPT;
use http::{HeaderName, HeaderValue, Method};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};
use wakashu_wire::envelope::Kind;

use super::address::unreachable;
use super::answer::{Media, too_large};
use super::{Clock, Session, Shared};
use crate::chain::Chain;
use crate::error::{Error, ErrorCode, Result};
use crate::link::sse::Events;
use crate::link::{Answer, Call, MAX_MESSAGE_BYTES, timed_out};

/// The wait before a stream is taken up again, where the server names none.
const RESUME_AFTER: Duration = Duration::from_secs(1);
/// The shortest and the longest wait a server may ask for before its stream is taken up again.
const RESUME: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(30));

static LAST_EVENT_HEADER: HeaderName = HeaderName::from_static("last-event-id");

impl Shared {
    /// Reads a stream until the answer is on it. One that ends before is taken up again, for as long as the request waits
    /// for a message.
    pub(super) async fn events(
        &self,
        mut body: Incoming,
        call: &Call,
        session: &Session,
        clock: &mut Clock,
    ) -> Result<Answer> {
        let lost = || Error::new(ErrorCode::ConnectionLost, "the server closed the stream before its answer");
        let mut events = Events::default();
        loop {
            if let Some(answer) = self.next_answer(&mut body, &mut events, call, clock).await? {
                return Ok(answer);
            }
            let Some(last_id) = events.last_id().map(str::to_owned) else { return Err(lost()) };
            if call.version.is_some() || clock.heard.elapsed() > call.patience {
                return Err(lost());
            }
            sleep(events.retry().unwrap_or(RESUME_AFTER).clamp(RESUME.0, RESUME.1)).await;
            events.restart();
            let taken_up = match timeout(call.patience, self.take_up(session, Some(&last_id))).await {
                Ok(taken_up) => taken_up.map_err(|error| Error { never_sent: false, ..error })?,
                Err(_) => return Err(timed_out(call)),
            };
            body = taken_up.ok_or_else(lost)?;
            clock.restart();
        }
    }

    /// Returns the answer to `call`, or `None` if the stream ends before. Everything else on it goes to the inbox.
    async fn next_answer(
        &self,
        body: &mut Incoming,
        events: &mut Events,
        call: &Call,
        clock: &mut Clock,
    ) -> Result<Option<Answer>> {
        // Its server has nothing to say for hours, but that it is there.
        let is_subscription = call.method == "subscriptions/listen";
        loop {
            // A connection that was cut off ends a stream as its end does.
            let Some(Ok(frame)) = clock.race(call, body.frame()).await? else { return Ok(None) };
            let Ok(piece) = frame.into_data() else { continue };
            events.feed(piece);
            if is_subscription {
                clock.hear();
            }
            while let Some(event) = events.take_event() {
                let Ok(envelope) = event.data.scan() else {
                    tracing::warn!("skipped an event that is not a message");
                    continue;
                };
                let is_ours = |span: Option<std::ops::Range<usize>>| {
                    span.map(|span| event.data.slice(span).into_bytes())
                        .is_none_or(|id| id == call.id_json() || id == "null")
                };
                match envelope.kind() {
                    Some(Kind::Result | Kind::Error) if is_ours(envelope.id()) => {
                        return Ok(Some(Answer { message: event.data, envelope }));
                    }
                    Some(Kind::Request | Kind::Notification) => {
                        self.pass_on(event.data).await;
                        clock.hear();
                    }
                    _ => tracing::warn!("skipped the answer to another request"),
                }
            }
            clock.grown(events.pending());
            if events.pending() > MAX_MESSAGE_BYTES {
                return Err(too_large());
            }
        }
    }

    async fn pass_on(&self, message: Chain) {
        // Nobody listens once the owner of the link is gone.
        let _ = self.inbox.send(message).await;
    }

    /// Takes up a stream again by GET; `None` if the server has none.
    async fn take_up(&self, session: &Session, last_id: Option<&str>) -> Result<Option<Incoming>> {
        let mut request = self.bare(Method::GET, session, &self.uri);
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(id) = last_id.and_then(|id| HeaderValue::from_str(id).ok()) {
            request.headers_mut().insert(LAST_EVENT_HEADER.clone(), id);
        }
        let response = self.client.request(request).await.map_err(|error| unreachable(&self.uri, &error))?;
        let status = response.status();
        if matches!(status.as_u16(), 408 | 429 | 502..=504) {
            return Err(Error::new(ErrorCode::ConnectionLost, format!("the server answers {status}")));
        }
        let is_stream = status.is_success() && Media::of(response.headers()) == Media::Events;
        Ok(is_stream.then(|| response.into_body()))
    }

    pub(super) fn listening(&self) -> MutexGuard<'_, Option<AbortHandle>> {
        self.listening.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn stop_listening(&self) {
        if let Some(task) = self.listening().take() {
            task.abort();
        }
    }

    /// Takes what a legacy server says by itself, for as long as it has such a stream. Servers without sessions have none.
    pub(super) fn listen(self: &Arc<Self>) {
        let mut listening = self.listening();
        if listening.is_some() || self.session().id.is_none() {
            return;
        }
        let shared = Arc::downgrade(self);
        let task = tokio::spawn(async move {
            let mut events = Events::default();
            // The wait before the next attempt, once one has failed.
            let mut failed: Option<Duration> = None;
            loop {
                let Some(shared) = shared.upgrade() else { return };
                let session = shared.session().clone();
                let mut body = match shared.take_up(&session, events.last_id()).await {
                    Ok(Some(body)) => body,
                    Ok(None) => return,
                    Err(error) => {
                        tracing::debug!(%error, "the server's own stream cannot be taken up yet");
                        drop(shared);
                        let pause = failed.map_or(RESUME_AFTER, |pause| (pause * 2).min(RESUME.1));
                        failed = Some(pause);
                        sleep(pause).await;
                        continue;
                    }
                };
                if failed.take().is_some() {
                    // What it said meanwhile was not heard.
                    shared.openings.fetch_add(1, Ordering::AcqRel);
                }
                while let Some(Ok(frame)) = body.frame().await {
                    let Ok(piece) = frame.into_data() else { continue };
                    events.feed(piece);
                    while let Some(event) = events.take_event() {
                        let kind = event.data.scan().ok().and_then(|envelope| envelope.kind());
                        if matches!(kind, Some(Kind::Request | Kind::Notification)) {
                            shared.pass_on(event.data).await;
                        }
                    }
                    if events.pending() > MAX_MESSAGE_BYTES {
                        return;
                    }
                }
                let pause = events.retry().unwrap_or(RESUME_AFTER).clamp(RESUME.0, RESUME.1);
                events.restart();
                drop((shared, body));
                sleep(pause).await;
            }
        });
        *listening = Some(task.abort_handle());
    }
}
