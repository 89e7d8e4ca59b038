//! What a client has already need not be sent again.

use http::header::{ETAG, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue};

use crate::web::reply::Reply;

/// Tells whether a client already has what `etag` names, so that nothing has to be read.
pub(super) fn is_known(headers: &HeaderMap, etag: &str) -> bool {
    let known = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut known = known.flat_map(|value| value.split(',')).map(|tag| tag.trim().trim_start_matches("W/"));
    known.any(|tag| tag == etag || tag == "*")
}

/// Names what a reply holds.
pub(super) fn tagged(reply: Reply, etag: &str) -> Reply {
    match HeaderValue::from_str(etag) {
        Ok(etag) => reply.with(ETAG, etag),
        Err(_) => reply,
    }
}
