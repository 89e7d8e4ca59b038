//! The protocol core: JSON-RPC in, JSON-RPC out, both eras, no state between messages.

mod completion;
pub(crate) mod error;
pub(crate) mod lists;
mod methods;
mod prompts;
mod resources;
pub(crate) mod subscriptions;

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use http::HeaderMap;

use crate::desk::Execution;
use crate::mcp::error::RpcError;
use crate::mcp::subscriptions::Subscription;
use crate::observe::facts::RequestLog;
use crate::served::limits::{MAX_ANSWER_BYTES, MAX_BATCH_MESSAGES};
use crate::served::snapshot::Snapshot;
use crate::served::state::ArchiveState;
use crate::text::Answer;
use crate::web::tokens::Scope;
use wakashu_wire::message;
use wakashu_wire::{Body, Incoming, Raw, Request, Unreadable};
use wakashu_wire::{Headers, Revision, era};

/// Where a message came from and what it may see.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Door<'a> {
    /// HTTP headers; none on stdio.
    pub(crate) headers: Option<&'a HeaderMap>,
    /// The legacy revision to assume where a message names none.
    pub(crate) remembered: Revision,
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) picture_base: Option<&'a str>,
    /// Whether this door can tell its clients of changes.
    pub(crate) can_push: bool,
    /// The limits tools run under.
    pub(crate) execution: &'a Execution,
    /// What the caller's token is good for.
    pub(crate) scope: Scope,
    /// By this the log line is found.
    pub(crate) request_id: &'a str,
}

/// What to send back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// Nothing for notifications.
    pub(crate) answer: Option<Answer>,
    pub(crate) then: Then,
}

/// What a message asks of its door, besides an answer.
#[derive(Debug, Default)]
pub(crate) enum Then {
    #[default]
    Nothing,
    /// Keep this client informed.
    Listen(Subscription),
    /// Stop working on the request with this id.
    Cancel(String),
}

impl Reply {
    fn accepted() -> Self {
        Self { status: 202, answer: None, then: Then::Nothing }
    }

    fn error(error: &RpcError, id: Option<&str>) -> Self {
        let mut answer = Answer::default();
        answer.raw(&error.to_json(id));
        Self { status: error.status, answer: Some(answer), then: Then::Nothing }
    }
}

// The state of a call is moved about before it is first polled, so what is rarely needed is boxed here and below.

/// Answers one body. Should the archive turn out to be gone from storage, the pointer is read again and the body
/// answered once more.
pub(crate) async fn answer(
    body: &[u8],
    door: &Door<'_>,
    state: &ArchiveState,
    log: &mut RequestLog,
) -> Reply {
    let reply = answer_once(body, door, log).await;
    let Some(index) = door.snapshot.index().filter(|index| index.is_gone()) else { return reply };
    Box::pin(async {
        state.refresh().await;
        index.look_again();
        let snapshot = state.current();
        answer_once(body, &Door { snapshot: &snapshot, ..*door }, log).await
    })
    .await
}

/// Answers a message, or a batch where the revision has batches.
async fn answer_once(body: &[u8], door: &Door<'_>, log: &mut RequestLog) -> Reply {
    match message::split(body) {
        Ok(Body::Single(text)) => answer_message(text, door, log).await,
        Ok(Body::Batch(messages)) => Box::pin(answer_batch(&messages, door, log)).await,
        Err(error) => refuse(&error, None, log),
    }
}

fn refuse(error: &RpcError, id: Option<&str>, log: &mut RequestLog) -> Reply {
    log.rpc_code = Some(error.code);
    Reply::error(error, id)
}

async fn answer_message(text: &str, door: &Door<'_>, log: &mut RequestLog) -> Reply {
    let headers = door.headers.map(Headers::read);
    match message::read(text) {
        Ok(Incoming::Request(request)) => answer_request(&request, headers.as_ref(), door, log).await,
        Ok(Incoming::Notification(notification)) => {
            log.set_method(&notification.method);
            let then = notification.request_id.map_or(Then::Nothing, |id| Then::Cancel(id.to_owned()));
            Reply { then, ..Reply::accepted() }
        }
        Ok(Incoming::Response) => {
            log.method = "response";
            let modern = headers.as_ref().and_then(Headers::revision).is_some_and(Revision::is_modern);
            if modern {
                refuse(&error::invalid_request("this server takes no responses"), None, log)
            } else {
                Reply::accepted()
            }
        }
        Err(Unreadable { id, error }) => refuse(&error, id, log),
    }
}

