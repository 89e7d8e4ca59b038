//! The file format from outside.

mod compat;
mod hostile;
mod walk;
