//! A link over HTTP: every message is a POST of its own, on connections that are kept.

pub mod fetch;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, LOCATION, USER_AGENT, WWW_AUTHENTICATE,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::{ClientConfig, RootCertStore};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout};
use wakashu_wire::envelope::{Flaw, Kind};
use wakashu_wire::{Envelope, Revision, era};

use super::sse::Events;
use super::{Answer, BoxFuture, Call, Inbox, Link, MAX_MESSAGE_BYTES, timed_out};
use crate::chain::Chain;
use crate::error::{Error, ErrorCode, Result};
use crate::policy::retry_after;

/// How long a server may take to accept a connection.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a connection waits for the next request. Servers close theirs after a minute or more.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// How often one request may be sent on to another path.
const MOST_REDIRECTS: usize = 3;
/// The wait before a stream is taken up again, where the server names none.
const RESUME_AFTER: Duration = Duration::from_secs(1);
/// The shortest and the longest wait a server may ask for before its stream is taken up again.
const RESUME: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(30));

/// How the addresses begin that this link takes.
pub(crate) const SCHEMES: &[&str] = &["https", "http"];
/// Who we are to a server.
pub(super) const AGENT: &str = concat!("wakashu/", env!("CARGO_PKG_VERSION"));

static SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");
static LAST_EVENT_HEADER: HeaderName = HeaderName::from_static("last-event-id");

type Hyper = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

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
    /// The `initialize` that opened it, to be said again when it is lost.
    greeting: Option<Call>,
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

/// Reads the address of an endpoint, which begins with one of these schemes.
pub(crate) fn read_address(address: &str, schemes: &[&str]) -> Result<Uri> {
    let wrong = |problem: &str| {
        Error::unsent(ErrorCode::ConnectionFailed, format!("`{}` {problem}", without_secrets(address)))
    };
    let uri: Uri = address.parse().map_err(|_| wrong("is not an address"))?;
    let is_known = uri.scheme_str().is_some_and(|scheme| schemes.contains(&scheme));
    if !is_known || uri.host().is_none_or(str::is_empty) {
        let begin = schemes.iter().map(|scheme| format!("{scheme}://")).collect::<Vec<_>>().join(" or ");
        return Err(wrong(&format!("is not an address that begins with {begin}")));
    }
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(wrong("has a user name or a password in it; put credentials into a header"));
    }
    Ok(uri)
}

/// Returns an address for a message: without credentials and query.
pub(super) fn without_secrets(address: &str) -> String {
    let address = address.split(['?', '#']).next().unwrap_or_default();
    match address.split_once("//").and_then(|(scheme, rest)| Some((scheme, rest.rsplit_once('@')?.1))) {
        Some((scheme, rest)) => format!("{scheme}//…@{rest}"),
        None => address.to_owned(),
    }
}

/// Returns how connections are encrypted: with the system's certificates, if they are needed.
pub(super) fn tls(is_encrypted: bool) -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    if is_encrypted {
        // One that cannot be read is as good as one that is not there: whoever needs it is told that the issuer is
        // unknown.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::unsent(ErrorCode::ConnectionFailed, format!("no TLS: {error}")))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

fn build_client(is_encrypted: bool) -> Result<Hyper> {
    let config = tls(is_encrypted)?;
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
    let builder = HttpsConnectorBuilder::new().with_tls_config(config);
    let builder = if is_encrypted { builder.https_only() } else { builder.https_or_http() };
    let connector = builder.enable_http1().wrap_connector(connector);
    let mut client = Client::builder(TokioExecutor::new());
    client.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE_TIMEOUT);
    Ok(client.build(connector))
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

/// How an answer's body is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Media {
    Json,
    Events,
    Other,
}