async fn answer_request(
    request: &Request<'_>,
    headers: Option<&Headers<'_>>,
    door: &Door<'_>,
    log: &mut RequestLog,
) -> Reply {
    log.set_method(&request.method);
    let era = match era::choose(request, headers, door.remembered) {
        Ok(era) => era,
        Err(error) => return refuse(&error, Some(request.id), log),
    };
    log.era = era.revision.as_str();
    log.header_differs = era.header_differs;
    if request.method == "subscriptions/listen" && era.is_modern() && door.can_push {
        return match Subscription::read(request) {
            Ok(subscription) => Reply { status: 200, answer: None, then: Then::Listen(subscription) },
            Err(error) => refuse(&error, Some(request.id), log),
        };
    }
    let mut out = Answer::default();
    out.raw(r#"{"jsonrpc":"2.0","id":"#).raw(request.id).raw(r#","result":{"#);
    if era.is_modern() {
        out.raw(r#""resultType":"complete","#);
    }
    let answered = AssertUnwindSafe(methods::answer(request, era, door, &mut out, log)).catch_unwind().await;
    if let Err(error) = answered.unwrap_or_else(|_| {
        tracing::error!(request = door.request_id, "a handler panicked");
        Err(error::internal(door.request_id))
    }) {
        return refuse(&error, Some(request.id), log);
    }
    if era.is_modern() {
        out.raw(door.snapshot.rendered().stamp());
    }
    out.raw("}}");
    // The budget is kept where answers are made; this is the last line of defence for every method.
    if out.len() > MAX_ANSWER_BYTES {
        tracing::error!(bytes = out.len(), request = door.request_id, "an answer outgrew its budget");
        return refuse(&error::internal(door.request_id), Some(request.id), log);
    }
    Reply { status: 200, answer: Some(out), then: Then::Nothing }
}

async fn answer_batch(messages: &[Raw<'_>], door: &Door<'_>, log: &mut RequestLog) -> Reply {
    log.method = "batch";
    let headers = door.headers.map(Headers::read);
    let revision = match headers.as_ref().and_then(Headers::version) {
        Some(_) => headers.as_ref().and_then(Headers::revision),
        None => Some(door.remembered),
    };
    if !revision.is_some_and(Revision::has_batches) {
        return refuse(
            &error::invalid_request("this revision has no batches: send one message at a time"),
            None,
            log,
        );
    }
    if messages.is_empty() || messages.len() > MAX_BATCH_MESSAGES {
        return refuse(&error::invalid_request("a batch holds 1 to 20 messages"), None, log);
    }
    let mut answers = Answer::default();
    answers.raw("[");
    let mut any = false;
    for message in messages {
        let read = message::read(message.get());
        if let Ok(Incoming::Request(request)) = &read
            && (era::has_envelope(request) || request.method == "initialize")
        {
            return refuse(&error::invalid_request("this message cannot be part of a batch"), None, log);
        }
        let reply = match read {
            Ok(Incoming::Request(request)) => answer_request(&request, headers.as_ref(), door, log).await,
            Ok(Incoming::Notification(_) | Incoming::Response) => Reply::accepted(),
            Err(Unreadable { id, error }) => Reply::error(&error, id),
        };
        let Some(mut answer) = reply.answer else { continue };
        if answers.len() + answer.len() + 2 > MAX_ANSWER_BYTES {
            let id = match message::read(message.get()) {
                Ok(Incoming::Request(request)) => Some(request.id),
                _ => None,
            };
            answer = Answer::default();
            answer.raw(&error::batch_too_large().to_json(id));
        }
        answers.raw(if any { "," } else { "" }).append(answer);
        any = true;
    }
    log.method = "batch";
    if !any {
        return Reply::accepted();
    }
    answers.raw("]");
    Reply { status: 200, answer: Some(answers), then: Then::Nothing }
}
