//! AWS Lambda behind a function URL.
//!
//! The runtime is the one of `lambda_http`; the translation between events and HTTP is ours. Its own panics on
//! addresses anybody may send (`/?<`), which the platform reports as a failure of the function, and it copies
//! an answer three times on its way into the envelope, where once is enough.

mod event;
mod refreshing;

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use futures_util::FutureExt as _;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderValue, Request, Response, StatusCode};
use lambda_http::lambda_runtime::{
    self, FunctionResponse, LambdaEvent, MetadataPrelude, Runtime, StreamResponse, service_fn,
};

use crate::config::InvokeMode;
use crate::exchange::Context;
use crate::web::{GivenId, PictureBase, ResponseBody, Routes};
use event::{Envelope, Event};
use refreshing::Refreshing;

/// How long opening the archive may hold up the first request. The platform ends a start after 10 s
/// (<https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html>, checked 2026-11-16).
const LONGEST_START: Duration = Duration::from_secs(8);

/// An answer as the platform takes it.
type Outgoing = FunctionResponse<Envelope, BodyDataStream>;

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
pub async fn run(
    context: Arc<Context>,
    mode: InvokeMode,
    refresh_every: Duration,
) -> Result<(), lambda_runtime::Error> {
    let refreshing = Arc::new(Refreshing::new(Arc::clone(&context.state), refresh_every));
    // An archive that cannot be opened is tried again at the requests.
    refreshing.look(LONGEST_START).await;
    crate::observe::log::flush();
    let door = Arc::new(Door { names_itself: context.picture_base.is_none(), mode, refreshing });
    let routes = Routes::new(context);
    let handler = service_fn(move |event: LambdaEvent<Event>| {
        let (door, routes) = (Arc::clone(&door), routes.clone());
        async move { Ok::<_, Infallible>(door.answer(&routes, event).await) }
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
    async fn answer(&self, routes: &Routes, event: LambdaEvent<Event>) -> Outgoing {
        let LambdaEvent { payload: event, context, .. } = event;
        let base = if self.names_itself { event.picture_base() } else { None };
        let response = match event.into_request() {
            Ok(mut request) => {
                request.extensions_mut().insert(GivenId(context.request_id));
                if let Some(base) = base {
                    request.extensions_mut().insert(PictureBase(base));
                }
                self.refreshing.before_an_answer().await;
                contained(routes, request).await
            }
            Err(problem) => plain(StatusCode::BAD_REQUEST, problem),
        };
        let outgoing = self.translate(response).await;
        // The process may sleep from the moment the answer is complete.
        crate::observe::log::flush();
        outgoing
    }

    async fn translate(&self, response: Response<Body>) -> Outgoing {
        let (mut parts, body) = response.into_parts();
        // The platform counts for itself.
        parts.headers.remove(CONTENT_LENGTH);
        match self.mode {
            InvokeMode::Buffered => FunctionResponse::BufferedResponse(Envelope::collect(parts, body).await),
            InvokeMode::ResponseStream => {
                let metadata_prelude = MetadataPrelude {
                    status_code: parts.status,
                    headers: parts.headers,
                    ..MetadataPrelude::default()
                };
                let stream = body.into_data_stream();
                FunctionResponse::StreamingResponse(StreamResponse { metadata_prelude, stream })
            }
        }
    }
}

/// Answers through the routes. The MCP endpoint contains its own panics; this is for the other paths.
async fn contained(routes: &Routes, request: Request<Body>) -> Response<Body> {
    let answered = AssertUnwindSafe(Box::pin(routes.answer(request))).catch_unwind().await;
    let panicked = |_| {
        tracing::error!("a handler panicked");
        plain(StatusCode::INTERNAL_SERVER_ERROR, "something went wrong here; try again later")
    };
    answered.map_or_else(panicked, |response| response.map(ResponseBody::into_body))
}

fn plain(status: StatusCode, text: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
