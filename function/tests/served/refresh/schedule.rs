//! Time and chance of a simulated world: one seed decides every delay, every fault and whose turn it is.
//!
//! Not tokio's paused clock: that runs tasks in the order they wake, where any order is possible on real threads;
//! and its feature would have every program of the workspace built twice.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use tokio::runtime::Runtime;

/// Random numbers from a seed (SplitMix64).
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns random numbers of their own, so that what one part draws does not change the others.
    pub(crate) fn branch(&mut self) -> Self {
        Self(self.next())
    }

    /// Returns a number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    /// Says yes in `percent` of all cases.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    /// Returns a delay: mostly short, sometimes none, now and then long.
    pub(crate) fn delay(&mut self) -> u64 {
        let longest = self.pick(&[1, 4, 16, 80, 250]);
        self.below(longest) as u64
    }
}

/// The clock. It stands still while anyone has something to do.
#[derive(Debug, Clone, Default)]
pub(crate) struct Clock(Arc<Mutex<Times>>);

#[derive(Debug, Default)]
struct Times {
    now: u64,
    sleepers: BinaryHeap<Reverse<(u64, u64)>>,
    wakers: std::collections::BTreeMap<u64, Waker>,
    next_sleeper: u64,
}

impl Clock {
    fn times(&self) -> std::sync::MutexGuard<'_, Times> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now(&self) -> u64 {
        self.times().now
    }

    /// Waits for so many ticks.
    pub(crate) async fn sleep(&self, ticks: u64) {
        let until = self.now() + ticks;
        let mut sleeper = None;
        std::future::poll_fn(|context| {
            let mut times = self.times();
            if times.now >= until {
                return Poll::Ready(());
            }
            let id = *sleeper.get_or_insert_with(|| {
                times.next_sleeper += 1;
                let id = times.next_sleeper;
                times.sleepers.push(Reverse((until, id)));
                id
            });
            times.wakers.insert(id, context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Goes on to the next moment someone waits for; false if nobody does.
    fn advance(&self) -> bool {
        let mut times = self.times();
        let Some(Reverse((until, id))) = times.sleepers.pop() else { return false };
        times.now = times.now.max(until);
        let waker = times.wakers.remove(&id);
        drop(times);
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }
}

struct Turn {
    task: usize,
    ready: Arc<Mutex<Vec<usize>>>,
}

impl Wake for Turn {
    fn wake(self: Arc<Self>) {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if !ready.contains(&self.task) {
            ready.push(self.task);
        }
    }
}

/// Something that is done in a world, next to other things.
pub(crate) type Task<'a> = Pin<Box<dyn Future<Output = Result<(), String>> + 'a>>;

/// Runs tasks to their end, one step of a randomly chosen one at a time, and now and then those that the server has spawned.
/// Ends early with the first violation.
pub(crate) fn run(
    mut tasks: Vec<Task<'_>>,
    spawned: &Runtime,
    clock: &Clock,
    random: &mut Random,
) -> Result<(), String> {
    let ready = Arc::new(Mutex::new((0..tasks.len()).collect::<Vec<_>>()));
    let wakers: Vec<Waker> =
        (0..tasks.len()).map(|task| Arc::new(Turn { task, ready: Arc::clone(&ready) }).into()).collect();
    let mut open = tasks.len();
    let mut done = vec![false; tasks.len()];
    while open > 0 {
        let nothing_else = ready.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
        if spawned.metrics().num_alive_tasks() > 0 && (nothing_else || random.chance(50)) {
            spawned.block_on(tokio::task::yield_now());
        }
        let next = {
            let mut ready = ready.lock().unwrap_or_else(PoisonError::into_inner);
            if ready.is_empty() {
                None
            } else {
                Some(random.below(ready.len())).map(|at| ready.swap_remove(at))
            }
        };
        let Some(task) = next else {
            if clock.advance() {
                continue;
            }
            return Err(format!("{open} tasks wait for each other, or for nobody"));
        };
        if done[task] {
            continue;
        }
        if let Poll::Ready(outcome) = tasks[task].as_mut().poll(&mut Context::from_waker(&wakers[task])) {
            outcome?;
            done[task] = true;
            open -= 1;
        }
    }
    Ok(())
}
