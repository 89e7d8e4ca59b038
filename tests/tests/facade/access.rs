//! Who may ask, from which pages, how often.

use serde_json::json;
use wakashu_tests::{HttpRequest, Server, legacy, legacy_body, modern, wait_until};

use super::{arguments, call, check_failure, serve};

/// `printf %s reader | sha256sum`
const READER: &str = "3d0941964aa3ebdcb00ccef58b1bb399f9f898465e9886d5aec7f31090a0fb30";
/// `printf %s watcher | sha256sum`
const WATCHER: &str = "0e7f3c5c909ce8afb978a208d639e85af2171df2ec0003a07f13ad97878ef053";

const PICTURE: &str = "/pictures/%E7%AC%AC1%E5%9B%9E/1";
const PAGE: &str = "https://app.example.org";

fn guarded() -> (Server, wakashu_tests::Collection) {
    let tokens = format!("{READER}, {WATCHER}:status");
    serve(&[("WAKASHU_TOKENS_SHA256", &tokens), ("WAKASHU_ALLOWED_ORIGINS", PAGE)])
}

#[test]
fn tokens_open_what_their_scope_covers() {
    let (server, _collection) = guarded();
    let tool = |name: &str| call(name, &arguments(name), &json!({}));
    let over_mcp = |name: &str| json!({ "name": name, "arguments": arguments(name) });
    let resource = json!({ "uri": "wakashu://rounds" });
    // What is asked, and the status without a token, with one for the state alone, with one for everything.
    for (request, expected) in [
        (HttpRequest::new("GET", "/"), [200, 200, 200]),
        (HttpRequest::new("GET", "/tools"), [308, 308, 308]),
        (HttpRequest::new("GET", "/nowhere"), [404, 404, 404]),
        (HttpRequest::new("GET", "/assets/none"), [404, 404, 404]),
        (HttpRequest::new("GET", "/v1/tools"), [401, 200, 200]),
        (HttpRequest::new("GET", "/v1/tools/get_poem"), [401, 200, 200]),
        (HttpRequest::new("GET", "/v1/openapi.json"), [401, 200, 200]),
        (HttpRequest::new("GET", "/v1/nowhere"), [401, 404, 404]),
        (tool("index_status"), [401, 200, 200]),
        (tool("list_rounds"), [401, 403, 200]),
        (tool("get_poem"), [401, 403, 200]),
        (tool("search_poems"), [401, 403, 200]),
        (HttpRequest::new("GET", PICTURE), [401, 403, 200]),
        (legacy("tools/list", &json!({})), [401, 200, 200]),
        (modern("tools/list", &json!({})), [401, 200, 200]),
        (legacy("tools/call", &over_mcp("index_status")), [401, 200, 200]),
        (legacy("tools/call", &over_mcp("get_poem")), [401, 403, 200]),
        (modern("tools/call", &over_mcp("get_wakashu_ranking")), [401, 403, 200]),
        (legacy("resources/read", &resource), [401, 403, 200]),
        (modern("resources/read", &resource), [401, 403, 200]),
        (HttpRequest::new("GET", "/mcp"), [401, 405, 405]),
    ] {
        for (token, expected) in [None, Some("watcher"), Some("reader")].into_iter().zip(expected) {
            let asked = match token {
                None => request.clone(),
                Some(token) => request.clone().header("Authorization", &format!("Bearer {token}")),
            };
            let reply = server.send(&asked);
            assert_eq!(reply.status, expected, "{} {} with {token:?}", request.method, request.target);
            let challenge = reply.header("www-authenticate");
            match expected {
                401 => assert_eq!(challenge, Some("Bearer")),
                403 => assert_eq!(challenge, Some("Bearer error=\"insufficient_scope\", scope=\"read\"")),
                _ => assert_eq!(challenge, None),
            }
        }
    }
    check_failure(&server.get("/v1/tools"), 401, "AUTHENTICATION_ERROR");
    let watcher = tool("get_poem").header("Authorization", "Bearer watcher");
    check_failure(&server.send(&watcher), 403, "AUTHORIZATION_ERROR");
    let refused = server.send(&legacy("ping", &json!({})));
    assert_eq!((refused.status, refused.code()), (401, -32600));
    // Nothing tells clients to look for OAuth.
    assert_eq!(server.get("/.well-known/oauth-protected-resource").status, 404);
    let document =
        server.send(&HttpRequest::new("GET", "/v1/openapi.json").header("Authorization", "Bearer reader"));
    assert_eq!(document.json()["security"], json!([{ "token": [] }]));
    let log = server.log_with("AUTHENTICATION_ERROR");
    for secret in ["watcher", "reader", READER, WATCHER] {
        assert!(!log.contains(secret), "{secret} is in the log");
    }
}

