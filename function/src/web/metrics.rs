//! `GET /metrics`: what was counted and how things stand, for Prometheus.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;

use crate::exchange::Exchange;
use crate::observe::log;
use crate::observe::metrics::Exposition;
use crate::served::snapshot::IndexState;
use crate::web::reply::{Media, Payload, Reply};

pub(super) fn answer(x: &Exchange<'_>) -> Reply {
    let mut out = Exposition::default();
    if let Some(metrics) = &x.core.metrics {
        metrics.write(&mut out);
    }
    write_state(x, &mut out);
    let mut text = out.into_text();
    if let Some(gateway) = &x.core.gateway {
        text.push_str(&gateway.metrics());
    }
    let body = Payload::Bytes(Bytes::from(text));
    Reply { status: 200, media: Media::Metrics, more: None, body }
}

/// Writes what is not counted, but looked up when it is asked for.
fn write_state(x: &Exchange<'_>, out: &mut Exposition) {
    let core = x.core;
    out.family("wakashu_build_info", "gauge", "The program.");
    out.sample("", &[("version", env!("CARGO_PKG_VERSION"))], 1);
    let started = SystemTime::now().checked_sub(core.started.elapsed());
    let started = started.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).map(|time| time.as_secs());
    out.gauge("process_start_time_seconds", "When the process began to serve.", started.unwrap_or_default());
    let is_ready = match &core.gateway {
        Some(gateway) => gateway.health().0,
        None => x.served.state() == IndexState::Ready,
    };
    out.gauge(
        "wakashu_ready",
        "Whether there is an archive, or a server, to answer from.",
        u8::from(is_ready),
    );
    let is_stale = x.served.stale_since().is_some();
    out.gauge("wakashu_stale", "Whether looking for a newer archive fails.", u8::from(is_stale));
    if let Some(loaded) = x.served.loaded() {
        out.family("wakashu_archive_info", "gauge", "The archive that is served.");
        out.sample("", &[("digest", &loaded.digest)], 1);
        let opened = SystemTime::from(loaded.loaded_at).duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        out.gauge("wakashu_archive_opened_seconds", "When it was opened.", opened.as_secs());
    }
    let cache = core.state.cache();
    out.gauge("wakashu_cache_bytes", "What the cache holds.", cache.weight_bytes());
    out.gauge("wakashu_cache_capacity_bytes", "What the cache may hold.", cache.capacity_bytes());
    let desk = core.desk.load();
    out.gauge("wakashu_calls_running", "Calls that are worked on.", desk.running);
    out.gauge("wakashu_calls_waiting", "Calls that wait for their turn.", desk.waiting);
    out.gauge("wakashu_streams_open", "Event streams held now.", core.streams.open());
    out.family("wakashu_log_lines_dropped_total", "counter", "Lines of the log that nobody read.");
    out.sample("", &[], log::dropped());
}
