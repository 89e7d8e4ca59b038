//! The HTTP view of the tools, the limits calls run under, and who may ask: the real program, from outside.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::case_sensitive_file_extension_comparisons,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod access;
mod docs;
mod errors;
mod execution;
mod pages;
mod shapes;
mod view;
mod walk;

use serde_json::{Value, json};
use wakashu_archive::EntryDraft;
use wakashu_tests::{Collection, HttpRequest, Pictures, Reply, Server, TOOLS, poem};

/// Arguments that work for a tool on [`collection`].
fn arguments(tool: &str) -> Value {
    match tool {
        "get_wakashu_ranking" => json!({ "round_title": "第1回" }),
        "get_poem" => json!({ "round_title": "第2回", "rank": 4 }),
        "search_poems" => json!({ "query": "番目" }),
        _ => json!({}),
    }
}

/// Two rounds: one with pictures, one with a gap, texts that need escaping and an entry without a picture.
fn collection() -> Collection {
    let tiny = Some(Pictures { small: 300, medium: 600, large: 900 });
    let plain = EntryDraft {
        extras: vec![("季語 \"春\"".to_owned(), "桜\\梅".to_owned())],
        yomi: Some("よみ\n".to_owned()),
        honka: vec!["https://example.org/a".to_owned(), "https://example.org/b".to_owned()],
        ..poem(4, None)
    };
    Collection::default()
        .round("第1回")
        .entries((1..=3).map(|rank| poem(rank, tiny)))
        .round("第2回")
        .entry(poem(2, tiny))
        .entry(plain)
}

/// Serves the collection under these settings.
fn serve(settings: &[(&str, &str)]) -> (Server, Collection) {
    let collection = collection();
    (Server::serve_with(Some(&collection.write()), settings), collection)
}

fn post(path: &str, body: &Value) -> HttpRequest {
    HttpRequest::new("POST", path).header("Content-Type", "application/json").body(body.to_string())
}

fn call(tool: &str, parameters: &Value, options: &Value) -> HttpRequest {
    post("/v1/tools/call", &json!({ "name": tool, "parameters": parameters, "options": options }))
}

/// Checks that a reply is a failure of this view, with its code and status, and returns it.
#[track_caller]
fn check_failure(reply: &Reply, status: u16, code: &str) -> Value {
    let body = reply.json();
    assert_eq!((reply.status, body["code"].as_str()), (status, Some(code)), "{body}");
    assert_eq!(body["success"], false, "{body}");
    assert!(body["error"].as_str().is_some_and(|sentence| !sentence.is_empty()), "{body}");
    assert!(body["details"].is_object(), "{body}");
    body
}
