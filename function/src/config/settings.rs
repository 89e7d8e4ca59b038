//! The settings, one row each: what it is called, what it does, how it is read and shown. The docs' table, the reading
//! and `wakashu-function config` all go by these rows.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use wakashu_storage::Location;

use crate::config::{Config, InvokeMode};
#[cfg(feature = "drills")]
use crate::desk::drill::Drill;
use crate::served::limits::MAX_CONNECTIONS;
use crate::tools::{self, TOOLS};
use crate::web::tokens::Token;

/// The setting without which a server is open to all.
const TOKENS: &str = "WAKASHU_TOKENS_SHA256";

/// A setting.
pub(crate) struct Setting {
    /// The environment variable.
    pub(crate) name: &'static str,
    /// What holds when it is unset, in words.
    pub(crate) default: &'static str,
    /// What it does.
    pub(crate) what: &'static str,
    /// Reads a value, which is never empty.
    pub(super) set: fn(&mut Config, &str) -> Result<(), String>,
    /// Shows what is in force; of secrets only that they are there.
    pub(super) show: fn(&Config) -> String,
}

/// All settings.
pub(crate) static SETTINGS: &[Setting] = &[
    Setting {
        name: "WAKASHU_ARCHIVE",
        default: "none",
        what: "the archive to serve: a path, `file://…`, `s3://…` or `https://…`, of one archive or of a store with a pointer",
        set: |config, text| location(text).map(|location| config.archive = Some(location)),
        show: |config| config.archive.as_ref().map(ToString::to_string).unwrap_or_default(),
    },
    Setting {
        name: "WAKASHU_PUBLIC_URL",
        default: "the address listened on",
        what: "the address readers reach the server at; picture links and pages begin with it",
        set: |config, text| web_address(text).map(|url| config.public_url = Some(url)),
        show: |config| config.public_url.clone().unwrap_or_default(),
    },
    Setting {
        name: "WAKASHU_BUNDLE_URL",
        default: "none",
        what: "the address of a bundle (`.mcpb`) of this collection; its page then offers it to readers",
        set: |config, text| web_address(text).map(|url| config.bundle_url = Some(url)),
        show: |config| config.bundle_url.clone().unwrap_or_default(),
    },
    Setting {
        name: "WAKASHU_ALLOWED_HOSTS",
        default: "loopback names",
        what: "further `Host` names to answer to, separated by commas; needed to listen beyond loopback",
        set: |config, text| list(text, host).map(|hosts| config.allowed_hosts = hosts),
        show: |config| config.allowed_hosts.join(","),
    },
    Setting {
        name: "WAKASHU_ALLOWED_ORIGINS",
        default: "loopback origins",
        what: "browser origins to answer to, separated by commas",
        set: |config, text| list(text, origin).map(|origins| config.allowed_origins = origins),
        show: |config| config.allowed_origins.join(","),
    },
    Setting {
        name: "WAKASHU_REFRESH_SECONDS",
        default: "60",
        what: "how often to look for a newer archive, 1 to 86400",
        set: |config, text| number(text, 1, 86_400).map(|number| config.refresh_seconds = number),
        show: |config| config.refresh_seconds.to_string(),
    },
    Setting {
        name: "WAKASHU_CACHE_BYTES",
        default: "67108864",
        what: "memory for pages and pictures, wherever the archive is",
        set: |config, text| number(text, 1 << 20, 64 << 30).map(|number| config.cache_bytes = number),
        show: |config| config.cache_bytes.to_string(),
    },
    Setting {
        name: "WAKASHU_SEARCH_BYTES",
        default: "1073741824",
        what: "memory for the archive's search columns, from the first search on; where they take more, searches are refused and say how much",
        set: |config, text| number(text, 0, 64 << 30).map(|number| config.search_bytes = number),
        show: |config| config.search_bytes.to_string(),
    },
    Setting {
        name: "WAKASHU_PRELOAD_BYTES",
        default: "8388608",
        what: "archives in a bucket or on a web host up to this size are fetched whole at the start; 0 turns it off",
        set: |config, text| number(text, 0, 4 << 30).map(|number| config.preload_bytes = number),
        show: |config| config.preload_bytes.to_string(),
    },
    Setting {
        name: "WAKASHU_S3_PATH_STYLE",
        default: "`true` with a custom endpoint",
        what: "whether a bucket's name stands in the path instead of the host: `true` or `false`. Region, endpoint and keys come from the usual `AWS_…` variables",
        set: |config, text| truth(text).map(|said| config.s3_path_style = Some(said)),
        show: |config| config.s3_path_style.map(|said| said.to_string()).unwrap_or_default(),
    },
    Setting {
        name: "WAKASHU_LOG",
        default: "info",
        what: "`off`, `error`, `warn`, `info` or `debug`",
        set: |config, text| level(text).map(|level| config.log = level),
        show: |config| config.log.map_or_else(|| "off".to_owned(), |level| level.to_string().to_lowercase()),
    },
    Setting {
        name: "WAKASHU_INVOKE_MODE",
        default: "BUFFERED",
        what: "on Lambda, the function URL's invoke mode: `BUFFERED` or `RESPONSE_STREAM`",
        set: |config, text| invoke_mode(text).map(|mode| config.invoke_mode = mode),
        show: |config| config.invoke_mode.as_str().to_owned(),
    },
    Setting {
        name: "WAKASHU_TOOLS_DISABLED",
        default: "none",
        what: "tools to switch off, separated by commas",
        set: |config, text| tool_set(text).map(|tools| config.tools_disabled = tools),
        show: |config| config.tools_disabled.join(","),
    },
    Setting {
        name: "WAKASHU_TOOL_TIMEOUT_MS",
        default: "30000",
        what: "how long a tool may take, 1 to 300000; callers may ask for less",
        set: |config, text| {
            number(text, 1, 300_000).map(|limit| config.tool_timeout = Duration::from_millis(limit))
        },
        show: |config| config.tool_timeout.as_millis().to_string(),
    },
    Setting {
        name: "WAKASHU_CONCURRENCY",
        default: "64",
        what: "how many tools run at a time, 1 to 10000",
        set: |config, text| number(text, 1, 10_000).map(|number| config.concurrency = number),
        show: |config| config.concurrency.to_string(),
    },
    Setting {
        name: "WAKASHU_QUEUE",
        default: "256",
        what: "how many calls may wait for their turn, 0 to 100000; further ones are turned away",
        set: |config, text| number(text, 0, 100_000).map(|number| config.queue = number),
        show: |config| config.queue.to_string(),
    },
    Setting {
        name: TOKENS,
        default: "none: open to all",
        what: "SHA-256 hashes of bearer tokens, separated by commas, each alone or with a scope: `hash:read` (everything) or `hash:status` (`index_status` and the lists of tools, prompts and templates)",
        set: |config, text| token_list(text).map(|tokens| config.tokens = tokens),
        show: |config| config.tokens.iter().map(Token::masked).collect::<Vec<_>>().join(","),
    },
    Setting {
        name: "WAKASHU_RATE_PER_SECOND",
        default: "0: no limit",
        what: "requests `serve` takes per second from all clients together, each message of a batch being one; on Lambda reserved concurrency is the limit",
        set: |config, text| number(text, 0, 1_000_000).map(|number| config.rate_per_second = number),
        show: |config| config.rate_per_second.to_string(),
    },
    Setting {
        name: "WAKASHU_RATE_PER_CLIENT",
        default: "0: no limit",
        what: "requests `serve` takes per second from one address, each message of a batch being one; behind a proxy that is the proxy's",
        set: |config, text| number(text, 0, 1_000_000).map(|number| config.rate_per_client = number),
        show: |config| config.rate_per_client.to_string(),
    },
    Setting {
        name: "WAKASHU_CONNECTIONS_PER_CLIENT",
        default: "768",
        what: "connections `serve` holds from one address, 1 to 1024, and the same share of the 256 event streams; behind a proxy that is the proxy's: set 1024",
        set: |config, text| {
            number(text, 1, MAX_CONNECTIONS).map(|number| config.connections_per_client = number)
        },
        show: |config| config.connections_per_client.to_string(),
    },
    Setting {
        name: "WAKASHU_METRICS",
        default: "true",
        what: "whether `serve` answers `GET /metrics` for Prometheus; where tokens are set, to any of them",
        set: |config, text| truth(text).map(|said| config.metrics = said),
        show: |config| config.metrics.to_string(),
    },
    #[cfg(feature = "drills")]
    Setting {
        name: "WAKASHU_DRILL",
        default: "off",
        what: "",
        set: |config, text| Drill::read(text).map(|drill| config.drill = drill),
        show: |config| config.drill.shown(),
    },
    Setting {
        name: "HOST",
        default: "127.0.0.1",
        what: "the address `serve` listens on",
        set: |config, text| {
            text.clone_into(&mut config.host);
            Ok(())
        },
        show: |config| config.host.clone(),
    },
    Setting {
        name: "PORT",
        default: "3000",
        what: "the port `serve` listens on; 0 picks a free one",
        set: |config, text| number(text, 0, 65_535).map(|number| config.port = number),
        show: |config| config.port.to_string(),
    },
];

