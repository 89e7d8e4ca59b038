//! The local HTTP server.

mod clock;
pub(crate) mod connections;
pub(crate) mod systemd;

use std::convert::Infallible;
use std::error::Error;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{HttpService, service_fn};
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};

use crate::exchange::Arrival;
use crate::observe::metrics::Closed;
use crate::served::limits::{MAX_HEAD_BYTES, MAX_HEADERS};
use crate::web::{App, Payload};
use clock::{Clock, STEP, TickedTimer};
use connections::{Connections, Limits, Place, Watched};

/// How long a client may take to send its headers, and how long an idle connection is kept.
const HEADER_DEADLINE: Duration = Duration::from_secs(15);

/// After so many steps of the clock connections are reminded to look at it: every second.
const STEPS_PER_BEAT: u32 = 10;

/// How long answers under way may take after the stop was asked for.
pub(super) const CLOSING_DEADLINE: Duration = Duration::from_secs(10);

/// Serves `app` on `listener` until `stop` resolves, then lets answers under way finish.
pub(crate) async fn serve(
    listener: TcpListener,
    app: Arc<App>,
    limits: Limits,
    stop: impl Future<Output = ()>,
) {
    let clock = Arc::new(Clock::new());
    let beat = watch::Sender::new(Beat::On);
    let ticking = tokio::spawn(keep_time(Arc::clone(&clock), beat.clone()));
    let connections = Connections::new(limits, Arc::clone(&clock), app.core.metrics.clone());
    let mut server = http1::Builder::new();
    server.timer(TickedTimer(Arc::clone(&clock))).header_read_timeout(HEADER_DEADLINE);
    server.max_headers(MAX_HEADERS).max_buf_size(MAX_HEAD_BYTES);
    // A client that half-closes still expects its response. It cannot be told from one that disconnected, so a
    // disconnected client's call also runs to completion; calls are short, and their time is limited. It also means
    // that a connection which is being answered is not read from: one that is read from waits for its client.
    server.half_close(true);
    let mut stop = pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => accepted,
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
        let placed = tokio::select! {
            () = &mut stop => break,
            placed = connections.place(client) => placed,
        };
        let Some((place, leave)) = placed else { continue };
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
        let stream = Watched::new(stream, Arc::clone(&place.progress), Arc::clone(&clock));
        let connection = server.serve_connection(stream, service);
        let held = Held { place, leave, beat: beat.subscribe(), clock: Arc::clone(&clock) };
        let connections = Arc::clone(&connections);
        tokio::spawn(async move {
            match held.run(connection, &asked).await {
                Ok(None) => {}
                Ok(Some(why)) => connections.count(why),
                // What goes wrong on one connection is its client's affair.
                Err(error) => tracing::debug!(detail = %error, "a connection ended early"),
            }
        });
    }
    drop(listener);
    ticking.abort();
    beat.send_replace(Beat::Last);
    if tokio::time::timeout(CLOSING_DEADLINE, connections.ended()).await.is_err() {
        tracing::warn!("some answers were still under way when the server stopped");
    }
}

/// What connections are told, every second and at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beat {
    On,
    /// The server stops.
    Last,
}

async fn keep_time(clock: Arc<Clock>, beat: watch::Sender<Beat>) {
    let mut steps = tokio::time::interval(STEP);
    loop {
        for _ in 0..STEPS_PER_BEAT {
            steps.tick().await;
            clock.tick();
        }
        // Only a reminder: what was said last still holds.
        beat.send_modify(|_| ());
    }
}

/// A connection, as long as it is held.
struct Held {
    place: Place,
    leave: oneshot::Receiver<()>,
    beat: watch::Receiver<Beat>,
    clock: Arc<Clock>,
}

