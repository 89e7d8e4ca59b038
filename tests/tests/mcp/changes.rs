//! A replaced archive: served soon, told to those who listen, and never a reason to stop.

use std::path::Path;

use serde_json::{Value, json};
use wakashu_tests::{
    CallGate, Collection, Connection, LEGACY, Server, Stdio, call, legacy_body, modern, modern_body, poem,
    wait_until,
};

use super::fixture;

/// The shortest interval there is.
const EVERY_SECOND: [(&str, &str); 1] = [("WAKASHU_REFRESH_SECONDS", "1")];
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

fn other() -> Collection {
    Collection::default().title("次の和歌集").round("第7回").entry(poem(1, None))
}

/// Puts another archive in the place of the served one, as publishing does: by renaming.
fn replace(path: &Path) {
    let other = other();
    let beside = path.with_extension("next");
    std::fs::copy(other.write(), &beside).unwrap();
    std::fs::rename(beside, path).unwrap();
}

fn title(server: &Server) -> Value {
    server.send(&call("index_status", &json!({}))).result()["structuredContent"]["title"].clone()
}

fn listen(server: &Server, notifications: &Value) -> Connection {
    let mut connection = server.connect();
    let request = modern("subscriptions/listen", &json!({ "notifications": notifications }));
    connection.send(&request.bytes()).unwrap();
    let head = connection.receive_head().unwrap();
    assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
    assert_eq!(head.header("x-accel-buffering"), Some("no"));
    connection
}

/// Returns the next message of a stream; comments only show that it lives.
fn next_message(connection: &mut Connection) -> Option<Value> {
    loop {
        let event = connection.next_event()?;
        if let Some(data) = event.strip_prefix("data: ") {
            return Some(serde_json::from_str(data).unwrap());
        }
        assert!(event.starts_with(':'), "{event}");
    }
}

#[test]
fn listeners_over_http_hear_of_a_replaced_archive() {
    let collection = fixture::collection();
    let path = collection.write();
    let mut server = Server::serve_with(Some(&path), &EVERY_SECOND);
    let capabilities = server.send(&modern("server/discover", &json!({}))).result()["capabilities"].clone();
    assert_eq!(capabilities["resources"]["listChanged"], true, "{capabilities}");

    let mut both = listen(&server, &json!({ "toolsListChanged": true, "resourcesListChanged": true }));
    let mut prompts = listen(&server, &json!({ "promptsListChanged": true, "toolsListChanged": false }));
    let acknowledged = next_message(&mut both).unwrap();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(acknowledged["params"]["_meta"][SUBSCRIPTION], 1, "the id of the request, of the same type");
    assert_eq!(
        acknowledged["params"]["notifications"],
        json!({ "toolsListChanged": true, "resourcesListChanged": true })
    );
    assert_eq!(
        next_message(&mut prompts).unwrap()["params"]["notifications"],
        json!({}),
        "what is never announced"
    );

    replace(&path);
    // The tools too: their descriptions name the collection.
    let heard = [next_message(&mut both).unwrap(), next_message(&mut both).unwrap()];
    assert_eq!(heard[0]["method"], "notifications/tools/list_changed");
    assert_eq!(heard[1]["method"], "notifications/resources/list_changed");
    assert!(heard.iter().all(|message| message["params"]["_meta"][SUBSCRIPTION] == 1), "{heard:?}");
    assert_eq!(title(&server), "次の和歌集", "who was told finds the new archive");

    let stopped =
        std::process::Command::new("kill").args(["-TERM", &server.id().to_string()]).status().unwrap();
    assert!(stopped.success());
    for connection in [&mut both, &mut prompts] {
        let closed = next_message(connection).unwrap();
        assert_eq!((&closed["id"], &closed["result"]["resultType"]), (&json!(1), &json!("complete")));
        assert_eq!(closed["result"]["_meta"][SUBSCRIPTION], 1);
        assert!(next_message(connection).is_none(), "nothing after the closing result");
    }
    assert!(server.wait().success());
}

#[test]
fn listeners_over_stdio_hear_of_a_replaced_archive_until_they_cancel() {
    let collection = fixture::collection();
    let path = collection.write();
    let mut stdio = Stdio::start_with(Some(&path), &EVERY_SECOND);
    let mut request =
        modern_body("subscriptions/listen", &json!({ "notifications": { "resourcesListChanged": true } }));
    request["id"] = json!("ears");
    let acknowledged = stdio.ask(&request);
    assert_eq!(acknowledged["params"]["_meta"][SUBSCRIPTION], "ears");
    replace(&path);
    let heard = stdio.receive().unwrap();
    assert_eq!(heard["method"], "notifications/resources/list_changed");
    assert_eq!(heard["params"]["_meta"][SUBSCRIPTION], "ears");
    stdio.send(
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "ears" } })
            .to_string(),
    );
    // Whatever closes the subscription comes before the answer to the next request, and then the input ends it all.
    stdio.send(legacy_body("ping", &json!({})).to_string());
    while stdio.receive().unwrap()["result"] != json!({}) {}
    stdio.end_input();
    assert!(stdio.wait().success());
}

