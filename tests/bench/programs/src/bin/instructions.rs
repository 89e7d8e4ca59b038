//! Runs warm requests through the router in this process, to have their instructions counted.
//!
//! `instructions CASE COUNT`, under `valgrind --tool=callgrind`; the difference between two counts, divided, is the cost
//! of one request. `tests/bench/instructions` does that. A gateway is a program of its own: `instructions gateway COUNT
//! COMMAND…` starts it, and valgrind belongs into the command.
#![expect(clippy::print_stderr, reason = "a measuring program")]

use std::error::Error;
use std::io::{BufRead as _, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;

use bytes::{Buf, Bytes};
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::header::{ETAG, HeaderMap, HeaderValue};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use wakashu_bench::{Shape, write_archive};
use wakashu_client::bridge::Bridge;
use wakashu_client::link::http::HttpLink;
use wakashu_function::app::state_of;
use wakashu_function::{Access, App, Arrival, Token};

const HOST: &str = "127.0.0.1:3000";
const ORIGIN: &str = "https://poems.example.org";
/// A title in an address: 第1回.
const ROUND: &str = "%E7%AC%AC1%E5%9B%9E";
/// `printf %s secret | sha256sum`
const SECRET_SHA256: &str = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";

/// What is asked again and again.
struct Case {
    path: String,
    /// What is sent there.
    body: Option<String>,
    is_modern: bool,
    /// Whether the one who asks has the answer already.
    is_known: bool,
    /// Whether tokens, rates and an origin stand before the endpoint.
    is_guarded: bool,
}

impl Case {
    fn find(name: &str) -> Self {
        let call = |range: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"get_wakashu_ranking","arguments":{{"round_title":"第1回","rank_range":"{range}"}}}}}}"#
            )
        };
        let body = match name {
            "ranking-1" | "ranking-1-guarded" => Some(call("1")),
            "ranking-10" => Some(call("1-10")),
            "ranking-1-modern" => Some(call("1").replacen(
                r#""params":{"#,
                r#""params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"wakashu-bench","version":"1"}},"#,
                1,
            )),
            "resource" => Some(format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{{"uri":"wakashu://rounds/{ROUND}/1"}}}}"#
            )),
            "picture-304" | "page" | "page-304" => None,
            _ => Some(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#.to_owned()),
        };
        let path = match name {
            "picture-304" => format!("/pictures/{ROUND}/1"),
            "page" | "page-304" => format!("/rounds/{ROUND}/1"),
            _ => "/mcp".to_owned(),
        };
        Self {
            path,
            body,
            is_modern: name.ends_with("-modern"),
            is_known: name.ends_with("-304"),
            is_guarded: name.ends_with("-guarded"),
        }
    }

    fn request(
        &self,
        body: &Bytes,
        etag: Option<&HeaderValue>,
    ) -> Result<Request<Full<Bytes>>, Box<dyn Error>> {
        let mut request = match self.body {
            Some(_) => Request::post(&self.path).header("content-type", "application/json"),
            None => Request::get(&self.path),
        };
        request = request.header("host", HOST);
        if let Some(etag) = etag {
            request = request.header("if-none-match", etag);
        }
        if self.is_modern {
            request = request
                .header("mcp-protocol-version", "2026-07-28")
                .header("mcp-method", "tools/call")
                .header("mcp-name", "get_wakashu_ranking");
        }
        if self.is_guarded {
            request = request.header("authorization", "Bearer secret").header("origin", ORIGIN);
        }
        Ok(request.body(Full::new(body.clone()))?)
    }
}

/// A call, and what a host says before it.
const CALL: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"index_status","arguments":{}}}"#;
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"h","version":"1"}}}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

/// Starts a server, in threads of this process, that does next to nothing; returns its address.
fn start_server() -> Result<String, Box<dyn Error>> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = format!("http://{}/mcp", listener.local_addr()?);
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            std::thread::spawn(move || answer_all(stream));
        }
    });
    Ok(address)
}