#[test]
fn what_is_not_quite_a_token_opens_nothing() {
    let (server, _collection) = guarded();
    let list = HttpRequest::new("GET", "/v1/tools");
    for value in
        ["", "Bearer", "Bearer ", "reader", "Basic reader", "Bearer Reader", "Bearer reader2", READER]
    {
        assert_eq!(server.send(&list.clone().header("Authorization", value)).status, 401, "{value}");
    }
    assert_eq!(server.send(&list.clone().header("Authorization", &format!("Bearer {READER}"))).status, 401);
    let twice =
        list.clone().header("Authorization", "Bearer reader").header("Authorization", "Bearer reader");
    assert_eq!(server.send(&twice).status, 401);
    assert_eq!(server.get("/v1/tools?access_token=reader").status, 401, "never from the address");
    assert_eq!(server.send(&list.clone().header("authorization", "bearer reader")).status, 200);
    // A foreign page or host is refused before anything is said of tokens.
    let foreign = list.header("Origin", "https://evil.example");
    let reply = server.send(&foreign);
    assert_eq!((reply.status, reply.header("www-authenticate")), (403, None));
}

#[test]
fn pages_of_configured_origins_may_read_the_answers() {
    let (server, _collection) = guarded();
    let paths = [
        ("/", "GET, HEAD"),
        ("/mcp", "POST"),
        ("/v1/tools", "GET, HEAD"),
        ("/v1/tools/call", "POST"),
        (PICTURE, "GET, HEAD"),
    ];
    for (path, methods) in paths {
        let preflight = |origin: &str| {
            let request = HttpRequest::new("OPTIONS", path)
                .header("Access-Control-Request-Method", "POST")
                .header("Access-Control-Request-Headers", "authorization,content-type,mcp-method");
            server.send(&request.header("Origin", origin))
        };
        let asked = preflight(PAGE);
        assert_eq!(asked.status, 204, "{path}: no token is sent along with the question");
        assert_eq!(asked.header("access-control-allow-origin"), Some(PAGE));
        assert_eq!(asked.header("access-control-allow-methods"), Some(methods));
        let headers = asked.header("access-control-allow-headers").unwrap();
        for name in [
            "content-type",
            "accept",
            "authorization",
            "mcp-protocol-version",
            "mcp-method",
            "mcp-name",
            "mcp-session-id",
            "last-event-id",
        ] {
            assert!(headers.split(", ").any(|known| known == name), "{name}");
        }
        assert_eq!(asked.header("vary"), Some("Origin"));
        for origin in
            ["https://evil.example", "null", "https://app.example.org.evil.example", "http://app.example.org"]
        {
            let refused = preflight(origin);
            assert!(refused.status >= 400, "{path} {origin}: {}", refused.status);
            assert_eq!(refused.header("access-control-allow-origin"), None, "{origin}");
        }
        // A page on this machine is answered, but what it may read is the operator's choice.
        assert_eq!(preflight("http://localhost:5173").header("access-control-allow-origin"), None);
        let plain = HttpRequest::new("GET", path).header("Authorization", "Bearer reader");
        let reply = server.send(&plain.clone().header("Origin", PAGE));
        assert_eq!(reply.header("access-control-allow-origin"), Some(PAGE));
        let reply = server.send(&plain);
        let varies = reply.headers.iter().any(|(name, value)| name == "vary" && value == "Origin");
        assert_eq!((reply.header("access-control-allow-origin"), varies), (None, true));
    }
    let refused = server.send(&HttpRequest::new("GET", "/v1/tools").header("Origin", PAGE));
    assert_eq!((refused.status, refused.header("access-control-allow-origin")), (401, Some(PAGE)));
}

