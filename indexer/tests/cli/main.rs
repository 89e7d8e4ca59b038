//! The program from outside: the real binary in temporary folders.
//!
//! Snapshots are refreshed with `INSTA_UPDATE=always cargo test -p wakashu-indexer --test cli`; read the diff.
#![expect(
    clippy::case_sensitive_file_extension_comparisons,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::expect_used,
    reason = "a test that fails should say so at once"
)]

#[cfg(unix)]
mod action;
mod broken;
mod build;
mod curator;
mod damage;
mod determinism;
mod drafts;
mod export;
mod harness;
mod names;
mod preview;
mod publish;
mod show;
mod starting;
mod talk;
