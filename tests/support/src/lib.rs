//! What the tests of all crates share.
//!
//! [`Server`] and [`Stdio`] start the real `wakashu-function`, [`Collection`] writes synthetic archives without any
//! codec, [`sample`] has the real indexer build the sample collection, [`HttpRequest`] and [`Connection`] speak HTTP
//! byte by byte, so that tests can also send what no client would. [`s3_server`] and [`web_server`] are where archives
//! are stored, [`fault_proxy`] stands before them and misbehaves.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::unwrap_used,
    reason = "support for tests: a panic is how a test fails"
)]

mod call_gate;
mod canary;
pub mod certificates;
mod collection;
pub mod fault_proxy;
mod http;
pub mod lambda;
mod message;
mod programs;
pub mod s3_server;
mod sample;
mod server;
mod stdio;
pub mod web_server;

pub use call_gate::{CallGate, HeldCall};
pub use canary::{SECRETS, check_for_secrets};
pub use collection::{Collection, Pictures, picture_bytes, poem};
pub use http::{Connection, HttpRequest, Reply};
pub use message::{LEGACY, MODERN, call, envelope, legacy, legacy_body, modern, modern_body, post};
pub use programs::{program, repository, target_folder};
pub use sample::sample;
pub use server::Server;
pub use stdio::Stdio;

/// Waits until something holds that takes its time: a look every second, a refill, a connection that ends.
#[track_caller]
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let started = std::time::Instant::now();
    while !holds() {
        assert!(started.elapsed().as_secs() < 30, "not within half a minute: {what}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// Most bytes any JSON-RPC answer may have.
pub const MAX_ANSWER_BYTES: usize = 1_000_000;

/// Checks what must hold for every answer whatever was asked: it fits, and tells nothing of the machine it runs on.
pub fn check_answer(body: &[u8]) {
    assert!(body.len() <= MAX_ANSWER_BYTES, "an answer of {} bytes", body.len());
    let text = String::from_utf8_lossy(body);
    let temporary = std::env::temp_dir();
    let inside = [temporary.to_str().unwrap(), "/target/", "panicked", "stack backtrace", ".rs:", "/src/"];
    for word in inside {
        assert!(!text.contains(word), "an answer tells of {word}: {}", &text[..text.len().min(2_000)]);
    }
}
