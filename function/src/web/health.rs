//! `GET /`: what is served, and since when. `GET /health`: the same, for those who look at the status alone.

use std::time::SystemTime;

use wakashu_storage::Timestamp;

use crate::exchange::Exchange;
use crate::served::snapshot::IndexState;
use crate::text::Answer;
use crate::web::reply::Reply;

/// Answers; with `unready` where there is nothing to answer from.
pub(super) fn answer(x: &Exchange<'_>, unready: u16) -> Reply {
    let served = &x.served;
    let reason = match served.state() {
        IndexState::Ready => None,
        IndexState::NotConfigured => Some("no archive is configured"),
        IndexState::Unavailable => Some("the archive could not be opened yet"),
    };
    let mut out = Answer::default();
    out.raw(r#"{"status":"ok","message":"#).string(&format!("「{}」のMCPサーバーです。", served.title()));
    out.raw(r#","ready":"#).raw(if reason.is_none() { "true" } else { "false" });
    if let Some(reason) = reason {
        out.raw(r#","reason":"#).string(reason);
    }
    out.raw(r#","version":"#).string(env!("CARGO_PKG_VERSION"));
    out.raw(r#","uptime":"#).number(x.core.started.elapsed().as_secs());
    out.raw(r#","timestamp":"#).string(&Timestamp::from(SystemTime::now()).to_string());
    out.raw(r#","index":{"state":"#).string(served.state().as_str());
    out.raw(r#","stale":"#).raw(if served.stale_since().is_some() { "true" } else { "false" });
    if let Some(loaded) = served.loaded() {
        out.raw(r#","digest":"#).string(&loaded.digest);
    }
    out.raw("}}");
    Reply::json(if reason.is_none() { 200 } else { unready }, out)
}
