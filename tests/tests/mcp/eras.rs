//! Which era a message belongs to and what it is answered, row by row of the protocol checklist: its table of eras
//! (numbers 1 to 17) and its table of statuses.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use wakashu_tests::{
    HttpRequest, LEGACY, MODERN, Reply, Server, envelope, legacy, modern, modern_body, post,
};

use super::fixture;

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const SERVED: [&str; 4] = [MODERN, LEGACY, "2025-06-18", "2025-03-26"];

/// What an answer looks like besides its status.
#[derive(Debug, Clone, Copy)]
enum Shape {
    /// A result with what only the modern era has.
    Modern,
    /// A result with nothing of that.
    Legacy,
    /// A JSON-RPC error of this code that repeats the id.
    Error(i64),
    /// A JSON-RPC error of this code, for something that had no readable id.
    ErrorWithoutId(i64),
    /// No body at all.
    Empty,
}
use Shape::{Empty, Error, ErrorWithoutId, Legacy, Modern};

struct Row {
    name: String,
    request: HttpRequest,
    status: u16,
    shape: Shape,
}

fn row(name: impl Into<String>, request: HttpRequest, status: u16, shape: Shape) -> Row {
    Row { name: name.into(), request, status, shape }
}

fn check(server: &Server, rows: Vec<Row>) {
    let mut wrong = Vec::new();
    for Row { name, request, status, shape } in rows {
        let reply = server.send(&request);
        if reply.status != status || !fits(&reply, shape) {
            wrong.push(format!(
                "{name}: expected {status} {shape:?}, found {} {}",
                reply.status,
                String::from_utf8_lossy(&reply.body[..reply.body.len().min(300)])
            ));
        }
        assert!(reply.header("mcp-session-id").is_none(), "{name}: no session is ever given out");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn fits(reply: &Reply, shape: Shape) -> bool {
    if let Empty = shape {
        return reply.body.is_empty();
    }
    let json = reply.json();
    let is_json = reply.header("content-type") == Some("application/json") && json["jsonrpc"] == "2.0";
    let result = &json["result"];
    let modern_keys = ["resultType", "ttlMs", "cacheScope"];
    is_json
        && match shape {
            Modern => {
                json["id"] == 1
                    && result["resultType"] == "complete"
                    && result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "wakashu_mcp_server"
            }
            Legacy => {
                json["id"] == 1
                    && result.is_object()
                    && modern_keys.iter().all(|key| result.get(key).is_none())
                    && result["_meta"].get("io.modelcontextprotocol/serverInfo").is_none()
            }
            Error(code) => json["error"]["code"] == code && json["id"] == 1 && json.get("result").is_none(),
            ErrorWithoutId(code) => json["error"]["code"] == code && json.get("id").is_none(),
            Empty => false,
        }
}

/// A request with exactly these params and, if given, this version header.
fn raw(method: &str, params: &Value, version: Option<&str>) -> HttpRequest {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let request = post(body.to_string()).header("Mcp-Method", method);
    version.into_iter().fold(request, |request, version| request.header("MCP-Protocol-Version", version))
}

/// A modern request whose envelope was changed.
fn changed(change: impl FnOnce(&mut Value)) -> HttpRequest {
    let mut body = modern_body("tools/list", &json!({}));
    change(&mut body["params"]["_meta"]);
    modern("tools/list", &json!({})).body(body.to_string())
}

fn ranking(era: fn(&str, &Value) -> HttpRequest) -> HttpRequest {
    let arguments = json!({ "round_title": "第1回", "rank_range": "1" });
    era("tools/call", &json!({ "name": "get_wakashu_ranking", "arguments": arguments }))
}

fn read(uri: &str) -> HttpRequest {
    modern("resources/read", &json!({ "uri": uri }))
}

fn prompt() -> HttpRequest {
    modern("prompts/get", &json!({ "name": "present_round", "arguments": { "round": "第1回" } }))
}

#[test]
fn rows_1_to_4_a_modern_envelope_is_served_if_it_is_whole() {
    let (server, _collection) = fixture::serve();
    let mut rows = vec![
        row("1 list", modern("tools/list", &json!({})), 200, Modern),
        row("1 call", ranking(modern), 200, Modern),
        row("1 read", read("wakashu://rounds/%E7%AC%AC1%E5%9B%9E"), 200, Modern),
        row("1 read, the name in Base64", read("wakashu://rounds/第1回"), 200, Modern),
        row("1 prompt", prompt(), 200, Modern),
        row("1 discover", modern("server/discover", &json!({})), 200, Modern),
        row(
            "2 no clientInfo",
            changed(|meta| {
                meta.as_object_mut().unwrap().remove("io.modelcontextprotocol/clientInfo");
            }),
            200,
            Modern,
        ),
        row("3 no _meta", raw("tools/list", &json!({}), Some(MODERN)), 400, Error(-32602)),
        row("3 empty _meta", raw("tools/list", &json!({ "_meta": {} }), Some(MODERN)), 400, Error(-32602)),
        row(
            "3 only a progressToken",
            raw("tools/list", &json!({ "_meta": { "progressToken": 1 } }), Some(MODERN)),
            400,
            Error(-32602),
        ),
        row(
            "3 no version",
            changed(|meta| {
                meta.as_object_mut().unwrap().remove(VERSION);
            }),
            400,
            Error(-32602),
        ),
        row(
            "3 no capabilities",
            changed(|meta| {
                meta.as_object_mut().unwrap().remove(CAPABILITIES);
            }),
            400,
            Error(-32602),
        ),
        row(
            "3 capabilities are no object",
            changed(|meta| meta[CAPABILITIES] = json!([])),
            400,
            Error(-32602),
        ),
        row("3 version is no string", changed(|meta| meta[VERSION] = json!(20_260_728)), 400, Error(-32602)),
        row(
            "3 unknown log level",
            changed(|meta| meta["io.modelcontextprotocol/logLevel"] = json!("loud")),
            400,
            Error(-32602),
        ),
        row(
            "3 a log level is taken",
            changed(|meta| meta["io.modelcontextprotocol/logLevel"] = json!("debug")),
            200,
            Modern,
        ),
    ];
    for method in ["server/discover", "subscriptions/listen"] {
        for version in [None, Some(LEGACY), Some(MODERN), Some("2099-01-01")] {
            rows.push(row(
                format!("4 {method} {version:?}"),
                raw(method, &json!({}), version),
                400,
                Error(-32602),
            ));
        }
    }
    check(&server, rows);
    let message =
        server.send(&raw("tools/list", &json!({}), Some(MODERN))).json()["error"]["message"].to_string();
    assert!(message.contains(VERSION) && message.contains(CAPABILITIES), "names what is missing: {message}");
}

#[test]
fn rows_5_to_9_headers_must_agree_with_the_body() {
    let (server, _collection) = fixture::serve();
    let list = || modern("tools/list", &json!({}));
    let body_says = |version: &str| changed(|meta| meta[VERSION] = json!(version));
    let version = |request: HttpRequest, version: &str| request.with("MCP-Protocol-Version", version);
    let mut rows = vec![
        row("5 no version header", list().without("MCP-Protocol-Version"), 400, Error(-32020)),
        row("6 header unknown", version(list(), "v999.0.0"), 400, Error(-32020)),
        row("6 body unknown", body_says("2099-01-01"), 400, Error(-32020)),
        row("6 both unknown and different", version(body_says("v999"), "2099-01-01"), 400, Error(-32020)),
        row("6 two different headers", list().header("MCP-Protocol-Version", LEGACY), 400, Error(-32020)),
        row("6b the same header twice", list().header("MCP-Protocol-Version", MODERN), 200, Modern),
        row("6b the same value joined", version(list(), "2026-07-28, 2026-07-28"), 200, Modern),
        row("6b blanks around it", version(list(), "  2026-07-28 "), 200, Modern),
        row("6b legacy header, no Mcp-Method", version(list(), LEGACY).without("Mcp-Method"), 200, Modern),
        row(
            "6b legacy header, no Mcp-Name",
            version(ranking(modern), LEGACY).without("Mcp-Name"),
            200,
            Modern,
        ),
        row(
            "6b legacy header, wrong Mcp-Method",
            version(list(), LEGACY).with("Mcp-Method", "ping"),
            400,
            Error(-32020),
        ),
        row("7 header = body = v999", version(body_says("v999.0.0"), "v999.0.0"), 400, Error(-32022)),
        row("7 header = body = 2099", version(body_says("2099-01-01"), "2099-01-01"), 400, Error(-32022)),
        row("8 no Mcp-Method", list().without("Mcp-Method"), 400, Error(-32020)),
        row("8 other Mcp-Method", list().with("Mcp-Method", "tools/call"), 400, Error(-32020)),
        row("8 other case", list().with("Mcp-Method", "Tools/List"), 400, Error(-32020)),
        row("8 no Mcp-Name, tool", ranking(modern).without("Mcp-Name"), 400, Error(-32020)),
        row("8 no Mcp-Name, resource", read("wakashu://rounds").without("Mcp-Name"), 400, Error(-32020)),
        row("8 no Mcp-Name, prompt", prompt().without("Mcp-Name"), 400, Error(-32020)),
        row("8 other Mcp-Name, tool", ranking(modern).with("Mcp-Name", "get_poem"), 400, Error(-32020)),
        row(
            "8 other Mcp-Name, resource",
            read("wakashu://rounds").with("Mcp-Name", "wakashu://round"),
            400,
            Error(-32020),
        ),
        row("8 other Mcp-Name, prompt", prompt().with("Mcp-Name", "present"), 400, Error(-32020)),
        row(
            "8 an unknown method needs its header too",
            modern("no/such", &json!({})).without("Mcp-Method"),
            400,
            Error(-32020),
        ),
        row(
            "8 header names in any case",
            list().without("Mcp-Method").header("mCP-mETHOD", "tools/list"),
            200,
            Modern,
        ),
        row("9 unknown method", modern("no/such", &json!({})), 404, Error(-32601)),
    ];
    for other in &SERVED[1..] {
        rows.push(row(format!("6b header {other}"), version(list(), other), 200, Modern));
        rows.push(row(format!("6b header {other}, call"), version(ranking(modern), other), 200, Modern));
    }
    for method in ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"] {
        let params = json!({ "protocolVersion": LEGACY, "uri": "wakashu://rounds", "level": "info" });
        rows.push(row(format!("9 {method}"), modern(method, &params), 404, Error(-32601)));
    }
    check(&server, rows);

    let unsupported = server.send(&version(body_says("2099-01-01"), "2099-01-01")).json();
    assert_eq!(
        unsupported,
        json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -32022, "message": "Unsupported protocol version",
            "data": { "supported": SERVED, "requested": "2099-01-01" } } })
    );
    let discovered = server.send(&modern("server/discover", &json!({}))).result();
    assert_eq!(discovered["supportedVersions"], json!(SERVED), "the same list in both places");
    assert!(
        server.log_with("header_differs").contains("\"header_differs\":true"),
        "a tolerated difference is logged"
    );
}

