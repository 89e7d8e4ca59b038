//! One owed answer: how many are worked on at a time, for how long, and what becomes of a panic.

pub(crate) mod drill;

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use tokio::sync::Semaphore;

use crate::deadline::within;
use crate::desk::drill::Drill;
use crate::fault::ToolError;

/// When to come back after finding the queue full. Calls take milliseconds.
const RETRY_AFTER_SECONDS: u64 = 1;

/// How many answers are worked on at a time, unless configured otherwise.
pub(crate) const PLACES: usize = 64;

/// How many wait.
pub(crate) const MOST_WAITING: usize = 256;

/// How long one may take, in milliseconds.
pub(crate) const TIME_LIMIT_MS: u64 = 30_000;

/// The limits under which answers are worked on.
#[derive(Debug)]
pub(crate) struct Desk {
    places: Semaphore,
    waiting: AtomicUsize,
    most_waiting: usize,
    capacity: usize,
    time_limit: Duration,
    drill: Drill,
}

impl Default for Desk {
    fn default() -> Self {
        Self::new(PLACES, MOST_WAITING, Duration::from_millis(TIME_LIMIT_MS), Drill::Off)
    }
}

/// How much there is to do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    /// Answers that are worked on.
    pub(crate) running: usize,
    /// Answers that wait for their turn.
    pub(crate) waiting: usize,
}

/// What an answer needs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wants {
    /// Whether it takes a place: what reads the archive does, what only copies a prepared list does not.
    pub(crate) place: bool,
    /// A shorter time limit than the usual one.
    pub(crate) time_limit: Option<Duration>,
}

impl Wants {
    /// A place, for the usual time.
    pub(crate) const PLACE: Self = Self { place: true, time_limit: None };

    /// The same, but for no longer than until `end`.
    fn until(self, end: Instant) -> Self {
        let left = end.saturating_duration_since(Instant::now());
        Self { time_limit: Some(self.time_limit.map_or(left, |limit| limit.min(left))), ..self }
    }
}

impl Desk {
    /// Lets `places` answers be worked on at a time and `most_waiting` wait for their turn, each for `time_limit` in all.
    pub(crate) fn new(places: usize, most_waiting: usize, time_limit: Duration, drill: Drill) -> Self {
        let places = places.clamp(1, Semaphore::MAX_PERMITS);
        let capacity = places.saturating_add(most_waiting);
        let places = Semaphore::new(places);
        Self { places, waiting: AtomicUsize::new(0), most_waiting, capacity, time_limit, drill }
    }

    /// Returns how much there is to do.
    pub(crate) fn load(&self) -> Load {
        let places = self.capacity.saturating_sub(self.most_waiting);
        let running = places.saturating_sub(self.places.available_permits());
        Load { running, waiting: self.waiting.load(Ordering::Relaxed) }
    }

    /// Returns what is practised.
    #[cfg(feature = "drills")]
    pub(crate) fn drill(&self) -> Drill {
        self.drill
    }

    /// Returns how long an answer may take.
    pub(crate) fn time_limit(&self) -> Duration {
        self.time_limit
    }

    /// Returns how long an answer may take that has such wishes.
    pub(crate) fn limit(&self, wants: Wants) -> Duration {
        wants.time_limit.map_or(self.time_limit, |asked| asked.min(self.time_limit))
    }

    /// Returns how many answers can be under way, those that wait included.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Does `work` in its place and time, which is over at `end` if there is one. A panic ends this answer and no other. Dropping the future cancels the work.
    pub(crate) async fn run<T, E: From<ToolError>>(
        &self,
        wants: Wants,
        end: Option<Instant>,
        work: Pin<&mut (impl Future<Output = Result<T, E>> + Send)>,
    ) -> Result<T, E> {
        if !wants.place {
            return fenced(work).await;
        }
        let wants = end.map_or(wants, |end| wants.until(end));
        let limit = self.limit(wants);
        let Ok(_place) = self.places.try_acquire() else {
            return Box::pin(self.run_in_turn(limit, work)).await;
        };
        if !self.drill.befalls_calls() {
            return settled(within(limit, AssertUnwindSafe(work).catch_unwind()).await);
        }
        Box::pin(self.practise(limit, work)).await
    }

    /// Waits for a place, unless too many wait already.
    async fn run_in_turn<T, E: From<ToolError>>(
        &self,
        limit: Duration,
        work: Pin<&mut (impl Future<Output = Result<T, E>> + Send)>,
    ) -> Result<T, E> {
        let Some(ticket) = Ticket::take(&self.waiting, self.most_waiting) else {
            return Err(ToolError::RateLimited { retry_after_seconds: RETRY_AFTER_SECONDS }.into());
        };
        let turn = async {
            // The semaphore is never closed.
            let place = self.places.acquire().await;
            drop(ticket);
            let done = self.practise(limit, work).await;
            drop(place);
            done
        };
        // Waiting counts, too.
        within(limit, std::pin::pin!(turn)).await.unwrap_or_else(|| Err(ToolError::Timeout.into()))
    }

    /// Does to the work what is practised.
    async fn practise<T, E: From<ToolError>>(
        &self,
        limit: Duration,
        work: Pin<&mut (impl Future<Output = Result<T, E>> + Send)>,
    ) -> Result<T, E> {
        let practised = async {
            self.drill.practise().await?;
            work.await
        };
        settled(within(limit, Box::pin(AssertUnwindSafe(practised).catch_unwind())).await)
    }
}

/// Returns the outcome of work: its own, a panic, or a timeout.
fn settled<T, E: From<ToolError>>(done: Option<std::thread::Result<Result<T, E>>>) -> Result<T, E> {
    match done {
        Some(Ok(done)) => done,
        Some(Err(_)) => Err(ToolError::Panicked.into()),
        None => Err(ToolError::Timeout.into()),
    }
}

/// Does `work`, which never waits, behind the panic fence.
async fn fenced<T, E: From<ToolError>>(
    work: Pin<&mut (impl Future<Output = Result<T, E>> + Send)>,
) -> Result<T, E> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| Err(ToolError::Panicked.into()))
}

/// A place in the queue, given back when dropped.
#[derive(Debug)]
struct Ticket<'a>(&'a AtomicUsize);

impl<'a> Ticket<'a> {
    fn take(waiting: &'a AtomicUsize, most: usize) -> Option<Self> {
        let ticket = Self(waiting);
        (waiting.fetch_add(1, Ordering::Relaxed) < most).then_some(ticket)
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_turns_away_and_keeps_count() {
        let waiting = AtomicUsize::new(0);
        let first = Ticket::take(&waiting, 1);
        assert!(first.is_some());
        assert!(Ticket::take(&waiting, 1).is_none());
        drop(first);
        assert!(Ticket::take(&waiting, 1).is_some());
        assert_eq!(waiting.load(Ordering::Relaxed), 0);
    }
}
