//! A link to a program that speaks lines on its standard input and output.
//!
//! The program and all it starts are one process group. A helper, which is this program executed again, stands between:
//! it holds a pipe to us and ends the group when that pipe closes, so that nothing is left even if we are killed. A
//! program that leaves its group (`setsid`) leaves this care as well.
//!
//! A program that ends is started again by the next request, later after each failure. Requests under way then fail;
//! whether they are repeated is for [`crate::policy`] to say.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf as _, Bytes, BytesMut};
use memchr::memchr;
use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop};
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};
use tokio::process::{ChildStderr, Command};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::stream::{Ended, Ends, Running, Start, StreamLink, Waiting, refuse_message, take_message};
use super::{BoxFuture, Inbox, MAX_MESSAGE_BYTES};
use crate::chain::Chain;
use crate::error::{Error, ErrorCode, Result};
use crate::helper::{Helper, Lifeline};
use crate::sandbox::Sandbox;

/// What of our own environment a program gets without being configured: what the official SDKs pass on.
pub const SAFE_ENVIRONMENT: &[&str] = if cfg!(windows) {
    &[
        "APPDATA",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATH",
        "PATHEXT",
        "PROCESSOR_ARCHITECTURE",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "USERNAME",
        "USERPROFILE",
    ]
} else {
    &["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"]
};

/// How long a program may take to end after its input was closed.
const GRACE: Duration = Duration::from_secs(2);
/// How long the helper may take to end the rest, which it does within another grace.
const HELPER_GRACE: Duration = Duration::from_secs(3);
/// How long the rest of what an ended program said may take to be read.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// The longest line of a program's log; what is longer becomes several.
const LONGEST_LOG_LINE: u64 = 2000;

/// A program to be started.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// The name its server goes by, for the log.
    pub name: Arc<str>,
    /// The program.
    pub command: PathBuf,
    /// Its arguments. No shell looks at them.
    pub args: Vec<OsString>,
    /// What is added to [`SAFE_ENVIRONMENT`].
    pub env: BTreeMap<String, String>,
    /// The folder it is started in.
    pub folder: Option<PathBuf>,
    /// What it may reach.
    pub sandbox: Option<Sandbox>,
    /// What starts it. Without one it is started directly, and outlives us if we are killed.
    pub helper: Option<Helper>,
}

/// A link to a program, which the first message starts.
pub type ChildLink = StreamLink<Program>;

impl Start for Program {
    fn start(&self, inbox: Inbox) -> BoxFuture<'_, Result<Running>> {
        Box::pin(std::future::ready(start(self, inbox)))
    }

    fn name(&self) -> &str {
        &self.name
    }
}

/// Starts the program, and the tasks that serve it.
fn start(program: &Program, inbox: Inbox) -> Result<Running> {
    let failed = |error: std::io::Error| {
        let command = program.command.display();
        Error::unsent(ErrorCode::ConnectionFailed, format!("cannot start `{command}`: {error}"))
    };
    if program.sandbox.is_some() && program.helper.is_none() {
        let sentence = format!("`{}` asks for a sandbox, and there is no helper to set it up", program.name);
        return Err(Error::unsent(ErrorCode::ConnectionFailed, sentence));
    }
    let (mut command, lifeline) = if let Some(helper) = &program.helper {
        let (command, lifeline) = helper.command(program).map_err(failed)?;
        (command, Some(lifeline))
    } else {
        let mut command = Command::new(&program.command);
        command.args(&program.args);
        (command, None)
    };
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env_clear().envs(environment(program));
    if let Some(folder) = &program.folder {
        command.current_dir(folder);
    }
    let mut wrapped = CommandWrap::from(command);
    wrapped.wrap(KillOnDrop);
    #[cfg(unix)]
    wrapped.wrap(process_wrap::tokio::ProcessGroup::leader());
    #[cfg(windows)]
    wrapped.wrap(process_wrap::tokio::JobObject);
    let spawned = match &lifeline {
        Some(lifeline) => lifeline.during(|| wrapped.spawn()),
        None => wrapped.spawn(),
    };
    let mut child = spawned.map_err(failed)?;
    let missing = || failed(std::io::Error::other("a pipe is missing"));
    let stdin = child.stdin().take().ok_or_else(missing)?;
    let stdout = child.stdout().take().ok_or_else(missing)?;
    let stderr = child.stderr().take().ok_or_else(missing)?;

    let (running, Ends { to_write, stopped, ended, waiting }) = Running::new();
    let writer = tokio::spawn(write_lines(stdin, to_write));
    let logging = tokio::spawn(log_lines(stderr, Arc::clone(&program.name)));
    let reading = read_lines(stdout, Arc::clone(&program.name), waiting.clone(), inbox);
    let supervised = Supervised { child, lifeline, name: Arc::clone(&program.name), ended };
    tokio::spawn(supervised.run(stopped, writer, reading, logging));
    Ok(running)
}

