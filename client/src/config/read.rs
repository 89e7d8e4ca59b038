//! Values to servers and options, with all problems and their places.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};

use super::{Config, Options, Problem, ServerConfig, Transport, header, read_headers, read_secret};
use crate::error::ErrorCode;
use crate::link::http::{SCHEMES, read_address};
use crate::policy::RetryPolicy;
use crate::rules::Rules;
use crate::sandbox::Sandbox;

/// Reads values and collects what is wrong with them.
pub(super) struct Reader<'a> {
    pub(super) problems: Vec<Problem>,
    pub(super) warnings: Vec<Problem>,
    pub(super) folder: &'a Path,
    pub(super) variable: &'a dyn Fn(&str) -> Option<String>,
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

    pub(super) fn config(&mut self, value: &Value) -> Config {
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
                Some(_) if key == "servers" => {
                    self.problem(key, "must be a list of servers, or a map of servers by their names");
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
        let foreign: &[&str] = match kind {
            "stdio" => &["url", "headers", "headersFile", "tokenFile"],
            _ => &["command", "args", "env", "cwd", "sandbox"],
        };
        let what = if kind == "stdio" { "a program" } else { "a server on the web" };
        for key in foreign.iter().filter(|key| map.contains_key(**key)) {
            let message = format!("has no effect on {what}");
            self.warnings.push(Problem { place: format!("{place}.{key}"), message });
        }
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
        if value.is_null() {
            // As good as none, had it been left out.
            self.problem(place, "is empty: write `{}` for one without folders and network");
            return None;
        }
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
