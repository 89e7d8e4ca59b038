//! The manager, with real servers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::support::{Reply, WebServer, fixture, helper};
use serde_json::{Map, json};
use wakashu_client::config::{Options, ServerConfig};
use wakashu_client::link::Call;
use wakashu_client::manager::{Execution, Manager, OwnTool};
use wakashu_client::metrics::Counter;
use wakashu_client::policy::RetryPolicy;
use wakashu_client::{Error, ErrorCode};

fn options() -> Options {
    Options {
        helper: Some(helper()),
        retry_policy: RetryPolicy { initial_delay: Duration::from_millis(5), ..RetryPolicy::default() },
        ..Options::default()
    }
}

fn fixture_server(name: &str, flags: &[&str]) -> ServerConfig {
    let args: Vec<&str> = std::iter::once("server").chain(flags.iter().copied()).collect();
    ServerConfig::stdio(name, fixture().to_str().unwrap(), &args)
}

fn own_tool(name: &str, execute: wakashu_client::manager::Execute) -> OwnTool {
    OwnTool {
        name: name.to_owned(),
        description: String::new(),
        version: "1.0.0".to_owned(),
        input_schema: json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}),
        output_schema: Some(json!({"type": "integer"})),
        can_execute: None,
        execute,
    }
}

#[tokio::test]
async fn tools_of_every_era_run_under_one_name_or_the_servers() {
    let manager = Manager::new(options());
    let servers = vec![
        fixture_server("old", &["legacy"]),
        fixture_server("new", &["modern"]),
        fixture_server("both", &["both"]),
    ];
    let failed = manager.initialize(servers).await;
    assert!(failed.is_empty(), "{failed:?}");
    assert_eq!(manager.tools().len(), 27, "two pages of each");
    let tool = manager.get_tool("old__echo").unwrap();
    assert_eq!((tool.tool.version.as_str(), tool.server.as_deref()), ("1.2", Some("old")));
    for server in ["old", "new", "both"] {
        let result = manager.execute_tool(&format!("{server}__echo"), json!({"text": "歌"})).await;
        assert_eq!(result.data.unwrap()["content"][0]["text"], r#"{"text":"歌"}"#);
        assert_eq!(result.metadata.server.as_deref(), Some(server));
        assert!(manager.is_connected(server));
    }
    let error = manager.execute_tool("echo", json!({})).await.error.unwrap();
    assert_eq!(
        (error.code, error.message.as_str()),
        (
            ErrorCode::ToolNotFound,
            "several servers have a tool `echo`: say `both__echo` or `new__echo` or `old__echo`"
        )
    );
    manager.remove_server("new").await.unwrap();
    manager.remove_server("both").await.unwrap();
    assert!(manager.execute_tool("echo", json!({})).await.success);
    let mut args = Map::new();
    args.insert("name".to_owned(), json!("second"));
    assert_eq!(manager.execute_prompt("old", "p", &args).await.unwrap(), "first\n\nsecond");
    assert_eq!(manager.read_resource("old", "a://b").await.unwrap()["contents"][0]["text"], "poem");
    assert_eq!(manager.read_resource("old", "a://b").await.unwrap()["contents"][0]["uri"], "a://b");
    assert_eq!(manager.metrics().total(Counter::CacheHits), 1);
    manager.close().await;
}

#[tokio::test]
async fn a_result_says_what_went_wrong() {
    let manager = Manager::new(options());
    let mut config = fixture_server("a", &["legacy"]);
    config.rules.deny = vec!["d*".to_owned()];
    manager.register_server(config).await.unwrap();
    manager.set_can_execute(
        "sleep",
        Arc::new(|params: &serde_json::Value| {
            let short = params["ms"].as_u64() < Some(100);
            Box::pin(async move { short })
        }),
    );
    for (tool, params, code) in [
        ("nothing", json!({}), ErrorCode::ToolNotFound),
        ("echo", json!({"text": 7}), ErrorCode::InvalidParams),
        ("echo", json!([]), ErrorCode::InvalidParams),
        ("die", json!({}), ErrorCode::CannotExecute),
        ("sleep", json!({"ms": 1000}), ErrorCode::CannotExecute),
        ("fail", json!({}), ErrorCode::ExecutionFailed),
    ] {
        let result = manager.execute_tool(tool, params).await;
        let error = result.error.unwrap();
        assert_eq!((result.success, error.code), (false, code), "{tool}: {error}");
    }
    // A rule holds under either name of its tool.
    manager.set_can_execute("a__echo", Arc::new(|_: &serde_json::Value| Box::pin(async { false })));
    for (tool, params) in [
        ("a__sleep", json!({"ms": 1000})),
        ("a__echo", json!({})),
        ("echo", json!({})),
        ("a__die", json!({})),
    ] {
        let error = manager.execute_tool(tool, params).await.error.unwrap();
        assert_eq!(error.code, ErrorCode::CannotExecute, "{tool}: {error}");
    }
    assert!(manager.execute_tool("sleep", json!({"ms": 1})).await.success);
    assert!(manager.get_tool("die").is_some() && manager.tools().iter().all(|tool| tool.tool.name != "die"));
    let json = serde_json::to_value(manager.execute_tool("fail", json!({})).await).unwrap();
    assert_eq!((&json["success"], &json["error"]["message"]), (&json!(false), &json!("it did not work")));
    assert!(json["metadata"]["executionTime"].as_f64().unwrap() > 0.0);
}

#[tokio::test]
async fn tools_of_the_programs_own_are_held_to_the_same_rules() {
    let options = Options { validate_output: true, timeout: Duration::from_millis(200), ..options() };
    let manager = Manager::new(options);
    manager
        .register_tool(own_tool(
            "double",
            Arc::new(|params| Box::pin(async move { Ok(json!(params["n"].as_i64().unwrap() * 2)) })),
        ))
        .unwrap();
    manager.register_tool(own_tool("slow", Arc::new(|_| Box::pin(std::future::pending())))).unwrap();
    manager.register_tool(own_tool("odd", Arc::new(|_| Box::pin(async { Ok(json!("text")) })))).unwrap();
    let refused = OwnTool {
        can_execute: Some(Arc::new(|params: &serde_json::Value| {
            let even = params["n"].as_i64().unwrap() % 2 == 0;
            Box::pin(async move { even })
        })),
        ..own_tool("even", Arc::new(|_| Box::pin(async { Ok(json!(0)) })))
    };
    manager.register_tool(refused).unwrap();
    assert!(manager.register_tool(own_tool("odd", Arc::new(|_| Box::pin(async { Ok(json!(0)) })))).is_err());
    assert_eq!(manager.execute_tool("double", json!({"n": 21})).await.data, Some(json!(42)));
    for (tool, params, code) in [
        ("double", json!({}), ErrorCode::InvalidParams),
        ("slow", json!({"n": 1}), ErrorCode::Timeout),
        ("odd", json!({"n": 1}), ErrorCode::ExecutionFailed),
        ("even", json!({"n": 1}), ErrorCode::CannotExecute),
    ] {
        assert_eq!(manager.execute_tool(tool, params).await.error.unwrap().code, code, "{tool}");
    }
    assert!(manager.execute_tool("even", json!({"n": 2})).await.success);
    // One that panics does not end what runs beside it.
    let panics: wakashu_client::manager::Execute = Arc::new(|params| {
        assert_ne!(params["n"], json!(1), "before there is a future");
        Box::pin(async { panic!("within") })
    });
    manager.register_tool(own_tool("panics", panics)).unwrap();
    let executions = [("panics", 1), ("panics", 2), ("double", 3)];
    let executions = executions.map(|(tool, n)| Execution::new(tool, json!({"n": n}))).to_vec();
    let results = manager.execute_parallel(executions).await.0;
    for result in &results[..2] {
        assert_eq!(result.error.as_ref().unwrap().code, ErrorCode::ExecutionFailed, "{result:?}");
    }
    assert_eq!(results[2].data, Some(json!(6)));
}

#[tokio::test]
async fn a_name_that_means_two_tools_is_refused_unless_only_one_may_run() {
    let manager = Manager::new(options());
    let also = |name: &str| {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("also"), name).unwrap();
        (format!("also={}", folder.path().join("also").display()), folder)
    };
    let ((of_a, _kept), (of_ab, _kept_too)) = (also("b__c"), also("c"));
    manager.register_server(fixture_server("a", &["legacy", &of_a])).await.unwrap();
    manager.register_server(fixture_server("a__b", &["legacy", &of_ab])).await.unwrap();
    let error = manager.execute_tool("a__b__c", json!({})).await.error.unwrap();
    assert_eq!(error.message, "several servers have a tool `a__b__c`: give one of them another name");
    assert!(manager.get_tool("c").is_some_and(|tool| tool.server.as_deref() == Some("a__b")));
    let mut denied = fixture_server("denied", &["legacy"]);
    denied.rules.deny = vec!["*".to_owned()];
    manager.remove_server("a").await.unwrap();
    manager.register_server(denied).await.unwrap();
    assert!(manager.execute_tool("echo", json!({})).await.success);
    let error = manager.execute_tool("denied__echo", json!({})).await.error.unwrap();
    assert_eq!(error.code, ErrorCode::CannotExecute);
    manager.close().await;
}

