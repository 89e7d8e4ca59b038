//! What operators see: metrics, what is printed at the start, what systemd is told.

use std::collections::BTreeMap;
use std::os::unix::net::UnixDatagram;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use wakashu_tests::{HttpRequest, Server, call, legacy, legacy_body, post};

use crate::mcp::fixture;

/// `printf %s reader | sha256sum`, and of `watcher`.
const TOKENS: &str = "3d0941964aa3ebdcb00ccef58b1bb399f9f898465e9886d5aec7f31090a0fb30,0e7f3c5c909ce8afb978a208d639e85af2171df2ec0003a07f13ad97878ef053:status";

/// Reads the text form of Prometheus, strictly: samples by name and labels.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let mut samples = BTreeMap::new();
    let mut family = String::new();
    assert!(text.ends_with('\n'), "the last line ends, too");
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            rest.split_once(' ').expect("a sentence").0.clone_into(&mut family);
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect("a kind");
            assert_eq!(name, family, "what helps comes first");
            assert!(matches!(kind, "counter" | "gauge" | "histogram"), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
        } else {
            let (sample, value) = line.rsplit_once(' ').expect("a value");
            let name = sample.split('{').next().unwrap();
            let suffix = name.strip_prefix(&family).unwrap_or_else(|| panic!("{line} is not of {family}"));
            assert!(matches!(suffix, "" | "_bucket" | "_sum" | "_count"), "{line}");
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{line}");
            let before = samples.insert(sample.to_owned(), value.parse().expect("a number"));
            assert_eq!(before, None, "{sample} is there twice");
        }
    }
    samples
}

#[test]
fn the_line_of_a_batch_tells_of_the_first_message_that_failed() {
    let (server, _collection) = fixture::serve();
    let tool =
        |name: &str, arguments| legacy_body("tools/call", &json!({ "name": name, "arguments": arguments }));
    let failing = tool("get_poem", json!({ "round_title": "none", "rank": 1 }));
    let fine = tool("list_rounds", json!({}));
    for (batch, of_tool, error) in [
        (json!([fine, failing, fine, legacy_body("none", &json!({}))]), Some("get_poem"), Some("NOT_FOUND")),
        (json!([fine, fine]), None, None),
    ] {
        let reply = server.send(&post(batch.to_string()).header("MCP-Protocol-Version", "2025-03-26"));
        let bytes = format!("\"bytes\":{},", reply.body.len());
        let log = server.log_with(&bytes);
        let line = log.lines().find(|line| line.contains("\"method\":\"batch\"") && line.contains(&bytes));
        let line: Value = serde_json::from_str(line.unwrap_or_else(|| panic!("{log}"))).unwrap();
        assert_eq!((line["tool"].as_str(), line["error"].as_str()), (of_tool, error), "{line}");
        assert_eq!((line["era"].as_str(), line.get("code")), (Some("2025-03-26"), None), "{line}");
    }
}

