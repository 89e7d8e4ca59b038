//! End-to-end tests and benchmarks of wakashu: the real programs, driven from outside.
//!
//! Snapshots are refreshed with `INSTA_UPDATE=always cargo test -p wakashu-tests`; the diff is to be read.

pub use wakashu_support::*;
