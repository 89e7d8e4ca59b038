//! The real server on an archive in a bucket or on a web host: what it reads, when the pointer moves, when the storage
//! is gone or lies.
//!
//! The bucket is s3s behind the proxy that counts and misbehaves. Under load each test runs for a few seconds;
//! `WAKASHU_LONG=1 cargo test -p wakashu-tests --test storage -- --nocapture` runs them for as long as is promised
//! (20 s of moving pointers, 10 s without storage, a cold start on a million entries) and prints what was seen.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking, and say what they measured"
)]

#[path = "../../src/certificates.rs"]
#[expect(dead_code, unreachable_pub, reason = "a shared file; not all of it is used here")]
mod certificates;
mod changes;
mod columns;
mod cost;
#[path = "../../src/fault_proxy.rs"]
#[expect(dead_code, unreachable_pub, reason = "a shared file; not all of it is used here")]
mod fault_proxy;
mod load;
mod outage;
mod refresh;
#[path = "../../src/s3_server.rs"]
#[expect(dead_code, unreachable_pub, reason = "a shared file; not all of it is used here")]
mod s3_server;
mod store;
mod web;
#[path = "../../src/web_server.rs"]
#[expect(dead_code, unreachable_pub, reason = "a shared file; not all of it is used here")]
mod web_server;
