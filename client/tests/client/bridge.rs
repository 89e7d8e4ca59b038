//! The bridge, with real servers over sockets and pipes, and a host at its other side.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::{Reply, WebServer, program};
use http::HeaderMap;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, split,
};
use tokio::time::timeout;
use wakashu_client::bridge::Bridge;
use wakashu_client::link::Link;
use wakashu_client::link::child::ChildLink;
use wakashu_client::link::http::HttpLink;
use wakashu_client::rules::Rules;

/// A host that is connected to a bridge.
struct Host {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    input: WriteHalf<DuplexStream>,
    bridge: tokio::task::JoinHandle<std::io::Result<()>>,
}

impl Host {
    fn to(
        link: impl FnOnce(tokio::sync::mpsc::Sender<wakashu_client::chain::Chain>) -> Arc<dyn Link>,
    ) -> Self {
        Self::through(Bridge::new().with_patience(Duration::from_secs(20)), link)
    }

    fn through(
        bridge: Bridge,
        link: impl FnOnce(tokio::sync::mpsc::Sender<wakashu_client::chain::Chain>) -> Arc<dyn Link>,
    ) -> Self {
        let (host, ours) = tokio::io::duplex(1 << 20);
        let link = link(bridge.inbox());
        let (read, write) = split(ours);
        let bridge = tokio::spawn(bridge.run(link, read, write));
        let (read, input) = split(host);
        Self { lines: BufReader::new(read).lines(), input, bridge }
    }

    fn to_web(server: &WebServer) -> Self {
        Self::to(|inbox| Arc::new(HttpLink::new(&server.url, HeaderMap::new(), inbox).unwrap()))
    }

    fn to_program(flags: &[&str]) -> Self {
        let program = program(flags);
        Self::to(|inbox| Arc::new(ChildLink::new(program, inbox)))
    }

    async fn say(&mut self, line: &str) {
        self.input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    async fn hear(&mut self) -> String {
        let line = timeout(Duration::from_secs(30), self.lines.next_line()).await;
        line.expect("an answer in time").unwrap().expect("a line")
    }

    async fn ask(&mut self, line: &str) -> Value {
        self.say(line).await;
        serde_json::from_str(&self.hear().await).unwrap()
    }

    /// Closes the host's side; returns what else was said.
    async fn end(mut self) -> Vec<String> {
        self.input.shutdown().await.unwrap();
        let mut rest = Vec::new();
        timeout(Duration::from_secs(30), self.bridge).await.expect("an end in time").unwrap().unwrap();
        while let Some(line) = self.lines.next_line().await.unwrap() {
            rest.push(line);
        }
        rest
    }
}

const CALL: &str =
    r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","arguments":{"x":1,"x":2}}}"#;
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"h","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

#[tokio::test]
async fn bytes_out_are_bytes_in_but_for_line_breaks() {
    let answers = [
        r#"{"jsonrpc":"2.0","id":7,"result":{"a":1.0,"b":1e400,"c":12345678901234567890123,"d":"\ud800","e":1,"e":2}}"#,
        "{\r\n  \"result\" : { \"text\" : \"\\u3042\" } ,\n\t\"id\":7}\r\n",
        r#"{"error":{"code":-1,"message":"no","data":[1.50]},"id":7,"jsonrpc":"2.0"}"#,
    ];
    for answer in answers {
        let server = WebServer::start(move |_, _| Reply::json(answer)).await;
        let mut host = Host::to_web(&server);
        host.say(CALL).await;
        assert_eq!(host.hear().await, answer.replace(['\r', '\n'], " "));
        assert_eq!(host.end().await, [""; 0]);
        assert_eq!(server.seen()[0].body["params"]["arguments"], json!({"x": 2}));
    }
}

#[tokio::test]
async fn answers_get_the_id_of_their_request() {
    let server = WebServer::start(|_, _| {
        Reply::status(
            "400 Bad Request",
            "Content-Type: application/json\r\n",
            r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"no"}}"#,
        )
    })
    .await;
    let mut host = Host::to_web(&server);
    let answer = host.ask(CALL).await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(7), &json!(-32600)));
}

