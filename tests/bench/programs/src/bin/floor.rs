//! The floor: hyper answering prepared bytes, no work at all. What every benchmark is measured against.
//!
//! `floor [--parse] BYTES...` prints its address and answers every request with that many bytes; given several sizes, it
//! takes them in turn. With `--parse` it also parses each request as JSON, which any MCP server must.
#![expect(clippy::print_stdout, reason = "the address is this program's output")]

use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde::de::IgnoredAny;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let parse = arguments.iter().any(|argument| argument == "--parse");
    arguments.retain(|argument| argument != "--parse");
    let sizes = arguments.iter().map(|size| size.parse()).collect::<Result<Vec<usize>, _>>()?;
    let prepared: Arc<[Bytes]> = sizes.iter().map(|size| Bytes::from(vec![b' '; *size])).collect();
    let turn = Arc::new(AtomicUsize::new(0));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/mcp", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (prepared, turn) = (Arc::clone(&prepared), Arc::clone(&turn));
        let service = service_fn(move |request: Request<Incoming>| {
            let now = turn.fetch_add(1, Ordering::Relaxed) % prepared.len().max(1);
            let prepared = prepared.get(now).cloned().unwrap_or_default();
            async move {
                let body = request.into_body().collect().await.map(http_body_util::Collected::to_bytes);
                if parse && let Ok(body) = body {
                    let _ = serde_json::from_slice::<IgnoredAny>(&body);
                }
                let mut response = Response::new(Full::new(prepared));
                response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                Ok::<_, Infallible>(response)
            }
        });
        tokio::spawn(async move {
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}
