//! What only the operator may see of a failure.

use std::fmt;

/// Something for the log only. It has no `Display`, so it cannot slip into an answer.
#[derive(Clone)]
pub(crate) struct Detail(String);

impl Detail {
    /// Keeps an error and its causes.
    pub(crate) fn of(error: &(dyn std::error::Error + 'static)) -> Self {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        Self(text)
    }

    /// Keeps a remark of this program's own.
    #[must_use]
    pub(crate) fn note(text: &'static str) -> Self {
        Self(text.to_owned())
    }

    /// Returns the text, for the log.
    #[must_use]
    pub(crate) fn for_log(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Detail(..)")
    }
}
