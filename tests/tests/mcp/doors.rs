//! What surrounds the messages: paths, methods, headers, hosts and origins over HTTP; lines over stdio.

use serde_json::{Value, json};
use wakashu_tests::{
    CallGate, Collection, HttpRequest, LEGACY, Pictures, Server, Stdio, call, legacy, legacy_body, modern,
    modern_body, poem, post,
};

use super::fixture;

#[test]
fn the_endpoint_takes_post_and_says_so_to_every_other_method() {
    let (server, _collection) = fixture::serve();
    for method in ["GET", "DELETE", "PUT", "HEAD", "PATCH", "OPTIONS", "TRACE", "PROPFIND", "BREW"] {
        let request = HttpRequest::new(method, "/mcp").header("Accept", "text/event-stream");
        let reply = server.send(&request);
        assert_eq!((reply.status, reply.header("allow")), (405, Some("POST")), "{method}");
        assert_eq!(server.send(&legacy("ping", &json!({}))).status, 200, "after {method}");
    }
}

#[test]
fn every_other_path_is_not_found() {
    let (server, _collection) = fixture::serve();
    for path in [
        "/.well-known/oauth-authorization-server",
        "/.well-known/oauth-authorization-server/mcp",
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/openid-configuration",
        "/.well-known/openid-configuration/mcp",
        "/register",
        "/authorize",
        "/token",
        "/mcp/",
        "/mcp/x",
        "/mcp/.well-known/openid-configuration",
        "/MCP",
        "//mcp",
        "/sse",
        "/messages",
        "/pictures",
        "/pictures/",
        "/pictures/1",
        "/pictures/1/1/1",
        "/..%2f..%2fetc/passwd",
        "/../../etc/passwd",
        "/%00",
    ] {
        for method in ["GET", "POST", "DELETE", "HEAD"] {
            let reply = server.send(&HttpRequest::new(method, path));
            assert_eq!(reply.status, 404, "{method} {path}");
            assert!(reply.header("www-authenticate").is_none(), "{method} {path}");
            assert!(!reply.text().contains('<'), "no page: {}", reply.text());
        }
    }
}

#[test]
fn the_health_page_says_what_is_served() {
    let (server, _collection) = fixture::serve();
    let health = server.get("/").json();
    assert_eq!((&health["status"], &health["index"]["state"]), (&json!("ok"), &json!("READY")));
    assert_eq!(health["index"]["digest"].as_str().unwrap().len(), 64);
    assert_eq!((server.get("/health").status, &health["ready"]), (200, &json!(true)));
    let empty = Server::serve_with(None, &[]);
    for (path, status) in [("/", 200), ("/health", 503)] {
        let reply = empty.get(path);
        let health = reply.json();
        assert_eq!((reply.status, &health["ready"]), (status, &json!(false)), "{path}");
        assert_eq!(health["reason"], "no archive is configured");
    }
    for method in ["POST", "DELETE", "PUT"] {
        let reply = server.send(&HttpRequest::new(method, "/"));
        assert_eq!((reply.status, reply.header("allow")), (405, Some("GET, HEAD")), "{method}");
    }
}

#[test]
fn any_accept_header_is_answered_with_json() {
    let (server, _collection) = fixture::serve();
    for accept in
        [None, Some("*/*"), Some("application/json"), Some("text/event-stream"), Some("text/html"), Some("")]
    {
        for request in [legacy("tools/list", &json!({})), modern("tools/list", &json!({}))] {
            let request = request.without("Accept");
            let request =
                accept.into_iter().fold(request, |request, accept| request.header("Accept", accept));
            let reply = server.send(&request);
            assert_eq!(
                (reply.status, reply.header("content-type")),
                (200, Some("application/json")),
                "{accept:?}"
            );
        }
    }
}

#[test]
fn only_json_is_taken_as_json() {
    let (server, _collection) = fixture::serve();
    let ping = || legacy("ping", &json!({})).without("Content-Type");
    for (kind, status) in [
        ("application/json", 200),
        ("application/json; charset=utf-8", 200),
        ("Application/JSON ;charset=UTF-8", 200),
        ("application/jsonp", 415),
        ("application/json-patch+json", 415),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data; boundary=x", 415),
        ("", 415),
    ] {
        assert_eq!(server.send(&ping().header("Content-Type", kind)).status, status, "{kind}");
    }
    assert_eq!(server.send(&ping()).status, 200, "a client that says nothing is believed");
}