/// What our other programs, workflows and tests read: theirs to understand, not to be refused here.
pub(super) const OTHERS: [&str; 22] = [
    "WAKASHU_DIR",
    "WAKASHU_LANGUAGE",
    "WAKASHU_STORE",
    "WAKASHU_STACK",
    "WAKASHU_PARAMETERS",
    "WAKASHU_PUBLISH_ROLE",
    "WAKASHU_DEPLOY_ROLE",
    "WAKASHU_URL",
    "WAKASHU_SMOKE_TOKEN",
    "WAKASHU_PROGRAMS",
    "WAKASHU_PROGRAM",
    "WAKASHU_PAGES",
    "WAKASHU_RELEASES",
    "WAKASHU_SEEDS",
    "WAKASHU_LONG",
    "WAKASHU_POEMS",
    "WAKASHU_PICTURES",
    "WAKASHU_KEEP",
    "WAKASHU_SHIP",
    "WAKASHU_TEST_STORE",
    "WAKASHU_TEST_FILE",
    "WAKASHU_WRITE_GOLDEN",
];

/// Returns the setting whose name is most like `name`.
pub(super) fn nearest(name: &str) -> &'static str {
    let names = SETTINGS.iter().map(|setting| setting.name).filter(|known| known.starts_with("WAKASHU_"));
    names.min_by_key(|known| distance(known, name)).unwrap_or_default()
}