/// Answers what comes on a connection. A request of the size there are here arrives in one piece.
fn answer_all(mut stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let text = "a".repeat(400);
    let mut request = vec![0; 16 << 10];
    loop {
        let length = stream.read(&mut request)?;
        let request = request.get(..length).unwrap_or_default();
        if request.is_empty() {
            return Ok(());
        }
        let asks = |method: &[u8]| request.windows(method.len()).any(|part| part == method);
        let result = if asks(b"server/discover") {
            r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#
                .to_owned()
        } else if asks(b"tools/list") {
            r#"{"tools":[{"name":"index_status","inputSchema":{"type":"object"}}]}"#.to_owned()
        } else {
            format!(r#"{{"content":[{{"type":"text","text":"{text}"}}]}}"#)
        };
        let answer = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length:";
        stream.write_all(format!("{head} {}\r\n\r\n{answer}", answer.len()).as_bytes())?;
    }
}

/// Calls through a gateway, one after the other. It is a program of its own: `command`, which gets the configuration as
/// its last argument, and which is what the instructions are counted of.
fn gateway(count: usize, command: &[String]) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let configuration = folder.path().join("servers.json");
    let address = start_server()?;
    std::fs::write(&configuration, format!(r#"{{"servers":{{"poems":{{"url":"{address}"}}}}}}"#))?;
    let (program, arguments) = command.split_first().ok_or("a command for the gateway")?;
    let mut child = Command::new(program)
        .args(arguments)
        .arg(&configuration)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut input = child.stdin.take().ok_or("its input")?;
    let mut lines = std::io::BufReader::new(child.stdout.take().ok_or("its output")?).lines();
    for message in [INITIALIZE, LIST].into_iter().chain(std::iter::repeat_n(CALL, count)) {
        writeln!(input, "{message}")?;
        // What it says by itself has no id.
        while !lines.next().ok_or("the gateway ended")??.contains(r#""id":1"#) {}
    }
    drop(input);
    child.wait()?;
    Ok(())
}

/// Calls through a bridge, one after the other.
fn bridge(count: usize) -> Result<(), Box<dyn Error>> {
    let address = start_server()?;
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let bridge = Bridge::new();
        let link = HttpLink::new(&address, HeaderMap::new(), bridge.inbox())?;
        let (host, ours) = tokio::io::duplex(64 << 10);
        let (read, write) = tokio::io::split(ours);
        let bridging = tokio::spawn(bridge.run(Arc::new(link), read, write));
        let (read, mut write) = tokio::io::split(host);
        let mut lines = BufReader::new(read).lines();
        for _ in 0..count {
            write.write_all(CALL.as_bytes()).await?;
            write.write_all(b"\n").await?;
            lines.next_line().await?;
        }
        write.shutdown().await?;
        bridging.await??;
        eprintln!("bridge: {count} calls");
        Ok(())
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let name = arguments.get(1).map_or("tools-list", String::as_str);
    let count: usize = arguments.get(2).and_then(|count| count.parse().ok()).unwrap_or(100);
    match name {
        "bridge" => return bridge(count),
        "gateway" => return gateway(count, arguments.get(3..).unwrap_or_default()),
        _ => {}
    }
    let case = Case::find(name);
    let folder = tempfile::tempdir()?;
    let archive = folder.path().join("instructions.wakashu");
    write_archive(&archive, &[Shape { rounds: 1, entries: 10, picture_bytes: 20 * 1024 }])?;
    let body = case.body.clone().map(Bytes::from).unwrap_or_default();
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let location = archive.to_str().ok_or("a path beyond UTF-8")?.parse()?;
        let state = state_of(Some(location), 64 << 20, 0, true);
        state.refresh().await;
        let mut access = Access { loopback: true, ..Access::default() };
        if case.is_guarded {
            access.origins.push(ORIGIN.to_owned());
        }
        let mut app = App::new(Arc::new(state), access, Some(format!("http://{HOST}")));
        if case.is_guarded {
            app = app.with_tokens(vec![Token::parse(SECRET_SHA256)?]).with_rates(1_000_000, 1_000_000);
        }
        let client = Some(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let arrival = || Arrival { client, ..Arrival::default() };
        let mut etag = None;
        if case.is_known {
            let first = app.answer(arrival(), case.request(&body, None)?).await;
            etag = first.headers().get(ETAG).cloned();
        }
        let (mut bytes, mut status) = (0, None);
        for _ in 0..count {
            let response = app.answer(arrival(), case.request(&body, etag.as_ref())?).await;
            status = Some(response.status());
            let mut body = response.into_body();
            while let Some(frame) = body.frame().await {
                bytes += frame?.data_ref().map_or(0, Buf::remaining);
            }
        }
        eprintln!("{name}: {count} requests, {bytes} bytes, {status:?}");
        Ok(())
    })
}
