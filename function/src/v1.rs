//! The HTTP view of the registry, under `/v1`: the same tools, called the same way, for callers without MCP.

mod call;
mod describe;
mod fields;
mod listing;
mod openapi;

use std::time::Instant;

use crate::exchange::Exchange;
use crate::fault::{Received, ToolError};
use crate::text::{Answer, field};

/// What is asked of the view.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Asked<'a> {
    /// The tools, by the parameters of a query.
    List(Option<&'a str>),
    /// One tool.
    Tool(&'a str),
    /// Tools, by what a body says.
    Search(&'a [u8]),
    /// The call that a body describes.
    Call(&'a [u8]),
    /// The description of the view, for servers that ask for tokens or not.
    OpenApi {
        /// Whether it asks for tokens.
        with_tokens: bool,
    },
}

/// What to send back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) answer: Answer,
    /// When to come back, for one who asked too often.
    pub(crate) retry_after: Option<u64>,
}

/// Answers.
pub(crate) async fn answer(x: &mut Exchange<'_>, asked: Asked<'_>) -> Reply {
    let started = matches!(asked, Asked::Call(_)).then_some(x.started);
    let answered = match asked {
        Asked::List(query) => listing::list(x, query),
        Asked::Tool(name) => listing::one(x, name),
        Asked::Search(body) => listing::search(x, body),
        Asked::Call(body) => call::call(x, body).await,
        Asked::OpenApi { with_tokens } => Ok(openapi::write(x, with_tokens)),
    };
    match answered {
        Ok(answer) => Reply { status: 200, answer, retry_after: None },
        Err(error) => failure(x, &error, None, started),
    }
}

/// Returns an error as this view shows it, under its own status or one HTTP has a better word for; with the time it took
/// since `started`.
pub(crate) fn failure(
    x: &mut Exchange<'_>,
    error: &ToolError,
    status: Option<u16>,
    started: Option<Instant>,
) -> Reply {
    x.facts.error = Some(error.code());
    let mut out = Answer::default();
    out.object(|out| {
        field!(out, "success").boolean(false);
        field!(out, "error").string(&error.sentence(&x.id));
        field!(out, "code").string(error.code());
        field!(out, "details").object(|out| write_details(out, error, &x.id));
        if let Some(started) = started {
            write_time(out, started);
        }
    });
    let retry_after = match error {
        ToolError::RateLimited { retry_after_seconds } => Some(*retry_after_seconds),
        _ => None,
    };
    Reply { status: status.unwrap_or(error.handling().status), answer: out, retry_after }
}

/// Returns the error for a body that breaks a rule.
pub(crate) fn refused_body(expected: &str) -> ToolError {
    fields::refuse("body", expected, Received::Text, "format")
}

fn write_details(out: &mut Answer, error: &ToolError, request_id: &str) {
    match error {
        ToolError::Validation { field, expected, received, constraint } => {
            field!(out, "field").string(field);
            field!(out, "constraint").string(constraint);
            field!(out, "expected").string(expected);
            field!(out, "received").string(received.as_str());
        }
        ToolError::NotFound { operation, resource_type, resource_id, .. } => {
            field!(out, "operation").string(operation);
            field!(out, "resourceType").string(resource_type);
            field!(out, "resourceId").string(resource_id);
        }
        ToolError::RateLimited { retry_after_seconds } => {
            field!(out, "retryAfterSeconds").number(*retry_after_seconds);
        }
        ToolError::Execution(_) | ToolError::Internal(_) | ToolError::Panicked => {
            field!(out, "requestId").string(request_id);
        }
        ToolError::IndexUnavailable { configured } => {
            field!(out, "configured").boolean(*configured);
        }
        _ => {}
    }
}

/// Writes how long a call took, in milliseconds.
fn write_time(out: &mut Answer, started: Instant) {
    field!(out, "executionTime").thousandths(started.elapsed().as_secs_f64() * 1_000.0);
}
