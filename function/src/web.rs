//! HTTP: the one way from a request to its answer, behind every door that speaks it.
//!
//! Every request takes the same steps: its row in [`ROUTES`](routes::ROUTES) is found, it is [admitted](admit), its
//! [body] is read, it is answered, the answer is [sealed](seal). What a step does, it does in one place, for all rows.

pub(crate) mod access;
mod admit;
mod body;
mod conditional;
mod events;
mod health;
mod metrics;
mod pages;
mod pictures;
mod query;
mod refusal;
mod reply;
pub(crate) mod routes;
mod seal;
pub(crate) mod tokens;

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::header::{LOCATION, RETRY_AFTER};
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response};
use percent_encoding::percent_decode_str;
use wakashu_wire::Revision;

use crate::exchange::rates::Rates;
use crate::exchange::{Arrival, Core, Exchange};
use crate::fault::ToolError;
use crate::mcp::subscriptions::Subscription;
use crate::mcp::{self, Then};
use crate::served::state::ArchiveState;
use crate::v1;
use crate::web::access::Access;
use crate::web::refusal::Refusal;
use crate::web::reply::Reply;
use crate::web::routes::{Endpoint, Route};
use crate::web::tokens::Token;

pub(crate) use reply::Payload;

/// When to ask again for a stream. Their clients end them when they like; nobody can tell when that will be.
const SECONDS_UNTIL_A_STREAM_ENDS: u64 = 60;

/// Everything that is built once and stands behind an HTTP door.
#[derive(Debug)]
pub struct App {
    pub(crate) core: Core,
    /// Whom to answer.
    pub(crate) access: Access,
    /// Tokens that are accepted; if empty, everybody may ask.
    pub(crate) tokens: Vec<Token>,
    /// The rate limit of requests without a valid token, if there is one.
    pub(crate) strangers: Option<Rates>,
    /// Whether picture links begin with the name a request was sent to.
    pub(crate) follows_host: bool,
    /// Where a bundle for desktop clients can be had, if that is known.
    pub(crate) bundle: Option<String>,
}

impl App {
    /// Serves `state` to those whom `access` lets in, open to all and with the usual limits. Picture links begin with
    /// `base`.
    #[must_use]
    pub fn new(state: Arc<ArchiveState>, access: Access, base: Option<String>) -> Self {
        let core = Core::new(state, base);
        Self { core, access, tokens: Vec::new(), strangers: None, follows_host: false, bundle: None }
    }

    /// Asks for one of `tokens`, where there are any.
    #[must_use]
    pub fn with_tokens(mut self, tokens: Vec<Token>) -> Self {
        self.core.is_guarded = !tokens.is_empty();
        Self { tokens, ..self }
    }

    /// Allows so many requests per second from all clients together and from each, 0 meaning any number.
    #[must_use]
    pub fn with_rates(mut self, together: u32, each: u32) -> Self {
        self.core.rates = Rates::new(together, each);
        self.strangers = Rates::new(together, each);
        self
    }

    /// Answers one request.
    pub async fn answer<B>(&self, arrival: Arrival, request: Request<B>) -> Response<Payload>
    where
        B: http_body::Body<Data = Bytes>,
    {
        let (parts, body) = request.into_parts();
        let (mut row, mut route) = routes::find(parts.uri.path());
        if !self.has(route.to) {
            (row, route) = routes::nowhere();
        } else if route.to == Endpoint::Health
            && self.core.gateway.is_none()
            && health::is_for_a_browser(&parts.headers)
        {
            (row, route) = routes::front();
        }
        let mut x = Exchange::begin(&self.core, arrival);
        x.row = row;
        x.facts.method = route.name;
        let replied = {
            let replying = pin!(self.reply(&mut x, route, &parts, body));
            AssertUnwindSafe(replying).catch_unwind().await
        };
        let reply = replied.unwrap_or_else(|_| {
            ToolError::Panicked.report(None, &x.id);
            Refusal::Fault(ToolError::Panicked).in_form(&mut x, route.form)
        });
        self.seal(&x, route, &parts, reply)
    }

    /// Tells whether an endpoint is there: counters may be off, a gateway has no archive to show, and only pages of a
    /// preview hear of changes.
    fn has(&self, endpoint: Endpoint) -> bool {
        match endpoint {
            Endpoint::Mcp | Endpoint::Health | Endpoint::Ready => true,
            Endpoint::Metrics => self.core.metrics.is_some(),
            Endpoint::Changes => self.core.preview.is_some(),
            _ => self.core.gateway.is_none(),
        }
    }

    /// Refuses what a door could not make a request of.
    pub(crate) fn refuse_unreadable(&self, arrival: Arrival, problem: &'static str) -> Response<Payload> {
        let mut x = Exchange::begin(&self.core, arrival);
        let (row, route) = routes::nowhere();
        x.row = row;
        x.facts.method = route.name;
        x.facts.error = Some("EVENT");
        let (parts, ()) = Request::new(()).into_parts();
        self.seal(&x, route, &parts, Reply::plain(400, problem))
    }

