//! The real `wakashu-function` under AWS's own runtime emulator.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, mpsc};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tempfile::TempDir;

use crate::canary::{SECRETS, check_for_secrets};
use crate::programs::{program, repository};
use crate::server::Log;

/// How long the emulator may take to listen.
const PATIENCE: Duration = Duration::from_secs(20);

/// Starts the emulator and ends it when the input closes, which happens when this process ends, however it ends.
///
/// The system chooses both ports. The function is told a port of 0 for the one on which it fetches its events, so a shell
/// sets it right before the function starts, which is with the first event.
const KEEPER: &str = r#""$0" --runtime-interface-emulator-address 127.0.0.1:0 --runtime-api-address 127.0.0.1:0 \
  /bin/sh -c 'AWS_LAMBDA_RUNTIME_API=$(cat "$1") exec "$0"' "$1" "$2" 2>&1 &
emulator=$!; echo "emulator: $emulator."; cat >/dev/null; kill "$emulator"; wait "$emulator""#;

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
    _folder: TempDir,
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
        let mut command = Command::new("sh");
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with("WAKASHU_") || name.starts_with("AWS_")) {
                command.env_remove(name);
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let runtime_api = folder.path().join("runtime-api");
        command.args(["-c", KEEPER]).arg(emulator()).arg(program).arg(&runtime_api);
        if mode == Mode::Stream {
            command.env("WAKASHU_INVOKE_MODE", "RESPONSE_STREAM");
        }
        command.envs(SECRETS).envs(settings.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut keeper = command.spawn().expect("the emulator starts");
        let input = keeper.stdin.take();
        let log = Log::follow(keeper.stdout.take().unwrap());
        let (events, api) = listening_ports(&log);
        std::fs::write(runtime_api, format!("127.0.0.1:{api}")).unwrap();
        Self { keeper, input, address: (Ipv4Addr::LOCALHOST, events).into(), mode, log, _folder: folder }
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
        let (status, body) = self.exchange(event);
        assert_eq!(status, 200, "{}\n{}", String::from_utf8_lossy(&body), self.log.text());
        body
    }

    /// Sends an event and returns the emulator's status and answer.
    #[must_use]
    pub fn exchange(&self, event: &Value) -> (u16, Vec<u8>) {
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
        let body = reply.split_off(head + 4);
        check_for_secrets(&body);
        let status = String::from_utf8_lossy(&reply).split(' ').nth(1).and_then(|code| code.parse().ok());
        (status.expect("an answer has a status"), body)
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
        self.log.check_for_secrets();
    }
}

/// The platform's side of several requests at a time, which the emulator does not do: a Runtime API that hands out
/// events to as many pollers as ask, the first ones only when all of them are there.
///
/// Returns the answers in the order of the events.
#[must_use]
pub fn answer_at_once(events: &[Value], pollers: usize, settings: &[(&str, &str)]) -> Vec<LambdaReply> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let mut function = crate::server::function()
        .envs([
            ("AWS_LAMBDA_RUNTIME_API", address.to_string().as_str()),
            ("AWS_LAMBDA_FUNCTION_NAME", "function"),
            ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "1024"),
            ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
            ("AWS_LAMBDA_MAX_CONCURRENCY", pollers.to_string().as_str()),
        ])
        .envs(settings.iter().copied())
        .spawn()
        .unwrap();
    let log = Log::follow(function.stderr.take().unwrap());
    let bodies: Vec<String> = events.iter().map(Value::to_string).collect();
    let (given, everyone) = (AtomicUsize::new(0), Barrier::new(pollers));
    let (answered, answers) = mpsc::channel();
    let mut replies: BTreeMap<usize, LambdaReply> = BTreeMap::new();
    std::thread::scope(|scope| {
        let (bodies, given, everyone) = (&bodies, &given, &everyone);
        let accepting = listener.try_clone().unwrap();
        scope.spawn(move || {
            while let Ok((stream, _)) = accepting.accept() {
                // The test is over and knocks once more.
                if given.load(Ordering::SeqCst) == usize::MAX {
                    break;
                }
                let answered = answered.clone();
                scope.spawn(move || hand_out(&stream, bodies, given, (pollers, everyone), &answered));
            }
        });
        while replies.len() < events.len() {
            let next = answers.recv_timeout(PATIENCE);
            let Ok((at, answer)) = next else { break };
            replies.insert(at, buffered(&answer));
        }
        let _ = function.kill();
        let _ = function.wait();
        given.store(usize::MAX, Ordering::SeqCst);
        let _ = TcpStream::connect(address);
    });
    log.check_for_secrets();
    assert_eq!(replies.len(), events.len(), "some were not answered:\n{}", log.text());
    replies.into_values().collect()
}