#[test]
fn a_foreign_session_id_changes_nothing() {
    let (server, _collection) = fixture::serve();
    for request in [legacy("tools/list", &json!({})), modern("tools/list", &json!({}))] {
        let plain = server.send(&request);
        let reply = server.send(&request.header("Mcp-Session-Id", "stale-1868").header("Last-Event-ID", "7"));
        assert_eq!((reply.status, &reply.body), (200, &plain.body));
        assert!(reply.header("mcp-session-id").is_none());
    }
}

#[test]
fn only_this_machine_is_answered_unless_told_otherwise() {
    let collection = fixture::collection();
    let local = Server::serve(&collection.write());
    let open = Server::serve_with(
        Some(&collection.write()),
        &[
            ("WAKASHU_ALLOWED_HOSTS", "poems.example.org"),
            ("WAKASHU_ALLOWED_ORIGINS", "https://app.example.org"),
        ],
    );
    for (host, origin, locally, openly) in [
        ("localhost", None, 200, 200),
        ("127.0.0.1:3000", None, 200, 200),
        ("[::1]:3000", None, 200, 200),
        ("LocalHost", None, 200, 200),
        ("evil.example", None, 403, 403),
        ("localhost.evil.example", None, 403, 403),
        ("localhost@evil.example", None, 403, 403),
        ("", None, 403, 403),
        ("poems.example.org", None, 403, 200),
        ("poems.example.org:8443", None, 403, 200),
        ("localhost", Some("http://localhost:5173"), 200, 200),
        ("localhost", Some("http://127.0.0.1"), 200, 200),
        ("localhost", Some("http://[::1]:1"), 200, 200),
        ("localhost", Some("null"), 403, 403),
        ("localhost", Some(""), 403, 403),
        ("localhost", Some("https://evil.example"), 403, 403),
        ("localhost", Some("http://localhost.evil.example"), 403, 403),
        ("localhost", Some("https://app.example.org"), 403, 200),
        ("localhost", Some("https://app.example.org.evil.example"), 403, 403),
        ("localhost", Some("http://evil.example, http://localhost"), 403, 403),
    ] {
        for (server, expected) in [(&local, locally), (&open, openly)] {
            let with = |request: HttpRequest| {
                let request = request.header("Host", host);
                origin.into_iter().fold(request, |request, origin| request.header("Origin", origin))
            };
            for request in [
                legacy("ping", &json!({})),
                HttpRequest::new("GET", "/"),
                HttpRequest::new("GET", "/pictures/1/1"),
            ] {
                let target = request.target.clone();
                // Any page may show a picture; a host that is not ours gets none.
                let is_shown = target.starts_with("/pictures") && host == "localhost";
                let expected = if is_shown { 200 } else { expected };
                assert_eq!(server.send(&with(request)).status, expected, "{target} {host} {origin:?}");
            }
            // A client that may not ask learns nothing, not even which methods there are.
            let other = server.send(&with(HttpRequest::new("GET", "/mcp"))).status;
            assert_eq!(other, if expected == 200 { 405 } else { 403 }, "{host} {origin:?}");
        }
    }
    let two_hosts = legacy("ping", &json!({})).header("Host", "localhost").header("Host", "localhost");
    assert!(matches!(local.send(&two_hosts).status, 400 | 403));
}

