//! Runs warm requests through the router in this process, to have their instructions counted.
//!
//! `instructions CASE COUNT`, under `valgrind --tool=callgrind`; the difference between two counts, divided, is the cost
//! of one request. `tests/bench/instructions` does that.
#![expect(clippy::print_stderr, reason = "a measuring program")]

use std::error::Error;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use wakashu_bench::{Shape, write_archive};
use wakashu_function::{Access, ArchiveState, Context, Routes};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let case = arguments.get(1).map_or("tools-list", String::as_str);
    let count: usize = arguments.get(2).and_then(|count| count.parse().ok()).unwrap_or(100);
    let call = |range: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"get_wakashu_ranking","arguments":{{"round_title":"第1回","rank_range":"{range}"}}}}}}"#
        )
    };
    let body = match case {
        "ranking-1" => call("1"),
        "ranking-10" => call("1-10"),
        "ranking-1-modern" => call("1").replacen(
            r#""params":{"#,
            r#""params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"wakashu-bench","version":"1"}},"#,
            1,
        ),
        _ => r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#.to_owned(),
    };
    let folder = tempfile::tempdir()?;
    let archive = folder.path().join("instructions.wakashu");
    write_archive(&archive, &[Shape { rounds: 1, entries: 10, picture_bytes: 20 * 1024 }])?;
    let body = Bytes::from(body);
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let location = archive.to_str().ok_or("a path beyond UTF-8")?.parse()?;
        let state = ArchiveState::new(Some(location), 64 << 20, 0, true);
        state.refresh().await;
        let access = Access { loopback: true, ..Access::default() };
        let context = Context::new(Arc::new(state), access, Some("http://127.0.0.1:3000".to_owned()));
        let routes = Routes::new(Arc::new(context));
        let mut bytes = 0;
        for _ in 0..count {
            let mut request = Request::post("/mcp")
                .header("host", "127.0.0.1:3000")
                .header("content-type", "application/json");
            if case.ends_with("-modern") {
                request = request
                    .header("mcp-protocol-version", "2026-07-28")
                    .header("mcp-method", "tools/call")
                    .header("mcp-name", "get_wakashu_ranking");
            }
            let request = request.body(Full::new(body.clone()))?;
            let response = routes.answer(request).await;
            let mut body = response.into_body();
            while let Some(frame) = body.frame().await {
                bytes += frame?.data_ref().map_or(0, Buf::remaining);
            }
        }
        eprintln!("{case}: {count} requests, {bytes} bytes");
        Ok(())
    })
}
