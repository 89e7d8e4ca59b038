//! What must hold of wakashu whatever bytes come in.
//!
//! One function per kind of foreign bytes. Each takes any bytes at all and panics if something does not hold. The fuzz
//! targets of `tests/fuzz` look for bytes that make them panic; `tests/replay.rs` replays what those have kept, so that
//! `cargo test --workspace` looks at it too.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a panic is how a broken invariant is told"
)]

mod archive;
mod attack;
mod client;
mod date;
mod picture;
mod rank;
mod repair;
mod rpc;
mod search;
mod served;
mod text_data;

pub use archive::{archive, sample};
pub use attack::{Attack, Reach, attacks};
pub use client::{configuration, splice, sse};
pub use date::date;
pub use picture::{let_codecs_panic, picture};
pub use rank::rank;
pub use repair::with_right_hashes;
pub use rpc::rpc;
pub use search::search;
pub use served::served;
pub use text_data::text_data;

/// A function that takes any bytes and panics if something does not hold.
pub type Invariant = fn(&[u8]);

/// The functions by the names of their fuzz targets and corpora.
pub const ALL: [(&str, Invariant); 11] = [
    ("archive", archive),
    ("served", served),
    ("rpc", rpc),
    ("rank", rank),
    ("date", date),
    ("search", search),
    ("picture", picture),
    ("text_data", text_data),
    ("sse", sse),
    ("splice", splice),
    ("configuration", configuration),
];
