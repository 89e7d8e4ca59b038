//! The helper that every program is started by: this program, executed again.
//!
//! It sets up the sandbox, starts the program, and waits. It is of the program's process group, and so is all that the
//! program starts. When the pipe to us closes, whether by us or because we are gone, it asks the program to end and
//! then kills the group, itself included. A parent-death signal would be simpler, but follows the thread that started
//! the process, not the process.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;

use tokio::process::Command;

use crate::link::child::Program;

/// How this program is executed again as a helper: a program that hands its arguments, after these, to [`run`].
#[derive(Debug, Clone)]
pub struct Helper {
    /// The program, usually [`std::env::current_exe`].
    pub program: PathBuf,
    /// What makes it a helper.
    pub args: Vec<OsString>,
}

/// The pipe that tells a helper that we are there.
#[derive(Debug)]
pub(crate) struct Lifeline {
    #[cfg(unix)]
    theirs: io::PipeReader,
    #[cfg(unix)]
    _ours: io::PipeWriter,
}

/// Held while a process is started, as the pipe's end is open to every process that is started meanwhile.
static STARTING: Mutex<()> = Mutex::new(());

impl Helper {
    /// Returns the command that starts a program, and the pipe to its helper.
    pub(crate) fn command(&self, program: &Program) -> io::Result<(Command, Lifeline)> {
        let lifeline = Lifeline::new()?;
        let mut command = Command::new(&self.program);
        command.args(&self.args).arg(lifeline.name());
        match &program.sandbox {
            Some(sandbox) => command.arg(sandbox.to_argument()),
            None => command.arg("-"),
        };
        command.arg(&program.command).args(&program.args);
        Ok((command, lifeline))
    }
}

#[cfg(unix)]
impl Lifeline {
    fn new() -> io::Result<Self> {
        let (theirs, ours) = io::pipe()?;
        Ok(Self { theirs, _ours: ours })
    }

    fn name(&self) -> String {
        use std::os::fd::AsRawFd as _;
        self.theirs.as_raw_fd().to_string()
    }

    /// Starts a process that gets its end of the pipe.
    pub(crate) fn during<T>(&self, spawn: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        use rustix::io::{FdFlags, fcntl_setfd};
        let _alone = STARTING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        fcntl_setfd(&self.theirs, FdFlags::empty())?;
        let spawned = spawn();
        fcntl_setfd(&self.theirs, FdFlags::CLOEXEC)?;
        spawned
    }
}

#[cfg(not(unix))]
impl Lifeline {
    fn new() -> io::Result<Self> {
        Err(io::Error::other("helpers are for Unix; on Windows the job object does the same"))
    }

    fn name(&self) -> String {
        String::new()
    }

    pub(crate) fn during<T>(&self, spawn: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let _alone = STARTING.lock();
        spawn()
    }
}

/// Runs as a helper, with the arguments that follow [`Helper::args`]. To be called before any thread is started: a
/// sandbox confines the calling thread and what it starts.
#[cfg(unix)]
#[must_use]
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    match unix::run(args.into_iter()) {
        Ok(code) => code,
        Err(problem) => {
            use io::Write as _;
            // Goes to the log of whoever started us.
            let _ = writeln!(io::stderr(), "cannot start the program: {problem}");
            ExitCode::from(unix::COULD_NOT_START)
        }
    }
}

#[cfg(unix)]
mod unix {
    use std::ffi::OsString;
    use std::fs::File;
    use std::io::{self, Read as _};
    use std::process::{Command, ExitCode};
    use std::sync::mpsc;
    use std::time::Duration;

    use rustix::process::{Pid, Signal, getpid, kill_process, kill_process_group};

    use crate::sandbox::Sandbox;

    /// As shells say it of a program that cannot be executed.
    pub(super) const COULD_NOT_START: u8 = 126;
    const GRACE: Duration = Duration::from_secs(2);
    /// How long a helper whose program has ended waits for the news that we are gone as well: both may be one event.
    const NEWS: Duration = Duration::from_millis(50);

    pub(super) fn run(mut args: impl Iterator<Item = OsString>) -> io::Result<ExitCode> {
        let mut next = || args.next().ok_or_else(|| io::Error::other("an argument is missing"));
        let (lifeline, sandbox, program) = (next()?, next()?, next()?);
        let number: u32 = lifeline
            .to_str()
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| io::Error::other("the first argument must be the number of an open file"))?;
        // Opened by its name: to take a number for an open file is not safe in general.
        let mut lifeline = File::open(format!("/dev/fd/{number}"))?;
        if sandbox != "-" {
            Sandbox::from_argument(&sandbox)?.enforce(&program)?;
        }
        let child = Command::new(&program).args(args).spawn();
        let mut child =
            child.map_err(|error| io::Error::other(format!("`{}`: {error}", program.display())))?;
        let pid = Pid::from_child(&child);
        let (closing, closed) = mpsc::channel();
        let (ending, ended) = mpsc::channel::<()>();
        std::thread::spawn(move || {
            // Nothing is ever written: it ends when the other side is closed.
            let _ = lifeline.read(&mut [0]);
            let _ = closing.send(());
            let _ = kill_process(pid, Signal::TERM);
            let _ = ended.recv_timeout(GRACE);
            let _ = kill_process_group(getpid(), Signal::KILL);
        });
        let status = child.wait()?;
        drop(ending);
        if closed.recv_timeout(NEWS).is_ok() {
            // The rest of the group is about to be killed, and this process with it.
            std::thread::sleep(2 * GRACE);
        }
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        Ok(ExitCode::from(code.unwrap_or(1)))
    }
}
