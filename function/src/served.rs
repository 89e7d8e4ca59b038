//! What is served: the archive, the way to its bytes, and what can be found in it. Nothing of a protocol.

pub(crate) mod cache;
mod columns;
pub(crate) mod cursor;
pub(crate) mod index;
pub(crate) mod limits;
pub(crate) mod reading;
pub(crate) mod search;
pub(crate) mod snapshot;
pub(crate) mod state;
pub(crate) mod uri;
