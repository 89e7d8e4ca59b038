//! What is counted while requests are answered, and the text in which Prometheus reads it.
//!
//! Routes, tools and codes are only names here, passed in when a server is put together, so that a program with other
//! routes can use the same counters. Counting takes up to three additions, without locks and allocations.

use std::fmt::{Display, Write as _};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The upper ends of the latency buckets: in microseconds, and in seconds as they are written.
const BUCKETS: [(u64, &str); 13] = [
    (500, "0.0005"),
    (1_000, "0.001"),
    (2_500, "0.0025"),
    (5_000, "0.005"),
    (10_000, "0.01"),
    (25_000, "0.025"),
    (50_000, "0.05"),
    (100_000, "0.1"),
    (250_000, "0.25"),
    (500_000, "0.5"),
    (1_000_000, "1"),
    (5_000_000, "5"),
    (30_000_000, "30"),
];

/// What came of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Ok,
    /// It was answered with an error of the tool or of the protocol.
    Error,
    /// It was turned away: a status from 400 on.
    Refused,
    /// A status from 500 on.
    Failed,
}

/// Why the server closed a connection by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closed {
    /// Its client did not read its answer.
    Stalled,
    /// Another client waited for its place.
    Displaced,
    /// Its address had its share of the places.
    OverShare,
}

/// The counters of a server.
#[derive(Debug)]
pub(crate) struct Metrics {
    routes: Box<[Row]>,
    tools: Box<[&'static str]>,
    codes: Box<[&'static str]>,
    /// For each tool, each code.
    tool_errors: Box<[AtomicU64]>,
    pub(crate) refreshes: Refreshes,
    pub(crate) connections: Connections,
}

/// The counters of one row of a table of routes.
#[derive(Debug)]
struct Row {
    name: &'static str,
    outcomes: [AtomicU64; 4],
    /// How many took up to this long and longer than the bucket before; the last has no upper end.
    buckets: [AtomicU64; BUCKETS.len() + 1],
    microseconds: AtomicU64,
}

/// Looks for a newer archive.
#[derive(Debug)]
pub(crate) struct Refreshes {
    started: Instant,
    succeeded: AtomicU64,
    failed: AtomicU64,
    /// Milliseconds from the start to the last that succeeded.
    last_ms: AtomicU64,
}

/// Connections of clients.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    open: AtomicU64,
    accepted: AtomicU64,
    stalled: AtomicU64,
    displaced: AtomicU64,
    over_share: AtomicU64,
}

impl Metrics {
    /// Counts requests of the rows of a table called `routes`, which may have the same name, and errors of `tools` by their
    /// `codes`.
    pub(crate) fn new(
        routes: impl IntoIterator<Item = &'static str>,
        tools: impl IntoIterator<Item = &'static str>,
        codes: impl IntoIterator<Item = &'static str>,
    ) -> Self {
        let tools: Box<[_]> = tools.into_iter().collect();
        let codes: Box<[_]> = codes.into_iter().collect();
        Self {
            routes: routes.into_iter().map(Row::new).collect(),
            tool_errors: (0..tools.len() * codes.len()).map(|_| AtomicU64::new(0)).collect(),
            tools,
            codes,
            refreshes: Refreshes::new(),
            connections: Connections::default(),
        }
    }

    /// Counts a request of the row with this number.
    pub(crate) fn answered(&self, row: usize, outcome: Outcome, took: Duration) {
        let Some(row) = self.routes.get(row) else { return };
        let microseconds = took.as_secs().saturating_mul(1_000_000) + u64::from(took.subsec_micros());
        let [ok, error, refused, failed] = &row.outcomes;
        let outcome = match outcome {
            Outcome::Ok => ok,
            Outcome::Error => error,
            Outcome::Refused => refused,
            Outcome::Failed => failed,
        };
        outcome.fetch_add(1, Relaxed);
        // Nearly all are in the first.
        let bucket = BUCKETS.iter().position(|(end, _)| microseconds <= *end).unwrap_or(BUCKETS.len());
        if let Some(bucket) = row.buckets.get(bucket) {
            bucket.fetch_add(1, Relaxed);
        }
        row.microseconds.fetch_add(microseconds, Relaxed);
    }

    /// Counts an error of a tool.
    #[cold]
    pub(crate) fn failed(&self, tool: &str, code: &str) {
        let tool = self.tools.iter().position(|known| *known == tool);
        let code = self.codes.iter().position(|known| *known == code);
        let at = tool.zip(code).map(|(tool, code)| tool * self.codes.len() + code);
        if let Some(counter) = at.and_then(|at| self.tool_errors.get(at)) {
            counter.fetch_add(1, Relaxed);
        }
    }