    async fn reply<B>(&self, x: &mut Exchange<'_>, route: &'static Route, parts: &Parts, body: B) -> Reply
    where
        B: http_body::Body<Data = Bytes>,
    {
        if let Some(reply) = self.admit(x, route, parts) {
            return reply;
        }
        let body = match body::read(route.body, &parts.headers, body).await {
            Ok(body) => body,
            Err(refused) => return Refusal::Body(refused).in_form(x, route.form),
        };
        match route.to {
            // The one that matters is answered in place, all others in a box.
            Endpoint::Mcp => self.answer_mcp(x, parts, &body).await,
            _ => Box::pin(self.answer_other(x, route, parts, &body)).await,
        }
    }

    async fn answer_mcp(&self, x: &mut Exchange<'_>, parts: &Parts, body: &[u8]) -> Reply {
        // A client that names no revision speaks the oldest that has no header.
        let source = mcp::Source { headers: Some(&parts.headers), remembered: Revision::V2025_03_26 };
        let replied = mcp::answer(x, source, body).await;
        let reply = match replied.answer {
            Some(answer) => Reply::json(replied.status, answer),
            None => Reply::empty(replied.status),
        };
        match replied.then {
            Then::Listen(subscription) => match self.core.streams.place(x.client) {
                Some(place) => events::stream(&self.core, *subscription, place),
                None => too_many_streams(x, &subscription),
            },
            Then::ComeBack(seconds) => reply.with(RETRY_AFTER, seconds),
            // Over HTTP a request is cancelled by closing its connection; calls are short and run to their end.
            Then::Cancel(_) | Then::Agree(_) | Then::Nothing => reply,
        }
    }

    async fn answer_other(
        &self,
        x: &mut Exchange<'_>,
        route: &'static Route,
        parts: &Parts,
        body: &[u8],
    ) -> Reply {
        let path = parts.uri.path();
        let tool;
        let asked = match route.to {
            Endpoint::Health => return health::answer_at_the_front(x),
            Endpoint::Ready => return health::answer(x, 503),
            Endpoint::Metrics => return metrics::answer(x),
            Endpoint::Picture => return pictures::answer(x, route, parts).await,
            Endpoint::Page(page) => return pages::answer(self, x, page, route, parts).await,
            Endpoint::Asset => return pages::asset(x, route.path.segments(path).next(), parts),
            Endpoint::Icon => return pages::icon(parts),
            Endpoint::Changes => return changes(x, route),
            Endpoint::Moved => return moved(parts),
            Endpoint::Mcp | Endpoint::Missing => return Refusal::Missing.in_form(x, route.form),
            Endpoint::V1List => v1::Asked::List(parts.uri.query()),
            Endpoint::V1Tool => {
                let segment = route.path.segments(path).next().unwrap_or_default();
                tool = percent_decode_str(segment).decode_utf8_lossy();
                v1::Asked::Tool(&tool)
            }
            Endpoint::V1Search => v1::Asked::Search(body),
            Endpoint::V1Call => v1::Asked::Call(body),
            Endpoint::OpenApi => v1::Asked::OpenApi { with_tokens: !self.tokens.is_empty() },
        };
        refusal::of_v1(v1::answer(x, asked).await)
    }
}

/// Turns away a client that wants to listen where no more streams can be held, or none to its address.
fn too_many_streams(x: &mut Exchange<'_>, subscription: &Subscription) -> Reply {
    let refused = ToolError::RateLimited { retry_after_seconds: SECONDS_UNTIL_A_STREAM_ENDS };
    x.facts.error = Some(refused.code());
    let error = mcp::error::of_fault(&refused, &x.id);
    let replied = mcp::refuse(x, &error, Some(&subscription.id));
    let reply = Reply::json(replied.status, replied.answer.unwrap_or_default());
    reply.with(RETRY_AFTER, SECONDS_UNTIL_A_STREAM_ENDS)
}

/// Tells a page of a preview what is shown, and when that changes.
fn changes(x: &mut Exchange<'_>, route: &Route) -> Reply {
    match (x.core.preview.clone(), x.core.streams.place(x.client)) {
        (None, _) => Refusal::Missing.in_form(x, route.form),
        (_, None) => {
            let refused = ToolError::RateLimited { retry_after_seconds: SECONDS_UNTIL_A_STREAM_ENDS };
            Refusal::Fault(refused).in_form(x, route.form)
        }
        (Some(preview), Some(place)) => events::of_preview(x.core, preview, place),
    }
}

/// Leads from the old addresses to the ones under `/v1`, the query with them.
fn moved(parts: &Parts) -> Reply {
    // 307 for calls: a client that takes it for permanent would still have to repeat the body.
    let status = if parts.method == Method::POST { 307 } else { 308 };
    let reply = Reply::plain(status, "this has moved to /v1");
    let target = parts.uri.path_and_query().map_or("/tools", http::uri::PathAndQuery::as_str);
    match HeaderValue::from_str(&format!("/v1{target}")) {
        Ok(target) => reply.with(LOCATION, target),
        Err(_) => reply,
    }
}