#[test]
fn a_name_in_base64_is_compared_byte_for_byte() {
    let (server, _collection) = fixture::serve();
    let uri = "wakashu://rounds/第1回/1";
    let named = |name: &str| read(uri).with("Mcp-Name", name);
    let encoded = |text: &str| format!("=?base64?{}?=", STANDARD.encode(text));
    let not_canonical = format!("=?base64?{}?=", STANDARD.encode(uri).trim_end_matches('='));
    let percent = "wakashu://rounds/%E7%AC%AC1%E5%9B%9E/1";
    check(
        &server,
        vec![
            row("right", named(&encoded(uri)), 200, Modern),
            row("another name", named(&encoded("wakashu://rounds/第1回/2")), 400, Error(-32020)),
            row("the percent form of the same", named(percent), 400, Error(-32020)),
            row("percent in body and header", read(percent), 200, Modern),
            row("bad Base64", named("=?base64?!!!?="), 400, Error(-32020)),
            row("padding left out", named(&not_canonical), 400, Error(-32020)),
            row("not UTF-8", named("=?base64?/w==?="), 400, Error(-32020)),
            row(
                "marker in upper case is literal",
                named(&encoded(uri).replace("base64", "BASE64")),
                400,
                Error(-32020),
            ),
            row("no suffix: literal", named(encoded(uri).trim_end_matches("?=")), 400, Error(-32020)),
            row("raw UTF-8 in the header", named(uri), 200, Modern),
        ],
    );
}