#[tokio::test]
async fn an_answer_cut_at_any_byte_is_one_error_and_never_half_a_line() {
    const ANSWER: &str = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"歌"}]}}"#;
    let framings = [
        Reply::json(ANSWER).parts.remove(0).1,
        format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{ANSWER}").into_bytes(),
        format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{ANSWER}\r\n0\r\n\r\n", ANSWER.len()).into_bytes(),
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {ANSWER}\n\n").into_bytes(),
    ];
    for whole in framings {
        let length = whole.len();
        let server = WebServer::start(move |_, before| Reply {
            parts: vec![(0, whole[..before.min(length)].to_vec())],
            closes: true,
        })
        .await;
        let mut host = Host::to_web(&server);
        let (mut whole_ones, mut errors) = (0, 0);
        for cut in 0..=length {
            let answer = host.ask(CALL).await;
            assert_eq!(answer["id"], json!(7));
            if let Some(error) = answer.get("error") {
                assert_eq!(error["data"]["retryable"], json!(true), "{cut}: {answer}");
                errors += 1;
            } else {
                assert_eq!(answer["result"]["content"][0]["text"], "歌");
                whole_ones += 1;
            }
        }
        assert!(whole_ones >= 1 && errors + whole_ones == length + 1);
        assert_eq!(host.end().await, [""; 0]);
        // Nothing was sent twice: a tool may do anything.
        assert_eq!(server.seen().len(), length + 1);
    }
}

