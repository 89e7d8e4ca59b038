//! Time limits, places and the queue.

use std::time::{Duration, Instant};

use serde_json::json;
use wakashu_tests::{Connection, HttpRequest, Server, legacy, modern};

use crate::{arguments, call, check_failure, serve};

/// Sends a call and leaves the answer for later.
fn begin(server: &Server) -> Connection {
    let mut connection = server.connect();
    connection.send(&call("index_status", &json!({}), &json!({})).bytes()).unwrap();
    // Long enough to have arrived, short against the two seconds a slow tool takes.
    std::thread::sleep(Duration::from_millis(150));
    connection
}

#[test]
fn a_caller_may_ask_for_less_time_but_not_for_more() {
    let (server, _collection) = serve(&[("WAKASHU_DRILL", "slow"), ("WAKASHU_TOOL_TIMEOUT_MS", "500")]);
    for (milliseconds, least, most) in [(20, 20, 450), (3_600_000, 500, 1_900)] {
        let started = Instant::now();
        let options = json!({ "timeoutMs": milliseconds });
        let reply = server.send(&call("get_poem", &arguments("get_poem"), &options));
        check_failure(&reply, 408, "TIMEOUT");
        let took = started.elapsed().as_millis();
        assert!((least..most).contains(&took), "{milliseconds}: {took}");
    }
    let (server, _collection) = serve(&[("WAKASHU_DRILL", "slow")]);
    assert_eq!(server.send(&call("list_rounds", &json!({}), &json!({}))).status, 200, "two seconds are fine");
}

#[test]
fn calls_wait_their_turn_until_too_many_do() {
    let settings = [("WAKASHU_DRILL", "slow"), ("WAKASHU_CONCURRENCY", "1"), ("WAKASHU_QUEUE", "1")];
    let (server, _collection) = serve(&settings);
    let started = Instant::now();
    let mut first = begin(&server);
    let mut second = begin(&server);
    let third = server.send(&call("index_status", &json!({}), &json!({})));
    let failure = check_failure(&third, 429, "RATE_LIMIT_EXCEEDED");
    assert_eq!(third.header("retry-after"), Some("1"));
    assert_eq!(failure["details"], json!({ "retryAfterSeconds": 1 }));
    assert!(started.elapsed() < Duration::from_millis(1_900), "turned away at once");
    let over_mcp = server.send(&wakashu_tests::call("index_status", &json!({})));
    assert!(over_mcp.is_tool_error() && over_mcp.texts()[0].contains("多すぎます"));
    assert_eq!(first.receive().unwrap().status, 200);
    assert_eq!(second.receive().unwrap().status, 200);
    assert!(started.elapsed() >= Duration::from_secs(4), "one after the other");
}

#[test]
fn waiting_counts_towards_the_time_limit() {
    let settings = [("WAKASHU_DRILL", "slow"), ("WAKASHU_CONCURRENCY", "1")];
    let (server, _collection) = serve(&settings);
    let _busy = begin(&server);
    let reply = server.send(&call("index_status", &json!({}), &json!({ "timeoutMs": 100 })));
    check_failure(&reply, 408, "TIMEOUT");
}

#[test]
fn who_hangs_up_frees_the_place_when_the_call_ends() {
    let settings = [("WAKASHU_DRILL", "slow"), ("WAKASHU_CONCURRENCY", "1"), ("WAKASHU_QUEUE", "0")];
    let (server, _collection) = serve(&settings);
    let busy = begin(&server);
    let refused = server.send(&call("index_status", &json!({}), &json!({})));
    check_failure(&refused, 429, "RATE_LIMIT_EXCEEDED");
    // It may only have said that it will send no more. A call's own time is short.
    drop(busy);
    std::thread::sleep(Duration::from_millis(2_200));
    assert_eq!(server.send(&call("index_status", &json!({}), &json!({}))).status, 200);
}

/// Only tools had a time limit once: a slow bucket held a resource up for minutes.
#[test]
fn whatever_reads_the_archive_has_a_time_limit() {
    let (server, _collection) = serve(&[("WAKASHU_DRILL", "slow"), ("WAKASHU_TOOL_TIMEOUT_MS", "30")]);
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
