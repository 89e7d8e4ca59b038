//! Every setting, typed, read from the environment, checked once. All problems are listed together.

use std::collections::BTreeMap;

use wakashu_storage::Location;

/// A setting, as the README's table and `wakashu-function config` show it.
#[derive(Debug)]
pub struct Setting {
    /// The environment variable.
    pub name: &'static str,
    /// What holds when it is unset.
    pub default: &'static str,
    /// What it does.
    pub what: &'static str,
}

/// All settings.
pub static SETTINGS: [Setting; 12] = [
    Setting {
        name: "WAKASHU_ARCHIVE",
        default: "none",
        what: "the archive to serve: a path, `file://…` or `s3://…`, of one archive or of a store with a pointer",
    },
    Setting {
        name: "WAKASHU_PUBLIC_URL",
        default: "the address listened on",
        what: "the address readers reach the server at; picture links begin with it",
    },
    Setting {
        name: "WAKASHU_ALLOWED_HOSTS",
        default: "loopback names",
        what: "further `Host` names to answer to, separated by commas; needed to listen beyond loopback",
    },
    Setting {
        name: "WAKASHU_ALLOWED_ORIGINS",
        default: "loopback origins",
        what: "browser origins to answer to, separated by commas",
    },
    Setting {
        name: "WAKASHU_REFRESH_SECONDS",
        default: "60",
        what: "how often to look for a newer archive, 1 to 86400",
    },
    Setting {
        name: "WAKASHU_CACHE_BYTES",
        default: "67108864",
        what: "memory for pages, and for pictures fetched from a bucket",
    },
    Setting {
        name: "WAKASHU_PRELOAD_BYTES",
        default: "8388608",
        what: "archives in a bucket up to this size are fetched whole at the start; 0 turns it off",
    },
    Setting { name: "WAKASHU_LOG", default: "info", what: "`off`, `error`, `warn`, `info` or `debug`" },
    Setting {
        name: "WAKASHU_INVOKE_MODE",
        default: "BUFFERED",
        what: "on Lambda, the function URL's invoke mode: `BUFFERED` or `RESPONSE_STREAM`",
    },
    Setting {
        name: "WAKASHU_DRILL",
        default: "off",
        what: "`on` lets the method `wakashu/drill` make its handler panic, to see that it is contained",
    },
    Setting { name: "HOST", default: "127.0.0.1", what: "the address `serve` listens on" },
    Setting { name: "PORT", default: "3000", what: "the port `serve` listens on; 0 picks a free one" },
];

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
    /// How much to log.
    pub log: Option<tracing::Level>,
    /// How the platform takes answers.
    pub invoke_mode: InvokeMode,
    /// Whether requests may ask for a panic.
    pub drill: bool,
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
            log: reader.parsed("WAKASHU_LOG", level).unwrap_or(Some(tracing::Level::INFO)),
            invoke_mode: reader.parsed("WAKASHU_INVOKE_MODE", invoke_mode).unwrap_or_default(),
            drill: reader.parsed("WAKASHU_DRILL", on_or_off).unwrap_or_default(),
            host: reader.parsed("HOST", |text| Ok(text.to_owned())).unwrap_or_else(|| "127.0.0.1".to_owned()),
            port: u16::try_from(reader.number("PORT", 3000, 0, 65_535)).unwrap_or(3000),
        };
        if reader.problems.is_empty() { Ok(config) } else { Err(ConfigError { problems: reader.problems }) }
    }
}

impl Config {
    /// Writes the settings in force, one per line.
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
            "WAKASHU_LOG" => {
                self.log.map_or_else(|| "off".to_owned(), |level| level.to_string().to_lowercase())
            }
            "WAKASHU_INVOKE_MODE" => self.invoke_mode.as_str().to_owned(),
            "WAKASHU_DRILL" => if self.drill { "on" } else { "off" }.to_owned(),
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

    fn list(&mut self, name: &str, parse: impl Fn(&str) -> Result<String, String>) -> Vec<String> {
        let all =
            |text: &str| text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(&parse).collect();
        self.parsed(name, all).unwrap_or_default()
    }

    fn number(&mut self, name: &str, default: u64, least: u64, most: u64) -> u64 {
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

fn on_or_off(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("expected on or off".to_owned()),
    }
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
            ("WAKASHU_LOG", "loud"),
            ("WAKASHU_INVOKE_MODE", "stream"),
            ("WAKASHU_DRILL", "yes"),
        ])
        .unwrap_err()
        .to_string();
        for name in [
            "WAKASHU_ARCHIVE",
            "WAKASHU_PUBLIC_URL",
            "WAKASHU_ALLOWED_ORIGINS",
            "WAKASHU_REFRESH_SECONDS",
            "PORT",
            "WAKASHU_LOG",
            "WAKASHU_INVOKE_MODE",
            "WAKASHU_DRILL",
        ] {
            assert!(error.contains(name), "{name} in {error}");
        }
    }

    #[test]
    fn a_public_address_loses_its_closing_slash() {
        let config = read(&[("WAKASHU_PUBLIC_URL", "https://poems.example.org/")]).unwrap();
        assert_eq!(config.public_url.as_deref(), Some("https://poems.example.org"));
    }
}
