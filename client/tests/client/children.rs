//! Programs as servers: what reaches them, how they end, and what they may reach.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::{fixture, program};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use wakashu_client::ErrorCode;
use wakashu_client::chain::Chain;
use wakashu_client::link::child::{ChildLink, Program};
use wakashu_client::link::{Call, Link as _};
use wakashu_client::sandbox::Sandbox;

fn link(program: Program) -> (ChildLink, mpsc::Receiver<Chain>) {
    let (inbox, messages) = mpsc::channel(64);
    (ChildLink::new(program, inbox), messages)
}

fn call(tool: &str, arguments: &Value) -> Call {
    let text = json!({"jsonrpc": "2.0", "id": "host", "method": "tools/call",
        "params": {"name": tool, "arguments": arguments, "_meta": {"progressToken": "p"}}});
    Call::read(text.to_string().into()).unwrap()
}

async fn run(link: &ChildLink, tool: &str, arguments: Value) -> String {
    let answer = link.request(call(tool, &arguments)).await.unwrap();
    let id = answer.envelope.id().map(|span| answer.message.slice(span).into_bytes());
    assert_eq!(id.as_deref(), Some(b"\"host\"".as_slice()));
    answer.result().unwrap()["content"][0]["text"].as_str().unwrap().to_owned()
}

fn is_alive(pid: u32) -> bool {
    // A process that ended and was not waited for yet counts as gone.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
}

fn pids(text: &str) -> Vec<u32> {
    text.split(' ').map(|pid| pid.parse().unwrap()).collect()
}

