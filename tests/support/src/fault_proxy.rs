//! An HTTP proxy that misbehaves on request.
//!
//! It stands between a client and a server, notes every exchange with its sizes, and lets tests delay, refuse, cut,
//! falsify or hold the exchanges they pick. Messages are passed on whole and with their headers untouched, so that
//! signatures stay valid.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{CONTENT_LENGTH, CONTENT_RANGE, HeaderValue, TRANSFER_ENCODING};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// What goes wrong with an exchange.
#[derive(Debug, Clone)]
pub enum Fault {
    /// The request waits before it is passed on.
    Delay(Duration),
    /// The request waits for a while, and the answer for as long as its bytes take on a line of that speed.
    Line {
        /// From the request to the first byte of the answer.
        latency: Duration,
        /// The line's speed.
        bytes_per_second: u32,
    },
    /// The proxy answers itself; the server never hears of it.
    Answer {
        /// The status.
        status: u16,
        /// A header of the answer.
        header: Option<(&'static str, &'static str)>,
        /// The body.
        body: &'static str,
    },
    /// The connection closes before the server hears of it.
    Drop,
    /// The server does its work, and the connection closes before the answer.
    LoseAnswer,
    /// The answer's body breaks off after so many bytes.
    Truncate(usize),
    /// One byte of the answer's body is another one.
    Flip(usize),
    /// A range is answered with all of this, as by a server that does not know ranges.
    Whole(Bytes),
    /// So many bytes follow the answer's own.
    Lengthen(usize),
    /// The request waits in the proxy until the test lets it go.
    Hold(Gate),
}

/// Where a held request waits.
#[derive(Debug, Clone)]
pub struct Gate {
    reached: Arc<Semaphore>,
    open: Arc<Semaphore>,
}

impl Default for Gate {
    fn default() -> Self {
        Self { reached: Arc::new(Semaphore::new(0)), open: Arc::new(Semaphore::new(0)) }
    }
}

impl Gate {
    /// Waits until a request stands at the gate.
    pub async fn reached(&self) {
        if let Ok(permit) = self.reached.acquire().await {
            permit.forget();
        }
    }

    /// Lets one request through, now or when it comes.
    pub fn release(&self) {
        self.open.add_permits(1);
    }

    async fn pass(&self) {
        self.reached.add_permits(1);
        if let Ok(permit) = self.open.acquire().await {
            permit.forget();
        }
    }
}

/// Which exchanges a fault befalls.
#[derive(Debug, Clone)]
pub struct Rule {
    /// The method; any if none.
    pub method: Option<&'static str>,
    /// A part of the path and query; empty for any.
    pub path: String,
    /// Matching exchanges that pass unharmed first.
    pub after: usize,
    /// How many it befalls then.
    pub times: usize,
    /// What happens.
    pub fault: Fault,
}

impl Rule {
    /// Befalls every exchange with that method whose path contains `path`.
    pub fn on(method: &'static str, path: impl Into<String>, fault: Fault) -> Self {
        Self { method: Some(method), path: path.into(), after: 0, times: usize::MAX, fault }
    }

    /// Befalls every exchange.
    #[must_use]
    pub fn always(fault: Fault) -> Self {
        Self { method: None, path: String::new(), after: 0, times: usize::MAX, fault }
    }

    /// Befalls only the next `times`.
    #[must_use]
    pub fn times(self, times: usize) -> Self {
        Self { times, ..self }
    }

    /// Lets `after` pass first.
    #[must_use]
    pub fn after(self, after: usize) -> Self {
        Self { after, ..self }
    }
}

/// One exchange that went through the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// The method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// The range asked for.
    pub range: Option<String>,
    /// The status; `None` when the connection was closed without an answer.
    pub status: Option<u16>,
    /// Bytes of the request's body.
    pub request_bytes: usize,
    /// Bytes of the answer's body that were passed on.
    pub answer_bytes: usize,
    /// When the request came.
    pub started: Instant,
    /// When the answer could be passed on.
    pub ended: Instant,
}

/// Returns how many exchanges had to wait for one another: the most of which each began after the one before had ended.
/// Those that ran side by side count as one.
#[must_use]
pub fn in_sequence(exchanges: &[Exchange]) -> usize {
    let mut by_end: Vec<&Exchange> = exchanges.iter().collect();
    by_end.sort_by_key(|exchange| exchange.ended);
    let mut last: Option<Instant> = None;
    let mut count = 0;
    for exchange in by_end {
        if last.is_none_or(|last| exchange.started >= last) {
            last = Some(exchange.ended);
            count += 1;
        }
    }
    count
}

/// A running proxy. It stops with the runtime it was started on.
#[derive(Debug, Clone)]
pub struct FaultProxy {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    upstream: SocketAddr,
    rules: Mutex<Vec<Rule>>,
    log: Mutex<Vec<Exchange>>,
}

impl FaultProxy {
    /// Starts a proxy in front of `upstream`.
    pub async fn start(upstream: SocketAddr) -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let state = Arc::new(State { upstream, rules: Mutex::default(), log: Mutex::default() });
        let serving = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&serving);
                tokio::spawn(async move {
                    let service = hyper::service::service_fn(|request| {
                        let state = Arc::clone(&state);
                        async move { state.exchange(request).await }
                    });
                    let io = TokioIo::new(stream);
                    // An error is a connection that broke, most often on purpose.
                    let _ = hyper::server::conn::http1::Builder::new().serve_connection(io, service).await;
                });
            }
        });
        Ok(Self { address, state })
    }

    /// Returns the proxy's own address, as a URL.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Adds a rule. The first rule that befalls an exchange decides.
    pub fn inject(&self, rule: Rule) {
        lock(&self.state.rules).push(rule);
    }

    /// Forgets all rules; requests that are held stay so.
    pub fn heal(&self) {
        lock(&self.state.rules).clear();
    }

    /// Forgets the exchanges so far.
    pub fn forget_log(&self) {
        lock(&self.state.log).clear();
    }

    /// Returns the exchanges so far and forgets them.
    #[must_use]
    pub fn take_log(&self) -> Vec<Exchange> {
        std::mem::take(&mut lock(&self.state.log))
    }
}

