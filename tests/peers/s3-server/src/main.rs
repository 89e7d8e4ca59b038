//! An S3 server on this machine, until its standard input closes: `s3-server ROOT BUCKET [LATENCY_MS BYTES_PER_SECOND]`.
//!
//! Prints its address. Objects are files below ROOT. The keys it takes are in `tests/support/src/s3_server.rs`.
//!
//! With a latency and a speed, the address of a proxy follows that is as slow. Every line of standard input is then
//! answered with what went through it since the last one.

use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use wakashu_support::fault_proxy::{Fault, FaultProxy, Rule, in_sequence};
use wakashu_support::s3_server;

#[tokio::main]
async fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (root, bucket, line) = match arguments.as_slice() {
        [root, bucket] => (root, bucket, None),
        [root, bucket, latency, speed] => {
            let latency = Duration::from_millis(latency.parse().map_err(io::Error::other)?);
            let bytes_per_second = speed.parse().map_err(io::Error::other)?;
            (root, bucket, Some(Fault::Line { latency, bytes_per_second }))
        }
        _ => return Err(io::Error::other("usage: s3-server ROOT BUCKET [LATENCY_MS BYTES_PER_SECOND]")),
    };
    let address = s3_server::start_s3s(Path::new(root), bucket).await?;
    say(&format!("http://{address}"))?;
    let mut proxy = None;
    if let Some(line) = line {
        let started = FaultProxy::start(address).await?;
        started.inject(Rule::always(line));
        say(&started.endpoint())?;
        proxy = Some(started);
    }
    // Waiting here keeps nobody waiting: the servers run on threads of their own.
    for line in io::stdin().lines() {
        line?;
        let exchanges = proxy.as_ref().map(FaultProxy::take_log).unwrap_or_default();
        let bytes: usize = exchanges.iter().map(|exchange| exchange.answer_bytes).sum();
        let (reads, in_sequence) = (exchanges.len(), in_sequence(&exchanges));
        say(&format!(r#"{{"reads":{reads},"in_sequence":{in_sequence},"bytes":{bytes}}}"#))?;
    }
    Ok(())
}

fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}
