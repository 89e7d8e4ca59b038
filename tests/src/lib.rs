//! End-to-end tests and benchmarks of wakashu: the real programs, driven from outside.
//!
//! Snapshots are refreshed with `INSTA_UPDATE=always cargo test -p wakashu-tests`; the diff is to be read.

pub use wakashu_support::*;

/// The tools, as listed. Written out, so that none comes or goes unnoticed.
pub const TOOLS: [&str; 5] =
    ["index_status", "list_rounds", "get_wakashu_ranking", "get_poem", "search_poems"];