#[tokio::test]
async fn parallel_results_keep_their_order_and_one_failure_stays_one() {
    let manager = Manager::new(Options { max_parallel: 3, ..options() });
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (seen_running, seen_most) = (Arc::clone(&running), Arc::clone(&most));
    let work: wakashu_client::manager::Execute = Arc::new(move |params| {
        let (running, most) = (Arc::clone(&seen_running), Arc::clone(&seen_most));
        Box::pin(async move {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let n = params["n"].as_u64().unwrap();
            tokio::time::sleep(Duration::from_millis(20 - n)).await;
            running.fetch_sub(1, Ordering::SeqCst);
            if n == 4 { Err(Error::new(ErrorCode::ExecutionFailed, "four")) } else { Ok(json!(n)) }
        })
    });
    manager.register_tool(own_tool("work", work)).unwrap();
    let executions = (0..10).map(|n| Execution::new("work", json!({"n": n}))).collect();
    let results = manager.execute_parallel(executions).await;
    let data: Vec<_> = results.0.iter().map(|result| result.data.clone()).collect();
    let expected: Vec<_> = (0..10).map(|n| (n != 4).then(|| json!(n))).collect();
    assert_eq!(data, expected);
    assert_eq!(most.load(Ordering::SeqCst), 3);
    let error = results.all_or_error().unwrap_err();
    assert_eq!(
        (error.code, error.message.as_str()),
        (ErrorCode::ParallelExecutionFailed, "task 4 failed: four")
    );
}