#[test]
fn rows_10_to_14_without_an_envelope_a_message_is_legacy() {
    let (server, _collection) = fixture::serve();
    let initialize = |asked: &str, header: Option<&str>| {
        let params = json!({ "protocolVersion": asked, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        raw("initialize", &params, header).without("Mcp-Method")
    };
    for header in [None, Some(MODERN), Some(LEGACY), Some("2099-01-01")] {
        for (asked, agreed) in [
            (MODERN, LEGACY),
            (LEGACY, LEGACY),
            ("2025-06-18", "2025-06-18"),
            ("2025-03-26", "2025-03-26"),
            ("2024-11-05", "2024-11-05"),
            ("2099-01-01", LEGACY),
            ("1.0", LEGACY),
        ] {
            let reply = server.send(&initialize(asked, header));
            let result = reply.result();
            assert_eq!(result["protocolVersion"], agreed, "10 {asked} {header:?}");
            assert_eq!(result["serverInfo"]["name"], "wakashu_mcp_server");
            assert!(fits(&reply, Legacy), "10 {asked} {header:?}: {result}");
        }
    }
    let plain = |version: Option<&str>| raw("tools/list", &json!({}), version).without("Mcp-Method");
    let enveloped = |version: &str| {
        let mut body = modern_body("tools/list", &json!({}));
        body["params"]["_meta"][VERSION] = json!(version);
        post(body.to_string()).header("MCP-Protocol-Version", version)
    };
    let mut rows = vec![
        row("10 initialize without a version", raw("initialize", &json!({}), None), 200, Error(-32602)),
        row("12 no header", plain(None), 200, Legacy),
        row("12 no header, call", ranking(legacy).without("MCP-Protocol-Version"), 200, Legacy),
        row(
            "12 a progress token is no envelope",
            raw("tools/list", &json!({ "_meta": { "progressToken": 7 } }), None),
            200,
            Legacy,
        ),
        row("13 unknown header", plain(Some("2099-01-01")), 400, Error(-32022)),
        row("13 empty header", plain(Some("")), 400, Error(-32022)),
        row(
            "legacy routing headers are not checked",
            plain(Some(LEGACY)).header("Mcp-Method", "wrong").header("Mcp-Name", "wrong"),
            200,
            Legacy,
        ),
        row(
            "a task is ignored",
            legacy("tools/call", &json!({ "name": "index_status", "task": { "ttl": 1 } })),
            200,
            Legacy,
        ),
    ];
    for version in &SERVED[1..] {
        rows.push(row(format!("11 {version}"), plain(Some(version)), 200, Legacy));
        rows.push(row(format!("11 ping {version}"), raw("ping", &json!({}), Some(version)), 200, Legacy));
        rows.push(row(format!("14 {version}"), enveloped(version), 200, Legacy));
    }
    check(&server, rows);
    assert_eq!(server.send(&legacy("ping", &json!({}))).result(), json!({}), "ping is exactly {{}}");
    let unknown = server.send(&plain(Some("2099-01-01"))).json();
    assert_eq!(unknown["error"]["data"], json!({ "supported": SERVED, "requested": "2099-01-01" }));
}

#[test]
fn rows_15_and_16_notifications_are_accepted_and_responses_never_acted_on() {
    let (server, _collection) = fixture::serve();
    let notify = |method: &str| json!({ "jsonrpc": "2.0", "method": method }).to_string();
    let mut rows = Vec::new();
    for method in
        ["notifications/initialized", "notifications/cancelled", "notifications/unknown", "tools/list"]
    {
        for version in [None, Some(LEGACY), Some(MODERN), Some("2099-01-01")] {
            let request = post(notify(method));
            let request = version.into_iter().fold(request, |r, v| r.header("MCP-Protocol-Version", v));
            rows.push(row(format!("15 {method} {version:?}"), request, 202, Empty));
        }
    }
    let enveloped =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "_meta": envelope() } });
    rows.push(row(
        "15 enveloped",
        post(enveloped.to_string()).header("MCP-Protocol-Version", MODERN),
        202,
        Empty,
    ));
    for response in [
        json!({ "jsonrpc": "2.0", "id": 1, "result": {} }),
        json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": 1, "message": "" } }),
    ] {
        let request = post(response.to_string());
        rows.push(row(
            "16 modern",
            request.clone().header("MCP-Protocol-Version", MODERN),
            400,
            ErrorWithoutId(-32600),
        ));
        rows.push(row("16 legacy", request.clone().header("MCP-Protocol-Version", LEGACY), 202, Empty));
        rows.push(row("16 no header", request, 202, Empty));
    }
    check(&server, rows);
}

