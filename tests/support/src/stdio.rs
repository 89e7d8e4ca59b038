//! The real `wakashu-function stdio`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::Value;

use crate::canary::check_for_secrets;
use crate::server::{Log, end, function};

const PATIENCE: Duration = Duration::from_secs(10);

/// A running process that speaks MCP on its standard streams, ended when dropped. No secret may then be in its log.
#[derive(Debug)]
pub struct Stdio {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    log: Log,
}

impl Stdio {
    /// Starts the process on an archive.
    #[must_use]
    pub fn start(archive: &Path) -> Self {
        Self::start_with(Some(archive), &[])
    }

    /// Starts the process on an archive, or without one, under these environment variables.
    #[must_use]
    pub fn start_with(archive: Option<&Path>, settings: &[(&str, &str)]) -> Self {
        let mut command = function();
        command.arg("stdio").args(archive).envs(settings.iter().copied());
        let mut child = command.stdin(std::process::Stdio::piped()).spawn().expect("the process starts");
        let log = Log::follow(child.stderr.take().unwrap());
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self { stdin: child.stdin.take(), child, lines, log }
    }

    /// Sends bytes and a line end.
    pub fn send(&mut self, line: impl AsRef<[u8]>) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        stdin.write_all(&[line.as_ref(), b"\n"].concat()).unwrap();
        stdin.flush().unwrap();
    }

    /// Returns the next line of output; nothing once the output has ended.
    pub fn receive(&mut self) -> Option<Value> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => {
                check_for_secrets(line.as_bytes());
                crate::check_answer(line.as_bytes());
                Some(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line}")))
            }
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("no answer; the log says:\n{}", self.log.text()),
        }
    }

    /// Sends a message and returns the next line of output.
    pub fn ask(&mut self, message: &Value) -> Value {
        self.send(message.to_string());
        self.receive().expect("an answer")
    }

    /// Ends the input.
    pub fn end_input(&mut self) {
        self.stdin = None;
    }

    /// Waits for the process to end by itself, within the usual patience; its log is whole then.
    #[must_use]
    pub fn wait(&mut self) -> ExitStatus {
        let started = std::time::Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                self.log.wait_until_whole();
                return status;
            }
            assert!(started.elapsed() < PATIENCE, "the process does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until the log contains `needle` and returns the whole of it.
    #[must_use]
    pub fn log_with(&self, needle: &str) -> String {
        self.log.wait_for(needle)
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        self.end_input();
        end(&mut self.child);
        self.log.check_for_secrets();
    }
}
