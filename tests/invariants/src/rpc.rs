//! Requests through the routes: bytes in, HTTP out.

use std::cell::LazyCell;
use std::sync::Arc;

use bytes::{Buf as _, Bytes};
use http::header::{CONTENT_TYPE, HOST, HeaderName};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use wakashu_function::app::state_of;
use wakashu_function::{Access, App, Arrival, MAX_ANSWER_BYTES};
use wakashu_storage::Location;

use crate::archive::sample;

/// A server of one archive, and the runtime they run on.
pub(crate) struct Served {
    app: App,
    runtime: Runtime,
    folder: TempDir,
}

/// What came back.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Served {
    /// Serves a file, whatever is in it.
    pub(crate) fn new(archive: &[u8]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
        let app = serve(&runtime, &folder, archive);
        Self { app, runtime, folder }
    }

    /// Serves another file instead.
    pub(crate) fn exchange(&mut self, archive: &[u8]) {
        self.app = serve(&self.runtime, &self.folder, archive);
    }

    pub(crate) fn ask(&self, request: Request<Full<Bytes>>) -> Reply {
        self.runtime.block_on(async {
            let (parts, mut body) = self.app.answer(Arrival::default(), request).await.into_parts();
            let is_stream = parts.headers.get(CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream");
            let body = if is_stream {
                // A subscription stays open; its first event is enough.
                let first = body.frame().await.and_then(Result::ok).and_then(|frame| frame.into_data().ok());
                let mut first = first.expect("a stream begins with an event");
                first.copy_to_bytes(first.remaining()).to_vec()
            } else {
                body.collect().await.expect("a body").to_bytes().to_vec()
            };
            Reply { status: parts.status, headers: parts.headers, body }
        })
    }
}

fn serve(runtime: &Runtime, folder: &TempDir, archive: &[u8]) -> App {
    // Replaced by renaming: the one before may still be mapped.
    let (new, path) = (folder.path().join("new"), folder.path().join("poems.wakashu"));
    std::fs::write(&new, archive).and_then(|()| std::fs::rename(&new, &path)).expect("an archive is written");
    let location: Location = path.to_str().expect("a plain path").parse().expect("a location");
    let state = Arc::new(state_of(Some(location), 1 << 20, 0, true));
    runtime.block_on(state.refresh());
    let access = Access { loopback: true, ..Access::default() };
    App::new(state, access, Some("http://localhost:3000".to_owned()))
}

thread_local! {
    static SERVED: LazyCell<Served> = LazyCell::new(|| Served::new(&sample()));
}

/// Sends a request: a line `METHOD PATH`, headers, an empty line, a body; or only the body of a `POST /mcp`.
pub fn rpc(bytes: &[u8]) {
    let (head, body) = split(bytes);
    let Some(request) = request(head, body) else { return };
    let is_mcp = request.uri().path() == "/mcp";
    let is_head = request.method() == Method::HEAD;
    let reply = SERVED.with(|served| served.ask(request));
    assert!(!reply.status.is_server_error(), "{}: {}", reply.status, shown(&reply));
    if is_head {
        assert!(reply.body.is_empty());
    } else if is_mcp {
        check_mcp(&reply);
        check_echo(&reply, body);
    } else if is_json(&reply) {
        serde_json::from_slice::<Value>(&reply.body).expect("JSON");
    }
}

fn split(bytes: &[u8]) -> (&[u8], &[u8]) {
    match bytes.windows(2).position(|pair| pair == b"\n\n") {
        Some(at) if !bytes.starts_with(b"{") => (&bytes[..at], &bytes[at + 2..]),
        _ => (b"POST /mcp", bytes),
    }
}

/// Returns the request, if it could have come through an HTTP server.
fn request(head: &[u8], body: &[u8]) -> Option<Request<Full<Bytes>>> {
    let mut lines = head.split(|byte| *byte == b'\n');
    let mut first = lines.next()?.splitn(2, |byte| *byte == b' ');
    let method = Method::from_bytes(first.next()?).ok()?;
    let uri = Uri::try_from(first.next()?).ok()?;
    let mut request = Request::new(Full::from(body.to_vec()));
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    let headers = request.headers_mut();
    for line in lines {
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let name = HeaderName::from_bytes(parts.next()?).ok()?;
        headers.append(name, HeaderValue::from_bytes(parts.next()?.trim_ascii()).ok()?);
    }
    if !headers.contains_key(HOST) {
        headers.insert(HOST, HeaderValue::from_static("localhost"));
    }
    Some(request)
}

/// Checks that an answer of `/mcp` is JSON-RPC, whole, and within the budget.
pub(crate) fn check_mcp(reply: &Reply) {
    assert!(reply.body.len() <= MAX_ANSWER_BYTES, "an answer of {} bytes", reply.body.len());
    if reply.status == StatusCode::ACCEPTED {
        assert!(reply.body.is_empty());
        return;
    }
    if reply.headers.get(CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream") {
        return;
    }
    assert!(is_json(reply), "{}", shown(reply));
    let value: Value =
        serde_json::from_slice(&reply.body).unwrap_or_else(|error| panic!("{error}: {}", shown(reply)));
    let answers = match &value {
        Value::Array(answers) => answers.as_slice(),
        single => std::slice::from_ref(single),
    };
    assert!((1..=20).contains(&answers.len()));
    for answer in answers {
        assert_eq!(answer["jsonrpc"], "2.0", "{}", shown(reply));
        let id = answer.get("id");
        assert!(id.is_none_or(|id| id.is_string() || id.is_number()), "{}", shown(reply));
        if let Some(error) = answer.get("error") {
            assert!(answer.get("result").is_none());
            assert!(error["code"].is_i64() && error["message"].is_string(), "{}", shown(reply));
        } else {
            let is_result = id.is_some() && answer["result"].is_object();
            assert!(is_result && reply.status == StatusCode::OK, "{}", shown(reply));
        }
    }
}

/// Checks that the answer is to this request and in its era.
fn check_echo(reply: &Reply, body: &[u8]) {
    let Ok(answer) = serde_json::from_slice::<Value>(&reply.body) else { return };
    // Only a fault of the server is an internal error, and the archive is a good one; a large batch may be refused.
    assert!(answer["error"]["code"] != -32603, "{}", shown(reply));
    if let Ok(Value::Object(message)) = serde_json::from_slice(body)
        && let (Some(asked), Some(answered)) = (message.get("id"), answer.get("id"))
    {
        assert_eq!(asked, answered);
    }
    let says_modern = body.windows(10).any(|window| window == b"2026-07-28") || body.contains(&b'\\');
    if !says_modern {
        assert!(answer["result"].get("resultType").is_none(), "a legacy request is answered in its own era");
    }
}

fn is_json(reply: &Reply) -> bool {
    reply.headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"))
}

fn shown(reply: &Reply) -> String {
    String::from_utf8_lossy(&reply.body).chars().take(2_000).collect()
}