/// Serves one connection of the function until it closes.
fn hand_out(
    mut stream: &TcpStream,
    bodies: &[String],
    given: &AtomicUsize,
    (pollers, everyone): (usize, &Barrier),
    answered: &mpsc::Sender<(usize, Vec<u8>)>,
) {
    let mut input = BufReader::new(stream);
    loop {
        let (mut first, mut length) = (String::new(), 0);
        if input.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        loop {
            let mut line = String::new();
            input.read_line(&mut line).unwrap();
            if line.trim().is_empty() {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        input.read_exact(&mut body).unwrap();
        if first.starts_with("GET") {
            let at = given.fetch_add(1, Ordering::SeqCst);
            // A request for the next event waits when there is none left, as on the platform.
            let Some(event) = bodies.get(at) else {
                let _ = input.read(&mut [0]);
                return;
            };
            if at < pollers {
                everyone.wait();
            }
            let deadline = "4102444800000";
            write!(
                stream,
                "HTTP/1.1 200 OK\r\nLambda-Runtime-Aws-Request-Id: {at}\r\nLambda-Runtime-Deadline-Ms: {deadline}\r\n\
                 Content-Length: {}\r\n\r\n{event}",
                event.len()
            )
            .unwrap();
        } else {
            let at =
                first.split('/').nth(4).and_then(|id| id.parse().ok()).expect("an answer names its event");
            assert!(first.contains("/response "), "{first}: {}", String::from_utf8_lossy(&body));
            check_for_secrets(&body);
            answered.send((at, body)).unwrap();
            write!(stream, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n").unwrap();
        }
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

/// Waits until the emulator listens, and returns the port on which it takes events and the one on which it hands them on.
/// It names only the latter.
fn listening_ports(log: &Log) -> (u16, u16) {
    let id = log.wait_for(".\n");
    let id =
        id.split_once("emulator: ").and_then(|(_, rest)| rest.split_once('.')).expect("the keeper says it").0;
    let started = Instant::now();
    loop {
        let text = log.text();
        let other = text.split_once("dynamically allocated port=").map(|(_, rest)| {
            rest.chars()
                .skip_while(|letter| !letter.is_ascii_digit())
                .take_while(char::is_ascii_digit)
                .collect()
        });
        let ports = ports_of(id);
        if let Some(other) = other.and_then(|port: String| port.parse::<u16>().ok())
            && let [one, another] = ports[..]
        {
            return (if one == other { another } else { one }, other);
        }
        assert!(started.elapsed() < PATIENCE, "the emulator does not listen:\n{text}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns the TCP ports a process listens on, as Linux knows them.
fn ports_of(process: &str) -> Vec<u16> {
    let Ok(files) = std::fs::read_dir(format!("/proc/{process}/fd")) else { return Vec::new() };
    let links = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
    let sockets: Vec<String> = links.map(|link| link.to_string_lossy().into_owned()).collect();
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    let rows = table.lines().map(|row| row.split_ascii_whitespace().collect::<Vec<_>>());
    // Columns: the local address, the state (0A is listening), the inode.
    let listening = rows.filter(|row| row.get(3) == Some(&"0A"));
    let own = listening.filter(|row| {
        row.get(9).is_some_and(|inode| sockets.iter().any(|socket| *socket == format!("socket:[{inode}]")))
    });
    own.filter_map(|row| u16::from_str_radix(row.get(1)?.split_once(':')?.1, 16).ok()).collect()
}
