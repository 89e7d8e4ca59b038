//! MCP over standard input and output: one message per line, nothing but protocol on stdout.

use std::pin::pin;
use std::sync::Arc;

use bytes::Buf as _;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::AbortHandle;
use wakashu_wire::{Body, Incoming, Revision, Unreadable, message};

use crate::door::local::CLOSING_DEADLINE;
use crate::exchange::{Arrival, Core, Exchange};
use crate::mcp::subscriptions::{Subscription, legacy_changed};
use crate::mcp::{self, Reply, Then, error};
use crate::served::limits::MAX_BODY_BYTES;
use crate::served::state::Generation;
use crate::text::Answer;

/// Most answers that wait to be written.
const MOST_UNWRITTEN: usize = 32;

/// Lines under way beyond what the desk holds: most are done at once. Only where answers are not taken do further lines
/// wait in the pipe; a cancellation is read before that.
const SPARE: usize = 64;

/// The status that logs give a request whose client did not wait.
const CLIENT_CLOSED_REQUEST: u16 = 499;

/// A line of the input.
enum Line {
    Message(Vec<u8>),
    TooLong,
    End,
}

/// Answers lines from `input` on `output` until the input ends or `stop` resolves, and every answer is out. After a stop
/// that takes [`CLOSING_DEADLINE`] at most.
pub(crate) async fn run(
    core: Arc<Core>,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
    stop: impl Future<Output = ()>,
) -> std::io::Result<()> {
    let (answers, outgoing) = mpsc::channel(MOST_UNWRITTEN);
    let mut writer = tokio::spawn(write_all(output, outgoing));
    let mut stop = pin!(stop);
    let read = tokio::select! {
        biased;
        () = &mut stop => None,
        read = answer_all(core, input, answers) => Some(read),
    };
    let is_stopped = async {
        if read.is_some() {
            stop.await;
        }
        tokio::time::sleep(CLOSING_DEADLINE).await;
    };
    tokio::select! {
        biased;
        written = &mut writer => read.unwrap_or(Ok(())).and(written.unwrap_or(Ok(()))),
        () = is_stopped => {
            tracing::warn!("some answers were still under way when the server stopped");
            Ok(())
        }
    }
}

/// Answers lines from `input` until it ends, beside each other where that makes no difference.
async fn answer_all(
    core: Arc<Core>,
    input: impl AsyncRead + Unpin,
    answers: mpsc::Sender<Answer>,
) -> std::io::Result<()> {
    let most = core.desk.capacity().saturating_add(SPARE).min(Semaphore::MAX_PERMITS);
    let places = Arc::new(Semaphore::new(most));
    let mut listeners = Listeners { core: Arc::clone(&core), answers: answers.clone(), tasks: Vec::new() };
    let mut input = BufReader::with_capacity(64 * 1024, input);
    let mut calls = Calls::default();
    let mut remembered = Revision::NEWEST_LEGACY;
    loop {
        let line = match next_line(&mut input).await? {
            Line::End => break,
            Line::TooLong => {
                let mut x = Exchange::begin(&core, Arrival::default());
                x.facts.method = "line";
                let error = error::invalid_request("the line is longer than 1 MiB");
                let reply = mcp::refuse(&mut x, &error, None);
                if !deliver(&answers, seal(&x, reply).answer).await {
                    break;
                }
                continue;
            }
            Line::Message(line) if line.trim_ascii().is_empty() => continue,
            Line::Message(line) => line,
        };
        let turn = Turn::of(&line);
        if let Turn::InPlace = turn {
            let Some(reply) = answer_line(&core, &line, remembered, std::future::pending()).await else {
                continue;
            };
            if !deliver(&answers, reply.answer).await {
                break;
            }
            match reply.then {
                Then::Nothing | Then::ComeBack(_) => {}
                Then::Agree(agreed) => {
                    remembered = agreed;
                    listeners.tell_legacy_client();
                }
                Then::Listen(subscription) => listeners.listen(*subscription).await,
                Then::Cancel(id) => {
                    listeners.cancel(&id);
                    calls.cancel(&id);
                }
            }
            continue;
        }
        if let Turn::Batch(cancelled) = &turn
            && remembered.has_batches()
        {
            for id in cancelled {
                listeners.cancel(id);
                calls.cancel(id);
            }
        }
        let place = Arc::clone(&places).acquire_owned().await;
        let (core, answers) = (Arc::clone(&core), answers.clone());
        let cancelled = calls.begin(turn);
        // Boxed, as what is spawned is moved about before it has its place.
        tokio::spawn(Box::pin(async move {
            if let Some(reply) = answer_line(&core, &line, remembered, cancelled).await {
                // The writer is gone only when the reader of our output is.
                let _ = deliver(&answers, reply.answer).await;
            }
            drop(place);
        }));
    }
    Ok(())
}

