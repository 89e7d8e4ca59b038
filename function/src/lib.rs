//! Answers MCP requests from a wakashu archive: one router, three doors.

mod access;
mod answer;
mod archive_state;
mod config;
mod context;
mod cursor;
pub mod door;
mod error;
mod http;
mod index;
mod limits;
pub mod log;
mod mcp;
mod request_log;
pub mod run;
mod search;
mod snapshot;
pub mod tools;
mod uri;

pub use access::{Access, Refusal, is_loopback};
pub use answer::{Answer, AnswerBody, Mark};
pub use archive_state::{ArchiveState, Generation};
pub use config::{Config, ConfigError, InvokeMode, SETTINGS, Setting};
pub use context::Context;
pub use error::{Detail, Received, ToolError};
pub use http::{PictureBase, PlatformRequestId, router};
pub use index::{Index, ReadCache, ReadError};
pub use limits::*;
pub use snapshot::{DEFAULT_TITLE, IndexState, Loaded, Snapshot, shortened};
