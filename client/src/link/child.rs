//! A link to a program that speaks lines on its standard input and output.
//!
//! The program and all it starts are one process group. A helper, which is this program executed again, stands between:
//! it holds a pipe to us and ends the group when that pipe closes, so that nothing is left even if we are killed. A
//! program that leaves its group (`setsid`) leaves this care as well.
//!
//! A program that ends is started again by the next request, later after each failure. Requests under way then fail;
//! whether they are repeated is for [`crate::policy`] to say.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Buf as _, Bytes, BytesMut};
use memchr::memchr;
use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop};
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};
use tokio::process::{ChildStderr, Command};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout};
use wakashu_wire::envelope::{Kind, Scan};

use super::http::{cancellation, initialized};
use super::{Answer, BoxFuture, Call, Inbox, Link, MAX_MESSAGE_BYTES, timed_out};
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
/// The wait before a program that ended is started again; doubled with every failure.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A program that lived this long is not taken for one that fails at start.
const HEALTHY_AFTER: Duration = Duration::from_secs(30);
/// The longest line of a program's log that is passed on.
const LONGEST_LOG_LINE: usize = 2000;

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

/// A link to a program.
#[derive(Debug)]
pub struct ChildLink {
    program: Program,
    inbox: Inbox,
    state: tokio::sync::Mutex<State>,
    next_id: AtomicU64,
    /// The `initialize` a legacy server was greeted with, to be said again to the next process.
    greeting: Mutex<Option<Call>>,
}

#[derive(Debug, Default)]
struct State {
    running: Option<Running>,
    failures: u32,
    not_before: Option<Instant>,
}

impl State {
    /// Notes that the program ended or could not be started: the next start is later.
    fn failed(&mut self) {
        self.failures += 1;
        let pause = FIRST_PAUSE.saturating_mul(1 << (self.failures - 1).min(8)).min(LONGEST_PAUSE);
        self.not_before = Some(Instant::now() + pause);
    }
}

/// A process.
#[derive(Debug)]
struct Running {
    lines: mpsc::Sender<Chain>,
    waiting: Waiting,
    /// Dropped when the process is to be ended.
    stop: Option<oneshot::Sender<()>>,
    ended: Arc<Ended>,
    started: Instant,
}

/// Whether a process has ended, and how.
#[derive(Debug, Default)]
struct Ended {
    reason: Mutex<Option<String>>,
    told: Notify,
}

impl Ended {
    fn reason(&self) -> Option<String> {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The requests under way, by the ids they were sent under.
#[derive(Debug, Clone, Default)]
struct Waiting(Arc<Mutex<HashMap<u64, Asked>>>);

#[derive(Debug)]
struct Asked {
    answer: oneshot::Sender<Result<Answer>>,
    progress_token: Option<String>,
    touched: Arc<Notify>,
}

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Asked>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChildLink {
    /// Prepares a link; the program is started by the first message.
    #[must_use]
    pub fn new(program: Program, inbox: Inbox) -> Self {
        Self {
            program,
            inbox,
            state: tokio::sync::Mutex::default(),
            next_id: AtomicU64::new(1),
            greeting: Mutex::default(),
        }
    }

    /// Returns where to send lines and who waits for answers, of a process that runs.
    async fn running(&self) -> Result<(mpsc::Sender<Chain>, Waiting)> {
        loop {
            let mut state = self.state.lock().await;
            if let Some(running) = &state.running {
                if running.ended.reason().is_none() {
                    return Ok((running.lines.clone(), running.waiting.clone()));
                }
                if running.started.elapsed() > HEALTHY_AFTER {
                    state.failures = 0;
                }
                state.running = None;
                state.failed();
            }
            if let Some(not_before) = state.not_before.filter(|not_before| *not_before > Instant::now()) {
                // Not held while waiting, so that it can be closed meanwhile.
                drop(state);
                sleep_until(not_before).await;
                continue;
            }
            let running = start(&self.program, self.inbox.clone()).inspect_err(|_| state.failed())?;
            let reached = (running.lines.clone(), running.waiting.clone());
            let greeting = self.greeting.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if let Some(greeting) = greeting {
                tracing::info!(server = %self.program.name, "greeting the program that was started again");
                let greeted =
                    self.ask(&reached.0, &reached.1, &greeting).await.and_then(|answer| answer.result());
                greeted.inspect_err(|_| state.failed())?;
                if let Some(done) = initialized() {
                    send(&reached.0, Chain::from(done.body)).await?;
                }
            }
            state.running = Some(running);
            return Ok(reached);
        }
    }

    /// Sends a request under an id of our own and waits for the answer.
    async fn ask(&self, lines: &mpsc::Sender<Chain>, waiting: &Waiting, call: &Call) -> Result<Answer> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (answer, mut answered) = oneshot::channel();
        let touched = Arc::new(Notify::new());
        let asked =
            Asked { answer, progress_token: call.progress_token.clone(), touched: Arc::clone(&touched) };
        waiting.lock().insert(id, asked);
        let mut withdrawal =
            Withdrawal { id, lines, waiting, is_sent: false, tells: call.method != "initialize" };
        let line = Chain::from(call.body.clone()).replace(call.id.clone(), Bytes::from(id.to_string()));
        send(lines, line).await?;
        withdrawal.is_sent = true;
        loop {
            let deadline = sleep_until(Instant::now() + call.patience);
            tokio::select! {
                answer = &mut answered => {
                    withdrawal.is_sent = false;
                    let gone = |_| Error::new(ErrorCode::ConnectionLost, "the program ended before its answer");
                    return answer.map_err(gone)?.map(|answer| answer.with_id(call.id_json()));
                }
                () = touched.notified() => {}
                () = deadline => return Err(timed_out(call)),
            }
        }
    }
}

/// Takes a request back that nobody waits for any more.
struct Withdrawal<'a> {
    id: u64,
    lines: &'a mpsc::Sender<Chain>,
    waiting: &'a Waiting,
    is_sent: bool,
    tells: bool,
}

