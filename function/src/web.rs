//! The router: paths, methods, headers, sizes. The same one behind every HTTP door.

pub(crate) mod access;
mod admit;
pub(crate) mod body;
mod events;
mod pictures;
mod reply;
mod routes;
pub(crate) mod tokens;

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use axum::body::Body;
use axum::extract::State;
use axum::routing::{any, get, post};
use axum::{BoxError, Router};
use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER};
use http::{Extensions, HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use tower_service::Service as _;
use wakashu_storage::Timestamp;

use crate::exchange::Context;
use crate::fault::ToolError;
use crate::mcp::subscriptions::Subscription;
use crate::mcp::{self, Door, Reply, Then, error};
use crate::observe::facts::RequestLog;
use crate::text::Answer;
use crate::v1;
use crate::web::access::Refusal;
use crate::web::tokens::Scope;
use wakashu_wire::Revision;

pub use reply::{ResponseBody, ResponseData};
pub(crate) use routes::methods_of;

/// When to ask again for a stream. Their clients end them when they like; nobody can tell when that will be.
const SECONDS_UNTIL_A_STREAM_ENDS: u64 = 60;

/// The address of pictures when it depends on the request, as on Lambda; set by the door.
#[derive(Debug, Clone)]
pub struct PictureBase(pub String);

/// By this the request is found in the log. Set by the door where the platform gave it one, as on Lambda; else by the
/// routes.
#[derive(Debug, Clone)]
pub struct GivenId(pub String);

impl GivenId {
    /// Returns the id of a request that came through the routes.
    pub(crate) fn of(extensions: &Extensions) -> &str {
        extensions.get().map_or("", |Self(id)| id)
    }
}

/// Marks a response whose line is in the log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Logged;

/// Who sent the request, where limits need to know; set by the door.
#[derive(Debug, Clone, Copy)]
pub struct ClientAddress(pub IpAddr);

/// Returns the router. Every path that is not here is 404.
fn router(context: Arc<Context>) -> Router {
    let guards = Arc::clone(&context);
    let router = Router::new()
        .route("/mcp", any(serve_routed_mcp))
        .route("/", get(health))
        .route("/pictures/{round}/{rank}", get(pictures::serve))
        .route("/v1/{*rest}", any(v1::serve))
        .route("/tools", get(v1::redirect))
        .route("/tools/call", post(v1::redirect))
        .fallback(async || plain(StatusCode::NOT_FOUND, "no such path; the MCP endpoint is POST /mcp"))
        .method_not_allowed_fallback(async |request: Request<Body>| {
            let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "this path takes another method");
            let allowed = methods_of(request.uri().path()).unwrap_or("GET, HEAD");
            response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
            response
        })
        .with_state(context);
    admit::guarded(router, &guards)
}

/// The routes, with a short way to the one that matters.
///
/// Finding a route, boxing futures and bodies and noting matches is a good part of what a small MCP answer costs. Where
/// nothing stands before the MCP endpoint, a `POST` to it is answered at once; all else goes through the router.
#[derive(Debug, Clone)]
pub struct Routes {
    router: Router,
    context: Arc<Context>,
    guarded: bool,
}

impl Routes {
    /// Returns the routes.
    #[must_use]
    pub fn new(context: Arc<Context>) -> Self {
        let guarded = admit::is_needed(&context);
        Self { router: router(Arc::clone(&context)), context, guarded }
    }

    /// Answers one request.
    pub async fn answer<B>(&self, request: Request<B>) -> Response<ResponseBody>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        if !self.guarded && request.method() == Method::POST && request.uri().path() == "/mcp" {
            return serve_mcp(&self.context, request).await;
        }
        Box::pin(self.answer_routed(request.map(Body::new))).await.map(ResponseBody::Other)
    }

    async fn answer_routed(&self, mut request: Request<Body>) -> Response<Body> {
        let started = Instant::now();
        let snapshot = self.context.state.current();
        let method = routes::name_of(request.uri().path());
        if request.extensions().get::<GivenId>().is_none() {
            request.extensions_mut().insert(GivenId(self.context.next_request_id().to_string()));
        }
        let request_id = GivenId::of(request.extensions()).to_owned();
        let answered = self.router.clone().call(request).await;
        let response = answered.unwrap_or_else(|never: Infallible| match never {});
        if response.extensions().get::<Logged>().is_none() {
            let bytes = http_body::Body::size_hint(response.body()).lower();
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
            let log = RequestLog { method, ..RequestLog::default() };
            log.write(&request_id, response.status().as_u16(), bytes, started, &snapshot);
        }
        response
    }
}

async fn serve_routed_mcp(State(context): State<Arc<Context>>, request: Request<Body>) -> Response<Body> {
    let mut response = serve_mcp(&context, request).await.map(ResponseBody::into_body);
    response.extensions_mut().insert(Logged);
    response
}

