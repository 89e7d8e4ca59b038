//! Three thin doors to one router.

pub mod local;
pub mod stdio;
