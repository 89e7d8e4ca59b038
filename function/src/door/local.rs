//! The local HTTP server.

use std::convert::Infallible;
use std::error::Error;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::body::Incoming;
use hyper::rt::{Sleep, Timer};
use hyper::server::conn::http1;
use hyper::service::{HttpService, service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

use crate::exchange::Arrival;
use crate::served::limits::{MAX_HEAD_BYTES, MAX_HEADERS};
use crate::web::{App, Payload};

/// How long a client may take to send its headers: 14 to 15 seconds, as the clock it is counted from is up to a
/// [`TICK`] behind.
const HEADER_DEADLINE: Duration = Duration::from_secs(15);

/// How often a connection is reminded to look at the clock.
const TICK: Duration = Duration::from_secs(1);

/// How long answers under way may take after the stop was asked for.
const CLOSING_DEADLINE: Duration = Duration::from_secs(10);

/// Serves `app` on `listener` until `stop` resolves, then lets answers under way finish. At most `most_connections`
/// are held at a time.
pub(crate) async fn serve(
    listener: TcpListener,
    app: Arc<App>,
    most_connections: u32,
    stop: impl Future<Output = ()>,
) {
    let places = Arc::new(Semaphore::new(most_connections as usize));
    let clock = Arc::new(Clock::new());
    let beat = watch::Sender::new(Beat::On);
    let mut server = http1::Builder::new();
    server.timer(TickedTimer(Arc::clone(&clock))).header_read_timeout(HEADER_DEADLINE);
    server.max_headers(MAX_HEADERS).max_buf_size(MAX_HEAD_BYTES);
    // A client that half-closes still expects its response. It cannot be told from one that disconnected, so a
    // disconnected client's call also runs to completion; calls are short, and their time is limited.
    server.half_close(true);
    let mut stop = pin!(stop);
    let mut ticks = tokio::time::interval(TICK);
    loop {
        let accepted = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (listener.accept().await, place)
        };
        let (accepted, place) = tokio::select! {
            () = &mut stop => break,
            _ = ticks.tick() => {
                clock.tick();
                beat.send_replace(Beat::On);
                continue;
            }
            accepted = accepted => accepted,
        };
        let (stream, client) = match accepted {
            Ok((stream, client)) => (stream, client.ip()),
            Err(error) => {
                // Out of descriptors, most likely: wait for some to come free instead of spinning.
                tracing::warn!(detail = %error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        // Answers are written whole; waiting for more would only delay them.
        let _ = stream.set_nodelay(true);
        let app = Arc::clone(&app);
        let asked = Arc::new(AtomicBool::new(false));
        let asks = Arc::clone(&asked);
        let service = service_fn(move |request: http::Request<Incoming>| {
            asks.store(true, Ordering::Relaxed);
            let arrival = Arrival { client: Some(client), ..Arrival::default() };
            let app = Arc::clone(&app);
            async move { Ok::<_, Infallible>(app.answer(arrival, request).await) }
        });
        let connection = server.serve_connection(TokioIo::new(stream), service);
        let beat = beat.subscribe();
        tokio::spawn(async move {
            // What goes wrong on one connection is its client's affair.
            if let Err(error) = run(connection, &asked, beat).await {
                tracing::debug!(detail = %error, "a connection ended early");
            }
            drop(place);
        });
    }
    drop(listener);
    beat.send_replace(Beat::Last);
    // When every place is free again, every connection has ended.
    if tokio::time::timeout(CLOSING_DEADLINE, places.acquire_many(most_connections)).await.is_err() {
        tracing::warn!("some answers were still under way when the server stopped");
    }
}

/// What connections are told, every [`TICK`] and at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beat {
    On,
    /// The server stops.
    Last,
}

/// Runs a connection. It looks at the clock at every beat, and ends with the answer under way after the last.
///
/// `asked` tells whether anything was ever asked on it. Hyper would wait for the rest of a first head that has begun,
/// and hold up the end for somebody to whom nothing is owed.
async fn run<S>(
    connection: http1::Connection<TokioIo<TcpStream>, S>,
    asked: &AtomicBool,
    mut beat: watch::Receiver<Beat>,
) -> hyper::Result<()>
where
    S: HttpService<Incoming, ResBody = Payload>,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let mut connection = pin!(connection);
    let mut stopping = false;
    loop {
        tokio::select! {
            biased;
            ended = &mut connection => return ended,
            heard = beat.changed(), if !stopping => {
                if heard.is_err() || *beat.borrow() == Beat::Last {
                    if !asked.load(Ordering::Relaxed) {
                        return Ok(());
                    }
                    stopping = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
    }
}

/// The time to within a [`TICK`], without asking the system.
#[derive(Debug)]
struct Clock {
    started: Instant,
    ticks: AtomicU32,
}

impl Clock {
    fn new() -> Self {
        Self { started: Instant::now(), ticks: AtomicU32::new(0) }
    }

    fn tick(&self) {
        let ticks = self.started.elapsed().as_secs() / TICK.as_secs();
        self.ticks.store(u32::try_from(ticks).unwrap_or(u32::MAX), Ordering::Relaxed);
    }

    fn now(&self) -> Instant {
        self.started + TICK * self.ticks.load(Ordering::Relaxed)
    }
}

/// Deadlines that are looked at, but wake nobody; the ticks do.
///
/// Hyper sets one for the headers of every request, and takes it back a moment later. To put each into tokio's timer and
/// out again was a good part of what a small answer cost.
#[derive(Debug)]
struct TickedTimer(Arc<Clock>);

#[derive(Debug)]
struct TickedSleep {
    clock: Arc<Clock>,
    deadline: Instant,
}

impl Timer for TickedTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(TickedSleep { clock: Arc::clone(&self.0), deadline })
    }

    fn now(&self) -> Instant {
        self.0.now()
    }
}

impl Sleep for TickedSleep {}

impl Future for TickedSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.clock.now() < self.deadline { Poll::Pending } else { Poll::Ready(()) }
    }
}

