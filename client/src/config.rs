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

mod read;
mod syntax;

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};

use read::Reader;
use syntax::{parse_json, parse_yaml};

use crate::cache;
use crate::error::{Error, ErrorCode, Result};
use crate::helper::Helper;
use crate::link::child::{ChildLink, Program};
use crate::link::http::HttpLink;
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
