//! The clients: readers who ask for what there is, listeners, and vandals.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use wakashu_tests::{Connection, HttpRequest, call, check_for_secrets, legacy, modern, post};

/// What a client is up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Reader,
    Listener,
    Vandal,
}

/// How often each of them asks.
const READER_PAUSE: Duration = Duration::from_millis(20);
const VANDAL_PAUSE: Duration = Duration::from_millis(30);
const LISTENER_PAUSE: Duration = Duration::from_millis(500);

/// What came back.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    answered: AtomicU64,
    refused: AtomicU64,
    closed: AtomicU64,
    faults: AtomicU64,
    /// What readers asked for in good order and did not get.
    let_down: AtomicU64,
}

impl Counts {
    fn count(&self, status: Option<u16>) {
        let counter = match status {
            None => &self.closed,
            Some(500..) => &self.faults,
            Some(400..) => &self.refused,
            Some(_) => &self.answered,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn row(&self) -> String {
        let [answered, refused, closed, faults] = [&self.answered, &self.refused, &self.closed, &self.faults]
            .map(|count| count.load(Ordering::Relaxed));
        format!("{answered:>10} {refused:>8} {closed:>10} {faults:>4}")
    }

    pub(crate) fn problem(&self) -> Option<String> {
        let (faults, let_down) = (self.faults.load(Ordering::Relaxed), self.let_down.load(Ordering::Relaxed));
        (faults + let_down > 0)
            .then(|| format!("{faults} answers were 5xx, {let_down} readers were let down"))
    }
}

/// Asks until it is over.
pub(crate) fn send(kind: Kind, number: usize, server: SocketAddr, counts: &Counts, is_over: &AtomicBool) {
    let mut turn = number * 7;
    let mut connection = Connection::open(server);
    while !is_over.load(Ordering::Relaxed) {
        turn += 1;
        match kind {
            Kind::Reader => {
                std::thread::sleep(READER_PAUSE);
                // Some keep their connection for long, some do not.
                if turn.is_multiple_of(50) {
                    connection = Connection::open(server);
                }
                let request = good(turn);
                let reply = connection.send(&request.bytes()).ok();
                let reply = reply.and_then(|()| connection.receive_for(&request.method));
                counts.count(reply.as_ref().map(|reply| reply.status));
                if reply.is_none_or(|reply| reply.status != 200) {
                    counts.let_down.fetch_add(1, Ordering::Relaxed);
                    connection = Connection::open(server);
                }
            }
            Kind::Listener => {
                // Left behind without a word, like a closed laptop.
                let mut listening = Connection::open(server);
                let wish =
                    json!({ "notifications": { "toolsListChanged": true, "resourcesListChanged": true } });
                listening.send(&modern("subscriptions/listen", &wish).bytes()).unwrap();
                counts.count(listening.receive_head().map(|head| head.status));
                std::thread::sleep(LISTENER_PAUSE);
            }
            Kind::Vandal => {
                std::thread::sleep(VANDAL_PAUSE);
                let attack = &ATTACKS[turn % ATTACKS.len()];
                // That the server closes early is an answer too.
                let status = attack(server, turn).ok().flatten();
                counts.count(status);
            }
        }
    }
}

fn good(turn: usize) -> HttpRequest {
    let rank = turn % 40 + 1;
    match turn % 12 {
        0 => HttpRequest::new("GET", "/"),
        1 => legacy("tools/list", &json!({})),
        2 => modern("tools/list", &json!({})),
        3 => call("index_status", &json!({})),
        4 => call("list_rounds", &json!({})),
        5 => call("get_wakashu_ranking", &json!({ "round_title": "第1回", "rank_range": "1-3" })),
        6 => call("get_wakashu_ranking", &json!({ "round_title": "1", "rank_range": "1-40" })),
        7 => call("get_poem", &json!({ "round_title": "1", "rank": rank })),
        8 => call("search_poems", &json!({ "query": "風の音" })),
        9 => HttpRequest::new("GET", &format!("/pictures/1/{}", turn % 10 + 1)),
        10 => modern("resources/read", &json!({ "uri": "wakashu://rounds" })),
        _ => HttpRequest::new("POST", "/v1/tools/call").header("Content-Type", "application/json").body(
            json!({ "name": "get_poem", "parameters": { "round_title": "1", "rank": rank } }).to_string(),
        ),
    }
}

type Attack = fn(SocketAddr, usize) -> io::Result<Option<u16>>;

const ATTACKS: [Attack; 14] = [
    |server, _| once(server, &post("{").bytes()),
    |server, _| once(server, &post("[".repeat(100_000)).bytes()),
    |server, _| once(server, &post(vec![b' '; (1 << 20) + 1]).bytes()),
    |server, turn| once(server, &call("get_poem", &wrong(turn)).bytes()),
    |server, turn| once(server, &HttpRequest::new("GET", &format!("/{}", "../".repeat(turn % 50))).bytes()),
    |server, _| once(server, &legacy("ping", &json!({})).header("Host", "evil.example").bytes()),
    |server, _| once(server, &legacy("ping", &json!({})).header("Origin", "https://evil.example").bytes()),
    |server, _| once(server, &HttpRequest::new("GET", "/").header("X", &"x".repeat(200_000)).bytes()),
    |server, _| once(server, &vec![0x16; 5_000]),
    |server, _| {
        // A head that never ends; given up after a while.
        let mut stream = TcpStream::connect(server)?;
        stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: loc")?;
        std::thread::sleep(Duration::from_millis(200));
        Ok(None)
    },
    |server, turn| {
        // A body cut short, the end announced.
        let bytes = legacy("tools/list", &json!({})).bytes();
        let mut stream = TcpStream::connect(server)?;
        stream.write_all(&bytes[..bytes.len() - 1 - turn % 40])?;
        stream.shutdown(Shutdown::Write)?;
        first_status(&mut stream)
    },
    |server, _| {
        // Asks for pictures over and over, and leaves in the middle of the first.
        let mut stream = TcpStream::connect(server)?;
        stream.write_all(&HttpRequest::new("GET", "/pictures/1/1").bytes().repeat(20))?;
        first_status(&mut stream)
    },
    |server, turn| {
        // Many at once, and no more: all are answered.
        let batch: Vec<Value> =
            (0..20).map(|id| json!({ "jsonrpc": "2.0", "id": id + turn, "method": "ping" })).collect();
        let bytes = post(json!(batch).to_string()).header("MCP-Protocol-Version", "2025-03-26").bytes();
        let mut stream = TcpStream::connect(server)?;
        stream.write_all(&bytes.repeat(10))?;
        stream.shutdown(Shutdown::Write)?;
        first_status(&mut stream)
    },
    |server, _| {
        let mut stream = TcpStream::connect(server)?;
        stream.write_all(b"GET / HTTP/1.0\r\n\r\n")?;
        first_status(&mut stream)
    },
];

/// Arguments of every wrong kind.
fn wrong(turn: usize) -> Value {
    let wrong = [
        json!(null),
        json!(-1),
        json!(1e300),
        json!("\u{0}"),
        json!([[]]),
        json!({}),
        json!("あ".repeat(9_000)),
    ];
    json!({ "round_title": wrong[turn % wrong.len()], "rank": wrong[turn / 7 % wrong.len()] })
}

fn once(server: SocketAddr, bytes: &[u8]) -> io::Result<Option<u16>> {
    let mut stream = TcpStream::connect(server)?;
    // The server may close before it has read all of a hopeless request.
    let _ = stream.write_all(bytes);
    first_status(&mut stream)
}

/// Reads the beginning of an answer.
fn first_status(stream: &mut TcpStream) -> io::Result<Option<u16>> {
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let mut part = [0; 4096];
    let count = stream.read(&mut part)?;
    check_for_secrets(&part[..count]);
    let status = part.get(9..12).and_then(|status| str::from_utf8(status).ok()?.parse().ok());
    Ok(if count == 0 { None } else { status })
}
