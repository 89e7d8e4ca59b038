//! MCP over standard input and output: one message per line, nothing but protocol on stdout.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use futures_util::FutureExt as _;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{Semaphore, mpsc};

use crate::answer::Answer;
use crate::context::Context;
use crate::limits::MAX_BODY_BYTES;
use crate::mcp::era::Revision;
use crate::mcp::{self, Door, error};
use crate::request_log::RequestLog;

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
    let mut input = BufReader::with_capacity(64 * 1024, input);
    let mut remembered = Revision::NEWEST_LEGACY;
    loop {
        let line = match next_line(&mut input).await? {
            Line::End => break,
            Line::TooLong => {
                let mut answer = Answer::default();
                error::invalid_request("the line is longer than 1 MiB").write(&mut answer, None);
                if answers.send(answer).await.is_err() {
                    break;
                }
                continue;
            }
            Line::Message(line) if line.trim_ascii().is_empty() => continue,
            Line::Message(line) => line,
        };
        // `initialize` is the one message that changes how later ones are read, so it is answered in place.
        if is_initialize(&line) {
            let (answer, agreed) = answer_line(&context, &line, remembered).await;
            remembered = agreed.unwrap_or(remembered);
            if let Some(answer) = answer
                && answers.send(answer).await.is_err()
            {
                break;
            }
            continue;
        }
        let place = Arc::clone(&places).acquire_owned().await;
        let (context, answers) = (Arc::clone(&context), answers.clone());
        tokio::spawn(async move {
            let (answer, _) = answer_line(&context, &line, remembered).await;
            if let Some(answer) = answer {
                // The writer is gone only when the reader of our output is.
                let _ = answers.send(answer).await;
            }
            drop(place);
        });
    }
    drop(answers);
    match writer.await {
        Ok(written) => written,
        Err(_) => Ok(()),
    }
}

/// Tells whether a line may be an `initialize`; a false alarm only costs concurrency.
fn is_initialize(line: &[u8]) -> bool {
    line.windows(12).take(4_096).any(|part| part == b"\"initialize\"")
}

async fn answer_line(
    context: &Context,
    line: &[u8],
    remembered: Revision,
) -> (Option<Answer>, Option<Revision>) {
    let started = Instant::now();
    let request_id = context.next_request_id();
    let snapshot = context.state.current();
    let mut log = RequestLog::default();
    let door = Door {
        headers: None,
        remembered,
        snapshot: &snapshot,
        picture_base: context.picture_base.as_deref(),
        request_id: &request_id,
    };
    let reply = AssertUnwindSafe(mcp::answer(line, door, &mut log)).catch_unwind().await;
    let reply = reply.unwrap_or_else(|_| {
        tracing::error!(request = &*request_id, "a handler panicked");
        let mut answer = Answer::default();
        error::internal(&request_id).write(&mut answer, None);
        mcp::Reply { status: 500, answer: Some(answer) }
    });
    let bytes = reply.answer.as_ref().map_or(0, Answer::len);
    tracing::info!(
        request = &*request_id,
        method = log.method,
        tool = log.tool,
        era = log.era,
        status = u64::from(reply.status),
        code = log.rpc_code.map(i64::from),
        error = log.tool_error,
        bytes = bytes as u64,
        ms = started.elapsed().as_secs_f64() * 1_000.0,
        archive = snapshot.loaded().map(|loaded| loaded.digest.get(..16).unwrap_or_default()),
    );
    (reply.answer, log.agreed)
}

async fn write_all(
    mut output: impl AsyncWrite + Unpin,
    mut answers: mpsc::Receiver<Answer>,
) -> std::io::Result<()> {
    while let Some(answer) = answers.recv().await {
        for piece in answer.into_pieces().into_iter().chain([Bytes::from_static(b"\n")]) {
            output.write_all(&piece).await?;
        }
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
