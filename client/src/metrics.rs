//! Counters, and how they read as Prometheus text.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What is counted, for each server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Counter {
    /// Requests that were answered, errors included; labelled with the error's code.
    Requests,
    /// The time they took, in microseconds.
    RequestMicros,
    /// Requests that were sent again.
    Retries,
    /// Answers that came from the cache.
    CacheHits,
    /// Answers that might have.
    CacheMisses,
    /// Links that were opened.
    Connections,
    /// Links that were stopped to make room for others.
    Evictions,
}

impl Counter {
    const ALL: [Self; 7] = [
        Self::Requests,
        Self::RequestMicros,
        Self::Retries,
        Self::CacheHits,
        Self::CacheMisses,
        Self::Connections,
        Self::Evictions,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Requests => "wakashu_client_requests_total",
            Self::RequestMicros => "wakashu_client_request_seconds_total",
            Self::Retries => "wakashu_client_retries_total",
            Self::CacheHits => "wakashu_client_cache_hits_total",
            Self::CacheMisses => "wakashu_client_cache_misses_total",
            Self::Connections => "wakashu_client_connections_total",
            Self::Evictions => "wakashu_client_evictions_total",
        }
    }

    fn help(self) -> &'static str {
        match self {
            Self::Requests => "Requests to a server by outcome.",
            Self::RequestMicros => "Time spent waiting for a server's answers.",
            Self::Retries => "Requests that were sent again.",
            Self::CacheHits => "Answers taken from the cache.",
            Self::CacheMisses => "Answers that were not in the cache.",
            Self::Connections => "Links opened to a server.",
            Self::Evictions => "Links stopped to make room for others.",
        }
    }
}

type Series = (Counter, Arc<str>, &'static str);

/// The counters of a manager. A copy counts into the same ones.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    series: Arc<Mutex<BTreeMap<Series, u64>>>,
}

impl Metrics {
    /// Counts one more.
    pub fn count(&self, counter: Counter, server: &Arc<str>) {
        self.add(counter, server, "", 1);
    }

    /// Counts an answered request; `outcome` is `ok` or the name of a code.
    pub fn answered(&self, server: &Arc<str>, outcome: &'static str, took: Duration) {
        self.add(Counter::Requests, server, outcome, 1);
        self.add(Counter::RequestMicros, server, "", u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
    }

    fn add(&self, counter: Counter, server: &Arc<str>, outcome: &'static str, more: u64) {
        let mut series = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        let value = series.entry((counter, Arc::clone(server), outcome)).or_default();
        *value = value.saturating_add(more);
    }

    /// Returns the sum of a counter over all servers and outcomes.
    #[must_use]
    pub fn total(&self, counter: Counter) -> u64 {
        let series = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        series.iter().filter(|((name, ..), _)| *name == counter).map(|(_, value)| value).sum()
    }

    /// Writes all counters in the text format of Prometheus.
    #[must_use]
    pub fn prometheus(&self) -> String {
        let series = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        for counter in Counter::ALL {
            let (name, help) = (counter.name(), counter.help());
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter");
            for ((_, server, outcome), value) in series.iter().filter(|((which, ..), _)| *which == counter) {
                let _ = write!(text, "{name}{{server=\"{}\"", escaped(server));
                if !outcome.is_empty() {
                    let _ = write!(text, ",outcome=\"{outcome}\"");
                }
                let _ = match counter {
                    Counter::RequestMicros => {
                        writeln!(text, "}} {}.{:06}", value / 1_000_000, value % 1_000_000)
                    }
                    _ => writeln!(text, "}} {value}"),
                };
            }
        }
        text
    }
}

fn escaped(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_read_as_prometheus_text() {
        let metrics = Metrics::default();
        let odd: Arc<str> = "a\"b".into();
        metrics.answered(&odd, "ok", Duration::from_millis(1500));
        metrics.answered(&odd, "TIMEOUT", Duration::from_millis(600));
        metrics.clone().count(Counter::CacheHits, &"c".into());
        let text = metrics.prometheus();
        for line in [
            "# TYPE wakashu_client_requests_total counter",
            "wakashu_client_requests_total{server=\"a\\\"b\",outcome=\"ok\"} 1",
            "wakashu_client_requests_total{server=\"a\\\"b\",outcome=\"TIMEOUT\"} 1",
            "wakashu_client_request_seconds_total{server=\"a\\\"b\"} 2.100000",
            "wakashu_client_cache_hits_total{server=\"c\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert_eq!(metrics.total(Counter::Requests), 2);
    }
}