#[test]
fn row_17_batches_exist_in_one_revision_only() {
    let (server, _collection) = fixture::serve();
    let ping = |id: u32| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let send = |batch: &Value, version: Option<&str>| {
        let request = post(batch.to_string());
        server.send(&version.into_iter().fold(request, |r, v| r.header("MCP-Protocol-Version", v)))
    };
    for version in [None, Some("2025-03-26")] {
        let reply = send(
            &json!([ping(1), note, ping(2), { "jsonrpc": "2.0", "id": 3, "method": "no/such" }, 5]),
            version,
        );
        assert_eq!(reply.status, 200);
        let answers = reply.json();
        assert_eq!(answers[0], json!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
        assert_eq!(answers[1], json!({ "jsonrpc": "2.0", "id": 2, "result": {} }));
        assert_eq!((&answers[2]["id"], &answers[2]["error"]["code"]), (&json!(3), &json!(-32601)));
        assert_eq!((answers[3].get("id"), &answers[3]["error"]["code"]), (None, &json!(-32600)));
        assert_eq!(answers.as_array().unwrap().len(), 4);

        let only_notes = send(&json!([note, note]), version);
        assert_eq!((only_notes.status, only_notes.body.len()), (202, 0));
        assert_eq!(
            send(&json!((0..20).map(ping).collect::<Vec<_>>()), version).json().as_array().unwrap().len(),
            20
        );
    }
    let many: Vec<Value> = (0..21).map(ping).collect();
    let initialize = json!([{ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "protocolVersion": LEGACY } }]);
    let enveloped = json!([ping(1), modern_body("tools/list", &json!({}))]);
    for (name, batch, version) in [
        ("empty", json!([]), None),
        ("21 messages", json!(many), None),
        ("initialize inside", initialize, None),
        ("an envelope inside", enveloped.clone(), None),
        ("an envelope inside, modern header", enveloped, Some(MODERN)),
        ("header 2025-06-18", json!([ping(1)]), Some("2025-06-18")),
        ("header 2025-11-25", json!([ping(1)]), Some(LEGACY)),
        ("header 2026-07-28", json!([ping(1)]), Some(MODERN)),
        ("empty, modern", json!([]), Some(MODERN)),
    ] {
        let reply = send(&batch, version);
        assert_eq!((reply.status, reply.code(), reply.json().get("id")), (400, -32600, None), "{name}");
    }
}

