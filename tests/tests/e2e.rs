//! The real programs from outside, in one test program: each of several would be linked by itself.

mod curator;
mod facade;
mod lambda;
mod mcp;
mod members;
mod programs;
mod security;
mod site;
mod storage;
