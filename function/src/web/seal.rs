//! What every answer gets before it leaves: headers for pages of other origins and for caches, and its line in the log.

use http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, CACHE_CONTROL, CONTENT_LENGTH, VARY,
    WWW_AUTHENTICATE,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};

use crate::exchange::{Exchange, Scope};
use crate::web::App;
use crate::web::refusal::OTHER_SCOPE;
use crate::web::reply::{Media, Payload, Reply};
use crate::web::routes::{Endpoint, Route};

const EXPOSED_HEADERS: HeaderValue = HeaderValue::from_static("retry-after, www-authenticate");

/// Most bytes of a path that does not exist in the log.
const MAX_PATH_BYTES: usize = 64;

impl App {
    /// Seals a reply.
    pub(super) fn seal(
        &self,
        x: &Exchange<'_>,
        route: &Route,
        parts: &Parts,
        mut reply: Reply,
    ) -> Response<Payload> {
        let bytes = reply.body.len();
        if parts.method == Method::HEAD {
            reply = without_body(reply, bytes);
        }
        let mut response = reply.into_response();
        if !self.access.origins.is_empty() {
            self.tell_origins(parts, response.headers_mut());
        }
        if !self.tokens.is_empty() {
            keep_private(&mut response);
            // Where no token would help, none is asked for.
            if x.scope != Scope::Read && route.needs.is_some() && response.status() == StatusCode::FORBIDDEN {
                response.headers_mut().insert(WWW_AUTHENTICATE, OTHER_SCOPE);
            }
        }
        let status = response.status().as_u16();
        let path = (route.to == Endpoint::Missing && status == 404).then(|| parts.uri.path());
        x.close(status, bytes, path.map(cut));
        response
    }

    /// Tells pages of configured origins that they may read the answer.
    fn tell_origins(&self, parts: &Parts, headers: &mut HeaderMap) {
        headers.append(VARY, HeaderValue::from_static("Origin"));
        let origin = self.access.configured_origin(&parts.headers);
        if let Some(origin) = origin.and_then(|origin| HeaderValue::from_str(origin).ok()) {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
        }
    }
}

/// Leaves out the body, which nobody asked for, and says how long it would be.
fn without_body(reply: Reply, bytes: usize) -> Reply {
    let counts = reply.media != Media::None && !has(&reply, &CONTENT_LENGTH);
    let reply = Reply { body: Payload::Empty, ..reply };
    if counts { reply.with(CONTENT_LENGTH, bytes) } else { reply }
}

fn has(reply: &Reply, name: &http::HeaderName) -> bool {
    reply.more.as_ref().is_some_and(|more| more.contains_key(name))
}

/// Where tokens are asked for, no shared cache may keep an answer.
fn keep_private(response: &mut Response<Payload>) {
    let public = response.headers().get(CACHE_CONTROL).and_then(|value| value.to_str().ok());
    if let Some(rest) = public.and_then(|value| value.strip_prefix("public"))
        && let Ok(private) = HeaderValue::from_str(&format!("private{rest}"))
    {
        response.headers_mut().insert(CACHE_CONTROL, private);
        response.headers_mut().append(VARY, HeaderValue::from_static("Authorization"));
    }
}

/// Returns the beginning of a path. It is the caller's text: a few bytes of it help to find a misconfigured client.
fn cut(path: &str) -> &str {
    path.get(..path.floor_char_boundary(MAX_PATH_BYTES)).unwrap_or_default()
}
