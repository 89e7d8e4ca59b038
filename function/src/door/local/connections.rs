//! The connections that are held: how many an address may have, and which one goes when another client waits.

use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::clock::{Clock, STEP};
use crate::exchange::rates::network;
use crate::observe::metrics::{Closed, Metrics};

/// How long a client may leave an answer unread.
const STALL_DEADLINE: Duration = Duration::from_secs(15);

/// The server waits for its client to send something.
const READING: u8 = 1;
/// The server waits for its client to read something.
const WRITING: u8 = 2;

/// How many connections are held at a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// All together.
    pub(crate) together: u32,
    /// Those of one address.
    pub(crate) each: u32,
}

/// The connections that are held.
#[derive(Debug)]
pub(super) struct Connections {
    limits: Limits,
    places: Arc<Semaphore>,
    clock: Arc<Clock>,
    metrics: Option<Arc<Metrics>>,
    numbers: AtomicU64,
    /// By number, the oldest first.
    held: Mutex<BTreeMap<u64, Held>>,
}

#[derive(Debug)]
struct Held {
    network: IpAddr,
    progress: Arc<Progress>,
    leave: oneshot::Sender<()>,
}

/// A connection's place, given back when dropped.
#[derive(Debug)]
pub(super) struct Place {
    connections: Arc<Connections>,
    number: u64,
    _permit: OwnedSemaphorePermit,
    pub(super) progress: Arc<Progress>,
}

impl Connections {
    pub(super) fn new(limits: Limits, clock: Arc<Clock>, metrics: Option<Arc<Metrics>>) -> Arc<Self> {
        let places = Arc::new(Semaphore::new(limits.together as usize));
        let (numbers, held) = (AtomicU64::new(0), Mutex::default());
        Arc::new(Self { limits, places, clock, metrics, numbers, held })
    }

    /// Finds a place for a connection from `client`, and what tells it to leave again. Returns `None` where its address
    /// has its share and all of them are being answered.
    ///
    /// A newcomer takes the place of the connection that made its server wait longest: of its own address where that has
    /// its share, of any where all places are taken. It waits only while all are being answered.
    pub(super) async fn place(self: &Arc<Self>, client: IpAddr) -> Option<(Place, oneshot::Receiver<()>)> {
        let network = network(client);
        let has_share = || {
            let held = self.held();
            held.values().filter(|held| held.network == network).count() >= self.limits.each as usize
        };
        if has_share() && !self.displace(|held| held.network == network) {
            self.count(Closed::OverShare);
            return None;
        }
        loop {
            if let Ok(permit) = Arc::clone(&self.places).try_acquire_owned() {
                return Some(self.hold(network, permit));
            }
            self.displace(|_| true);
            let freed = tokio::time::timeout(STEP, Arc::clone(&self.places).acquire_owned()).await;
            if let Ok(Ok(permit)) = freed {
                return Some(self.hold(network, permit));
            }
        }
    }

    /// Waits until every connection has ended.
    pub(super) async fn ended(&self) {
        // The semaphore is never closed.
        let _ = self.places.acquire_many(self.limits.together).await;
    }

    /// Counts a connection that is closed by the server.
    pub(super) fn count(&self, why: Closed) {
        if let Some(metrics) = &self.metrics {
            metrics.connections.closed(why);
        }
    }

    fn hold(
        self: &Arc<Self>,
        network: IpAddr,
        permit: OwnedSemaphorePermit,
    ) -> (Place, oneshot::Receiver<()>) {
        let number = self.numbers.fetch_add(1, Relaxed);
        let progress = Arc::new(Progress::new(&self.clock));
        let (leave, left) = oneshot::channel();
        self.held().insert(number, Held { network, progress: Arc::clone(&progress), leave });
        if let Some(metrics) = &self.metrics {
            metrics.connections.opened();
        }
        (Place { connections: Arc::clone(self), number, _permit: permit, progress }, left)
    }

    /// Tells the connection to leave that waits for its client longest, of those that `may` be told. One that is being
    /// answered is not: that is the server's time, not its client's. Tells whether there was one.
    fn displace(&self, may: impl Fn(&Held) -> bool) -> bool {
        let mut held = self.held();
        let waiting = held.iter().filter(|(_, held)| held.progress.waits() != 0 && may(held));
        let longest = waiting.min_by_key(|(_, held)| held.progress.since.load(Relaxed));
        let Some(number) = longest.map(|(number, _)| *number) else { return false };
        if let Some(held) = held.remove(&number) {
            // One that has just ended needs not be told.
            let _ = held.leave.send(());
        }
        true
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<u64, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.held().remove(&self.number);
        if let Some(metrics) = &self.connections.metrics {
            metrics.connections.ended();
        }
    }
}

