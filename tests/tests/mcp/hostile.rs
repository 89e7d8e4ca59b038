//! Bad input of every kind, byte by byte: each gets a clear refusal within a second, tells nothing of the machine, and
//! the next good request works.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wakashu_tests::{
    Connection, HttpRequest, LEGACY, Pictures, Reply, Server, Stdio, call, check_answer, legacy, legacy_body,
    modern, poem, post,
};

use super::fixture;

/// How long a refusal may take: less than any deadline of the server, so that one that waited for a deadline is noticed.
const AT_ONCE: Duration = Duration::from_secs(9);

fn ping() -> HttpRequest {
    legacy("ping", &json!({}))
}

/// Runs `attempt` and checks that it waits for none of the server's deadlines.
fn quickly<T>(name: &str, attempt: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let outcome = attempt();
    assert!(started.elapsed() < AT_ONCE, "{name} took {:?}", started.elapsed());
    outcome
}

/// Sends bytes as they are and returns the answer, if there is one.
fn exchange(server: &Server, name: &str, bytes: &[u8]) -> Option<Reply> {
    exchange_and(server, name, bytes, false)
}

/// Sends bytes as they are, says that there are no more, and returns the answer, if there is one.
fn exchange_cut(server: &Server, name: &str, bytes: &[u8]) -> Option<Reply> {
    exchange_and(server, name, bytes, true)
}

fn exchange_and(server: &Server, name: &str, bytes: &[u8], is_cut: bool) -> Option<Reply> {
    let reply = quickly(name, || {
        let mut connection = server.connect();
        // A server may close before it has read all of a hopeless request.
        let _ = connection.send(bytes);
        if is_cut {
            connection.finish_sending();
        }
        connection.receive()
    });
    if let Some(reply) = &reply {
        check_answer(&reply.body);
    }
    assert_eq!(server.send(&ping()).status, 200, "after {name}");
    reply
}

fn refused(server: &Server, name: &str, bytes: &[u8]) -> Reply {
    let reply = exchange(server, name, bytes).unwrap_or_else(|| panic!("{name}: no answer"));
    assert!((400..500).contains(&reply.status), "{name}: {}", reply.status);
    reply
}