#[test]
fn pictures_are_served_with_lasting_links_and_conditional_requests() {
    let (server, _collection) = fixture::serve();
    let path = "/pictures/%E7%AC%AC1%E5%9B%9E/1";
    let large = server.get(path);
    assert_eq!(large.status, 200);
    assert_eq!(large.body, wakashu_tests::picture_bytes(1, 3, 900));
    assert_eq!(large.header("content-type"), Some("image/png"));
    assert_eq!(large.header("cache-control"), Some("public, max-age=300"));
    assert_eq!(large.header("x-content-type-options"), Some("nosniff"));
    let etag = large.header("etag").unwrap().to_owned();

    let hash = &etag[1..17];
    assert_eq!(
        server.get(&format!("{path}?v={hash}")).header("cache-control"),
        Some("public, max-age=31536000, immutable")
    );
    assert_eq!(
        server.get(&format!("{path}?v=0000000000000000")).header("cache-control"),
        Some("public, max-age=300")
    );

    let head = server.send(&HttpRequest::new("HEAD", path));
    assert_eq!(
        (head.status, head.header("content-length"), head.header("etag")),
        (200, Some("900"), Some(etag.as_str()))
    );
    for known in [etag.clone(), format!("W/{etag}"), format!("\"other\", {etag}"), "*".to_owned()] {
        let reply = server.send(&HttpRequest::new("GET", path).header("If-None-Match", &known));
        assert_eq!(
            (reply.status, reply.body.len(), reply.header("etag")),
            (304, 0, Some(etag.as_str())),
            "{known}"
        );
    }
    assert_eq!(server.send(&HttpRequest::new("GET", path).header("If-None-Match", "\"other\"")).status, 200);

    assert_eq!(server.get(&format!("{path}?rendition=small")).body, wakashu_tests::picture_bytes(1, 1, 300));
    assert_eq!(server.get(&format!("{path}?rendition=medium")).body, wakashu_tests::picture_bytes(1, 2, 600));
    assert_eq!(server.get("/pictures/1/1").body, large.body, "any way to write the title");
    for (target, status) in
        [("?rendition=huge", 400), ("?rendition=original", 404), ("?rendition=..%2f", 400)]
    {
        assert_eq!(server.get(&format!("{path}{target}")).status, status, "{target}");
    }
    for target in [
        "/pictures/1/0",
        "/pictures/1/01",
        "/pictures/1/99",
        "/pictures/1/-1",
        "/pictures/1/1.png",
        "/pictures/1/x",
        "/pictures/1/99999999999999999999",
        "/pictures/2/4",
        "/pictures/99/1",
        "/pictures/..%2f..%2fetc/1",
        "/pictures/%2e%2e/1",
        "/pictures/1/%2e%2e%2fpasswd",
    ] {
        assert_eq!(server.get(target).status, 404, "{target}");
    }
    assert_eq!(server.get("/pictures/%ff%fe/1").status, 400, "not UTF-8");
    let post = server.send(&HttpRequest::new("POST", path));
    assert_eq!((post.status, post.header("allow")), (405, Some("GET, HEAD")));
}

#[test]
fn a_line_of_the_log_tells_what_was_asked_and_not_what_was_said() {
    let (server, _collection) = fixture::serve();
    let _ = server.send(&call("get_wakashu_ranking", &json!({ "round_title": "第1回", "rank_range": "1" })));
    let _ = server.send(&post("{"));
    let _ = server.send(&call("get_poem", &json!({ "round_title": "ひみつの回", "rank": 1 })));
    let log = server.log_with("NOT_FOUND");
    let line = log.lines().find(|line| line.contains("\"get_wakashu_ranking\"")).unwrap();
    let line: Value = serde_json::from_str(line).unwrap();
    for field in ["time", "level", "request", "method", "tool", "era", "status", "bytes", "ms", "archive"] {
        assert!(line.get(field).is_some(), "{field} in {line}");
    }
    assert_eq!(
        (&line["method"], &line["era"], &line["status"]),
        (&json!("tools/call"), &json!(LEGACY), &json!(200))
    );
    let refused = log.lines().find(|line| line.contains("-32700")).unwrap();
    let refused: Value = serde_json::from_str(refused).unwrap();
    assert_eq!((&refused["method"], refused.get("era")), (&json!("mcp"), None), "{refused}");
    assert!(!log.contains("番目の歌") && !log.contains("ひみつ"), "no text of poems or callers: {log}");
}

/// `by-date` is also where rounds are found by their days.
#[test]
fn a_round_may_be_called_by_date() {
    let pictures = Some(Pictures { small: 300, medium: 300, large: 300 });
    let collection = Collection::default().round("by-date").entry(poem(1, pictures));
    let server = Server::serve(&collection.write());
    let read = |uri: &str| server.send(&legacy("resources/read", &json!({ "uri": uri })));
    assert!(read("wakashu://rounds/by-date/1/picture").result()["contents"][0]["blob"].is_string());
    assert!(read("wakashu://rounds/by-date/2025/2026").result()["contents"][0]["text"].is_string());
}