#[test]
fn what_happens_is_counted() {
    let (server, _collection) = fixture::serve();
    let _ = server.send(&legacy("ping", &json!({})));
    let _ = server.send(&call("get_poem", &json!({ "round_title": "none", "rank": 1 })));
    let _ = server.send(&legacy("none", &json!({})));
    let _ = server.send(&HttpRequest::new("GET", "/mcp"));
    let _ = server.get("/pictures/1/1");
    let _ = server.get("/none");
    let reply = server.get("/metrics");
    assert_eq!(reply.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let samples = samples(&reply.text());
    for (sample, expected) in [
        (r#"wakashu_requests_total{route="mcp",outcome="ok"}"#, 1.0),
        (r#"wakashu_requests_total{route="mcp",outcome="error"}"#, 2.0),
        (r#"wakashu_requests_total{route="mcp",outcome="refused"}"#, 1.0),
        (r#"wakashu_requests_total{route="pictures",outcome="ok"}"#, 1.0),
        (r#"wakashu_requests_total{route="other",outcome="refused"}"#, 1.0),
        (r#"wakashu_requests_total{route="metrics",outcome="ok"}"#, 0.0),
        (r#"wakashu_request_seconds_count{route="mcp"}"#, 4.0),
        (r#"wakashu_request_seconds_bucket{route="mcp",le="+Inf"}"#, 4.0),
        (r#"wakashu_tool_errors_total{tool="get_poem",code="NOT_FOUND"}"#, 1.0),
        (r#"wakashu_tool_errors_total{tool="get_poem",code="TIMEOUT"}"#, 0.0),
        (r#"wakashu_refreshes_total{outcome="ok"}"#, 1.0),
        ("wakashu_connections_total", 7.0),
        ("wakashu_ready", 1.0),
        ("wakashu_stale", 0.0),
        ("wakashu_log_lines_dropped_total", 0.0),
    ] {
        assert_eq!(samples.get(sample), Some(&expected), "{sample} in\n{}", reply.text());
    }
    assert!(samples["wakashu_refresh_age_seconds"] < 30.0);
    assert!(samples["wakashu_connections_open"] >= 1.0);
    assert_eq!(server.send(&HttpRequest::new("POST", "/metrics")).status, 405);
}

#[test]
fn metrics_are_for_those_who_may_see_the_state_and_can_be_turned_off() {
    let collection = fixture::collection();
    let path = collection.write();
    let server = Server::serve_with(Some(&path), &[("WAKASHU_TOKENS_SHA256", TOKENS)]);
    let with =
        |token: &str| HttpRequest::new("GET", "/metrics").header("Authorization", &format!("Bearer {token}"));
    assert_eq!(server.get("/metrics").status, 401);
    assert_eq!(server.send(&with("none")).status, 401);
    assert_eq!((server.send(&with("watcher")).status, server.send(&with("reader")).status), (200, 200));
    let off = Server::serve_with(Some(&path), &[("WAKASHU_METRICS", "false")]);
    let nowhere = off.get("/nowhere");
    assert_eq!((off.get("/metrics").status, off.get("/metrics").body), (404, nowhere.body));
}

#[test]
fn a_path_that_does_not_exist_is_named_in_full() {
    let server = Server::serve_with(Some("none/poems.wakashu".as_ref()), &[]);
    let path = std::env::current_dir().unwrap().join("none/poems.wakashu");
    // What is printed and what is logged come by different ways.
    let _ = server.log_with("--method tools/list");
    let log = server.log_with("this path does not exist");
    let line = log.lines().find(|line| line.contains("this path does not exist")).unwrap();
    assert!(line.contains(path.to_str().unwrap()), "{line}");
    // What is printed for other programs has it in full, too.
    let printed = log.lines().find(|line| line.contains("\"stdio\"")).unwrap();
    assert!(printed.contains(path.to_str().unwrap()), "{printed}");
}

#[test]
fn where_tokens_are_asked_for_the_printed_lines_carry_one() {
    let collection = fixture::collection();
    let path = collection.write();
    let header = "--header \"Authorization: Bearer TOKEN\"";
    for (settings, expected) in [(&[("WAKASHU_TOKENS_SHA256", TOKENS)][..], true), (&[], false)] {
        let server = Server::serve_with(Some(&path), settings);
        let log = server.log_with("tools/list");
        let line = |needle: &str| log.lines().find(|line| line.contains(needle)).unwrap().to_owned();
        assert_eq!(line("claude mcp add").ends_with(header), expected, "{log}");
        assert_eq!(line("inspector").contains(header), expected, "{log}");
        let remote: serde_json::Value = serde_json::from_str(line("mcp-remote").trim()).unwrap();
        let remote = &remote["mcpServers"]["wakashu"];
        assert_eq!(remote["args"].as_array().unwrap().len(), if expected { 5 } else { 3 }, "{remote}");
        let token = remote.pointer("/env/AUTH").and_then(|value| value.as_str());
        assert_eq!(token, expected.then_some("Bearer TOKEN"), "{remote}");
    }
}

#[test]
fn systemd_is_told_when_the_server_is_ready_and_when_it_stops() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let hear = || {
        let mut heard = [0; 64];
        let length = socket.recv(&mut heard).expect("to be told");
        String::from_utf8(heard[..length].to_vec()).unwrap()
    };
    let collection = fixture::collection();
    let archive = collection.write();
    let mut server = Server::serve_with(Some(&archive), &[("NOTIFY_SOCKET", path.to_str().unwrap())]);
    assert_eq!(hear(), "READY=1");
    assert_eq!(server.get("/health").status, 200);
    let killed = Command::new("kill").args(["-TERM", &server.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(hear(), "STOPPING=1");
    assert!(server.wait().success());
}
