//! JSON-RPC errors, with the HTTP status each travels under.

use std::borrow::Cow;

use crate::era::SUPPORTED;

/// The codes, by JSON-RPC and by MCP.
pub mod code {
    /// The body is not JSON.
    pub const PARSE: i32 = -32700;
    /// The JSON is not a message.
    pub const INVALID_REQUEST: i32 = -32600;
    /// There is no such method.
    pub const METHOD_NOT_FOUND: i32 = -32601;
    /// The parameters do not fit the method.
    pub const INVALID_PARAMS: i32 = -32602;
    /// The server failed.
    pub const INTERNAL: i32 = -32603;
    /// There is no such resource; legacy revisions only.
    pub const RESOURCE_NOT_FOUND: i32 = -32002;
    /// A header is missing or differs from the body.
    pub const HEADER_MISMATCH: i32 = -32020;
    /// The revision is not served.
    pub const UNSUPPORTED_VERSION: i32 = -32022;
}

/// A JSON-RPC error about to be answered.
#[derive(Debug)]
pub struct RpcError {
    /// One of [`code`].
    pub code: i32,
    /// A sentence.
    pub message: Cow<'static, str>,
    /// JSON of the `data` member.
    pub data: Option<String>,
    /// The HTTP status.
    pub status: u16,
}

impl RpcError {
    /// Returns an error without data.
    #[must_use]
    pub fn new(status: u16, code: i32, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), data: None, status }
    }

    /// Returns the error as a whole JSON-RPC response; without an id if none could be read.
    #[must_use]
    pub fn to_json(&self, id: Option<&str>) -> String {
        let mut json = String::from(r#"{"jsonrpc":"2.0","#);
        if let Some(id) = id {
            json.extend([r#""id":"#, id, ","]);
        }
        json.push_str(&format!(r#""error":{{"code":{},"message":{}"#, self.code, quoted(&self.message)));
        if let Some(data) = &self.data {
            json.extend([r#","data":"#, data]);
        }
        json.push_str("}}");
        json
    }
}

/// Returns `text` as a JSON string.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The body is not JSON.
#[must_use]
pub fn parse(message: &'static str) -> RpcError {
    RpcError::new(400, code::PARSE, message)
}

/// The JSON is not a message this endpoint takes.
#[must_use]
pub fn invalid_request(message: &'static str) -> RpcError {
    RpcError::new(400, code::INVALID_REQUEST, message)
}

/// The modern envelope lacks something.
#[must_use]
pub fn envelope(message: impl Into<Cow<'static, str>>) -> RpcError {
    RpcError::new(400, code::INVALID_PARAMS, message)
}

/// A header is missing or differs from the body.
#[must_use]
pub fn header_mismatch(message: impl Into<Cow<'static, str>>) -> RpcError {
    RpcError::new(400, code::HEADER_MISMATCH, message)
}

/// The revision asked for is not served.
#[must_use]
pub fn unsupported_version(requested: &str) -> RpcError {
    let supported: Vec<String> = SUPPORTED.iter().map(|revision| quoted(revision.as_str())).collect();
    // What was asked for is echoed, but not at any length.
    let requested: String = requested.chars().take(64).collect();
    let data = format!(r#"{{"supported":[{}],"requested":{}}}"#, supported.join(","), quoted(&requested));
    RpcError {
        data: Some(data),
        ..RpcError::new(400, code::UNSUPPORTED_VERSION, "Unsupported protocol version")
    }
}

/// No such method, or one behind a capability that is not declared. Legacy clients read a 404 as a lost session.
#[must_use]
pub fn method_not_found(modern: bool) -> RpcError {
    RpcError::new(if modern { 404 } else { 200 }, code::METHOD_NOT_FOUND, "Method not found")
}

/// The parameters do not fit the method.
#[must_use]
pub fn invalid_params(message: impl Into<Cow<'static, str>>) -> RpcError {
    RpcError::new(200, code::INVALID_PARAMS, message)
}

/// No such resource.
#[must_use]
pub fn resource_not_found(modern: bool, uri: &str) -> RpcError {
    let data = format!(r#"{{"uri":{}}}"#, quoted(uri));
    let code = if modern { code::INVALID_PARAMS } else { code::RESOURCE_NOT_FOUND };
    RpcError { data: Some(data), ..RpcError::new(200, code, "Resource not found") }
}

/// Something failed that the caller cannot mend; the cause is in the log under `request`.
#[must_use]
pub fn internal(request: &str) -> RpcError {
    RpcError::new(200, code::INTERNAL, format!("Internal error (request {request})"))
}
