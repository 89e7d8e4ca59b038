//! Pictures: what becomes of good ones and of bad ones.

mod hostile;
mod reference;
