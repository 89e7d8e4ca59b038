//! Runs warm requests through the router in this process, to have their instructions counted.
//!
//! `instructions CASE COUNT`, under `valgrind --tool=callgrind`; the difference between two counts, divided, is the cost
//! of one request. `tests/bench/instructions` does that.
#![expect(clippy::print_stderr, reason = "a measuring program")]

use std::error::Error;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, TcpListener};
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

/// Calls through a bridge, one after the other, to a server in a thread of this process that does next to nothing.
fn bridge(count: usize) -> Result<(), Box<dyn Error>> {
    const CALL: &[u8] =
        br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"index_status","arguments":{}}}"#;
    let answer = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"text","text":"{}"}}]}}}}"#,
        "a".repeat(400)
    );
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{answer}",
        answer.len()
    );
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = format!("http://{}/mcp", listener.local_addr()?);
    std::thread::spawn(move || -> std::io::Result<()> {
        let (mut stream, _) = listener.accept()?;
        let mut request = vec![0; 16 << 10];
        // A request of this size arrives in one piece.
        while stream.read(&mut request)? > 0 {
            stream.write_all(answer.as_bytes())?;
        }
        Ok(())
    });
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let bridge = Bridge::new();
        let link = HttpLink::new(&address, HeaderMap::new(), bridge.inbox())?;
        let (host, ours) = tokio::io::duplex(64 << 10);
        let (read, write) = tokio::io::split(ours);
        let bridging = tokio::spawn(bridge.run(Arc::new(link), read, write));
        let (read, mut write) = tokio::io::split(host);
        let mut lines = BufReader::new(read).lines();
        for _ in 0..count {
            write.write_all(CALL).await?;
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
    if name == "bridge" {
        return bridge(count);
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