impl Drop for Withdrawal<'_> {
    fn drop(&mut self) {
        self.waiting.lock().remove(&self.id);
        if self.is_sent
            && self.tells
            && let Some(notice) = cancellation(self.id.to_string().as_bytes())
        {
            let mut line = Chain::from(notice.body);
            line.push(Bytes::from_static(b"\n"));
            // A program that does not even read its input is not told.
            let _ = self.lines.try_send(line);
        }
    }
}

async fn send(lines: &mpsc::Sender<Chain>, mut line: Chain) -> Result<()> {
    line = line.in_one_line();
    line.push(Bytes::from_static(b"\n"));
    let gone = |_| Error::unsent(ErrorCode::ConnectionLost, "the program has ended");
    lines.send(line).await.map_err(gone)
}

impl Link for ChildLink {
    fn request(&self, call: Call) -> BoxFuture<'_, Result<Answer>> {
        Box::pin(async move {
            let running = async {
                match timeout(call.patience, self.running()).await {
                    Ok(running) => running,
                    Err(_) => Err(Error { never_sent: true, ..timed_out(&call) }),
                }
            };
            let (lines, waiting) = running.await?;
            let answer = self.ask(&lines, &waiting, &call).await?;
            if call.method == "initialize" && answer.envelope.result().is_some() {
                *self.greeting.lock().unwrap_or_else(PoisonError::into_inner) = Some(call);
            }
            Ok(answer)
        })
    }

    fn notify(&self, call: Call) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let (lines, _) = self.running().await?;
            send(&lines, Chain::from(call.body)).await
        })
    }

    fn is_open(&self) -> bool {
        match self.state.try_lock() {
            Ok(state) => state.running.as_ref().is_some_and(|running| running.ended.reason().is_none()),
            // It is being started.
            Err(_) => true,
        }
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // Whoever opens it again greets it anew.
            *self.greeting.lock().unwrap_or_else(PoisonError::into_inner) = None;
            let Some(mut running) = self.state.lock().await.running.take() else { return };
            let ended = Arc::clone(&running.ended);
            let told = ended.told.notified();
            tokio::pin!(told);
            told.as_mut().enable();
            running.stop = None;
            drop(running);
            if ended.reason().is_none() {
                let _ = timeout(GRACE + HELPER_GRACE + GRACE, told).await;
            }
        })
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

    let (lines, to_write) = mpsc::channel(64);
    let (stop, stopped) = oneshot::channel();
    let waiting = Waiting::default();
    let ended = Arc::new(Ended::default());
    let writer = tokio::spawn(write_lines(stdin, to_write));
    let logging = tokio::spawn(log_lines(stderr, Arc::clone(&program.name)));
    let reading = read_lines(stdout, Arc::clone(&program.name), waiting.clone(), inbox);
    let supervised =
        Supervised { child, lifeline, name: Arc::clone(&program.name), waiting: waiting.clone() };
    tokio::spawn(supervised.run(stopped, writer, reading, logging, Arc::clone(&ended)));
    Ok(Running { lines, waiting, stop: Some(stop), ended, started: Instant::now() })
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
    waiting: Waiting,
}

