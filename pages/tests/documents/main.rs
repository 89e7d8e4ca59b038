//! Documents made from whole archives.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::assigning_clones,
    reason = "tests fail by panicking"
)]

mod books;
mod content;
mod parse;
mod snapshots;
mod support;
