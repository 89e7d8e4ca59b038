//! A link over HTTP: every message is a POST of its own, on connections that are kept.

mod address;
mod answer;
mod events;
pub mod fetch;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use serde_json::Value;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout, timeout_at};
use wakashu_wire::{Envelope, Revision, era};

use self::address::{Hyper, build_client, redirected, unreachable};
use self::answer::{Media, check_encoding, collect, judge};
use super::{Answer, BoxFuture, Call, Inbox, Link, timed_out};
use crate::chain::Chain;
use crate::error::{Error, ErrorCode, Result};

#[cfg(feature = "websocket")]
pub(super) use self::address::{CONNECT_TIMEOUT, tls};
pub(crate) use self::address::{SCHEMES, read_address, without_secrets};

/// How often one request may be sent on to another path.
const MOST_REDIRECTS: usize = 3;
/// How many bytes of a message are a sign of progress.
const GOOD_PART: usize = 16 << 10;
/// Who we are to a server.
pub(super) const AGENT: &str = concat!("wakashu/", env!("CARGO_PKG_VERSION"));

static SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");

/// A link to an MCP endpoint.
pub struct HttpLink {
    shared: Arc<Shared>,
}

struct Shared {
    client: Hyper,
    uri: Uri,
    /// What the configuration adds to every request.
    headers: HeaderMap,
    inbox: Inbox,
    session: Mutex<Session>,
    openings: AtomicU64,
    /// Held while a lost session is opened anew, so that this happens once.
    repairing: tokio::sync::Mutex<()>,
    listening: Mutex<Option<AbortHandle>>,
}

/// What a legacy server and we agreed upon.
#[derive(Debug, Clone, Default)]
struct Session {
    id: Option<HeaderValue>,
    version: Option<HeaderValue>,
    /// The `initialize` that opened it, to be said again when it is lost, and what the server said to it.
    greeting: Option<(Call, Value)>,
    /// Which session it is, counted.
    number: u64,
}

impl HttpLink {
    /// Prepares a link; nothing is sent before the first message. `headers` go with every request.
    pub fn new(address: &str, headers: HeaderMap, inbox: Inbox) -> Result<Self> {
        let uri = read_address(address, SCHEMES)?;
        let client = build_client(uri.scheme_str() == Some("https"))?;
        let shared = Shared {
            client,
            uri,
            headers,
            inbox,
            session: Mutex::default(),
            openings: AtomicU64::new(1),
            repairing: tokio::sync::Mutex::default(),
            listening: Mutex::default(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }
}

impl Link for HttpLink {
    fn request(&self, call: Call) -> BoxFuture<'_, Result<Answer>> {
        Box::pin(async move {
            let mut told = TellOnDrop { shared: &self.shared, call: Some(&call) };
            let answer = self.shared.request(&call).await;
            // After a timeout the server is told, as after a drop.
            if !matches!(&answer, Err(error) if error.code == ErrorCode::Timeout) {
                told.call = None;
            }
            answer
        })
    }

    fn notify(&self, call: Call) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move { self.shared.notify(&call).await })
    }

    fn listen(&self) {
        Shared::listen(&self.shared);
    }

    fn has_headers(&self) -> bool {
        true
    }

    fn is_open(&self) -> bool {
        true
    }

    fn openings(&self) -> u64 {
        self.shared.openings.load(Ordering::Acquire)
    }

    fn greeting(&self) -> Option<Value> {
        self.shared.session().greeting.as_ref().map(|(_, said)| said.clone())
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.shared.stop_listening();
            self.shared.openings.fetch_add(1, Ordering::AcqRel);
            let session = std::mem::take(&mut *self.shared.session());
            if session.id.is_some() {
                // A courtesy; servers end sessions by themselves too.
                let request = self.shared.bare(Method::DELETE, &session, &self.shared.uri);
                let _ = timeout(Duration::from_secs(1), self.shared.client.request(request)).await;
            }
        })
    }
}

impl Drop for HttpLink {
    fn drop(&mut self) {
        self.shared.stop_listening();
    }
}

impl fmt::Debug for HttpLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HttpLink({})", without_secrets(&self.shared.uri.to_string()))
    }
}