impl Supervised {
    async fn run(
        mut self,
        stopped: oneshot::Receiver<()>,
        writing: tokio::task::JoinHandle<()>,
        reading: impl Future<Output = ()>,
        logging: tokio::task::JoinHandle<String>,
        ended: Arc<Ended>,
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
        *ended.reason.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason.clone());
        for (_, asked) in self.waiting.lock().drain() {
            let _ = asked.answer.send(Err(Error::new(ErrorCode::ConnectionLost, reason.clone())));
        }
        ended.told.notify_waiters();
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
    while let Some(mut line) = lines.recv().await {
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
    let mut lines = BufReader::new(stderr).split(b'\n');
    let mut last = String::new();
    while let Ok(Some(line)) = lines.next_segment().await {
        let line =
            String::from_utf8_lossy(line.get(..LONGEST_LOG_LINE).unwrap_or(&line)).trim_end().to_owned();
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
                take_line(line, &name, &waiting, &inbox).await;
                // Whoever waited for this line passes it on before the next one is.
                tokio::task::yield_now().await;
            }
        }
        searched = buffer.len();
        if searched > MAX_MESSAGE_BYTES {
            refuse_line(&buffer, &name, &waiting);
            buffer.clear();
            (searched, skips) = (0, true);
        }
        buffer.reserve(64 << 10);
        if !matches!(stdout.read_buf(&mut buffer).await, Ok(1..)) {
            return;
        }
    }
}

async fn take_line(line: Bytes, name: &str, waiting: &Waiting, inbox: &Inbox) {
    let message = Chain::from(line.slice(..line.trim_ascii_end().len()));
    if message.is_empty() {
        return;
    }
    let Ok(envelope) = message.scan() else {
        let shown: String = String::from_utf8_lossy(&line).chars().take(200).collect();
        tracing::warn!(server = name, line = shown.trim_end(), "skipped a line that is not a message");
        return;
    };
    let id = envelope.id().map(|span| message.slice(span).into_bytes());
    match envelope.kind() {
        Some(Kind::Result | Kind::Error) => {
            let asked = id.as_deref().and_then(number).and_then(|id| waiting.lock().remove(&id));
            if let Some(asked) = asked {
                // Whoever asked may be gone.
                let _ = asked.answer.send(Ok(Answer { message, envelope }));
            } else {
                tracing::debug!(server = name, "skipped an answer nobody waits for");
            }
        }
        Some(Kind::Notification) => {
            note_progress(&message, &envelope, waiting);
            let _ = inbox.send(message).await;
        }
        Some(Kind::Request) => drop(inbox.send(message).await),
        None => tracing::warn!(server = name, "skipped a line that is not a message"),
    }
}

fn number(id: &[u8]) -> Option<u64> {
    std::str::from_utf8(id).ok()?.parse().ok()
}

/// Gives a request more time whose server says that it goes on.
fn note_progress(message: &Chain, envelope: &wakashu_wire::Envelope, waiting: &Waiting) {
    let is_progress = |span| message.slice(span).into_bytes() == "\"notifications/progress\"";
    if !envelope.method().is_some_and(is_progress) {
        return;
    }
    let params = envelope.params().map(|span| message.slice(span).into_bytes()).unwrap_or_default();
    let params: serde_json::Value = serde_json::from_slice(&params).unwrap_or_default();
    let Some(token) = params.get("progressToken").map(ToString::to_string) else { return };
    for asked in waiting.lock().values() {
        if asked.progress_token.as_ref() == Some(&token) {
            asked.touched.notify_one();
        }
    }
}

/// Answers the request whose answer is too large, if it says which it is.
fn refuse_line(line: &[u8], name: &str, waiting: &Waiting) {
    let mut scan = Scan::default();
    scan.feed(line);
    let id = scan.id().and_then(|span| line.get(span)).and_then(number);
    let sentence = format!("the answer is larger than {MAX_MESSAGE_BYTES} bytes, the most that is passed on");
    tracing::warn!(server = name, "skipped a line: {sentence}");
    if let Some(asked) = id.and_then(|id| waiting.lock().remove(&id)) {
        let _ = asked.answer.send(Err(Error::new(ErrorCode::ExecutionFailed, sentence)));
    }
}