/// Whether a connection waits for its client, and since when.
#[derive(Debug)]
pub(super) struct Progress {
    /// What the server waits for: [`READING`], [`WRITING`], or nothing while it works on an answer.
    waits: AtomicU8,
    /// The step of the clock since which it waits.
    since: AtomicU32,
}

impl Progress {
    fn new(clock: &Clock) -> Self {
        Self { waits: AtomicU8::new(READING), since: AtomicU32::new(clock.step()) }
    }

    fn waits(&self) -> u8 {
        self.waits.load(Relaxed)
    }

    /// Tells whether the server waits for its client.
    pub(super) fn is_waiting(&self) -> bool {
        self.waits() != 0
    }

    /// Tells whether the client has left an answer unread for too long.
    pub(super) fn is_stalled(&self, clock: &Clock) -> bool {
        let steps = clock.step().saturating_sub(self.since.load(Relaxed));
        self.waits() & WRITING != 0 && STEP * steps >= STALL_DEADLINE
    }

    /// Notes that the client did what was waited for, or that it is waited for. Only the connection's own task does.
    fn note(&self, clock: &Clock, side: u8, is_done: bool) {
        let before = self.waits();
        let now = if is_done { before & !side } else { before | side };
        if is_done || now != before {
            self.since.store(clock.step(), Relaxed);
        }
        if now != before {
            self.waits.store(now, Relaxed);
        }
    }
}

/// A connection whose progress is noted.
#[derive(Debug)]
pub(super) struct Watched {
    io: TokioIo<TcpStream>,
    progress: Arc<Progress>,
    clock: Arc<Clock>,
}

impl Watched {
    pub(super) fn new(stream: TcpStream, progress: Arc<Progress>, clock: Arc<Clock>) -> Self {
        Self { io: TokioIo::new(stream), progress, clock }
    }
}

impl Read for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.io).poll_read(context, buffer);
        self.progress.note(&self.clock, READING, polled.is_ready());
        polled
    }
}

impl Write for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.io).poll_write(context, bytes);
        self.progress.note(&self.clock, WRITING, polled.is_ready());
        polled
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.io).poll_write_vectored(context, parts);
        self.progress.note(&self.clock, WRITING, polled.is_ready());
        polled
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(last: u8) -> IpAddr {
        [192, 0, 2, last].into()
    }

    fn connections(together: u32, each: u32) -> (Arc<Connections>, Arc<Clock>) {
        let clock = Arc::new(Clock::new());
        (Connections::new(Limits { together, each }, Arc::clone(&clock), None), clock)
    }

    #[tokio::test]
    async fn an_address_with_its_share_takes_places_from_itself_alone() {
        let (connections, clock) = connections(4, 2);
        let mut other = connections.place(client(1)).await.unwrap();
        let mut first = connections.place(client(2)).await.unwrap();
        let mut second = connections.place(client(2)).await.unwrap();
        // The first is being answered, so the second goes, though it is younger.
        first.0.progress.note(&clock, READING, true);
        let mut third = connections.place(client(2)).await.unwrap();
        assert!(second.1.try_recv().is_ok() && first.1.try_recv().is_err() && other.1.try_recv().is_err());
        drop(second);
        third.0.progress.note(&clock, READING, true);
        assert!(connections.place(client(2)).await.is_none(), "all of its share is being answered");
        assert!(third.1.try_recv().is_err());
        assert!(connections.place(client(3)).await.is_some(), "others still come in");
    }

    #[tokio::test]
    async fn a_newcomer_takes_the_place_of_the_one_that_is_waited_for_longest() {
        let (connections, clock) = connections(2, 2);
        let mut old = connections.place(client(1)).await.unwrap();
        let mut new = connections.place(client(2)).await.unwrap();
        clock.set(50);
        old.0.progress.note(&clock, READING, true);
        old.0.progress.note(&clock, READING, false);
        let waiting = tokio::spawn({
            let connections = Arc::clone(&connections);
            async move { connections.place(client(3)).await }
        });
        assert!((&mut new.1).await.is_ok(), "it has not moved since the beginning");
        drop(new);
        assert!(waiting.await.unwrap().is_some());
        assert!(old.1.try_recv().is_err());
    }

    #[test]
    fn who_reads_nothing_of_an_answer_stalls_and_who_sends_nothing_does_not() {
        let clock = Clock::new();
        let progress = Progress::new(&clock);
        clock.set(1_000);
        assert!(!progress.is_stalled(&clock), "heads have a deadline of their own");
        progress.note(&clock, READING, true);
        assert!(!progress.is_waiting(), "it is being answered");
        clock.set(2_000);
        progress.note(&clock, WRITING, false);
        clock.set(2_149);
        progress.note(&clock, WRITING, false);
        assert!(!progress.is_stalled(&clock), "it is waited for since the first try");
        clock.set(2_150);
        assert!(progress.is_stalled(&clock));
        progress.note(&clock, WRITING, true);
        assert!(!progress.is_stalled(&clock));
    }
}
