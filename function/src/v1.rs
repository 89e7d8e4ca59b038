//! The HTTP view of the registry, under `/v1`: the same tools, called the same way, for callers without MCP.

mod call;
mod describe;
mod fields;
mod listing;
mod openapi;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use axum::body::Body;
use axum::extract::State;
use http::header::{ALLOW, CONTENT_LENGTH, CONTENT_TYPE, LOCATION, RETRY_AFTER};
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use percent_encoding::percent_decode_str;
use wakashu_storage::Timestamp;

use crate::exchange::Context;
use crate::fault::{Received, ToolError};
use crate::observe::facts::RequestLog;
use crate::served::snapshot::Snapshot;
use crate::text::Answer;
use crate::web::tokens::Scope;
use crate::web::{GivenId, Logged, PictureBase, body, is_json, methods_of, plain};

/// A request on its way through the view.
struct Asked<'a> {
    context: &'a Context,
    snapshot: Arc<Snapshot>,
    parts: &'a Parts,
    request_id: String,
    started: Instant,
    /// The tool that was called, for the log.
    tool: Option<&'static str>,
}

impl Asked<'_> {
    fn scope(&self) -> Scope {
        self.parts.extensions.get().copied().unwrap_or_default()
    }

    fn picture_base(&self) -> Option<&str> {
        let base = self.parts.extensions.get::<PictureBase>().map(|PictureBase(base)| base.as_str());
        base.or(self.context.picture_base.as_deref())
    }
}

/// Why a request was not answered: an error, under its own status or one HTTP has a better word for.
struct Failure {
    error: ToolError,
    status: u16,
}

impl From<ToolError> for Failure {
    fn from(error: ToolError) -> Self {
        Self { status: error.handling().status, error }
    }
}

/// What a path is.
enum Place<'a> {
    List,
    Search,
    Call,
    OpenApi,
    Tool(Cow<'a, str>),
}

impl<'a> Place<'a> {
    fn find(path: &'a str) -> Option<Self> {
        methods_of(path)?;
        Some(match path.strip_prefix("/v1/")? {
            "tools" => Self::List,
            "tools/search" => Self::Search,
            "tools/call" => Self::Call,
            "openapi.json" => Self::OpenApi,
            other => Self::Tool(percent_decode_str(other.strip_prefix("tools/")?).decode_utf8_lossy()),
        })
    }

    fn name(&self) -> &'static str {
        match self {
            Self::List => "v1/tools",
            Self::Search => "v1/tools/search",
            Self::Call => "v1/tools/call",
            Self::OpenApi => "v1/openapi.json",
            Self::Tool(_) => "v1/tools/{name}",
        }
    }
}

/// Answers every path under `/v1`.
pub(crate) async fn serve(State(context): State<Arc<Context>>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    if context.access.check(&parts.headers).is_err() {
        return plain(StatusCode::FORBIDDEN, "this Host or Origin is not answered here");
    }
    let Some(place) = Place::find(parts.uri.path()) else {
        return plain(StatusCode::NOT_FOUND, "no such path; /v1/openapi.json describes what there is");
    };
    let allowed = methods_of(parts.uri.path()).unwrap_or_default();
    if !allowed.split(", ").any(|method| method == parts.method.as_str()) {
        let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "this path takes another method");
        response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
        return response;
    }
    let request_id = GivenId::of(&parts.extensions).to_owned();
    let snapshot = context.state.current();
    let started = Instant::now();
    let mut asked = Asked { context: &context, snapshot, parts: &parts, request_id, started, tool: None };
    let answered = match &place {
        Place::List => listing::list(&asked),
        Place::Tool(name) => listing::one(&asked, name),
        Place::OpenApi => Ok(openapi::write(&asked)),
        Place::Search => read(&parts, body).await.and_then(|body| listing::search(&asked, &body)),
        Place::Call => match read(&parts, body).await {
            Ok(body) => call::call(&mut asked, &body).await,
            Err(failure) => Err(failure),
        },
    };
    let code = answered.as_ref().err().map(|failure| failure.error.code());
    let mut response = match answered {
        Ok(answer) => json(StatusCode::OK, answer),
        Err(failure) => {
            let timed = matches!(place, Place::Call).then_some(started);
            let mut response = self::failure(&failure.error, &asked.request_id, timed);
            *response.status_mut() =
                StatusCode::from_u16(failure.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            response
        }
    };
    let bytes = http_body::Body::size_hint(response.body()).lower();
    if parts.method == Method::HEAD {
        response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(bytes));
        *response.body_mut() = Body::empty();
    }
    let log = RequestLog { method: place.name(), tool: asked.tool, error: code, ..RequestLog::default() };
    let length = usize::try_from(bytes).unwrap_or(usize::MAX);
    log.write(&asked.request_id, response.status().as_u16(), length, started, &asked.snapshot);
    response.extensions_mut().insert(Logged);
    response
}

