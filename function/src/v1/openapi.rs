//! `GET /v1/openapi.json`: this view described, the tools with it, from the registry.

mod schemas;

use serde_json::{Map, Value, json};

use super::listing::{LIST_LIMIT, MAX_LIMIT, MAX_PAGE};
use crate::exchange::Exchange;
use crate::text::Answer;

/// What the document says of a status, beyond the success of it.
const STATUSES: [(&str, &str); 11] = [
    ("400", "A parameter is missing, unknown or of the wrong form"),
    ("401", "A token is needed"),
    ("403", "The tool is switched off, or the token, host or origin is not good for this"),
    ("404", "No such tool, round or rank"),
    ("408", "It took too long"),
    ("413", "The body is too large"),
    ("415", "The body is not JSON"),
    ("429", "Too many requests; `Retry-After` says when to come back"),
    ("500", "The archive could not be read, or the server is at fault"),
    ("503", "There is no index to answer from"),
    ("405", "The path takes another method"),
];

/// Writes the document.
pub(super) fn write(x: &Exchange<'_>, with_tokens: bool) -> Answer {
    let mut document = json!({
        "openapi": "3.0.3",
        "info": {
            // Generators derive names from it: ASCII only, here and in the names of operations and schemas.
            "title": "wakashu",
            "description": format!(
                "The tools of the collection 「{}」 over plain HTTP. The same tools speak MCP at `/mcp`.",
                x.served.title()
            ),
            "version": env!("CARGO_PKG_VERSION"),
        },
        "paths": paths(),
        "components": { "schemas": schemas::all(x) },
    });
    if with_tokens && let Some(document) = document.as_object_mut() {
        document.insert("security".to_owned(), json!([{ "token": [] }]));
        if let Some(components) = document.get_mut("components").and_then(Value::as_object_mut) {
            let scheme = json!({ "token": { "type": "http", "scheme": "bearer" } });
            components.insert("securitySchemes".to_owned(), scheme);
        }
    }
    let mut out = Answer::default();
    out.serialized(&document);
    out
}

fn paths() -> Value {
    let text = |most: usize| json!({ "type": "string", "maxLength": most });
    let query = |name: &str, schema: Value| json!({ "name": name, "in": "query", "schema": schema });
    let listing = json!([
        query("category", text(200)),
        query("tag", text(200)),
        query("enabled", json!({ "type": "boolean" })),
        query("page", json!({ "type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": 1 })),
        query(
            "limit",
            json!({ "type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": LIST_LIMIT })
        ),
    ]);
    let name = json!([{ "name": "name", "in": "path", "required": true, "schema": text(64) }]);
    // Health is open to all.
    let health = with(operation("health", "Health", "Health", &[]), "security", json!([]));
    let mut ready = with(operation("ready", "Readiness", "Health", &[]), "security", json!([]));
    if let Some(responses) = ready.get_mut("responses").and_then(Value::as_object_mut) {
        let unready =
            json!({ "description": "There is nothing to answer from", "content": content("Health") });
        responses.insert("503".to_owned(), unready);
    }
    json!({
        "/": { "get": health },
        "/health": { "get": ready },
        "/v1/tools": { "get": with(operation("listTools", "List the tools", "ToolList", &["400"]), "parameters", listing) },
        "/v1/tools/{name}": { "get": with(operation("getTool", "Show a tool", "ToolDetail", &["404"]), "parameters", name) },
        "/v1/tools/search": { "post": with_body(
            operation("searchTools", "Find tools", "SearchResult", &["400", "408", "413", "415"]),
            "SearchRequest",
        ) },
        "/v1/tools/call": { "post": with_body(
            operation(
                "callTool",
                "Call a tool",
                "CallResult",
                &["400", "404", "408", "413", "415", "500", "503"],
            ),
            "CallRequest",
        ) },
        "/v1/openapi.json": { "get": operation("describe", "This document", "Document", &[]) },
    })
}

/// Describes an operation: its success, the failures named and those every path has.
fn operation(id: &str, summary: &str, schema: &str, failures: &[&str]) -> Value {
    let mut responses = Map::new();
    responses.insert("200".to_owned(), json!({ "description": summary, "content": content(schema) }));
    for (status, description) in STATUSES {
        if failures.contains(&status) || ["401", "403", "429"].contains(&status) {
            let mut content = content("Error");
            if status == "403" {
                content = with(content, "text/plain", json!({ "schema": { "type": "string" } }));
            }
            responses.insert(status.to_owned(), json!({ "description": description, "content": content }));
        }
    }
    json!({ "operationId": id, "summary": summary, "responses": responses })
}

fn with(mut object: Value, name: &str, value: Value) -> Value {
    if let Some(members) = object.as_object_mut() {
        members.insert(name.to_owned(), value);
    }
    object
}

fn with_body(operation: Value, schema: &str) -> Value {
    with(operation, "requestBody", json!({ "required": true, "content": content(schema) }))
}

fn content(schema: &str) -> Value {
    json!({ "application/json": { "schema": reference(schema) } })
}

fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}
