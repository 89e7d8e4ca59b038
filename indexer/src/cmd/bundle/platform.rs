//! Which machines a bundle has programs for.

use std::path::PathBuf;
use std::str::FromStr;

/// A kind of machine, as a Rust target names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Platform {
    system: System,
    processor: Processor,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum System {
    Linux,
    Mac,
    Windows,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Processor {
    X64,
    Arm64,
    /// Both, in one file, as macOS has it.
    Universal,
}

/// A program for a kind of machine: `TARGET=PATH`.
#[derive(Debug, Clone)]
pub struct ProgramFor {
    pub(super) platform: Platform,
    pub(super) path: PathBuf,
}

/// Says that a target is not one that a bundle can hold.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{found}` is not TARGET=PATH with a target such as x86_64-unknown-linux-musl, aarch64-apple-darwin, \
     universal-apple-darwin or x86_64-pc-windows-msvc"
)]
pub struct PlatformError {
    found: String,
}

impl Platform {
    fn parse(target: &str) -> Option<Self> {
        let (processor, rest) = target.split_once('-')?;
        let processor = match processor {
            "x86_64" => Processor::X64,
            "aarch64" => Processor::Arm64,
            "universal" | "universal2" if rest == "apple-darwin" => Processor::Universal,
            _ => return None,
        };
        let system = if rest.starts_with("unknown-linux-") {
            System::Linux
        } else if rest == "apple-darwin" {
            System::Mac
        } else if rest.starts_with("pc-windows-") {
            System::Windows
        } else {
            return None;
        };
        Some(Self { system, processor })
    }

    /// Returns the one this program was built for, if bundles know it.
    pub(super) fn here() -> Option<Self> {
        let rest = match std::env::consts::OS {
            "linux" => "unknown-linux-musl",
            "macos" => "apple-darwin",
            "windows" => "pc-windows-msvc",
            _ => return None,
        };
        Self::parse(&format!("{}-{rest}", std::env::consts::ARCH))
    }

    pub(super) fn system(self) -> System {
        self.system
    }

    /// Returns the folder of its program.
    pub(super) fn folder(self) -> String {
        let processor = match self.processor {
            Processor::X64 => "x64",
            Processor::Arm64 => "arm64",
            Processor::Universal => "universal",
        };
        format!("{}-{processor}", self.system.name())
    }

    /// Returns the name of its program in the bundle.
    pub(super) fn program(self) -> String {
        format!("server/{}/{}", self.folder(), self.system.program())
    }

    /// Returns what `uname -s` and `uname -m` say there, as a shell's pattern; nothing on Windows, which has no shell.
    pub(super) fn pattern(self) -> Option<&'static str> {
        match (self.system, self.processor) {
            (System::Linux, Processor::X64) => Some("Linux-x86_64"),
            (System::Linux, _) => Some("Linux-aarch64 | Linux-arm64"),
            (System::Mac, Processor::X64) => Some("Darwin-x86_64"),
            (System::Mac, Processor::Arm64) => Some("Darwin-arm64"),
            (System::Mac, Processor::Universal) => Some("Darwin-*"),
            (System::Windows, _) => None,
        }
    }
}

impl System {
    /// Returns its name in a manifest.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Mac => "darwin",
            Self::Windows => "win32",
        }
    }

    /// Returns the file name of a program.
    pub(super) fn program(self) -> &'static str {
        if self == Self::Windows { "wakashu-function.exe" } else { "wakashu-function" }
    }
}

impl FromStr for ProgramFor {
    type Err = PlatformError;

    fn from_str(text: &str) -> Result<Self, PlatformError> {
        let found = || PlatformError { found: text.to_owned() };
        let (target, path) = text.split_once('=').ok_or_else(found)?;
        let platform = Platform::parse(target).ok_or_else(found)?;
        if path.is_empty() {
            return Err(found());
        }
        Ok(Self { platform, path: path.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_as_rust_names_them() {
        for (target, folder) in [
            ("x86_64-unknown-linux-musl", "linux-x64"),
            ("aarch64-unknown-linux-gnu", "linux-arm64"),
            ("aarch64-apple-darwin", "darwin-arm64"),
            ("universal-apple-darwin", "darwin-universal"),
            ("x86_64-pc-windows-gnu", "win32-x64"),
        ] {
            let program: ProgramFor = format!("{target}=a=b").parse().unwrap();
            assert_eq!((program.platform.folder().as_str(), program.path.to_str()), (folder, Some("a=b")));
        }
        for refused in [
            "",
            "x",
            "x86_64-unknown-linux-musl=",
            "linux=x",
            "universal-pc-windows-gnu=x",
            "mips-unknown-linux-gnu=x",
        ] {
            assert!(refused.parse::<ProgramFor>().is_err(), "{refused}");
        }
        assert!(Platform::here().is_some());
    }
}
