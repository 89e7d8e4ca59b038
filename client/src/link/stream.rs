//! A link whose messages share one stream each way: lines of a program, frames of a WebSocket.
//!
//! Requests go out under ids of our own, as the host's may repeat, and answers come back under theirs. A stream that
//! ended is opened again by the next request, later after each failure, and a legacy server on it is greeted again.
//! Requests under way then fail; whether they are repeated is for [`crate::policy`] to say.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout};
use wakashu_wire::envelope::{Kind, Scan};

use super::http::{cancellation, initialized};
use super::{Answer, BoxFuture, Call, Inbox, Link, MAX_MESSAGE_BYTES, timed_out};
use crate::chain::Chain;
use crate::error::{Error, ErrorCode, Result};

/// The wait before a stream that ended is opened again; doubled with every failure.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A stream that lived this long is not taken for one that fails at its start.
const HEALTHY_AFTER: Duration = Duration::from_secs(30);
/// How long a stream may take to end: a program is asked, asked again and then killed.
const LONGEST_END: Duration = Duration::from_secs(7);

/// What opens the stream.
pub trait Start: Send + Sync + std::fmt::Debug {
    /// Opens it, and starts the tasks that serve it.
    fn start(&self, inbox: Inbox) -> BoxFuture<'_, Result<Running>>;

    /// Returns the name of the server, for the log.
    fn name(&self) -> &str;
}

/// A link over a stream, which the first message opens.
#[derive(Debug)]
pub struct StreamLink<S> {
    start: S,
    inbox: Inbox,
    state: tokio::sync::Mutex<State>,
    next_id: AtomicU64,
    openings: AtomicU64,
    /// The `initialize` a legacy server was greeted with, to be said again on the next stream, and what it said last.
    greeting: Mutex<Option<(Call, Value)>>,
}

#[derive(Debug, Default)]
struct State {
    running: Option<Running>,
    failures: u32,
    not_before: Option<Instant>,
}

impl State {
    /// Notes that the stream ended or could not be opened: the next attempt is later.
    fn failed(&mut self) {
        self.failures += 1;
        let pause = FIRST_PAUSE.saturating_mul(1 << (self.failures - 1).min(8)).min(LONGEST_PAUSE);
        self.not_before = Some(Instant::now() + pause);
    }
}

/// A stream that is open.
#[derive(Debug)]
pub struct Running {
    lines: mpsc::Sender<Chain>,
    waiting: Waiting,
    /// Dropped when the stream is to be ended.
    stop: Option<oneshot::Sender<()>>,
    ended: Arc<End>,
    started: Instant,
}

/// What the tasks need that serve a stream.
pub(super) struct Ends {
    /// The messages to be written.
    pub(super) to_write: mpsc::Receiver<Chain>,
    /// Resolves when the stream is to be ended.
    pub(super) stopped: oneshot::Receiver<()>,
    /// Is told when it has ended.
    pub(super) ended: Ended,
    /// Who waits for answers.
    pub(super) waiting: Waiting,
}

impl Running {
    pub(super) fn new() -> (Self, Ends) {
        let (lines, to_write) = mpsc::channel(64);
        let (stop, stopped) = oneshot::channel();
        let (waiting, end) = (Waiting::default(), Arc::<End>::default());
        let ended = Ended { end: Arc::clone(&end), waiting: waiting.clone() };
        let ends = Ends { to_write, stopped, ended, waiting: waiting.clone() };
        (Self { lines, waiting, stop: Some(stop), ended: end, started: Instant::now() }, ends)
    }
}

/// Whether a stream has ended, and how.
#[derive(Debug, Default)]
struct End {
    reason: Mutex<Option<String>>,
    told: Notify,
}

