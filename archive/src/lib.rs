//! The wakashu archive format.
