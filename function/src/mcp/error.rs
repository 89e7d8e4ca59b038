//! JSON-RPC errors, with the HTTP status each travels under.

use std::borrow::Cow;

use crate::answer::Answer;
use crate::mcp::era::SUPPORTED;

/// A JSON-RPC error about to be answered.
#[derive(Debug)]
pub(crate) struct RpcError {
    pub(crate) code: i32,
    pub(crate) message: Cow<'static, str>,
    /// JSON of the `data` member.
    pub(crate) data: Option<String>,
    pub(crate) status: u16,
}

impl RpcError {
    fn new(status: u16, code: i32, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), data: None, status }
    }

    /// Writes the error as a whole JSON-RPC response; without an id where none was readable.
    pub(crate) fn write(&self, out: &mut Answer, id: Option<&str>) {
        out.raw(r#"{"jsonrpc":"2.0","#);
        if let Some(id) = id {
            out.raw(r#""id":"#).raw(id).raw(",");
        }
        out.raw(r#""error":{"code":"#)
            .raw(&self.code.to_string())
            .raw(r#","message":"#)
            .string(&self.message);
        if let Some(data) = &self.data {
            out.raw(r#","data":"#).raw(data);
        }
        out.raw("}}");
    }
}

/// The body is no JSON.
pub(crate) fn parse(message: &'static str) -> RpcError {
    RpcError::new(400, -32700, message)
}

/// The JSON is no message this endpoint takes.
pub(crate) fn invalid_request(message: &'static str) -> RpcError {
    RpcError::new(400, -32600, message)
}

/// The modern envelope lacks something.
pub(crate) fn envelope(message: impl Into<Cow<'static, str>>) -> RpcError {
    RpcError::new(400, -32602, message)
}

/// A header is missing or differs from the body.
pub(crate) fn header_mismatch(message: impl Into<Cow<'static, str>>) -> RpcError {
    RpcError::new(400, -32020, message)
}

/// The revision asked for is not served.
pub(crate) fn unsupported_version(requested: &str) -> RpcError {
    let mut data = Answer::default();
    data.raw(r#"{"supported":["#);
    for (at, revision) in SUPPORTED.iter().enumerate() {
        data.raw(if at == 0 { "" } else { "," }).string(revision.as_str());
    }
    // What was asked for is echoed, but not at any length.
    let requested: String = requested.chars().take(64).collect();
    data.raw(r#"],"requested":"#).string(&requested).raw("}");
    RpcError { data: Some(data.into_text()), ..RpcError::new(400, -32022, "Unsupported protocol version") }
}

/// No such method, or one behind a capability that is not declared. Legacy clients read a 404 as a lost session.
pub(crate) fn method_not_found(modern: bool) -> RpcError {
    RpcError::new(if modern { 404 } else { 200 }, -32601, "Method not found")
}

/// The parameters do not fit the method.
pub(crate) fn invalid_params(message: impl Into<Cow<'static, str>>) -> RpcError {
    RpcError::new(200, -32602, message)
}

/// No such resource.
pub(crate) fn resource_not_found(modern: bool, uri: &str) -> RpcError {
    let mut data = String::from(r#"{"uri":""#);
    wakashu_archive::escape_into(&mut data, uri);
    data.push_str("\"}");
    let code = if modern { -32602 } else { -32002 };
    RpcError { data: Some(data), ..RpcError::new(200, code, "Resource not found") }
}

/// Something failed that the caller cannot mend; the cause is in the log under `request`.
pub(crate) fn internal(request: &str) -> RpcError {
    RpcError::new(200, -32603, format!("Internal error (request {request})"))
}

/// There is no index to answer from.
pub(crate) fn index_unavailable() -> RpcError {
    RpcError::new(
        200,
        -32603,
        "The poem index is not available; call the tool `index_status`, or try again later",
    )
}

/// The caller's token is not good for this.
pub(crate) fn not_covered() -> RpcError {
    RpcError::new(403, -32600, "The token does not cover this")
}

/// A refusal that has nothing to do with the message: who asks, or how often.
pub(crate) fn refusal(status: u16, code: i32, message: String) -> RpcError {
    RpcError::new(status, code, message)
}

/// The answers of a batch together would be too large.
pub(crate) fn batch_too_large() -> RpcError {
    RpcError::new(
        200,
        -32603,
        "The answers of this batch are too large together; send this request by itself",
    )
}