impl End {
    fn reason(&self) -> Option<String> {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Tells of the end of a stream.
pub(super) struct Ended {
    end: Arc<End>,
    waiting: Waiting,
}

impl Ended {
    /// Fails all requests under way.
    pub(super) fn tell(&self, reason: &str) {
        *self.end.reason.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason.to_owned());
        for (_, asked) in self.waiting.lock().drain() {
            let _ = asked.answer.send(Err(Error::new(ErrorCode::ConnectionLost, reason)));
        }
        self.end.told.notify_waiters();
    }
}

/// The requests under way, by the ids they were sent under.
#[derive(Debug, Clone, Default)]
pub(super) struct Waiting(Arc<Mutex<HashMap<u64, Asked>>>);

#[derive(Debug)]
struct Asked {
    answer: oneshot::Sender<Result<Answer>>,
    progress_token: Option<String>,
    touched: Arc<Notify>,
}

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Asked>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Start> StreamLink<S> {
    /// Prepares a link.
    #[must_use]
    pub fn new(start: S, inbox: Inbox) -> Self {
        Self {
            start,
            inbox,
            state: tokio::sync::Mutex::default(),
            next_id: AtomicU64::new(1),
            openings: AtomicU64::new(0),
            greeting: Mutex::default(),
        }
    }

    /// Returns where to send messages and who waits for answers, of a stream that is open.
    async fn running(&self) -> Result<(mpsc::Sender<Chain>, Waiting)> {
        loop {
            let mut state = self.state.lock().await;
            if let Some(running) = &state.running {
                if running.ended.reason().is_none() {
                    return Ok((running.lines.clone(), running.waiting.clone()));
                }
                if running.started.elapsed() > HEALTHY_AFTER {
                    state.failures = 0;
                }
                state.running = None;
                state.failed();
            }
            if let Some(not_before) = state.not_before.filter(|not_before| *not_before > Instant::now()) {
                // Not held while waiting, so that it can be closed meanwhile.
                drop(state);
                sleep_until(not_before).await;
                continue;
            }
            let running = self.start.start(self.inbox.clone()).await.inspect_err(|_| state.failed())?;
            let reached = (running.lines.clone(), running.waiting.clone());
            let greeting = self.greeted().clone();
            if let Some((greeting, _)) = greeting {
                tracing::info!(server = self.start.name(), "greeting the server that was started again");
                let greeted =
                    self.ask(&reached.0, &reached.1, &greeting).await.and_then(|answer| answer.result());
                let said = greeted.inspect_err(|_| state.failed())?;
                *self.greeted() = Some((greeting, said));
                if let Some(done) = initialized() {
                    send(&reached.0, Chain::from(done.body)).await?;
                }
            }
            state.running = Some(running);
            self.openings.fetch_add(1, Ordering::AcqRel);
            return Ok(reached);
        }
    }

    fn greeted(&self) -> MutexGuard<'_, Option<(Call, Value)>> {
        self.greeting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request under an id of our own and waits for the answer.
    async fn ask(&self, lines: &mpsc::Sender<Chain>, waiting: &Waiting, call: &Call) -> Result<Answer> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (answer, mut answered) = oneshot::channel();
        let touched = Arc::new(Notify::new());
        let asked =
            Asked { answer, progress_token: call.progress_token.clone(), touched: Arc::clone(&touched) };
        waiting.lock().insert(id, asked);
        let mut withdrawal =
            Withdrawal { id, lines, waiting, is_sent: false, tells: call.method != "initialize" };
        let line = Chain::from(call.body.clone()).replace(call.id.clone(), Bytes::from(id.to_string()));
        // A program that does not read takes nothing, for as long as it likes.
        let sent = timeout(call.patience, send(lines, line)).await;
        sent.map_err(|_| Error { never_sent: true, ..timed_out(call) })??;
        withdrawal.is_sent = true;
        loop {
            let deadline = sleep_until(Instant::now() + call.patience);
            tokio::select! {
                answer = &mut answered => {
                    withdrawal.is_sent = false;
                    let gone = |_| Error::new(ErrorCode::ConnectionLost, "the server ended before its answer");
                    return answer.map_err(gone)?.map(|answer| answer.with_id(call.id_json()));
                }
                () = touched.notified() => {}
                () = deadline => return Err(timed_out(call)),
            }
        }
    }
}

impl<S: Start> Link for StreamLink<S> {
    fn request(&self, call: Call) -> BoxFuture<'_, Result<Answer>> {
        Box::pin(async move {
            let (lines, waiting) = match timeout(call.patience, self.running()).await {
                Ok(running) => running?,
                Err(_) => return Err(Error { never_sent: true, ..timed_out(&call) }),
            };
            let answer = self.ask(&lines, &waiting, &call).await?;
            if call.method == "initialize"
                && let Ok(said) = answer.result()
            {
                *self.greeted() = Some((call, said));
            }
            Ok(answer)
        })
    }

    fn notify(&self, call: Call) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let sent = async {
                let (lines, _) = self.running().await?;
                send(&lines, Chain::from(call.body.clone())).await
            };
            timeout(call.patience, sent).await.map_err(|_| Error { never_sent: true, ..timed_out(&call) })?
        })
    }

    fn is_open(&self) -> bool {
        match self.state.try_lock() {
            Ok(state) => state.running.as_ref().is_some_and(|running| running.ended.reason().is_none()),
            // It is being opened.
            Err(_) => true,
        }
    }

    fn openings(&self) -> u64 {
        self.openings.load(Ordering::Acquire)
    }

    fn greeting(&self) -> Option<Value> {
        self.greeted().as_ref().map(|(_, said)| said.clone())
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // Whoever opens it again greets it anew.
            *self.greeted() = None;
            let Some(mut running) = self.state.lock().await.running.take() else { return };
            let ended = Arc::clone(&running.ended);
            let told = ended.told.notified();
            tokio::pin!(told);
            told.as_mut().enable();
            running.stop = None;
            drop(running);
            if ended.reason().is_none() {
                let _ = timeout(LONGEST_END, told).await;
            }
        })
    }
}

