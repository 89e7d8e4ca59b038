//! The list of settings, from which the README's table and `wakashu-function config` are made.

/// A setting, as the README's table and `wakashu-function config` show it.
#[derive(Debug)]
pub(crate) struct Setting {
    /// The environment variable.
    pub name: &'static str,
    /// What holds when it is unset.
    pub default: &'static str,
    /// What it does.
    pub what: &'static str,
}

/// All settings.
pub(crate) static SETTINGS: [Setting; 20] = [
    Setting {
        name: "WAKASHU_ARCHIVE",
        default: "none",
        what: "the archive to serve: a path, `file://…`, `s3://…` or `https://…`, of one archive or of a store with a pointer",
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
        what: "memory for pages, and for pictures and search columns fetched from a bucket or web host",
    },
    Setting {
        name: "WAKASHU_PRELOAD_BYTES",
        default: "8388608",
        what: "archives in a bucket or on a web host up to this size are fetched whole at the start; 0 turns it off",
    },
    Setting {
        name: "WAKASHU_S3_PATH_STYLE",
        default: "`true` with an endpoint of one's own",
        what: "whether a bucket's name stands in the path instead of the host: `true` or `false`. Region, endpoint and keys come from the usual `AWS_…` variables",
    },
    Setting { name: "WAKASHU_LOG", default: "info", what: "`off`, `error`, `warn`, `info` or `debug`" },
    Setting {
        name: "WAKASHU_INVOKE_MODE",
        default: "BUFFERED",
        what: "on Lambda, the function URL's invoke mode: `BUFFERED` or `RESPONSE_STREAM`",
    },
    Setting {
        name: "WAKASHU_TOOLS_DISABLED",
        default: "none",
        what: "tools to switch off, separated by commas",
    },
    Setting {
        name: "WAKASHU_TOOL_TIMEOUT_MS",
        default: "30000",
        what: "how long a tool may take, 1 to 300000; callers may ask for less",
    },
    Setting { name: "WAKASHU_CONCURRENCY", default: "64", what: "how many tools run at a time, 1 to 10000" },
    Setting {
        name: "WAKASHU_QUEUE",
        default: "256",
        what: "how many calls may wait for their turn, 0 to 100000; further ones are turned away",
    },
    Setting {
        name: "WAKASHU_TOKENS_SHA256",
        default: "none: open to all",
        what: "SHA-256 hashes of bearer tokens, separated by commas, each alone or with a scope: `hash:read` (everything) or `hash:status` (`index_status` and the lists of tools, prompts and templates)",
    },
    Setting {
        name: "WAKASHU_RATE_PER_SECOND",
        default: "0: no limit",
        what: "requests `serve` takes per second from all clients together; on Lambda reserved concurrency is the limit",
    },
    Setting {
        name: "WAKASHU_RATE_PER_CLIENT",
        default: "0: no limit",
        what: "requests `serve` takes per second from one address; behind a proxy that is the proxy's",
    },
    Setting {
        name: "WAKASHU_DRILL",
        default: "off",
        what: "`on` lets the method `wakashu/drill` panic; `slow`, `fault` and `panic` do that to every tool: to see what becomes of it",
    },
    Setting { name: "HOST", default: "127.0.0.1", what: "the address `serve` listens on" },
    Setting { name: "PORT", default: "3000", what: "the port `serve` listens on; 0 picks a free one" },
];

/// Writes the settings as a table for the README.
pub fn write_markdown(out: &mut impl std::io::Write) -> std::io::Result<()> {
    writeln!(out, "| variable | default | what it does |")?;
    writeln!(out, "|---|---|---|")?;
    SETTINGS.iter().try_for_each(|setting| {
        writeln!(out, "| `{}` | {} | {} |", setting.name, setting.default, setting.what)
    })
}
