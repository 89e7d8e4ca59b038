//! Every kind of store, as they are and as they fail.

#[macro_use]
mod support;

mod behaviour;
mod conditions;
mod environment;
mod faults;
mod killed;
mod publishing;
mod web;
