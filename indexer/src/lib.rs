//! Turns a folder of poems and pictures into a wakashu archive.

pub mod picture;
