//! Why a request is not answered, in the form its path speaks.

use http::HeaderValue;
use http::header::{ALLOW, RETRY_AFTER, WWW_AUTHENTICATE};
use wakashu_pages::Notice;
use wakashu_wire::RpcError;
use wakashu_wire::error::code;

use crate::exchange::Exchange;
use crate::fault::ToolError;
use crate::mcp;
use crate::v1;
use crate::web::access;
use crate::web::body;
use crate::web::pages;
use crate::web::reply::Reply;
use crate::web::routes::{Form, Methods};

const BEARER: HeaderValue = HeaderValue::from_static("Bearer");

/// What a token would have to be good for.
pub(super) const OTHER_SCOPE: HeaderValue =
    HeaderValue::from_static("Bearer error=\"insufficient_scope\", scope=\"read\"");

/// Why a request is not answered.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It comes from, or for, somebody else.
    Access(access::Refusal),
    /// There is no such path.
    Missing,
    /// The path takes other methods: these.
    Method(Methods),
    /// Its body could not be read.
    Body(body::Refused),
    /// It has no token, comes too often, or something went wrong.
    Fault(ToolError),
}

impl Refusal {
    /// Returns the reply, and notes for the log why.
    #[cold]
    pub(super) fn in_form(&self, x: &mut Exchange<'_>, form: Form) -> Reply {
        x.facts.error = self.code();
        let reply = match (form, self) {
            (Form::Rpc, _) => self.in_rpc(x),
            (Form::V1, Self::Body(refused)) => {
                let error = match refused {
                    body::Refused::OtherType => {
                        v1::refused_body("Content-Type を application/json にしてください。")
                    }
                    body::Refused::TooLarge => v1::refused_body("本文は1MiBまでにしてください。"),
                    body::Refused::Broken => v1::refused_body("本文をすべて送ってください。"),
                    body::Refused::TooSlow => ToolError::Timeout,
                };
                of_v1(v1::failure(x, &error, Some(refused.status()), None))
            }
            (Form::V1, Self::Fault(fault)) => of_v1(v1::failure(x, fault, None, None)),
            (Form::V1, Self::Missing) => {
                Reply::plain(404, "no such path; /v1/openapi.json describes what there is")
            }
            (Form::Page, Self::Fault(fault)) => in_page(x, fault),
            (Form::Page, Self::Missing) => pages::notice(x, Notice::NotFound, 404),
            _ => Reply::plain(self.status(), self.sentence()),
        };
        match self {
            Self::Method(methods) => reply.with(ALLOW, methods.allow()),
            Self::Fault(ToolError::Authentication) => reply.with(WWW_AUTHENTICATE, BEARER),
            Self::Fault(ToolError::Authorization) => reply.with(WWW_AUTHENTICATE, OTHER_SCOPE),
            Self::Fault(ToolError::RateLimited { retry_after_seconds }) => {
                reply.with(RETRY_AFTER, *retry_after_seconds)
            }
            _ => reply,
        }
    }

    /// Returns what the log calls it.
    fn code(&self) -> Option<&'static str> {
        match self {
            Self::Access(access::Refusal::Host) => Some("HOST"),
            Self::Access(access::Refusal::Origin) => Some("ORIGIN"),
            Self::Missing => None,
            Self::Method(_) => Some("METHOD"),
            Self::Body(body::Refused::OtherType) => Some("CONTENT_TYPE"),
            Self::Body(_) => Some("BODY"),
            Self::Fault(fault) => Some(fault.code()),
        }
    }

    fn status(&self) -> u16 {
        match self {
            Self::Access(_) => 403,
            Self::Missing => 404,
            Self::Method(_) => 405,
            Self::Body(refused) => refused.status(),
            Self::Fault(fault) => fault.handling().status,
        }
    }

    fn sentence(&self) -> &'static str {
        match self {
            Self::Access(_) => "this Host or Origin is not answered here",
            Self::Missing => "no such path; the MCP endpoint is POST /mcp",
            Self::Method(_) => "this path takes another method",
            Self::Body(refused) => refused.sentence(),
            Self::Fault(ToolError::Panicked) => "something went wrong here; try again later",
            Self::Fault(fault) => fault.handling().when,
        }
    }

    /// A JSON-RPC error for a request whose message was never read.
    fn in_rpc(&self, x: &mut Exchange<'_>) -> Reply {
        let rule = match self {
            Self::Fault(ToolError::Panicked) => return rpc_reply(x, &mcp::error::internal(&x.id.clone())),
            Self::Fault(fault) => {
                let code = match fault {
                    ToolError::Authentication | ToolError::Authorization => code::INVALID_REQUEST,
                    _ => code::INTERNAL,
                };
                return rpc_reply(x, &RpcError::new(self.status(), code, fault.sentence(&x.id)));
            }
            Self::Access(access::Refusal::Host) => "this Host is not answered here",
            Self::Access(access::Refusal::Origin) => "this Origin is not answered here",
            Self::Method(_) => "this endpoint takes POST",
            Self::Missing | Self::Body(_) => self.sentence(),
        };
        rpc_reply(x, &RpcError::new(self.status(), code::INVALID_REQUEST, rule))
    }
}

/// A page that tells people that something is wrong, and no more.
fn in_page(x: &Exchange<'_>, fault: &ToolError) -> Reply {
    let status = fault.handling().status;
    match fault {
        ToolError::Execution(_) | ToolError::IndexUnavailable { .. } => {
            pages::notice(x, Notice::Unavailable, 503)
        }
        ToolError::RateLimited { .. } => pages::notice(x, Notice::Busy, status),
        // Browsers take a 408 for an idle connection that was closed, and ask once more.
        ToolError::Timeout => pages::notice(x, Notice::Busy, 503),
        _ => pages::notice(x, Notice::Failed, status),
    }
}

fn rpc_reply(x: &mut Exchange<'_>, error: &RpcError) -> Reply {
    let replied = mcp::refuse(x, error, None);
    Reply::json(replied.status, replied.answer.unwrap_or_default())
}

/// Returns what the HTTP view answers, as HTTP.
pub(super) fn of_v1(replied: v1::Reply) -> Reply {
    let reply = Reply::json(replied.status, replied.answer);
    match replied.retry_after {
        Some(seconds) => reply.with(RETRY_AFTER, seconds),
        None => reply,
    }
}