/// When a line is answered.
enum Turn {
    /// At once: it changes what happens to later lines.
    InPlace,
    /// Beside others. A request can be cancelled by its id, as it was written.
    Beside(Option<String>),
    /// Beside others, several at once; but the requests that it cancels are cancelled at once.
    Batch(Vec<String>),
}

impl Turn {
    fn of(line: &[u8]) -> Self {
        let text = match message::split(line) {
            Ok(Body::Single(text)) => text,
            Ok(Body::Batch(messages)) => {
                let read = messages.iter().map(|message| message::read(message.get()));
                return Self::Batch(read.filter_map(cancelled_by).collect());
            }
            Err(_) => return Self::Beside(None),
        };
        match message::read(text) {
            Ok(Incoming::Request(request)) => match &*request.method {
                "initialize" | "subscriptions/listen" => Self::InPlace,
                _ => Self::Beside(Some(request.id.to_owned())),
            },
            Ok(Incoming::Notification(_)) => Self::InPlace,
            Ok(Incoming::Response) | Err(_) => Self::Beside(None),
        }
    }
}

/// Returns the id of the request that a message cancels, if it does that.
fn cancelled_by(message: Result<Incoming<'_>, Unreadable<'_>>) -> Option<String> {
    match message {
        Ok(Incoming::Notification(notification)) => notification.request_id.map(str::to_owned),
        _ => None,
    }
}

/// The requests under way, by id.
#[derive(Default)]
struct Calls(Vec<(String, oneshot::Sender<()>)>);