/// Counts the letters to be changed, added or left out to make one text of the other.
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.bytes().enumerate() {
        let mut diagonal = at;
        let mut left = at + 1;
        for (above, known) in row.iter_mut().skip(1).zip(other.bytes()) {
            let changed = diagonal + usize::from(letter != known);
            diagonal = *above;
            left = changed.min(*above + 1).min(left + 1);
            *above = left;
        }
        if let Some(first) = row.first_mut() {
            *first = at + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

/// Writes the settings as a table for the docs.
pub fn write_markdown(out: &mut impl std::io::Write) -> std::io::Result<()> {
    writeln!(out, "| variable | default | what it does |")?;
    writeln!(out, "|---|---|---|")?;
    // Settings of the test build have no description and are left out.
    SETTINGS.iter().filter(|setting| !setting.what.is_empty()).try_for_each(|setting| {
        writeln!(out, "| `{}` | {} | {} |", setting.name, setting.default, setting.what)
    })
}

/// Reads where an archive is. A path becomes absolute: it is shown to people, and handed on to other programs.
fn location(text: &str) -> Result<Location, String> {
    let absolute = if text.contains("://") { None } else { std::path::absolute(text).ok() };
    let path = absolute.as_ref().and_then(|path| path.to_str());
    path.unwrap_or(text).parse().map_err(|error: wakashu_storage::LocationError| error.to_string())
}

impl Setting {
    /// Tells whether a value counts as none: an empty one, or what a client or a unit file left unfilled, `${…}`. A list is
    /// looked at part by part, and tokens that were meant to be there are missed.
    pub(super) fn is_unset(&self, value: &str) -> bool {
        value.is_empty() || (is_unfilled(value) && !value.contains(',') && self.name != TOKENS)
    }
}

fn is_unfilled(value: &str) -> bool {
    value.starts_with("${")
}

fn list<T>(text: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
    parts(text)?.into_iter().filter(|part| !is_unfilled(part)).map(read).collect()
}

/// Returns the parts of a list that are not empty.
fn parts(text: &str) -> Result<Vec<&str>, String> {
    let parts: Vec<&str> = text.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { Err("there is nothing between the commas".to_owned()) } else { Ok(parts) }
}

fn token_list(text: &str) -> Result<Vec<Token>, String> {
    if text.contains("${") {
        return Err("a token was left unfilled: `${…}` stands in its place".to_owned());
    }
    list(text, Token::parse)
}

fn number<T: FromStr + PartialOrd + Display + Copy>(text: &str, least: T, most: T) -> Result<T, String> {
    let number = text.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("expected a whole number from {least} to {most}"))
}

fn web_address(text: &str) -> Result<String, String> {
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

/// Reads names of tools; returns them in the registry's order.
fn tool_set(text: &str) -> Result<Vec<&'static str>, String> {
    let given = list(text, |name| Ok(name.to_owned()))?;
    if given.iter().any(|name| tools::find(name).is_none()) {
        return Err(
            "expected names of tools, separated by commas; `wakashu-function tools` lists them".to_owned()
        );
    }
    Ok(TOOLS.iter().map(|tool| tool.name).filter(|name| given.iter().any(|given| given == name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_counted() {
        for (one, other, expected) in [
            ("", "", 0),
            ("", "ab", 2),
            ("ab", "", 2),
            ("TOKEN", "TOKENS", 1),
            ("abcd", "acbd", 2),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(one, other), expected, "{one} {other}");
        }
    }
}
