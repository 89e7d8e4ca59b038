//! The shapes of what is sent and shown.

use serde_json::{Map, Value, json};

use super::{reference, with};
use crate::exchange::Exchange;
use crate::fault::HANDLING;
use crate::text::Answer;
use crate::text::schema::Dialect;
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
        let data = written(|out| tool.data.write(out, Dialect::OpenApi));
        schemas = with(schemas, &format!("Data_{}", tool.name), data);
    }
    schemas
}

/// A text, one of these.
fn one_of(words: &[&str]) -> Value {
    json!({ "type": "string", "enum": words })
}

/// A text.
fn text() -> Value {
    json!({ "type": "string" })
}

fn codes() -> Value {
    one_of(&HANDLING.iter().map(|row| row.code).collect::<Vec<_>>())
}

/// An object whose fields are not ours to say.
fn open_object(description: &str) -> Value {
    json!({ "type": "object", "description": description, "additionalProperties": true })
}

/// What is shown of the server and its tools.
fn shown() -> Value {
    let texts = json!({ "type": "array", "items": text() });
    let summary = json!({
        "name": text(), "title": text(), "description": text(), "version": text(), "category": text(), "tags": texts,
        "author": text(), "enabled": { "type": "boolean" }, "reason": reference("Reason"),
        "registeredAt": { "type": "string", "format": "date-time" },
    });
    let known =
        ["name", "title", "description", "version", "category", "tags", "author", "enabled", "registeredAt"];
    let all = [known.as_slice(), &["examples", "inputSchema", "dataSchema", "parameters"]].concat();
    let mut whole = summary.clone();
    for (name, schema) in [
        ("examples", json!({ "type": "array", "items": reference("Arguments") })),
        ("inputSchema", reference("JsonSchema")),
        ("dataSchema", reference("JsonSchema")),
        ("parameters", json!({ "type": "array", "items": reference("Parameter") })),
    ] {
        whole = with(whole, name, schema);
    }
    let count = json!({ "type": "integer", "minimum": 0 });
    json!({
        "Document": open_object("An OpenAPI document."),
        "JsonSchema": open_object("A JSON Schema."),
        "Arguments": open_object("Arguments of a tool, as its own schema has them."),
        "Health": {
            "type": "object",
            "required": ["status", "message", "ready", "version", "uptime", "timestamp", "index"],
            "properties": {
                "status": one_of(&["ok"]), "message": text(), "ready": { "type": "boolean" }, "reason": text(),
                "version": text(), "uptime": count, "timestamp": { "type": "string", "format": "date-time" },
                "index": reference("Index"),
            },
        },
        "Index": {
            "type": "object", "required": ["state", "stale"],
            "properties": {
                "state": one_of(&["NOT_CONFIGURED", "UNAVAILABLE", "READY"]),
                "stale": { "type": "boolean" }, "digest": text(),
            },
        },
        "Tool": { "type": "object", "required": known, "properties": summary },
        "Reason": {
            "type": "object", "required": ["code", "message"],
            "description": "Why the tool cannot be called.",
            "properties": { "code": codes(), "message": text() },
        },
        "ToolDetail": { "type": "object", "properties": whole, "required": all },
        "Parameter": {
            "type": "object", "required": ["name", "type", "description", "required"],
            "properties": {
                "name": text(), "type": one_of(&["string", "integer"]), "description": text(),
                "required": { "type": "boolean" }, "default": { "oneOf": [text(), { "type": "integer" }] },
                "enum": texts, "pattern": text(), "minimum": { "type": "integer" },
                "maximum": { "type": "integer" }, "maxLength": { "type": "integer" },
            },
        },
        "ToolList": {
            "type": "object", "required": ["tools", "pagination"],
            "properties": {
                "tools": { "type": "array", "items": reference("Tool") }, "pagination": reference("Pagination"),
            },
        },
        "Pagination": {
            "type": "object", "required": ["page", "limit", "total", "totalPages"],
            "properties": { "page": count, "limit": count, "total": count, "totalPages": count },
        },
    })
}

