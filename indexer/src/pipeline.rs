//! Work spread over threads, results in order, memory bounded.
//!
//! Three bounds hold at once: no job starts more than a window ahead of the result consumed last, what jobs hold until
//! they are consumed stays within a number of bytes, and what they hold while decoding within a budget.

use std::collections::{BTreeMap, VecDeque};
use std::iter::{Fuse, Peekable};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;

/// Runs `work` on every job, on several threads, and hands the results to `consume` in the order of the jobs.
///
/// `jobs` is drawn from under a lock, one job at a time, and may itself do a little I/O. At most `window` jobs are
/// under way or waiting to be consumed. `consume` runs on the calling thread and may stop the whole thing.
pub fn run_ordered<Jobs, Work, Consume, Job, Outcome>(
    threads: NonZeroUsize,
    window: NonZeroUsize,
    jobs: Jobs,
    work: Work,
    consume: Consume,
) where
    Jobs: Iterator<Item = Job> + Send,
    Work: Fn(Job) -> Outcome + Sync,
    Consume: FnMut(Outcome) -> ControlFlow<()>,
    Job: Send,
    Outcome: Send,
{
    run_weighed(threads, window, 0, jobs.map(|job| (job, 0)), work, consume);
}

/// As [`run_ordered`], of jobs with the bytes that each holds until its result is consumed: all that are under way or
/// waiting hold no more than `most_bytes`. What is larger runs while nothing else holds any.
///
/// Jobs get their bytes in their order, so that the one all others wait for always has its own.
pub fn run_weighed<Jobs, Work, Consume, Job, Outcome>(
    threads: NonZeroUsize,
    window: NonZeroUsize,
    most_bytes: u64,
    jobs: Jobs,
    work: Work,
    mut consume: Consume,
) where
    Jobs: Iterator<Item = (Job, u64)> + Send,
    Work: Fn(Job) -> Outcome + Sync,
    Consume: FnMut(Outcome) -> ControlFlow<()>,
    Job: Send,
    Outcome: Send,
{
    let queue = Queue {
        state: Mutex::new(QueueState {
            jobs: jobs.fuse().peekable(),
            drawn: 0,
            held: VecDeque::new(),
            held_bytes: 0,
            stopped: false,
        }),
        changed: Condvar::new(),
        window: window.get(),
        most_bytes,
    };
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..threads.get() {
            let sender = sender.clone();
            let (queue, work) = (&queue, &work);
            scope.spawn(move || {
                // Without it a panic in one thread would leave the others waiting for ever.
                let _stop = StopWhenDropped(queue, OnlyIf::Panicking);
                while let Some((position, job)) = queue.draw() {
                    if sender.send((position, work(job))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let _stop = StopWhenDropped(&queue, OnlyIf::Always);
        let mut waiting = BTreeMap::new();
        let mut next = 0_usize;
        for (position, outcome) in receiver {
            waiting.insert(position, outcome);
            while let Some(outcome) = waiting.remove(&next) {
                if consume(outcome).is_break() {
                    return;
                }
                next += 1;
                queue.consumed();
            }
        }
    });
}

struct Queue<Jobs: Iterator> {
    state: Mutex<QueueState<Jobs>>,
    changed: Condvar,
    window: usize,
    most_bytes: u64,
}

struct QueueState<Jobs: Iterator> {
    jobs: Peekable<Fuse<Jobs>>,
    drawn: usize,
    /// The bytes of each job that is drawn and not yet consumed.
    held: VecDeque<u64>,
    held_bytes: u64,
    stopped: bool,
}

impl<Jobs: Iterator<Item = (Job, u64)>, Job> Queue<Jobs> {
    /// Returns the next job and its position, once there is room for it; `None` when all are drawn.
    fn draw(&self) -> Option<(usize, Job)> {
        let mut state = lock(&self.state);
        loop {
            if state.stopped {
                return None;
            }
            if state.held.len() < self.window {
                let bytes = state.jobs.peek()?.1;
                if state.held_bytes == 0 || state.held_bytes.saturating_add(bytes) <= self.most_bytes {
                    break;
                }
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let (job, bytes) = state.jobs.next()?;
        state.held.push_back(bytes);
        state.held_bytes = state.held_bytes.saturating_add(bytes);
        state.drawn += 1;
        Some((state.drawn - 1, job))
    }
}

impl<Jobs: Iterator> Queue<Jobs> {
    fn consumed(&self) {
        let mut state = lock(&self.state);
        let bytes = state.held.pop_front().unwrap_or(0);
        state.held_bytes = state.held_bytes.saturating_sub(bytes);
        drop(state);
        self.changed.notify_all();
    }
}

enum OnlyIf {
    Panicking,
    Always,
}

struct StopWhenDropped<'a, Jobs: Iterator>(&'a Queue<Jobs>, OnlyIf);

impl<Jobs: Iterator> Drop for StopWhenDropped<'_, Jobs> {
    fn drop(&mut self) {
        if matches!(self.1, OnlyIf::Always) || thread::panicking() {
            lock(&self.0.state).stopped = true;
            self.0.changed.notify_all();
        }
    }
}

/// A number of bytes that jobs share while they decode.
#[derive(Debug)]
pub struct Budget {
    total: u64,
    free: Mutex<u64>,
    freed: Condvar,
}

/// A part of a budget, given back when dropped.
#[derive(Debug)]
pub struct Reservation<'a> {
    budget: &'a Budget,
    bytes: u64,
}

impl Budget {
    /// Makes a budget of so many bytes.
    #[must_use]
    pub fn new(total: u64) -> Self {
        Self { total, free: Mutex::new(total), freed: Condvar::new() }
    }

    /// Waits until `bytes` are free and takes them. What is larger than the whole budget takes all of it and so
    /// runs alone.
    pub fn reserve(&self, bytes: u64) -> Reservation<'_> {
        let bytes = bytes.min(self.total);
        let mut free = lock(&self.free);
        while *free < bytes {
            free = self.freed.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
        *free -= bytes;
        Reservation { budget: self, bytes }
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        *lock(&self.budget.free) += self.bytes;
        self.budget.freed.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn count(number: usize) -> NonZeroUsize {
        NonZeroUsize::new(number).unwrap()
    }

    #[test]
    fn results_come_in_order_and_never_leave_the_window() {
        let (started, consumed) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let mut seen = Vec::new();
        run_ordered(
            count(4),
            count(7),
            0..500_usize,
            |job| {
                started.fetch_max(job + 1, Ordering::SeqCst);
                assert!(job < consumed.load(Ordering::SeqCst) + 7 + 1);
                if job % 13 == 0 {
                    thread::sleep(std::time::Duration::from_millis(1));
                }
                job
            },
            |job| {
                seen.push(job);
                consumed.fetch_add(1, Ordering::SeqCst);
                ControlFlow::Continue(())
            },
        );
        assert!(seen.into_iter().eq(0..500));
    }

    #[test]
    fn jobs_never_hold_more_bytes_than_allowed_and_the_oversized_run_alone() {
        let (held, most, alone) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let bytes_of = |job: usize| if job.is_multiple_of(10) { 1_000 } else { 30 };
        run_weighed(
            count(8),
            count(64),
            100,
            (0..200_usize).map(|job| (job, bytes_of(job) as u64)),
            |job| {
                let now = held.fetch_add(bytes_of(job), Ordering::SeqCst) + bytes_of(job);
                if now >= 1_000 {
                    alone.fetch_add(1, Ordering::SeqCst);
                    assert_eq!(now, 1_000, "job {job} is not alone");
                } else {
                    most.fetch_max(now, Ordering::SeqCst);
                }
                thread::yield_now();
                job
            },
            |job| {
                held.fetch_sub(bytes_of(job), Ordering::SeqCst);
                ControlFlow::Continue(())
            },
        );
        assert!(most.load(Ordering::SeqCst) <= 100, "{most:?}");
        assert_eq!(alone.load(Ordering::SeqCst), 20);
    }

    #[test]
    fn the_consumer_can_stop_everything() {
        let worked = AtomicUsize::new(0);
        let mut consumed = 0;
        run_ordered(
            count(3),
            count(4),
            0..,
            |_: u64| worked.fetch_add(1, Ordering::SeqCst),
            |_| {
                consumed += 1;
                if consumed == 10 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            },
        );
        assert_eq!(consumed, 10);
        assert!(worked.load(Ordering::SeqCst) <= 20);
    }

    #[test]
    fn a_panic_in_a_worker_ends_the_run_instead_of_hanging_it() {
        let result = std::panic::catch_unwind(|| {
            run_ordered(
                count(2),
                count(2),
                0..100,
                |job| assert!(job != 5, "on purpose"),
                |()| ControlFlow::Continue(()),
            );
        });
        assert!(result.is_err());
    }

    #[test]
    fn the_budget_is_never_exceeded_and_the_oversized_run_alone() {
        let (budget, held, most) = (Budget::new(100), AtomicUsize::new(0), AtomicUsize::new(0));
        run_ordered(
            count(8),
            count(64),
            0..200_u64,
            |job| {
                let cost = if job % 10 == 0 { 1_000 } else { 30 };
                let _reservation = budget.reserve(cost);
                let now = held.fetch_add(usize::try_from(cost.min(100)).unwrap(), Ordering::SeqCst);
                most.fetch_max(now + usize::try_from(cost.min(100)).unwrap(), Ordering::SeqCst);
                thread::yield_now();
                held.fetch_sub(usize::try_from(cost.min(100)).unwrap(), Ordering::SeqCst);
            },
            |()| ControlFlow::Continue(()),
        );
        assert!(most.load(Ordering::SeqCst) <= 100);
    }
}
