//! Which servers there are: from YAML, JSON or JSON with comments, or made in code.
//!
//! ```yaml
//! servers:
//!   - name: poems
//!     transport: http
//!     url: https://example.org/mcp
//!     tokenFile: token.txt
//!   - name: filesystem
//!     command: "@akiojin/mcp-filesystem"   # YAML demands the quotes
//!     args: ["--root", "${PROJECT_ROOT}"]
//!     deny: ["write_*"]
//!     sandbox: { read: ["${PROJECT_ROOT}"], network: false }
//! options:
//!   maxParallel: 10
//!   timeout: 30000
//! ```
//!
//! `servers` is a list, or a map by name; `mcpServers`, the map of other programs, is read as well. `${VAR}`,
//! `${env:VAR}` and `${VAR:-default}` are expanded in values, after parsing, so that a value cannot add structure. All
//! problems are found in one run, each with its place. Keys that are not known are warned of: files of other programs
//! must load.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use crate::cache;
use crate::error::{Error, ErrorCode, Result};
use crate::helper::Helper;
use crate::link::child::{ChildLink, Program};
use crate::link::http::{HttpLink, SCHEMES, read_address};
#[cfg(feature = "websocket")]
use crate::link::websocket;
use crate::link::{Inbox, Link};
use crate::manager::DEFAULT_TIMEOUT;
use crate::policy::RetryPolicy;
use crate::rules::Rules;
use crate::sandbox::Sandbox;

/// Servers and options.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// The servers, in the order of the file.
    pub servers: Vec<ServerConfig>,
    /// What holds for all of them.
    pub options: Options,
    /// What is odd about the file, but no reason not to use it.
    pub warnings: Vec<Problem>,
}

/// What holds for all servers.
#[derive(Debug, Clone)]
pub struct Options {
    /// How many tools run at a time in one parallel execution.
    pub max_parallel: usize,
    /// How many servers are connected at a time.
    pub max_connections: usize,
    /// How long a request waits for an answer or a sign of progress.
    pub timeout: Duration,
    /// How failed requests are repeated.
    pub retry_policy: RetryPolicy,
    /// How many answers are kept; 0 keeps none.
    pub cache_entries: usize,
    /// How long answers hold whose server does not say.
    pub cache_ttl: Duration,
    /// Whether results are held against a tool's output schema.
    pub validate_output: bool,
    /// Whether every execution is logged.
    pub debug: bool,
    /// What starts programs; see [`Helper`].
    pub helper: Option<Helper>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_parallel: 10,
            max_connections: 10,
            timeout: DEFAULT_TIMEOUT,
            retry_policy: RetryPolicy::default(),
            cache_entries: cache::MAX_ENTRIES,
            cache_ttl: cache::DEFAULT_TTL,
            validate_output: false,
            debug: false,
            helper: None,
        }
    }
}

/// One server.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// The name it goes by.
    pub name: String,
    /// How it is reached.
    pub transport: Transport,
    /// How long a request waits, if not as the options say.
    pub timeout: Option<Duration>,
    /// How failed requests are repeated, if not as the options say.
    pub retry_policy: Option<RetryPolicy>,
    /// Whether what it says of its tools is believed: those that say they only read are repeated after a failure.
    pub trusted: bool,
    /// Which of its tools may be run.
    pub rules: Rules,
}

/// How a server is reached.
#[derive(Clone)]
#[non_exhaustive]
pub enum Transport {
    /// A program.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// What is added to its environment.
        env: BTreeMap<String, String>,
        /// The folder it is started in.
        cwd: Option<PathBuf>,
        /// What it may reach.
        sandbox: Option<Sandbox>,
    },
    /// An endpoint on the web.
    Http {
        /// Its address; over a WebSocket, where that is built, if it begins with `wss://` or `ws://`.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
        /// A file of further headers, a line each.
        headers_file: Option<PathBuf>,
        /// A file that holds a bearer token.
        token_file: Option<PathBuf>,
    },
}

