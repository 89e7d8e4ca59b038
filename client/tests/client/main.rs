//! The client with real servers, over sockets and pipes. One program, as linking several takes longer than running them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code"
)]

mod bridge;
#[cfg(target_os = "linux")]
mod children;
mod config;
mod manager;
mod support;
#[cfg(feature = "websocket")]
mod websocket;
