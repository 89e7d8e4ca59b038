//! The time to within a [`STEP`], without asking the system.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};

/// How far the clock may be behind.
pub(super) const STEP: Duration = Duration::from_millis(100);

/// A clock that somebody has to [`tick`](Self::tick).
#[derive(Debug)]
pub(super) struct Clock {
    started: Instant,
    steps: AtomicU32,
}

impl Clock {
    pub(super) fn new() -> Self {
        Self { started: Instant::now(), steps: AtomicU32::new(0) }
    }

    /// Asks the system.
    pub(super) fn tick(&self) {
        let steps = self.started.elapsed().as_millis() / STEP.as_millis();
        self.steps.store(u32::try_from(steps).unwrap_or(u32::MAX), Ordering::Relaxed);
    }

    /// Returns how many steps have passed.
    pub(super) fn step(&self) -> u32 {
        self.steps.load(Ordering::Relaxed)
    }

    fn now(&self) -> Instant {
        self.started + STEP * self.step()
    }

    #[cfg(test)]
    pub(super) fn set(&self, step: u32) {
        self.steps.store(step, Ordering::Relaxed);
    }
}

/// Deadlines that are looked at, but wake nobody; the ticks do.
///
/// Hyper sets one for the headers of every request, and takes it back a moment later. To put each into tokio's timer and
/// out again was a good part of what a small answer cost.
#[derive(Debug)]
pub(super) struct TickedTimer(pub(super) Arc<Clock>);

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