#[test]
fn what_is_no_json_is_a_parse_error() {
    let (server, _collection) = fixture::serve();
    let deep = |open: &str, depth: usize| open.repeat(depth);
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("empty", vec![]),
        ("blanks", b" \r\n\t ".to_vec()),
        ("cut", br#"{"jsonrpc":"2.0","id":1,"method":"ping""#.to_vec()),
        ("trailing", br#"{"jsonrpc":"2.0","id":1,"method":"ping"}}"#.to_vec()),
        ("two values", br#"{"jsonrpc":"2.0","id":1,"method":"ping"}{}"#.to_vec()),
        ("a comma too many", br#"{"jsonrpc":"2.0","id":1,"method":"ping",}"#.to_vec()),
        ("single quotes", b"{'jsonrpc':'2.0'}".to_vec()),
        ("not a number", br#"{"jsonrpc":"2.0","id":NaN,"method":"ping"}"#.to_vec()),
        ("a comment", b"/* hello */ {}".to_vec()),
        ("a form", b"a=b&c=d".to_vec()),
        ("a page", b"<html></html>".to_vec()),
        ("a BOM", b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}".to_vec()),
        ("UTF-16", b"\xff\xfe{\0}\0".to_vec()),
        ("not UTF-8", b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\xffng\"}".to_vec()),
        ("overlong UTF-8", b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\xc0\xafng\"}".to_vec()),
        ("a raw line end in a string", b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\nng\"}".to_vec()),
        ("NUL", vec![0; 1000]),
        ("noise", (0..=255).cycle().take(10_000).collect()),
        ("10,000 open arrays", deep("[", 10_000).into_bytes()),
        ("100,000 open arrays", deep("[", 100_000).into_bytes()),
        ("10,000 open objects", deep("{\"a\":", 10_000).into_bytes()),
        ("100,000 open objects", deep("{\"a\":", 100_000).into_bytes()),
    ];
    for (name, body) in cases {
        let reply = refused(&server, name, &post(body.clone()).bytes());
        assert_eq!((reply.status, reply.code()), (400, -32700), "{name}");
        let modern = refused(&server, name, &post(body).header("MCP-Protocol-Version", "2026-07-28").bytes());
        assert_eq!((modern.status, modern.code()), (400, -32700), "{name}");
    }
}

#[test]
fn json_that_is_no_message_is_an_invalid_request() {
    let (server, _collection) = fixture::serve();
    let long_id = "9".repeat(257);
    for body in [
        "null",
        "true",
        "0",
        "1e999",
        "\"ping\"",
        "{}",
        "[1]",
        r#"{"jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
        r#"{"id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":[],"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":null}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":["ping"]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}"#,
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
        &format!(r#"{{"jsonrpc":"2.0","id":{long_id},"method":"ping"}}"#),
        &format!(r#"{{"jsonrpc":"2.0","id":"{long_id}","method":"ping"}}"#),
    ] {
        let reply = refused(&server, body, &post(body).header("MCP-Protocol-Version", LEGACY).bytes());
        assert_eq!((reply.status, reply.code()), (400, -32600), "{body}");
    }
}

#[test]
fn deep_nesting_anywhere_is_answered() {
    let (server, _collection) = fixture::serve();
    let mut stdio = Stdio::start(&fixture::collection().write());
    assert!(stdio.ask(&legacy_body("ping", &json!({})))["result"].is_object());
    for depth in [10_000, 100_000] {
        let arrays = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let objects = format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
        for (nested, kind) in [(&arrays, "arrays"), (&objects, "objects")] {
            for (place, body) in [
                ("the body", nested.clone()),
                ("id", format!(r#"{{"jsonrpc":"2.0","id":{nested},"method":"ping"}}"#)),
                ("method", format!(r#"{{"jsonrpc":"2.0","id":1,"method":{nested}}}"#)),
                ("params", format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{nested}}}"#)),
                (
                    "_meta",
                    format!(
                        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{nested}}}}}"#
                    ),
                ),
                (
                    "arguments",
                    format!(
                        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"get_poem","arguments":{nested}}}}}"#
                    ),
                ),
                (
                    "an argument",
                    format!(
                        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"get_poem","arguments":{{"round_title":{nested},"rank":1}}}}}}"#
                    ),
                ),
                (
                    "uri",
                    format!(
                        r#"{{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{{"uri":{nested}}}}}"#
                    ),
                ),
                (
                    "ref",
                    format!(
                        r#"{{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{{"ref":{nested},"argument":{{"name":"x","value":"y"}}}}}}"#
                    ),
                ),
                (
                    "an unknown field",
                    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","extra":{nested}}}"#),
                ),
            ] {
                let name = format!("{depth} {kind} as {place}");
                let reply =
                    exchange(&server, &name, &post(body).header("MCP-Protocol-Version", LEGACY).bytes());
                let reply = reply.unwrap_or_else(|| panic!("{name}: no answer"));
                assert!(matches!(reply.status, 200 | 400), "{name}: {}", reply.status);
                assert!(matches!(reply.code(), 0 | -32600 | -32602), "{name}: {}", reply.code());
            }
        }
        stdio.send(&arrays);
        assert_eq!(stdio.receive().unwrap()["error"]["code"], -32600);
    }
    assert!(stdio.ask(&legacy_body("ping", &json!({})))["result"].is_object());
}

/// Values of every kind, to be put where they do not belong.
fn every_kind() -> Vec<Value> {
    vec![
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(1e300),
        json!(u64::MAX),
        json!(""),
        json!("x"),
        json!("\u{0}\u{7f}\u{202e}\u{feff}"),
        json!("あ".repeat(5_000)),
        json!([]),
        json!(["第1回"]),
        json!({}),
        json!({ "round_title": "第1回" }),
    ]
}