/// Some JSON libraries write `\/` for `/`, and members come in any order.
#[test]
fn a_method_is_recognised_over_stdio_however_it_is_written() {
    let collection = fixture::collection();
    let mut stdio = Stdio::start(&collection.write());
    let listen =
        modern_body("subscriptions/listen", &json!({ "notifications": { "toolsListChanged": true } }));
    stdio.send(listen.to_string().replace("subscriptions/listen", r"subscriptions\/listen"));
    assert_eq!(stdio.receive().unwrap()["method"], "notifications/subscriptions/acknowledged");

    let padding = "長".repeat(3_000);
    stdio.send(format!(
        r#"{{"jsonrpc":"2.0","id":1,"params":{{"padding":"{padding}","protocolVersion":"2025-03-26"}},"method":"initialize"}}"#
    ));
    assert_eq!(stdio.receive().unwrap()["result"]["protocolVersion"], "2025-03-26");
    // Only the revision just agreed on has batches.
    stdio.send(r#"[{"jsonrpc":"2.0","id":2,"method":"ping"}]"#);
    assert_eq!(stdio.receive().unwrap()[0]["result"], json!({}));
}

#[test]
fn a_cancelled_request_over_stdio_is_not_answered() {
    let collection = fixture::collection();
    let gate = CallGate::default();
    let mut stdio = Stdio::start_with(Some(&collection.write()), &[("WAKASHU_DRILL", &gate.setting())]);
    let mut slow = legacy_body("tools/call", &json!({ "name": "index_status" }));
    slow["id"] = json!("x");
    stdio.send(slow.to_string());
    let held = gate.next();
    stdio.send(
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "x" } })
            .to_string(),
    );
    let _ = stdio.log_with(r#""status":499,"error":"CANCELLED""#);
    held.wait_until_given_up();
    // One that came later is answered, and nothing else.
    slow["id"] = json!("y");
    stdio.send(slow.to_string());
    drop(gate.next());
    assert_eq!(stdio.receive().unwrap()["id"], "y");
    stdio.end_input();
    assert!(stdio.receive().is_none());
    assert!(stdio.wait().success());
}

#[test]
fn a_legacy_client_over_stdio_is_told_after_it_introduced_itself() {
    let collection = fixture::collection();
    let path = collection.write();
    let mut stdio = Stdio::start_with(Some(&path), &EVERY_SECOND);
    let agreed = stdio.ask(&legacy_body("initialize", &json!({ "protocolVersion": LEGACY })));
    assert_eq!(agreed["result"]["capabilities"]["resources"]["listChanged"], true);
    stdio.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
    replace(&path);
    assert_eq!(stdio.receive().unwrap()["method"], "notifications/tools/list_changed");
    assert_eq!(stdio.receive().unwrap()["method"], "notifications/resources/list_changed");
}

#[test]
fn a_lost_archive_is_served_on_and_said_to_be_stale() {
    let collection = fixture::collection();
    let path = collection.write();
    let server = Server::serve_with(Some(&path), &EVERY_SECOND);
    let status = || server.send(&call("index_status", &json!({}))).result()["structuredContent"].clone();
    assert_eq!(status()["stale"], false);
    let away = path.with_extension("away");
    std::fs::rename(&path, &away).unwrap();
    wait_until("it is noticed", || status()["stale"] == true);
    let ranking = server.send(&call("get_wakashu_ranking", &json!({ "round_title": "第1回" })));
    assert_eq!(ranking.pictures().len(), 3, "a failed refresh never loses a good archive");
    assert!(status()["staleSince"].is_string());

    std::fs::rename(&away, &path).unwrap();
    wait_until("it is fresh again", || status()["stale"] == false);
    replace(&path);
    wait_until("the next one is served", || title(&server) == "次の和歌集");
}

#[test]
fn an_archive_that_comes_later_is_found() {
    let collection = fixture::collection();
    let path = collection.folder().join("later.wakashu");
    let server = Server::serve_with(Some(&path), &EVERY_SECOND);
    assert_eq!(server.send(&modern("tools/list", &json!({}))).result()["tools"].as_array().unwrap().len(), 1);
    let mut ears = listen(&server, &json!({ "toolsListChanged": true }));
    assert!(next_message(&mut ears).is_some());
    std::fs::copy(other().write(), path.with_extension("next")).unwrap();
    std::fs::rename(path.with_extension("next"), &path).unwrap();
    assert_eq!(next_message(&mut ears).unwrap()["method"], "notifications/tools/list_changed");
    assert!(server.send(&modern("tools/list", &json!({}))).result()["tools"].as_array().unwrap().len() > 1);
}

#[test]
fn a_cursor_belongs_to_the_archive_it_was_made_for() {
    let collection = fixture::collection();
    let path = collection.write();
    let server = Server::serve_with(Some(&path), &EVERY_SECOND);
    let page =
        server.send(&call("list_rounds", &json!({ "limit": 1 }))).result()["structuredContent"].clone();
    let next = json!({ "limit": 1, "cursor": page["nextCursor"] });
    assert!(!server.send(&call("list_rounds", &next)).is_tool_error());
    replace(&path);
    wait_until("the next one is served", || title(&server) == "次の和歌集");
    let foreign = server.send(&call("list_rounds", &next));
    assert!(
        foreign.is_tool_error() && foreign.texts()[0].contains("cursor を付けずに、最初から"),
        "{:?}",
        foreign.texts()
    );
}
