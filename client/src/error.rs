//! Why something could not be done, whether trying again can help, and what to do next.

use std::fmt;
use std::time::Duration;

use serde::Serialize;
use serde::ser::SerializeStruct as _;
use serde_json::{Value, json};
use wakashu_wire::error::code;

/// What kind of failure it was. The names on the wire are those of [`ErrorCode::as_str`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ErrorCode {
    /// The server could not be reached or started, or is no MCP server.
    ConnectionFailed,
    /// The connection ended before the answer came.
    ConnectionLost,
    /// No answer and no progress within the time allowed.
    Timeout,
    /// The message is not one a server takes.
    InvalidRequest,
    /// The server does not know the method.
    MethodNotFound,
    /// The parameters do not fit.
    InvalidParams,
    /// The tool or the server failed.
    ExecutionFailed,
    /// No server has that tool.
    ToolNotFound,
    /// There is no such resource, prompt or server.
    ResourceNotFound,
    /// The server refused the credentials, or the configuration does not allow it.
    PermissionDenied,
    /// Too many requests.
    RateLimitExceeded,
    /// A rule of the tool or of the configuration keeps it from running.
    CannotExecute,
    /// One of several executions failed.
    ParallelExecutionFailed,
    /// Every attempt failed.
    MaxRetriesExceeded,
}

impl ErrorCode {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::ConnectionFailed,
        Self::ConnectionLost,
        Self::Timeout,
        Self::InvalidRequest,
        Self::MethodNotFound,
        Self::InvalidParams,
        Self::ExecutionFailed,
        Self::ToolNotFound,
        Self::ResourceNotFound,
        Self::PermissionDenied,
        Self::RateLimitExceeded,
        Self::CannotExecute,
        Self::ParallelExecutionFailed,
        Self::MaxRetriesExceeded,
    ];

    /// Returns the code's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ConnectionFailed => "CONNECTION_FAILED",
            Self::ConnectionLost => "CONNECTION_LOST",
            Self::Timeout => "TIMEOUT",
            Self::InvalidRequest => "INVALID_REQUEST",
            Self::MethodNotFound => "METHOD_NOT_FOUND",
            Self::InvalidParams => "INVALID_PARAMS",
            Self::ExecutionFailed => "EXECUTION_FAILED",
            Self::ToolNotFound => "TOOL_NOT_FOUND",
            Self::ResourceNotFound => "RESOURCE_NOT_FOUND",
            Self::PermissionDenied => "PERMISSION_DENIED",
            Self::RateLimitExceeded => "RATE_LIMIT_EXCEEDED",
            Self::CannotExecute => "CANNOT_EXECUTE",
            Self::ParallelExecutionFailed => "PARALLEL_EXECUTION_FAILED",
            Self::MaxRetriesExceeded => "MAX_RETRIES_EXCEEDED",
        }
    }

    /// Reads a code's name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.as_str() == name)
    }

    /// Tells whether the same request may succeed later. Whether it may be sent twice is another question, which
    /// [`crate::policy`] answers.
    #[must_use]
    pub fn retryable(self) -> bool {
        matches!(
            self,
            Self::ConnectionFailed | Self::ConnectionLost | Self::Timeout | Self::RateLimitExceeded
        )
    }

    /// Says what to do next.
    #[must_use]
    pub fn next_step(self) -> &'static str {
        match self {
            Self::ConnectionFailed => "check the server's address or command, and that it is running",
            Self::ConnectionLost => {
                "look for the reason in the server's log; the next request connects again"
            }
            Self::Timeout => "raise `timeout` for this server, or ask for less at a time",
            Self::InvalidRequest => "the message is not valid for this server: look at the details",
            Self::MethodNotFound => "the server does not offer this: see what it lists",
            Self::InvalidParams => "compare the parameters with the tool's input schema",
            Self::ExecutionFailed => "read the message: the server was reached and failed",
            Self::ToolNotFound => "see which tools the registered servers list",
            Self::ResourceNotFound => "see which resources, prompts and servers there are",
            Self::PermissionDenied => "check the token or the headers configured for this server",
            Self::RateLimitExceeded => "wait as long as the server says, then send fewer requests at a time",
            Self::CannotExecute => "change the parameters, or the allow and deny patterns of the server",
            Self::ParallelExecutionFailed => "look at the result of each execution",
            Self::MaxRetriesExceeded => "the details hold the last failure: look there",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A failure.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What kind of failure it was.
    pub code: ErrorCode,
    /// A sentence.
    pub message: String,
    /// What the server said of it, or what lies behind it.
    pub details: Option<Value>,
    /// Whether it is certain that no server has seen the request.
    pub never_sent: bool,
    /// Whether trying again cannot help, although it may help with others of its code.
    pub is_final: bool,
    /// How long the server asks to wait.
    pub retry_after: Option<Duration>,
}

