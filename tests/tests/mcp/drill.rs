//! A panic in a handler: answered under the request's own id, logged, and survived.

use serde_json::{Value, json};
use wakashu_tests::{LEGACY, Server, Stdio, legacy, legacy_body, modern, modern_body, post};

use super::fixture;

const DRILL: &str = "wakashu/drill";
const ON: [(&str, &str); 1] = [("WAKASHU_DRILL", "on")];

/// Checks the answer to a drill: the id, the code, and nothing of what happened.
fn check(answer: &Value) {
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(1), &json!(-32603)), "{answer}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("request ") && !message.contains("drill"), "{message}");
}

#[test]
fn a_panic_over_http_is_answered_logged_and_survived() {
    let collection = fixture::collection();
    let mut server = Server::serve_with(Some(&collection.write()), &ON);
    for request in [modern(DRILL, &json!({})), legacy(DRILL, &json!({}))] {
        for _ in 0..5 {
            let reply = server.send(&request);
            assert_eq!(reply.status, 200, "a handled failure");
            check(&reply.json());
            assert_eq!(server.send(&legacy("ping", &json!({}))).status, 200);
        }
    }
    // The same connection goes on, and so does the rest of a batch.
    let mut connection = server.connect();
    for request in [legacy(DRILL, &json!({})), legacy("ping", &json!({}))] {
        connection.send(&request.bytes()).unwrap();
        assert_eq!(connection.receive().unwrap().status, 200);
    }
    let batch = json!([legacy_body(DRILL, &json!({})), { "jsonrpc": "2.0", "id": 2, "method": "ping" }]);
    let answers = server.send(&post(batch.to_string())).json();
    check(&answers[0]);
    assert_eq!(answers[1]["result"], json!({}));

    let request =
        server.send(&legacy(DRILL, &json!({}))).json()["error"]["message"].as_str().unwrap().to_owned();
    let request = request.split_once("request ").unwrap().1.trim_end_matches(')').to_owned();
    let log = server.log_with(&request);
    let line = log.lines().find(|line| line.contains("a handler panicked") && line.contains(&request));
    assert!(
        line.is_some_and(|line| line.contains("\"level\":\"ERROR\"")),
        "the log names the request: {log}"
    );
    assert!(server.is_alive());
}

#[test]
fn a_panic_writes_nothing_where_the_log_is_off() {
    let collection = fixture::collection();
    let settings = [ON[0], ("WAKASHU_LOG", "off")];
    let mut stdio = Stdio::start_with(Some(&collection.write()), &settings);
    check(&stdio.ask(&legacy_body(DRILL, &json!({}))));
    stdio.end_input();
    assert!(stdio.wait().success());
    assert_eq!(stdio.log_with(""), "");
}

#[test]
fn a_panic_over_stdio_is_answered_logged_and_survived() {
    let collection = fixture::collection();
    let mut stdio = Stdio::start_with(Some(&collection.write()), &ON);
    for _ in 0..5 {
        check(&stdio.ask(&modern_body(DRILL, &json!({}))));
        check(&stdio.ask(&legacy_body(DRILL, &json!({}))));
    }
    assert_eq!(stdio.ask(&legacy_body("ping", &json!({})))["result"], json!({}));
    assert!(stdio.log_with("a handler panicked").contains("\"level\":\"ERROR\""));
    stdio.end_input();
    assert!(stdio.wait().success());
}

#[test]
fn without_the_setting_there_is_no_drill() {
    let (server, collection) = fixture::serve();
    assert_eq!(server.send(&modern(DRILL, &json!({}))).status, 404);
    assert_eq!(server.send(&legacy(DRILL, &json!({}))).code(), -32601);
    let mut stdio = Stdio::start(&collection.write());
    assert_eq!(stdio.ask(&legacy_body(DRILL, &json!({})))["error"]["code"], -32601);
    let agreed = stdio.ask(&legacy_body("initialize", &json!({ "protocolVersion": LEGACY })));
    assert!(agreed["result"].is_object());
}
