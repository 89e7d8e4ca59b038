//! `wakashu smoke`: right servers are fine, wrong ones are found out, and what cannot be reached is neither.

use serde_json::Value;
use wakashu_support::fault_proxy::{Fault, FaultProxy, Rule};
use wakashu_tests::{Collection, Pictures, Server, poem, sample};

use super::{said, wakashu};

/// Runs it; returns the exit code and the object it prints.
fn smoke(url: &str, arguments: &[&str], token: Option<&str>) -> (i32, Value) {
    let mut command = wakashu();
    command.args(["smoke", url, "--json"]).args(arguments);
    if let Some(token) = token {
        command.env("WAKASHU_SMOKE_TOKEN", token);
    }
    let (code, out, err) = said(&command.output().unwrap());
    assert!(token.is_none_or(|token| !out.contains(token) && !err.contains(token)), "{out}{err}");
    (code, serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}")))
}

/// Returns the names of the checks that failed.
fn failed(report: &Value) -> Vec<&str> {
    let checks = report["checks"].as_array().unwrap().iter();
    checks.filter(|check| check["ok"] == false).map(|check| check["name"].as_str().unwrap()).collect()
}

#[test]
fn a_server_as_it_should_be_is_fine() {
    let server = Server::serve(sample());
    let (code, report) = smoke(server.url(), &[], None);
    assert_eq!((code, report["verdict"].as_str()), (0, Some("fine")), "{report}");
    let digest = report["digest"].as_str().unwrap();
    let names: Vec<&str> =
        report["checks"].as_array().unwrap().iter().map(|check| check["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["reached", "eras", "archive", "lists", "tools", "pictures", "links", "pages", "refusals"]
    );
    assert_eq!(smoke(server.url(), &["--digest", digest], None).0, 0);
    // Another archive does not appear while we wait.
    let other: String = digest.chars().rev().collect();
    let (code, report) = smoke(server.url(), &["--digest", &other, "--wait", "0"], None);
    assert_eq!((code, failed(&report)), (1, vec!["archive"]), "{report}");
    let (code, out, _) = said(&wakashu().args(["smoke", server.url()]).output().unwrap());
    assert!(code == 0 && out.starts_with("ok      reached   wakashu_mcp_server"), "{out}");
    assert!(out.lines().last().unwrap().starts_with("fine: 9 checks"), "{out}");
}

#[test]
fn pictures_that_are_none_are_found_out() {
    // Those of the test collection are of the right length, and that is all.
    let sizes = Pictures { small: 1000, medium: 2000, large: 3000 };
    let collection =
        Collection::default().round("第1回").entries((1..=3).map(|rank| poem(rank, Some(sizes))));
    let server = Server::serve(&collection.write());
    let (code, report) = smoke(server.url(), &[], None);
    assert_eq!((code, report["verdict"].as_str()), (1, Some("findings")), "{report}");
    assert!(failed(&report).contains(&"pictures") && failed(&report).contains(&"links"), "{report}");
}

#[test]
fn servers_that_are_empty_broken_or_something_else_are_found_out() {
    let empty = Server::serve_with(None, &[]);
    let (code, report) = smoke(empty.url(), &["--wait", "0"], None);
    assert_eq!((code, failed(&report).first()), (1, Some(&"archive")), "{report}");

    let server = Server::serve(sample());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let proxy = runtime.block_on(FaultProxy::start(server.address())).unwrap();
    let url = format!("{}/mcp", proxy.endpoint());
    for (rule, check) in [
        (Rule::on("POST", "/mcp", Fault::Answer { status: 500, header: None, body: "" }), "reached"),
        (Rule::on("POST", "/mcp", Fault::Answer { status: 200, header: None, body: "<html>" }), "reached"),
        (Rule::on("POST", "/mcp", Fault::Truncate(40)), "reached"),
        (Rule::on("POST", "/mcp", Fault::LoseAnswer).after(4), "eras"),
        (Rule::on("GET", "/health", Fault::Answer { status: 200, header: None, body: "{}" }), "archive"),
    ] {
        proxy.heal();
        proxy.inject(rule.clone());
        let (code, report) = smoke(&url, &["--wait", "0"], None);
        assert_eq!((code, failed(&report).first()), (1, Some(&check)), "{rule:?} {report}");
    }
    // What is lost once says nothing of what is served, and neither does a server that has no time.
    proxy.heal();
    proxy.inject(Rule::on("POST", "/mcp", Fault::LoseAnswer).after(4).times(1));
    proxy.inject(Rule::on("GET", "/health", Fault::Drop).times(1));
    let (code, report) = smoke(&url, &[], None);
    assert_eq!(code, 0, "{report}");
    proxy.heal();
    let busy = Fault::Answer { status: 429, header: Some(("retry-after", "0")), body: "" };
    proxy.inject(Rule::on("POST", "/mcp", busy).after(4));
    let (code, report) = smoke(&url, &["--wait", "0"], None);
    assert_eq!((code, report["verdict"].as_str()), (2, Some("unknown")), "{report}");
    proxy.heal();
    assert_eq!(smoke(&url, &[], None).0, 0);
}

#[test]
fn what_cannot_be_reached_or_asked_is_neither_fine_nor_wrong() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (code, report) = smoke(&format!("http://{nobody}/mcp"), &["--wait", "0"], None);
    assert_eq!((code, report["verdict"].as_str()), (2, Some("unknown")), "{report}");
    assert_eq!(smoke("poems", &[], None).0, 2);
    let wrong = wakashu().args(["smoke", "http://127.0.0.1/mcp", "--digest", "x"]).output().unwrap();
    assert_eq!(said(&wrong).0, 2);
}

#[test]
fn a_token_is_sent_to_the_server_and_shown_to_nobody() {
    const TOKEN: &str = "a-token-that-may-read-everything";
    // printf %s a-token-that-may-read-everything | sha256sum
    const SHA256: &str = "467bdb8c6afc5cb760ba6e77c60e74c7fa89d4b33bf465ef05acf97e1655c1c1";
    let server = Server::serve_with(Some(sample()), &[("WAKASHU_TOKENS_SHA256", SHA256)]);
    let (code, report) = smoke(server.url(), &["--wait", "0"], None);
    assert_eq!((code, report["verdict"].as_str()), (2, Some("unknown")), "{report}");
    assert!(report["checks"][0]["said"].as_str().unwrap().contains("WAKASHU_SMOKE_TOKEN"), "{report}");
    let (code, report) = smoke(server.url(), &[], Some(TOKEN));
    assert_eq!(code, 0, "{report}");
    assert!(report["checks"][8]["said"].as_str().unwrap().contains("no token"), "{report}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("headers.txt");
    std::fs::write(&file, format!("# secret\nAuthorization: Bearer {TOKEN}\n")).unwrap();
    let (code, report) = smoke(server.url(), &["--header-file", file.to_str().unwrap()], None);
    assert_eq!(code, 0, "{report}");
}
