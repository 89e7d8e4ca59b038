//! What operators see: the log, and the facts of each request in it.

pub(crate) mod detail;
pub(crate) mod facts;
pub mod log;
