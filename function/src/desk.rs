//! Calling a tool: the one way, for every door. Who may, how many at a time, for how long.

pub(crate) mod drill;

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::deadline::within;
use crate::desk::drill::Drill;
use crate::fault::ToolError;
use crate::served::snapshot::Snapshot;
use crate::text::Answer;
use crate::tools::arguments::Arguments;
use crate::tools::{Call, Form, Tool, Work};
use crate::web::tokens::Scope;
use wakashu_wire::Members;

/// When to come back after finding the queue full. Calls take milliseconds.
const RETRY_AFTER_SECONDS: u64 = 1;

/// How many calls run at a time, unless configured otherwise.
pub(crate) const PLACES: usize = 64;

/// How many wait.
pub(crate) const MOST_WAITING: usize = 256;

/// How long one may take, in milliseconds.
pub(crate) const TIME_LIMIT_MS: u64 = 30_000;

/// The limits calls run under.
#[derive(Debug)]
pub struct Execution {
    places: Semaphore,
    waiting: AtomicUsize,
    most_waiting: usize,
    time_limit: Duration,
    drill: Drill,
}

impl Default for Execution {
    fn default() -> Self {
        Self::new(PLACES, MOST_WAITING, Duration::from_millis(TIME_LIMIT_MS), Drill::Off)
    }
}

/// Who calls, and what it wants.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) picture_base: Option<&'a str>,
    pub(crate) scope: Scope,
    pub(crate) form: Form,
    /// A shorter time limit than the usual one.
    pub(crate) time_limit: Option<Duration>,
}

impl Execution {
    /// Lets `places` calls run at a time and `most_waiting` wait for their turn, each for `time_limit` in all.
    #[must_use]
    pub fn new(places: usize, most_waiting: usize, time_limit: Duration, drill: Drill) -> Self {
        let places = Semaphore::new(places.clamp(1, Semaphore::MAX_PERMITS));
        Self { places, waiting: AtomicUsize::new(0), most_waiting, time_limit, drill }
    }

    /// Returns what is practised.
    pub(crate) fn drill(&self) -> Drill {
        self.drill
    }

    /// Calls `tool` with `arguments`; it writes its answer into `out`. What a failed call leaves there is the
    /// caller's to take back. Dropping the future cancels the call.
    pub(crate) async fn call(
        &self,
        tool: &'static Tool,
        arguments: &Members<'_>,
        caller: Caller<'_>,
        out: &mut Answer,
    ) -> Result<(), ToolError> {
        if !caller.scope.covers_tool(tool) {
            return Err(ToolError::Authorization);
        }
        if let Some(error) = tool.unavailable(caller.snapshot) {
            return Err(error);
        }
        let arguments = Arguments::parse(tool, arguments)?;
        let Caller { snapshot, picture_base, form, .. } = caller;
        let call = Call { snapshot, arguments: &arguments, picture_base, form };
        let limit = caller.time_limit.map_or(self.time_limit, |asked| asked.min(self.time_limit));
        let Ok(_place) = self.places.try_acquire() else {
            return Box::pin(self.run_in_turn(tool, call, out, limit)).await;
        };
        within(limit, self.start(tool, call, out)).await.unwrap_or(Err(ToolError::Timeout))
    }

    /// Waits for a place, unless too many wait already.
    async fn run_in_turn(
        &self,
        tool: &'static Tool,
        call: Call<'_>,
        out: &mut Answer,
        limit: Duration,
    ) -> Result<(), ToolError> {
        let Some(ticket) = Ticket::take(&self.waiting, self.most_waiting) else {
            return Err(ToolError::RateLimited { retry_after_seconds: RETRY_AFTER_SECONDS });
        };
        let turn = async {
            // The semaphore is never closed.
            let place = self.places.acquire().await;
            drop(ticket);
            let done = self.start(tool, call, out).await;
            drop(place);
            done
        };
        within(limit, pin!(turn)).await.unwrap_or(Err(ToolError::Timeout))
    }

    fn start<'a>(&self, tool: &'static Tool, call: Call<'a>, out: &'a mut Answer) -> Work<'a> {
        match self.drill {
            Drill::Off | Drill::Method => tool.run(call, out),
            drill => Box::pin(async move {
                drill.practise().await?;
                tool.run(call, out).await
            }),
        }
    }
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
