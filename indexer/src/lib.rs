//! Turns a folder of poems and pictures into a wakashu archive.
//!
//! The program is thin: [`cmd`] has one file per verb, and each verb's work is a function that other programs can
//! call, [`cmd::build::build`] first of all. Only [`report`] prints.

pub mod archive_file;
mod begun;
pub mod cli;
pub mod cmd;
mod entry;
pub mod output;
pub mod picture;
pub mod pipeline;
pub mod problem;
pub mod program;
pub mod report;
mod root;
mod site;
mod source;
pub mod walk;
pub mod words;