impl fmt::Debug for Transport {
    /// Leaves out what may be secret: values of variables and headers, and queries.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio { command, env, .. } => f
                .debug_struct("Stdio")
                .field("command", command)
                .field("env", &env.keys())
                .finish_non_exhaustive(),
            Self::Http { url, headers, .. } => {
                let url = url.split('?').next().unwrap_or_default();
                f.debug_struct("Http")
                    .field("url", &url)
                    .field("headers", &headers.keys())
                    .finish_non_exhaustive()
            }
        }
    }
}

impl ServerConfig {
    /// Returns a server that is reached like this, and is otherwise as the options say.
    #[must_use]
    pub fn new(name: impl Into<String>, transport: Transport) -> Self {
        Self {
            name: name.into(),
            transport,
            timeout: None,
            retry_policy: None,
            trusted: false,
            rules: Rules::default(),
        }
    }

    /// Returns a server on the web.
    #[must_use]
    pub fn http(name: impl Into<String>, url: impl Into<String>) -> Self {
        let (headers, headers_file, token_file) = (BTreeMap::new(), None, None);
        Self::new(name, Transport::Http { url: url.into(), headers, headers_file, token_file })
    }

    /// Returns a program as a server.
    #[must_use]
    pub fn stdio(name: impl Into<String>, command: impl Into<String>, args: &[&str]) -> Self {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        let (env, cwd, sandbox) = (BTreeMap::new(), None, None);
        Self::new(name, Transport::Stdio { command: command.into(), args, env, cwd, sandbox })
    }

    /// Makes the link.
    pub fn link(&self, options: &Options, inbox: Inbox) -> Result<Arc<dyn Link>> {
        match &self.transport {
            Transport::Stdio { command, args, env, cwd, sandbox } => {
                let program = Program {
                    name: self.name.as_str().into(),
                    command: command.into(),
                    args: args.iter().map(Into::into).collect(),
                    env: env.clone(),
                    folder: cwd.clone(),
                    sandbox: sandbox.clone(),
                    helper: options.helper.clone(),
                };
                Ok(Arc::new(ChildLink::new(program, inbox)))
            }
            #[cfg(feature = "websocket")]
            Transport::Http { url, .. } if url.starts_with("ws") => {
                let endpoint = websocket::Endpoint::new(self.name.as_str(), url, self.headers()?)?;
                Ok(Arc::new(websocket::WebSocketLink::new(endpoint, inbox)))
            }
            Transport::Http { url, .. } => Ok(Arc::new(HttpLink::new(url, self.headers()?, inbox)?)),
        }
    }

    /// Returns the headers of every request, those from files included.
    fn headers(&self) -> Result<HeaderMap> {
        let Transport::Http { headers, headers_file, token_file, .. } = &self.transport else {
            return Ok(HeaderMap::new());
        };
        let wrong = |problem: String| Error::unsent(ErrorCode::ConnectionFailed, problem);
        let mut all = HeaderMap::new();
        let mut add = |name: &str, value: &str| {
            // The value is never part of a message.
            let (name, value) = header(name, value).map_err(wrong)?;
            all.insert(name, value);
            Ok::<(), Error>(())
        };
        for (name, value) in headers {
            add(name, value)?;
        }
        if let Some(file) = headers_file {
            for (name, value) in read_headers(file).map_err(wrong)? {
                add(&name, &value)?;
            }
        }
        if let Some(file) = token_file {
            let token = read_secret(file).map_err(wrong)?;
            add("authorization", &format!("Bearer {}", token.trim()))?;
        }
        Ok(all)
    }

    /// Returns a digest of the credentials, by which cached answers are kept apart.
    pub(crate) fn authorisation(&self) -> Result<u64> {
        let mut digest = DefaultHasher::new();
        for (name, value) in &self.headers()? {
            name.as_str().hash(&mut digest);
            value.as_bytes().hash(&mut digest);
        }
        Ok(digest.finish())
    }
}

/// Reads a file of headers, as `Name: value`; empty lines and those that begin with `#` are skipped.
pub fn read_headers(file: &Path) -> Result<Vec<(String, String)>, String> {
    let text = read_secret(file)?;
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|(number, line)| {
            let parts =
                line.split_once(':').map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
            parts.ok_or_else(|| {
                format!("`{}`, line {number}: a header is written `Name: value`", file.display())
            })
        })
        .collect()
}

