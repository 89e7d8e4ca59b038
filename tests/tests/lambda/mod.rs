//! The Lambda door: the real program under AWS's runtime emulator, in both invoke modes.
#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use wakashu_support::certificates::Authority;
use wakashu_support::web_server::WebServer;
use wakashu_tests::lambda::{Lambda, LambdaReply, Mode, answer_at_once, event};
use wakashu_tests::{Collection, check_answer, poem, program, sample, wait_until};

const HOST: &str = "https://abcdefghijklmnopqrstuvwxyz012345.lambda-url.ap-northeast-1.on.aws";

const MODES: [Mode; 2] = [Mode::Buffered, Mode::Stream];

fn with_sample(mode: Mode) -> Lambda {
    Lambda::start(mode, &[("WAKASHU_ARCHIVE", sample().to_str().unwrap())])
}

/// Sends an event to the MCP endpoint and checks what holds for every answer there.
fn ask(lambda: &Lambda, name: &str) -> Value {
    let reply = lambda.send(&event(name));
    assert_eq!(reply.status, 200, "{name}: {}", String::from_utf8_lossy(&reply.body));
    assert_eq!(reply.headers["content-type"], "application/json", "{name}");
    assert!(!reply.was_base64, "{name}: JSON is text");
    check_answer(&reply.body);
    let answer = reply.json();
    assert_eq!(answer["jsonrpc"], "2.0");
    answer["result"].clone()
}

fn check_ranking(result: &Value) {
    let content = result["content"].as_array().unwrap();
    let kinds: Vec<&str> = content.iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["text", "image", "text", "image", "text", "image"]);
    let text = content[0]["text"].as_str().unwrap();
    assert!(text.starts_with("1位："), "{text}");
    assert!(text.contains(&format!("画像: {HOST}/pictures/")), "links lead to the function URL: {text}");
}

