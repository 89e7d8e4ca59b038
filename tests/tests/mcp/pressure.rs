//! Patient attackers: a log that nobody reads, clients that take all places, signals in the middle of an answer.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Command, Stdio as Pipe};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wakashu_tests::{
    CallGate, Connection, HeldCall, HttpRequest, Pictures, Reply, Server, Stdio, call, legacy_body, poem,
    program,
};

use crate::mcp::fixture;

const A_SECOND: Duration = Duration::from_secs(1);

/// More than a pipe and the buffer of the log hold.
const MANY: usize = 8_000;

/// The lines that are not about a request: the archive, the start, the end.
const OTHER_LINES: u64 = 3;

/// Starts the program with a log that nobody reads yet.
fn start(arguments: &[&str]) -> Child {
    let mut command = Command::new(program("wakashu-function"));
    command.args(arguments).env_remove("WAKASHU_LOG").env_remove("WAKASHU_ARCHIVE");
    command
        .stdin(Pipe::piped())
        .stdout(Pipe::piped())
        .stderr(Pipe::piped())
        .spawn()
        .expect("the program starts")
}

/// Ends a process and reads its log: how many lines it has besides those that say how many were dropped, and how many those were. One that was read late must
/// still end.
fn read_log(mut child: Child) -> (usize, u64) {
    let mut stderr = child.stderr.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut log = String::new();
        stderr.read_to_string(&mut log).map(|_| log).unwrap()
    });
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    let log = reader.join().unwrap();
    let lines: Vec<Value> = log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    // How to connect is written there as well.
    let lines = lines.iter().filter(|line: &&Value| line.get("time").is_some());
    // Any line may be among those dropped, the first and the last included.
    let (notices, kept): (Vec<_>, Vec<_>) =
        lines.partition(|line| line["message"].as_str().is_some_and(|text| text.contains("dropped")));
    (kept.len(), notices.iter().map(|line| line["lines"].as_u64().unwrap()).sum())
}

#[test]
fn a_log_that_nobody_reads_does_not_stop_the_server() {
    let collection = fixture::collection();
    let archive = collection.write();
    let mut child = start(&["serve", archive.to_str().unwrap(), "--port", "0"]);
    let mut url = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut url).unwrap();
    let address = url.trim_end().strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
    let mut connection = Connection::open(address.parse().unwrap());
    let ping = wakashu_tests::legacy("ping", &json!({})).bytes();
    for _ in 0..MANY / 100 {
        connection.send(&ping.repeat(100)).unwrap();
        for _ in 0..100 {
            assert_eq!(connection.receive().expect("an answer").status, 200);
        }
    }
    connection.send(&HttpRequest::new("GET", "/metrics").bytes()).unwrap();
    let metrics = connection.receive_for("GET").unwrap().text();
    let counted = metrics.lines().find_map(|line| line.strip_prefix("wakashu_log_lines_dropped_total "));
    let counted: u64 = counted.unwrap().parse().unwrap();
    assert!(counted > 0, "more was logged than fits");
    let (kept, dropped) = read_log(child);
    assert!(dropped >= counted, "{dropped} of {counted}");
    let lines = MANY as u64 + 1 + OTHER_LINES;
    assert_eq!(kept as u64 + dropped, lines, "every line is there or counted");
}

#[test]
fn a_log_that_nobody_reads_does_not_stop_stdio() {
    let collection = fixture::collection();
    let archive = collection.write();
    let mut child = start(&["stdio", archive.to_str().unwrap()]);
    let mut stdin = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    let ping = format!("{}\n", legacy_body("ping", &json!({})));
    for _ in 0..MANY / 100 {
        stdin.write_all(ping.repeat(100).as_bytes()).unwrap();
        assert!((0..100).all(|_| answers.next().unwrap().unwrap().contains("result")));
    }
    child.stdin = Some(stdin);
    let (kept, dropped) = read_log(child);
    assert!(dropped > 0);
    assert_eq!(kept as u64 + dropped, MANY as u64 + OTHER_LINES, "every line is there or counted");
}

