//! Time limits, places and the queue. Calls stand at a gate, so that nothing depends on how fast they come.

use std::sync::mpsc::channel;

use serde_json::json;
use wakashu_tests::{
    CallGate, Collection, Connection, HttpRequest, Reply, Server, legacy, modern, wait_until,
};

use super::{arguments, call, check_failure, serve};

/// Longer than any test waits for an answer.
const FOREVER: (&str, &str) = ("WAKASHU_TOOL_TIMEOUT_MS", "300000");

/// Serves the collection under these settings; every call stops at the gate.
fn serve_gated(settings: &[(&str, &str)]) -> (CallGate, Server, Collection) {
    let gate = CallGate::default();
    let (server, collection) = serve(&[&[("WAKASHU_DRILL", gate.setting().as_str())], settings].concat());
    (gate, server, collection)
}

fn status() -> HttpRequest {
    call("index_status", &json!({}), &json!({}))
}

/// Sends a call and leaves the answer for later.
fn begin(server: &Server) -> Connection {
    let mut connection = server.connect();
    connection.send(&status().bytes()).unwrap();
    connection
}

#[test]
fn a_caller_may_ask_for_less_time_but_not_for_more() {
    for (limit, asked) in [("300000", 20), ("20", 3_600_000)] {
        let (_gate, server, _collection) = serve_gated(&[("WAKASHU_TOOL_TIMEOUT_MS", limit)]);
        let options = json!({ "timeoutMs": asked });
        let reply = server.send(&call("get_poem", &arguments("get_poem"), &options));
        check_failure(&reply, 408, "TIMEOUT");
    }
}

#[test]
fn calls_wait_their_turn_until_too_many_do() {
    let settings = [("WAKASHU_CONCURRENCY", "1"), ("WAKASHU_QUEUE", "1"), FOREVER];
    let (gate, server, _collection) = serve_gated(&settings);
    let mut first = begin(&server);
    let held = gate.next();
    // Of two more one waits for its turn and the other is turned away, whichever of them comes first.
    let (answered, answers) = channel::<Reply>();
    for mut connection in [begin(&server), begin(&server)] {
        let answered = answered.clone();
        std::thread::spawn(move || answered.send(connection.receive().unwrap()));
    }
    drop(answered);
    let refused = answers.recv().unwrap();
    let failure = check_failure(&refused, 429, "RATE_LIMIT_EXCEEDED");
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(failure["details"], json!({ "retryAfterSeconds": 1 }));
    let over_mcp = server.send(&wakashu_tests::call("index_status", &json!({})));
    assert!(over_mcp.is_tool_error() && over_mcp.texts()[0].contains("多すぎます"));
    drop(held);
    assert_eq!(first.receive().unwrap().status, 200);
    drop(gate.next());
    assert_eq!(answers.recv().unwrap().status, 200);
}

#[test]
fn waiting_counts_towards_the_time_limit() {
    let (gate, server, _collection) = serve_gated(&[("WAKASHU_CONCURRENCY", "1"), FOREVER]);
    let _busy = begin(&server);
    let _held = gate.next();
    let reply = server.send(&call("index_status", &json!({}), &json!({ "timeoutMs": 20 })));
    check_failure(&reply, 408, "TIMEOUT");
}

#[test]
fn a_client_that_hangs_up_frees_the_place_when_the_call_ends() {
    let settings = [("WAKASHU_CONCURRENCY", "1"), ("WAKASHU_QUEUE", "0"), FOREVER];
    let (gate, server, _collection) = serve_gated(&settings);
    let busy = begin(&server);
    let held = gate.next();
    check_failure(&server.send(&status()), 429, "RATE_LIMIT_EXCEEDED");
    // It may only have said that it will send no more, so the call goes on to its end.
    drop(busy);
    drop((held, gate));
    wait_until("the place is free", || server.send(&status()).status == 200);
}

/// Only tools had a time limit once: a slow bucket held a resource up for minutes.
#[test]
fn whatever_reads_the_archive_has_a_time_limit() {
    let (_gate, server, _collection) = serve_gated(&[("WAKASHU_TOOL_TIMEOUT_MS", "30")]);
    let resource = json!({ "uri": "wakashu://rounds/1/1" });
    let prompt = json!({ "name": "present_round", "arguments": { "round": "1" } });
    for request in [
        legacy("resources/read", &resource),
        modern("resources/read", &resource),
        legacy("prompts/get", &prompt),
    ] {
        let reply = server.send(&request);
        assert_eq!((reply.status, reply.code()), (200, -32603));
        assert!(reply.json()["error"]["message"].as_str().unwrap().contains("時間内"), "{reply:?}");
    }
    assert_eq!(server.get("/pictures/1/1").status, 408);
    assert_eq!(
        server.send(&legacy("tools/list", &json!({}))).status,
        200,
        "what only copies a list does not wait"
    );
    let _ = server.log_with(r#""method":"pictures","status":408,"error":"TIMEOUT""#);
}

/// Outside `/mcp` and `/v1/tools/call` a panic used to end the connection without a word.
#[test]
fn a_panic_on_any_path_is_answered() {
    let (server, _collection) = serve(&[("WAKASHU_DRILL", "panic")]);
    let mut connection = server.connect();
    for _ in 0..2 {
        connection.send(&HttpRequest::new("GET", "/pictures/1/1").bytes()).unwrap();
        let reply = connection.receive().unwrap();
        assert_eq!((reply.status, reply.header("content-type")), (500, Some("text/plain; charset=utf-8")));
    }
    let log = server.log_with(r#""method":"pictures","status":500,"error":"INTERNAL_ERROR""#);
    assert!(log.contains("a handler panicked"), "{log}");
}
