//! What is to be run, and what came of it.

use serde::Serialize;
use serde_json::Value;

use crate::error::{Error, ErrorCode, Result};

/// What a tool gave.
#[derive(Debug, Clone, Serialize)]
pub struct ToolResult {
    /// Whether it did what it was asked.
    pub success: bool,
    /// What it gave: of a server's tool the whole result (`content`, `structuredContent`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Error>,
    /// How it went.
    pub metadata: Metadata,
}

/// How an execution went.
#[derive(Debug, Clone, Serialize)]
pub struct Metadata {
    /// How long it took, in milliseconds.
    #[serde(rename = "executionTime")]
    pub execution_time: f64,
    /// The server that ran it; none for the program's own tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}

/// A tool to be run, one of several.
#[derive(Debug, Clone)]
pub struct Execution {
    /// Its name.
    pub tool: String,
    /// What it is given.
    pub params: Value,
}

impl Execution {
    /// Returns the execution of a tool.
    #[must_use]
    pub fn new(tool: impl Into<String>, params: Value) -> Self {
        Self { tool: tool.into(), params }
    }
}

/// The results of several executions, in their order.
#[derive(Debug, Clone)]
pub struct ParallelResults(pub Vec<ToolResult>);

impl ParallelResults {
    /// Returns all results, or the error of the first execution that failed.
    pub fn all_or_error(self) -> Result<Vec<ToolResult>> {
        let failed = self.0.iter().enumerate().find_map(|(at, result)| Some((at, result.error.as_ref()?)));
        match failed {
            None => Ok(self.0),
            Some((at, error)) => {
                let sentence = format!("task {at} failed: {error}");
                let details = serde_json::to_value(error).unwrap_or_default();
                Err(Error::new(ErrorCode::ParallelExecutionFailed, sentence).with_details(details))
            }
        }
    }
}
