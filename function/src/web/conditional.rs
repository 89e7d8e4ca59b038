//! What a client has already need not be sent again.

use http::header::{ETAG, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue};

use crate::web::reply::Reply;

/// Tells whether a client already has what `etag` names, so that nothing has to be read.
pub(super) fn is_known(headers: &HeaderMap, etag: &str) -> bool {
    let is_among = |tags: &str| {
        tags.split(',').map(str::trim).any(|tag| tag == "*" || tag.trim_start_matches("W/") == etag)
    };
    // As it was sent, from nearly everybody; else a list.
    headers.get_all(IF_NONE_MATCH).iter().any(|sent| sent == etag || sent.to_str().is_ok_and(is_among))
}

/// Names what a reply holds.
pub(super) fn tagged(reply: Reply, etag: &str) -> Reply {
    match HeaderValue::from_str(etag) {
        Ok(etag) => reply.with(ETAG, etag),
        Err(_) => reply,
    }
}
