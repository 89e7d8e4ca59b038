//! `GET /`: what is served, and since when.

use std::time::SystemTime;

use wakashu_storage::Timestamp;

use crate::exchange::Exchange;
use crate::text::Answer;
use crate::web::reply::Reply;

pub(super) fn answer(x: &Exchange<'_>) -> Reply {
    let served = &x.served;
    let mut out = Answer::default();
    out.raw(r#"{"status":"ok","message":"#).string(&format!("「{}」のMCPサーバーです。", served.title()));
    out.raw(r#","version":"#).string(env!("CARGO_PKG_VERSION"));
    out.raw(r#","uptime":"#).number(x.core.started.elapsed().as_secs());
    out.raw(r#","timestamp":"#).string(&Timestamp::from(SystemTime::now()).to_string());
    out.raw(r#","index":{"state":"#).string(served.state().as_str());
    out.raw(r#","stale":"#).raw(if served.stale_since().is_some() { "true" } else { "false" });
    if let Some(loaded) = served.loaded() {
        out.raw(r#","digest":"#).string(&loaded.digest);
    }
    out.raw("}}");
    Reply::json(200, out)
}
