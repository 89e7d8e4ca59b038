//! The real `wakashu-function serve`.

use std::io::{BufRead as _, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::canary::{SECRETS, check_for_secrets};
use crate::http::{Connection, HttpRequest, Reply};
use crate::programs::program;

/// How long to wait for something to appear in the log; it is written out a few times a second.
const LOG_PATIENCE: Duration = Duration::from_secs(5);

/// How long a server may take to end by itself before a test gives up on it.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a program may take to end when it is asked to, so that its log is whole.
pub(crate) const ENDING_PATIENCE: Duration = Duration::from_secs(1);

/// A running server, ended when dropped. No secret may then be in its log.
#[derive(Debug)]
pub struct Server {
    child: Child,
    url: String,
    log: Log,
    _stdout: BufReader<ChildStdout>,
}

impl Server {
    /// Serves an archive.
    #[must_use]
    pub fn serve(archive: &Path) -> Self {
        Self::serve_with(Some(archive), &[])
    }

    /// Serves an archive, or none, under these environment variables.
    #[must_use]
    pub fn serve_with(archive: Option<&Path>, settings: &[(&str, &str)]) -> Self {
        let mut command = function();
        command.args(["serve", "--port", "0"]).args(archive).envs(settings.iter().copied());
        let mut child = command.stdin(Stdio::null()).spawn().expect("the server starts");
        let log = Log::follow(child.stderr.take().unwrap());
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut url = String::new();
        stdout.read_line(&mut url).unwrap();
        assert!(
            url.starts_with("http://") && url.ends_with("/mcp\n"),
            "the first line is the address: {url:?} {log:?}"
        );
        Self { child, url: url.trim_end().to_owned(), log, _stdout: stdout }
    }

    /// Returns the address of the MCP endpoint.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns where the server listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        let address = self.url.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp"));
        address.and_then(|address| address.parse().ok()).expect("an address")
    }

    /// Opens a connection.
    #[must_use]
    pub fn connect(&self) -> Connection {
        Connection::open(self.address())
    }

    /// Sends a request on a connection of its own and checks what holds for every answer.
    #[must_use]
    pub fn send(&self, request: &HttpRequest) -> Reply {
        let mut connection = self.connect();
        connection.send(&request.bytes()).expect("the request can be sent");
        let reply = connection.receive_for(&request.method).expect("an answer");
        // Pictures are neither text nor bound by the budget of JSON-RPC answers.
        if !reply.header("content-type").is_some_and(|kind| kind.starts_with("image/")) {
            crate::check_answer(&reply.body);
        }
        reply
    }

    /// Fetches a path.
    #[must_use]
    pub fn get(&self, target: &str) -> Reply {
        self.send(&HttpRequest::new("GET", target))
    }

    /// Waits until the log contains `needle` and returns the whole of it.
    #[must_use]
    pub fn log_with(&self, needle: &str) -> String {
        self.log.wait_for(needle)
    }

    /// Returns the log as far as it is written.
    #[must_use]
    pub fn log(&self) -> String {
        self.log.text()
    }

    /// Returns the process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Tells whether the process still runs.
    #[must_use]
    pub fn is_alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for the process to end by itself, within the usual patience; its log is whole then.
    #[must_use]
    pub fn wait(&mut self) -> ExitStatus {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                self.log.wait_until_whole();
                return status;
            }
            assert!(
                started.elapsed() < PATIENCE,
                "the server does not end; the log says:\n{}",
                self.log.text()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Already gone is fine.
        let _ =
            Command::new("kill").args(["-TERM", &self.child.id().to_string()]).stderr(Stdio::null()).status();
        end(&mut self.child);
        self.log.check_for_secrets();
    }
}

/// Waits a little for a process that is about to end, then ends it.
pub(crate) fn end(child: &mut Child) {
    let started = Instant::now();
    while started.elapsed() < ENDING_PATIENCE && matches!(child.try_wait(), Ok(None)) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// Returns the program under test with an environment of its own, in which secrets lie.
pub(crate) fn function() -> Command {
    let mut command = Command::new(program("wakashu-function"));
    for (name, _) in std::env::vars_os() {
        let ours = name.to_str().is_some_and(|name| name.starts_with("WAKASHU_") || name.starts_with("AWS_"));
        if ours || name == "HOST" || name == "PORT" {
            command.env_remove(name);
        }
    }
    command.envs(SECRETS).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What a process writes to stderr, collected as it comes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Written>>);

#[derive(Debug, Default)]
struct Written {
    bytes: Vec<u8>,
    is_whole: bool,
}

impl Log {
    pub(crate) fn follow(mut stderr: impl Read + Send + 'static) -> Self {
        let log = Self::default();
        let followed = log.clone();
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(count) = stderr.read(&mut part)
                && count > 0
            {
                followed.written().bytes.extend_from_slice(part.get(..count).unwrap_or_default());
            }
            followed.written().is_whole = true;
        });
        log
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits a little until all of it is here, once its process has ended.
    pub(crate) fn wait_until_whole(&self) {
        let started = Instant::now();
        while !self.written().is_whole && started.elapsed() < ENDING_PATIENCE {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Checks all of it for secrets, once its process has ended.
    pub(crate) fn check_for_secrets(&self) {
        self.wait_until_whole();
        // A test that fails already says why.
        if !std::thread::panicking() {
            check_for_secrets(&self.written().bytes);
        }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.written().bytes).into_owned()
    }

    pub(crate) fn wait_for(&self, needle: &str) -> String {
        let started = Instant::now();
        loop {
            let text = self.text();
            if text.contains(needle) {
                return text;
            }
            assert!(started.elapsed() < LOG_PATIENCE, "{needle} is not in the log:\n{text}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
