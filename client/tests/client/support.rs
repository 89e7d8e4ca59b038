//! What several tests need: a web server that answers exactly what a test says, and programs.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use wakashu_client::helper::Helper;
use wakashu_client::link::child::Program;

/// The program that tests start.
pub(crate) fn fixture() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_wakashu-client-fixture"))
}

/// How the tests' programs are started.
pub(crate) fn helper() -> Helper {
    Helper { program: fixture(), args: vec!["helper".into()] }
}

/// The server among the tests' programs.
pub(crate) fn program(flags: &[&str]) -> Program {
    let args = std::iter::once("server").chain(flags.iter().copied()).map(Into::into).collect();
    Program { name: "fixture".into(), command: fixture(), args, helper: Some(helper()), ..Program::default() }
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Arrived {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Value,
}

impl Arrived {
    pub(crate) fn rpc(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// What to answer: bytes, with pauses between; then the connection is kept or closed.
#[derive(Debug, Default, Clone)]
pub(crate) struct Reply {
    pub(crate) parts: Vec<(u64, Vec<u8>)>,
    pub(crate) closes: bool,
}

impl Reply {
    pub(crate) fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self { parts: vec![(0, bytes.into())], closes: false }
    }

    pub(crate) fn status(status: &str, headers: &str, body: &str) -> Self {
        let length = body.len();
        Self::raw(format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{headers}\r\n{body}"))
    }

    pub(crate) fn json(body: &str) -> Self {
        Self::status("200 OK", "Content-Type: application/json\r\n", body)
    }

    /// Events, each after its pause in milliseconds; the stream ends with the connection.
    pub(crate) fn events(events: &[(u64, String)]) -> Self {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
        let mut parts = vec![(0, head.as_bytes().to_vec())];
        parts.extend(events.iter().map(|(pause, event)| (*pause, format!("{event}\n\n").into_bytes())));
        Self { parts, closes: true }
    }

    pub(crate) fn accepted() -> Self {
        Self::status("202 Accepted", "", "")
    }
}

/// A web server on this machine.
pub(crate) struct WebServer {
    pub(crate) url: String,
    pub(crate) seen: Arc<Mutex<Vec<Arrived>>>,
}

impl WebServer {
    /// Starts one that answers with what `answer` makes of each request and of how many came before.
    pub(crate) async fn start(answer: impl Fn(&Arrived, usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let seen: Arc<Mutex<Vec<Arrived>>> = Arc::default();
        let (answer, noted) = (Arc::new(answer), Arc::clone(&seen));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (answer, noted) = (Arc::clone(&answer), Arc::clone(&noted));
                tokio::spawn(async move {
                    let _ = serve(stream, &*answer, &noted).await;
                });
            }
        });
        Self { url, seen }
    }

    pub(crate) fn seen(&self) -> Vec<Arrived> {
        self.seen.lock().unwrap().clone()
    }

    /// Returns the methods of the messages that came.
    pub(crate) fn methods(&self) -> Vec<String> {
        self.seen().iter().map(|arrived| arrived.rpc().to_owned()).collect()
    }
}

async fn serve(
    mut stream: TcpStream,
    answer: &(impl Fn(&Arrived, usize) -> Reply + Send + Sync),
    noted: &Mutex<Vec<Arrived>>,
) -> std::io::Result<()> {
    let mut buffer = Vec::new();
    loop {
        let head = loop {
            if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                break end;
            }
            if stream.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        };
        let text = String::from_utf8(buffer.drain(..head + 4).collect()).unwrap();
        let mut lines = text.lines();
        let mut first = lines.next().unwrap().split(' ');
        let (method, path) = (first.next().unwrap().to_owned(), first.next().unwrap().to_owned());
        let headers: HashMap<String, String> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
        while buffer.len() < length {
            stream.read_buf(&mut buffer).await?;
        }
        let body: Vec<u8> = buffer.drain(..length).collect();
        let body = serde_json::from_slice(&body).unwrap_or_default();
        let arrived = Arrived { method, path, headers, body };
        let before = {
            let mut noted = noted.lock().unwrap();
            noted.push(arrived.clone());
            noted.len() - 1
        };
        let reply = answer(&arrived, before);
        for (pause, part) in &reply.parts {
            tokio::time::sleep(std::time::Duration::from_millis(*pause)).await;
            stream.write_all(part).await?;
        }
        if reply.closes {
            stream.shutdown().await?;
            return Ok(());
        }
    }
}