/// Returns the environment of a program: nothing of ours but what is known to be harmless, and what is configured.
fn environment(program: &Program) -> BTreeMap<OsString, OsString> {
    let safe = SAFE_ENVIRONMENT.iter().filter_map(|name| {
        let value = std::env::var_os(name)?;
        // A function definition of an old shell would be executed by the next one.
        (!value.to_string_lossy().starts_with("()")).then(|| (OsString::from(name), value))
    });
    let configured = program.env.iter().map(|(name, value)| (name.into(), value.into()));
    safe.chain(configured).collect()
}

/// A process and what must go with it.
struct Supervised {
    child: Box<dyn ChildWrapper>,
    lifeline: Option<Lifeline>,
    name: Arc<str>,
    ended: Ended,
}

impl Supervised {
    async fn run(
        mut self,
        stopped: oneshot::Receiver<()>,
        writing: tokio::task::JoinHandle<()>,
        reading: impl Future<Output = ()>,
        logging: tokio::task::JoinHandle<String>,
    ) {
        tokio::pin!(reading);
        let mut reason = tokio::select! {
            () = &mut reading => "the program closed its output".to_owned(),
            _ = stopped => "the program was stopped".to_owned(),
            _ = self.child.wait() => {
                // What it has said is read before its end is told. What it left behind may hold its output open.
                let _ = timeout(LAST_WORDS, &mut reading).await;
                "the program ended".to_owned()
            }
        };
        // Closes its input, which asks it to end.
        writing.abort();
        let status = match timeout(GRACE, self.child.wait()).await {
            Ok(status) => status,
            Err(_) => self.end_group().await,
        };
        self.lifeline = None;
        // Whatever it started and left behind.
        let _ = self.child.start_kill();
        match status {
            Ok(status) if !status.success() => {
                reason = format!("the program ended with {status}");
                // The last it wrote to its log mostly says why.
                if let Ok(Ok(last_line)) = timeout(LAST_WORDS, logging).await
                    && !last_line.is_empty()
                {
                    reason = format!("{reason}: {last_line}");
                }
            }
            Ok(_) => {}
            Err(error) => tracing::debug!(server = %self.name, %error, "nothing to wait for"),
        }
        tracing::info!(server = %self.name, "{reason}");
        self.ended.tell(&reason);
    }

    async fn end_group(&mut self) -> std::io::Result<std::process::ExitStatus> {
        if self.lifeline.take().is_some()
            && let Ok(status) = timeout(HELPER_GRACE, self.child.wait()).await
        {
            return status;
        }
        self.child.start_kill()?;
        self.child.wait().await
    }
}

async fn write_lines(mut stdin: impl AsyncWrite + Unpin, mut lines: mpsc::Receiver<Chain>) {
    while let Some(line) = lines.recv().await {
        let mut line = line.in_one_line();
        line.push(Bytes::from_static(b"\n"));
        while line.has_remaining() {
            if stdin.write_all_buf(&mut line).await.is_err() {
                return;
            }
        }
        if stdin.flush().await.is_err() {
            return;
        }
    }
}

/// Passes on what the program writes to standard error; returns the last line of it.
async fn log_lines(stderr: ChildStderr, name: Arc<str>) -> String {
    let mut stderr = BufReader::new(stderr);
    let (mut bytes, mut last) = (Vec::new(), String::new());
    while let Ok(1..) = (&mut stderr).take(LONGEST_LOG_LINE).read_until(b'\n', &mut bytes).await {
        let line = String::from_utf8_lossy(&bytes).trim_end().to_owned();
        bytes.clear();
        tracing::info!(server = %name, "{line}");
        if !line.is_empty() {
            last = line;
        }
    }
    last
}

/// Reads what the program says until it closes its output.
async fn read_lines(mut stdout: impl AsyncRead + Unpin, name: Arc<str>, waiting: Waiting, inbox: Inbox) {
    let mut buffer = BytesMut::with_capacity(64 << 10);
    let mut searched = 0;
    let mut skips = false;
    loop {
        while let Some(end) = buffer.get(searched..).and_then(|rest| memchr(b'\n', rest)) {
            let line = buffer.split_to(searched + end + 1).freeze();
            searched = 0;
            if !std::mem::take(&mut skips) {
                take_message(line, &name, &waiting, &inbox).await;
                // Whoever waited for this line passes it on before the next one is.
                tokio::task::yield_now().await;
            }
        }
        searched = buffer.len();
        if searched > MAX_MESSAGE_BYTES {
            refuse_message(&buffer, &name, &waiting);
            buffer.clear();
            (searched, skips) = (0, true);
        }
        buffer.reserve(64 << 10);
        if !matches!(stdout.read_buf(&mut buffer).await, Ok(1..)) {
            return;
        }
    }
}
