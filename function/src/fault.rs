//! Why a tool could not answer: stable codes, a sentence for the caller, and a detail for the log.
//!
//! The two never mix: what only the operator may see is a [`Detail`], which no text for callers can print.

mod handling;

use tracing::Level;

use crate::observe::detail::Detail;
use crate::served::index::ReadError;

pub(crate) use handling::{HANDLING, Handling};

/// The kind of a JSON value, as errors name what they received: the kind, never the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Received {
    /// Nothing.
    Nothing,
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean,
    /// A number.
    Number,
    /// A string.
    Text,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl Received {
    /// Tells the kind of a raw JSON value.
    #[must_use]
    pub(crate) fn of(raw: &str) -> Self {
        match raw.as_bytes().first() {
            None => Self::Nothing,
            Some(b'n') => Self::Null,
            Some(b't' | b'f') => Self::Boolean,
            Some(b'"') => Self::Text,
            Some(b'[') => Self::Array,
            Some(b'{') => Self::Object,
            Some(_) => Self::Number,
        }
    }

    /// Returns the kind's name in JSON Schema.
    #[must_use]
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Number => "number",
            Self::Text => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    fn in_japanese(self) -> &'static str {
        match self {
            Self::Nothing => "なし",
            Self::Null => "null",
            Self::Boolean => "真偽値",
            Self::Number => "数値",
            Self::Text => "文字列",
            Self::Array => "配列",
            Self::Object => "オブジェクト",
        }
    }
}

/// Why a tool call failed. One enum for every door.
#[derive(Debug)]
#[non_exhaustive]
pub(crate) enum ToolError {
    /// No tool has this name.
    ToolNotFound,
    /// The tool exists but is switched off.
    ToolDisabled,
    /// An argument is missing, unknown or of the wrong form.
    Validation {
        /// The argument.
        field: String,
        /// What was expected, in Japanese.
        expected: String,
        /// The kind of thing received.
        received: Received,
        /// Which rule was broken: `type`, `required`, `unknown`, `enum`, `range`, `format`, `length`, `stale`.
        constraint: &'static str,
    },
    /// What was asked for does not exist.
    NotFound {
        /// The tool.
        operation: &'static str,
        /// `round`, `rank`, `picture` or, for a search, `column`.
        resource_type: &'static str,
        /// Which one, as the caller named it.
        resource_id: String,
        /// The sentence for the caller, with the hint.
        sentence: String,
    },
    /// Reading the archive failed.
    Execution(Detail),
    /// It took too long.
    Timeout,
    /// No valid token.
    Authentication,
    /// The token does not cover this.
    Authorization,
    /// Too many requests.
    RateLimited {
        /// When to try again.
        retry_after_seconds: u64,
    },
    /// There is no index to answer from.
    IndexUnavailable {
        /// Whether an index is configured at all.
        configured: bool,
    },
    /// A fault of this program, which it noticed.
    Internal(Detail),
    /// A fault of this program, which it did not expect: a panic.
    Panicked,
}

impl ToolError {
    /// Returns the stable code.
    #[must_use]
    pub(crate) fn code(&self) -> &'static str {
        self.handling().code
    }

    /// Returns how this kind of error travels.
    #[must_use]
    pub(crate) fn handling(&self) -> &'static Handling {
        match self {
            Self::ToolNotFound => &HANDLING[0],
            Self::ToolDisabled => &HANDLING[1],
            Self::Validation { .. } => &HANDLING[2],
            Self::NotFound { .. } => &HANDLING[3],
            Self::Execution(_) => &HANDLING[4],
            Self::Timeout => &HANDLING[5],
            Self::Authentication => &HANDLING[6],
            Self::Authorization => &HANDLING[7],
            Self::RateLimited { .. } => &HANDLING[8],
            Self::IndexUnavailable { .. } => &HANDLING[9],
            Self::Internal(_) | Self::Panicked => &HANDLING[10],
        }
    }

    /// Writes the log's own line about the error, where its kind deserves one.
    pub(crate) fn report(&self, tool: Option<&'static str>, request_id: &str) {
        let detail = self.detail().map(Detail::for_log);
        match self.handling().level {
            Level::ERROR if matches!(self, Self::Panicked) => {
                tracing::error!(request = request_id, tool, "a handler panicked");
            }
            Level::ERROR => tracing::error!(request = request_id, tool, detail, "a request failed"),
            Level::WARN => {
                tracing::warn!(request = request_id, tool, error = self.code(), "a request failed");
            }
            _ => {}
        }
    }

    /// Returns the sentence for the caller: what happened and what to do next.
    #[must_use]
    pub(crate) fn sentence(&self, request_id: &str) -> String {
        match self {
            Self::ToolNotFound => "その名前のツールはありません。".to_owned(),
            Self::ToolDisabled => "このツールは運営者が停止しています。".to_owned(),
            Self::Validation { field, expected, received, constraint } => match *constraint {
                "unknown" => format!("引数 {field} は受け付けていません。{expected}"),
                "required" => format!("引数 {field} が必要です。{expected}"),
                "stale" => format!("引数 {field} は使えません。{expected}"),
                "format" => format!("引数 {field} の形が正しくありません。{expected}"),
                _ => format!("引数 {field} が正しくありません。{expected}受け取った値の種類: {}。", received.in_japanese()),
            },
            Self::NotFound { sentence, .. } => sentence.clone(),
            Self::Execution(_) => format!(
                "和歌集のデータを読み出せませんでした。しばらくしてからもう一度お試しください。（問い合わせ番号 {request_id}）"
            ),
            Self::Timeout => "時間内に答えられませんでした。範囲を狭めてもう一度お試しください。".to_owned(),
            Self::Authentication => "認証が必要です。Authorization ヘッダーに、運営者から受け取ったトークンを Bearer の形で付けてください。".to_owned(),
            Self::Authorization => "この操作は許可されていません。".to_owned(),
            Self::RateLimited { retry_after_seconds } => {
                format!("呼び出しが多すぎます。{retry_after_seconds}秒後にもう一度お試しください。")
            }
            Self::IndexUnavailable { configured: true } => {
                "和歌集の索引を読み込めていないため、このツールはまだ使えません。index_status で状態を確かめられます。".to_owned()
            }
            Self::IndexUnavailable { configured: false } => {
                "和歌集の索引が設定されていないため、このツールは使えません。index_status で状態を確かめられます。".to_owned()
            }
            Self::Internal(_) | Self::Panicked => format!("サーバー内部で問題が起きました。（問い合わせ番号 {request_id}）"),
        }
    }

    /// Returns what only the log may hold.
    #[must_use]
    pub(crate) fn detail(&self) -> Option<&Detail> {
        match self {
            Self::Execution(detail) | Self::Internal(detail) => Some(detail),
            _ => None,
        }
    }
}

impl From<ReadError> for ToolError {
    fn from(error: ReadError) -> Self {
        Self::Execution(Detail::of(&error))
    }
}
