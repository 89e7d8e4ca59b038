//! Drills: faults on demand, so that operators and tests can see what becomes of them.

use std::time::Duration;

use crate::fault::ToolError;
use crate::observe::detail::Detail;

/// How long a tool takes in a [`Drill::Slow`].
const SLOW: Duration = Duration::from_secs(2);

/// What is practised.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Drill {
    /// Nothing.
    #[default]
    Off,
    /// The method `wakashu/drill` panics.
    Method,
    /// Every tool takes two seconds longer.
    Slow,
    /// Every tool fails as if the archive could not be read.
    Fault,
    /// Every tool panics.
    Panic,
}

impl Drill {
    /// All drills.
    pub const ALL: [Self; 5] = [Self::Off, Self::Method, Self::Slow, Self::Fault, Self::Panic];

    /// Returns the word that asks for it in `WAKASHU_DRILL`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Method => "on",
            Self::Slow => "slow",
            Self::Fault => "fault",
            Self::Panic => "panic",
        }
    }

    /// Does to a tool's call what is practised.
    #[expect(clippy::panic, reason = "what a drill is for")]
    pub(crate) async fn practise(self) -> Result<(), ToolError> {
        match self {
            Self::Off | Self::Method => Ok(()),
            Self::Slow => {
                tokio::time::sleep(SLOW).await;
                Ok(())
            }
            Self::Fault => Err(ToolError::Execution(Detail::note("this is a drill"))),
            Self::Panic => panic!("this is a drill"),
        }
    }
}