#[tokio::test]
async fn one_dead_server_costs_its_own_tools() {
    let manager = Manager::new(Options {
        retry_policy: RetryPolicy::never(),
        timeout: Duration::from_secs(5),
        ..options()
    });
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = format!("http://{}/mcp", listener.local_addr().unwrap());
    drop(listener);
    let servers = vec![ServerConfig::http("dead", closed), fixture_server("alive", &["legacy"])];
    let failed = manager.initialize(servers).await;
    assert_eq!(failed.len(), 1);
    assert_eq!((&*failed[0].0, failed[0].1.code), ("dead", ErrorCode::ConnectionFailed));
    assert!(manager.execute_tool("echo", json!({})).await.success);
    assert!(
        manager.register_server(ServerConfig::http("dead", "http://127.0.0.1:1/mcp")).await.is_err(),
        "the name is taken"
    );
}

#[tokio::test]
async fn the_server_idle_longest_makes_room_and_comes_back_on_demand() {
    let manager = Manager::new(Options { max_connections: 2, timeout: Duration::from_secs(10), ..options() });
    for name in ["a", "b", "c"] {
        manager.register_server(fixture_server(name, &["legacy"])).await.unwrap();
    }
    assert_eq!(["a", "b", "c"].map(|name| manager.is_connected(name)), [false, true, true]);
    assert!(manager.execute_tool("a__echo", json!({})).await.success);
    assert_eq!(["a", "b", "c"].map(|name| manager.is_connected(name)), [true, false, true]);
    assert_eq!(manager.metrics().total(Counter::Evictions), 2);
    // Both places are busy: the newcomer waits until one is not.
    let started = Instant::now();
    let executions =
        ["a__sleep", "c__sleep", "b__sleep"].map(|tool| Execution::new(tool, json!({"ms": 400})));
    let results = manager.execute_parallel(executions.to_vec()).await;
    assert!(results.0.iter().all(|result| result.success), "{results:?}");
    assert!(started.elapsed() >= Duration::from_millis(800));
    manager.close().await;
}

