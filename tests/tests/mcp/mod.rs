//! MCP answers of the real program, over HTTP and stdio, in both protocol eras.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking"
)]

mod acceptance;
mod attacks;
mod bounds;
mod broken_clients;
mod budget;
mod changes;
mod clients;
mod damage;
mod doors;
mod drill;
mod eras;
mod fixture;
mod hostile;
mod operators;
mod pressure;
mod round_texts;
mod search;
mod secrets;
mod view;
mod wire;
