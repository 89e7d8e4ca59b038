//! Configuration files, good and bad, and the message each bad one gives.

use std::path::Path;
use std::time::Duration;

use wakashu_client::ErrorCode;
use wakashu_client::config::{Config, Format, Transport};

fn parse(text: &str, format: Format) -> Result<Config, String> {
    let variable = |name: &str| match name {
        "PROJECT_ROOT" => Some("/work/project".to_owned()),
        "API_KEY" => Some("se\"cret: [1]".to_owned()),
        "EMPTY" => Some(String::new()),
        _ => None,
    };
    Config::parse(text, format, Path::new("/etc/wakashu"), &variable).map_err(|error| error.to_string())
}

const ORIGINAL: &str = r#"
# mcp.config.yaml
servers:
  - name: serena
    transport: stdio
    command: serena-mcp
    args: []
    env:
      SERENA_PROJECT_ROOT: ${PROJECT_ROOT}

  - name: filesystem
    transport: stdio
    command: @akiojin/mcp-filesystem
    args: ["--root", "${PROJECT_ROOT}"]

  - name: custom-api
    transport: http
    url: http://localhost:8080/mcp
    headers:
      Authorization: Bearer ${API_KEY}

options:
  maxParallel: 10
  timeout: 30000
  retryPolicy:
    maxRetries: 3
    initialDelay: 1000
    maxDelay: 10000
    backoffMultiplier: 2
"#;

#[test]
fn the_original_file_loads_once_its_command_is_quoted() {
    let message = parse(ORIGINAL, Format::Yaml).unwrap_err();
    assert_eq!(
        message,
        "line 13, column 14: YAML keeps this character for itself: write `command: \"@akiojin/mcp-filesystem\"`"
    );
    let quoted = ORIGINAL.replace("@akiojin/mcp-filesystem", "\"@akiojin/mcp-filesystem\"");
    let config = parse(&quoted, Format::Yaml).unwrap();
    assert!(config.warnings.is_empty());
    let names: Vec<&str> = config.servers.iter().map(|server| server.name.as_str()).collect();
    assert_eq!(names, ["serena", "filesystem", "custom-api"]);
    let Transport::Stdio { command, args, .. } = &config.servers[1].transport else { panic!() };
    assert_eq!(
        (command.as_str(), args.as_slice()),
        ("@akiojin/mcp-filesystem", ["--root", "/work/project"].map(String::from).as_slice())
    );
    let Transport::Http { headers, .. } = &config.servers[2].transport else { panic!() };
    // What a variable holds adds no structure.
    assert_eq!(headers["Authorization"], "Bearer se\"cret: [1]");
    assert!(!format!("{config:?}").contains("cret"), "secrets are not shown");
    assert_eq!((config.options.max_parallel, config.options.timeout), (10, Duration::from_secs(30)));
    assert_eq!(config.options.retry_policy.max_delay, Duration::from_secs(10));
}

#[test]
fn files_of_other_programs_load() {
    let text = r#"{
        // Claude Desktop and others
        "mcpServers": {
            "poems": { "type": "http", "url": "https://example.org/mcp", "alwaysAllow": ["*"], },
            /* two */ "local": { "command": "npx", "args": ["-y", "a // b", "${env:PROJECT_ROOT}", "${NONE:-x}", "${EMPTY}"] },
            "off": { "command": 7, "disabled": true },
        },
    }"#;
    let config = parse(text, Format::Json).unwrap();
    assert_eq!(config.servers.len(), 2);
    let local = config.servers.iter().find(|server| server.name == "local").unwrap();
    let Transport::Stdio { args, .. } = &local.transport else { panic!() };
    assert_eq!(args, &["-y", "a // b", "/work/project", "x", ""]);
    let warnings: Vec<String> = config.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings, ["mcpServers.poems.alwaysAllow: is not known here and has no effect"]);
    let map = "servers:\n  a: {url: 'http://localhost/mcp', sandbox: null}\n  b: {command: c, cwd: d, sandbox: {read: [x], write: [/y]}}\n";
    let config = parse(map, Format::Yaml).unwrap();
    let warnings: Vec<String> = config.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings, ["servers.a.sandbox: has no effect on a server on the web"]);
    let Transport::Stdio { cwd, sandbox, .. } = &config.servers[1].transport else { panic!() };
    let sandbox = sandbox.as_ref().unwrap();
    assert_eq!(cwd.as_deref(), Some(Path::new("/etc/wakashu/d")));
    assert_eq!(
        (sandbox.read[0].as_path(), sandbox.write[0].as_path(), sandbox.network),
        (Path::new("/etc/wakashu/x"), Path::new("/y"), false)
    );
}

#[test]
fn codes_that_are_retried_are_read() {
    let text = "servers: []\noptions: {retryPolicy: {retryableErrors: [TIMEOUT, CONNECTION_LOST]}, cache: {maxSize: 0, ttl: 5}}";
    let options = parse(text, Format::Yaml).unwrap().options;
    assert_eq!(
        options.retry_policy.retryable_errors,
        Some(vec![ErrorCode::Timeout, ErrorCode::ConnectionLost])
    );
    assert_eq!((options.cache_entries, options.cache_ttl), (0, Duration::from_millis(5)));
}