impl Held {
    /// Runs a connection. It looks at the clock at every beat, and ends with the answer under way after the last. Returns
    /// why, where it was closed before its time.
    ///
    /// `asked` tells whether anything was ever asked on it. Hyper would wait for the rest of a first head that has begun,
    /// and hold up the end for somebody to whom nothing is owed.
    async fn run<S>(
        mut self,
        connection: http1::Connection<Watched, S>,
        asked: &AtomicBool,
    ) -> hyper::Result<Option<Closed>>
    where
        S: HttpService<Incoming, ResBody = Payload>,
        S::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let mut connection = pin!(connection);
        let (mut stopping, mut told) = (false, false);
        loop {
            tokio::select! {
                biased;
                ended = &mut connection => return ended.map(|()| told.then_some(Closed::Displaced)),
                heard = self.beat.changed(), if !stopping => {
                    if self.place.progress.is_stalled(&self.clock) {
                        return Ok(Some(Closed::Stalled));
                    }
                    if told && self.place.progress.is_waiting() {
                        return Ok(Some(Closed::Displaced));
                    }
                    if heard.is_err() || *self.beat.borrow() == Beat::Last {
                        if !asked.load(Ordering::Relaxed) {
                            return Ok(None);
                        }
                        stopping = true;
                        connection.as_mut().graceful_shutdown();
                    }
                }
                _ = &mut self.leave, if !told => {
                    if self.place.progress.is_waiting() {
                        return Ok(Some(Closed::Displaced));
                    }
                    // Its request came a moment before. The answer is still owed, unless it is now waited for.
                    told = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
    }
}

/// Returns what resolves when the process is asked to stop: Ctrl-C or SIGTERM; on Windows Ctrl-C, Ctrl-Break, the end of
/// the console, of the session or of the machine. From the call on, not from when it is first waited for, a signal no
/// longer ends the process by itself.
pub fn stop_requested() -> impl Future<Output = ()> {
    let mut signals = stop_signals();
    std::future::poll_fn(move |context| {
        // Not `any`, which would leave out the rest: each must know whom to wake.
        let heard = signals.iter_mut().filter_map(|signal| signal(context).is_ready().then_some(())).count();
        if heard > 0 { Poll::Ready(()) } else { Poll::Pending }
    })
}

/// Waits for one signal.
type StopSignal = Box<dyn FnMut(&mut Context<'_>) -> Poll<Option<()>> + Send>;

#[cfg(unix)]
fn stop_signals() -> Vec<StopSignal> {
    use tokio::signal::unix::{SignalKind, signal};
    let heard = |kind| {
        let mut signal = signal(kind).ok()?;
        Some(Box::new(move |context: &mut Context<'_>| signal.poll_recv(context)) as StopSignal)
    };
    [SignalKind::interrupt(), SignalKind::terminate()].into_iter().filter_map(heard).collect()
}

#[cfg(windows)]
fn stop_signals() -> Vec<StopSignal> {
    use tokio::signal::windows;
    macro_rules! heard {
        ($($name:ident),*) => {
            [$(windows::$name().ok().map(|mut signal| {
                Box::new(move |context: &mut Context<'_>| signal.poll_recv(context)) as StopSignal
            })),*]
        };
    }
    // The system ends the process a few seconds after one of the last three was heard.
    heard!(ctrl_c, ctrl_break, ctrl_close, ctrl_logoff, ctrl_shutdown).into_iter().flatten().collect()
}

/// Tells whether only this machine can reach `address`.
#[must_use]
pub fn is_local(address: SocketAddr) -> bool {
    address.ip().is_loopback()
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;
    use tokio::time::timeout;

    use super::*;
    use crate::web::access::Access;

    const LONG: Duration = Duration::from_secs(10);

    /// Serves nothing with three places; returns the address.
    async fn serve_three() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let access = Access { loopback: true, ..Access::default() };
        let app = Arc::new(App::new(Arc::new(crate::app::state_of(None, 0, 0, true)), access, None));
        let limits = Limits { together: 3, each: 3 };
        tokio::spawn(serve(listener, app, limits, std::future::pending()));
        address
    }

    async fn ask(connection: &mut TcpStream) -> bool {
        connection.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
        let mut status = [0; 12];
        let answered = timeout(LONG, connection.read_exact(&mut status)).await;
        answered.is_ok_and(|read| read.is_ok() && status == *b"HTTP/1.1 200")
    }

    async fn is_closed(connection: &mut TcpStream) -> bool {
        let mut rest = Vec::new();
        timeout(LONG, connection.read_to_end(&mut rest)).await.is_ok()
    }

    #[tokio::test]
    async fn a_newcomer_takes_the_place_of_a_connection_that_does_nothing() {
        let address = serve_three().await;
        let mut silent = Vec::new();
        for _ in 0..3 {
            silent.push(TcpStream::connect(address).await.unwrap());
        }
        let mut newcomer = TcpStream::connect(address).await.unwrap();
        assert!(ask(&mut newcomer).await, "at once, not when another ends");
        assert!(is_closed(silent.first_mut().unwrap()).await, "the oldest of those that did nothing");
        assert!(ask(silent.last_mut().unwrap()).await, "the others stay");
    }
}
