//! AWS Lambda behind a function URL.
//!
//! The runtime is the one of `lambda_http`; the translation between events and HTTP is ours. Its own panics on
//! addresses anybody may send (`/?<`), which the platform reports as a failure of the function, and it copies
//! an answer three times on its way into the envelope, where once is enough.

mod event;
mod refreshing;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, Iter};
use http::Response;
use http::header::CONTENT_LENGTH;
use lambda_http::lambda_runtime::{
    self, FunctionResponse, LambdaEvent, MetadataPrelude, Runtime, StreamResponse, service_fn,
};

use crate::config::InvokeMode;
use crate::exchange::Arrival;
use crate::observe::log;
use crate::web::{App, Payload};
use event::{Envelope, Event};
use refreshing::Refreshing;

/// How long opening the archive may hold up the first request. The platform ends a start after 10 s
/// (<https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html>, checked 2026-11-16).
const LONGEST_START: Duration = Duration::from_secs(8);

/// An answer as the platform takes it.
type Outgoing = FunctionResponse<Envelope, Iter<Pieces>>;

/// The body of an answer, complete: nothing is streamed later on Lambda.
type Pieces = std::iter::Map<std::vec::IntoIter<Bytes>, fn(Bytes) -> Result<Bytes, Infallible>>;

/// Tells whether this process was started by the Lambda runtime.
#[must_use]
pub fn is_here() -> bool {
    std::env::var_os("AWS_LAMBDA_RUNTIME_API").is_some_and(|address| !address.is_empty())
}

/// Tells whether the platform hands this process several requests at a time.
#[must_use]
pub fn is_concurrent() -> bool {
    let most = std::env::var("AWS_LAMBDA_MAX_CONCURRENCY").ok().and_then(|most| most.parse().ok());
    most.is_some_and(|most: u32| most > 1)
}

/// Opens the archive, then answers events until the platform ends the process.
pub(crate) async fn run(
    app: Arc<App>,
    mode: InvokeMode,
    refresh_every: Duration,
) -> Result<(), lambda_runtime::Error> {
    let refreshing = Arc::new(Refreshing::new(Arc::clone(&app.core.state), refresh_every));
    // An archive that cannot be opened is tried again at the requests.
    refreshing.look(LONGEST_START).await;
    log::flush();
    let door = Arc::new(Door { names_itself: app.core.base.is_none(), mode, refreshing });
    let handler = service_fn(move |event: LambdaEvent<Event>| {
        let (door, app) = (Arc::clone(&door), Arc::clone(&app));
        async move { Ok::<_, Infallible>(door.answer(&app, event).await) }
    });
    Runtime::new(handler).run_concurrent().await
}

struct Door {
    /// Picture links begin with the name the event was sent to.
    names_itself: bool,
    mode: InvokeMode,
    refreshing: Arc<Refreshing>,
}

impl Door {
    async fn answer(&self, app: &App, event: LambdaEvent<Event>) -> Outgoing {
        let LambdaEvent { payload: event, context, .. } = event;
        let base = if self.names_itself { event.picture_base() } else { None };
        let arrival = Arrival { id: Some(context.request_id), client: None, base };
        let response = match event.into_request() {
            Ok(request) => {
                self.refreshing.before_an_answer().await;
                Box::pin(app.answer(arrival, request)).await
            }
            Err(problem) => app.refuse_unreadable(arrival, problem),
        };
        let outgoing = self.translate(response);
        // The process may sleep from the moment the answer is complete.
        log::flush();
        outgoing
    }

    fn translate(&self, response: Response<Payload>) -> Outgoing {
        let (mut parts, body) = response.into_parts();
        // The platform counts for itself.
        parts.headers.remove(CONTENT_LENGTH);
        let pieces = body.into_pieces();
        match self.mode {
            InvokeMode::Buffered => FunctionResponse::BufferedResponse(Envelope::new(&parts, pieces)),
            InvokeMode::ResponseStream => {
                let metadata_prelude = MetadataPrelude {
                    status_code: parts.status,
                    headers: parts.headers,
                    ..MetadataPrelude::default()
                };
                let stream = stream::iter(pieces.into_iter().map(Ok as fn(Bytes) -> _));
                FunctionResponse::StreamingResponse(StreamResponse { metadata_prelude, stream })
            }
        }
    }
}

/// Answers one event, for tests that look at every door.
#[cfg(test)]
pub(crate) async fn answer_one(app: &App, event: serde_json::Value) -> serde_json::Value {
    let refreshing = Arc::new(Refreshing::new(Arc::clone(&app.core.state), Duration::from_hours(1)));
    let door = Door { names_itself: true, mode: InvokeMode::Buffered, refreshing };
    let event = LambdaEvent::new(serde_json::from_value(event).unwrap(), lambda_runtime::Context::default());
    match door.answer(app, event).await {
        FunctionResponse::BufferedResponse(envelope) => serde_json::to_value(envelope).unwrap(),
        FunctionResponse::StreamingResponse(_) => serde_json::Value::Null,
    }
}
