//! The protocol core: JSON-RPC in, JSON-RPC out, both eras, no state between messages.

mod completion;
pub(crate) mod error;
pub(crate) mod lists;
mod methods;
pub(crate) mod prompts;
mod resources;
pub(crate) mod subscriptions;

use std::mem;
use std::pin::pin;

use http::HeaderMap;
use wakashu_wire::{Body, Era, Headers, Incoming, Raw, Request, Revision, Unreadable, era, message};

use crate::desk::Wants;
use crate::exchange::rates::TooMany;
use crate::exchange::{Exchange, Owed, Scope};
use crate::fault::ToolError;
use crate::gateway::{Ask, Gateway};
use crate::mcp::error::RpcError;
use crate::mcp::methods::{Kind, Method};
use crate::mcp::subscriptions::Subscription;
use crate::observe::facts::Facts;
use crate::served::limits::{MAX_ANSWER_BYTES, MAX_BATCH_MESSAGES};
use crate::text::{Answer, Open, field};
use crate::tools::{self, Tool, write_text_block};

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
    Listen(Box<Subscription>),
    /// Stop working on the request with this id.
    Cancel(String),
    /// From now on speak this revision, where nothing else is said.
    Agree(Revision),
    /// Tell the client to come back after so many seconds.
    ComeBack(u64),
}

impl Reply {
    fn new(status: u16, answer: Option<Answer>) -> Self {
        Self { status, answer, then: Then::Nothing }
    }

    fn accepted() -> Self {
        Self::new(202, None)
    }

    fn error(error: &RpcError, id: Option<&str>) -> Self {
        let mut answer = Answer::default();
        answer.value(&error.to_json(id));
        Self::new(error.status, Some(answer))
    }
}

/// Where a message came from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    /// HTTP headers; none on stdio.
    pub(crate) headers: Option<&'a HeaderMap>,
    /// The legacy revision to assume where a message names none.
    pub(crate) remembered: Revision,
}

/// Answers a message, or a batch where the revision has batches.
pub(crate) async fn answer(x: &mut Exchange<'_>, source: Source<'_>, body: &[u8]) -> Reply {
    let headers = source.headers.map(Headers::read);
    match message::split(body) {
        Ok(Body::Single(text)) => answer_message(x, headers.as_ref(), source.remembered, text).await,
        // Boxed, as batches are rare and the state of a call is moved about before it is first polled.
        Ok(Body::Batch(messages)) => {
            Box::pin(answer_batch(x, headers.as_ref(), source.remembered, &messages)).await
        }
        Err(error) => refuse(x, &error, None),
    }
}

/// Answers with a JSON-RPC error, and notes its code.
pub(crate) fn refuse(x: &mut Exchange<'_>, error: &RpcError, id: Option<&str>) -> Reply {
    x.facts.rpc_code = Some(error.code);
    Reply::error(error, id)
}

async fn answer_message(
    x: &mut Exchange<'_>,
    headers: Option<&Headers<'_>>,
    remembered: Revision,
    text: &str,
) -> Reply {
    match message::read(text) {
        Ok(Incoming::Request(request)) => answer_request(x, headers, remembered, &request, text).await,
        Ok(Incoming::Notification(notification)) => {
            x.facts.method = methods::known_name(&notification.method);
            let then = notification.request_id.map_or(Then::Nothing, |id| Then::Cancel(id.to_owned()));
            Reply { then, ..Reply::accepted() }
        }
        Ok(Incoming::Response) => {
            x.facts.method = "response";
            if headers.and_then(Headers::revision).is_some_and(Revision::is_modern) {
                refuse(x, &error::invalid_request("this server takes no responses"), None)
            } else {
                Reply::accepted()
            }
        }
        Err(Unreadable { id, error }) => refuse(x, &error, id),
    }
}

async fn answer_request(
    x: &mut Exchange<'_>,
    headers: Option<&Headers<'_>>,
    remembered: Revision,
    request: &Request<'_>,
    message: &str,
) -> Reply {
    let method = Method::find(&request.method);
    x.facts.method = method.map_or_else(|| methods::known_name(&request.method), |method| method.name);
    let era = match era::choose(request, headers, remembered) {
        Ok(era) => era,
        Err(error) => return refuse(x, &error, Some(request.id)),
    };
    x.facts.era = era.revision.as_str();
    x.facts.header_differs = era.header_differs;
    if let Some(gateway) = &x.core.gateway {
        return Box::pin(pass_on(x, gateway.as_ref(), message, request, era, method)).await;
    }
    let asked = match Asked::new(x, request, era, method) {
        Ok(asked) => asked,
        Err(error) => return refuse(x, &error, Some(request.id)),
    };
    let then = match asked.method.kind {
        Kind::Listen => {
            return listen(x, request);
        }
        Kind::Initialize => match methods::agree(request) {
            Ok(agreed) => {
                x.facts.era = agreed.as_str();
                Then::Agree(agreed)
            }
            Err(error) => return refuse(x, &error, Some(request.id)),
        },
        _ => Then::Nothing,
    };
    match x.work(asked.wants(), &asked).await {
        Ok(answer) => Reply { then, ..Reply::new(200, Some(answer)) },
        Err(refused) => asked.refuse(x, refused),
    }
}

