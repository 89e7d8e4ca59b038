//! The shapes of what is sent and shown.

use serde_json::{Value, json};

use super::{reference, with};
use crate::exchange::Exchange;
use crate::fault::HANDLING;
use crate::text::Answer;
use crate::tools::{TOOLS, Tool};
use crate::v1::call::MAX_TIMEOUT_MS;
use crate::v1::describe::description;
use crate::v1::listing::{MAX_LIMIT, MAX_QUERY_CHARACTERS, SEARCH_LIMIT};

/// Returns every schema under its name.
pub(super) fn all(x: &Exchange<'_>) -> Value {
    let mut schemas = shown();
    if let (Some(all), Value::Object(more)) = (schemas.as_object_mut(), exchanged()) {
        all.extend(more);
    }
    for tool in TOOLS {
        schemas = with(schemas, &format!("Call_{}", tool.name), call_schema(tool, x));
        schemas = with(schemas, &format!("Data_{}", tool.name), parsed(tool.data_schema));
    }
    schemas
}

fn codes() -> Vec<&'static str> {
    HANDLING.iter().map(|row| row.code).collect()
}

/// What is shown of the server and its tools.
fn shown() -> Value {
    let texts = json!({ "type": "array", "items": { "type": "string" } });
    let summary = json!({
        "name": { "type": "string" }, "title": { "type": "string" }, "description": { "type": "string" },
        "version": { "type": "string" }, "category": { "type": "string" }, "tags": texts,
        "author": { "type": "string" }, "enabled": { "type": "boolean" },
        "reason": {
            "type": "object", "required": ["code", "message"],
            "properties": { "code": { "enum": codes() }, "message": { "type": "string" } },
        },
        "registeredAt": { "type": "string", "format": "date-time" },
    });
    let known =
        ["name", "title", "description", "version", "category", "tags", "author", "enabled", "registeredAt"];
    let all = [known.as_slice(), &["examples", "inputSchema", "dataSchema", "parameters"]].concat();
    let mut whole = summary.clone();
    for (name, schema) in [
        ("examples", json!({ "type": "array", "items": { "type": "object" } })),
        ("inputSchema", json!({ "type": "object" })),
        ("dataSchema", json!({ "type": "object" })),
        ("parameters", json!({ "type": "array", "items": reference("Parameter") })),
    ] {
        whole = with(whole, name, schema);
    }
    let count = json!({ "type": "integer", "minimum": 0 });
    json!({
        "Document": { "type": "object", "required": ["openapi", "info", "paths"] },
        "Health": {
            "type": "object",
            "required": ["status", "message", "ready", "version", "uptime", "timestamp", "index"],
            "properties": {
                "status": { "const": "ok" }, "message": { "type": "string" },
                "ready": { "type": "boolean" }, "reason": { "type": "string" }, "version": { "type": "string" },
                "uptime": count, "timestamp": { "type": "string", "format": "date-time" },
                "index": {
                    "type": "object", "required": ["state", "stale"],
                    "properties": {
                        "state": { "enum": ["NOT_CONFIGURED", "UNAVAILABLE", "READY"] },
                        "stale": { "type": "boolean" }, "digest": { "type": "string" },
                    },
                },
            },
        },
        "Tool": { "type": "object", "required": known, "properties": summary },
        "ToolDetail": {
            "type": "object", "properties": whole,
            "required": all,
        },
        "Parameter": {
            "type": "object", "required": ["name", "type", "description", "required"],
            "properties": {
                "name": { "type": "string" }, "type": { "enum": ["string", "integer"] },
                "description": { "type": "string" }, "required": { "type": "boolean" }, "default": {},
                "enum": texts, "pattern": { "type": "string" }, "minimum": { "type": "integer" },
                "maximum": { "type": "integer" }, "maxLength": { "type": "integer" },
            },
        },
        "ToolList": {
            "type": "object", "required": ["tools", "pagination"],
            "properties": {
                "tools": { "type": "array", "items": reference("Tool") },
                "pagination": {
                    "type": "object", "required": ["page", "limit", "total", "totalPages"],
                    "properties": { "page": count, "limit": count, "total": count, "totalPages": count },
                },
            },
        },
    })
}

/// What is sent and what comes back.
fn exchanged() -> Value {
    let calls: Vec<Value> = TOOLS.iter().map(|tool| reference(&format!("Call_{}", tool.name))).collect();
    let data = TOOLS.iter().map(|tool| reference(&format!("Data_{}", tool.name)));
    let results: Vec<Value> = [reference("McpResult")].into_iter().chain(data).collect();
    let texts = json!({ "type": "array", "items": { "type": "string" } });
    json!({
        "SearchRequest": {
            "type": "object", "required": ["query"], "additionalProperties": false,
            "properties": {
                "query": { "type": "string", "minLength": 1, "maxLength": MAX_QUERY_CHARACTERS, "pattern": "\\S" },
                "filters": {
                    "type": "object", "additionalProperties": false,
                    "properties": { "category": { "type": "string" }, "tags": texts },
                },
                "limit": { "type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": SEARCH_LIMIT },
            },
        },
        "SearchResult": {
            "type": "object", "required": ["query", "results", "total"],
            "properties": { "query": { "type": "string" }, "results": { "type": "array", "items": reference("Tool") },
                "total": { "type": "integer", "minimum": 0 }, },
        },
        "CallOptions": {
            "type": "object", "additionalProperties": false,
            "properties": {
                "timeoutMs": {
                    "type": "integer", "minimum": 1, "maximum": MAX_TIMEOUT_MS,
                    "description": "How long to wait, up to the server's own limit.",
                },
                "raw": {
                    "type": "boolean", "default": false,
                    "description": "Return the data without the text made for readers.",
                },
            },
        },
        "CallRequest": { "oneOf": calls },
        "CallResult": {
            "type": "object", "required": ["success", "result", "executionTime", "timestamp"],
            "properties": {
                "success": { "const": true }, "result": { "anyOf": results },
                "executionTime": { "type": "number", "description": "Milliseconds." },
                "timestamp": { "type": "string", "format": "date-time" },
            },
        },
        "McpResult": {
            "type": "object", "required": ["content"],
            "properties": {
                "content": {
                    "type": "array",
                    "items": {
                        "type": "object", "required": ["type"],
                        "properties": {
                            "type": { "enum": ["text", "image"] }, "text": { "type": "string" },
                            "data": { "type": "string" }, "mimeType": { "type": "string" },
                        },
                    },
                },
                "structuredContent": { "type": "object" },
            },
        },
        "Error": {
            "type": "object", "required": ["success", "error", "code", "details"],
            "properties": {
                "success": { "const": false }, "error": { "type": "string" }, "code": { "enum": codes() },
                "details": { "type": "object" }, "executionTime": { "type": "number" },
            },
        },
    })
}

fn call_schema(tool: &Tool, x: &Exchange<'_>) -> Value {
    let mut input = Answer::default();
    tool.write_input_schema(&mut input);
    let needs_parameters = tool.parameters.iter().any(|parameter| parameter.required);
    json!({
        "type": "object", "title": tool.title, "description": description(tool, x),
        "required": if needs_parameters { vec!["name", "parameters"] } else { vec!["name"] },
        "additionalProperties": false,
        "properties": {
            "name": { "const": tool.name },
            "parameters": parsed(&input.into_text()),
            "options": reference("CallOptions"),
        },
    })
}

/// Reads a schema of the registry, which is checked at the start.
fn parsed(schema: &str) -> Value {
    serde_json::from_str(schema).unwrap_or_default()
}