fn read_secret(file: &Path) -> Result<String, String> {
    std::fs::read_to_string(file).map_err(|error| format!("cannot read `{}`: {error}", file.display()))
}

fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    let parsed = HeaderName::try_from(name).map_err(|_| format!("`{name}` is not the name of a header"))?;
    let mut value = HeaderValue::try_from(value)
        .map_err(|_| format!("the value of `{name}` cannot be sent in a header"))?;
    value.set_sensitive(true);
    Ok((parsed, value))
}

/// Something wrong with a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where: a path like `servers[1].url`, or line and column.
    pub place: String,
    /// What.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.place, self.message)
        }
    }
}

/// Everything wrong with a configuration.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}", .problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct ConfigError {
    /// The problems, in the order of the file.
    pub problems: Vec<Problem>,
}

impl From<ConfigError> for Error {
    fn from(error: ConfigError) -> Self {
        Self::unsent(ErrorCode::InvalidParams, error.to_string())
    }
}

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// YAML.
    Yaml,
    /// JSON, with or without comments and trailing commas.
    Json,
}

impl Format {
    /// Tells the format by the name of a file, else by how its text begins.
    #[must_use]
    pub fn of(file: &Path, text: &str) -> Self {
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("yaml" | "yml") => Self::Yaml,
            Some("json" | "jsonc") => Self::Json,
            _ if text.trim_start().starts_with(['{', '/']) => Self::Json,
            _ => Self::Yaml,
        }
    }
}

impl Config {
    /// Reads a file. Paths in it are relative to its folder, variables come from the environment.
    pub fn read(file: &Path) -> Result<Self, ConfigError> {
        let single = |message| ConfigError { problems: vec![Problem { place: String::new(), message }] };
        let text = std::fs::read_to_string(file)
            .map_err(|error| single(format!("cannot read `{}`: {error}", file.display())))?;
        let folder = file.parent().unwrap_or(Path::new(""));
        Self::parse(&text, Format::of(file, &text), folder, &|name| std::env::var(name).ok())
    }

    /// Reads a text; `variable` returns the value of a variable.
    pub fn parse(
        text: &str,
        format: Format,
        folder: &Path,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let value = match format {
            Format::Yaml => parse_yaml(text),
            Format::Json => parse_json(text),
        };
        let value = value.map_err(|problem| ConfigError { problems: vec![problem] })?;
        let mut reader = Reader { problems: Vec::new(), warnings: Vec::new(), folder, variable };
        let config = reader.config(&value);
        if reader.problems.is_empty() {
            return Ok(Self { warnings: reader.warnings, ..config });
        }
        Err(ConfigError { problems: reader.problems })
    }
}

fn parse_yaml(text: &str) -> Result<Value, Problem> {
    serde_saphyr::from_str(text).map_err(|error| {
        let (line, column) = error.location().map_or((1, 1), |location| (location.line(), location.column()));
        let message = error.without_snippet().to_string();
        let message = message.lines().next().unwrap_or("the file is not YAML").to_owned();
        match unquoted(text, line) {
            Some((line, column, quoted)) => Problem {
                place: format!("line {line}, column {column}"),
                message: format!("YAML keeps this character for itself: write `{quoted}`"),
            },
            None => Problem { place: format!("line {line}, column {column}"), message },
        }
    })
}

/// Looks for a value that begins with a character YAML reserves, at the line of an error or before it, and returns its
/// place and how it is to be written.
fn unquoted(text: &str, line: u64) -> Option<(usize, usize, String)> {
    let last = usize::try_from(line).ok()?;
    let lines: Vec<&str> = text.lines().take(last + 1).collect();
    let found = lines.iter().enumerate().rev().find_map(|(at, line)| {
        let start = [": @", ": `", "- @", "- `"].iter().filter_map(|mark| line.find(mark)).min()?;
        Some((at + 1, *line, start + 2))
    });
    let (number, line, start) = found?;
    let (before, value) = (line.get(..start)?, line.get(start..)?);
    let value = value.split(" #").next().unwrap_or_default().trim_end();
    let column = before.chars().count() + 1;
    Some((number, column, format!("{}\"{}\"", before.trim_start(), value.replace('"', "\\\""))))
}