#[test]
fn nobody_is_told_anything_where_no_origin_is_configured() {
    let (server, _collection) = serve(&[]);
    for path in ["/", "/mcp", "/v1/tools", PICTURE] {
        for method in ["OPTIONS", "GET"] {
            let request = HttpRequest::new(method, path)
                .header("Origin", "http://localhost:5173")
                .header("Access-Control-Request-Method", "GET");
            let reply = server.send(&request);
            assert!(!reply.headers.iter().any(|(name, _)| name.starts_with("access-control-")), "{reply:?}");
            assert_eq!(reply.status == 405, method == "OPTIONS" || path == "/mcp", "{method} {path}");
        }
    }
}

#[test]
fn who_asks_too_often_is_told_when_to_come_back() {
    for setting in ["WAKASHU_RATE_PER_SECOND", "WAKASHU_RATE_PER_CLIENT"] {
        let (server, _collection) = serve(&[(setting, "3")]);
        let ask = |request: HttpRequest| server.send(&request);
        let list = || HttpRequest::new("GET", "/v1/tools");
        let taken = (0..20).filter(|_| ask(list()).status == 200).count();
        assert!((3..20).contains(&taken), "{setting}: {taken}");
        let refused = loop {
            let reply = ask(list());
            if reply.status != 200 {
                break reply;
            }
        };
        check_failure(&refused, 429, "RATE_LIMIT_EXCEEDED");
        assert_eq!(refused.header("retry-after"), Some("1"));
        for request in [legacy("ping", &json!({})), modern("tools/list", &json!({}))] {
            let reply = loop {
                let reply = ask(request.clone());
                if reply.status != 200 {
                    break reply;
                }
            };
            assert_eq!((reply.status, reply.code()), (429, -32603), "{setting}");
            assert_eq!(reply.header("retry-after"), Some("1"));
        }
        assert_eq!(ask(HttpRequest::new("GET", "/")).status, 200, "health stays open");
        wait_until(&format!("{setting}: after a while it is fine again"), || ask(list()).status == 200);
    }
}

/// Links used to begin with the address listened on, which no reader may use as a host.
#[test]
fn links_begin_with_a_name_that_is_answered() {
    let settings = [("HOST", "0.0.0.0"), ("WAKASHU_ALLOWED_HOSTS", "poems.example")];
    let (server, _collection) = serve(&settings);
    let host = format!("poems.example:{}", server.address().port());
    let question = json!({ "name": "get_poem", "arguments": arguments("get_wakashu_ranking") });
    let mut question = question;
    question["arguments"]["rank"] = json!(1);
    let text = server.send(&legacy("tools/call", &question).with("Host", &host)).texts().remove(0);
    let link = text.lines().find_map(|line| line.strip_prefix("画像: ")).unwrap();
    let path = link.strip_prefix(&format!("http://{host}")).unwrap_or_else(|| panic!("{link}"));
    assert_eq!(server.send(&HttpRequest::new("GET", path).header("Host", &host)).status, 200);
}

#[test]
fn guessing_tokens_uses_up_only_what_is_there_for_guessing() {
    let (server, _collection) = serve(&[("WAKASHU_TOKENS_SHA256", READER), ("WAKASHU_RATE_PER_CLIENT", "5")]);
    let list = || HttpRequest::new("GET", "/v1/tools");
    let guesses: Vec<u16> = (0..20).map(|_| server.send(&list()).status).collect();
    assert!(guesses.starts_with(&[401; 5]) && guesses.contains(&429), "{guesses:?}");
    let reader = list().header("Authorization", "Bearer reader");
    assert_eq!(server.send(&reader).status, 200, "who has one is not held up");
}

#[test]
fn every_message_of_a_batch_is_counted() {
    let (server, _collection) = serve(&[("WAKASHU_RATE_PER_CLIENT", "5")]);
    let ping = legacy_body("ping", &json!({}));
    let batch = |count: usize| wakashu_tests::post(json!(vec![ping.clone(); count]).to_string());
    assert_eq!(server.send(&batch(4)).status, 200);
    let refused = server.send(&batch(4));
    assert_eq!((refused.status, refused.code(), refused.header("retry-after")), (429, -32603, Some("1")));
}