#[test]
fn every_line_of_the_status_table_holds() {
    let (server, _collection) = fixture::serve();
    let both =
        |method: &str, params: Value| [(modern(method, &params), true), (legacy(method, &params), false)];
    let mut rows = Vec::new();
    for (name, method, params, modern_error, legacy_error) in [
        (
            "an isError result",
            "tools/call",
            json!({ "name": "get_poem", "arguments": { "round_title": "99", "rank": 1 } }),
            None,
            None,
        ),
        ("missing arguments", "tools/call", json!({ "name": "get_poem" }), None, None),
        ("unknown tool", "tools/call", json!({ "name": "no_such" }), Some((200, -32602)), Some(-32602)),
        ("tool name is no string", "tools/call", json!({ "name": 7 }), Some((200, -32602)), Some(-32602)),
        (
            "arguments are no object",
            "tools/call",
            json!({ "name": "get_poem", "arguments": [] }),
            Some((200, -32602)),
            Some(-32602),
        ),
        (
            "no such resource",
            "resources/read",
            json!({ "uri": "wakashu://rounds/99" }),
            Some((200, -32602)),
            Some(-32002),
        ),
        (
            "foreign scheme",
            "resources/read",
            json!({ "uri": "file:///etc/passwd" }),
            Some((200, -32602)),
            Some(-32002),
        ),
        ("uri is no string", "resources/read", json!({ "uri": null }), Some((200, -32602)), Some(-32602)),
        ("bad cursor", "resources/list", json!({ "cursor": "x" }), Some((200, -32602)), Some(-32602)),
        (
            "cursor of a list with one page",
            "tools/list",
            json!({ "cursor": "x" }),
            Some((200, -32602)),
            Some(-32602),
        ),
        ("a null cursor is none", "tools/list", json!({ "cursor": null }), None, None),
        ("unknown prompt", "prompts/get", json!({ "name": "no_such" }), Some((200, -32602)), Some(-32602)),
        (
            "prompt argument missing",
            "prompts/get",
            json!({ "name": "present_round" }),
            Some((200, -32602)),
            Some(-32602),
        ),
        (
            "unknown reference",
            "completion/complete",
            json!({ "ref": { "type": "ref/prompt", "name": "x" }, "argument": { "name": "round", "value": "" } }),
            Some((200, -32602)),
            Some(-32602),
        ),
        ("unknown method", "no/such", json!({}), Some((404, -32601)), Some(-32601)),
        ("removed method", "logging/setLevel", json!({ "level": "info" }), Some((404, -32601)), Some(-32601)),
        (
            "undeclared method",
            "resources/subscribe",
            json!({ "uri": "wakashu://rounds" }),
            Some((404, -32601)),
            Some(-32601),
        ),
    ] {
        for (request, is_modern) in both(method, params) {
            let (status, shape) = match (is_modern, modern_error, legacy_error) {
                (true, None, _) => (200, Modern),
                (false, _, None) => (200, Legacy),
                (true, Some((status, code)), _) => (status, Error(code)),
                (false, _, Some(code)) => (200, Error(code)),
            };
            rows.push(row(format!("{name}, modern: {is_modern}"), request, status, shape));
        }
    }
    check(&server, rows);
    let missing = server.send(&read("wakashu://rounds/99")).json();
    assert_eq!(
        missing["error"]["data"],
        json!({ "uri": "wakashu://rounds/99" }),
        "the address and nothing else"
    );
}

