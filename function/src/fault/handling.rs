//! One table: how each kind of error travels. The docs show it (`wakashu-function errors --markdown`).

use tracing::Level;

/// What an error becomes over MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum McpForm {
    /// A tool result with `isError: true`, for the model to act on.
    ToolResult,
    /// A JSON-RPC error with this code, under HTTP status 200.
    RpcError(i32),
    /// A JSON-RPC error with this code, under the same HTTP status as in the HTTP view.
    Refusal(i32),
    /// A tool result where a tool was called, a refusal with this code elsewhere.
    ToolResultOrRefusal(i32),
    /// A tool result where a tool was called, a JSON-RPC error with this code elsewhere and after a panic.
    ToolResultOrRpcError(i32),
}

/// How one kind of error travels.
#[derive(Debug)]
pub(crate) struct Handling {
    /// The stable code.
    pub code: &'static str,
    /// The status in the HTTP view.
    pub status: u16,
    /// What it becomes over MCP.
    pub mcp: McpForm,
    /// The level of its line in the log. `INFO` is the request's own line, which names the code; anything graver
    /// gets a line of its own.
    pub level: Level,
    /// When it happens.
    pub when: &'static str,
}

/// All kinds.
pub(crate) static HANDLING: [Handling; 11] = [
    Handling {
        code: "TOOL_NOT_FOUND",
        status: 404,
        mcp: McpForm::RpcError(-32602),
        level: Level::INFO,
        when: "no tool has the name",
    },
    Handling {
        code: "TOOL_DISABLED",
        status: 403,
        mcp: McpForm::ToolResult,
        level: Level::INFO,
        when: "the operator switched the tool off",
    },
    Handling {
        code: "VALIDATION_ERROR",
        status: 400,
        mcp: McpForm::ToolResult,
        level: Level::INFO,
        when: "an argument is missing, unknown or of the wrong form",
    },
    Handling {
        code: "NOT_FOUND",
        status: 404,
        mcp: McpForm::ToolResult,
        level: Level::INFO,
        when: "there is no such round or rank",
    },
    Handling {
        code: "TOOL_EXECUTION_ERROR",
        status: 500,
        mcp: McpForm::ToolResult,
        level: Level::ERROR,
        when: "the archive could not be read",
    },
    Handling {
        code: "TIMEOUT",
        status: 408,
        mcp: McpForm::ToolResultOrRpcError(-32603),
        level: Level::WARN,
        when: "the call took longer than allowed",
    },
    Handling {
        code: "AUTHENTICATION_ERROR",
        status: 401,
        mcp: McpForm::Refusal(-32600),
        level: Level::INFO,
        when: "tokens are configured and the request carries none of them",
    },
    Handling {
        code: "AUTHORIZATION_ERROR",
        status: 403,
        mcp: McpForm::Refusal(-32600),
        level: Level::INFO,
        when: "the token's scope does not cover the request",
    },
    Handling {
        code: "RATE_LIMIT_EXCEEDED",
        status: 429,
        mcp: McpForm::ToolResultOrRefusal(-32603),
        level: Level::INFO,
        when: "too many requests, or too many calls waiting",
    },
    Handling {
        code: "INDEX_UNAVAILABLE",
        status: 503,
        mcp: McpForm::ToolResult,
        level: Level::INFO,
        when: "no archive is configured, or none could be opened yet",
    },
    Handling {
        code: "INTERNAL_ERROR",
        status: 500,
        mcp: McpForm::ToolResultOrRpcError(-32603),
        level: Level::ERROR,
        when: "a fault of the server",
    },
];

impl Handling {
    /// Returns what the error becomes over MCP, in words.
    #[must_use]
    pub(crate) fn mcp_in_words(&self) -> String {
        match self.mcp {
            McpForm::ToolResult => "tool result with `isError`".to_owned(),
            McpForm::RpcError(code) => format!("JSON-RPC error `{code}`"),
            McpForm::Refusal(code) => format!("HTTP {} with JSON-RPC error `{code}`", self.status),
            McpForm::ToolResultOrRefusal(code) => {
                format!("tool result with `isError`, or HTTP {} with JSON-RPC error `{code}`", self.status)
            }
            McpForm::ToolResultOrRpcError(code) => {
                format!("tool result with `isError`, or JSON-RPC error `{code}`")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::{Received, ToolError};
    use crate::observe::detail::Detail;

    #[test]
    fn every_kind_has_its_own_row() {
        let kinds = [
            ToolError::ToolNotFound,
            ToolError::ToolDisabled,
            ToolError::Validation {
                field: String::new(),
                expected: String::new(),
                received: Received::Null,
                constraint: "type",
            },
            ToolError::NotFound {
                operation: "get_poem",
                resource_type: "round",
                resource_id: String::new(),
                sentence: String::new(),
            },
            ToolError::Execution(Detail::note("")),
            ToolError::Timeout,
            ToolError::Authentication,
            ToolError::Authorization,
            ToolError::RateLimited { retry_after_seconds: 1 },
            ToolError::IndexUnavailable { configured: true },
            ToolError::Internal(Detail::note("")),
        ];
        assert_eq!(ToolError::Panicked.code(), "INTERNAL_ERROR");
        let codes: Vec<&str> = kinds.iter().map(ToolError::code).collect();
        assert_eq!(codes, HANDLING.iter().map(|row| row.code).collect::<Vec<_>>());
    }
}