/// What is sent and what comes back.
fn exchanged() -> Value {
    let name_of_call = |tool: &&Tool| format!("Call_{}", tool.name);
    let calls: Vec<Value> = TOOLS.iter().map(|tool| reference(&name_of_call(tool))).collect();
    let by_name: Map<String, Value> = TOOLS
        .iter()
        .map(|tool| (tool.name.to_owned(), json!(format!("#/components/schemas/{}", name_of_call(tool)))))
        .collect();
    let data = |is_shown: fn(&&&Tool) -> bool| {
        TOOLS.iter().filter(is_shown).map(|tool| reference(&format!("Data_{}", tool.name)))
    };
    let results: Vec<Value> = [reference("McpResult")].into_iter().chain(data(|_| true)).collect();
    let structured: Vec<Value> = data(|tool| !tool.pictures).collect();
    let texts = json!({ "type": "array", "items": text() });
    json!({
        "SearchRequest": {
            "type": "object", "required": ["query"], "additionalProperties": false,
            "properties": {
                "query": { "type": "string", "minLength": 1, "maxLength": MAX_QUERY_CHARACTERS, "pattern": "\\S" },
                "filters": {
                    "type": "object", "additionalProperties": false,
                    "properties": { "category": text(), "tags": texts },
                },
                "limit": { "type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": SEARCH_LIMIT },
            },
        },
        "SearchResult": {
            "type": "object", "required": ["query", "results", "total"],
            "properties": { "query": text(), "results": { "type": "array", "items": reference("Tool") },
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
        "CallRequest": { "oneOf": calls, "discriminator": { "propertyName": "name", "mapping": by_name } },
        "CallResult": {
            "type": "object", "required": ["success", "result", "executionTime", "timestamp"],
            "properties": {
                "success": { "type": "boolean", "description": "Always true." }, "result": { "anyOf": results },
                "executionTime": { "type": "number", "description": "Milliseconds." },
                "timestamp": { "type": "string", "format": "date-time" },
            },
        },
        "McpResult": {
            "type": "object", "required": ["content"],
            "properties": {
                "content": { "type": "array", "items": reference("ContentBlock") },
                "structuredContent": { "anyOf": structured },
            },
        },
        "ContentBlock": {
            "type": "object", "required": ["type"],
            "properties": { "type": one_of(&["text", "image"]), "text": text(), "data": text(), "mimeType": text() },
        },
        "Error": {
            "type": "object", "required": ["success", "error", "code", "details"],
            "properties": {
                "success": { "type": "boolean", "description": "Always false." }, "error": text(), "code": codes(),
                "details": reference("ErrorDetails"), "executionTime": { "type": "number" },
            },
        },
        "ErrorDetails": {
            "type": "object",
            "description": "What is known of the error: which of these there are depends on its code.",
            "properties": {
                "field": text(), "constraint": text(), "expected": text(), "received": text(),
                "operation": text(), "resourceType": text(), "resourceId": text(), "requestId": text(),
                "retryAfterSeconds": { "type": "integer" }, "configured": { "type": "boolean" },
            },
        },
    })
}

fn call_schema(tool: &Tool, x: &Exchange<'_>) -> Value {
    let needs_parameters = tool.arguments.parameters.iter().any(|parameter| parameter.required);
    json!({
        "type": "object", "description": description(tool, x),
        "required": if needs_parameters { vec!["name", "parameters"] } else { vec!["name"] },
        "additionalProperties": false,
        "properties": {
            "name": one_of(&[tool.name]),
            "parameters": written(|out| tool.write_input_schema(out)),
            "options": reference("CallOptions"),
        },
    })
}

/// Reads a schema that the registry writes.
fn written(write: impl FnOnce(&mut Answer)) -> Value {
    let mut schema = Answer::default();
    write(&mut schema);
    serde_json::from_str(&schema.into_text()).unwrap_or_default()
}