#[test]
fn every_request_leaves_one_line_in_the_log() {
    let (server, _collection) = fixture::serve();
    let asked = [
        (HttpRequest::new("GET", "/"), "health", 200, None),
        (HttpRequest::new("GET", "/pictures/1/1"), "pictures", 200, None),
        (HttpRequest::new("GET", "/pictures/1/99"), "pictures", 404, None),
        (HttpRequest::new("POST", "/pictures/1/1"), "pictures", 405, Some("METHOD")),
        (HttpRequest::new("GET", "/v1/tools"), "v1/tools", 200, None),
        (HttpRequest::new("GET", "/v1/nowhere"), "v1", 404, None),
        (HttpRequest::new("GET", &format!("/none{}?himitsu", "x".repeat(99))), "other", 404, None),
        (HttpRequest::new("GET", "/").with("Host", "evil.example"), "health", 403, Some("HOST")),
        (
            HttpRequest::new("GET", "/none").header("Origin", "https://evil.example"),
            "other",
            403,
            Some("ORIGIN"),
        ),
        (HttpRequest::new("GET", "/mcp"), "mcp", 405, Some("METHOD")),
        (legacy("ping", &json!({})), "ping", 200, None),
        (legacy("ping", &json!({})).with("Host", "evil.example"), "mcp", 403, Some("HOST")),
        (legacy("ping", &json!({})).header("Origin", "https://evil.example"), "mcp", 403, Some("ORIGIN")),
        (legacy("ping", &json!({})).with("Content-Type", "text/plain"), "mcp", 415, Some("CONTENT_TYPE")),
    ];
    for (request, ..) in &asked {
        let _ = server.send(request);
    }
    let log = server.log_with("CONTENT_TYPE");
    let lines: Vec<Value> = log
        .lines()
        .filter(|line| line.contains("\"status\":"))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let seen: Vec<_> = lines
        .iter()
        .map(|line| {
            (line["method"].as_str().unwrap_or_default(), line["status"].as_u64(), line["error"].as_str())
        })
        .collect();
    let expected: Vec<_> =
        asked.iter().map(|(_, method, status, error)| (*method, Some(*status), *error)).collect();
    assert_eq!(seen, expected);
    for field in ["time", "level", "request", "method", "status", "bytes", "ms", "archive"] {
        assert!(lines.iter().all(|line| line.get(field).is_some()), "{field}: {log}");
    }
    let paths: Vec<_> = lines.iter().filter_map(|line| line["path"].as_str()).collect();
    assert_eq!(paths, ["/v1/nowhere", &format!("/none{}", "x".repeat(59))], "what was asked for, cut short");
    assert!(!log.contains("himitsu") && !log.contains("evil"), "no text of callers: {log}");
}