#[test]
fn clients_of_both_eras_get_their_answers() {
    for mode in MODES {
        let lambda = with_sample(mode);
        let greeting = ask(&lambda, "legacy-initialize");
        assert_eq!(greeting["protocolVersion"], "2025-11-25");
        assert_eq!(greeting["serverInfo"]["name"], "wakashu_mcp_server");
        let capabilities = greeting["capabilities"].to_string();
        assert!(
            !capabilities.contains("\"listChanged\":true"),
            "nothing is pushed on Lambda: {capabilities}"
        );
        let tools = ask(&lambda, "legacy-tools-list");
        assert!(tools["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "get_wakashu_ranking"));
        check_ranking(&ask(&lambda, "legacy-ranking"));
        check_ranking(&ask(&lambda, "legacy-ranking-base64"));
        assert_eq!(ask(&lambda, "legacy-status")["structuredContent"]["state"], "READY");

        let discovered = ask(&lambda, "modern-discover");
        assert!(discovered["supportedVersions"].to_string().contains("2026-07-28"), "{discovered}");
        assert!(!discovered["capabilities"].to_string().contains("\"listChanged\":true"));
        assert_eq!(ask(&lambda, "modern-tools-list")["tools"], tools["tools"]);
        check_ranking(&ask(&lambda, "modern-ranking"));
    }
}

#[test]
fn a_notification_is_accepted_without_a_body() {
    for mode in MODES {
        let reply = with_sample(mode).send(&event("legacy-initialized"));
        assert_eq!((reply.status, reply.body.len()), (202, 0), "{mode:?}");
    }
}

#[test]
fn what_is_not_for_us_is_refused() {
    for mode in MODES {
        let lambda = with_sample(mode);
        for (name, status) in
            [("mcp-get", 405), ("mcp-foreign-origin", 403), ("mcp-foreign-host", 403), ("unlisted-path", 404)]
        {
            let reply = lambda.send(&event(name));
            assert_eq!(reply.status, status, "{name} {mode:?}");
            check_answer(&reply.body);
        }
        assert_eq!(lambda.send(&event("mcp-get")).headers["allow"], "POST");
        let health = lambda.send(&event("health"));
        assert_eq!(health.json()["index"]["state"], "READY");
        assert_eq!(lambda.send(&event("odd-query")).status, 200);
    }
}

#[test]
fn allowed_origins_and_hosts_are_answered() {
    let archive = sample().to_str().unwrap();
    let lambda = Lambda::start(
        Mode::Buffered,
        &[
            ("WAKASHU_ARCHIVE", archive),
            ("WAKASHU_ALLOWED_ORIGINS", "https://elsewhere.example"),
            ("WAKASHU_ALLOWED_HOSTS", "elsewhere.example"),
            ("WAKASHU_PUBLIC_URL", "https://poems.example/"),
        ],
    );
    assert_eq!(lambda.send(&event("mcp-foreign-origin")).status, 200);
    assert_eq!(lambda.send(&event("mcp-foreign-host")).status, 200);
    let text = ask(&lambda, "legacy-ranking")["content"][0]["text"].to_string();
    assert!(text.contains("画像: https://poems.example/pictures/"), "{text}");
}

#[test]
fn pictures_are_real_files_and_can_be_asked_about() {
    for mode in MODES {
        let lambda = with_sample(mode);
        let picture = lambda.send(&event("picture"));
        assert_eq!(picture.status, 200);
        assert_eq!(picture.was_base64, mode == Mode::Buffered);
        check_picture(&picture);
        let decoded = lambda.send(&event("picture-decoded-path"));
        assert_eq!(decoded.body, picture.body);

        let mut known = event("picture");
        known["headers"]["if-none-match"] = picture.headers["etag"].clone();
        let unchanged = lambda.send(&known);
        assert_eq!((unchanged.status, unchanged.body.len()), (304, 0), "{mode:?}");
        assert_eq!(unchanged.headers["etag"], picture.headers["etag"]);

        let head = lambda.send(&event("picture-head"));
        assert_eq!((head.status, head.body.len()), (200, 0), "{mode:?}");
        assert_eq!(head.headers["content-type"], picture.headers["content-type"]);
        assert_eq!(head.headers["etag"], picture.headers["etag"]);
    }
}

fn check_picture(picture: &LambdaReply) {
    let media_type = picture.headers["content-type"].as_str().unwrap();
    let begins = match media_type {
        "image/webp" => &b"RIFF"[..],
        "image/png" => b"\x89PNG",
        "image/jpeg" => b"\xff\xd8\xff",
        other => unreachable!("{other}"),
    };
    assert!(picture.body.starts_with(begins), "{media_type}");
    assert!(picture.headers["content-length"].is_null(), "the platform counts for itself");
}

#[test]
fn a_panic_is_contained_and_the_next_request_works() {
    for mode in MODES {
        let archive = sample().to_str().unwrap();
        let lambda = Lambda::start(mode, &[("WAKASHU_ARCHIVE", archive), ("WAKASHU_DRILL", "on")]);
        let mut drill = event("legacy-tools-list");
        drill["body"] = json!(r#"{"jsonrpc":"2.0","id":"drill","method":"wakashu/drill"}"#);
        drill["isBase64Encoded"] = json!(false);
        let reply = lambda.send(&drill);
        assert_eq!(reply.status, 200);
        assert_eq!(reply.json()["id"], "drill");
        assert_eq!(reply.json()["error"]["code"], -32603);
        check_answer(&reply.body);
        check_ranking(&ask(&lambda, "legacy-ranking"));
        let log = lambda.log();
        assert_eq!(log.matches("INIT REPORT").count(), 1, "it is the same process: {log}");
    }
}

#[test]
fn without_the_setting_nobody_can_ask_for_a_panic() {
    let lambda = with_sample(Mode::Buffered);
    let mut drill = event("legacy-tools-list");
    drill["body"] = json!(r#"{"jsonrpc":"2.0","id":1,"method":"wakashu/drill"}"#);
    drill["isBase64Encoded"] = json!(false);
    assert_eq!(lambda.send(&drill).json()["error"]["code"], -32601);
}

#[test]
fn an_archive_that_appears_later_is_found_by_a_request() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("late.wakashu");
    let lambda = Lambda::start(Mode::Buffered, &[("WAKASHU_ARCHIVE", path.to_str().unwrap())]);
    assert_eq!(ask(&lambda, "legacy-status")["structuredContent"]["state"], "UNAVAILABLE");
    assert_eq!(ask(&lambda, "legacy-tools-list")["tools"].as_array().unwrap().len(), 1);
    std::fs::copy(sample(), folder.path().join("partial")).unwrap();
    std::fs::rename(folder.path().join("partial"), &path).unwrap();
    // Looks for a first archive are at least a second apart.
    wait_until("it is found", || ask(&lambda, "legacy-status")["structuredContent"]["state"] == "READY");
    check_ranking(&ask(&lambda, "legacy-ranking"));
}

#[test]
fn a_store_on_a_web_host_is_read_over_tls_and_its_next_version_found() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let publish = |archive: &Path| {
        let mut command = Command::new(program("wakashu-indexer"));
        let done = command.args(["publish", "--no-progress"]).args([archive, &store]).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    publish(sample());
    let authority = Authority::new("trusted");
    let certificates = folder.path().join("trusted.pem");
    std::fs::write(&certificates, authority.pem()).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let certificate = authority.host(&["localhost"], 2050);
    let host = runtime.block_on(WebServer::start(store.clone(), Some(certificate))).unwrap();
    let address = format!("https://localhost:{}", host.address().port());
    let lambda = Lambda::start(
        Mode::Buffered,
        &[
            ("WAKASHU_ARCHIVE", &address),
            ("WAKASHU_REFRESH_SECONDS", "1"),
            ("SSL_CERT_FILE", certificates.to_str().unwrap()),
        ],
    );
    check_ranking(&ask(&lambda, "legacy-ranking"));
    let before = ask(&lambda, "legacy-status")["structuredContent"]["digest"].clone();
    let next = Collection::default().title("次の版").round("第1回").entries([poem(1, None)]);
    publish(next.write().as_ref());
    wait_until("the next version is served", || {
        let status = ask(&lambda, "legacy-status")["structuredContent"].clone();
        status["state"] == "READY" && status["digest"] != before
    });
}

/// Puts a call of a tool into an event.
fn tool_event(tool: &str, arguments: &Value) -> Value {
    let mut asked = event("legacy-tools-list");
    let params = json!({ "name": tool, "arguments": arguments });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    asked["body"] = json!(body.to_string());
    asked["isBase64Encoded"] = json!(false);
    asked
}

#[test]
fn tokens_are_asked_for_and_heard() {
    // `printf %s reader | sha256sum`, and of `watcher`.
    let reader = "3d0941964aa3ebdcb00ccef58b1bb399f9f898465e9886d5aec7f31090a0fb30";
    let watcher = "0e7f3c5c909ce8afb978a208d639e85af2171df2ec0003a07f13ad97878ef053";
    let tokens = format!("{reader},{watcher}:status");
    for mode in MODES {
        let archive = sample().to_str().unwrap();
        let lambda = Lambda::start(mode, &[("WAKASHU_ARCHIVE", archive), ("WAKASHU_TOKENS_SHA256", &tokens)]);
        let poem = tool_event("get_poem", &json!({ "round_title": "1", "rank": 1 }));
        // What is asked, and the status without a token, with a wrong one, with one for the state, with one for all.
        for (asked, expected) in [
            (event("health"), [200, 200, 200, 200]),
            (event("legacy-status"), [401, 401, 200, 200]),
            (poem, [401, 401, 403, 200]),
            (event("picture"), [401, 401, 403, 200]),
        ] {
            for (token, expected) in ["", "nobody", "watcher", "reader"].into_iter().zip(expected) {
                let mut asked = asked.clone();
                if !token.is_empty() {
                    asked["headers"]["authorization"] = json!(format!("Bearer {token}"));
                }
                let reply = lambda.send(&asked);
                assert_eq!(reply.status, expected, "{} with {token:?}, {mode:?}", asked["rawPath"]);
                assert_eq!(reply.headers.get("www-authenticate").is_some(), matches!(expected, 401 | 403));
            }
        }
        let log = lambda.log();
        assert!(!log.contains("Bearer") && !log.contains(reader) && !log.contains("nobody"), "{log}");
    }
}

#[test]
fn tools_that_are_switched_off_are_neither_listed_nor_run() {
    let settings = [
        ("WAKASHU_ARCHIVE", sample().to_str().unwrap()),
        ("WAKASHU_TOOLS_DISABLED", "search_poems,get_poem"),
    ];
    let lambda = Lambda::start(Mode::Buffered, &settings);
    let listed = ask(&lambda, "legacy-tools-list")["tools"].clone();
    let names: Vec<&str> =
        listed.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["index_status", "list_rounds", "get_wakashu_ranking"]);
    let reply = lambda.send(&tool_event("search_poems", &json!({ "query": "花" }))).json();
    assert_eq!(reply["result"]["isError"], true, "{reply}");
    assert!(reply["result"]["content"][0]["text"].as_str().unwrap().contains("停止しています"), "{reply}");
}

#[test]
fn the_address_of_a_reader_is_neither_needed_nor_kept() {
    let lambda = with_sample(Mode::Buffered);
    let mut asked = event("legacy-status");
    for address in [json!("203.0.113.77"), json!("2001:db8::77"), json!("not an address"), Value::Null] {
        asked["requestContext"]["http"]["sourceIp"] = address.clone();
        assert_eq!(lambda.send(&asked).status, 200, "{address}");
    }
    let log = lambda.log_with("END RequestId");
    assert!(!log.contains("203.0.113.77") && !log.contains("2001:db8::77"), "{log}");
}

#[test]
fn nothing_configured_is_answered_too() {
    let lambda = Lambda::start(Mode::Buffered, &[]);
    assert_eq!(ask(&lambda, "legacy-status")["structuredContent"]["state"], "NOT_CONFIGURED");
}

#[test]
fn every_answer_leaves_one_line_in_the_log_with_the_platforms_id() {
    let lambda = with_sample(Mode::Buffered);
    let _ = ask(&lambda, "legacy-ranking");
    let log = lambda.log_with("END RequestId");
    let id = log.split("START RequestId: ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    let lines: Vec<&str> =
        log.lines().filter(|line| line.starts_with('{') && line.contains("\"method\"")).collect();
    assert_eq!(lines.len(), 1, "{log}");
    let line: Value = serde_json::from_str(lines[0]).unwrap();
    assert_eq!((line["request"].as_str(), line["tool"].as_str()), (Some(id), Some("get_wakashu_ranking")));
}

#[test]
fn what_is_no_request_is_reported_and_the_next_request_works() {
    let lambda = with_sample(Mode::Buffered);
    let answer: Value = serde_json::from_slice(&lambda.invoke(&json!({ "key": "value" }))).unwrap();
    assert!(answer["errorMessage"].is_string(), "{answer}");
    check_ranking(&ask(&lambda, "legacy-ranking"));
}

#[test]
fn malformed_settings_stop_the_start_with_every_problem() {
    let lambda = Lambda::start(Mode::Buffered, &[("WAKASHU_INVOKE_MODE", "stream"), ("WAKASHU_LOG", "loud")]);
    assert_eq!(lambda.exchange(&event("health")).0, 502);
    let log = lambda.log_with("the settings are not usable");
    assert!(log.contains("WAKASHU_INVOKE_MODE") && log.contains("WAKASHU_LOG"), "{log}");
}

#[test]
fn several_requests_at_a_time_get_each_their_own_answer() {
    let names =
        ["legacy-ranking", "modern-ranking", "legacy-tools-list", "modern-discover", "picture", "health"];
    let events: Vec<Value> = names.iter().cycle().take(120).map(|name| event(name)).collect();
    let replies = answer_at_once(&events, 8, &[("WAKASHU_ARCHIVE", sample().to_str().unwrap())]);
    for (at, reply) in replies.iter().enumerate() {
        let name = names[at % names.len()];
        assert_eq!(reply.status, 200, "{name}");
        if name == "picture" {
            check_picture(reply);
        } else if name != "health" {
            assert_eq!(
                reply.json()["id"],
                serde_json::from_str::<Value>(events[at]["body"].as_str().unwrap()).unwrap()["id"]
            );
            assert_eq!(reply.body, replies[at % names.len()].body, "{name}");
        }
    }
}

fn publish(archive: &Path, store: &Path) {
    let mut command = Command::new(program("wakashu-indexer"));
    let published = command.args(["publish", "--no-progress"]).arg(archive).arg(store).output().unwrap();
    assert!(published.status.success(), "{}", String::from_utf8_lossy(&published.stderr));
}

#[test]
fn a_publication_is_served_after_the_pause_and_survives_its_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let first = Collection::default().title("一").round("第1回").entry(poem(1, None));
    let second = "遠慮したラップトップ和歌集";
    publish(&first.write(), &store);
    let lambda = Lambda::start(
        Mode::Buffered,
        &[("WAKASHU_ARCHIVE", store.to_str().unwrap()), ("WAKASHU_REFRESH_SECONDS", "1")],
    );
    let status = || {
        let status = ask(&lambda, "legacy-status")["structuredContent"].clone();
        (status["title"].as_str().unwrap().to_owned(), status["stale"].as_bool().unwrap())
    };
    assert_eq!(status(), ("一".to_owned(), false));
    publish(sample(), &store);
    wait_until("the new one is served", || status() == (second.to_owned(), false));

    let away = folder.path().join("away");
    std::fs::rename(&store, &away).unwrap();
    wait_until("the loss is noticed", || status().1);
    assert_eq!(status(), (second.to_owned(), true), "a good index is never lost");
    assert!(ask(&lambda, "legacy-tools-list")["tools"].as_array().unwrap().len() > 1);
    std::fs::rename(&away, &store).unwrap();
    wait_until("it is fresh again", || status() == (second.to_owned(), false));
}

#[test]
fn a_bucket_that_never_answers_holds_up_start_and_answers_only_so_long() {
    // Connections are taken by the system and never answered.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", silent.local_addr().unwrap());
    let lambda = Lambda::start(
        Mode::Buffered,
        &[
            ("WAKASHU_ARCHIVE", "s3://poems/wakashu"),
            ("AWS_ENDPOINT_URL_S3", &endpoint),
            ("AWS_REGION", "eu-central-1"),
            ("AWS_ACCESS_KEY_ID", "key"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
        ],
    );
    assert_eq!(ask(&lambda, "legacy-status")["structuredContent"]["state"], "UNAVAILABLE");
    let log = lambda.log_with("INIT REPORT");
    assert_eq!(log.matches("INIT REPORT").count(), 1, "the start was not cut short by the platform: {log}");
}