#[tokio::test]
async fn events_keep_their_order_and_the_answer_ends_them() {
    let server = WebServer::start(|_, _| {
        let progress = |step| (5, format!(r#"data: {{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":1,"progress":{step}}}}}"#));
        let answer = (5, "event: message\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":7,\"result\":{}}".to_owned());
        let after = (5, "data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"second\":true}}".to_owned());
        Reply::events(&[progress(1), (0, ": alive".to_owned()), progress(2), answer, after])
    })
    .await;
    let mut host = Host::to_web(&server);
    host.say(CALL).await;
    assert!(host.hear().await.contains(r#""progress":1"#));
    assert!(host.hear().await.contains(r#""progress":2"#));
    assert_eq!(host.hear().await, r#"{"jsonrpc":"2.0", "id":7,"result":{}}"#);
    assert_eq!(host.end().await, [""; 0]);
}

#[tokio::test]
async fn a_stream_that_ends_early_is_taken_up_where_it_ended() {
    let server =
        WebServer::start(|arrived, _| match (arrived.method.as_str(), arrived.header("last-event-id")) {
            ("POST", _) => Reply::events(&[(0, "id: 41\nretry: 20\ndata: ".to_owned())]),
            ("GET", Some("41")) => Reply::events(&[(
                0,
                "data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"late\":true}}".to_owned(),
            )]),
            other => panic!("{other:?}"),
        })
        .await;
    let mut host = Host::to_web(&server);
    assert_eq!(host.ask(CALL).await["result"]["late"], json!(true));
}

/// As a server does that never has the answer, and a new place to go on from every time.
#[tokio::test]
async fn a_stream_that_always_ends_early_is_given_up() {
    let server =
        WebServer::start(|_, before| Reply::events(&[(0, format!("id: {before}\nretry: 0\ndata: "))])).await;
    let bridge = Bridge::new().with_patience(Duration::from_secs(1));
    let mut host =
        Host::through(bridge, |inbox| Arc::new(HttpLink::new(&server.url, HeaderMap::new(), inbox).unwrap()));
    assert_eq!(host.ask(CALL).await["error"]["data"]["code"], "CONNECTION_LOST");
    let asked = server.seen().len();
    assert!((2..=15).contains(&asked), "{asked}");
}

#[tokio::test]
async fn a_lost_session_is_opened_anew_unseen() {
    for (status, body) in [
        ("404 Not Found", ""),
        (
            "400 Bad Request",
            r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID"},"id":null}"#,
        ),
        ("400 Bad Request", "Invalid session"),
    ] {
        let server = WebServer::start(move |arrived, before| match (arrived.rpc(), arrived.header("mcp-session-id")) {
            ("initialize", None) => {
                let headers = format!("Content-Type: application/json\r\nMcp-Session-Id: s{before}\r\n");
                Reply::status("200 OK", &headers, r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}"#)
            }
            ("tools/call", Some("s0")) => Reply::status(status, "Content-Type: application/json\r\n", body),
            ("tools/call", Some(_)) => {
                assert_eq!(arrived.header("mcp-protocol-version"), Some("2025-06-18"));
                Reply::json(r#"{"jsonrpc":"2.0","id":7,"result":{"found":true}}"#)
            }
            ("", _) => Reply::status("405 Method Not Allowed", "", ""),
            _ => Reply::accepted(),
        })
        .await;
        let mut host = Host::to_web(&server);
        assert_eq!(host.ask(INITIALIZE).await["result"]["protocolVersion"], "2025-06-18");
        host.say(INITIALIZED).await;
        assert_eq!(host.ask(CALL).await["result"]["found"], json!(true), "{status}");
        let posts: Vec<String> = server.methods().into_iter().filter(|method| !method.is_empty()).collect();
        let expected = [
            "initialize",
            "notifications/initialized",
            "tools/call",
            "initialize",
            "notifications/initialized",
            "tools/call",
        ];
        assert_eq!(posts, expected);
        assert_eq!(host.end().await, [""; 0]);
    }
}

#[tokio::test]
async fn other_answers_are_errors_that_say_what_to_do() {
    const REFUSED: &str = "CONNECTION_FAILED";
    for (status, headers, body, code, part) in [
        ("200 OK", "Content-Type: text/html", "<html>", REFUSED, "not the address of an MCP endpoint"),
        ("200 OK", "Content-Type: application/json\r\nContent-Encoding: gzip", "x", REFUSED, "compressed"),
        ("401 Unauthorized", "WWW-Authenticate: Bearer", "", "PERMISSION_DENIED", "wants `Bearer`"),
        ("429 Too Many Requests", "Server: a", "", "RATE_LIMIT_EXCEEDED", "429"),
        ("503 Service Unavailable", "Server: a", "down", REFUSED, "503"),
        ("500 Internal Server Error", "Server: a", "", "EXECUTION_FAILED", "500"),
        ("307 Temporary Redirect", "Location: http://127.0.0.2:1/mcp", "", REFUSED, "another origin"),
        ("308 Permanent Redirect", "Location: /mcp", "", REFUSED, "more than 3 times"),
    ] {
        let reply = Reply::status(status, &format!("{headers}\r\n"), body);
        let server = WebServer::start(move |_, _| reply.clone()).await;
        let mut host = Host::to_web(&server);
        let answer = host.ask(CALL).await;
        assert_eq!(answer["error"]["data"]["code"], code, "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(part), "{answer}");
    }
}

#[tokio::test]
async fn a_redirect_within_the_origin_is_followed_and_reads_are_repeated() {
    let server = WebServer::start(|arrived, before| match (arrived.path.as_str(), before) {
        ("/mcp", _) => Reply::status("307 Temporary Redirect", "Location: /mcp/\r\n", ""),
        (_, 1) => Reply::status("503 Service Unavailable", "Retry-After: 0\r\n", ""),
        _ => Reply::json(r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#),
    })
    .await;
    let mut host = Host::to_web(&server);
    let answer = host.ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
    assert_eq!(answer["result"]["tools"], json!([]));
    assert_eq!(server.seen().len(), 4);
}

#[tokio::test]
async fn a_server_that_names_a_time_is_asked_again_then() {
    const SOON: &str =
        "Date: Tue, 17 Nov 1987 23:59:59 GMT\r\nRetry-After: Wed, 18 Nov 1987 00:00:00 GMT\r\n";
    const LATER: &str =
        "Date: Tue, 17 Nov 1987 23:59:59 GMT\r\nRetry-After: Wed, 18 Nov 1987 01:00:00 GMT\r\n";
    for (when, requests, least) in [(SOON, 2, Duration::from_secs(1)), (LATER, 1, Duration::ZERO)] {
        let server = WebServer::start(move |_, before| match before {
            0 => Reply::status("429 Too Many Requests", when, ""),
            _ => Reply::json(r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#),
        })
        .await;
        let mut host = Host::to_web(&server);
        let started = Instant::now();
        let answer = host.ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
        assert_eq!(
            (answer.get("result").is_some(), server.seen().len()),
            (requests == 2, requests),
            "{answer}"
        );
        assert!(started.elapsed() >= least);
    }
}

#[tokio::test]
async fn modern_requests_carry_the_headers_that_repeat_them() {
    const TOOLS: &str = r#"{"resultType":"complete","tools":[{"name":"詠む","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}},{"name":"bad","inputSchema":{"properties":{"n":{"type":"number","x-mcp-header":"N"}}}}]}"#;
    let server = WebServer::start(|arrived, _| {
        let result = match arrived.rpc() {
            "server/discover" => {
                r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#
            }
            "tools/list" => TOOLS,
            _ => "{}",
        };
        Reply::json(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, arrived.body["id"]))
    })
    .await;
    let mut host = Host::to_web(&server);
    // This host does not probe, so the bridge does.
    let list =
        host.ask(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{{META}}}}}"#)).await;
    assert_eq!(list["result"]["tools"].as_array().unwrap().len(), 1);
    host.ask(&format!(r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"詠む","arguments":{{"region":"京"}},{META}}}}}"#)).await;
    assert_eq!(server.methods(), ["server/discover", "tools/list", "tools/call"]);
    let call = &server.seen()[2];
    assert_eq!(call.header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!(call.header("mcp-method"), Some("tools/call"));
    assert_eq!(call.header("mcp-name"), Some("=?base64?6Kmg44KA?="));
    assert_eq!(call.header("mcp-param-region"), Some("=?base64?5Lqs?="));
}

#[tokio::test]
async fn a_cancelled_request_is_not_answered_and_the_server_is_told() {
    let server = WebServer::start(|arrived, _| match arrived.rpc() {
        "tools/call" => Reply { parts: vec![(60_000, Vec::new())], closes: true },
        "ping" => Reply::json(r#"{"jsonrpc":"2.0","id":8,"result":{}}"#),
        _ => Reply::accepted(),
    })
    .await;
    let mut host = Host::to_web(&server);
    host.say(CALL).await;
    while server.seen().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    host.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#).await;
    assert_eq!(host.ask(r#"{"jsonrpc":"2.0","id":8,"method":"ping"}"#).await["id"], json!(8));
    while !server
        .seen()
        .iter()
        .any(|seen| seen.rpc() == "notifications/cancelled" && seen.body["params"]["requestId"] == json!(7))
    {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(host.end().await, [""; 0]);
}

/// Servers that stream say every quarter of a minute that they are there, whatever their tool does.
#[tokio::test]
async fn a_server_that_only_says_that_it_is_alive_runs_out_of_time() {
    let server = WebServer::start(|arrived, _| match arrived.rpc() {
        "tools/call" => {
            let mut events = vec![(100, ": alive".to_owned()); 100];
            events.push((0, r#"data: {"jsonrpc":"2.0","id":7,"result":{}}"#.to_owned()));
            Reply::events(&events)
        }
        "tools/list" => {
            let mut parts = vec![(0, b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n".to_vec())];
            parts.extend(vec![(100, b" ".to_vec()); 100]);
            parts.push((0, br#"{"jsonrpc":"2.0","id":8,"result":{}}"#.to_vec()));
            Reply { parts, closes: true }
        }
        _ => Reply::accepted(),
    })
    .await;
    let bridge = Bridge::new()
        .with_patience(Duration::from_millis(500))
        .with_retry(wakashu_client::policy::RetryPolicy::never());
    let mut host =
        Host::through(bridge, |inbox| Arc::new(HttpLink::new(&server.url, HeaderMap::new(), inbox).unwrap()));
    assert_eq!(host.ask(CALL).await["error"]["data"]["code"], "TIMEOUT");
    // What trickles is no better.
    let trickled = host.ask(r#"{"jsonrpc":"2.0","id":8,"method":"tools/list"}"#).await;
    assert_eq!(trickled["error"]["data"]["code"], "TIMEOUT");
    // The server is told.
    while !server.methods().contains(&"notifications/cancelled".to_owned()) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(host.end().await, [""; 0]);
}

/// A large answer on a slow line is on its way for longer than a server may be silent.
#[tokio::test]
async fn a_long_answer_has_as_long_as_it_comes() {
    let answer = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"text":"{}"}}}}"#, "a".repeat(400_000));
    let expected = answer.clone();
    let server = WebServer::start(move |_, before| {
        let (head, body) = match before {
            0 => ("application/json", answer.clone()),
            _ => ("text/event-stream", format!("data: {answer}\n\n")),
        };
        let mut parts = vec![(0, format!("HTTP/1.1 200 OK\r\nContent-Type: {head}\r\n\r\n").into_bytes())];
        parts.extend(body.as_bytes().chunks(40_000).map(|piece| (150, piece.to_vec())));
        Reply { parts, closes: true }
    })
    .await;
    let bridge = Bridge::new().with_patience(Duration::from_secs(1));
    let mut host =
        Host::through(bridge, |inbox| Arc::new(HttpLink::new(&server.url, HeaderMap::new(), inbox).unwrap()));
    for _ in 0..2 {
        host.say(CALL).await;
        assert!(host.hear().await == expected);
    }
}

#[tokio::test]
async fn a_greeting_that_the_server_does_not_take_holds_nothing_up() {
    let server = WebServer::start(|arrived, _| match arrived.rpc() {
        "notifications/initialized" => Reply { parts: vec![(600_000, Vec::new())], closes: true },
        "initialize" => Reply::json(
            r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}"#,
        ),
        _ => Reply::json(r#"{"jsonrpc":"2.0","id":8,"result":{}}"#),
    })
    .await;
    let bridge = Bridge::new().with_patience(Duration::from_mins(10));
    let mut host =
        Host::through(bridge, |inbox| Arc::new(HttpLink::new(&server.url, HeaderMap::new(), inbox).unwrap()));
    host.ask(INITIALIZE).await;
    host.say(INITIALIZED).await;
    assert_eq!(host.ask(r#"{"jsonrpc":"2.0","id":8,"method":"ping"}"#).await["result"], json!({}));
    assert_eq!(host.end().await, [""; 0]);
}

/// What a legacy server says by itself is heard again after its server, or the way to it, was gone for a while.
#[tokio::test]
async fn a_stream_of_the_servers_own_is_taken_up_until_it_is_there() {
    const CHANGED: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let gets = std::sync::atomic::AtomicUsize::new(0);
    let server = WebServer::start(move |arrived, _| match (arrived.method.as_str(), arrived.rpc()) {
        ("GET", _) => match gets.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
            0 => Reply::events(&[(0, "retry: 0".to_owned())]),
            1 => Reply { parts: vec![(0, Vec::new())], closes: true },
            2 => Reply::status("503 Service Unavailable", "", ""),
            _ => Reply::events(&[(0, format!("data: {CHANGED}")), (60_000, ": alive".to_owned())]),
        },
        (_, "initialize") => {
            let headers = "Content-Type: application/json\r\nMcp-Session-Id: s\r\n";
            let said =
                r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}"#;
            Reply::status("200 OK", headers, said)
        }
        _ => Reply::accepted(),
    })
    .await;
    let mut host = Host::to_web(&server);
    host.ask(INITIALIZE).await;
    host.say(INITIALIZED).await;
    assert_eq!(host.hear().await, CHANGED);
}

/// A legacy host does not know of the subscription that is held for it, and of its end.
#[tokio::test]
async fn a_subscription_for_a_legacy_host_is_opened_again() {
    let server = WebServer::start(|arrived, before| {
        let id = &arrived.body["id"];
        match arrived.rpc() {
            "initialize" => Reply::json(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32022,"message":"no"}}}}"#)),
            "server/discover" => Reply::json(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{{"tools":{{"listChanged":true}}}}}}}}"#)),
            "subscriptions/listen" if before < 3 => Reply::events(&[(0, ": alive".to_owned())]),
            "subscriptions/listen" => Reply::events(&[(60_000, ": alive".to_owned())]),
            _ => Reply::accepted(),
        }
    })
    .await;
    let mut host = Host::to_web(&server);
    assert_eq!(host.ask(INITIALIZE).await["result"]["protocolVersion"], "2025-06-18");
    // What was missed meanwhile may be anything.
    assert_eq!(host.hear().await, r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#);
    assert_eq!(
        server.methods(),
        ["initialize", "server/discover", "subscriptions/listen", "subscriptions/listen"]
    );
    assert_eq!(host.end().await, [""; 0]);
}

#[tokio::test]
async fn messages_that_are_none_are_refused_with_their_id() {
    let server = WebServer::start(|_, _| panic!("nothing may arrive")).await;
    let mut host = Host::to_web(&server);
    for (line, id, code) in [
        ("nonsense", Value::Null, -32700),
        (r#"{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}"#, Value::Null, -32600),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}"#,
            json!(1),
            -32600,
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"x":1,"x":2}}}"#, json!(1), -32600),
    ] {
        let answer = host.ask(line).await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(code)), "{line}");
    }
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_legacy_host_talks_to_a_modern_server_and_the_other_way_round() {
    let mut host = Host::to_program(&["modern"]);
    let greeting = host.ask(INITIALIZE).await;
    assert_eq!(greeting["result"]["protocolVersion"], "2025-06-18");
    host.say(INITIALIZED).await;
    assert_eq!(host.ask(r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#).await["result"], json!({}));
    let echo = host.ask(r#"{"jsonrpc":"2.0","id":"e","method":"tools/call","params":{"name":"echo","arguments":{"text":"歌"}}}"#).await;
    assert_eq!(
        (&echo["id"], &echo["result"]["content"][0]["text"]),
        (&json!("e"), &json!(r#"{"text":"歌"}"#))
    );
    assert_eq!(host.end().await, [""; 0]);

    for flags in [["legacy", ""], ["legacy", "exits"]] {
        let mut host = Host::to_program(&flags);
        let discovered = host
            .ask(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{{{META}}}}}"#))
            .await;
        assert_eq!(
            discovered["result"]["supportedVersions"],
            json!(["2026-07-28"]),
            "{flags:?}: {discovered}"
        );
        let list = host
            .ask(&format!(r#"{{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{{{META}}}}}"#))
            .await;
        assert_eq!(
            (&list["result"]["resultType"], &list["result"]["ttlMs"]),
            (&json!("complete"), &json!(0))
        );
        let echo = host.ask(&format!(r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"a"}},{META}}}}}"#)).await;
        assert_eq!(echo["result"]["resultType"], "complete");
        assert_eq!(host.end().await, [""; 0]);
    }
}

/// The bridge as a program, with pipes and with sockets, which is what hosts of Node give it.
#[tokio::test]
async fn a_bridge_on_standard_input_and_output_ends_with_its_host() {
    let answer = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"text":"{}"}}}}"#, "歌".repeat(100_000));
    let expected = answer.clone();
    let server = WebServer::start(move |_, _| Reply::json(&answer)).await;
    for with_sockets in [false, true] {
        let mut command = tokio::process::Command::new(crate::support::fixture());
        command.args(["bridge", &server.url]);
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        if with_sockets {
            let theirs_too = theirs.try_clone().unwrap();
            command.stdin(std::os::fd::OwnedFd::from(theirs)).stdout(std::os::fd::OwnedFd::from(theirs_too));
        } else {
            drop(theirs);
            command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        }
        let mut child = command.spawn().unwrap();
        drop(command);
        let (mut input, output): (wakashu_client::bridge::Output, wakashu_client::bridge::Input) =
            if with_sockets {
                ours.set_nonblocking(true).unwrap();
                let (read, write) = tokio::net::UnixStream::from_std(ours).unwrap().into_split();
                (Box::new(write), Box::new(read))
            } else {
                (Box::new(child.stdin.take().unwrap()), Box::new(child.stdout.take().unwrap()))
            };
        let mut lines = BufReader::new(output).lines();
        for _ in 0..3 {
            input.write_all(format!("{CALL}\n").as_bytes()).await.unwrap();
            assert_eq!(lines.next_line().await.unwrap().as_ref(), Some(&expected));
        }
        input.shutdown().await.unwrap();
        drop(input);
        let status = timeout(Duration::from_secs(10), child.wait()).await.expect("an end in time").unwrap();
        assert!(status.success());
    }
}

#[tokio::test]
async fn tools_that_are_not_allowed_are_neither_listed_nor_run() {
    let server = WebServer::start(|arrived, _| {
        let result = r#"{ "tools":[{"name":"shell","n":1.0},{"name":"read","n":1.0}] }"#;
        Reply::json(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, arrived.body["id"]))
    })
    .await;
    let rules = Rules { allow: Vec::new(), deny: vec!["sh*".to_owned()] };
    let mut host = Host::through(Bridge::new().with_rules(rules), |inbox| {
        Arc::new(HttpLink::new(&server.url, HeaderMap::new(), inbox).unwrap())
    });
    host.say(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
    assert_eq!(
        host.hear().await,
        r#"{"jsonrpc":"2.0","id":1,"result":{ "tools":[{"name":"read","n":1.0}] }}"#
    );
    let refused =
        host.ask(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"shell"}}"#).await;
    assert_eq!(refused["error"]["data"]["code"], "CANNOT_EXECUTE", "{refused}");
    assert_eq!(server.methods(), ["tools/list"]);
}

/// A host may call a tool whose definition it knows from before; the bridge has not seen it.
#[tokio::test]
async fn a_tool_whose_marks_are_not_known_is_looked_up_once_its_server_complains() {
    let server = WebServer::start(|arrived, _| {
        let id = &arrived.body["id"];
        let answer = |result: &str| Reply::json(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
        match (arrived.rpc(), arrived.header("mcp-param-region")) {
            ("server/discover", _) => answer(r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#),
            ("tools/list", _) if arrived.body["params"]["cursor"].is_null() => answer(r#"{"resultType":"complete","tools":[],"nextCursor":"2"}"#),
            ("tools/list", _) => answer(r#"{"resultType":"complete","tools":[{"name":"t","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}]}"#),
            ("tools/call", Some("kyoto")) => answer(r#"{"resultType":"complete","content":[]}"#),
            _ => Reply::status("400 Bad Request", "Content-Type: application/json\r\n", &format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32020,"message":"header mismatch"}}}}"#)),
        }
    })
    .await;
    let mut host = Host::to_web(&server);
    for id in 1..3 {
        let answer = host.ask(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t","arguments":{{"region":"kyoto"}},{META}}}}}"#)).await;
        assert_eq!(answer["result"]["content"], json!([]), "{answer}");
    }
    assert_eq!(
        server.methods(),
        ["server/discover", "tools/call", "tools/list", "tools/list", "tools/call", "tools/call"]
    );
}

/// The Python SDK binds a connection to the era of its first message, and takes its time to start.
#[tokio::test]
async fn a_modern_server_that_was_only_slow_is_not_taken_for_a_legacy_one() {
    let program = program(&["modern", "slow"]);
    let bridge = Bridge::new().with_patience(Duration::from_secs(2));
    let mut host = Host::through(bridge, |inbox| Arc::new(ChildLink::new(program, inbox)));
    let list = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{{META}}}}}"#);
    assert!(host.ask(&list).await["result"]["tools"].is_array());
    assert_eq!(host.end().await, [""; 0]);
}

#[tokio::test]
async fn what_a_host_says_reaches_a_program_in_its_order() {
    let mut host = Host::to_program(&["legacy", "echoes-notifications"]);
    for round in 0..20 {
        host.input
            .write_all(
                format!("{}\n{INITIALIZED}\n", INITIALIZE.replace(r#""id":0"#, &format!(r#""id":{round}"#)))
                    .as_bytes(),
            )
            .await
            .unwrap();
        assert!(host.hear().await.contains("protocolVersion"), "the greeting is answered first");
        assert!(host.hear().await.contains("notifications/seen"));
    }
    assert_eq!(host.end().await, [""; 0]);
}

/// JSON as servers may write it: any blanks between the parts, CRLF among them, numbers no machine holds, half
/// surrogates, members named twice.
fn odd_json() -> impl Strategy<Value = String> {
    let blank = || prop::sample::select(vec!["", " ", "\r\n", "\n\t", "\n    "]);
    let leaf = prop_oneof![
        prop::sample::select(vec!["1.0", "1e400", "-0.0", "123456789012345678901234567890", "null", "true"])
            .prop_map(str::to_owned),
        prop::sample::select(vec![r#""\ud800""#, r#""\u3042\/""#, r#""歌\n\"{}[]""#, r#""""#])
            .prop_map(str::to_owned),
    ];
    leaf.prop_recursive(3, 24, 4, move |inner| {
        prop_oneof![
            (prop::collection::vec(inner.clone(), 0..4), blank()).prop_map(|(values, blank)| {
                format!("[{blank}{}{blank}]", values.join(&format!("{blank},{blank}")))
            }),
            (
                prop::collection::vec(
                    (prop::sample::select(vec!["a", "a", "id", "result", "歌"]), inner),
                    0..4
                ),
                blank()
            )
                .prop_map(|(members, blank)| {
                    let members: Vec<String> = members
                        .iter()
                        .map(|(name, value)| format!("\"{name}\"{blank}:{blank}{value}"))
                        .collect();
                    format!("{{{blank}{}{blank}}}", members.join(&format!("{blank},{blank}")))
                }),
        ]
    })
}

/// Passes answers through one bridge, and returns the lines the host got.
fn passed_through(answers: Vec<String>, as_events: bool) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let count = answers.len();
        let server = WebServer::start(move |_, before| {
            if as_events {
                // A line of data for each line of the message.
                let lines: Vec<String> =
                    answers[before].split('\n').map(|line| format!("data: {line}")).collect();
                Reply::events(&[(0, lines.join("\n"))])
            } else {
                Reply::json(&answers[before])
            }
        })
        .await;
        let mut host = Host::to_web(&server);
        let mut lines = Vec::new();
        for _ in 0..count {
            host.say(CALL).await;
            lines.push(host.hear().await);
        }
        assert_eq!(host.end().await, [""; 0]);
        lines
    })
}

/// Passes answers through a manager, as the gateway does. `ID` in them stands for the id that the server was asked under.
fn forwarded(answers: Vec<String>, is_modern: bool) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (count, next) = (answers.len(), std::sync::atomic::AtomicUsize::new(0));
        let server = WebServer::start(move |arrived, _| {
            let id = arrived.body["id"].to_string();
            let result = match arrived.rpc() {
                "tools/call" => {
                    let at = next.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                    return Reply::json(&answers[at].replace("ID", &id));
                }
                "server/discover" if is_modern => r#""result":{"supportedVersions":["2026-07-28"]}"#,
                "server/discover" => r#""error":{"code":-32601,"message":"?"}"#,
                "initialize" => r#""result":{"protocolVersion":"2025-11-25","capabilities":{}}"#,
                _ => return Reply::accepted(),
            };
            Reply::json(&format!(r#"{{"jsonrpc":"2.0","id":{id},{result}}}"#))
        })
        .await;
        let manager = wakashu_client::Manager::new(wakashu_client::config::Options::default());
        manager.register_server(wakashu_client::ServerConfig::http("web", server.url.clone())).await.unwrap();
        let mut passed = Vec::new();
        for _ in 0..count {
            let call = wakashu_client::link::Call::read(CALL.into()).unwrap();
            let answer = manager.forward("web", call).await.unwrap().message.into_bytes();
            passed.push(String::from_utf8(answer.to_vec()).unwrap());
        }
        passed
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whatever_json_a_server_writes_the_host_gets_its_bytes(
        values in prop::collection::vec((odd_json(), prop::sample::select(vec!["7", "\"other\""]), any::<bool>()), 1..8),
    ) {
        let answers = |id: Option<&str>| -> Vec<String> {
            values
                .iter()
                .map(|(value, own, id_first)| {
                    let id = id.unwrap_or(own);
                    if *id_first {
                        format!("{{\r\n \"id\" : {id} ,\"jsonrpc\":\"2.0\",\n\"result\" : {value} }}")
                    } else {
                        format!("{{\"result\":{value},\"jsonrpc\":\"2.0\",\"id\":{id}}}")
                    }
                })
                .collect()
        };
        // An id that is not ours is the only thing that changes, besides breaks of lines.
        let expected: Vec<String> =
            answers(Some("7")).iter().map(|answer| answer.replace(['\r', '\n'], " ")).collect();
        prop_assert_eq!(passed_through(answers(None), false), expected);
        // Over a stream of events, where carriage returns end lines, and only ids of ours are answers.
        let plain: Vec<String> = answers(Some("7")).iter().map(|answer| answer.replace('\r', "")).collect();
        let expected: Vec<String> = plain.iter().map(|answer| answer.replace('\n', " ")).collect();
        prop_assert_eq!(passed_through(plain, true), expected);
        // Through a manager, under its own ids where the server is a legacy one.
        for is_modern in [true, false] {
            prop_assert_eq!(forwarded(answers(Some("ID")), is_modern), answers(Some("7")));
        }
    }
}
