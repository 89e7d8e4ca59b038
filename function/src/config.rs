//! Every setting, typed, read from the environment, checked once. All problems are listed together.

mod settings;

use std::collections::BTreeMap;
use std::time::Duration;

use wakashu_storage::Location;

use crate::desk::drill::Drill;
use crate::desk::{Desk, MOST_WAITING, PLACES, TIME_LIMIT_MS};
use crate::tools::TOOLS;
use crate::web::tokens::Token;

pub(crate) use settings::SETTINGS;
pub use settings::write_markdown;

/// The settings in force.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// The archive to serve.
    pub archive: Option<Location>,
    /// Without a slash at the end.
    pub public_url: Option<String>,
    /// Lower-case host names, without ports.
    pub allowed_hosts: Vec<String>,
    /// Origins, exactly as browsers send them.
    pub allowed_origins: Vec<String>,
    /// How often to look for a newer archive.
    pub refresh_seconds: u64,
    /// Memory for the cache.
    pub cache_bytes: u64,
    /// Archives up to this size are fetched whole.
    pub preload_bytes: u64,
    /// Whether a bucket stands in the path. Storage reads the same variable; here it is checked with the others.
    pub s3_path_style: Option<bool>,
    /// How much to log.
    pub log: Option<tracing::Level>,
    /// How the platform takes answers.
    pub invoke_mode: InvokeMode,
    /// The tools that are switched off.
    pub tools_disabled: Vec<&'static str>,
    /// How long a tool may take.
    pub tool_timeout: Duration,
    /// How many tools run at a time.
    pub concurrency: usize,
    /// How many calls may wait.
    pub queue: usize,
    /// Who may ask; everyone if there are none.
    pub tokens: Vec<Token>,
    /// Requests per second from all clients; 0 for any number.
    pub rate_per_second: u32,
    /// Requests per second from one client; 0 for any number.
    pub rate_per_client: u32,
    /// What is practised.
    pub drill: Drill,
    /// The address to listen on.
    pub host: String,
    /// The port to listen on.
    pub port: u16,
}

/// How Lambda takes answers; the function URL must be set to the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum InvokeMode {
    /// As one JSON object.
    #[default]
    Buffered,
    /// As they come.
    ResponseStream,
}

impl InvokeMode {
    /// Returns the name the platform uses.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Buffered => "BUFFERED",
            Self::ResponseStream => "RESPONSE_STREAM",
        }
    }
}

/// Every setting that could not be understood.
#[derive(Debug, thiserror::Error)]
#[error("the settings are not usable:\n{}", problems.join("\n"))]
pub struct ConfigError {
    problems: Vec<String>,
}