fn listen(x: &mut Exchange<'_>, request: &Request<'_>) -> Reply {
    match Subscription::read(request, x.core.gateway.is_some()) {
        Ok(subscription) => Reply { then: Then::Listen(Box::new(subscription)), ..Reply::new(200, None) },
        Err(error) => refuse(x, &error, Some(request.id)),
    }
}

/// Has a gateway answer a request. It takes a place as one for the archive does, and is fenced in like that.
async fn pass_on(
    x: &mut Exchange<'_>,
    gateway: &dyn Gateway,
    message: &str,
    request: &Request<'_>,
    era: Era,
    method: Option<&'static Method>,
) -> Reply {
    let id = Some(request.id);
    let method = match permitted(x, era, method) {
        Ok(method) => method,
        Err(error) => return refuse(x, &error, id),
    };
    let (mut revision, mut then) = (era.revision, Then::Nothing);
    match method.kind {
        // Which tool shows what is for its server to know.
        Kind::CallTool if !x.scope.covers(Scope::Read) => return refuse(x, &error::not_covered(), id),
        Kind::Listen => return listen(x, request),
        Kind::Initialize => match methods::agree(request) {
            Ok(agreed) => {
                x.facts.era = agreed.as_str();
                (revision, then) = (agreed, Then::Agree(agreed));
            }
            Err(error) => return refuse(x, &error, id),
        },
        _ => {}
    }
    let wants = Wants { place: method.reads, time_limit: None };
    let work = async {
        let ask = Ask { message, request, revision, is_guarded: x.core.is_guarded };
        gateway.answer(ask).await.map_err(Refused::Rpc)
    };
    match x.core.desk.run(wants, x.end, pin!(work)).await {
        Ok(pieces) => Reply { then, ..Reply::new(200, Some(Answer::of_pieces(pieces))) },
        Err(Refused::Rpc(error)) => refuse(x, &error, id),
        Err(Refused::Fault(fault)) => refuse_fault(x, &fault, id),
    }
}

/// Answers with the error that a failure becomes.
fn refuse_fault(x: &mut Exchange<'_>, fault: &ToolError, id: Option<&str>) -> Reply {
    x.facts.error = Some(fault.code());
    fault.report(x.facts.tool, &x.id);
    let reply = refuse(x, &error::of_fault(fault, &x.id.clone()), id);
    match fault {
        ToolError::RateLimited { retry_after_seconds } => {
            Reply { then: Then::ComeBack(*retry_after_seconds), ..reply }
        }
        _ => reply,
    }
}

/// Returns the method of a request, if it exists for it and its token covers it.
fn permitted(
    x: &Exchange<'_>,
    era: Era,
    method: Option<&'static Method>,
) -> Result<&'static Method, RpcError> {
    let method = method.filter(|method| method.is_there(x, era));
    let method = method.ok_or_else(|| error::method_not_found(era.is_modern()))?;
    if x.scope.covers(method.needs) { Ok(method) } else { Err(error::not_covered()) }
}

/// A request whose method is known, and its tool where it calls one.
struct Asked<'a> {
    request: &'a Request<'a>,
    era: Era,
    method: &'static Method,
    tool: Option<&'static Tool>,
}

/// Why a request has no result.
#[derive(Debug)]
pub(crate) enum Refused {
    /// By the protocol.
    Rpc(RpcError),
    /// By what happened on the way.
    Fault(ToolError),
}

impl From<RpcError> for Refused {
    fn from(error: RpcError) -> Self {
        Self::Rpc(error)
    }
}

impl From<ToolError> for Refused {
    fn from(error: ToolError) -> Self {
        Self::Fault(error)
    }
}

impl<'a> Asked<'a> {
    fn new(
        x: &mut Exchange<'_>,
        request: &'a Request<'a>,
        era: Era,
        method: Option<&'static Method>,
    ) -> Result<Self, RpcError> {
        let method = permitted(x, era, method)?;
        let tool = if method.kind == Kind::CallTool { Some(methods::find_tool(request)?) } else { None };
        x.facts.tool = tool.map(|tool| tool.name);
        Ok(Self { request, era, method, tool })
    }

    fn wants(&self) -> Wants {
        Wants { place: self.method.reads, time_limit: None }
    }

    /// Begins with a message and its result, both still open.
    fn begin(&self) -> (Answer, [Open; 2]) {
        let mut out = Answer::default();
        let message = out.open_object();
        field!(out, "jsonrpc": "2.0");
        field!(out, "id").value(self.request.id);
        let result = field!(out, "result").open_object();
        if self.era.is_modern() {
            field!(out, "resultType": "complete");
        }
        (out, [result, message])
    }

