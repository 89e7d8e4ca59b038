//! Three thin doors to one router.

pub mod lambda;
pub mod local;
pub mod stdio;