fn parse_json(text: &str) -> Result<Value, Problem> {
    serde_json::from_str(&without_comments(text)).map_err(|error| {
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default().to_owned();
        Problem { place: format!("line {}, column {}", error.line(), error.column()), message }
    })
}

/// Replaces comments and trailing commas by blanks, so that places stay what they are.
fn without_comments(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let (mut at, mut comma) = (0, None);
    let blank = |bytes: &mut Vec<u8>, from: usize, to: usize| {
        for byte in
            bytes.get_mut(from..to).into_iter().flatten().filter(|byte| !matches!(**byte, b'\n' | b'\r'))
        {
            *byte = b' ';
        }
    };
    while let Some(&byte) = text.as_bytes().get(at) {
        let rest = text.as_bytes().get(at..).unwrap_or_default();
        let length = match byte {
            b'"' => {
                let mut escaped = false;
                let inside = rest.iter().skip(1).position(|byte| {
                    let ends = *byte == b'"' && !escaped;
                    escaped = *byte == b'\\' && !escaped;
                    ends
                });
                inside.map_or(rest.len(), |length| length + 2)
            }
            b'/' if rest.starts_with(b"//") => {
                rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())
            }
            b'/' if rest.starts_with(b"/*") => {
                memchr::memmem::find(rest, b"*/").map_or(rest.len(), |end| end + 2)
            }
            _ => 1,
        };
        match byte {
            b'/' if length > 1 => blank(&mut bytes, at, at + length),
            b',' => comma = Some(at),
            b'}' | b']' => {
                if let Some(comma) = comma.take() {
                    blank(&mut bytes, comma, comma + 1);
                }
            }
            byte if byte.is_ascii_whitespace() => {}
            _ => comma = None,
        }
        at += length;
    }
    String::from_utf8(bytes).unwrap_or_default()
}

/// Reads values and collects what is wrong with them.
struct Reader<'a> {
    problems: Vec<Problem>,
    warnings: Vec<Problem>,
    folder: &'a Path,
    variable: &'a dyn Fn(&str) -> Option<String>,
}

const SERVER_KEYS: &[&str] = &[
    "name",
    "transport",
    "type",
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "headers",
    "headersFile",
    "tokenFile",
    "timeout",
    "retryPolicy",
    "trusted",
    "allow",
    "deny",
    "sandbox",
    "disabled",
];
const OPTION_KEYS: &[&str] =
    &["maxParallel", "maxConnections", "timeout", "retryPolicy", "cache", "validateOutput", "debug"];
const RETRY_KEYS: &[&str] =
    &["maxRetries", "initialDelay", "maxDelay", "backoffMultiplier", "retryableErrors"];