/// Leads from the old addresses to the ones under `/v1`, the query with them.
pub(crate) async fn redirect(State(context): State<Arc<Context>>, request: Request<Body>) -> Response<Body> {
    if context.access.check(request.headers()).is_err() {
        return plain(StatusCode::FORBIDDEN, "this Host or Origin is not answered here");
    }
    // 307 for calls: a client that takes it for permanent would still have to repeat the body.
    let status = match *request.method() {
        Method::POST => StatusCode::TEMPORARY_REDIRECT,
        _ => StatusCode::PERMANENT_REDIRECT,
    };
    let mut response = plain(status, "this has moved to /v1");
    let target = request.uri().path_and_query().map_or("/tools", http::uri::PathAndQuery::as_str);
    if let Ok(target) = HeaderValue::from_str(&format!("/v1{target}")) {
        response.headers_mut().insert(LOCATION, target);
    }
    response
}

/// Returns an error as this view shows it; with the time it took since `started`.
pub(crate) fn failure(error: &ToolError, request_id: &str, started: Option<Instant>) -> Response<Body> {
    let mut out = Answer::default();
    out.raw(r#"{"success":false,"error":"#).string(&error.sentence(request_id));
    out.raw(r#","code":"#).string(error.code()).raw(r#","details":"#);
    write_details(&mut out, error, request_id);
    if let Some(started) = started {
        write_time(&mut out, started);
    }
    out.raw("}");
    let status = StatusCode::from_u16(error.handling().status);
    let mut response = json(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), out);
    if let ToolError::RateLimited { retry_after_seconds } = error {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(*retry_after_seconds));
    }
    response
}

fn write_details(out: &mut Answer, error: &ToolError, request_id: &str) {
    match error {
        ToolError::Validation { field, expected, received, constraint } => {
            out.raw(r#"{"field":"#).string(field).raw(r#","constraint":"#).string(constraint);
            out.raw(r#","expected":"#).string(expected);
            out.raw(r#","received":"#).string(received.as_str()).raw("}");
        }
        ToolError::NotFound { operation, resource_type, resource_id, .. } => {
            out.raw(r#"{"operation":"#).string(operation).raw(r#","resourceType":"#).string(resource_type);
            out.raw(r#","resourceId":"#).string(resource_id).raw("}");
        }
        ToolError::RateLimited { retry_after_seconds } => {
            out.raw(r#"{"retryAfterSeconds":"#).number(*retry_after_seconds).raw("}");
        }
        ToolError::Execution(_) | ToolError::Internal(_) => {
            out.raw(r#"{"requestId":"#).string(request_id).raw("}");
        }
        ToolError::IndexUnavailable { configured } => {
            out.raw(if *configured { r#"{"configured":true}"# } else { r#"{"configured":false}"# });
        }
        _ => {
            out.raw("{}");
        }
    }
}

/// Writes how long a call took, in milliseconds.
fn write_time(out: &mut Answer, started: Instant) {
    out.raw(&format!(r#","executionTime":{:.3}"#, started.elapsed().as_secs_f64() * 1_000.0));
}

fn write_timestamp(out: &mut Answer) {
    out.raw(r#","timestamp":"#).string(&Timestamp::from(SystemTime::now()).to_string());
}

fn json(status: StatusCode, answer: Answer) -> Response<Body> {
    let mut response = Response::new(Body::new(answer.into_body()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Reads the body of a request.
async fn read(parts: &Parts, body: Body) -> Result<bytes::Bytes, Failure> {
    let refused = |status, expected: &str| Failure {
        status,
        error: ToolError::Validation {
            field: "body".to_owned(),
            expected: expected.to_owned(),
            received: Received::Text,
            constraint: "format",
        },
    };
    if !is_json(&parts.headers) {
        return Err(refused(415, "Content-Type を application/json にしてください。"));
    }
    body::read(body).await.map_err(|problem| match problem.status() {
        408 => ToolError::Timeout.into(),
        413 => refused(413, "本文は1MiBまでにしてください。"),
        status => refused(status, "本文をすべて送ってください。"),
    })
}
