//! Answers MCP requests from a wakashu archive.
