//! Limits of messages, each just below, at and just above it. Those of answers are in `budget`.

use std::time::{Duration, Instant};

use serde_json::json;
use wakashu_tests::{CallGate, Server, Stdio, call, legacy_body, modern_body, post};

use super::fixture;

#[test]
fn an_id_has_256_bytes_at_most() {
    let (server, _collection) = fixture::serve();
    for (length, status) in [(255, 200), (256, 200), (257, 400)] {
        // The quotation marks count.
        for id in ["7".repeat(length), format!("\"{}\"", "7".repeat(length - 2))] {
            let reply = server.send(&post(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)));
            assert_eq!(reply.status, status, "{length} bytes");
        }
    }
}

#[test]
fn a_batch_has_20_messages_at_most() {
    let (server, _collection) = fixture::serve();
    let message = |id| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
    for (messages, status) in [(0, 400), (1, 200), (19, 200), (20, 200), (21, 400)] {
        let batch: Vec<_> = (0..messages).map(message).collect();
        let reply = server.send(&post(json!(batch).to_string()).header("MCP-Protocol-Version", "2025-03-26"));
        assert_eq!(reply.status, status, "{messages} messages");
    }
}

#[test]
fn a_batch_has_the_time_of_one_call() {
    let gate = CallGate::default();
    let settings = [("WAKASHU_DRILL", &*gate.setting()), ("WAKASHU_TOOL_TIMEOUT_MS", "1000")];
    let server = Server::serve_with(Some(&fixture::collection().write()), &settings);
    let batch = vec![legacy_body("tools/call", &json!({ "name": "list_rounds" })); 20];
    let started = Instant::now();
    let reply = server.send(&post(json!(batch).to_string()).header("MCP-Protocol-Version", "2025-03-26"));
    // One after the other they would take 20 s.
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    let answers = reply.json();
    assert_eq!(answers.as_array().map(Vec::len), Some(20));
    assert_eq!(answers.to_string().matches("\"isError\":true").count(), 20, "{answers}");
}

#[test]
fn a_line_on_stdio_has_a_mebibyte_at_most() {
    let mut stdio = Stdio::start(&fixture::collection().write());
    let ping = legacy_body("ping", &json!({})).to_string();
    let limit = wakashu_function::MAX_BODY_BYTES;
    for (length, code) in
        [(limit - 1, None), (limit, None), (limit + 1, Some(-32600)), (3 * limit, Some(-32600))]
    {
        stdio.send(ping.clone() + &" ".repeat(length - ping.len()));
        let answer = stdio.receive().unwrap();
        assert_eq!(answer["error"]["code"].as_i64(), code, "{length} bytes");
    }
    assert!(stdio.ask(&legacy_body("ping", &json!({})))["result"].is_object(), "the next line is read");
}

#[test]
fn there_are_16_subscriptions_on_one_pipe_at_most() {
    let mut stdio = Stdio::start(&fixture::collection().write());
    let listen = |id: u32| {
        let wish = json!({ "notifications": { "resourcesListChanged": true } });
        let mut message = modern_body("subscriptions/listen", &wish);
        message["id"] = json!(id);
        message
    };
    for id in 1..=16 {
        assert_eq!(stdio.ask(&listen(id))["method"], "notifications/subscriptions/acknowledged", "{id}");
    }
    let refused = stdio.ask(&listen(17));
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(17), &json!(-32602)));
    let cancelled =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 3 } });
    stdio.send(cancelled.to_string());
    let mut heard = stdio.ask(&listen(18));
    // The one that was cancelled may be told that it is over.
    if heard["id"] == 3 {
        heard = stdio.receive().unwrap();
    }
    assert_eq!(heard["method"], "notifications/subscriptions/acknowledged", "a place came free: {heard}");
}

#[test]
fn a_query_has_8_words_and_200_characters_at_most() {
    let (server, _collection) = fixture::serve();
    let is_refused =
        |query: String| server.send(&call("search_poems", &json!({ "query": query }))).is_tool_error();
    for (words, refused) in [(7, false), (8, false), (9, true)] {
        let query: Vec<String> = (0..words).map(|word| format!("歌{word}")).collect();
        assert_eq!(is_refused(query.join(" ")), refused, "{words} words");
    }
    for (characters, refused) in [(199, false), (200, false), (201, true)] {
        assert_eq!(is_refused("歌".repeat(characters)), refused, "{characters} characters");
    }
}