impl Config {
    /// Reads the settings through `read`, which returns an environment variable's value.
    pub fn read(read: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let values: BTreeMap<&str, String> = SETTINGS
            .iter()
            .filter_map(|setting| Some((setting.name, read(setting.name)?.trim().to_owned())))
            .filter(|(_, value)| !value.is_empty())
            .collect();
        let mut reader = Reader { values, problems: Vec::new() };
        let config = Self {
            archive: reader.parsed("WAKASHU_ARCHIVE", |text| {
                text.parse().map_err(|error: wakashu_storage::LocationError| error.to_string())
            }),
            public_url: reader.parsed("WAKASHU_PUBLIC_URL", public_url),
            allowed_hosts: reader.list("WAKASHU_ALLOWED_HOSTS", host),
            allowed_origins: reader.list("WAKASHU_ALLOWED_ORIGINS", origin),
            refresh_seconds: reader.number("WAKASHU_REFRESH_SECONDS", 60, 1, 86_400),
            cache_bytes: reader.number("WAKASHU_CACHE_BYTES", 64 << 20, 1 << 20, 64 << 30),
            preload_bytes: reader.number("WAKASHU_PRELOAD_BYTES", 8 << 20, 0, 4 << 30),
            s3_path_style: reader.parsed("WAKASHU_S3_PATH_STYLE", truth),
            log: reader.parsed("WAKASHU_LOG", level).unwrap_or(Some(tracing::Level::INFO)),
            invoke_mode: reader.parsed("WAKASHU_INVOKE_MODE", invoke_mode).unwrap_or_default(),
            tools_disabled: reader.parsed("WAKASHU_TOOLS_DISABLED", tool_set).unwrap_or_default(),
            tool_timeout: Duration::from_millis(reader.number(
                "WAKASHU_TOOL_TIMEOUT_MS",
                TIME_LIMIT_MS,
                1,
                300_000,
            )),
            concurrency: reader.number("WAKASHU_CONCURRENCY", PLACES, 1, 10_000),
            queue: reader.number("WAKASHU_QUEUE", MOST_WAITING, 0, 100_000),
            tokens: reader.list("WAKASHU_TOKENS_SHA256", Token::parse),
            rate_per_second: reader.number("WAKASHU_RATE_PER_SECOND", 0, 0, 1_000_000),
            rate_per_client: reader.number("WAKASHU_RATE_PER_CLIENT", 0, 0, 1_000_000),
            drill: reader.parsed("WAKASHU_DRILL", drill).unwrap_or_default(),
            host: reader.parsed("HOST", |text| Ok(text.to_owned())).unwrap_or_else(|| "127.0.0.1".to_owned()),
            port: reader.number("PORT", 3000, 0, 65_535),
        };
        if reader.problems.is_empty() { Ok(config) } else { Err(ConfigError { problems: reader.problems }) }
    }
}

impl Config {
    /// Returns the limits answers are worked on under.
    pub(crate) fn desk(&self) -> Desk {
        Desk::new(self.concurrency, self.queue, self.tool_timeout, self.drill)
    }

    /// Writes the settings in force, one per line; of secrets only that they are there.
    pub fn write(&self, out: &mut impl std::io::Write) -> std::io::Result<()> {
        let list = |values: &[String]| values.join(",");
        let shown = |name: &str| match name {
            "WAKASHU_ARCHIVE" => self.archive.as_ref().map(ToString::to_string).unwrap_or_default(),
            "WAKASHU_PUBLIC_URL" => self.public_url.clone().unwrap_or_default(),
            "WAKASHU_ALLOWED_HOSTS" => list(&self.allowed_hosts),
            "WAKASHU_ALLOWED_ORIGINS" => list(&self.allowed_origins),
            "WAKASHU_REFRESH_SECONDS" => self.refresh_seconds.to_string(),
            "WAKASHU_CACHE_BYTES" => self.cache_bytes.to_string(),
            "WAKASHU_PRELOAD_BYTES" => self.preload_bytes.to_string(),
            "WAKASHU_S3_PATH_STYLE" => self.s3_path_style.map(|said| said.to_string()).unwrap_or_default(),
            "WAKASHU_LOG" => {
                self.log.map_or_else(|| "off".to_owned(), |level| level.to_string().to_lowercase())
            }
            "WAKASHU_INVOKE_MODE" => self.invoke_mode.as_str().to_owned(),
            "WAKASHU_TOOLS_DISABLED" => self.tools_disabled.join(","),
            "WAKASHU_TOOL_TIMEOUT_MS" => self.tool_timeout.as_millis().to_string(),
            "WAKASHU_CONCURRENCY" => self.concurrency.to_string(),
            "WAKASHU_QUEUE" => self.queue.to_string(),
            "WAKASHU_TOKENS_SHA256" => list(&self.tokens.iter().map(Token::masked).collect::<Vec<_>>()),
            "WAKASHU_RATE_PER_SECOND" => self.rate_per_second.to_string(),
            "WAKASHU_RATE_PER_CLIENT" => self.rate_per_client.to_string(),
            "WAKASHU_DRILL" => self.drill.as_str().to_owned(),
            "HOST" => self.host.clone(),
            "PORT" => self.port.to_string(),
            _ => String::new(),
        };
        SETTINGS.iter().try_for_each(|setting| writeln!(out, "{}={}", setting.name, shown(setting.name)))
    }
}