#[test]
fn every_bad_file_gives_its_message() {
    let server = |inside: &str| format!("servers: [{{name: a, {inside}}}]");
    for (text, message) in [
        (String::new(), "the file must be a map of names to values"),
        ("[]".to_owned(), "the file must be a map of names to values"),
        ("a: 1".to_owned(), "there is neither `servers` nor `mcpServers`"),
        ("servers: 7".to_owned(), "servers: must be a list of servers, or a map of servers by their names"),
        ("mcpServers: []".to_owned(), "mcpServers: must be a map of servers by their names"),
        ("servers: [7]".to_owned(), "servers[0]: must be a map of names to values"),
        ("servers: [{command: a}]".to_owned(), "servers[0]: a server needs a `name`"),
        ("servers: [{name: ' ', command: a}]".to_owned(), "servers[0]: a server needs a `name`"),
        (server(""), "servers[0]: a server needs a `command` or a `url`"),
        (server("transport: stdio, url: 'http://a/b'"), "servers[0]: a program needs a `command`"),
        (server("transport: http"), "servers[0]: a server on the web needs a `url`"),
        (
            server("transport: pigeon, url: a"),
            "servers[0].transport: `pigeon` is none of `stdio`, `http`, `websocket`",
        ),
        (
            server("type: sse, url: 'http://a/b'"),
            "servers[0].type: the transport `sse` of 2024 is not supported; ask for the server's `http` address",
        ),
        (
            server("transport: websocket, url: 'http://a/b'"),
            if cfg!(feature = "websocket") {
                "servers[0].url: `http://a/b` is not an address that begins with wss:// or ws://"
            } else {
                "servers[0].transport: `websocket` is not part of this build; use the server's `http` address"
            },
        ),
        (
            server("url: 'ftp://a/b'"),
            "servers[0].url: `ftp://a/b` is not an address that begins with https:// or http://",
        ),
        (
            server("url: 'http://u:p@a/b'"),
            "servers[0].url: `http://…@a/b` has a user name or a password in it; put credentials into a header",
        ),
        (server("url: 'no address'"), "servers[0].url: `no address` is not an address"),
        (
            server("url: 'http://a/b', headers: {'a b': c}"),
            "servers[0].headers: `a b` is not the name of a header",
        ),
        (
            server("url: 'http://a/b', headers: {a: \"x\\ny\"}"),
            "servers[0].headers: the value of `a` cannot be sent in a header",
        ),
        (server("url: 'http://a/b', headers: [a]"), "servers[0].headers: must be a map of names to values"),
        (
            server("url: 'http://a/b', tokenFile: nowhere"),
            "servers[0].tokenFile: cannot read `/etc/wakashu/nowhere`: No such file or directory (os error 2)",
        ),
        (server("command: c, args: x"), "servers[0].args: must be a list of texts"),
        (server("command: c, args: [[]]"), "servers[0].args[0]: must be a text"),
        (
            server("command: c, env: {A: '${NOT_SET}'}"),
            "servers[0].env.A: the variable `NOT_SET` is not set, and there is no default",
        ),
        (
            server("command: c, args: ['${input:x}']"),
            "servers[0].args[0]: `${input:x}` is not a variable; write ${VAR} or ${VAR:-default}",
        ),
        (
            server("command: 'c${x'"),
            "servers[0].command: `${` has no `}`\nservers[0]: a server needs a `command` or a `url`",
        ),
        (server("command: c, timeout: 0"), "servers[0].timeout: must be at least 1 (milliseconds)"),
        (server("command: c, timeout: soon"), "servers[0].timeout: must be a whole number, 0 or more"),
        (server("command: c, trusted: maybe"), "servers[0].trusted: must be true or false"),
        (server("command: c, sandbox: yes"), "servers[0].sandbox: must be a map of names to values"),
        // A program is not left unconfined by half a line.
        (
            server("command: c, sandbox: "),
            "servers[0].sandbox: is empty: write `{}` for one without folders and network",
        ),
        (
            "servers: [{name: a, command: c}, {name: a, command: d}]".to_owned(),
            "servers: there are two servers named `a`",
        ),
        ("servers: []\noptions: {maxParallel: 0}".to_owned(), "options.maxParallel: must be from 1 to 1000"),
        (
            "servers: []\noptions: {retryPolicy: {backoffMultiplier: 0}}".to_owned(),
            "options.retryPolicy.backoffMultiplier: must be a number from 1 to 100",
        ),
        (
            "servers: []\noptions: {retryPolicy: {retryableErrors: [OOPS]}}".to_owned(),
            "options.retryPolicy.retryableErrors: `OOPS` is none of CONNECTION_FAILED, CONNECTION_LOST, TIMEOUT, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, EXECUTION_FAILED, TOOL_NOT_FOUND, RESOURCE_NOT_FOUND, PERMISSION_DENIED, RATE_LIMIT_EXCEEDED, CANNOT_EXECUTE, PARALLEL_EXECUTION_FAILED, MAX_RETRIES_EXCEEDED",
        ),
    ] {
        assert_eq!(parse(&text, Format::Yaml).unwrap_err(), message, "{text}");
    }
    for (text, message) in [
        ("{\n  \"servers\": [\n    // a comment\n    x\n  ]\n}", "line 4, column 5: expected value"),
        ("{\"servers\": [}", "line 1, column 14: expected value"),
        ("{\"servers\": [], /* open", "line 1, column 23: EOF while parsing a value"),
    ] {
        assert_eq!(parse(text, Format::Json).unwrap_err(), message, "{text}");
    }
    for text in ["servers: [", "a: b: c", "servers:\n\t- a", "&a [*a]", "a: 1\na: 2"] {
        let message = parse(text, Format::Yaml).unwrap_err();
        assert!(message.starts_with("line ") && message.lines().count() == 1, "{text}: {message}");
    }
}

#[test]
fn all_problems_come_in_one_run() {
    let text = "servers: [{name: a}, {name: b, url: 'x://y', timeout: 0}, {command: '${Q}'}]\noptions: {timeout: 0, debug: 1}";
    let message = parse(text, Format::Yaml).unwrap_err();
    assert_eq!(message.lines().count(), 8, "{message}");
}
