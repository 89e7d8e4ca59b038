//! What an answer may weigh, and why.

/// Most bytes of one answer.
///
/// Claude Desktop rejects a tool result over 1,048,576 bytes, base64 included
/// (github.com/PrefectHQ/fastmcp/issues/1036, github.com/CursorTouch/Windows-MCP/issues/155; checked 2026-11-16).
/// The rest is left to the client's own framing.
pub const MAX_ANSWER_BYTES: usize = 1_000_000;

/// Most pictures in one answer: claude.ai takes 20 images per message
/// (platform.claude.com/docs/en/build-with-claude/vision; checked 2026-11-16).
pub(crate) const MAX_PICTURES: usize = 20;

/// Most characters of text in one answer: claude.ai and Claude Desktop cut near 150,000
/// (anthropics/claude-plugins-official, payload-budgeting.md; checked 2026-11-16).
pub(crate) const MAX_TEXT_CHARACTERS: usize = 100_000;

/// What the JSON-RPC envelope around a result may take: an id of 256 bytes, the server's name and title.
pub(crate) const ENVELOPE_BYTES: usize = 4_096;

/// What closing remarks (missing ranks, where to go on) may take.
pub(crate) const REMARK_BYTES: usize = 4_096;

/// Most bytes of one entry's text in an answer; with this its small picture always fits beside it.
pub(crate) const MAX_SHOWN_TEXT_BYTES: usize = 400_000;

/// Most bytes of a request body.
pub const MAX_BODY_BYTES: usize = 1 << 20;

/// Most bytes of a request's line and headers. hyper reads in steps, so that a head which ends within the step that
/// reaches the limit still passes.
pub const MAX_HEAD_BYTES: usize = 64 << 10;

/// Most headers of a request.
pub(crate) const MAX_HEADERS: usize = 100;

/// Most connections `serve` holds at a time; further ones wait in the kernel's queue.
pub(crate) const MAX_CONNECTIONS: u32 = 1_024;

/// Most connections of one address, unless configured otherwise.
pub(crate) const SHARE_OF_CONNECTIONS: u32 = MAX_CONNECTIONS / 4 * 3;

/// Most event streams at a time, each of which holds a connection for as long as its client likes: the larger part of
/// the connections stays for requests.
pub const MAX_STREAMS: usize = 256;

/// Most messages in one batch (only revision 2025-03-26 has batches).
pub(crate) const MAX_BATCH_MESSAGES: usize = 20;

/// Most rounds named in a hint.
pub(crate) const MAX_HINT_ROUNDS: usize = 10;

/// Most characters of a title or description that goes into a frame of ours.
pub(crate) const MAX_TITLE_CHARACTERS: usize = 200;