/// Asks on a connection of its own. While all connections of its address are being answered, a further one is closed.
fn ask(server: &Server, path: &str, name: &str) -> Reply {
    let started = Instant::now();
    loop {
        let mut connection = server.connect();
        let sent = connection.send(&HttpRequest::new("GET", path).bytes());
        if let (Ok(()), Some(reply)) = (sent, connection.receive_for("GET")) {
            return reply;
        }
        assert!(started.elapsed() < 10 * A_SECOND, "{name}: {path} is not answered");
    }
}

/// Asks for health on a connection of its own, as often as it takes to be answered within a second: the machine may be
/// busy with other tests.
fn check_health(server: &Server, name: &str) {
    let mut took = Duration::MAX;
    for _ in 0..3 {
        let started = Instant::now();
        assert_eq!(ask(server, "/health", name).status, 200, "{name}");
        took = started.elapsed();
        if took < A_SECOND {
            return;
        }
    }
    panic!("{name}: health took {took:?}");
}

/// One address has all of its share, in several ways; it still comes in, in the place of what it holds up.
#[test]
fn who_holds_all_places_of_an_address_does_not_shut_it_out() {
    const SHARE: usize = 40;
    let monster = Some(Pictures { small: 1_000, medium: 2_000, large: 600_000 });
    let collection = fixture::collection().round("絵巻").entry(poem(1, monster));
    let archive = collection.write();
    let settings = [("WAKASHU_CONNECTIONS_PER_CLIENT", "40")];
    // Not the picture itself: decoding it takes long in a build for tests.
    let large = call("get_poem", &json!({ "round_title": "絵巻", "rank": 1 })).bytes();
    let half_a_body = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{";
    for (name, bytes) in [
        ("silent", Vec::new()),
        ("half a head", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Ty".to_vec()),
        ("half a body", half_a_body.to_vec()),
        ("a small request now and then", HttpRequest::new("GET", "/").bytes()),
        ("unread answers", large.repeat(20)),
    ] {
        let server = Server::serve_with(Some(&archive), &settings);
        let mut hogs: Vec<Connection> = Vec::new();
        for _ in 0..SHARE + 10 {
            let mut hog = server.connect();
            hog.send(&bytes).unwrap();
            hogs.push(hog);
        }
        for _ in 0..5 {
            check_health(&server, name);
        }
        // Those that were told to leave do so when it is their turn.
        let started = Instant::now();
        loop {
            let metrics = ask(&server, "/metrics", name).text();
            let count = |sample: &str| -> usize {
                let value = metrics.lines().find_map(|line| line.strip_prefix(sample));
                value.unwrap_or_else(|| panic!("{sample} in {metrics}")).trim().parse().unwrap()
            };
            let displaced = count("wakashu_connections_closed_total{reason=\"displaced\"} ");
            let open = count("wakashu_connections_open ");
            if displaced >= 10 && open <= SHARE + 1 {
                break;
            }
            assert!(started.elapsed() < 10 * A_SECOND, "{name}: {displaced} displaced, {open} open");
        }
        drop(hogs);
    }
}

/// One call has the only place and does not go on: what is cancelled is not waited for.
#[test]
fn cancellations_behind_many_calls_are_heard_at_once() {
    let gate = CallGate::default();
    let settings = [("WAKASHU_DRILL", &*gate.setting()), ("WAKASHU_CONCURRENCY", "1")];
    let collection = fixture::collection();
    let mut stdio = Stdio::start_with(Some(&collection.write()), &settings);
    for id in 1..=32 {
        let mut question = legacy_body("tools/call", &json!({ "name": "index_status" }));
        question["id"] = json!(id);
        stdio.send(question.to_string());
    }
    let held = gate.next();
    for id in 1..=40 {
        let params = json!({ "requestId": id });
        stdio.send(
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }).to_string(),
        );
    }
    let mut ping = legacy_body("ping", &json!({}));
    ping["id"] = json!("ping");
    assert_eq!(stdio.ask(&ping)["id"], "ping", "nothing else is owed");
    held.wait_until_given_up();
}