    fn end(&self, x: &Exchange<'_>, out: &mut Answer, [result, message]: [Open; 2]) {
        if self.era.is_modern() {
            out.fields(&x.served.prepared().stamp);
        }
        out.close(result).close(message);
    }

    /// Answers with what a failure becomes: a tool's is a result that the model can act on, all others are errors.
    #[cold]
    fn refuse(&self, x: &mut Exchange<'_>, refused: Refused) -> Reply {
        let id = Some(self.request.id);
        let fault = match refused {
            Refused::Rpc(error) => return refuse(x, &error, id),
            Refused::Fault(fault) => fault,
        };
        x.facts.error = Some(fault.code());
        fault.report(x.facts.tool, &x.id);
        if let Some(tool) = self.tool {
            x.count_fault(tool.name, &fault);
        }
        if self.tool.is_some() && !matches!(fault, ToolError::Authorization | ToolError::Panicked) {
            let (mut out, open) = self.begin();
            field!(out, "isError").boolean(true);
            field!(out, "content").array([fault.sentence(&x.id)], |out, text| write_text_block(out, &text));
            self.end(x, &mut out, open);
            return Reply::new(200, Some(out));
        }
        let reply = refuse(x, &error::of_fault(&fault, &x.id.clone()), id);
        match fault {
            ToolError::RateLimited { retry_after_seconds } => {
                Reply { then: Then::ComeBack(retry_after_seconds), ..reply }
            }
            _ => reply,
        }
    }
}

impl Owed for Asked<'_> {
    type Done = Answer;
    type Refused = Refused;

    async fn work(&self, x: &mut Exchange<'_>) -> Result<Answer, Refused> {
        let (mut out, open) = self.begin();
        match self.tool {
            Some(tool) => {
                let arguments = self.request.params.arguments.members();
                tool.call(x, arguments, tools::Form::Result, &mut out).await?;
            }
            None => self.method.answer(x, self.request, self.era, &mut out).await?,
        }
        self.end(x, &mut out, open);
        Ok(out)
    }
}

async fn answer_batch(
    x: &mut Exchange<'_>,
    headers: Option<&Headers<'_>>,
    remembered: Revision,
    messages: &[Raw<'_>],
) -> Reply {
    x.facts.method = "batch";
    let revision = match headers.and_then(Headers::version) {
        Some(_) => headers.and_then(Headers::revision),
        None => Some(remembered),
    };
    let Some(revision) = revision.filter(|revision| revision.has_batches()) else {
        let rule = "this revision has no batches: send one message at a time";
        return refuse(x, &error::invalid_request(rule), None);
    };
    if messages.is_empty() || messages.len() > MAX_BATCH_MESSAGES {
        return refuse(x, &error::invalid_request("a batch holds 1 to 20 messages"), None);
    }
    match x.charge(messages.len()) {
        Ok(()) => {}
        Err(TooMany::Now(seconds)) => {
            let fault = ToolError::RateLimited { retry_after_seconds: seconds };
            return refuse_fault(x, &fault, None);
        }
        Err(TooMany::Ever(most)) => return refuse(x, &error::batch_beyond_the_rate(most), None),
    }
    // Twenty calls may not take twenty times as long as one.
    x.end = Some(x.started + x.core.desk.time_limit());
    let mut answers = Answer::default();
    let list = answers.open_array();
    let mut any = false;
    let mut failed: Option<Facts> = None;
    for message in messages {
        x.facts = Facts { method: "batch", ..Facts::default() };
        let read = message::read(message.get());
        if let Ok(Incoming::Request(request)) = &read
            && (era::has_envelope(request) || request.method == "initialize")
        {
            return refuse(x, &error::invalid_request("this message cannot be part of a batch"), None);
        }
        let reply = match &read {
            Ok(Incoming::Request(request)) => {
                answer_request(x, headers, remembered, request, message.get()).await
            }
            // What a notification cancels is cancelled where lines are read.
            Ok(Incoming::Notification(_) | Incoming::Response) => Reply::accepted(),
            Err(Unreadable { id, error }) => refuse(x, error, *id),
        };
        if failed.is_none() && (x.facts.error.is_some() || x.facts.rpc_code.is_some()) {
            failed = Some(mem::take(&mut x.facts));
        }
        let Some(mut answer) = reply.answer else { continue };
        if answers.len() + answer.len() + 2 > MAX_ANSWER_BYTES {
            let id = if let Ok(Incoming::Request(request)) = &read { Some(request.id) } else { None };
            answer = Answer::default();
            answer.value(&error::batch_too_large().to_json(id));
        }
        answers.item().append(answer);
        any = true;
    }
    // The line tells of the first message that failed.
    x.facts = Facts { method: "batch", era: revision.as_str(), ..failed.unwrap_or_default() };
    if !any {
        return Reply::accepted();
    }
    answers.close(list);
    Reply::new(200, Some(answers))
}
