//! Answers MCP requests from a wakashu archive: one way in, three doors.
//!
//! The modules are layers, each of which uses only those below it; a test (`tests/served/layers.rs`) has their order.

pub mod app;
mod config;
mod deadline;
mod desk;
pub mod door;
mod entries;
mod exchange;
mod fault;
pub mod gateway;
mod mcp;
mod observe;
pub mod program;
pub mod reference;
mod served;
mod text;
mod tools;
mod v1;
mod web;

pub use config::Config;
pub use exchange::Arrival;
pub use observe::log;
pub use served::cache::ReadCache;
pub use served::index::{Announced, Index, ReadError};
pub use served::limits::{MAX_ANSWER_BYTES, MAX_BODY_BYTES, MAX_HEAD_BYTES, MAX_STREAMS};
pub use served::reading::Reading;
pub use served::state::{ArchiveState, Generation};
pub use web::App;
pub use web::access::Access;
pub use web::tokens::Token;
