//! MCP over standard input and output: one message per line, nothing but protocol on stdout.

use std::sync::Arc;
use std::time::Instant;

use bytes::Buf as _;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::AbortHandle;

use crate::exchange::Context;
use crate::mcp::subscriptions::{Subscription, legacy_changed};
use crate::mcp::{self, Door, Reply, Then, error};
use crate::observe::facts::RequestLog;
use crate::served::limits::MAX_BODY_BYTES;
use crate::served::state::Generation;
use crate::text::Answer;
use crate::web::tokens::Scope;
use wakashu_wire::Revision;
use wakashu_wire::message;
use wakashu_wire::{Body, Incoming};

/// Most requests answered at a time; further lines wait in the pipe.
const MAX_UNDER_WAY: usize = 32;

/// A line of the input.
enum Line {
    Message(Vec<u8>),
    TooLong,
    End,
}

/// Answers lines from `input` on `output` until the input ends and every answer is out.
pub async fn run(
    context: Arc<Context>,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> std::io::Result<()> {
    let (answers, outgoing) = mpsc::channel(MAX_UNDER_WAY);
    let writer = tokio::spawn(write_all(output, outgoing));
    let places = Arc::new(Semaphore::new(MAX_UNDER_WAY));
    let mut listeners =
        Listeners { context: Arc::clone(&context), answers: answers.clone(), tasks: Vec::new() };
    let mut input = BufReader::with_capacity(64 * 1024, input);
    let mut calls = Calls::default();
    let mut remembered = Revision::NEWEST_LEGACY;
    loop {
        let line = match next_line(&mut input).await? {
            Line::End => break,
            Line::TooLong => {
                let error = error::invalid_request("the line is longer than 1 MiB");
                let mut answer = Answer::default();
                answer.raw(&error.to_json(None));
                let log = RequestLog { rpc_code: Some(error.code), ..RequestLog::default() };
                let snapshot = context.state.current();
                log.write(&context.next_request_id(), error.status, answer.len(), Instant::now(), &snapshot);
                if answers.send(answer).await.is_err() {
                    break;
                }
                continue;
            }
            Line::Message(line) if line.trim_ascii().is_empty() => continue,
            Line::Message(line) => line,
        };
        let turn = Turn::of(&line);
        if let Turn::InPlace = turn {
            let (reply, agreed) = answer_line(&context, &line, remembered).await;
            if let Some(agreed) = agreed {
                remembered = agreed;
                listeners.tell_legacy_client();
            }
            if let Some(answer) = reply.answer
                && answers.send(answer).await.is_err()
            {
                break;
            }
            match reply.then {
                Then::Nothing => {}
                Then::Listen(subscription) => listeners.listen(subscription).await,
                Then::Cancel(id) => {
                    listeners.cancel(&id);
                    calls.cancel(&id);
                }
            }
            continue;
        }
        let place = Arc::clone(&places).acquire_owned().await;
        let (context, answers) = (Arc::clone(&context), answers.clone());
        let cancelled = calls.begin(turn);
        tokio::spawn(async move {
            tokio::select! {
                biased;
                (reply, _) = answer_line(&context, &line, remembered) => {
                    if let Some(answer) = reply.answer {
                        // The writer is gone only when the reader of our output is.
                        let _ = answers.send(answer).await;
                    }
                }
                // Nobody waits for the answer any more.
                Ok(()) = cancelled => tracing::info!("a request was cancelled"),
            }
            drop(place);
        });
    }
    drop(listeners);
    drop(answers);
    match writer.await {
        Ok(written) => written,
        Err(_) => Ok(()),
    }
}

/// When a line is answered.
enum Turn {
    /// At once: it changes what happens to later lines.
    InPlace,
    /// Beside others. A request can be cancelled by its id, as it was written.
    Beside(Option<String>),
}

impl Turn {
    fn of(line: &[u8]) -> Self {
        let Ok(Body::Single(text)) = message::split(line) else { return Self::Beside(None) };
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

/// The requests under way, by id.
#[derive(Default)]
struct Calls(Vec<(String, oneshot::Sender<()>)>);

impl Calls {
    /// Notes a request; returns what resolves when it is cancelled.
    fn begin(&mut self, turn: Turn) -> oneshot::Receiver<()> {
        // Those that are done; what is left is bounded by the places.
        self.0.retain(|(_, cancel)| !cancel.is_closed());
        let (cancel, cancelled) = oneshot::channel();
        if let Turn::Beside(Some(id)) = turn {
            self.0.push((id, cancel));
        }
        cancelled
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
    context: Arc<Context>,
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
        if !self.context.state.can_push() || self.tasks.iter().any(|(id, _)| id == LEGACY) {
            return;
        }
        self.spawn(LEGACY.to_owned(), legacy_changed);
    }

    async fn listen(&mut self, subscription: Subscription) {
        if self.tasks.len() >= MAX_SUBSCRIPTIONS {
            let mut answer = Answer::default();
            answer.raw(&error::invalid_params("too many subscriptions").to_json(Some(&subscription.id)));
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
        let mut changes = self.context.state.changes();
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

async fn answer_line(context: &Context, line: &[u8], remembered: Revision) -> (Reply, Option<Revision>) {
    let started = Instant::now();
    let request_id = context.next_request_id();
    let snapshot = context.state.current();
    let mut log = RequestLog::default();
    let door = Door {
        headers: None,
        remembered,
        snapshot: &snapshot,
        picture_base: context.picture_base.as_deref(),
        can_push: context.state.can_push(),
        execution: &context.execution,
        scope: Scope::Read,
        request_id: &request_id,
    };
    let reply = mcp::answer(line, &door, &context.state, &mut log).await;
    let bytes = reply.answer.as_ref().map_or(0, Answer::len);
    log.write(&request_id, reply.status, bytes, started, &snapshot);
    (reply, log.agreed)
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

/// Reads up to the next line end. Of a line that is too long nothing is kept.
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
    use crate::desk::Execution;
    use crate::desk::drill::Drill;
    use crate::served::state::ArchiveState;
    use crate::web::access::Access;

    #[tokio::test]
    async fn a_request_too_many_waits_for_its_turn() {
        let state = Arc::new(ArchiveState::new(None, 0, 0, true));
        let mut context = Context::new(state, Access::default(), None);
        context.execution = Execution::new(2 * MAX_UNDER_WAY, 0, Duration::from_mins(1), Drill::Slow);
        let (mut client, server) = tokio::io::duplex(1 << 20);
        let (input, output) = tokio::io::split(server);
        let serving = tokio::spawn(run(Arc::new(context), input, output));

        let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"index_status"}}"#;
        for _ in 0..=MAX_UNDER_WAY {
            client.write_all(format!("{call}\n").as_bytes()).await.unwrap();
        }
        client.shutdown().await.unwrap();
        let started = Instant::now();
        let mut answers = BufReader::new(client).lines();
        let mut taken = Vec::new();
        while let Some(answer) = answers.next_line().await.unwrap() {
            assert!(answer.contains(r#""result""#), "{answer}");
            taken.push(started.elapsed());
        }
        assert_eq!(taken.len(), MAX_UNDER_WAY + 1);
        let (last, first) = taken.split_last().unwrap();
        // Each takes two seconds.
        assert!(first.iter().all(|taken| taken.as_secs() < 4), "these run side by side: {first:?}");
        assert!(last.as_secs() >= 4, "this one starts when one of them is done: {last:?}");
        serving.await.unwrap().unwrap();
    }
}
