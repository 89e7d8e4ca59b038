//! The real `wakashu-function` under AWS's own runtime emulator.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::programs::{program, repository};
use crate::server::Log;

/// How long the emulator may take to listen.
const PATIENCE: Duration = Duration::from_secs(20);

/// Starts the emulator and ends it when the input closes, which happens when this process ends, however it ends.
const KEEPER: &str = r#""$0" --runtime-interface-emulator-address "$1" --runtime-api-address "$2" "$3" 2>&1 &
emulator=$!; cat >/dev/null; kill "$emulator"; wait "$emulator""#;

/// How the platform takes answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// As one JSON object.
    Buffered,
    /// As metadata, eight NULs and the body.
    Stream,
}

/// A function under the emulator, ended when dropped.
#[derive(Debug)]
pub struct Lambda {
    keeper: Child,
    input: Option<ChildStdin>,
    address: SocketAddr,
    mode: Mode,
    log: Log,
}

/// An answer as a client of the function URL would see it.
#[derive(Debug, Clone)]
pub struct LambdaReply {
    /// The status code.
    pub status: u16,
    /// The headers, a JSON object.
    pub headers: Value,
    /// The body, decoded.
    pub body: Vec<u8>,
    /// Whether the body travelled as base64.
    pub was_base64: bool,
}

impl LambdaReply {
    /// Returns the body as JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("the body is JSON")
    }
}

impl Lambda {
    /// Prepares the function; it starts with the first event.
    #[must_use]
    pub fn start(mode: Mode, settings: &[(&str, &str)]) -> Self {
        Self::start_program(&program("wakashu-function"), mode, settings)
    }

    /// Prepares a program.
    #[must_use]
    pub fn start_program(program: &Path, mode: Mode, settings: &[(&str, &str)]) -> Self {
        let (address, api) = (free_address(), free_address());
        let mut command = Command::new("sh");
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with("WAKASHU_") || name.starts_with("AWS_")) {
                command.env_remove(name);
            }
        }
        command
            .args(["-c", KEEPER])
            .arg(emulator())
            .args([address.to_string(), api.to_string()])
            .arg(program);
        if mode == Mode::Stream {
            command.env("WAKASHU_INVOKE_MODE", "RESPONSE_STREAM");
        }
        command.envs(settings.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut keeper = command.spawn().expect("the emulator starts");
        let input = keeper.stdin.take();
        let log = Log::follow(keeper.stdout.take().unwrap());
        let started = Instant::now();
        while TcpStream::connect(address).is_err() {
            assert!(started.elapsed() < PATIENCE, "the emulator does not listen:\n{}", log.text());
            std::thread::sleep(Duration::from_millis(10));
        }
        Self { keeper, input, address, mode, log }
    }

    /// Sends an event and returns the answer.
    #[must_use]
    pub fn send(&self, event: &Value) -> LambdaReply {
        let answer = self.invoke(event);
        match self.mode {
            Mode::Buffered => buffered(&answer),
            Mode::Stream => streamed(&answer),
        }
    }

    /// Sends an event and returns what the emulator answers.
    #[must_use]
    pub fn invoke(&self, event: &Value) -> Vec<u8> {
        let event = event.to_string();
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // The older protocol, because in it a long answer is not cut into chunks.
        write!(
            stream,
            "POST /2015-03-31/functions/function/invocations HTTP/1.0\r\nContent-Length: {}\r\n\r\n{event}",
            event.len()
        )
        .unwrap();
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply).unwrap_or_else(|error| panic!("{error}:\n{}", self.log.text()));
        let head = reply.windows(4).position(|part| part == b"\r\n\r\n").expect("an answer has a head");
        assert!(reply.starts_with(b"HTTP/1.0 200 "), "{}", String::from_utf8_lossy(&reply));
        reply.split_off(head + 4)
    }

    /// Returns what the emulator and the function have logged.
    #[must_use]
    pub fn log(&self) -> String {
        self.log.text()
    }

    /// Waits until the log contains `needle` and returns the whole of it.
    #[must_use]
    pub fn log_with(&self, needle: &str) -> String {
        self.log.wait_for(needle)
    }
}

impl Drop for Lambda {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.keeper.wait();
    }
}

/// Reads an event of `fixtures/events`.
#[must_use]
pub fn event(name: &str) -> Value {
    let path = repository().join("fixtures/events").join(format!("{name}.json"));
    let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap()
}

fn buffered(answer: &[u8]) -> LambdaReply {
    let envelope: Value = serde_json::from_slice(answer).expect("the envelope is JSON");
    let body = envelope["body"].as_str().unwrap_or_else(|| panic!("{envelope}"));
    let was_base64 = envelope["isBase64Encoded"].as_bool().unwrap();
    LambdaReply {
        status: envelope["statusCode"].as_u64().and_then(|status| status.try_into().ok()).unwrap(),
        headers: envelope["headers"].clone(),
        body: if was_base64 { STANDARD.decode(body).unwrap() } else { body.as_bytes().to_vec() },
        was_base64,
    }
}

fn streamed(answer: &[u8]) -> LambdaReply {
    let at = answer.windows(8).position(|part| part == [0; 8]);
    let at = at.unwrap_or_else(|| panic!("no metadata: {}", String::from_utf8_lossy(answer)));
    let metadata: Value = serde_json::from_slice(&answer[..at]).expect("the metadata is JSON");
    LambdaReply {
        status: metadata["statusCode"].as_u64().and_then(|status| status.try_into().ok()).unwrap(),
        headers: metadata["headers"].clone(),
        body: answer[at + 8..].to_vec(),
        was_base64: false,
    }
}

/// Returns AWS's emulator, which comes with the package aws-sam-cli; installs it the first time.
fn emulator() -> PathBuf {
    let tools = Command::new(repository().join(".ci/tools")).status().expect("`.ci/tools` starts");
    assert!(tools.success(), "`.ci/tools` could not install the emulator; run it by hand to see why");
    let architecture = if cfg!(target_arch = "aarch64") { "arm64" } else { "x86_64" };
    let packages = repository().join(".tools/venv/lib");
    let python = std::fs::read_dir(packages).unwrap().next().unwrap().unwrap().path();
    let emulator = python.join(format!("site-packages/samcli/local/rapid/aws-lambda-rie-{architecture}"));
    assert!(emulator.exists(), "aws-sam-cli has no {}", emulator.display());
    emulator
}

/// Returns an address that was free a moment ago; nobody else is told of it in between.
fn free_address() -> SocketAddr {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap()
}
