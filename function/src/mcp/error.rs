//! JSON-RPC errors: those of the protocol, and those only this server has.

pub(crate) use wakashu_wire::error::*;

use crate::fault::ToolError;

/// There is no index to answer from.
pub(crate) fn index_unavailable() -> RpcError {
    RpcError::new(
        200,
        code::INTERNAL,
        "The poem index is not available; call the tool `index_status`, or try again later",
    )
}

/// The caller's token is not good for this.
pub(crate) fn not_covered() -> RpcError {
    RpcError::new(403, code::INVALID_REQUEST, "The token does not cover this")
}

/// The answers of a batch together would be too large.
pub(crate) fn batch_too_large() -> RpcError {
    RpcError::new(
        200,
        code::INTERNAL,
        "The answers of this batch are too large together; send this request by itself",
    )
}

/// A batch has more messages than a client may ever send at once.
pub(crate) fn batch_beyond_the_rate(most: u32) -> RpcError {
    let rule = format!("a batch counts as its messages, of which at most {most} may be sent in a second");
    RpcError::new(400, code::INVALID_REQUEST, rule)
}

/// What a fault becomes where no tool was called.
pub(crate) fn of_fault(fault: &ToolError, request: &str) -> RpcError {
    match fault {
        ToolError::Authorization => not_covered(),
        ToolError::IndexUnavailable { .. } => index_unavailable(),
        ToolError::Timeout => RpcError::new(200, code::INTERNAL, fault.sentence(request)),
        ToolError::RateLimited { .. } => RpcError::new(429, code::INTERNAL, fault.sentence(request)),
        _ => internal(request),
    }
}
