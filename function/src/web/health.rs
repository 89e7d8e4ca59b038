//! `GET /`: what is served, and since when. `GET /health`: the same, for those who look at the status alone.

use std::time::SystemTime;

use http::header::{ACCEPT, VARY};
use http::{HeaderMap, HeaderValue};
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

/// Answers at `/`, where browsers are answered otherwise.
pub(super) fn answer_at_the_front(x: &Exchange<'_>) -> Reply {
    answer(x, 200).with(VARY, HeaderValue::from_static("Accept"))
}

/// Tells whether a client would rather have a page: browsers name HTML, programs do not.
pub(super) fn is_for_a_browser(headers: &HeaderMap) -> bool {
    let wish = |media: &str| {
        let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let mut ranges = values.flat_map(|value| value.split(',')).filter_map(|range| {
            let (essence, parameters) = range.split_once(';').unwrap_or((range, ""));
            essence.trim().eq_ignore_ascii_case(media).then(|| weight(parameters))
        });
        ranges.next().unwrap_or(0.0)
    };
    let html = wish("text/html");
    html > 0.0 && html >= wish("application/json")
}

/// Returns how much a media type is wished for, by its parameters.
fn weight(parameters: &str) -> f32 {
    let mut pairs = parameters.split(';').filter_map(|pair| pair.split_once('='));
    let weight = pairs.find(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
    weight.map_or(1.0, |(_, weight)| weight.trim().parse().unwrap_or(0.0))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_get_a_page_and_programs_do_not() {
        let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8";
        for (accept, expected) in [
            (&[][..], false),
            (&["*/*"], false),
            (&["application/json"], false),
            (&["application/json, text/event-stream"], false),
            (&[browser], true),
            (&["TEXT/HTML ; charset=utf-8"], true),
            (&["text/*"], false),
            (&["text/html;q=0"], false),
            (&["text/html;q=many"], false),
            (&["application/json, text/html;q=0.5"], false),
            (&["application/json;q=0.5, text/html;q=0.5"], true),
            (&["application/json;q=0.5", "text/html"], true),
        ] {
            let headers = accept.iter().map(|value| (ACCEPT, HeaderValue::from_static(value))).collect();
            assert_eq!(is_for_a_browser(&headers), expected, "{accept:?}");
        }
    }
}