struct Reader<'a> {
    values: BTreeMap<&'a str, String>,
    problems: Vec<String>,
}

impl Reader<'_> {
    fn parsed<T>(&mut self, name: &str, parse: impl FnOnce(&str) -> Result<T, String>) -> Option<T> {
        let parsed = parse(self.values.get(name)?);
        parsed.map_err(|problem| self.problems.push(format!("  {name}: {problem}"))).ok()
    }

    fn list<T>(&mut self, name: &str, parse: impl Fn(&str) -> Result<T, String>) -> Vec<T> {
        let all =
            |text: &str| text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(&parse).collect();
        self.parsed(name, all).unwrap_or_default()
    }

    fn number<T>(&mut self, name: &str, default: T, least: T, most: T) -> T
    where
        T: std::str::FromStr + PartialOrd + std::fmt::Display + Copy,
    {
        let parse = |text: &str| {
            let number = text.parse().ok().filter(|number| (least..=most).contains(number));
            number.ok_or_else(|| format!("expected a whole number from {least} to {most}"))
        };
        self.parsed(name, parse).unwrap_or(default)
    }
}

fn public_url(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let plain = text
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'<' | b'>' | b'\\' | b'?' | b'#'));
    match rest {
        Some(rest) if !rest.is_empty() && plain => Ok(text.trim_end_matches('/').to_owned()),
        _ => Err("expected an address like https://poems.example.org, without ? and #".to_owned()),
    }
}

fn host(text: &str) -> Result<String, String> {
    let plain = text
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'[' | b']' | b':'));
    let bracketed = text.starts_with('[') && text.ends_with(']');
    if plain && (bracketed || !text.contains(':')) {
        Ok(text.to_ascii_lowercase())
    } else {
        Err("expected host names like poems.example.org, without scheme and port".to_owned())
    }
}

fn origin(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    if rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(['/', '*', '?', '#'])) {
        Ok(text.to_ascii_lowercase())
    } else {
        Err("expected origins like https://poems.example.org, without a path".to_owned())
    }
}

fn truth(text: &str) -> Result<bool, String> {
    match text {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err("expected true or false".to_owned()),
    }
}

fn level(text: &str) -> Result<Option<tracing::Level>, String> {
    if text.eq_ignore_ascii_case("off") {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| "expected off, error, warn, info or debug".to_owned())
}

fn invoke_mode(text: &str) -> Result<InvokeMode, String> {
    let modes = [InvokeMode::Buffered, InvokeMode::ResponseStream];
    let mode = modes.into_iter().find(|mode| mode.as_str() == text);
    mode.ok_or_else(|| "expected BUFFERED or RESPONSE_STREAM".to_owned())
}

fn drill(text: &str) -> Result<Drill, String> {
    let drill = Drill::ALL.into_iter().find(|drill| drill.as_str() == text);
    drill.ok_or_else(|| "expected off, on, slow, fault or panic".to_owned())
}