#[test]
fn batches_do_not_get_round_the_rate() {
    let ping = legacy_body("ping", &json!({}));
    let batch = |count: usize| wakashu_tests::post(json!(vec![ping.clone(); count]).to_string());
    let (server, _collection) = serve(&[("WAKASHU_RATE_PER_CLIENT", "10")]);
    assert_eq!(server.send(&batch(10)).status, 200, "a second's worth");
    let refused = server.send(&batch(10));
    assert_eq!((refused.status, refused.code(), refused.header("retry-after")), (429, -32603, Some("1")));
    // What can never pass is not told to come back.
    let (server, _collection) = serve(&[("WAKASHU_RATE_PER_CLIENT", "10")]);
    for _ in 0..3 {
        let refused = server.send(&batch(11));
        assert_eq!((refused.status, refused.code(), refused.header("retry-after")), (400, -32600, None));
        assert!(refused.text().contains("at most 10 "), "{}", refused.text());
    }
}

/// Those without a token ask for all kinds of things, as fast as they can; one with a token asks now and then.
#[test]
fn anonymous_floods_take_nothing_from_those_with_a_token() {
    let settings = [("WAKASHU_TOKENS_SHA256", READER), ("WAKASHU_RATE_PER_SECOND", "20")];
    let (server, _collection) = serve(&settings);
    for path in ["/v1/tools", "/nowhere", "/tools", PICTURE, "/mcp"] {
        for _ in 0..50 {
            let status = server.get(path).status;
            assert!(matches!(status, 308 | 401 | 404 | 429), "{path}: {status}");
        }
    }
    let reader = HttpRequest::new("GET", "/v1/tools").header("Authorization", "Bearer reader");
    let answered = (0..16).filter(|_| server.send(&reader).status == 200).count();
    assert_eq!(answered, 16);
}

#[test]
fn with_tokens_no_shared_cache_keeps_an_answer() {
    let (server, _collection) = guarded();
    let picture = HttpRequest::new("GET", PICTURE).header("Authorization", "Bearer reader");
    let reply = server.send(&picture);
    assert_eq!(reply.header("cache-control"), Some("private, max-age=300"));
    let varies =
        |name: &str| reply.headers.iter().any(|header| *header == ("vary".to_owned(), name.to_owned()));
    assert!(varies("Authorization") && varies("Origin"), "{reply:?}");
    let known = picture.header("If-None-Match", reply.header("etag").unwrap());
    let unchanged = server.send(&known);
    assert_eq!((unchanged.status, unchanged.header("cache-control")), (304, Some("private, max-age=300")));

    let (open, _collection) = serve(&[]);
    for (server, scope) in [(&server, "private"), (&open, "public")] {
        for (method, params) in [
            ("tools/list", json!({})),
            ("server/discover", json!({})),
            ("resources/list", json!({})),
            ("prompts/list", json!({})),
            ("resources/read", json!({ "uri": "wakashu://rounds" })),
        ] {
            let request = modern(method, &params).header("Authorization", "Bearer reader");
            assert_eq!(server.send(&request).result()["cacheScope"], scope, "{method}");
        }
    }
}

/// Links once led to an address that the server itself refused as a host.
#[test]
fn links_of_any_loopback_address_are_answered() {
    let (server, _collection) = serve(&[("HOST", "127.0.0.5")]);
    let host = server.address().to_string();
    let mut question = json!({ "name": "get_poem", "arguments": arguments("get_wakashu_ranking") });
    question["arguments"]["rank"] = json!(1);
    let text = server.send(&legacy("tools/call", &question).with("Host", &host)).texts().remove(0);
    let link = text.lines().find_map(|line| line.strip_prefix("画像: ")).unwrap();
    let path = link.strip_prefix(&format!("http://{host}")).unwrap_or_else(|| panic!("{link}"));
    assert_eq!(server.send(&HttpRequest::new("GET", path).header("Host", &host)).status, 200);

    let (everywhere, _collection) = serve(&[("HOST", "0.0.0.0"), ("WAKASHU_ALLOWED_HOSTS", "poems.example")]);
    let printed = everywhere.address().to_string();
    assert_eq!(
        everywhere.send(&HttpRequest::new("GET", "/").header("Host", &printed)).status,
        200,
        "{printed}"
    );
}
