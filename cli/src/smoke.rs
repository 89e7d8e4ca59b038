//! `wakashu smoke`: asks a live server what readers would ask, and says whether it may stay.

mod asking;
mod checks;
mod links;
mod pictures;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Serialize;
use serde_json::Value;
use wakashu_client::config::read_headers;
use wakashu_client::error::{Error, ErrorCode};

/// The variable that holds a token for the server.
const TOKEN_VARIABLE: &str = "WAKASHU_SMOKE_TOKEN";

/// Ask a live server what readers would ask, and say whether the answers are right
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wakashu smoke https://example.org/mcp
  wakashu smoke https://example.org/mcp --digest 771a1954bf73… --wait 180 --json

Exit codes: 0 everything is right; 1 the server answers and something is wrong: take back what was published;
2 nothing can be said of the server: it cannot be reached, refuses the token, or the arguments are wrong.

Where the server asks for tokens, WAKASHU_SMOKE_TOKEN holds one that may read, or the header file its header.")]
pub(crate) struct Smoke {
    /// The endpoint, as in `https://example.org/mcp`
    url: String,
    /// The archive that must be served; beginning is enough. It may take a refresh to appear
    #[arg(long, value_parser = digest)]
    digest: Option<String>,
    /// Seconds to wait for the server and its archive [default: 180 with --digest, else 20]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(..=3600))]
    wait: Option<u64>,
    /// Print one JSON object instead of lines
    #[arg(long)]
    json: bool,
    /// A file of headers that go with every request, a line `Name: value` each
    #[arg(long, value_name = "FILE")]
    header_file: Option<PathBuf>,
}

/// Reads the beginning of a digest.
fn digest(text: &str) -> Result<String, String> {
    let text = text.to_ascii_lowercase();
    if (8..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(text);
    }
    Err("a digest has 64 hexadecimal digits, of which at least 8 are needed: `wakashu show` and `publish` print it".to_owned())
}

/// What was found.
#[derive(Debug, Serialize)]
struct Report {
    url: String,
    verdict: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    checks: Vec<Check>,
    #[serde(skip)]
    is_quiet: bool,
}

/// What follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Fine,
    Findings,
    Unknown,
}

/// One check.
#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    ok: bool,
    said: String,
    ms: u64,
}

/// Why a check did not succeed.
#[derive(Debug)]
enum Wrong {
    /// The server answers, but not as it should.
    Finding(String),
    /// Nothing can be said of the server.
    Unknown(String),
}

impl From<Error> for Wrong {
    fn from(error: Error) -> Self {
        // What the server never saw, or had no time for, is no fault of what it serves.
        if error.never_sent || error.code == ErrorCode::RateLimitExceeded {
            return Self::Unknown(error.message);
        }
        Self::Finding(error.message)
    }
}

/// How often what was lost on its way is asked for again, and the wait before.
const AGAIN: (u32, Duration) = (2, Duration::from_millis(300));

/// Asks, and again where that may help: everything that is asked here only reads.
async fn patiently<T, F>(ask: impl Fn() -> F) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    for _ in 0..AGAIN.0 {
        match ask().await {
            Err(error) if error.retryable() => {
                tokio::time::sleep(error.retry_after.unwrap_or(AGAIN.1).min(asking::PATIENCE)).await;
            }
            asked => return asked,
        }
    }
    ask().await
}

impl Report {
    /// Notes how a check that began at `started` went, and says so.
    fn note(
        &mut self,
        name: &'static str,
        started: Instant,
        outcome: Result<String, Wrong>,
    ) -> io::Result<bool> {
        let (verdict, said) = match outcome {
            Ok(said) => (Verdict::Fine, said),
            Err(Wrong::Finding(said)) => (Verdict::Findings, said),
            Err(Wrong::Unknown(said)) => (Verdict::Unknown, said),
        };
        let ok = verdict == Verdict::Fine;
        if !self.is_quiet {
            let mark = if ok { "ok    " } else { "FAILED" };
            writeln!(io::stdout(), "{mark}  {name:<9} {said}")?;
        }
        let ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.checks.push(Check { name, ok, said, ms });
        // What is known goes before what is not.
        if !ok && self.verdict != Verdict::Findings {
            self.verdict = verdict;
        }
        Ok(ok)
    }
}

/// Asks, prints, and returns the verdict as an exit code.
pub(crate) fn run(arguments: &Smoke) -> anyhow::Result<ExitCode> {
    let headers = headers(arguments.header_file.as_deref(), std::env::var(TOKEN_VARIABLE).ok())?;
    let wait = arguments.wait.unwrap_or(if arguments.digest.is_some() { 180 } else { 20 });
    let asked = checks::Asked {
        url: &arguments.url,
        base: arguments.url.strip_suffix("/mcp").unwrap_or(&arguments.url),
        headers: &headers,
        digest: arguments.digest.as_deref(),
        until: Instant::now() + Duration::from_secs(wait),
    };
    let mut report = Report {
        url: arguments.url.clone(),
        verdict: Verdict::Fine,
        digest: None,
        checks: Vec::new(),
        is_quiet: arguments.json,
    };
    let started = Instant::now();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(checks::all(&asked, &mut report))?;
    let failed = report.checks.iter().filter(|check| !check.ok).count();
    let mut out = io::stdout().lock();
    if report.is_quiet {
        writeln!(out, "{}", serde_json::to_string(&report)?)?;
    } else {
        let (checks, seconds) = (report.checks.len(), started.elapsed().as_secs_f64());
        match report.verdict {
            Verdict::Fine => writeln!(out, "fine: {checks} checks in {seconds:.1} s")?,
            Verdict::Findings => writeln!(out, "findings: {failed} of {checks} checks failed")?,
            Verdict::Unknown => writeln!(out, "could not run: nothing is known of the server")?,
        }
    }
    Ok(ExitCode::from(match report.verdict {
        Verdict::Fine => 0,
        Verdict::Findings => 1,
        Verdict::Unknown => 2,
    }))
}

/// Returns the headers of every request.
fn headers(file: Option<&Path>, token: Option<String>) -> anyhow::Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    let mut lines = match file {
        Some(file) => read_headers(file).map_err(anyhow::Error::msg)?,
        None => Vec::new(),
    };
    if let Some(token) = token.filter(|token| !token.trim().is_empty()) {
        lines.push(("authorization".to_owned(), format!("Bearer {}", token.trim())));
    }
    for (name, value) in lines {
        let name = HeaderName::try_from(&name)
            .map_err(|_| anyhow::anyhow!("`{name}` is not the name of a header"))?;
        let mut value = HeaderValue::try_from(value)
            .map_err(|_| anyhow::anyhow!("the value of `{name}` cannot be sent in a header"))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// Returns the texts of a tool's result.
fn texts(result: &Value) -> Vec<&str> {
    let blocks = result.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect()
}
