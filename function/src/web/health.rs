//! `GET /`: what is served, and since when. `GET /health`: the same, for those who look at the status alone.

use std::time::SystemTime;

use wakashu_storage::Timestamp;

use crate::exchange::Exchange;
use crate::gateway::Gateway;
use crate::served::snapshot::IndexState;
use crate::text::{Answer, field};
use crate::web::reply::Reply;

/// Answers; with `unready` where there is nothing to answer from.
pub(super) fn answer(x: &Exchange<'_>, unready: u16) -> Reply {
    if let Some(gateway) = &x.core.gateway {
        return of_gateway(x, gateway.as_ref(), unready);
    }
    let served = &x.served;
    let reason = match served.state() {
        IndexState::Ready => None,
        IndexState::NotConfigured => Some("no archive is configured"),
        IndexState::Unavailable => Some("the archive could not be opened yet"),
    };
    let mut out = Answer::default();
    out.object(|out| {
        field!(out, "status": "ok");
        field!(out, "message").string(&format!("「{}」のMCPサーバーです。", served.title()));
        field!(out, "ready").boolean(reason.is_none());
        if let Some(reason) = reason {
            field!(out, "reason").string(reason);
        }
        field!(out, "version").string(env!("CARGO_PKG_VERSION"));
        field!(out, "uptime").number(x.core.started.elapsed().as_secs());
        field!(out, "timestamp").string(&Timestamp::from(SystemTime::now()).to_string());
        field!(out, "index").object(|out| {
            field!(out, "state").string(served.state().as_str());
            field!(out, "stale").boolean(served.stale_since().is_some());
            if let Some(loaded) = served.loaded() {
                field!(out, "digest").string(&loaded.digest);
            }
        });
    });
    Reply::json(if reason.is_none() { 200 } else { unready }, out)
}

/// Answers for a gateway: how the servers are that it passes requests on to.
fn of_gateway(x: &Exchange<'_>, gateway: &dyn Gateway, unready: u16) -> Reply {
    let (is_ready, servers) = gateway.health();
    let mut out = Answer::default();
    out.object(|out| {
        field!(out, "status": "ok");
        field!(out, "ready").boolean(is_ready);
        field!(out, "version").string(env!("CARGO_PKG_VERSION"));
        field!(out, "uptime").number(x.core.started.elapsed().as_secs());
        field!(out, "timestamp").string(&Timestamp::from(SystemTime::now()).to_string());
        field!(out, "servers").value(&servers);
    });
    Reply::json(if is_ready { 200 } else { unready }, out)
}
