//! The real `wakashu-function serve`.

use std::io::{BufRead as _, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::http::{Connection, HttpRequest, Reply};
use crate::programs::program;

/// How long to wait for something to appear in the log; it is written out a few times a second.
const LOG_PATIENCE: Duration = Duration::from_secs(5);

/// A running server, killed when dropped.
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

    /// Serves an archive, or nothing, under these environment variables.
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

    /// Waits for the process to end by itself.
    #[must_use]
    pub fn wait(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Already gone is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the program under test with an environment of its own.
pub(crate) fn function() -> Command {
    let mut command = Command::new(program("wakashu-function"));
    for (name, _) in std::env::vars_os() {
        let ours = name.to_str().is_some_and(|name| name.starts_with("WAKASHU_") || name.starts_with("AWS_"));
        if ours || name == "HOST" || name == "PORT" {
            command.env_remove(name);
        }
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What a process writes to stderr, collected as it comes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    pub(crate) fn follow(mut stderr: impl Read + Send + 'static) -> Self {
        let log = Self::default();
        let collected = Arc::clone(&log.0);
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(count) = stderr.read(&mut part)
                && count > 0
            {
                let mut collected = collected.lock().unwrap_or_else(PoisonError::into_inner);
                collected.extend_from_slice(part.get(..count).unwrap_or_default());
            }
        });
        log
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
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