#[test]
fn a_stopped_server_finishes_what_is_under_way_and_waits_for_nobody_else() {
    let collection = fixture::collection();
    let gate = CallGate::default();
    let mut server = Server::serve_with(Some(&collection.write()), &[("WAKASHU_DRILL", &gate.setting())]);
    let mut slow = server.connect();
    let question = json!({ "round_title": "第1回", "rank_range": "1-3" });
    slow.send(&call("get_wakashu_ranking", &question).bytes()).unwrap();
    let held = gate.next();
    let mut silent = server.connect();
    let mut half = server.connect();
    half.send(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Ty").unwrap();
    let mut idle = server.connect();
    idle.send(&legacy("ping", &json!({})).bytes()).unwrap();
    assert_eq!(idle.receive().unwrap().status, 200);

    let killed =
        std::process::Command::new("kill").args(["-TERM", &server.id().to_string()]).status().unwrap();
    assert!(killed.success());
    for (name, connection) in [("idle", &mut idle), ("silent", &mut silent), ("half a head", &mut half)] {
        assert!(connection.is_closed(), "{name}");
    }
    drop(held);
    let reply = slow.receive().expect("the answer under way");
    assert_eq!((reply.texts().is_empty(), reply.pictures().len()), (false, 3), "all of it");
    assert!(slow.is_closed());
    assert!(server.wait().success());
    let log = server.log();
    assert!(log.contains("\"get_wakashu_ranking\""), "the last line is written too: {log}");
    assert!(!log.contains("still under way"), "{log}");
}

#[test]
fn stdio_answers_whatever_comes_first() {
    let collection = fixture::collection();
    let archive = collection.write();
    for (first, expected) in [
        (modern_body("server/discover", &json!({})), "supportedVersions"),
        (modern_body("tools/list", &json!({})), "tools"),
        (legacy_body("tools/list", &json!({})), "tools"),
        (legacy_body("initialize", &json!({ "protocolVersion": LEGACY })), "serverInfo"),
    ] {
        let mut stdio = Stdio::start(&archive);
        let answer = stdio.ask(&first);
        assert!(answer["result"].get(expected).is_some(), "{answer}");
        assert_eq!(answer["id"], 1);
    }
    let mut stdio = Stdio::start(&archive);
    assert_eq!(
        stdio.ask(&legacy_body("ping", &json!({}))),
        json!({ "jsonrpc": "2.0", "id": 1, "result": {} })
    );
}

#[test]
fn stdio_classifies_each_line_by_itself_and_ends_with_its_input() {
    let collection = fixture::collection();
    let mut stdio = Stdio::start(&collection.write());
    stdio.send("");
    stdio.send("   ");
    stdio.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
    assert_eq!(stdio.ask(&modern_body("tools/list", &json!({})))["result"]["resultType"], "complete");
    assert!(stdio.ask(&legacy_body("tools/list", &json!({})))["result"].get("resultType").is_none());
    assert_eq!(stdio.ask(&modern_body("ping", &json!({})))["error"]["code"], -32601);
    assert_eq!(stdio.ask(&legacy_body("server/discover", &json!({})))["error"]["code"], -32602);
    stdio.send(json!({ "jsonrpc": "2.0", "id": 1, "result": {} }).to_string());
    let after_response = json!({ "jsonrpc": "2.0", "id": 9, "method": "ping" });
    assert_eq!(stdio.ask(&after_response)["id"], 9, "a response is never answered");

    stdio.send("{\"jsonrpc\":\"2.0\",\"id\":1,");
    assert_eq!(stdio.receive().unwrap()["error"]["code"], -32700);
    stdio.send(b"\xff\xfe");
    assert_eq!(stdio.receive().unwrap()["error"]["code"], -32700);
    stdio.send("x".repeat(3 << 20));
    assert_eq!(stdio.receive().unwrap()["error"]["code"], -32600);
    assert_eq!(stdio.ask(&legacy_body("ping", &json!({})))["result"], json!({}), "and the next line works");

    stdio.end_input();
    assert_eq!(stdio.receive(), None);
    assert!(stdio.wait().success());
}

#[test]
fn stdio_takes_batches_only_after_agreeing_to_the_revision_that_has_them() {
    let collection = fixture::collection();
    let mut stdio = Stdio::start(&collection.write());
    let batch = json!([legacy_body("ping", &json!({}))]);
    assert_eq!(stdio.ask(&batch)["error"]["code"], -32600);
    let agreed = stdio.ask(&legacy_body("initialize", &json!({ "protocolVersion": "2025-03-26" })));
    assert_eq!(agreed["result"]["protocolVersion"], "2025-03-26");
    assert_eq!(stdio.ask(&batch)[0]["result"], json!({}));
    let agreed = stdio.ask(&legacy_body("initialize", &json!({ "protocolVersion": LEGACY })));
    assert_eq!(agreed["result"]["protocolVersion"], LEGACY);
    assert_eq!(stdio.ask(&batch)["error"]["code"], -32600);
}

#[test]
fn stdio_answers_everything_that_was_asked_before_the_input_ended() {
    let collection = fixture::collection();
    let mut stdio = Stdio::start(&collection.write());
    for id in 0..100 {
        let params = json!({ "name": "get_wakashu_ranking", "arguments": { "round_title": "1" } });
        stdio.send(
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string(),
        );
    }
    stdio.end_input();
    let mut ids: Vec<u64> =
        std::iter::from_fn(|| stdio.receive()).map(|answer| answer["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..100).collect::<Vec<_>>());
    assert!(stdio.wait().success());
}

#[test]
fn picture_links_follow_the_public_address_and_stdio_has_none() {
    let collection = fixture::collection();
    let archive = collection.write();
    let arguments = json!({ "round_title": "第1回", "rank_range": "1" });
    let public = Server::serve_with(Some(&archive), &[("WAKASHU_PUBLIC_URL", "https://poems.example.org/")]);
    let text = public.send(&call("get_wakashu_ranking", &arguments)).texts().remove(0);
    assert!(text.contains("\n画像: https://poems.example.org/pictures/%E7%AC%AC1%E5%9B%9E/1?v="), "{text}");

    let mut stdio = Stdio::start(&archive);
    let params = json!({ "name": "get_wakashu_ranking", "arguments": arguments });
    let answer = stdio.ask(&legacy_body("tools/call", &params));
    assert!(!answer["result"]["content"][0]["text"].as_str().unwrap().contains("画像: http"), "{answer}");
    assert_eq!(answer["result"]["content"][1]["type"], "image");
}

#[test]
fn a_posted_body_may_come_in_chunks() {
    let (server, _collection) = fixture::serve();
    let body = legacy_body("ping", &json!({})).to_string();
    let (one, two) = body.split_at(10);
    let chunked = format!("{:x}\r\n{one}\r\n{:x};note=1\r\n{two}\r\n0\r\n\r\n", one.len(), two.len());
    let reply = server.send(&post(chunked).header("Transfer-Encoding", "chunked"));
    assert_eq!(reply.result(), json!({}));
}