async fn serve_mcp(
    context: &Context,
    request: Request<impl http_body::Body<Data = Bytes>>,
) -> Response<ResponseBody> {
    let started = Instant::now();
    let (parts, body) = request.into_parts();
    let own_id = context.next_request_id();
    let request_id = parts.extensions.get().map_or(&*own_id, |GivenId(id)| id);
    let snapshot = context.state.current();
    let base = parts.extensions.get::<PictureBase>().map(|PictureBase(base)| base.as_str());
    let mut log = RequestLog::default();
    let door = Door {
        headers: Some(&parts.headers),
        // A client that names no revision speaks the oldest that has no header.
        remembered: Revision::V2025_03_26,
        snapshot: &snapshot,
        picture_base: base.or(context.picture_base.as_deref()),
        can_push: context.state.can_push(),
        execution: &context.execution,
        scope: parts.extensions.get::<Scope>().copied().unwrap_or_default(),
        request_id,
    };
    let (mut response, bytes) = answer_mcp(context, &parts.method, body, &door, &mut log).await;
    if parts.method != Method::POST {
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
    }
    log.write(request_id, response.status().as_u16(), bytes, started, &snapshot);
    response
}

/// Checks what comes before the message, in the order host and origin, method, type, size; then answers it.
async fn answer_mcp(
    context: &Context,
    method: &Method,
    body: impl http_body::Body<Data = Bytes>,
    door: &Door<'_>,
    log: &mut RequestLog,
) -> (Response<ResponseBody>, usize) {
    let headers = door.headers;
    if let Some(Err(refusal)) = headers.map(|headers| context.access.check(headers)) {
        let (rule, error) = match refusal {
            Refusal::Host => ("this Host is not answered here", "HOST"),
            Refusal::Origin => ("this Origin is not answered here", "ORIGIN"),
        };
        log.error = Some(error);
        return respond(rpc_failure(403, &error::invalid_request(rule)));
    }
    if method != Method::POST {
        log.error = Some("METHOD");
        return respond(rpc_failure(405, &error::invalid_request("this endpoint takes POST")));
    }
    if !headers.is_none_or(is_json) {
        log.error = Some("CONTENT_TYPE");
        return respond(rpc_failure(
            415,
            &error::invalid_request("the Content-Type must be application/json"),
        ));
    }
    let body = match body::read(body).await {
        Ok(body) => body,
        Err(refused) => {
            log.error = Some("BODY");
            return respond(rpc_failure(refused.status(), &error::invalid_request(refused.sentence())));
        }
    };
    let reply = mcp::answer(&body, door, &context.state, log).await;
    match reply.then {
        Then::Listen(subscription) => match context.stream_place() {
            Some(place) => (events::stream(context, subscription, place).map(ResponseBody::Other), 0),
            None => too_many_streams(&subscription, door.request_id, log),
        },
        // Over HTTP a request is cancelled by closing its connection; calls are short and run to their end.
        Then::Cancel(_) | Then::Nothing => respond(reply),
    }
}

/// Turns away a client that wants to listen where [`MAX_STREAMS`](crate::MAX_STREAMS) do already.
fn too_many_streams(
    subscription: &Subscription,
    request_id: &str,
    log: &mut RequestLog,
) -> (Response<ResponseBody>, usize) {
    let refused = ToolError::RateLimited { retry_after_seconds: SECONDS_UNTIL_A_STREAM_ENDS };
    let error = error::RpcError::new(429, -32603, refused.sentence(request_id));
    log.rpc_code = Some(error.code);
    let mut answer = Answer::default();
    answer.raw(&error.to_json(Some(&subscription.id)));
    let (mut response, bytes) = respond(Reply { status: 429, answer: Some(answer), then: Then::Nothing });
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(SECONDS_UNTIL_A_STREAM_ENDS));
    (response, bytes)
}

/// Tells whether the body says it is JSON, or says nothing.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(CONTENT_TYPE) else { return true };
    let essence = value.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(b"application/json")
}

/// A JSON-RPC error for a request whose message was never read.
fn rpc_failure(status: u16, error: &error::RpcError) -> Reply {
    let mut answer = Answer::default();
    answer.raw(&error.to_json(None));
    Reply { status, answer: Some(answer), then: Then::Nothing }
}

fn respond(reply: Reply) -> (Response<ResponseBody>, usize) {
    let status = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let bytes = reply.answer.as_ref().map_or(0, Answer::len);
    let mut response = match reply.answer {
        None => Response::new(ResponseBody::Answer(None)),
        Some(answer) => {
            let mut response = Response::new(ResponseBody::Answer(Some(answer)));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response
        }
    };
    *response.status_mut() = status;
    (response, bytes)
}

/// A short answer in plain text, for people and for paths that are not the protocol's.
pub(crate) fn plain(status: StatusCode, text: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

async fn health(State(context): State<Arc<Context>>, headers: HeaderMap) -> Response<Body> {
    if context.access.check(&headers).is_err() {
        return plain(StatusCode::FORBIDDEN, "this Host or Origin is not answered here");
    }
    let snapshot = context.state.current();
    let mut out = Answer::default();
    out.raw(r#"{"status":"ok","message":"#).string(&format!("「{}」のMCPサーバーです。", snapshot.title()));
    out.raw(r#","version":"#).string(env!("CARGO_PKG_VERSION"));
    out.raw(r#","uptime":"#).number(context.started.elapsed().as_secs());
    out.raw(r#","timestamp":"#).string(&Timestamp::from(SystemTime::now()).to_string());
    out.raw(r#","index":{"state":"#).string(snapshot.state().as_str());
    out.raw(r#","stale":"#).raw(if snapshot.stale_since().is_some() { "true" } else { "false" });
    if let Some(loaded) = snapshot.loaded() {
        out.raw(r#","digest":"#).string(&loaded.digest);
    }
    out.raw("}}");
    let (response, _) = respond(Reply { status: 200, answer: Some(out), then: Then::Nothing });
    response.map(ResponseBody::into_body)
}
