//! An S3 server on this machine, until its standard input closes: `s3-server ROOT BUCKET`.
//!
//! Prints its address. Objects are files below ROOT. The keys it takes are in `tests/src/s3_server.rs`.
#![allow(dead_code, unreachable_pub, reason = "the file is shared with tests, which use more of it")]

use std::io::{self, Read as _, Write as _};
use std::path::Path;

#[path = "../../../src/s3_server.rs"]
mod s3_server;

#[tokio::main]
async fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(root), Some(bucket)) = (arguments.next(), arguments.next()) else {
        return Err(io::Error::other("usage: s3-server ROOT BUCKET"));
    };
    let address = s3_server::start_s3s(Path::new(&root), &bucket).await?;
    writeln!(io::stdout(), "http://{address}")?;
    io::stdout().flush()?;
    let waiting = tokio::task::spawn_blocking(|| io::stdin().read(&mut [0]));
    waiting.await.map_err(io::Error::other)?.map(|_| ())
}
