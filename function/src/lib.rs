//! Answers MCP requests from a wakashu archive: one router, three doors.

pub mod app;
mod config;
mod deadline;
mod desk;
pub mod door;
mod entries;
mod exchange;
mod fault;
mod mcp;
mod observe;
pub mod reference;
mod served;
mod text;
pub mod tools;
mod v1;
mod web;

pub use config::{Config, ConfigError, InvokeMode, SETTINGS, Setting};
pub use desk::Execution;
pub use desk::drill::Drill;
pub use exchange::rates::Rates;
pub use exchange::{Context, RequestId};
pub use fault::{Detail, HANDLING, Handling, McpForm, Received, ToolError};
pub use observe::log;
pub use served::index::{Announced, Index, Pictures, ReadCache, ReadError};
pub use served::limits::*;
pub use served::snapshot::{DEFAULT_TITLE, IndexState, Loaded, Snapshot, shortened};
pub use served::state::{ArchiveState, Generation};
pub use text::{Answer, AnswerBody, AnswerBuf, Mark};
pub use web::access::{Access, Refusal, is_loopback};
pub use web::tokens::{Scope, Token};
pub use web::{ClientAddress, GivenId, PictureBase, ResponseBody, ResponseData, Routes};