impl Media {
    fn of(headers: &HeaderMap) -> Self {
        let named = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let essence = named.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match essence.as_str() {
            "application/json" => Self::Json,
            "text/event-stream" => Self::Events,
            _ => Self::Other,
        }
    }
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
            let response = self.post(call, &session).await?;
            let (head, body) = response.into_parts();
            let media = Media::of(&head.headers);
            check_encoding(&head.headers)?;
            let answer = if head.status.is_success() && media == Media::Events {
                self.events(body, call, &session).await?
            } else {
                let (message, envelope) = collect(body, call).await?;
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
        let response = self.post(call, &session).await?;
        let (head, body) = response.into_parts();
        // Read to its end, so that the connection can be used again.
        let (message, envelope) = collect(body, call).await?;
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
    async fn post(&self, call: &Call, session: &Session) -> Result<Response<Incoming>> {
        let mut uri = self.uri.clone();
        for _ in 0..=MOST_REDIRECTS {
            let mut request = self.bare(Method::POST, session, &uri);
            *request.body_mut() = Full::new(call.body.clone());
            let headers = request.headers_mut();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            modern_headers(call, headers);
            let response = match timeout(call.patience, self.client.request(request)).await {
                Ok(Ok(response)) => response,
                Ok(Err(error)) => return Err(unreachable(&uri, &error)),
                Err(_) => return Err(timed_out(call)),
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

    /// Reads a stream until the answer is on it. One that ends before is taken up again, for as long as the request waits
    /// for a message.
    async fn events(&self, mut body: Incoming, call: &Call, session: &Session) -> Result<Answer> {
        let lost = || Error::new(ErrorCode::ConnectionLost, "the server closed the stream before its answer");
        let mut events = Events::default();
        let mut heard = Instant::now();
        loop {
            if let Some(answer) = self.next_answer(&mut body, &mut events, call, &mut heard).await? {
                return Ok(answer);
            }
            let Some(last_id) = events.last_id().map(str::to_owned) else { return Err(lost()) };
            if call.version.is_some() || heard.elapsed() > call.patience {
                return Err(lost());
            }
            sleep(events.retry().unwrap_or(RESUME_AFTER).clamp(RESUME.0, RESUME.1)).await;
            events.restart();
            let taken_up = match timeout(call.patience, self.take_up(session, Some(&last_id))).await {
                Ok(taken_up) => taken_up.map_err(|error| Error { never_sent: false, ..error })?,
                Err(_) => return Err(timed_out(call)),
            };
            body = taken_up.ok_or_else(lost)?;
        }
    }

    /// Returns the answer to `call`, or `None` if the stream ends before. Everything else on it goes to the inbox.
    async fn next_answer(
        &self,
        body: &mut Incoming,
        events: &mut Events,
        call: &Call,
        heard: &mut Instant,
    ) -> Result<Option<Answer>> {
        loop {
            let frame = match timeout(call.patience, body.frame()).await {
                Ok(Some(Ok(frame))) => frame,
                // A connection that was cut off ends a stream as its end does.
                Ok(None | Some(Err(_))) => return Ok(None),
                Err(_) => return Err(timed_out(call)),
            };
            let Ok(piece) = frame.into_data() else { continue };
            events.feed(piece);
            while let Some(event) = events.take_event() {
                let Ok(envelope) = event.data.scan() else {
                    tracing::warn!("skipped an event that is not a message");
                    continue;
                };
                let is_ours = |span: Option<std::ops::Range<usize>>| {
                    span.map(|span| event.data.slice(span).into_bytes())
                        .is_none_or(|id| id == call.id_json() || id == "null")
                };
                match envelope.kind() {
                    Some(Kind::Result | Kind::Error) if is_ours(envelope.id()) => {
                        return Ok(Some(Answer { message: event.data, envelope }));
                    }
                    Some(Kind::Request | Kind::Notification) => {
                        self.pass_on(event.data).await;
                        *heard = Instant::now();
                    }
                    _ => tracing::warn!("skipped the answer to another request"),
                }
            }
            if events.pending() > MAX_MESSAGE_BYTES {
                return Err(too_large());
            }
        }
    }

    async fn pass_on(&self, message: Chain) {
        // Nobody listens once the owner of the link is gone.
        let _ = self.inbox.send(message).await;
    }

    /// Takes up a stream again by GET; `None` if the server has none.
    async fn take_up(&self, session: &Session, last_id: Option<&str>) -> Result<Option<Incoming>> {
        let mut request = self.bare(Method::GET, session, &self.uri);
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(id) = last_id.and_then(|id| HeaderValue::from_str(id).ok()) {
            request.headers_mut().insert(LAST_EVENT_HEADER.clone(), id);
        }
        let response = self.client.request(request).await.map_err(|error| unreachable(&self.uri, &error))?;
        let is_stream = response.status().is_success() && Media::of(response.headers()) == Media::Events;
        Ok(is_stream.then(|| response.into_body()))
    }

    /// Remembers what a greeting agreed upon.
    fn greeted(&self, call: &Call, answer: &Answer, id: Option<&HeaderValue>) {
        let result = answer.result().unwrap_or_default();
        let version = result.get("protocolVersion").and_then(|version| version.as_str());
        let version = version.and_then(|version| HeaderValue::from_str(version).ok());
        let number = self.openings.fetch_add(1, Ordering::AcqRel);
        *self.session() = Session { id: id.cloned(), version, greeting: Some(call.clone()), number };
    }

    /// Opens a lost session anew, once for all who lost it. Boxed, as it sends requests and requests lead to it.
    fn repair<'a>(self: &'a Arc<Self>, lost: &'a Session, patience: Duration) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let _alone = self.repairing.lock().await;
            if self.session().number != lost.number {
                return Ok(());
            }
            let Some(mut greeting) = lost.greeting.clone() else { return Ok(()) };
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

    fn listening(&self) -> MutexGuard<'_, Option<AbortHandle>> {
        self.listening.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stop_listening(&self) {
        if let Some(task) = self.listening().take() {
            task.abort();
        }
    }

    /// Takes what a legacy server says by itself. Servers without sessions have no such stream.
    fn listen(self: &Arc<Self>) {
        let mut listening = self.listening();
        if listening.is_some() || self.session().id.is_none() {
            return;
        }
        let shared = Arc::downgrade(self);
        let task = tokio::spawn(async move {
            let mut events = Events::default();
            loop {
                let Some(shared) = shared.upgrade() else { return };
                let session = shared.session().clone();
                let Ok(Some(mut body)) = shared.take_up(&session, events.last_id()).await else { return };
                while let Some(Ok(frame)) = body.frame().await {
                    let Ok(piece) = frame.into_data() else { continue };
                    events.feed(piece);
                    while let Some(event) = events.take_event() {
                        let kind = event.data.scan().ok().and_then(|envelope| envelope.kind());
                        if matches!(kind, Some(Kind::Request | Kind::Notification)) {
                            shared.pass_on(event.data).await;
                        }
                    }
                    if events.pending() > MAX_MESSAGE_BYTES {
                        return;
                    }
                }
                let pause = events.retry().unwrap_or(RESUME_AFTER).clamp(RESUME.0, RESUME.1);
                events.restart();
                drop((shared, body));
                sleep(pause).await;
            }
        });
        *listening = Some(task.abort_handle());
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
                let error = error.and_then(|json| serde_json::from_slice::<serde_json::Value>(&json).ok());
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

/// Returns where a redirect leads. Another origin is refused: what is sent may hold secrets.
fn redirected(from: &Uri, headers: &HeaderMap) -> Result<Uri> {
    let named = headers.get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let refuse = |problem: &str| {
        let sentence = format!("redirects to `{}`, {problem}", without_secrets(named));
        Error::new(ErrorCode::ConnectionFailed, sentence)
    };
    let absolute = if named.starts_with('/') && !named.starts_with("//") {
        let authority = from.authority().map(ToString::to_string).unwrap_or_default();
        format!("{}://{authority}{named}", from.scheme_str().unwrap_or("https"))
    } else {
        named.to_owned()
    };
    let to: Uri = absolute.parse().map_err(|_| refuse("which is not an address"))?;
    let port = |uri: &Uri| uri.port_u16().unwrap_or(if uri.scheme_str() == Some("http") { 80 } else { 443 });
    let same_host = from.host().zip(to.host()).is_some_and(|(from, to)| from.eq_ignore_ascii_case(to));
    if from.scheme() != to.scheme() || !same_host || port(from) != port(&to) {
        return Err(refuse("which is another origin: configure that address if it is meant"));
    }
    Ok(to)
}

fn check_encoding(headers: &HeaderMap) -> Result<()> {
    match headers.get(CONTENT_ENCODING) {
        Some(encoding) if encoding != "identity" => {
            let sentence = "the answer is compressed although no compression was asked for";
            Err(Error::new(ErrorCode::ConnectionFailed, sentence))
        }
        _ => Ok(()),
    }
}

/// Takes a whole body.
async fn collect(mut body: Incoming, call: &Call) -> Result<(Chain, Result<Envelope, Flaw>)> {
    let mut message = Chain::default();
    loop {
        match timeout(call.patience, body.frame()).await {
            Ok(Some(Ok(frame))) => {
                if let Ok(piece) = frame.into_data() {
                    message.push(piece);
                }
            }
            Ok(None) => break,
            Ok(Some(Err(error))) => {
                let sentence = format!("the connection ended within the answer: {error}");
                return Err(Error::new(ErrorCode::ConnectionLost, sentence));
            }
            Err(_) => return Err(timed_out(call)),
        }
        if message.len() > MAX_MESSAGE_BYTES {
            return Err(too_large());
        }
    }
    let envelope = message.scan();
    Ok((message, envelope))
}

fn too_large() -> Error {
    let sentence = format!("the answer is larger than {MAX_MESSAGE_BYTES} bytes, the most that is passed on");
    Error::new(ErrorCode::ExecutionFailed, sentence)
}

/// Decides what a body is.
fn judge(
    headers: &HeaderMap,
    status: StatusCode,
    media: Media,
    message: Chain,
    envelope: Result<Envelope, Flaw>,
) -> Result<Answer> {
    let is_answer = |envelope: &Envelope| matches!(envelope.kind(), Some(Kind::Result | Kind::Error));
    let answer = match envelope {
        Ok(envelope) if is_answer(&envelope) && media != Media::Events => Some(Answer { message, envelope }),
        Err(Flaw::Unfinished) if status.is_success() && media == Media::Json => {
            return Err(Error::new(ErrorCode::ConnectionLost, "the answer ends in the middle"));
        }
        _ => None,
    };
    let code = match status.as_u16() {
        200..=299 | 400 | 404..=406 | 408 | 410 | 415 | 502..=504 => ErrorCode::ConnectionFailed,
        401 | 403 => ErrorCode::PermissionDenied,
        429 => ErrorCode::RateLimitExceeded,
        _ => ErrorCode::ExecutionFailed,
    };
    // These say something of the way to the server, whatever else there is in them.
    let is_of_the_way = matches!(status.as_u16(), 401 | 403 | 408 | 429 | 502..=504);
    let said = match answer {
        Some(answer) if !is_of_the_way => return Ok(answer),
        Some(answer) => answer.result().err(),
        None => None,
    };
    let reason = match (&said, headers.get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok())) {
        (Some(said), _) => format!(": {}", said.message),
        (None, Some(challenge)) => {
            format!(" and wants `{}`", challenge.chars().take(200).collect::<String>())
        }
        (None, None) => String::new(),
    };
    let sentence = if status.is_success() {
        let named = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("no type");
        format!("the answer is no message but `{named}`: this is not the address of an MCP endpoint")
    } else {
        format!("the server answers {status}{reason}")
    };
    Err(Error {
        details: said.and_then(|said| said.details),
        is_final: !is_of_the_way,
        retry_after: retry_after(headers),
        ..Error::new(code, sentence)
    })
}

fn unreachable(uri: &Uri, error: &legacy::Error) -> Error {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    let address = without_secrets(&uri.to_string());
    if error.is_connect() {
        return Error::unsent(ErrorCode::ConnectionFailed, format!("cannot connect to `{address}`: {cause}"));
    }
    Error::new(ErrorCode::ConnectionLost, format!("the connection to `{address}` ended: {cause}"))
}
