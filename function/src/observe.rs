//! What operators see: the log, the facts of each request in it, and what is counted.

pub(crate) mod detail;
pub(crate) mod facts;
pub mod log;
pub(crate) mod metrics;