#[test]
fn without_an_archive_the_protocol_works_and_says_what_is_missing() {
    let nothing = Server::serve_with(None, &[]);
    let lost = Server::serve_with(Some("/nowhere/poems.wakashu".as_ref()), &[]);
    for (server, state) in [(&nothing, "NOT_CONFIGURED"), (&lost, "UNAVAILABLE")] {
        for request in [modern("tools/list", &json!({})), legacy("tools/list", &json!({}))] {
            let tools = server.send(&request).result()["tools"].clone();
            assert_eq!(tools.as_array().unwrap().len(), 1, "only the status is left: {tools}");
            assert_eq!(tools[0]["name"], "index_status");
        }
        assert!(server.send(&modern("tools/list", &json!({}))).result()["ttlMs"].as_u64().unwrap() <= 60_000);
        let status = server.send(&legacy("tools/call", &json!({ "name": "index_status" })));
        assert_eq!(status.result()["structuredContent"]["state"], state);
        assert!(!status.is_tool_error());
        // A hidden tool says why; it does not vanish.
        let hidden = server.send(&ranking(legacy));
        assert!(hidden.is_tool_error() && hidden.texts()[0].contains("index_status"), "{:?}", hidden.texts());
        let rows = vec![
            row("resources are none", modern("resources/list", &json!({})), 200, Modern),
            row("templates stay", modern("resources/templates/list", &json!({})), 200, Modern),
            row("prompts stay", legacy("prompts/list", &json!({})), 200, Legacy),
            row("read, modern", read("wakashu://rounds"), 200, Error(-32603)),
            row(
                "read, legacy",
                legacy("resources/read", &json!({ "uri": "wakashu://rounds" })),
                200,
                Error(-32603),
            ),
            row("prompt", prompt(), 200, Error(-32603)),
        ];
        check(server, rows);
        assert_eq!(server.get("/").json()["index"]["state"], state);
        assert_eq!(server.get("/pictures/1/1").status, 503);
    }
}
