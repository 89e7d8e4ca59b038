//! Every tool and every kind of error, over MCP in both eras and over HTTP.

use serde_json::{Value, json};
use wakashu_tests::{CallGate, Reply, Server, legacy, modern};

use super::{TOOLS, arguments, call, check_failure, serve};

/// Calls a tool in three ways: over HTTP, in the legacy era, in the modern era.
fn three_ways(server: &Server, tool: &str, arguments: &Value) -> (Reply, [Reply; 2]) {
    let params = json!({ "name": tool, "arguments": arguments });
    let over_mcp = [legacy("tools/call", &params), modern("tools/call", &params)];
    (server.send(&call(tool, arguments, &json!({}))), over_mcp.map(|request| server.send(&request)))
}

/// Checks that a tool fails with a code and status over HTTP, and with the same sentence as a result over MCP.
fn check(server: &Server, tool: &str, arguments: &Value, status: u16, code: &str) -> Value {
    let (over_http, over_mcp) = three_ways(server, tool, arguments);
    let failure = check_failure(&over_http, status, code);
    for reply in over_mcp {
        assert!(reply.is_tool_error(), "{tool}: {code}");
        // The number by which a request is found differs from request to request.
        let sentence = |text: &str| text.split("（問い合わせ番号").next().unwrap().to_owned();
        assert_eq!(
            sentence(&reply.texts()[0]),
            sentence(failure["error"].as_str().unwrap()),
            "{tool}: {code}"
        );
        assert!(reply.result().get("structuredContent").is_none());
    }
    let _ = server.log_with(&format!(r#""tool":"{tool}","status":{status},"error":"{code}""#));
    failure
}

#[test]
fn no_such_tool() {
    let (server, _collection) = serve(&[]);
    for name in ["", "get_poems", "歌"] {
        let (over_http, over_mcp) = three_ways(&server, name, &json!({}));
        check_failure(&over_http, 404, "TOOL_NOT_FOUND");
        for reply in over_mcp {
            assert_eq!((reply.status, reply.code()), (200, -32602), "{name}");
        }
    }
}

#[test]
fn a_tool_that_is_switched_off() {
    let all = TOOLS.join(",");
    let (server, _collection) = serve(&[("WAKASHU_TOOLS_DISABLED", &all)]);
    for tool in TOOLS {
        check(&server, tool, &arguments(tool), 403, "TOOL_DISABLED");
    }
    let (server, _collection) = serve(&[("WAKASHU_TOOLS_DISABLED", "search_poems, get_poem")]);
    for request in [legacy("tools/list", &json!({})), modern("tools/list", &json!({}))] {
        let tools = server.send(&request).result()["tools"].clone();
        let names: Vec<&str> =
            tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["index_status", "list_rounds", "get_wakashu_ranking"]);
    }
    check(&server, "search_poems", &arguments("search_poems"), 403, "TOOL_DISABLED");
    assert_eq!(server.get("/v1/tools?enabled=false").json()["pagination"]["total"], 2);
    for tool in ["index_status", "list_rounds", "get_wakashu_ranking"] {
        assert_eq!(server.send(&call(tool, &arguments(tool), &json!({}))).status, 200);
    }
}

#[test]
fn arguments_of_the_wrong_form() {
    let (server, _collection) = serve(&[]);
    for tool in TOOLS {
        let failure = check(&server, tool, &json!({ "余分": 1 }), 400, "VALIDATION_ERROR");
        assert_eq!(failure["details"]["field"], "余分");
        assert_eq!(failure["details"]["constraint"], "unknown");
    }
    for (tool, arguments, field) in [
        ("get_poem", json!({ "round_title": "1", "rank": 0 }), "rank"),
        ("get_wakashu_ranking", json!({ "round_title": "1", "rank_range": "3-1" }), "rank_range"),
        ("list_rounds", json!({ "start_date": "2025-13-01" }), "start_date"),
        ("list_rounds", json!({ "cursor": "nowhere" }), "cursor"),
        ("search_poems", json!({ "query": " " }), "query"),
    ] {
        let failure = check(&server, tool, &arguments, 400, "VALIDATION_ERROR");
        assert_eq!(failure["details"]["field"], field, "{arguments}");
    }
}

#[test]
fn rounds_and_ranks_that_do_not_exist() {
    let (server, _collection) = serve(&[]);
    for (tool, arguments, resource) in [
        ("get_poem", json!({ "round_title": "第9回", "rank": 1 }), ("round", "第9回")),
        ("get_poem", json!({ "round_title": "1", "rank": 9 }), ("rank", "9")),
        ("get_wakashu_ranking", json!({ "round_title": "第9回" }), ("round", "第9回")),
        ("get_wakashu_ranking", json!({ "round_title": "1", "rank_range": "8-9" }), ("rank", "8-9")),
        ("search_poems", json!({ "query": "歌 round:第9回" }), ("round", "第9回")),
    ] {
        let failure = check(&server, tool, &arguments, 404, "NOT_FOUND");
        let details = json!({ "operation": tool, "resourceType": resource.0, "resourceId": resource.1 });
        assert_eq!(failure["details"], details);
    }
}

#[test]
fn no_index() {
    let server = Server::serve_with(None, &[]);
    for tool in &TOOLS[1..] {
        let failure = check(&server, tool, &arguments(tool), 503, "INDEX_UNAVAILABLE");
        assert_eq!(failure["details"], json!({ "configured": false }));
    }
    assert_eq!(server.send(&call("index_status", &json!({}), &json!({}))).status, 200);
}

#[test]
fn an_archive_that_cannot_be_read() {
    let (server, _collection) = serve(&[("WAKASHU_DRILL", "fault")]);
    for tool in TOOLS {
        let failure = check(&server, tool, &arguments(tool), 500, "TOOL_EXECUTION_ERROR");
        assert!(!failure.to_string().contains("drill"), "the cause stays inside: {failure}");
        let request = failure["details"]["requestId"].as_str().unwrap();
        let log = server.log_with(request);
        let line = log.lines().find(|line| line.contains(request) && line.contains("this is a drill"));
        assert!(line.is_some_and(|line| line.contains("\"level\":\"ERROR\"")), "{log}");
    }
}

#[test]
fn a_tool_that_panics() {
    let (mut server, _collection) = serve(&[("WAKASHU_DRILL", "panic")]);
    for tool in TOOLS {
        let (over_http, over_mcp) = three_ways(&server, tool, &arguments(tool));
        let failure = check_failure(&over_http, 500, "INTERNAL_ERROR");
        assert!(
            server.log_with("a handler panicked").contains(failure["details"]["requestId"].as_str().unwrap())
        );
        for reply in over_mcp {
            assert_eq!((reply.status, reply.code()), (200, -32603), "{tool}");
        }
    }
    assert!(server.is_alive());
}

#[test]
fn a_tool_that_takes_too_long() {
    let gate = CallGate::default();
    let settings = [("WAKASHU_DRILL", gate.setting()), ("WAKASHU_TOOL_TIMEOUT_MS", "30".to_owned())];
    let settings = settings.each_ref().map(|(name, value)| (*name, value.as_str()));
    let (server, _collection) = serve(&settings);
    for tool in TOOLS {
        let _ = check(&server, tool, &arguments(tool), 408, "TIMEOUT");
    }
    assert!(server.log().lines().any(|line| line.contains("WARN") && line.contains("TIMEOUT")));
}