impl Error {
    /// Returns a failure of that kind.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            details: None,
            never_sent: false,
            is_final: false,
            retry_after: None,
        }
    }

    /// Returns the failure of something that was never sent.
    #[must_use]
    pub fn unsent(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { never_sent: true, ..Self::new(code, message) }
    }

    /// Adds details.
    #[must_use]
    pub fn with_details(self, details: Value) -> Self {
        Self { details: Some(details), ..self }
    }

    /// Reads the `error` of a JSON-RPC answer.
    #[must_use]
    pub fn from_rpc(error: &Value) -> Self {
        let number = error.get("code").and_then(Value::as_i64).unwrap_or_default();
        let code = match number {
            -32700 | -32600 | -32020 | -32021 | -32022 => ErrorCode::InvalidRequest,
            -32601 => ErrorCode::MethodNotFound,
            -32602 => ErrorCode::InvalidParams,
            -32002 => ErrorCode::ResourceNotFound,
            _ => ErrorCode::ExecutionFailed,
        };
        let message = error.get("message").and_then(Value::as_str).unwrap_or("the server gave no reason");
        Self::new(code, message).with_details(error.clone())
    }

    /// Returns the failure as the `error` of a JSON-RPC answer: in the server's words where it had any.
    #[must_use]
    pub fn to_rpc(&self) -> Value {
        let said =
            self.details.as_ref().filter(|said| self.rpc_code().is_some() && said.get("message").is_some());
        said.cloned().unwrap_or_else(|| {
            json!({"code": code::INTERNAL, "message": self.message,
                "data": {"code": self.code.as_str(), "retryable": self.retryable(), "next": self.next_step()}})
        })
    }

    /// Returns the number a server gave the failure.
    #[must_use]
    pub fn rpc_code(&self) -> Option<i64> {
        self.details.as_ref()?.get("code")?.as_i64()
    }

    /// Tells whether the same request may succeed later.
    #[must_use]
    pub fn retryable(&self) -> bool {
        self.code.retryable() && !self.is_final
    }

    /// Says what to do next.
    #[must_use]
    pub fn next_step(&self) -> &'static str {
        self.code.next_step()
    }
}

impl Serialize for Error {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("MCPError", 4)?;
        object.serialize_field("code", self.code.as_str())?;
        object.serialize_field("message", &self.message)?;
        match &self.details {
            Some(details) => object.serialize_field("details", details)?,
            None => object.skip_field("details")?,
        }
        object.serialize_field("retryable", &self.retryable())?;
        object.end()
    }
}

/// What most of this crate returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_name_of_its_own_and_a_next_step() {
        for code in ErrorCode::ALL {
            assert_eq!(ErrorCode::parse(code.as_str()), Some(code));
            assert!(!code.next_step().is_empty());
        }
        assert_eq!(ErrorCode::parse("timeout"), None);
    }

    #[test]
    fn a_failure_is_written_as_the_contract_names_its_fields() {
        let error = Error::new(ErrorCode::Timeout, "too late");
        let json = serde_json::to_value(&error).unwrap();
        assert_eq!(json, json!({"code": "TIMEOUT", "message": "too late", "retryable": true}));
        let error = Error::from_rpc(&json!({"code": -32602, "message": "no", "data": 1}));
        let json = serde_json::to_value(&error).unwrap();
        assert_eq!(json["code"], "INVALID_PARAMS");
        assert_eq!((&json["details"]["data"], &json["retryable"]), (&json!(1), &json!(false)));
        assert_eq!(error.rpc_code(), Some(-32602));
    }
}