    /// Writes all counters.
    pub(crate) fn write(&self, out: &mut Exposition) {
        self.write_requests(out);
        self.write_times(out);
        out.family("wakashu_tool_errors_total", "counter", "Calls of tools that failed, by tool and code.");
        let pairs = self.tools.iter().flat_map(|tool| self.codes.iter().map(move |code| (tool, code)));
        for ((tool, code), count) in pairs.zip(&self.tool_errors) {
            out.sample("", &[("tool", tool), ("code", code)], count.load(Relaxed));
        }
        self.refreshes.write(out);
        self.connections.write(out);
    }

    /// Returns the names of the routes, each once, with all its rows.
    fn by_name(&self) -> impl Iterator<Item = (&'static str, impl Iterator<Item = &Row> + Clone)> {
        let rows = &self.routes;
        let firsts = rows
            .iter()
            .enumerate()
            .filter(|(at, row)| rows.iter().position(|first| first.name == row.name) == Some(*at));
        firsts.map(|(_, first)| (first.name, rows.iter().filter(|row| row.name == first.name)))
    }

    fn write_requests(&self, out: &mut Exposition) {
        out.family("wakashu_requests_total", "counter", "Requests answered, by route and outcome.");
        for (route, rows) in self.by_name() {
            for (at, outcome) in ["ok", "error", "refused", "failed"].into_iter().enumerate() {
                let counters = rows.clone().filter_map(|row| row.outcomes.get(at));
                let count: u64 = counters.map(|counter| counter.load(Relaxed)).sum();
                out.sample("", &[("route", route), ("outcome", outcome)], count);
            }
        }
    }

    fn write_times(&self, out: &mut Exposition) {
        out.family("wakashu_request_seconds", "histogram", "How long requests took, by route.");
        for (route, rows) in self.by_name() {
            let mut count = 0;
            let ends = BUCKETS.iter().map(|(_, end)| *end).chain(["+Inf"]);
            for (at, end) in ends.enumerate() {
                let counters = rows.clone().filter_map(|row| row.buckets.get(at));
                count += counters.map(|counter| counter.load(Relaxed)).sum::<u64>();
                out.sample("_bucket", &[("route", route), ("le", end)], count);
            }
            let microseconds: u64 = rows.map(|row| row.microseconds.load(Relaxed)).sum();
            let (seconds, rest) = (microseconds / 1_000_000, microseconds % 1_000_000);
            out.sample("_sum", &[("route", route)], format_args!("{seconds}.{rest:06}"));
            out.sample("_count", &[("route", route)], count);
        }
    }
}

impl Row {
    fn new(name: &'static str) -> Self {
        let zeros = || std::array::from_fn(|_| AtomicU64::new(0));
        let buckets = std::array::from_fn(|_| AtomicU64::new(0));
        Self { name, outcomes: zeros(), buckets, microseconds: AtomicU64::new(0) }
    }
}

impl Refreshes {
    fn new() -> Self {
        let zero = || AtomicU64::new(0);
        Self { started: Instant::now(), succeeded: zero(), failed: zero(), last_ms: zero() }
    }

    /// Counts a look, and notes when it succeeded.
    pub(crate) fn looked(&self, succeeded: bool) {
        if succeeded {
            self.succeeded.fetch_add(1, Relaxed);
            let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
            self.last_ms.store(now, Relaxed);
        } else {
            self.failed.fetch_add(1, Relaxed);
        }
    }

    fn write(&self, out: &mut Exposition) {
        let (succeeded, failed) = (self.succeeded.load(Relaxed), self.failed.load(Relaxed));
        out.family("wakashu_refreshes_total", "counter", "Looks for a newer archive, by outcome.");
        out.sample("", &[("outcome", "ok")], succeeded);
        out.sample("", &[("outcome", "failed")], failed);
        let age = self.started.elapsed().saturating_sub(Duration::from_millis(self.last_ms.load(Relaxed)));
        out.family(
            "wakashu_refresh_age_seconds",
            "gauge",
            "Time since a look for a newer archive last succeeded, or since the start.",
        );
        out.sample("", &[], format_args!("{:.3}", age.as_secs_f64()));
    }
}

impl Connections {
    /// Counts a connection that was taken in.
    pub(crate) fn opened(&self) {
        self.accepted.fetch_add(1, Relaxed);
        self.open.fetch_add(1, Relaxed);
    }

    /// Counts the end of one.
    pub(crate) fn ended(&self) {
        self.open.fetch_sub(1, Relaxed);
    }

    /// Counts one that the server closed by itself.
    pub(crate) fn closed(&self, why: Closed) {
        let counter = match why {
            Closed::Stalled => &self.stalled,
            Closed::Displaced => &self.displaced,
            Closed::OverShare => &self.over_share,
        };
        counter.fetch_add(1, Relaxed);
    }