/// When a request is given up: once its patience is over since the last sign of progress.
struct Clock {
    patience: Duration,
    /// When there was a message, or a good part of one.
    heard: Instant,
    until: Instant,
    /// How much of a message had come by then.
    counted: usize,
}

impl Clock {
    fn start(call: &Call) -> Self {
        let now = Instant::now();
        Self { patience: call.patience, heard: now, until: now + call.patience, counted: 0 }
    }

    /// Notes a sign of progress.
    fn hear(&mut self) {
        self.heard = Instant::now();
        self.until = self.heard + self.patience;
    }

    /// Notes how much of a message has come. What trickles is no sign of progress.
    fn grown(&mut self, bytes: usize) {
        self.counted = self.counted.min(bytes);
        if bytes - self.counted >= GOOD_PART {
            self.counted = bytes;
            self.hear();
        }
    }

    /// Gives a stream that was taken up again its time.
    fn restart(&mut self) {
        self.until = Instant::now() + self.patience;
    }

    async fn race<T>(&self, call: &Call, future: impl Future<Output = T>) -> Result<T> {
        timeout_at(self.until, future).await.map_err(|_| timed_out(call))
    }
}

/// Tells a legacy server that nobody waits for a request any more. A modern one knows by the closed connection.
struct TellOnDrop<'a> {
    shared: &'a Arc<Shared>,
    call: Option<&'a Call>,
}

impl Drop for TellOnDrop<'_> {
    fn drop(&mut self) {
        let Some(call) = self.call.filter(|call| call.version.is_none() && call.method != "initialize")
        else {
            return;
        };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let Some(notice) = cancellation(&call.id_json()) else { return };
        let shared = Arc::clone(self.shared);
        runtime.spawn(async move { shared.notify(&notice).await });
    }
}

/// Returns the notice that a request is cancelled.
pub(super) fn cancellation(id: &[u8]) -> Option<Call> {
    let id = std::str::from_utf8(id).ok()?;
    let body =
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#);
    Call::read(Bytes::from(body)).ok()
}

/// Returns what ends a greeting.
pub(super) fn initialized() -> Option<Call> {
    Call::read(Bytes::from_static(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)).ok()
}

impl Shared {
    fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn request(self: &Arc<Self>, call: &Call) -> Result<Answer> {
        let mut is_repaired = false;
        loop {
            let greets = call.method == "initialize";
            let session = if greets { Session::default() } else { self.session().clone() };
            let mut clock = Clock::start(call);
            let response = self.post(call, &session, &clock).await?;
            let (head, body) = response.into_parts();
            let media = Media::of(&head.headers);
            check_encoding(&head.headers)?;
            let answer = if head.status.is_success() && media == Media::Events {
                self.events(body, call, &session, &mut clock).await?
            } else {
                let (message, envelope) = collect(body, call, &mut clock).await?;
                if !is_repaired && session.is_lost(head.status, &message, envelope.as_ref().ok()) {
                    self.repair(&session, call.patience).await?;
                    is_repaired = true;
                    continue;
                }
                judge(&head.headers, head.status, media, message, envelope)?
            };
            if greets && answer.envelope.result().is_some() {
                self.greeted(call, &answer, head.headers.get(&SESSION_HEADER));
            }
            return Ok(answer.with_id(call.id_json()));
        }
    }

    async fn notify(self: &Arc<Self>, call: &Call) -> Result<()> {
        let session = self.session().clone();
        let mut clock = Clock::start(call);
        let response = self.post(call, &session, &clock).await?;
        let (head, body) = response.into_parts();
        // Read to its end, so that the connection can be used again.
        let (message, envelope) = collect(body, call, &mut clock).await?;
        if head.status.is_success() {
            return Ok(());
        }
        if session.is_lost(head.status, &message, envelope.as_ref().ok()) {
            // The session opened anew has no request that this could be about.
            return Ok(());
        }
        judge(&head.headers, head.status, Media::of(&head.headers), message, envelope)?.result().map(drop)
    }

