//! A client for many MCP servers.
//!
//! - [`link`]: how raw messages reach one server: HTTP, or a program on standard input and output.
//! - [`server`]: one server of either era: its tools, prompts, resources.
//! - [`manager`]: many servers and the program's own tools behind one interface.
//! - [`bridge`]: a host on standard input and output, connected to a server; answers pass as bytes.
//! - [`config`]: which servers there are.
//! - [`sandbox`]: what a program may reach; [`helper`]: how it is started and ended.
//!
//! Signing in with OAuth is not part of it: give a token or a header, or start a program that signs in, such as
//! `mcp-remote`, as the server.

pub mod bridge;
pub mod cache;
pub mod chain;
pub mod config;
pub mod error;
pub mod helper;
pub mod link;
pub mod manager;
pub mod metrics;
pub mod mirror;
mod passage;
pub mod policy;
pub mod rules;
pub mod sandbox;
pub mod serena;
pub mod server;
pub mod splice;
pub mod validate;

pub use config::{Config, ServerConfig};
pub use error::{Error, ErrorCode, Result};
pub use manager::Manager;