type Body = BoxBody<Bytes, std::io::Error>;

/// Said to hyper to make it close the connection.
fn closed() -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::ConnectionReset, "closed by the fault proxy")
}

impl State {
    async fn exchange(&self, request: Request<Incoming>) -> Result<Response<Body>, std::io::Error> {
        let started = Instant::now();
        let (head, body) = request.into_parts();
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        let range = head.headers.get("range").and_then(|range| range.to_str().ok()).map(str::to_owned);
        let body = body.collect().await.map_err(|_| closed())?.to_bytes();
        let mut exchange = Exchange {
            method: head.method.to_string(),
            path,
            range,
            status: None,
            request_bytes: body.len(),
            answer_bytes: 0,
            started,
            ended: started,
        };
        let fault = self.fault_for(&exchange);
        let request = Request::from_parts(head, Full::new(body));
        let answered = self.misbehave(request, fault, &mut exchange).await;
        exchange.ended = Instant::now();
        lock(&self.log).push(exchange);
        answered
    }

    async fn misbehave(
        &self,
        request: Request<Full<Bytes>>,
        fault: Option<Fault>,
        exchange: &mut Exchange,
    ) -> Result<Response<Body>, std::io::Error> {
        match &fault {
            Some(Fault::Delay(pause) | Fault::Line { latency: pause, .. }) => {
                tokio::time::sleep(*pause).await;
            }
            Some(Fault::Hold(gate)) => gate.pass().await,
            Some(Fault::Drop) => return Err(closed()),
            Some(Fault::Answer { status, header, body }) => {
                exchange.status = Some(*status);
                exchange.answer_bytes = body.len();
                let mut answer = Response::new(whole(Bytes::from_static(body.as_bytes())));
                *answer.status_mut() = StatusCode::from_u16(*status).unwrap_or_default();
                if let Some((name, value)) = *header {
                    answer.headers_mut().insert(name, HeaderValue::from_static(value));
                }
                return Ok(answer);
            }
            _ => {}
        }
        let (mut head, body) = self.forward(request).await?.into_parts();
        if matches!(fault, Some(Fault::LoseAnswer)) {
            return Err(closed());
        }
        if let Some(Fault::Line { bytes_per_second, .. }) = &fault {
            let bytes = u32::try_from(body.len()).unwrap_or(u32::MAX);
            tokio::time::sleep(Duration::from_secs(1) * bytes / *bytes_per_second).await;
        }
        exchange.status = Some(head.status.as_u16());
        exchange.answer_bytes = body.len();
        // The body is passed on whole, so its length is known now whatever the server said.
        if head.headers.remove(TRANSFER_ENCODING).is_some() {
            head.headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        }
        let body = match fault {
            Some(Fault::Whole(body)) => {
                (head.status, exchange.status) = (StatusCode::OK, Some(200));
                head.headers.remove(CONTENT_RANGE);
                exchange.answer_bytes = body.len();
                head.headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
                whole(body)
            }
            Some(Fault::Lengthen(more)) => {
                let body = [&body[..], &vec![b'x'; more][..]].concat();
                exchange.answer_bytes = body.len();
                head.headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
                whole(body.into())
            }
            Some(Fault::Truncate(bytes)) if bytes < body.len() => {
                exchange.answer_bytes = bytes;
                BrokenOff(Some(body.slice(..bytes))).boxed()
            }
            Some(Fault::Flip(at)) if at < body.len() => {
                let mut bytes = body.to_vec();
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1;
                }
                whole(bytes.into())
            }
            _ => whole(body),
        };
        Ok(Response::from_parts(head, body))
    }

    async fn forward(&self, request: Request<Full<Bytes>>) -> Result<Response<Bytes>, std::io::Error> {
        let stream = TcpStream::connect(self.upstream).await?;
        let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = handshake.map_err(|_| closed())?;
        tokio::spawn(connection);
        let (head, body) = sender.send_request(request).await.map_err(|_| closed())?.into_parts();
        let body = body.collect().await.map_err(|_| closed())?.to_bytes();
        Ok(Response::from_parts(head, body))
    }

    fn fault_for(&self, exchange: &Exchange) -> Option<Fault> {
        let mut rules = lock(&self.rules);
        let matching = rules.iter_mut().filter(|rule| {
            rule.times > 0
                && rule.method.is_none_or(|method| method == exchange.method)
                && exchange.path.contains(&rule.path)
        });
        for rule in matching {
            if rule.after > 0 {
                rule.after -= 1;
            } else {
                rule.times -= 1;
                return Some(rule.fault.clone());
            }
        }
        None
    }
}

fn whole(bytes: Bytes) -> Body {
    Full::new(bytes).map_err(|never: Infallible| match never {}).boxed()
}

/// A body that yields some bytes and then an error, upon which hyper closes the connection.
struct BrokenOff(Option<Bytes>);

impl hyper::body::Body for BrokenOff {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        match self.0.take() {
            Some(bytes) if !bytes.is_empty() => {
                context.waker().wake_by_ref();
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            _ => Poll::Ready(Some(Err(closed()))),
        }
    }
}

/// Locks, whatever a test that failed elsewhere left behind.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
