//! Every setting, typed, read from the environment, checked once. All problems are listed together.

mod settings;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use wakashu_storage::Location;

use crate::desk::drill::Drill;
use crate::desk::{Desk, MOST_WAITING, PLACES, TIME_LIMIT_MS};
use crate::served::cache::SEARCH_BYTES;
use crate::served::limits::SHARE_OF_CONNECTIONS;
use crate::web::tokens::Token;

pub use settings::write_markdown;
use settings::{OTHERS, SETTINGS, nearest};

/// The settings in force.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// The archive to serve.
    pub archive: Option<Location>,
    /// Without a slash at the end.
    pub public_url: Option<String>,
    /// The address of a bundle for desktop clients.
    pub bundle_url: Option<String>,
    /// Lower-case host names, without ports.
    pub allowed_hosts: Vec<String>,
    /// Origins, exactly as browsers send them.
    pub allowed_origins: Vec<String>,
    /// How often to look for a newer archive.
    pub refresh_seconds: u64,
    /// Memory for the cache.
    pub cache_bytes: u64,
    /// Memory for the search columns of the archive.
    pub search_bytes: u64,
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
    /// Tokens that are accepted; if empty, everybody may ask.
    pub tokens: Vec<Token>,
    /// Requests per second from all clients; 0 for any number.
    pub rate_per_second: u32,
    /// Requests per second from one client; 0 for any number.
    pub rate_per_client: u32,
    /// Connections from one client.
    pub connections_per_client: u32,
    /// Whether `/metrics` is answered.
    pub metrics: bool,
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

impl Default for Config {
    fn default() -> Self {
        Self {
            archive: None,
            public_url: None,
            bundle_url: None,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            refresh_seconds: 60,
            cache_bytes: 64 << 20,
            search_bytes: SEARCH_BYTES,
            preload_bytes: 8 << 20,
            s3_path_style: None,
            log: Some(tracing::Level::INFO),
            invoke_mode: InvokeMode::default(),
            tools_disabled: Vec::new(),
            tool_timeout: Duration::from_millis(TIME_LIMIT_MS),
            concurrency: PLACES,
            queue: MOST_WAITING,
            tokens: Vec::new(),
            rate_per_second: 0,
            rate_per_client: 0,
            connections_per_client: SHARE_OF_CONNECTIONS,
            metrics: true,
            drill: Drill::default(),
            host: "127.0.0.1".to_owned(),
            port: 3000,
        }
    }
}