/// Takes a request back that nobody waits for any more.
struct Withdrawal<'a> {
    id: u64,
    lines: &'a mpsc::Sender<Chain>,
    waiting: &'a Waiting,
    is_sent: bool,
    tells: bool,
}

impl Drop for Withdrawal<'_> {
    fn drop(&mut self) {
        self.waiting.lock().remove(&self.id);
        if self.is_sent
            && self.tells
            && let Some(notice) = cancellation(self.id.to_string().as_bytes())
        {
            // A server that does not even read is not told.
            let _ = self.lines.try_send(Chain::from(notice.body));
        }
    }
}

async fn send(lines: &mpsc::Sender<Chain>, message: Chain) -> Result<()> {
    let gone = |_| Error::unsent(ErrorCode::ConnectionLost, "the server has ended");
    lines.send(message).await.map_err(gone)
}

/// Takes a message of the server: answers go to who asked, all else to the inbox.
pub(super) async fn take_message(line: Bytes, name: &str, waiting: &Waiting, inbox: &Inbox) {
    let message = Chain::from(line.slice(..line.trim_ascii_end().len()));
    if message.is_empty() {
        return;
    }
    let Ok(envelope) = message.scan() else {
        let shown: String = String::from_utf8_lossy(&line).chars().take(200).collect();
        tracing::warn!(server = name, line = shown.trim_end(), "skipped what is not a message");
        return;
    };
    let id = envelope.id().map(|span| message.slice(span).into_bytes());
    match envelope.kind() {
        Some(Kind::Result | Kind::Error) => {
            let asked = id.as_deref().and_then(number).and_then(|id| waiting.lock().remove(&id));
            if let Some(asked) = asked {
                // Whoever asked may be gone.
                let _ = asked.answer.send(Ok(Answer { message, envelope }));
            } else {
                tracing::debug!(server = name, "skipped an answer nobody waits for");
            }
        }
        Some(Kind::Notification) => {
            note_progress(&message, &envelope, waiting);
            let _ = inbox.send(message).await;
        }
        Some(Kind::Request) => drop(inbox.send(message).await),
        None => tracing::warn!(server = name, "skipped what is not a message"),
    }
}

fn number(id: &[u8]) -> Option<u64> {
    std::str::from_utf8(id).ok()?.parse().ok()
}

/// Gives a request more time whose server says that it goes on.
fn note_progress(message: &Chain, envelope: &wakashu_wire::Envelope, waiting: &Waiting) {
    let is_progress = |span| message.slice(span).into_bytes() == "\"notifications/progress\"";
    if !envelope.method().is_some_and(is_progress) {
        return;
    }
    let params = envelope.params().map(|span| message.slice(span).into_bytes()).unwrap_or_default();
    let params: Value = serde_json::from_slice(&params).unwrap_or_default();
    let Some(token) = params.get("progressToken").map(ToString::to_string) else { return };
    for asked in waiting.lock().values() {
        if asked.progress_token.as_ref() == Some(&token) {
            asked.touched.notify_one();
        }
    }
}

/// Answers the request whose answer is too large, if it says which it is.
pub(super) fn refuse_message(line: &[u8], name: &str, waiting: &Waiting) {
    let mut scan = Scan::default();
    scan.feed(line);
    let id = scan.id().and_then(|span| line.get(span)).and_then(number);
    let sentence = format!("the answer is larger than {MAX_MESSAGE_BYTES} bytes, the most that is passed on");
    tracing::warn!(server = name, "skipped a message: {sentence}");
    let mut waiting = waiting.lock();
    // One that ends with its id is the only one's there is.
    let only = waiting.keys().next().copied().filter(|_| waiting.len() == 1);
    if let Some(asked) = id.or(only).and_then(|id| waiting.remove(&id)) {
        let _ = asked.answer.send(Err(Error::new(ErrorCode::ExecutionFailed, sentence)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_answer_that_is_too_large_is_one_even_if_its_id_is_at_its_end() {
        let waiting = Waiting::default();
        let ask = |id| {
            let (answer, answered) = oneshot::channel();
            let asked = Asked { answer, progress_token: None, touched: Arc::default() };
            waiting.lock().insert(id, asked);
            answered
        };
        let only = ask(7);
        refuse_message(br#"{"result":{"text":"aaa"#, "a", &waiting);
        assert_eq!(only.await.unwrap().unwrap_err().code, ErrorCode::ExecutionFailed);
        // Of two it is anybody's guess, unless it says so.
        let (mut one, other) = (ask(8), ask(9));
        refuse_message(br#"{"result":{"text":"aaa"#, "a", &waiting);
        refuse_message(br#"{"id":9,"result":{"text":"aaa"#, "a", &waiting);
        assert_eq!(other.await.unwrap().unwrap_err().code, ErrorCode::ExecutionFailed);
        assert!(one.try_recv().is_err());
    }
}
