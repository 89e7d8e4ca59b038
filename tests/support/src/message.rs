//! JSON-RPC messages in both eras, with the headers a conforming client sends.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::http::HttpRequest;

/// The modern revision.
pub const MODERN: &str = "2026-07-28";

/// The newest legacy revision.
pub const LEGACY: &str = "2025-11-25";

/// Returns the `_meta` of a modern request.
#[must_use]
pub fn envelope() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "wakashu-tests", "version": "1" },
    })
}

/// Returns a modern request's body.
#[must_use]
pub fn modern_body(method: &str, params: &Value) -> Value {
    let mut params = params.clone();
    params["_meta"] = envelope();
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// Returns a legacy request's body.
#[must_use]
pub fn legacy_body(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// Returns a POST of `body` with the headers every client sends.
#[must_use]
pub fn post(body: impl Into<Vec<u8>>) -> HttpRequest {
    HttpRequest::new("POST", "/mcp")
        .header("Content-Type", "application/json")
        .header("Accept", "application/json, text/event-stream")
        .body(body)
}

/// Returns a modern request with all its headers.
#[must_use]
pub fn modern(method: &str, params: &Value) -> HttpRequest {
    let name = match method {
        "tools/call" | "prompts/get" => params["name"].as_str(),
        "resources/read" => params["uri"].as_str(),
        _ => None,
    };
    let name = name.map(|name| {
        let plain = name.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
        if plain { name.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(name)) }
    });
    let request = post(modern_body(method, params).to_string())
        .header("MCP-Protocol-Version", MODERN)
        .header("Mcp-Method", method);
    match name {
        Some(name) => request.header("Mcp-Name", &name),
        None => request,
    }
}

/// Returns a legacy request as after an `initialize` to the newest legacy revision.
#[must_use]
pub fn legacy(method: &str, params: &Value) -> HttpRequest {
    post(legacy_body(method, params).to_string()).header("MCP-Protocol-Version", LEGACY)
}

/// Returns a legacy tool call, the shortest way to ask for something.
#[must_use]
pub fn call(tool: &str, arguments: &Value) -> HttpRequest {
    legacy("tools/call", &json!({ "name": tool, "arguments": arguments }))
}