impl Calls {
    /// Notes a request; returns what resolves when it is cancelled.
    fn begin(&mut self, turn: Turn) -> impl Future<Output = ()> + use<> {
        // Those that are done; what is left is bounded by the places.
        self.0.retain(|(_, cancel)| !cancel.is_closed());
        let (cancel, cancelled) = oneshot::channel();
        if let Turn::Beside(Some(id)) = turn {
            self.0.push((id, cancel));
        }
        async {
            // One that nobody can cancel any more runs to its end.
            if cancelled.await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    fn cancel(&mut self, id: &str) {
        for (_, cancel) in self.0.extract_if(.., |(call, _)| call == id) {
            // An answer that is out already is out.
            let _ = cancel.send(());
        }
    }
}

/// Those who are told of a replaced archive; they end with the input.
struct Listeners {
    core: Arc<Core>,
    answers: mpsc::Sender<Answer>,
    tasks: Vec<(String, AbortHandle)>,
}

/// The name under which a legacy client listens; no request id looks like this.
const LEGACY: &str = "legacy";

/// Most subscriptions on one pipe.
const MAX_SUBSCRIPTIONS: usize = 16;

impl Listeners {
    /// A legacy client is told unasked, from its `initialize` on.
    fn tell_legacy_client(&mut self) {
        if !self.core.state.can_push() || self.tasks.iter().any(|(id, _)| id == LEGACY) {
            return;
        }
        self.spawn(LEGACY.to_owned(), legacy_changed);
    }

    async fn listen(&mut self, subscription: Subscription) {
        if self.tasks.len() >= MAX_SUBSCRIPTIONS {
            let mut answer = Answer::default();
            answer.value(&error::invalid_params("too many subscriptions").to_json(Some(&subscription.id)));
            let _ = self.answers.send(answer).await;
            return;
        }
        let _ = self.answers.send(subscription.acknowledged()).await;
        self.spawn(subscription.id.clone(), move |before, now| subscription.changed(before, now));
    }

    fn cancel(&mut self, id: &str) {
        self.tasks.retain(|(listener, task)| {
            let stays = listener != id || listener == LEGACY;
            if !stays {
                task.abort();
            }
            stays
        });
    }

    fn spawn(
        &mut self,
        id: String,
        messages: impl Fn(Generation, Generation) -> Vec<Answer> + Send + 'static,
    ) {
        let mut changes = self.core.changes();
        let answers = self.answers.clone();
        let mut seen = *changes.borrow_and_update();
        let task = tokio::spawn(async move {
            while changes.changed().await.is_ok() {
                let now = *changes.borrow_and_update();
                for message in messages(seen, now) {
                    if answers.send(message).await.is_err() {
                        return;
                    }
                }
                seen = now;
            }
        });
        self.tasks.push((id, task.abort_handle()));
    }
}

impl Drop for Listeners {
    fn drop(&mut self) {
        self.tasks.iter().for_each(|(_, task)| task.abort());
    }
}

/// Answers a line, unless it is cancelled first: then nobody waits for the answer any more.
async fn answer_line(
    core: &Core,
    line: &[u8],
    remembered: Revision,
    cancelled: impl Future<Output = ()>,
) -> Option<Reply> {
    let mut x = Exchange::begin(core, Arrival::default());
    x.facts.method = "line";
    let source = mcp::Source { headers: None, remembered };
    let reply = tokio::select! {
        biased;
        reply = mcp::answer(&mut x, source, line) => Some(reply),
        () = cancelled => None,
    };
    let Some(reply) = reply else {
        x.facts.error = Some("CANCELLED");
        x.close(CLIENT_CLOSED_REQUEST, 0, None);
        return None;
    };
    Some(seal(&x, reply))
}

/// Writes the line of an answer into the log.
fn seal(x: &Exchange<'_>, reply: Reply) -> Reply {
    let bytes = reply.answer.as_ref().map_or(0, Answer::len);
    x.close(reply.status, bytes, None);
    reply
}

/// Hands an answer to the writer, if there is one. Tells whether the writer is still there.
async fn deliver(answers: &mpsc::Sender<Answer>, answer: Option<Answer>) -> bool {
    match answer {
        Some(answer) => answers.send(answer).await.is_ok(),
        None => true,
    }
}

async fn write_all(
    mut output: impl AsyncWrite + Unpin,
    mut answers: mpsc::Receiver<Answer>,
) -> std::io::Result<()> {
    while let Some(answer) = answers.recv().await {
        output.write_all_buf(&mut answer.into_buf().chain(&b"\n"[..])).await?;
        output.flush().await?;
    }
    Ok(())
}

/// Reads up to the next line end. A line that is too long is dropped.
async fn next_line(input: &mut (impl AsyncBufRead + Unpin)) -> std::io::Result<Line> {
    let mut line = Vec::new();
    let mut too_long = false;
    loop {
        let available = input.fill_buf().await?;
        if available.is_empty() {
            return Ok(match (too_long, line.is_empty()) {
                (true, _) => Line::TooLong,
                (false, true) => Line::End,
                (false, false) => Line::Message(line),
            });
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let part = available.get(..end.unwrap_or(available.len())).unwrap_or_default();
        too_long |= line.len() + part.len() > MAX_BODY_BYTES;
        if too_long {
            line = Vec::new();
        } else {
            line.extend_from_slice(part);
        }
        let used = part.len() + usize::from(end.is_some());
        input.consume(used);
        if end.is_some() {
            return Ok(if too_long { Line::TooLong } else { Line::Message(line) });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::app::state_of;
    use crate::desk::Desk;
    use crate::desk::drill::Drill;

    /// One call has the only place, and many more wait for it: cancelling them all must not have to wait, too.
    #[tokio::test]
    async fn a_cancellation_is_read_while_calls_wait() {
        const CALLS: usize = 100;
        let mut core = Core::new(Arc::new(state_of(None, 0, 0, true)), None);
        let gate = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let held = Drill::Hold(gate.local_addr().unwrap());
        core.desk = Desk::new(1, CALLS, Duration::from_mins(1), held);
        let (mut client, server) = tokio::io::duplex(1 << 20);
        let (input, output) = tokio::io::split(server);
        let serving = tokio::spawn(run(Arc::new(core), input, output, std::future::pending()));
        let call = |id: usize| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"index_status"}}}}"#
            )
        };
        let cancel = |id: usize| {
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)
        };
        let ping = r#"{"jsonrpc":"2.0","id":"ping","method":"ping"}"#.to_owned();
        for line in (0..CALLS).map(call).chain((0..CALLS).map(cancel)).chain([ping]) {
            client.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        }
        client.shutdown().await.unwrap();
        let mut answers = BufReader::new(client).lines();
        assert!(
            answers.next_line().await.unwrap().unwrap().contains(r#""id":"ping""#),
            "nothing else is owed"
        );
        assert_eq!(answers.next_line().await.unwrap(), None);
        serving.await.unwrap().unwrap();
    }

    /// A call is under way and another waits when the stop comes; both are answered, what comes later is not.
    #[tokio::test]
    async fn a_stop_lets_answers_under_way_finish() {
        let mut core = Core::new(Arc::new(state_of(None, 0, 0, true)), None);
        let gate = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        core.desk = Desk::new(1, 2, Duration::from_mins(1), Drill::Hold(gate.local_addr().unwrap()));
        let core = Arc::new(core);
        let (mut client, server) = tokio::io::duplex(1 << 20);
        let (input, output) = tokio::io::split(server);
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(run(Arc::clone(&core), input, output, async {
            let _ = stopped.await;
        }));
        for id in 1..=2 {
            let call = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"index_status"}}}}"#
            );
            client.write_all(format!("{call}\n").as_bytes()).await.unwrap();
        }
        while core.desk.load().waiting == 0 {
            tokio::task::yield_now().await;
        }
        stop.send(()).unwrap();
        // Accepting a call and hanging up lets it go on.
        tokio::spawn(async move { while gate.accept().await.is_ok() {} });
        let mut answers = BufReader::new(client).lines();
        for id in 1..=2 {
            let answer = answers.next_line().await.unwrap().unwrap();
            assert!(answer.contains(&format!("\"id\":{id},")) && answer.ends_with('}'), "{answer}");
        }
        serving.await.unwrap().unwrap();
    }
}
