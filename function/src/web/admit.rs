//! Whether a request may come in: its host and origin, its token, how often it comes, its method. In this order, for
//! every path; what is not configured costs a comparison.

use std::borrow::Cow;

use http::HeaderValue;
use http::Method;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_METHOD, HOST,
};
use http::request::Parts;

use crate::exchange::Exchange;
use crate::exchange::rates::Rates;
use crate::fault::ToolError;
use crate::web::refusal::Refusal;
use crate::web::reply::Reply;
use crate::web::routes::{Endpoint, Route};
use crate::web::tokens::scope_of;
use crate::web::{App, access};

/// What browsers may send: what MCP clients do.
const ALLOWED_HEADERS: HeaderValue = HeaderValue::from_static(
    "content-type, accept, authorization, mcp-protocol-version, mcp-method, mcp-name, mcp-session-id, last-event-id",
);
const TEN_MINUTES: HeaderValue = HeaderValue::from_static("600");

impl App {
    /// Lets a request in, and notes what its token is good for; or returns what it is answered instead.
    pub(super) fn admit(&self, x: &mut Exchange<'_>, route: &'static Route, parts: &Parts) -> Option<Reply> {
        match self.access.check(&parts.uri, &parts.headers) {
            // A picture that stands in somebody's page is asked for from there.
            Ok(()) => {}
            Err(access::Refusal::Origin) if route.to == Endpoint::Picture => {}
            Err(refused) => return Some(Refusal::Access(refused).in_form(x, route.form)),
        }
        if self.follows_host
            && let Some(host) = parts.headers.get(HOST).and_then(|host| host.to_str().ok())
        {
            x.base = Some(Cow::Owned(format!("http://{host}")));
        }
        if parts.method == Method::OPTIONS
            && let Some(reply) = self.preflight(route, parts)
        {
            return Some(reply);
        }
        if let Err(fault) = self.check_token(x, route, parts) {
            return Some(Refusal::Fault(fault).in_form(x, route.form));
        }
        if !route.methods.contain(&parts.method) {
            return Some(Refusal::Method(route.methods).in_form(x, route.form));
        }
        None
    }

    /// Answers a browser that asks on behalf of a page of a configured origin what it may send.
    fn preflight(&self, route: &Route, parts: &Parts) -> Option<Reply> {
        let is_asked = parts.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
            && self.access.configured_origin(&parts.headers).is_some()
            && route.to != Endpoint::Missing;
        is_asked.then(|| {
            Reply::empty(204)
                .with(ACCESS_CONTROL_ALLOW_METHODS, route.methods.allow())
                .with(ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED_HEADERS)
                .with(ACCESS_CONTROL_MAX_AGE, TEN_MINUTES)
        })
    }

    /// Checks the scope of a request's token, then the rate limits. Where tokens are required, requests without a valid one
    /// have a limiter of their own, so that neither guessing nor open paths use up what readers may ask.
    fn check_token(&self, x: &mut Exchange<'_>, route: &Route, parts: &Parts) -> Result<(), ToolError> {
        if self.tokens.is_empty() {
            return within(self.core.rates.as_ref().filter(|_| route.rated), x);
        }
        match (scope_of(&self.tokens, &parts.headers), route.needs) {
            (Some(scope), needs) => {
                x.scope = scope;
                within(self.core.rates.as_ref().filter(|_| route.rated), x)?;
                if needs.is_none_or(|needs| scope.covers(needs)) {
                    Ok(())
                } else {
                    Err(ToolError::Authorization)
                }
            }
            (None, None) => within(self.strangers.as_ref().filter(|_| route.rated), x),
            (None, Some(_)) => {
                within(self.strangers.as_ref(), x)?;
                Err(ToolError::Authentication)
            }
        }
    }
}

/// Counts a request where requests are limited.
fn within(rates: Option<&Rates>, x: &Exchange<'_>) -> Result<(), ToolError> {
    let Some(rates) = rates else { return Ok(()) };
    rates.check(x.client).map_err(|retry_after_seconds| ToolError::RateLimited { retry_after_seconds })
}
