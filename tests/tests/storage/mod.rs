//! The real server on an archive in a bucket, on a web host or in a file: what it reads, when the pointer moves, when the
//! storage is gone or lies, when the file is changed under it.
//!
//! The bucket is s3s behind the proxy that counts and misbehaves. Under load each test runs for a few seconds;
//! `WAKASHU_LONG=1 cargo test -p wakashu-tests --test e2e storage -- --nocapture` runs them for as long as is promised
//! (20 s of moving pointers, 10 s without storage, a cold start on a million entries) and prints what was seen.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking, and say what they measured"
)]

mod changes;
mod columns;
mod cost;
mod load;
mod local;
mod outage;
mod refresh;
pub(crate) mod store;
pub(crate) mod web;