impl Reader<'_> {
    fn problem(&mut self, place: &str, message: impl Into<String>) {
        self.problems.push(Problem { place: place.to_owned(), message: message.into() });
    }

    fn config(&mut self, value: &Value) -> Config {
        let Some(root) = self.object(value, "") else { return Config::default() };
        self.warn_unknown(&root, "", &["servers", "mcpServers", "options", "$schema", "inputs"]);
        let mut servers = Vec::new();
        for key in ["servers", "mcpServers"] {
            match root.get(key) {
                None | Some(Value::Null) => {}
                Some(Value::Array(list)) if key == "servers" => {
                    for (at, server) in list.iter().enumerate() {
                        servers.extend(self.server(server, &format!("servers[{at}]"), None));
                    }
                }
                Some(Value::Object(map)) => {
                    for (name, server) in map {
                        servers.extend(self.server(server, &format!("{key}.{name}"), Some(name)));
                    }
                }
                Some(_) => self.problem(key, "must be a map of servers by their names"),
            }
        }
        if !root.contains_key("servers") && !root.contains_key("mcpServers") {
            self.problem("", "there is neither `servers` nor `mcpServers`");
        }
        let mut names = HashSet::new();
        for server in &servers {
            if !names.insert(server.name.clone()) {
                self.problem("servers", format!("there are two servers named `{}`", server.name));
            }
        }
        let options = root.get("options").map(|value| self.options(value)).unwrap_or_default();
        Config { servers, options, warnings: Vec::new() }
    }

    fn server(&mut self, value: &Value, place: &str, name: Option<&str>) -> Option<ServerConfig> {
        let map = self.object(value, place)?;
        self.warn_unknown(&map, place, SERVER_KEYS);
        if self.flag(&map, place, "disabled") {
            return None;
        }
        let before = self.problems.len();
        let named = self.text(&map, place, "name").or_else(|| name.map(str::to_owned));
        if named.as_deref().is_none_or(|name| name.trim().is_empty() || name.chars().any(char::is_control)) {
            self.problem(place, "a server needs a `name`");
        }
        let transport = self.transport(&map, place);
        let mut server = ServerConfig::new(named.unwrap_or_default(), transport?);
        server.timeout = self.millis(&map, place, "timeout");
        server.retry_policy =
            map.get("retryPolicy").map(|value| self.retry(value, &format!("{place}.retryPolicy")));
        server.trusted = self.flag(&map, place, "trusted");
        server.rules =
            Rules { allow: self.texts(&map, place, "allow"), deny: self.texts(&map, place, "deny") };
        (self.problems.len() == before).then_some(server)
    }

    fn transport(&mut self, map: &Map<String, Value>, place: &str) -> Option<Transport> {
        let key = if map.contains_key("transport") { "transport" } else { "type" };
        let said = self.text(map, place, key);
        let url = self.text(map, place, "url");
        let command = self.text(map, place, "command");
        let kind = match (said.as_deref(), &command, &url) {
            (Some(said), ..) => said,
            (None, Some(_), _) => "stdio",
            (None, None, Some(url)) if url.starts_with("ws") => "websocket",
            (None, None, Some(_)) => "http",
            (None, None, None) => {
                self.problem(place, "a server needs a `command` or a `url`");
                return None;
            }
        };
        match kind {
            "stdio" => {
                let Some(command) = command.filter(|command| !command.trim().is_empty()) else {
                    self.problem(place, "a program needs a `command`");
                    return None;
                };
                Some(Transport::Stdio {
                    command,
                    args: self.texts(map, place, "args"),
                    env: self.text_map(map, place, "env"),
                    cwd: self.text(map, place, "cwd").map(|path| self.folder.join(path)),
                    sandbox: map
                        .get("sandbox")
                        .filter(|value| !value.is_null())
                        .and_then(|value| self.sandbox(value, &format!("{place}.sandbox"))),
                })
            }
            "http" | "streamable-http" | "streamableHttp" | "streamable_http" => {
                self.endpoint(map, place, url, SCHEMES)
            }
            "websocket" | "ws" if cfg!(feature = "websocket") => {
                self.endpoint(map, place, url, &["wss", "ws"])
            }
            "sse" => {
                self.problem(
                    &format!("{place}.{key}"),
                    "the transport `sse` of 2024 is not supported; ask for the server's `http` address",
                );
                None
            }
            "websocket" | "ws" => {
                self.problem(
                    &format!("{place}.{key}"),
                    "`websocket` is not part of this build; use the server's `http` address",
                );
                None
            }
            other => {
                self.problem(
                    &format!("{place}.{key}"),
                    format!("`{other}` is none of `stdio`, `http`, `websocket`"),
                );
                None
            }
        }
    }

    fn endpoint(
        &mut self,
        map: &Map<String, Value>,
        place: &str,
        url: Option<String>,
        schemes: &[&str],
    ) -> Option<Transport> {
        let Some(url) = url else {
            self.problem(place, "a server on the web needs a `url`");
            return None;
        };
        if let Err(error) = read_address(&url, schemes) {
            self.problem(&format!("{place}.url"), error.message);
        }
        let headers = self.text_map(map, place, "headers");
        for (name, value) in &headers {
            if let Err(problem) = header(name, value) {
                self.problem(&format!("{place}.headers"), problem);
            }
        }
        let headers_file = self.file(map, place, "headersFile");
        if let Some(Err(problem)) = headers_file.as_deref().map(read_headers) {
            self.problem(&format!("{place}.headersFile"), problem);
        }
        Some(Transport::Http { url, headers, headers_file, token_file: self.file(map, place, "tokenFile") })
    }

    fn sandbox(&mut self, value: &Value, place: &str) -> Option<Sandbox> {
        let map = self.object(value, place)?;
        self.warn_unknown(&map, place, &["read", "write", "network"]);
        let folder = self.folder;
        let mut paths = |key| self.texts(&map, place, key).iter().map(|path| folder.join(path)).collect();
        let (read, write) = (paths("read"), paths("write"));
        Some(Sandbox { read, write, network: self.flag(&map, place, "network") })
    }

    fn options(&mut self, value: &Value) -> Options {
        let mut options = Options::default();
        let Some(map) = self.object(value, "options") else { return options };
        self.warn_unknown(&map, "options", OPTION_KEYS);
        options.max_parallel = self.count(&map, "options", "maxParallel").unwrap_or(options.max_parallel);
        options.max_connections =
            self.count(&map, "options", "maxConnections").unwrap_or(options.max_connections);
        options.timeout = self.millis(&map, "options", "timeout").unwrap_or(options.timeout);
        options.validate_output = self.flag(&map, "options", "validateOutput");
        options.debug = self.flag(&map, "options", "debug");
        if let Some(value) = map.get("retryPolicy") {
            options.retry_policy = self.retry(value, "options.retryPolicy");
        }
        if let Some(map) = map.get("cache").and_then(|value| self.object(value, "options.cache")) {
            self.warn_unknown(&map, "options.cache", &["maxSize", "ttl"]);
            options.cache_entries = self
                .number(&map, "options.cache", "maxSize")
                .and_then(|size| usize::try_from(size).ok())
                .unwrap_or(options.cache_entries);
            options.cache_ttl =
                self.number(&map, "options.cache", "ttl").map_or(options.cache_ttl, Duration::from_millis);
        }
        options
    }

    fn retry(&mut self, value: &Value, place: &str) -> RetryPolicy {
        let mut policy = RetryPolicy::default();
        let Some(map) = self.object(value, place) else { return policy };
        self.warn_unknown(&map, place, RETRY_KEYS);
        if let Some(retries) = self.number(&map, place, "maxRetries") {
            policy.max_retries = u32::try_from(retries).unwrap_or(u32::MAX);
        }
        policy.initial_delay =
            self.number(&map, place, "initialDelay").map_or(policy.initial_delay, Duration::from_millis);
        policy.max_delay =
            self.number(&map, place, "maxDelay").map_or(policy.max_delay, Duration::from_millis);
        match map.get("backoffMultiplier") {
            None | Some(Value::Null) => {}
            Some(value) => match value.as_f64().filter(|factor| (1.0..=100.0).contains(factor)) {
                Some(factor) => policy.backoff_multiplier = factor,
                None => self.problem(&format!("{place}.backoffMultiplier"), "must be a number from 1 to 100"),
            },
        }
        if map.contains_key("retryableErrors") {
            let mut codes = Vec::new();
            for name in self.texts(&map, place, "retryableErrors") {
                if let Some(code) = ErrorCode::parse(&name) {
                    codes.push(code);
                    continue;
                }
                let known: Vec<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
                let message = format!("`{name}` is none of {}", known.join(", "));
                self.problem(&format!("{place}.retryableErrors"), message);
            }
            policy.retryable_errors = Some(codes);
        }
        policy
    }

    fn object(&mut self, value: &Value, place: &str) -> Option<Map<String, Value>> {
        let object = value.as_object().cloned();
        if object.is_none() {
            let what = if place.is_empty() {
                "the file must be a map of names to values"
            } else {
                "must be a map of names to values"
            };
            self.problem(place, what);
        }
        object
    }

    fn warn_unknown(&mut self, map: &Map<String, Value>, place: &str, known: &[&str]) {
        for key in map.keys().filter(|key| !known.contains(&key.as_str())) {
            let place = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
            self.warnings.push(Problem { place, message: "is not known here and has no effect".to_owned() });
        }
    }

    fn text(&mut self, map: &Map<String, Value>, place: &str, key: &str) -> Option<String> {
        let value = map.get(key).filter(|value| !value.is_null())?;
        self.expanded(value, &format!("{place}.{key}"))
    }

    fn texts(&mut self, map: &Map<String, Value>, place: &str, key: &str) -> Vec<String> {
        match map.get(key) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(values)) => {
                let values = values.iter().enumerate();
                values
                    .filter_map(|(at, value)| self.expanded(value, &format!("{place}.{key}[{at}]")))
                    .collect()
            }
            Some(_) => {
                self.problem(&format!("{place}.{key}"), "must be a list of texts");
                Vec::new()
            }
        }
    }

    fn text_map(&mut self, map: &Map<String, Value>, place: &str, key: &str) -> BTreeMap<String, String> {
        let Some(value) = map.get(key).filter(|value| !value.is_null()) else { return BTreeMap::new() };
        let place = format!("{place}.{key}");
        let Some(map) = self.object(value, &place) else { return BTreeMap::new() };
        map.iter()
            .filter_map(|(name, value)| {
                Some((name.clone(), self.expanded(value, &format!("{place}.{name}"))?))
            })
            .collect()
    }

    fn file(&mut self, map: &Map<String, Value>, place: &str, key: &str) -> Option<PathBuf> {
        let file = self.folder.join(self.text(map, place, key)?);
        if let Err(problem) = read_secret(&file) {
            self.problem(&format!("{place}.{key}"), problem);
        }
        Some(file)
    }

    fn flag(&mut self, map: &Map<String, Value>, place: &str, key: &str) -> bool {
        match map.get(key) {
            None | Some(Value::Null) => false,
            Some(Value::Bool(flag)) => *flag,
            Some(_) => {
                self.problem(&format!("{place}.{key}"), "must be true or false");
                false
            }
        }
    }

    fn number(&mut self, map: &Map<String, Value>, place: &str, key: &str) -> Option<u64> {
        let value = map.get(key).filter(|value| !value.is_null())?;
        let number = value.as_u64();
        if number.is_none() {
            self.problem(&format!("{place}.{key}"), "must be a whole number, 0 or more");
        }
        number
    }

    fn count(&mut self, map: &Map<String, Value>, place: &str, key: &str) -> Option<usize> {
        let number = self.number(map, place, key)?;
        let count = usize::try_from(number).ok().filter(|count| (1..=1000).contains(count));
        if count.is_none() {
            self.problem(&format!("{place}.{key}"), "must be from 1 to 1000");
        }
        count
    }

    fn millis(&mut self, map: &Map<String, Value>, place: &str, key: &str) -> Option<Duration> {
        let number = self.number(map, place, key)?;
        if number == 0 {
            self.problem(&format!("{place}.{key}"), "must be at least 1 (milliseconds)");
        }
        Some(Duration::from_millis(number))
    }

    /// Expands the variables of a text.
    fn expanded(&mut self, value: &Value, place: &str) -> Option<String> {
        let text = match value {
            Value::String(text) => text.clone(),
            // YAML takes a port or a version for a number.
            Value::Number(number) => number.to_string(),
            Value::Bool(truth) => truth.to_string(),
            _ => {
                self.problem(place, "must be a text");
                return None;
            }
        };
        let (mut whole, mut rest) = (String::new(), text.as_str());
        while let Some((before, after)) = rest.split_once("${") {
            whole.push_str(before);
            let Some((inside, after)) = after.split_once('}') else {
                self.problem(place, "`${` has no `}`");
                return None;
            };
            rest = after;
            let (name, default) = match inside.split_once(":-") {
                Some((name, default)) => (name, Some(default)),
                None => (inside, None),
            };
            let name = name.strip_prefix("env:").unwrap_or(name);
            let is_name =
                !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            if !is_name {
                self.problem(
                    place,
                    format!("`${{{inside}}}` is not a variable; write ${{VAR}} or ${{VAR:-default}}"),
                );
                continue;
            }
            match (self.variable)(name).or_else(|| default.map(str::to_owned)) {
                Some(value) => whole.push_str(&value),
                None => {
                    self.problem(place, format!("the variable `{name}` is not set, and there is no default"));
                }
            }
        }
        whole.push_str(rest);
        Some(whole)
    }
}