/// Whatever changed while nobody listened is found out when a server is started again: to make room, or after its end.
#[tokio::test]
async fn a_server_that_is_started_again_may_have_other_tools() {
    let folder = tempfile::tempdir().unwrap();
    let also = folder.path().join("also");
    let flag = format!("also={}", also.display());
    let has = |manager: &Manager, tool: &str| manager.get_tool(&format!("late__{tool}")).is_some();
    let until_it_has = async |manager: &Manager, tool: &str| {
        let deadline = Instant::now() + Duration::from_secs(10);
        while !has(manager, tool) {
            assert!(Instant::now() < deadline, "{tool}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    for era in ["legacy", "modern"] {
        std::fs::write(&also, "first").unwrap();
        let manager = Manager::new(Options { max_connections: 1, ..options() });
        manager.register_server(fixture_server("late", &[era, &flag])).await.unwrap();
        assert!(has(&manager, "first"));
        manager.register_server(fixture_server("other", &[era])).await.unwrap();
        assert!(!manager.is_connected("late"));
        std::fs::write(&also, "second").unwrap();
        assert!(manager.execute_tool("late__echo", json!({})).await.success);
        until_it_has(&manager, "second").await;
        assert!(!has(&manager, "first"));
        // It dies, and the link starts it again by itself.
        std::fs::write(&also, "third").unwrap();
        assert!(!manager.execute_tool("late__die", json!({})).await.success);
        assert!(manager.execute_tool("late__echo", json!({})).await.success);
        until_it_has(&manager, "third").await;
        let agreed = manager.server("late").unwrap().connect().await.unwrap();
        assert_eq!(agreed.info["title"], "third", "{era}");
        manager.close().await;
    }
}

#[tokio::test]
async fn only_what_is_safe_is_sent_twice() {
    let server = WebServer::start(|arrived, before| {
        let id = &arrived.body["id"];
        let answer = |result: &str| Reply::json(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
        match arrived.rpc() {
            "server/discover" => answer(r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#),
            "tools/list" if before == 1 => Reply::status("503 Service Unavailable", "Retry-After: 0\r\n", ""),
            "tools/list" => answer(r#"{"tools":[{"name":"reads","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},{"name":"writes","inputSchema":{"type":"object"}}]}"#),
            _ => Reply { parts: vec![(0, Vec::new())], closes: true },
        }
    })
    .await;
    for (trusted, tool, calls) in [(true, "writes", 1), (false, "reads", 1), (true, "reads", 4)] {
        let manager = Manager::new(options());
        let mut config = ServerConfig::http("web", server.url.clone());
        config.trusted = trusted;
        server.seen.lock().unwrap().clear();
        manager.register_server(config).await.unwrap();
        let error = manager.execute_tool(tool, json!({})).await.error.unwrap();
        let sent = server.methods().iter().filter(|method| *method == "tools/call").count();
        assert_eq!(sent, calls, "{tool}, trusted: {trusted}");
        assert_eq!(
            error.code,
            if calls > 1 { ErrorCode::MaxRetriesExceeded } else { ErrorCode::ConnectionLost }
        );
        assert_eq!(manager.metrics().total(Counter::Retries), calls as u64);
    }
}

#[tokio::test]
async fn a_changed_list_changes_the_registry() {
    let server = WebServer::start(|arrived, _| {
        let id = &arrived.body["id"];
        let answer = |result: String| Reply::json(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
        match arrived.rpc() {
            "server/discover" => answer(r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}"#.to_owned()),
            "subscriptions/listen" => Reply::events(&[
                (300, r#"data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#.to_owned()),
                (5000, ": alive".to_owned()),
            ]),
            _ => answer(format!(r#"{{"tools":[{{"name":"t{id}","inputSchema":{{"type":"object"}}}}]}}"#)),
        }
    })
    .await;
    let manager = Manager::new(options());
    manager.register_server(ServerConfig::http("web", server.url.clone())).await.unwrap();
    let first = manager.tools()[0].tool.name.clone();
    let deadline = Instant::now() + Duration::from_secs(10);
    while manager.tools()[0].tool.name == first {
        assert!(Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A host of either era, through the manager to a server of either era.
#[tokio::test]
async fn requests_of_hosts_are_forwarded_across_the_eras() {
    let manager = Manager::new(options());
    let mut old = fixture_server("old", &["legacy"]);
    old.rules.deny = vec!["sp*".to_owned()];
    assert!(manager.initialize(vec![old, fixture_server("new", &["modern"])]).await.is_empty());
    let mut notices = manager.server("old").unwrap().notices();
    let modern = r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let call = |tool: &str, arguments: &str, more: &str| {
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":"h","method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}{more}}}}}"#
        );
        Call::read(text.into()).unwrap()
    };
    for (server, more, completes) in
        [("old", "", false), ("old", modern, true), ("new", "", false), ("new", modern, false)]
    {
        let answer = manager.forward(server, call("echo", r#"{"text":"歌"}"#, more)).await.unwrap();
        let text = String::from_utf8(answer.message.into_bytes().to_vec()).unwrap();
        let completed = if completes { r#""resultType":"complete","# } else { "" };
        assert_eq!(
            text,
            format!(
                r#"{{"id":"h","jsonrpc":"2.0","result":{{{completed}"content":[{{"text":"{{\"text\":\"歌\"}}","type":"text"}}]}}}}"#
            ),
            "{server}"
        );
    }
    manager
        .forward("old", call("progress", r#"{"ms":1}"#, r#","_meta":{"progressToken":"p"}"#))
        .await
        .unwrap();
    assert!(
        String::from_utf8_lossy(&notices.recv().await.unwrap().into_bytes())
            .contains(r#""progressToken":"p""#)
    );
    let error = manager.forward("old", call("spawn", "{}", "")).await.unwrap_err();
    assert_eq!((error.code, error.never_sent), (ErrorCode::CannotExecute, true));
    manager.close().await;
}

/// Links change hands while requests come: none is cut off by that.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_asked_while_it_makes_room_answers() {
    let manager = Manager::new(Options { max_connections: 2, max_parallel: 6, ..options() });
    for name in ["a", "b", "c"] {
        manager.register_server(fixture_server(name, &["legacy"])).await.unwrap();
    }
    let tools = ["a__echo", "b__echo", "c__echo"].into_iter().cycle();
    let executions = tools.take(60).map(|tool| Execution::new(tool, json!({}))).collect();
    for result in manager.execute_parallel(executions).await.0 {
        assert!(result.success, "{result:?}");
    }
    manager.close().await;
}

/// Answers a server of either era that has one tool, by what it is asked.
fn modern_answer(rpc: &str) -> &'static str {
    match rpc {
        "server/discover" => {
            r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#
        }
        "tools/list" => {
            r#"{"resultType":"complete","tools":[{"name":"t","inputSchema":{"type":"object"}}],"ttlMs":0}"#
        }
        _ => r#"{"resultType":"complete","content":[{"type":"text","text":"modern"}]}"#,
    }
}

fn host_call(id: u64, text: &str) -> Call {
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t","arguments":{{"text":"{text}"}}}}}}"#
    );
    Call::read(call.into()).unwrap()
}

/// Hosts count from 1, all of them; a session knows its requests by their ids.
#[tokio::test]
async fn hosts_that_count_alike_share_a_session() {
    let used = std::sync::Mutex::new(std::collections::HashSet::new());
    let server = WebServer::start(move |arrived, _| {
        let id = &arrived.body["id"];
        let answer = |rest: String| format!(r#"{{"jsonrpc":"2.0","id":{id},{rest}}}"#);
        if !id.is_null() && !used.lock().unwrap().insert(id.to_string()) {
            return Reply::json(&answer(
                r#""error":{"code":-32050,"message":"that id was used"}"#.to_owned(),
            ));
        }
        let text = &arrived.body["params"]["arguments"]["text"];
        match arrived.rpc() {
            "server/discover" => Reply::json(&answer(r#""error":{"code":-32601,"message":"?"}"#.to_owned())),
            "initialize" => {
                let result =
                    r#""result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}"#.to_owned();
                let headers = "Content-Type: application/json\r\nMcp-Session-Id: s\r\n";
                Reply::status("200 OK", headers, &answer(result))
            }
            "tools/list" => Reply::json(&answer(r#""result":{"tools":[]}"#.to_owned())),
            "tools/call" if text == "slow" => Reply { parts: vec![(60_000, Vec::new())], closes: true },
            "tools/call" => Reply::json(&answer(format!(r#""result":{{"content":[{text}]}}"#))),
            "" => Reply::status("405 Method Not Allowed", "", ""),
            _ => Reply::accepted(),
        }
    })
    .await;
    let manager = Manager::new(options());
    manager.register_server(ServerConfig::http("web", server.url.clone())).await.unwrap();
    for _ in 0..2 {
        let (one, other) = tokio::join!(
            manager.forward("web", host_call(1, "one")),
            manager.forward("web", host_call(1, "other"))
        );
        for (answer, text) in [(one, "one"), (other, "other")] {
            let answer = String::from_utf8(answer.unwrap().message.into_bytes().to_vec()).unwrap();
            assert_eq!(answer, format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":["{text}"]}}}}"#));
        }
    }
    // The server is told of a request that is given up under the id it knows.
    let slow = tokio::spawn(async move { manager.forward("web", host_call(1, "slow")).await });
    let of = |rpc: &str| server.seen().into_iter().filter(|seen| seen.rpc() == rpc).collect::<Vec<_>>();
    while of("tools/call").len() < 5 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    slow.abort();
    while of("notifications/cancelled").is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let known = &of("tools/call")[4].body["id"];
    assert_eq!(&of("notifications/cancelled")[0].body["params"]["requestId"], known);
}

/// As a server does that is rolled back, and upgraded again, while we hold on to it.
#[tokio::test]
async fn a_server_that_changes_its_era_is_followed() {
    let is_modern = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let era = Arc::clone(&is_modern);
    let server = WebServer::start(move |arrived, before| {
        let id = &arrived.body["id"];
        let answer = |result: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        let refuse = |code: i64| {
            let error = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"no"}}}}"#);
            Reply::status("400 Bad Request", "Content-Type: application/json\r\n", &error)
        };
        let speaks_modern = arrived.header("mcp-method").is_some();
        match (era.load(Ordering::SeqCst), arrived.rpc(), arrived.header("mcp-session-id")) {
            (true, _, _) if !speaks_modern => refuse(-32022),
            (true, rpc, _) => Reply::json(&answer(modern_answer(rpc))),
            (false, "initialize", _) => {
                let headers = format!("Content-Type: application/json\r\nMcp-Session-Id: s{before}\r\n");
                let said = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"back"}}"#;
                Reply::status("200 OK", &headers, &answer(said))
            }
            (false, "notifications/initialized", _) => Reply::accepted(),
            (false, _, None) => refuse(-32000),
            (false, "tools/call", _) if !speaks_modern => Reply::json(&answer(r#"{"content":[{"text":"legacy"}]}"#)),
            (false, "tools/list", _) if !speaks_modern => Reply::json(&answer(modern_answer("tools/list"))),
            (false, _, _) => refuse(-32601),
        }
    })
    .await;
    let manager = Manager::new(options());
    manager.register_server(ServerConfig::http("web", server.url.clone())).await.unwrap();
    for (now_modern, said) in [(true, "modern"), (false, "legacy"), (true, "modern"), (false, "legacy")] {
        is_modern.store(now_modern, Ordering::SeqCst);
        let result = manager.execute_tool("t", json!({})).await;
        assert_eq!(result.data.unwrap()["content"][0]["text"], said, "{:?}", result.error);
        let agreed = manager.server("web").unwrap().connect().await.unwrap();
        assert_eq!((agreed.revision.is_modern(), agreed.info["name"] == "back"), (now_modern, !now_modern));
    }
}

/// What was never sent is sent, whatever it may do: the failure was of the connection before it.
#[tokio::test]
async fn a_tool_runs_once_its_server_can_be_reached_again() {
    let failures = Arc::new(AtomicUsize::new(0));
    let left = Arc::clone(&failures);
    let server = WebServer::start(move |arrived, _| {
        if left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
            return Reply { parts: vec![(0, Vec::new())], closes: true };
        }
        let result = modern_answer(arrived.rpc());
        Reply::json(&format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, arrived.body["id"]))
    })
    .await;
    let manager = Manager::new(options());
    manager.register_server(ServerConfig::http("web", server.url.clone())).await.unwrap();
    manager.disconnect("web").await.unwrap();
    // Both the probe and the greeting are lost.
    failures.store(2, Ordering::SeqCst);
    let result = manager.execute_tool("t", json!({})).await;
    assert!(result.success, "{result:?}");
    assert_eq!(server.methods().iter().filter(|method| *method == "tools/call").count(), 1);
}

/// What was asked for before a change, and answered after it, is neither listed nor kept.
#[tokio::test]
async fn a_list_that_was_read_before_a_change_does_not_outlive_it() {
    let (lists, reads) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let server = WebServer::start(move |arrived, _| {
        let id = &arrived.body["id"];
        let message = |result: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        match arrived.rpc() {
            "server/discover" => Reply::json(&message(r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{}}}"#)),
            "subscriptions/listen" => Reply::events(&[
                (300, r#"data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#.to_owned()),
                (60_000, ": alive".to_owned()),
            ]),
            "resources/read" => Reply::json(&message(if reads.fetch_add(1, Ordering::SeqCst) == 0 {
                r#"{"resultType":"input_required"}"#
            } else {
                r#"{"resultType":"complete","contents":[]}"#
            })),
            _ => {
                let number = lists.fetch_add(1, Ordering::SeqCst);
                let list = message(&format!(r#"{{"tools":[{{"name":"t{number}","inputSchema":{{"type":"object"}}}}]}}"#));
                let events = [(if number == 0 { 900 } else { 0 }, format!("data: {list}"))];
                Reply::events(&events)
            }
        }
    })
    .await;
    let manager = Manager::new(options());
    manager.register_server(ServerConfig::http("web", server.url.clone())).await.unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while manager.get_tool("t1").is_none() {
        assert!(Instant::now() < deadline, "{:?}", manager.tools());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // Neither is a question that came in place of an answer.
    assert!(manager.read_resource("web", "a://b").await.is_err());
    assert!(manager.read_resource("web", "a://b").await.is_ok());
}
