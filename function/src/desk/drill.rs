//! Drills: faults on demand, so that tests can see what becomes of them. The programs that ship are built without the
//! feature `drills` and have none.

#[cfg(feature = "drills")]
use std::net::SocketAddr;

use crate::fault::ToolError;

/// What is practised.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Drill {
    /// Nothing.
    #[default]
    Off,
    /// The method `wakashu/drill` panics.
    #[cfg(feature = "drills")]
    Method,
    /// Every call waits at a gate: it connects to this address and goes on when that connection ends.
    #[cfg(feature = "drills")]
    Hold(SocketAddr),
    /// Every call fails as if the archive could not be read.
    #[cfg(feature = "drills")]
    Fault,
    /// Every call panics.
    #[cfg(feature = "drills")]
    Panic,
}

#[cfg(not(feature = "drills"))]
impl Drill {
    /// Tells whether anything befalls calls.
    pub(super) fn befalls_calls(self) -> bool {
        false
    }

    #[expect(clippy::unused_async, reason = "builds with drills wait here")]
    pub(super) async fn practise(self) -> Result<(), ToolError> {
        Ok(())
    }
}

#[cfg(feature = "drills")]
impl Drill {
    /// Reads what `WAKASHU_DRILL` asks for.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let drill = match text {
            "off" => Some(Self::Off),
            "on" => Some(Self::Method),
            "fault" => Some(Self::Fault),
            "panic" => Some(Self::Panic),
            _ => text.strip_prefix("hold:").and_then(|gate| gate.parse().ok()).map(Self::Hold),
        };
        drill.ok_or_else(|| "expected off, on, fault, panic or hold:ADDRESS".to_owned())
    }

    /// Returns what asks for it in `WAKASHU_DRILL`.
    pub(crate) fn shown(self) -> String {
        match self {
            Self::Off => "off".to_owned(),
            Self::Method => "on".to_owned(),
            Self::Fault => "fault".to_owned(),
            Self::Panic => "panic".to_owned(),
            Self::Hold(gate) => format!("hold:{gate}"),
        }
    }

    /// Tells whether anything befalls calls.
    pub(super) fn befalls_calls(self) -> bool {
        !matches!(self, Self::Off | Self::Method)
    }

    /// Does to a call what is practised.
    #[expect(clippy::panic, reason = "what a drill is for")]
    pub(super) async fn practise(self) -> Result<(), ToolError> {
        use crate::observe::detail::Detail;
        use tokio::io::AsyncReadExt as _;

        match self {
            Self::Off | Self::Method => Ok(()),
            Self::Hold(gate) => {
                // No gate, or one that is gone: nothing holds the call.
                if let Ok(mut held) = tokio::net::TcpStream::connect(gate).await {
                    let _ = held.read(&mut [0]).await;
                }
                Ok(())
            }
            Self::Fault => Err(ToolError::Execution(Detail::note("this is a drill"))),
            Self::Panic => panic!("this is a drill"),
        }
    }
}