#[test]
fn wrong_types_everywhere_are_refused_and_never_a_fault_of_ours() {
    let (server, _collection) = fixture::serve();
    let reference = json!({ "type": "ref/prompt", "name": "present_round" });
    let argument = json!({ "name": "round", "value": "" });
    let arguments = |tool: &str, arguments: Value| {
        ("tools/call", json!({ "name": tool, "arguments": arguments }), "/arguments")
    };
    let mut tried = 0;
    for (method, good, inside) in [
        ("tools/list", json!({ "cursor": null }), ""),
        ("tools/call", json!({ "name": "index_status", "arguments": {} }), ""),
        arguments("index_status", json!({ "x": null })),
        arguments(
            "list_rounds",
            json!({ "start_date": null, "end_date": null, "limit": null, "cursor": null }),
        ),
        arguments(
            "get_wakashu_ranking",
            json!({ "round_title": "1", "rank_range": "1", "pictures": "none" }),
        ),
        arguments("get_poem", json!({ "round_title": "1", "rank": 1 })),
        arguments("search_poems", json!({ "query": "歌", "limit": 1, "cursor": null })),
        ("resources/list", json!({ "cursor": null }), ""),
        ("resources/read", json!({ "uri": "wakashu://rounds" }), ""),
        ("resources/templates/list", json!({ "cursor": null }), ""),
        ("prompts/list", json!({ "cursor": null }), ""),
        ("prompts/get", json!({ "name": "present_round", "arguments": { "round": "1" } }), ""),
        (
            "prompts/get",
            json!({ "name": "compare_poems", "arguments": { "round": "1", "rank": "1", "other_rank": "2", "other_round": "1" } }),
            "/arguments",
        ),
        ("completion/complete", json!({ "ref": reference, "argument": argument, "context": {} }), ""),
        ("completion/complete", json!({ "ref": reference, "argument": argument }), "/ref"),
        ("completion/complete", json!({ "ref": reference, "argument": argument }), "/argument"),
        (
            "completion/complete",
            json!({ "ref": reference, "argument": argument, "context": { "arguments": {} } }),
            "/context",
        ),
        ("initialize", json!({ "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {} }), ""),
    ] {
        assert_ne!(server.send(&legacy(method, &good)).status, 500, "{method}");
        let fields: Vec<String> =
            good.pointer(inside).unwrap().as_object().unwrap().keys().cloned().collect();
        for field in fields {
            for value in every_kind() {
                let mut params = good.clone();
                params.pointer_mut(inside).unwrap()[&field] = value.clone();
                let name = format!(
                    "{method} {inside}/{field} = {}",
                    value.to_string().chars().take(40).collect::<String>()
                );
                let reply = quickly(&name, || server.send(&legacy(method, &params)));
                let code = reply.code();
                assert!(
                    reply.status == 200 && matches!(code, 0 | -32602 | -32002),
                    "{name}: {} {code}",
                    reply.status
                );
                tried += 1;
            }
        }
    }
    for key in ["protocolVersion", "clientCapabilities", "clientInfo", "logLevel"] {
        for value in every_kind() {
            let mut body = wakashu_tests::modern_body("tools/list", &json!({}));
            body["params"]["_meta"][format!("io.modelcontextprotocol/{key}")] = value.clone();
            let reply = server.send(&modern("tools/list", &json!({})).body(body.to_string()));
            assert!(
                matches!(reply.code(), 0 | -32602 | -32020 | -32022),
                "{key} = {value}: {}",
                reply.text()
            );
            tried += 1;
        }
    }
    assert!(tried > 500, "{tried}");
    assert_eq!(server.send(&ping()).status, 200);
}

#[test]
fn strings_that_look_like_paths_find_nothing() {
    let (server, _collection) = fixture::serve();
    for title in [
        "../../../../etc/passwd",
        "..\\..\\windows\\win.ini",
        "/etc/passwd",
        "file:///etc/passwd",
        "%2e%2e%2fetc%2fpasswd",
        "第1回/../第2回",
        "第1回\u{0}",
        "~root",
        "C:\\",
        "${jndi:ldap://x}",
        "'; DROP TABLE rounds;--",
        "<script>",
        "*",
        ".",
        "\u{202e}回1第",
        "第1回\n第2回/x",
        "{{7*7}}",
    ] {
        for (tool, arguments) in [
            ("get_wakashu_ranking", json!({ "round_title": title })),
            ("get_poem", json!({ "round_title": title, "rank": 1 })),
        ] {
            let reply = server.send(&call(tool, &arguments));
            assert!(reply.is_tool_error(), "{title}");
            let text = &reply.texts()[0];
            assert!(text.starts_with("指定された回のデータは見つかりませんでした。"), "{title}: {text}");
            assert!(
                !text.contains("passwd") && !text.contains("script"),
                "what was asked is not repeated: {text}"
            );
        }
        let uri = format!("wakashu://rounds/{title}/1");
        assert_eq!(server.send(&legacy("resources/read", &json!({ "uri": uri }))).code(), -32002, "{title}");
    }
    for target in [
        "/pictures/../../etc/passwd",
        "/pictures/..%2f..%2f..%2fetc%2fpasswd/1",
        "/pictures/%2e%2e/%2e%2e",
        "/pictures/1/..%2f2",
        "/pictures/%00/1",
        "/pictures/1/1%00",
        "/pictures/C:%5c/1",
        "/pictures//1",
    ] {
        let reply = quickly(target, || server.get(target));
        assert!(matches!(reply.status, 400 | 404), "{target}: {}", reply.status);
    }
}

#[test]
fn bodies_over_the_limit_are_refused_while_they_arrive() {
    let (server, _collection) = fixture::serve();
    let mebibyte = 1 << 20;
    let filled = |length: usize| {
        let body = legacy_body("ping", &json!({})).to_string();
        body.clone() + &" ".repeat(length - body.len())
    };
    for (length, status) in [(mebibyte - 1, 200), (mebibyte, 200), (mebibyte + 1, 413), (10 * mebibyte, 413)]
    {
        let body = filled(length);
        let sized = exchange(&server, "sized", &ping().body(body.clone()).bytes()).expect("an answer");
        assert_eq!(sized.status, status, "{length} bytes with a Content-Length");
        let mut chunks = String::new();
        for part in body.as_bytes().chunks(60_000) {
            chunks.extend([&format!("{:x}", part.len()), "\r\n", str::from_utf8(part).unwrap(), "\r\n"]);
        }
        let chunked = ping().header("Transfer-Encoding", "chunked").body(chunks + "0\r\n\r\n");
        let chunked = exchange(&server, "chunked", &chunked.bytes()).expect("an answer");
        assert_eq!(chunked.status, status, "{length} bytes in chunks");
    }
    // Who announces too much is not asked to send it.
    let announced = ping().body("").header("Content-Length", "10485760").header("Expect", "100-continue");
    let mut connection = server.connect();
    connection.send(&announced.bytes()).unwrap();
    assert_eq!(connection.receive().expect("an answer").status, 413);
    assert_eq!(server.send(&ping()).status, 200);
}

#[test]
fn cut_and_badly_framed_bodies_are_refused() {
    let (server, _collection) = fixture::serve();
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n");
    for (name, bytes) in [
        ("cut by half", format!("{head}Content-Length: 100\r\n\r\n{{\"jsonrpc\":")),
        ("nothing of it", format!("{head}Content-Length: 100\r\n\r\n")),
        ("a chunk cut", format!("{chunked}20\r\n{{\"jsonrpc\"")),
        ("no last chunk", format!("{chunked}2\r\n{{}}\r\n")),
        ("a chunk size that is no number", format!("{chunked}zz\r\n{{}}\r\n0\r\n\r\n")),
        ("a negative chunk size", format!("{chunked}-2\r\n{{}}\r\n0\r\n\r\n")),
        ("an endless chunk size", format!("{chunked}{}\r\n{{}}\r\n0\r\n\r\n", "f".repeat(100))),
        ("a chunk longer than it says", format!("{chunked}1\r\n{{}}\r\n0\r\n\r\n")),
        ("a negative length", format!("{head}Content-Length: -1\r\n\r\n{{}}")),
        ("a length that is no number", format!("{head}Content-Length: two\r\n\r\n{{}}")),
        ("two lengths", format!("{head}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{{}}")),
        ("an unknown encoding", format!("{head}Transfer-Encoding: gzip\r\n\r\n{{}}")),
    ] {
        let reply = exchange_cut(&server, name, bytes.as_bytes());
        let status = reply.map(|reply| reply.status);
        assert!(matches!(status, Some(400 | 411 | 413 | 501)), "{name}: {status:?}");
    }
}

#[test]
fn what_is_no_http_is_refused() {
    let (server, _collection) = fixture::serve();
    let line = |line: &str| format!("{line}\r\nHost: localhost\r\n\r\n");
    for (name, bytes) in [
        ("noise", b"\x00\x01\x02\x03\x04\x05\r\n\r\n".to_vec()),
        ("a TLS hello", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n".to_vec()),
        ("an HTTP/2 preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec()),
        ("HTTP/9.9", line("GET / HTTP/9.9").into_bytes()),
        ("no version", line("GET /").into_bytes()),
        ("a space in the target", line("GET /a b HTTP/1.1").into_bytes()),
        ("a header without a colon", b"GET / HTTP/1.1\r\nHost: localhost\r\nnonsense\r\n\r\n".to_vec()),
        (
            "a header with a control character",
            b"GET / HTTP/1.1\r\nHost: localhost\r\nX: \x01\r\n\r\n".to_vec(),
        ),
        ("a folded header", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n".to_vec()),
        ("a huge header", line(&format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(1 << 20))).into_bytes()),
        ("a thousand headers", line(&format!("GET / HTTP/1.1{}", "\r\nX: y".repeat(1_000))).into_bytes()),
        ("a huge target", line(&format!("GET /{} HTTP/1.1", "x".repeat(1 << 20))).into_bytes()),
        ("no Host", b"POST /mcp HTTP/1.1\r\nContent-Length: 0\r\n\r\n".to_vec()),
        ("HTTP/1.0 without Host", b"GET / HTTP/1.0\r\n\r\n".to_vec()),
    ] {
        match exchange_cut(&server, name, &bytes) {
            // Closed without a word is what a stranger to HTTP gets.
            None => {}
            Some(reply) => assert!((400..500).contains(&reply.status), "{name}: {}", reply.status),
        }
    }
    let long_but_fine = HttpRequest::new("GET", &format!("/pictures/{}/1", "x".repeat(8_000)));
    assert_eq!(server.send(&long_but_fine).status, 404);
}

#[test]
fn old_and_eager_clients_are_served() {
    let (server, _collection) = fixture::serve();
    let body = legacy_body("ping", &json!({})).to_string();
    let old = format!(
        "POST /mcp HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut connection = server.connect();
    connection.send(old.as_bytes()).unwrap();
    assert_eq!(connection.receive().unwrap().result(), json!({}));
    assert!(connection.is_closed(), "HTTP/1.0 closes");

    let mut connection = server.connect();
    let pipelined: Vec<u8> = (0..50)
        .flat_map(|id| post(json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }).to_string()).bytes())
        .collect();
    connection.send(&pipelined).unwrap();
    for id in 0..50 {
        assert_eq!(connection.receive().unwrap().json()["id"], id, "answers come in order");
    }
    // A refusal in between does not spoil the connection.
    for request in
        [ping(), HttpRequest::new("GET", "/mcp"), post("{"), HttpRequest::new("GET", "/nowhere"), ping()]
    {
        connection.send(&request.bytes()).unwrap();
        assert!(connection.receive().is_some(), "{request:?}");
    }
}

#[test]
fn slow_clients_hold_up_nobody_and_are_let_go() {
    let collection = fixture::collection().round("絵巻").entries(
        (1..=3).map(|rank| poem(rank, Some(Pictures { small: 1_000, medium: 2_000, large: 240_000 }))),
    );
    let server = Server::serve(&collection.write());
    // Between two ticks of the server's clock, which began with it: that is when it is furthest behind.
    std::thread::sleep(Duration::from_millis(600));
    let started = Instant::now();
    let half_a_head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Ty";
    let half_a_body = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{";
    let open = |bytes: &[u8]| -> Connection {
        let mut connection = server.connect();
        connection.send(bytes).unwrap();
        connection
    };
    let mut slow_heads: Vec<Connection> = (0..100).map(|_| open(half_a_head)).collect();
    let mut slow_bodies: Vec<Connection> = (0..100).map(|_| open(half_a_body)).collect();
    let silent: Vec<Connection> = (0..100).map(|_| server.connect()).collect();
    // These ask for much and read nothing of it.
    let ask = call("get_wakashu_ranking", &json!({ "round_title": "絵巻" })).bytes();
    let deaf: Vec<Connection> = (0..50).map(|_| open(&ask.repeat(3))).collect();
    for _ in 0..20 {
        assert_eq!(quickly("another client", || server.send(&ping())).status, 200);
    }

    // One drips on and on: the deadline is for the whole body, not for each byte.
    let dripping = open(half_a_body);
    let dripped = std::thread::spawn(move || {
        let mut dripping = dripping;
        let a_minute = Duration::from_mins(1);
        while started.elapsed() < a_minute && dripping.send(b" ").is_ok() {
            std::thread::sleep(Duration::from_millis(200));
        }
        started.elapsed() < a_minute
    });
    for connection in &mut slow_bodies {
        let reply = connection.receive().expect("an answer");
        assert_eq!(reply.status, 408);
        check_answer(&reply.body);
    }
    assert!(started.elapsed() >= Duration::from_secs(9), "bodies have ten seconds: {:?}", started.elapsed());
    for connection in &mut slow_heads {
        if let Some(reply) = connection.receive() {
            assert_eq!(reply.status, 408);
        }
    }
    // The server counts in seconds, and begins with the one that has begun.
    assert!(
        started.elapsed() >= Duration::from_secs(14),
        "heads have fifteen seconds: {:?}",
        started.elapsed()
    );
    assert!(dripped.join().unwrap(), "dripping does not help");
    assert_eq!(quickly("afterwards", || server.send(&ping())).status, 200);
    drop((silent, deaf));
    assert_eq!(server.send(&ping()).status, 200);
}
