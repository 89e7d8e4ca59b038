//! Secrets in the environment stay there. Every test of this suite runs among them, with every answer and every log
//! searched; these show that the search would find one.

use serde_json::json;
use wakashu_tests::{HttpRequest, SECRETS, Server, Stdio, call, legacy_body};

use super::fixture;

#[test]
fn every_program_under_test_runs_among_secrets() {
    let (server, _collection) = fixture::serve();
    let environment = std::fs::read(format!("/proc/{}/environ", server.id())).unwrap();
    let environment = String::from_utf8_lossy(&environment);
    for (name, value) in SECRETS {
        assert!(environment.split('\0').any(|line| line == format!("{name}={value}")), "{name}");
    }
}

/// Serves under an address that has a secret in it: links in answers begin with it.
fn indiscreet() -> (Server, wakashu_tests::Collection) {
    let collection = fixture::collection();
    let (_, secret) = SECRETS[4];
    let address = format!("https://{secret}.example.org");
    (Server::serve_with(Some(&collection.write()), &[("WAKASHU_PUBLIC_URL", &address)]), collection)
}

#[test]
#[should_panic(expected = "a secret of the environment was told")]
fn a_secret_in_an_answer_over_http_is_noticed() {
    let (server, _collection) = indiscreet();
    let _ = server.send(&call("get_poem", &json!({ "round_title": "1", "rank": 1 })));
}

#[test]
#[should_panic(expected = "a secret of the environment was told")]
fn a_secret_in_an_answer_over_stdio_is_noticed() {
    let collection = fixture::collection();
    let (_, secret) = SECRETS[4];
    let address = format!("https://{secret}.example.org");
    let mut stdio = Stdio::start_with(Some(&collection.write()), &[("WAKASHU_PUBLIC_URL", &address)]);
    let params = json!({ "name": "get_poem", "arguments": { "round_title": "1", "rank": 1 } });
    let _ = stdio.ask(&legacy_body("tools/call", &params));
}

#[test]
#[should_panic(expected = "a secret of the environment was told")]
fn a_secret_in_the_log_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let (_, secret) = SECRETS[4];
    // The log names the file that cannot be opened.
    let server = Server::serve(&folder.path().join(format!("{secret}.wakashu")));
    assert_eq!(server.send(&HttpRequest::new("GET", "/")).status, 200);
    drop(server);
}