#[test]
fn a_signal_lets_stdio_finish_its_answers_whole() {
    let gate = CallGate::default();
    let collection = fixture::collection();
    let mut command = Command::new(program("wakashu-function"));
    command.arg("stdio").arg(collection.write()).env("WAKASHU_DRILL", gate.setting());
    command.stdin(Pipe::piped()).stdout(Pipe::piped()).stderr(Pipe::null());
    let mut child = command.spawn().expect("the program starts");
    let mut stdin = child.stdin.take().unwrap();
    for id in 1..=5 {
        let mut question = legacy_body(
            "tools/call",
            &json!({ "name": "get_wakashu_ranking", "arguments": { "round_title": "1" } }),
        );
        question["id"] = json!(id);
        writeln!(stdin, "{question}").unwrap();
    }
    let held: Vec<HeldCall> = (0..5).map(|_| gate.next()).collect();
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    drop(held);
    let answers = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut ids: Vec<u64> = answers
        .map(|line| serde_json::from_str::<Value>(&line.unwrap()).expect("a whole line"))
        .map(|answer| answer["result"]["content"].as_array().and(answer["id"].as_u64()).expect("an answer"))
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, [1, 2, 3, 4, 5]);
    assert!(child.wait().unwrap().success());
}

/// A name that comes twice in `arguments` is refused: which of the two counts is anybody's guess.
#[test]
fn a_name_that_comes_twice_is_refused() {
    let (server, _collection) = fixture::serve();
    for (arguments, code) in [
        (r#"{"round_title":"1","rank":1}"#, 0),
        (r#"{"round_title":"1","rank":1,"rank":1}"#, -32602),
        (r#"{"round_title":"1","rank":1,"rank":2}"#, -32602),
        (r#"{"round_title":"1","rank":1,"r\u0061nk":2}"#, -32602),
    ] {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"get_poem","arguments":{arguments}}}}}"#
        );
        assert_eq!(server.send(&call("", &json!({})).body(body)).code(), code, "{arguments}");
        let body = format!(r#"{{"name":"get_poem","parameters":{arguments}}}"#);
        let view =
            HttpRequest::new("POST", "/v1/tools/call").header("Content-Type", "application/json").body(body);
        assert_eq!(server.send(&view).status, if code == 0 { 200 } else { 400 }, "{arguments}");
    }
    let prompt = r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"present_round","arguments":{"round":"1","round":"2"}}}"#;
    assert_eq!(server.send(&call("", &json!({})).body(prompt)).code(), -32602);
}

#[test]
fn capabilities_that_are_not_an_object_are_refused() {
    let (server, _collection) = fixture::serve();
    for (capabilities, code) in [
        (json!({}), 0),
        (json!({ "roots": {} }), 0),
        (json!([]), -32602),
        (json!("all"), -32602),
        (json!(1), -32602),
    ] {
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities });
        assert_eq!(server.send(&wakashu_tests::legacy("initialize", &params)).code(), code, "{capabilities}");
    }
}

#[test]
fn a_target_on_another_host_is_refused() {
    let (server, _collection) = fixture::serve();
    for (target, status) in [
        ("http://localhost/mcp", 200),
        ("http://elsewhere/mcp", 403),
        ("http://localhost@elsewhere/mcp", 403),
    ] {
        let mut request = wakashu_tests::legacy("ping", &json!({}));
        request.target = target.to_owned();
        assert_eq!(server.send(&request).status, status, "{target}");
    }
}

/// What is sent in a batch cancels, too.
#[test]
fn a_cancellation_in_a_batch_is_heard_at_once() {
    let gate = CallGate::default();
    let settings = [("WAKASHU_DRILL", &*gate.setting())];
    let collection = fixture::collection();
    let mut stdio = Stdio::start_with(Some(&collection.write()), &settings);
    let params = json!({ "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    assert_eq!(stdio.ask(&legacy_body("initialize", &params))["result"]["protocolVersion"], "2025-03-26");
    let mut question = legacy_body("tools/call", &json!({ "name": "index_status" }));
    question["id"] = json!("held");
    stdio.send(question.to_string());
    let held = gate.next();
    let cancel =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "held" } });
    let answers = stdio.ask(&json!([cancel, legacy_body("ping", &json!({}))]));
    assert_eq!(answers.as_array().map(Vec::len), Some(1), "{answers}");
    held.wait_until_given_up();
}