/// Returns what resolves when the process is asked to stop: Ctrl-C or SIGTERM. From the call on, not from when it is
/// first waited for, a signal no longer ends the process by itself.
pub fn stop_requested() -> impl Future<Output = ()> {
    #[cfg(unix)]
    let signals = {
        use tokio::signal::unix::{SignalKind, signal};
        signal(SignalKind::interrupt()).ok().zip(signal(SignalKind::terminate()).ok())
    };
    async move {
        #[cfg(unix)]
        if let Some((mut interrupt, mut terminate)) = signals {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
        let _ = tokio::signal::ctrl_c().await;
    }
}

/// Tells whether only this machine can reach `address`.
#[must_use]
pub fn is_local(address: SocketAddr) -> bool {
    address.ip().is_loopback()
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::time::timeout;

    use super::*;
    use crate::web::access::Access;

    /// Asks and waits for the beginning of an answer.
    async fn is_answered(connection: &mut TcpStream, patience: Duration) -> bool {
        let mut status = [0; 12];
        let answered = timeout(patience, connection.read_exact(&mut status)).await;
        answered.is_ok_and(|read| read.is_ok() && status == *b"HTTP/1.1 200")
    }

    #[tokio::test]
    async fn a_connection_too_many_waits_until_another_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let access = Access { loopback: true, ..Access::default() };
        let app = Arc::new(App::new(Arc::new(crate::app::state_of(None, 0, 0, true)), access, None));
        let serving = tokio::spawn(serve(listener, app, 3, std::future::pending()));
        let (a_moment, long) = (Duration::from_millis(300), Duration::from_secs(10));
        let connect = async || TcpStream::connect(address).await.unwrap();
        let mut silent = vec![connect().await, connect().await];
        for (others, patience, expected) in [(2, long, true), (3, a_moment, false)] {
            let mut asking = connect().await;
            asking.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
            assert_eq!(is_answered(&mut asking, patience).await, expected, "beside {others}");
            if expected {
                silent.push(asking);
            } else {
                drop(silent.pop());
                assert!(is_answered(&mut asking, long).await, "its turn has come");
            }
        }
        serving.abort();
    }
}