    fn write(&self, out: &mut Exposition) {
        out.gauge("wakashu_connections_open", "Connections held now.", self.open.load(Relaxed));
        out.family("wakashu_connections_total", "counter", "Connections that were taken in.");
        out.sample("", &[], self.accepted.load(Relaxed));
        out.family(
            "wakashu_connections_closed_total",
            "counter",
            "Connections that the server closed before their clients did, by reason.",
        );
        for (reason, counter) in
            [("stalled", &self.stalled), ("displaced", &self.displaced), ("over_share", &self.over_share)]
        {
            out.sample("", &[("reason", reason)], counter.load(Relaxed));
        }
    }
}

/// The text that Prometheus reads, version 0.0.4
/// (<https://prometheus.io/docs/instrumenting/exposition_formats/>, checked 2026-11-18).
#[derive(Debug, Default)]
pub(crate) struct Exposition {
    text: String,
    family: &'static str,
}

impl Exposition {
    /// Begins with samples of another kind.
    pub(crate) fn family(&mut self, name: &'static str, kind: &str, help: &str) {
        self.family = name;
        // Writing to a string cannot fail.
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    /// Appends a sample. `suffix` goes with the name of its family; names of labels are ours, and so are their values but
    /// for quotation marks and the like.
    pub(crate) fn sample(&mut self, suffix: &str, labels: &[(&str, &str)], value: impl Display) {
        self.text.push_str(self.family);
        self.text.push_str(suffix);
        let mut before = '{';
        for (name, label) in labels {
            let _ = write!(self.text, "{before}{name}=\"");
            for character in label.chars() {
                match character {
                    '\n' => self.text.push_str("\\n"),
                    '"' | '\\' => self.text.extend(['\\', character]),
                    _ => self.text.push(character),
                }
            }
            self.text.push('"');
            before = ',';
        }
        if !labels.is_empty() {
            self.text.push('}');
        }
        let _ = writeln!(self.text, " {value}");
    }

    /// Appends something that goes up and down.
    pub(crate) fn gauge(&mut self, name: &'static str, help: &str, value: impl Display) {
        self.family(name, "gauge", help);
        self.sample("", &[], value);
    }

    /// Returns the text.
    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str, sample: &str) -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
        line.unwrap_or_else(|| unreachable!("{sample} in\n{text}")).parse().unwrap()
    }

    #[test]
    fn rows_of_one_name_are_one_route_and_buckets_add_up() {
        let metrics = Metrics::new(["mcp", "health", "health"], ["get_poem"], ["TIMEOUT", "NOT_FOUND"]);
        for (row, outcome, took) in [
            (0, Outcome::Ok, Duration::from_micros(500)),
            (0, Outcome::Error, Duration::from_micros(501)),
            (0, Outcome::Failed, Duration::from_secs(31)),
            (1, Outcome::Ok, Duration::ZERO),
            (2, Outcome::Refused, Duration::from_millis(2)),
            (9, Outcome::Ok, Duration::ZERO),
        ] {
            metrics.answered(row, outcome, took);
        }
        metrics.failed("get_poem", "NOT_FOUND");
        metrics.failed("none", "NOT_FOUND");
        let mut out = Exposition::default();
        metrics.write(&mut out);
        let text = out.into_text();
        for (sample, expected) in [
            (r#"wakashu_requests_total{route="mcp",outcome="ok"}"#, 1.0),
            (r#"wakashu_requests_total{route="mcp",outcome="failed"}"#, 1.0),
            (r#"wakashu_requests_total{route="health",outcome="ok"}"#, 1.0),
            (r#"wakashu_requests_total{route="health",outcome="refused"}"#, 1.0),
            (r#"wakashu_request_seconds_bucket{route="mcp",le="0.0005"}"#, 1.0),
            (r#"wakashu_request_seconds_bucket{route="mcp",le="0.001"}"#, 2.0),
            (r#"wakashu_request_seconds_bucket{route="mcp",le="30"}"#, 2.0),
            (r#"wakashu_request_seconds_bucket{route="mcp",le="+Inf"}"#, 3.0),
            (r#"wakashu_request_seconds_count{route="mcp"}"#, 3.0),
            (r#"wakashu_request_seconds_sum{route="mcp"}"#, 31.001_001),
            (r#"wakashu_tool_errors_total{tool="get_poem",code="NOT_FOUND"}"#, 1.0),
            (r#"wakashu_tool_errors_total{tool="get_poem",code="TIMEOUT"}"#, 0.0),
        ] {
            assert!((value(&text, sample) - expected).abs() < 1e-9, "{sample} in\n{text}");
        }
        assert_eq!(text.matches("route=\"health\",outcome=\"ok\"").count(), 1);
    }

    #[test]
    fn labels_are_escaped() {
        let mut out = Exposition::default();
        out.family("a", "gauge", "A.");
        out.sample("", &[("b", "\"\\\n"), ("c", "d")], 1);
        assert_eq!(out.into_text(), "# HELP a A.\n# TYPE a gauge\na{b=\"\\\"\\\\\\n\",c=\"d\"} 1\n");
    }
}