    /// Sends a message, following redirects; only the head of the answer has come when this returns.
    async fn post(&self, call: &Call, session: &Session, clock: &Clock) -> Result<Response<Incoming>> {
        let mut uri = self.uri.clone();
        for _ in 0..=MOST_REDIRECTS {
            let mut request = self.bare(Method::POST, session, &uri);
            *request.body_mut() = Full::new(call.body.clone());
            let headers = request.headers_mut();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            modern_headers(call, headers);
            let response = match clock.race(call, self.client.request(request)).await? {
                Ok(response) => response,
                Err(error) => return Err(unreachable(&uri, &error)),
            };
            if !matches!(response.status().as_u16(), 301 | 302 | 307 | 308) {
                return Ok(response);
            }
            uri = redirected(&uri, response.headers())?;
        }
        let sentence = format!("redirects more than {MOST_REDIRECTS} times");
        Err(Error::new(ErrorCode::ConnectionFailed, sentence))
    }

    /// Returns a request without a body.
    fn bare(&self, method: Method, session: &Session, uri: &Uri) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::default());
        *request.method_mut() = method;
        *request.uri_mut() = uri.clone();
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        headers.extend(self.headers.iter().map(|(name, value)| (name.clone(), value.clone())));
        if let Some(id) = &session.id {
            headers.insert(SESSION_HEADER.clone(), id.clone());
        }
        if let Some(version) = &session.version {
            headers.insert(era::VERSION_HEADER.clone(), version.clone());
        }
        request
    }

    /// Remembers what a greeting agreed upon.
    fn greeted(&self, call: &Call, answer: &Answer, id: Option<&HeaderValue>) {
        let result = answer.result().unwrap_or_default();
        let version = result.get("protocolVersion").and_then(|version| version.as_str());
        let version = version.and_then(|version| HeaderValue::from_str(version).ok());
        let number = self.openings.fetch_add(1, Ordering::AcqRel);
        let greeting = Some((call.clone(), result));
        *self.session() = Session { id: id.cloned(), version, greeting, number };
    }

    /// Opens a lost session anew, once for all who lost it. Boxed, as it sends requests and requests lead to it.
    fn repair<'a>(self: &'a Arc<Self>, lost: &'a Session, patience: Duration) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let _alone = self.repairing.lock().await;
            if self.session().number != lost.number {
                return Ok(());
            }
            let Some((mut greeting, _)) = lost.greeting.clone() else { return Ok(()) };
            greeting.patience = patience;
            tracing::info!("the server lost the session; opening another");
            self.request(&greeting).await?.result()?;
            if let Some(done) = initialized() {
                self.notify(&done).await?;
            }
            let was_listening = self.listening().is_some();
            if was_listening {
                self.stop_listening();
                Self::listen(self);
            }
            Ok(())
        })
    }
}

impl Session {
    /// Tells whether an answer means that the server has forgotten the session. Some say 400 in place of 404.
    fn is_lost(&self, status: StatusCode, message: &Chain, envelope: Option<&Envelope>) -> bool {
        if self.id.is_none() || self.greeting.is_none() {
            return false;
        }
        match status {
            StatusCode::NOT_FOUND => true,
            StatusCode::BAD_REQUEST => {
                let error = envelope.and_then(Envelope::error).map(|span| message.slice(span).into_bytes());
                let error = error.and_then(|json| serde_json::from_slice::<Value>(&json).ok());
                let code = error.as_ref().and_then(|error| error.get("code")?.as_i64());
                // Servers written before there was a rule use the codes that are theirs to use.
                code.is_none_or(|code| (-32019..=-32000).contains(&code))
            }
            _ => false,
        }
    }
}

/// Adds the headers of a modern message, which repeat parts of its body.
fn modern_headers(call: &Call, headers: &mut HeaderMap) {
    let Some(version) = &call.version else { return };
    let mut repeat = |name: &HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(&era::encode_value(value)) {
            headers.insert(name.clone(), value);
        }
    };
    repeat(&era::VERSION_HEADER, version);
    if Revision::parse(version).is_some_and(|revision| !revision.is_modern()) {
        return;
    }
    repeat(&era::METHOD_HEADER, &call.method);
    if let Some(name) = &call.name {
        repeat(&era::NAME_HEADER, name);
    }
    headers.extend(call.headers.iter().map(|(name, value)| (name.clone(), value.clone())));
}