impl Config {
    /// Reads the settings: what is `given` to the program first, then the environment's `variables`.
    ///
    /// # Errors
    ///
    /// Every problem: values that are not understood, and variables with our prefix that are not settings, so that a
    /// misspelt one does not leave the server open.
    pub fn read(
        given: impl Fn(&str) -> Option<String>,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, ConfigError> {
        let mut problems = Vec::new();
        let mut values: BTreeMap<&str, String> = BTreeMap::new();
        for (name, value) in variables {
            let shown = name.to_string_lossy();
            let known = SETTINGS.iter().map(|setting| setting.name).find(|known| *known == shown);
            match (known, value.into_string()) {
                (Some(known), Ok(value)) => {
                    values.insert(known, value);
                }
                (Some(known), Err(_)) => problems.push(format!("  {known}: the value is not UTF-8")),
                (None, _) if shown.starts_with("WAKASHU_") && !OTHERS.contains(&&*shown) => {
                    problems
                        .push(format!("  {shown}: there is no such setting; is {} meant?", nearest(&shown)));
                }
                (None, _) => {}
            }
        }
        let mut config = Self::default();
        for setting in SETTINGS {
            let value = given(setting.name).or_else(|| values.remove(setting.name)).unwrap_or_default();
            let value = value.trim();
            if setting.is_unset(value) {
                continue;
            }
            if let Err(problem) = (setting.set)(&mut config, value) {
                problems.push(format!("  {}: {problem}", setting.name));
            }
        }
        if problems.is_empty() { Ok(config) } else { Err(ConfigError { problems }) }
    }

    /// Returns the limits answers are worked on under.
    pub(crate) fn desk(&self) -> Desk {
        Desk::new(self.concurrency, self.queue, self.tool_timeout, self.drill)
    }

    /// Returns the settings that differ from their defaults, as they are shown.
    pub(crate) fn differences(&self) -> String {
        let default = Self::default();
        let shown =
            SETTINGS.iter().map(|setting| (setting.name, (setting.show)(self), (setting.show)(&default)));
        let differing = shown.filter(|(_, shown, default)| shown != default);
        differing.map(|(name, shown, _)| format!("{name}={shown}")).collect::<Vec<_>>().join(" ")
    }

    /// Writes the settings in force, one per line; of secrets only that they are there.
    pub fn write(&self, out: &mut impl std::io::Write) -> std::io::Result<()> {
        SETTINGS.iter().try_for_each(|setting| writeln!(out, "{}={}", setting.name, (setting.show)(self)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(settings: &[(&str, &str)]) -> Result<Config, ConfigError> {
        Config::read(|_| None, settings.iter().map(|(name, value)| (name.into(), value.into())))
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
            ("WAKASHU_BUNDLE_URL", "javascript:poems.mcpb"),
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
            ("WAKASHU_CONNECTIONS_PER_CLIENT", "1025"),
            ("WAKASHU_METRICS", "yes"),
        ])
        .unwrap_err()
        .to_string();
        for name in [
            "WAKASHU_ARCHIVE",
            "WAKASHU_PUBLIC_URL",
            "WAKASHU_BUNDLE_URL",
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
            "WAKASHU_CONNECTIONS_PER_CLIENT",
            "WAKASHU_METRICS",
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
            ("WAKASHU_DRILL", "fault"),
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

    /// A misspelt token setting once left the server open to all, without a word.
    #[test]
    fn what_begins_like_a_setting_and_is_none_stops_the_start() {
        for (given, meant) in [
            ("WAKASHU_TOKEN_SHA256", "WAKASHU_TOKENS_SHA256"),
            ("WAKASHU_ALOWED_HOSTS", "WAKASHU_ALLOWED_HOSTS"),
            ("WAKASHU_", "WAKASHU_LOG"),
        ] {
            let error = read(&[(given, "x")]).unwrap_err().to_string();
            assert!(
                error.contains(&format!("{given}: ")) && error.contains(&format!("is {meant} meant?")),
                "{error}"
            );
        }
        assert!(read(&[("WAKASHU_DIR", "x"), ("OTHER", "x"), ("PATH", "x")]).is_ok(), "another program's");
    }

    #[test]
    fn an_unfilled_value_counts_as_unset() {
        let hosts = ("WAKASHU_ALLOWED_HOSTS", "${HOST}, poems.example.org");
        let config = read(&[("PORT", " ${PORT} "), hosts]).unwrap();
        assert_eq!((config.port, config.allowed_hosts), (3000, vec!["poems.example.org".to_owned()]));
    }

    /// `$A,$B` of two variables that are not set once left the server open to all, without a word.
    #[test]
    fn tokens_that_were_meant_to_be_there_are_missed() {
        let hash = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
        for text in [",", " , ,", "${TOKEN}", &format!("${{A}},{hash}"), &format!("{hash},${{B}}")] {
            let error = read(&[("WAKASHU_TOKENS_SHA256", text)]).unwrap_err().to_string();
            assert!(error.contains("WAKASHU_TOKENS_SHA256: "), "{text}: {error}");
        }
        for setting in ["WAKASHU_ALLOWED_HOSTS", "WAKASHU_ALLOWED_ORIGINS", "WAKASHU_TOOLS_DISABLED"] {
            assert!(read(&[(setting, ",")]).unwrap_err().to_string().contains(setting));
        }
        assert!(read(&[("WAKASHU_TOKENS_SHA256", " ")]).unwrap().tokens.is_empty());
        let tokens = read(&[("WAKASHU_TOKENS_SHA256", &format!("{hash},"))]).unwrap().tokens;
        assert_eq!(tokens.len(), 1, "one comma too many is no harm");
    }

    #[cfg(unix)]
    #[test]
    fn a_value_that_is_not_text_is_named() {
        use std::os::unix::ffi::OsStringExt as _;
        let value = OsString::from_vec(vec![b'a', 0xff]);
        let error = Config::read(|_| None, [("WAKASHU_ARCHIVE".into(), value)]).unwrap_err().to_string();
        assert!(error.contains("WAKASHU_ARCHIVE: the value is not UTF-8"), "{error}");
    }

    #[test]
    fn the_defaults_in_words_are_the_defaults() {
        let config = Config::default();
        for setting in SETTINGS {
            let shown = (setting.show)(&config);
            if !shown.is_empty() {
                assert!(
                    setting.default == shown || setting.default.starts_with(&format!("{shown}:")),
                    "{}",
                    setting.name
                );
            }
        }
    }

    #[test]
    fn a_path_becomes_absolute_and_an_address_stays() {
        let shown = |text: &str| read(&[("WAKASHU_ARCHIVE", text)]).unwrap().archive.unwrap().to_string();
        let here = std::env::current_dir().unwrap();
        assert_eq!(shown("none/poems.wakashu"), here.join("none/poems.wakashu").display().to_string());
        assert_eq!(shown("s3://poems/none"), "s3://poems/none");
    }

    #[test]
    fn a_public_address_loses_its_closing_slash() {
        let config = read(&[("WAKASHU_PUBLIC_URL", "https://poems.example.org/")]).unwrap();
        assert_eq!(config.public_url.as_deref(), Some("https://poems.example.org"));
    }
}
