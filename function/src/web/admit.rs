//! What stands before the routes where it is configured: cross-origin answers, rate limits, tokens. Where it is not,
//! it is not there at all and costs nothing.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::middleware::{Next, from_fn_with_state};
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, RETRY_AFTER, VARY,
    WWW_AUTHENTICATE,
};
use http::{HeaderValue, Method, Request, Response, StatusCode};

use super::{ClientAddress, GivenId, Logged, ResponseBody, plain, respond, routes, rpc_failure};
use crate::exchange::Context;
use crate::fault::{McpForm, ToolError};
use crate::mcp::error::RpcError;
use crate::v1;
use crate::web::tokens::{Scope, scope_of};

/// What browsers may send: what MCP clients do.
const ALLOWED_HEADERS: HeaderValue = HeaderValue::from_static(
    "content-type, accept, authorization, mcp-protocol-version, mcp-method, mcp-name, mcp-session-id, last-event-id",
);
const EXPOSED_HEADERS: HeaderValue = HeaderValue::from_static("retry-after, www-authenticate");
const TEN_MINUTES: HeaderValue = HeaderValue::from_static("600");
const BEARER: HeaderValue = HeaderValue::from_static("Bearer");
const OTHER_SCOPE: HeaderValue =
    HeaderValue::from_static("Bearer error=\"insufficient_scope\", scope=\"read\"");

/// Tells whether anything stands before the routes.
pub(super) fn is_needed(context: &Context) -> bool {
    !context.tokens.is_empty() || context.rates.is_some() || !context.access.origins.is_empty()
}

/// Puts before `router` what `context` asks for. The outermost comes last.
pub(super) fn guarded(mut router: Router, context: &Arc<Context>) -> Router {
    if !context.tokens.is_empty() {
        router = router.layer(from_fn_with_state(Arc::clone(context), check_token));
    }
    if context.rates.is_some() {
        router = router.layer(from_fn_with_state(Arc::clone(context), check_rate));
    }
    if !context.access.origins.is_empty() {
        router = router.layer(from_fn_with_state(Arc::clone(context), cross_origin));
    }
    router
}

/// Lets in who holds a token, and tells the routes what it is good for.
async fn check_token(
    State(context): State<Arc<Context>>,
    mut request: Request<Body>,
    next: Next,
) -> Response<Body> {
    let path = request.uri().path();
    // Whom the routes refuse anyway is not told about tokens.
    if !routes::is_protected(path) || context.access.check(request.headers()).is_err() {
        return next.run(request).await;
    }
    let Some(scope) = scope_of(&context.tokens, request.headers()) else {
        return refuse(&request, &ToolError::Authentication);
    };
    if scope != Scope::Read && routes::shows_poems(path) {
        return refuse(&request, &ToolError::Authorization);
    }
    request.extensions_mut().insert(scope);
    let mut response = next.run(request).await;
    if scope != Scope::Read && response.status() == StatusCode::FORBIDDEN {
        response.headers_mut().insert(WWW_AUTHENTICATE, OTHER_SCOPE);
    }
    response
}

/// Turns away who asks too often. Health stays open: whoever watches it must not take a busy server for a dead one.
async fn check_rate(
    State(context): State<Arc<Context>>,
    request: Request<Body>,
    next: Next,
) -> Response<Body> {
    let path = request.uri().path();
    let client = request.extensions().get::<ClientAddress>().map(|ClientAddress(address)| *address);
    match &context.rates {
        Some(rates) if path != "/" => match rates.check(client) {
            Ok(()) => next.run(request).await,
            Err(retry_after_seconds) => refuse(&request, &ToolError::RateLimited { retry_after_seconds }),
        },
        _ => next.run(request).await,
    }
}

/// Tells browsers that pages of the configured origins may read the answers. Other origins are never named.
async fn cross_origin(
    State(context): State<Arc<Context>>,
    request: Request<Body>,
    next: Next,
) -> Response<Body> {
    let origin = context.access.configured_origin(request.headers());
    let origin = origin.and_then(|origin| HeaderValue::from_str(origin).ok());
    let asks_first = request.method() == Method::OPTIONS
        && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD)
        && origin.is_some()
        && context.access.check(request.headers()).is_ok();
    let methods = if asks_first { routes::methods_of(request.uri().path()) } else { None };
    let mut response = match methods {
        Some(methods) => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NO_CONTENT;
            let headers = response.headers_mut();
            headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(methods));
            headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED_HEADERS);
            headers.insert(ACCESS_CONTROL_MAX_AGE, TEN_MINUTES);
            response
        }
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    headers.append(VARY, HeaderValue::from_static("Origin"));
    if let Some(origin) = origin {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
    }
    response
}

/// Refuses a request before its route sees it, in the form its path speaks.
fn refuse(request: &Request<Body>, error: &ToolError) -> Response<Body> {
    let handling = error.handling();
    let request_id = GivenId::of(request.extensions());
    let mut response = match request.uri().path() {
        "/mcp" => {
            let code = match handling.mcp {
                McpForm::RpcError(code)
                | McpForm::Refusal(code)
                | McpForm::ToolResultOrRefusal(code)
                | McpForm::ToolResultOrRpcError(code) => code,
                McpForm::ToolResult => -32603,
            };
            let error = RpcError::new(handling.status, code, error.sentence(request_id));
            respond(rpc_failure(handling.status, &error)).0.map(ResponseBody::into_body)
        }
        path if path.starts_with("/v1") => v1::failure(error, request_id, None),
        _ => {
            let status = StatusCode::from_u16(handling.status).unwrap_or(StatusCode::FORBIDDEN);
            plain(status, handling.when)
        }
    };
    let headers = response.headers_mut();
    match error {
        ToolError::Authentication => {
            headers.insert(WWW_AUTHENTICATE, BEARER);
        }
        ToolError::Authorization => {
            headers.insert(WWW_AUTHENTICATE, OTHER_SCOPE);
        }
        ToolError::RateLimited { retry_after_seconds } => {
            headers.insert(RETRY_AFTER, HeaderValue::from(*retry_after_seconds));
        }
        _ => {}
    }
    response.extensions_mut().insert(Logged);
    tracing::info!(
        request = request_id,
        method = "refused",
        status = u64::from(handling.status),
        error = handling.code,
    );
    response
}