/// Reads names of tools; returns them in the registry's order.
fn tool_set(text: &str) -> Result<Vec<&'static str>, String> {
    let given: Vec<&str> = text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    if given.iter().any(|name| crate::tools::find(name).is_none()) {
        return Err(
            "expected names of tools, separated by commas; `wakashu-function tools` lists them".to_owned()
        );
    }
    Ok(TOOLS.iter().map(|tool| tool.name).filter(|name| given.contains(name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(settings: &[(&str, &str)]) -> Result<Config, ConfigError> {
        Config::read(|name| {
            settings.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn nothing_set_gives_the_defaults() {
        let config = read(&[]).unwrap();
        assert!(config.archive.is_none());
        assert_eq!((config.host.as_str(), config.port, config.refresh_seconds), ("127.0.0.1", 3000, 60));
    }

    #[test]
    fn every_problem_is_listed_in_one_go() {
        let error = read(&[
            ("WAKASHU_ARCHIVE", "ftp://x"),
            ("WAKASHU_PUBLIC_URL", "poems"),
            ("WAKASHU_ALLOWED_ORIGINS", "https://a.example, *"),
            ("WAKASHU_REFRESH_SECONDS", "0"),
            ("PORT", "70000"),
            ("WAKASHU_S3_PATH_STYLE", "maybe"),
            ("WAKASHU_LOG", "loud"),
            ("WAKASHU_INVOKE_MODE", "stream"),
            ("WAKASHU_DRILL", "yes"),
            ("WAKASHU_TOOLS_DISABLED", "search_poems,search"),
            ("WAKASHU_TOOL_TIMEOUT_MS", "0"),
            ("WAKASHU_CONCURRENCY", "-1"),
            ("WAKASHU_QUEUE", "many"),
            ("WAKASHU_TOKENS_SHA256", "secret"),
            ("WAKASHU_RATE_PER_SECOND", "1.5"),
            ("WAKASHU_RATE_PER_CLIENT", "-1"),
        ])
        .unwrap_err()
        .to_string();
        for name in [
            "WAKASHU_ARCHIVE",
            "WAKASHU_PUBLIC_URL",
            "WAKASHU_ALLOWED_ORIGINS",
            "WAKASHU_REFRESH_SECONDS",
            "PORT",
            "WAKASHU_S3_PATH_STYLE",
            "WAKASHU_LOG",
            "WAKASHU_INVOKE_MODE",
            "WAKASHU_DRILL",
            "WAKASHU_TOOLS_DISABLED",
            "WAKASHU_TOOL_TIMEOUT_MS",
            "WAKASHU_CONCURRENCY",
            "WAKASHU_QUEUE",
            "WAKASHU_TOKENS_SHA256",
            "WAKASHU_RATE_PER_SECOND",
            "WAKASHU_RATE_PER_CLIENT",
        ] {
            assert!(error.contains(name), "{name} in {error}");
        }
    }

    #[test]
    fn what_is_shown_can_be_read_again_but_for_secrets() {
        let hash = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
        let tokens = format!("{hash}, {hash}:status");
        let given = [
            ("WAKASHU_TOKENS_SHA256", tokens.as_str()),
            ("WAKASHU_TOOLS_DISABLED", "search_poems, list_rounds"),
            ("WAKASHU_DRILL", "slow"),
            ("WAKASHU_S3_PATH_STYLE", "1"),
        ];
        let mut shown = Vec::new();
        read(&given).unwrap().write(&mut shown).unwrap();
        let shown = String::from_utf8(shown).unwrap();
        assert!(shown.contains("WAKASHU_TOKENS_SHA256=****:read,****:status\n"), "{shown}");
        assert!(shown.contains("WAKASHU_TOOLS_DISABLED=list_rounds,search_poems\n"), "{shown}");
        let again: Vec<(&str, &str)> = shown
            .lines()
            .filter_map(|line| line.split_once('='))
            .filter(|(name, _)| *name != "WAKASHU_TOKENS_SHA256")
            .collect();
        let mut shown_again = Vec::new();
        read(&again).unwrap().write(&mut shown_again).unwrap();
        let masked = "WAKASHU_TOKENS_SHA256=****:read,****:status";
        assert_eq!(String::from_utf8(shown_again).unwrap(), shown.replace(masked, "WAKASHU_TOKENS_SHA256="));
    }

    #[test]
    fn a_public_address_loses_its_closing_slash() {
        let config = read(&[("WAKASHU_PUBLIC_URL", "https://poems.example.org/")]).unwrap();
        assert_eq!(config.public_url.as_deref(), Some("https://poems.example.org"));
    }
}
