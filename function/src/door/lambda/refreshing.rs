//! Looking for a newer archive where a process sleeps between requests.
//!
//! A timer would not tick and work begun after an answer would not end, so the look is taken before an answer, by
//! the first request after the pause. That request waits for it only so long: then it is answered from what there
//! is, and the look goes on beside it and the next ones. A deployment that slept for a day thus does not answer
//! its first reader with yesterday's collection.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::Mutex;

use crate::served::state::ArchiveState;

/// How long an answer that could be given at once waits for a newer archive.
const WAIT_WHEN_READY: Duration = Duration::from_secs(1);

/// How long an answer waits when there is no archive at all.
const WAIT_WHEN_EMPTY: Duration = Duration::from_secs(5);

/// The pause between looks while there is no archive.
const PAUSE_WHEN_EMPTY: Duration = Duration::from_secs(1);

pub(super) struct Refreshing {
    state: Arc<ArchiveState>,
    every: Duration,
    /// Held by the look under way; in it, when the last one began. By the wall clock, which goes on while the
    /// process sleeps.
    last: Arc<Mutex<Option<SystemTime>>>,
}

impl Refreshing {
    pub(super) fn new(state: Arc<ArchiveState>, every: Duration) -> Self {
        Self { state, every, last: Arc::default() }
    }

    /// Takes a look if one is due. Of several requests one waits for it, the others are answered at once, unless
    /// there is nothing to answer them from.
    pub(super) async fn before_an_answer(&self) {
        if self.state.current().index().is_some() {
            if let Ok(last) = self.last.try_lock()
                && is_due(*last, self.state.pause(self.every))
            {
                drop(last);
                self.look(WAIT_WHEN_READY).await;
            }
        } else {
            let due = tokio::time::timeout(WAIT_WHEN_EMPTY, self.last.lock()).await;
            // A request that waited for another's look may find the archive now.
            let empty = self.state.current().index().is_none();
            if due.is_ok_and(|last| empty && is_due(*last, PAUSE_WHEN_EMPTY)) {
                self.look(WAIT_WHEN_EMPTY).await;
            }
        }
    }

    /// Takes a look and waits for it at most so long. It goes on by itself afterwards.
    pub(super) async fn look(&self, wait: Duration) {
        let Ok(mut last) = Arc::clone(&self.last).try_lock_owned() else { return };
        let state = Arc::clone(&self.state);
        let looking = tokio::spawn(async move {
            *last = Some(SystemTime::now());
            state.refresh().await;
            drop(last);
        });
        // A look that panicked is like one that failed: the next one is due after the pause.
        let _ = tokio::time::timeout(wait, looking).await;
    }
}

/// Tells whether the pause is over. A clock that was set back ends it too.
fn is_due(last: Option<SystemTime>, pause: Duration) -> bool {
    let passed = last.and_then(|last| last.elapsed().ok());
    passed.is_none_or(|passed| passed >= pause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_due_at_first_after_the_pause_and_when_the_clock_was_set_back() {
        let minute = Duration::from_mins(1);
        assert!(is_due(None, minute));
        assert!(!is_due(Some(SystemTime::now()), minute));
        assert!(is_due(Some(SystemTime::now() - minute), minute));
        assert!(is_due(Some(SystemTime::now() + minute), minute));
    }

    #[tokio::test]
    async fn looks_are_taken_once_in_the_pause() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("none.wakashu");
        let state = crate::app::state_of(Some(missing.to_str().unwrap().parse().unwrap()), 1 << 20, 0, false);
        let refreshing = Refreshing::new(Arc::new(state), Duration::from_mins(1));
        refreshing.before_an_answer().await;
        let first = *refreshing.last.lock().await;
        assert!(first.is_some());
        refreshing.before_an_answer().await;
        assert_eq!(*refreshing.last.lock().await, first);
    }
}