fn wait_for_end(pids: &[u32]) {
    // Five seconds on a machine that has nothing else to do; the tests may run on one that has.
    let deadline = Instant::now() + Duration::from_secs(20);
    while pids.iter().any(|pid| is_alive(*pid)) {
        assert!(Instant::now() < deadline, "{pids:?} are still there");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[tokio::test]
async fn nothing_of_our_environment_reaches_a_program_unless_configured() {
    // The variables of the test runner stand for secrets.
    assert!(std::env::vars().count() > 6);
    let mut program = program(&["legacy"]);
    program.env.insert("TOKEN".to_owned(), "configured".to_owned());
    let (link, _messages) = link(program);
    let found: Value = serde_json::from_str(&run(&link, "env", json!({})).await).unwrap();
    let mut names: Vec<&String> = found.as_object().unwrap().keys().collect();
    names.retain(|name| !["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"].contains(&name.as_str()));
    assert_eq!(names, ["TOKEN"]);
}

#[tokio::test]
async fn lines_that_are_no_messages_are_skipped() {
    let (link, _messages) = link(program(&["legacy"]));
    assert_eq!(run(&link, "noise", json!({})).await, "quiet again");
}

#[tokio::test]
async fn a_program_that_died_is_started_again_and_greeted_again() {
    let (link, mut messages) = link(program(&["legacy", "echoes-notifications"]));
    let greeting = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#;
    link.request(Call::read(greeting.into()).unwrap()).await.unwrap();
    let error = link.request(call("die", &json!({}))).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::ConnectionLost);
    assert!(!error.never_sent, "{error}");
    assert!(error.message.contains('3'), "{error}");
    assert_eq!(run(&link, "echo", json!({"text": "again"})).await, r#"{"text":"again"}"#);
    let seen = messages.recv().await.unwrap().into_bytes();
    assert!(String::from_utf8_lossy(&seen).contains("notifications/initialized"));
}

#[tokio::test]
async fn progress_gives_a_request_more_time_and_silence_does_not() {
    let (link, mut messages) = link(program(&["legacy"]));
    run(&link, "echo", json!({})).await;
    let mut patient = call("progress", &json!({"ms": 700}));
    patient.patience = Duration::from_millis(2500);
    let started = Instant::now();
    link.request(patient).await.unwrap();
    assert!(started.elapsed() > Duration::from_secs(3));
    assert!(messages.recv().await.is_some());
    let mut silent = call("sleep", &json!({"ms": 10_000}));
    silent.patience = Duration::from_millis(200);
    assert_eq!(link.request(silent).await.unwrap_err().code, ErrorCode::Timeout);
    link.close().await;
}

#[tokio::test]
async fn a_request_that_is_dropped_is_cancelled_under_the_id_it_was_sent_under() {
    let (link, mut messages) = link(program(&["legacy", "echoes-notifications"]));
    run(&link, "echo", json!({})).await;
    let dropped =
        tokio::time::timeout(Duration::from_millis(100), link.request(call("sleep", &json!({"ms": 300}))));
    assert!(dropped.await.is_err());
    let seen: Value = serde_json::from_slice(&messages.recv().await.unwrap().into_bytes()).unwrap();
    assert_eq!(seen["params"], json!({"method": "notifications/cancelled", "params": {"requestId": 2}}));
}

#[tokio::test]
async fn two_hundred_starts_and_stops_leave_nothing() {
    for _ in 0..20 {
        let started = (0..10).map(|_| async {
            let (link, _messages) = link(program(&["legacy"]));
            let pids = pids(&run(&link, "spawn", json!({})).await);
            assert!(pids.iter().all(|pid| is_alive(*pid)));
            link.close().await;
            assert!(!link.is_open());
            pids
        });
        wait_for_end(&futures_util::future::join_all(started).await.concat());
    }
}

#[tokio::test]
async fn a_program_without_a_helper_is_ended_with_its_group_too() {
    let (link, _messages) = link(Program { helper: None, ..program(&["legacy"]) });
    let pids = pids(&run(&link, "spawn", json!({})).await);
    link.close().await;
    wait_for_end(&pids);
}

#[test]
fn nothing_is_left_when_the_host_or_the_helper_is_killed() {
    use std::io::BufRead as _;
    for round in 0..6 {
        let mut host = std::process::Command::new(fixture())
            .arg("host")
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        std::io::BufReader::new(host.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let pids = pids(said["content"][0]["text"].as_str().unwrap());
        if round % 2 == 0 {
            host.kill().unwrap();
        } else {
            // The helper is the parent of the server.
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", pids[0])).unwrap();
            let parent = stat.rsplit(')').next().unwrap().split_whitespace().nth(1).unwrap().to_owned();
            let killed = std::process::Command::new("kill").args(["-KILL", &parent]).status().unwrap();
            assert!(killed.success());
        }
        wait_for_end(&pids);
        let _ = host.kill();
        host.wait().unwrap();
    }
}

#[tokio::test]
async fn a_missing_program_says_so_and_was_never_asked() {
    for helper in [None, Some(crate::support::helper())] {
        let has_helper = helper.is_some();
        let (link, _messages) = link(Program { command: "/nowhere/at-all".into(), helper, ..program(&[]) });
        let error = link.request(call("echo", &json!({}))).await.unwrap_err();
        if has_helper {
            assert!(
                error.message.contains("exit status: 126: cannot start the program: `/nowhere/at-all`"),
                "{error}"
            );
        } else {
            assert_eq!((error.code, error.never_sent), (ErrorCode::ConnectionFailed, true));
            assert!(error.message.contains("/nowhere/at-all"), "{error}");
        }
    }
}

#[tokio::test]
async fn a_sandboxed_program_reaches_what_it_may_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let (read, write) = (folder.path().join("read"), folder.path().join("write"));
    let (inside, outside) = (read.join("file"), folder.path().join("outside"));
    std::fs::create_dir(&read).unwrap();
    std::fs::create_dir(&write).unwrap();
    std::fs::write(&inside, "a").unwrap();
    std::fs::write(&outside, "b").unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let arguments = json!({"read": inside, "outside": outside, "write": write, "address": listener.local_addr().unwrap().to_string()});
    let sandbox = Sandbox { read: vec![read], write: vec![write], network: false };

    let open = link(program(&["legacy"])).0;
    let mut all: Value = serde_json::from_str(&run(&open, "reach", arguments.clone()).await).unwrap();
    if std::net::UdpSocket::bind("[::1]:0").is_err() {
        // This machine has no such addresses.
        all["udp6"] = json!("ok");
    }
    assert!(all.as_object().unwrap().values().all(|outcome| outcome == "ok"), "{all}");

    let confined = link(Program { sandbox: Some(sandbox.clone()), ..program(&["legacy"]) }).0;
    let found: Value = serde_json::from_str(&run(&confined, "reach", arguments.clone()).await).unwrap();
    let denied = "permission denied";
    assert_eq!(
        found,
        json!({"read": "ok", "read_outside": denied, "write": "ok", "write_read_only": denied, "write_outside": denied,
            "tcp": denied, "udp": denied, "listen": denied, "udp6": denied, "run": "ok"})
    );
    // The network alone may be given.
    let sandbox = Sandbox { network: true, ..sandbox };
    let confined = link(Program { sandbox: Some(sandbox), ..program(&["legacy"]) }).0;
    let found: Value = serde_json::from_str(&run(&confined, "reach", arguments).await).unwrap();
    assert_eq!(
        (&found["tcp"], &found["udp"], &found["read_outside"]),
        (&json!("ok"), &json!("ok"), &json!(denied))
    );
}

#[tokio::test]
async fn a_sandbox_that_cannot_be_enforced_keeps_the_program_from_starting() {
    let sandbox = Sandbox { read: vec!["/nowhere/at-all".into()], ..Sandbox::default() };
    let (link, _messages) = link(Program { sandbox: Some(sandbox.clone()), ..program(&["legacy"]) });
    let error = link.request(call("echo", &json!({}))).await.unwrap_err();
    assert!(error.message.contains("the sandbox cannot be enforced: `/nowhere/at-all`"), "{error}");
    let link = Arc::new(ChildLink::new(
        Program { sandbox: Some(sandbox), helper: None, ..program(&[]) },
        mpsc::channel(1).0,
    ));
    let error = link.request(call("echo", &json!({}))).await.unwrap_err();
    assert!(error.message.contains("no helper"), "{error}");
}

/// What it does not read fills the pipe, and then our own queue.
#[tokio::test]
async fn requests_to_a_program_that_does_not_read_come_to_an_end() {
    let deaf = Program { command: "sleep".into(), args: vec!["1000".into()], ..program(&[]) };
    let (link, _messages) = link(deaf);
    let asking = (0..100).map(|_| {
        let mut call = call("echo", &json!({"text": "a".repeat(100_000)}));
        call.patience = Duration::from_millis(300);
        link.request(call)
    });
    let asking = futures_util::future::join_all(asking);
    let answers = tokio::time::timeout(Duration::from_secs(30), asking).await.expect("an end");
    for answer in answers {
        assert_eq!(answer.unwrap_err().code, ErrorCode::Timeout);
    }
    link.close().await;
}
