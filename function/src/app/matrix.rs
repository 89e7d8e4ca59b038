//! Every route under every circumstance, through both HTTP doors: the status, the form, the headers, and one line in the
//! log.

use std::fmt;
use std::io::Write as _;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::header::{HeaderName, HeaderValue};
use http::{HeaderMap, Method, Request};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tempfile::TempDir;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use wakashu_archive::{ContentHash, EntryDraft, MediaType, PictureDraft, RenditionDraft, RoundDraft, Writer};

use super::For;
use super::gone::Gone;
use crate::config::Config;
use crate::desk::drill::Drill;
use crate::door::lambda;
use crate::exchange::{Arrival, Scope};
use crate::web::App;
use crate::web::routes::{BodyRule, Endpoint, Form, Methods, Page, Pattern, ROUTES, Route, nowhere};
use crate::web::tokens::Token;

const LAMBDA_HOST: &str = "abc.lambda-url.eu-west-1.on.aws";
const PAGE: &str = "https://app.example.org";
/// `printf %s reader | sha256sum`, and of `watcher`.
const READER: &str = "3d0941964aa3ebdcb00ccef58b1bb399f9f898465e9886d5aec7f31090a0fb30";
const WATCHER: &str = "0e7f3c5c909ce8afb978a208d639e85af2171df2ec0003a07f13ad97878ef053:status";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Circumstance {
    Fine,
    BadHost,
    BadOrigin,
    Preflight,
    NoToken,
    StatusToken,
    TooOften,
    WrongMethod,
    Head,
    LargeBody,
    Panic,
    Slow,
    NoArchive,
    Gone,
}

const ALL: [Circumstance; 14] = [
    Circumstance::Fine,
    Circumstance::BadHost,
    Circumstance::BadOrigin,
    Circumstance::Preflight,
    Circumstance::NoToken,
    Circumstance::StatusToken,
    Circumstance::TooOften,
    Circumstance::WrongMethod,
    Circumstance::Head,
    Circumstance::LargeBody,
    Circumstance::Panic,
    Circumstance::Slow,
    Circumstance::NoArchive,
    Circumstance::Gone,
];

pub(super) fn archive() -> Vec<u8> {
    let rendition = |length: usize| RenditionDraft {
        bytes: vec![b'.'; length].into(),
        media_type: MediaType::Png,
        width_px: 4,
        height_px: 4,
    };
    let picture =
        PictureDraft { small: rendition(60), medium: rendition(75), large: rendition(90), original: None };
    let entry = EntryDraft {
        rank: 1,
        account: "@a".to_owned(),
        poem: "歌".to_owned(),
        picture: Some(picture),
        ..EntryDraft::default()
    };
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.begin_round(RoundDraft { title: "第1回".to_owned(), ..RoundDraft::default() }).unwrap();
    writer.entry(entry).unwrap();
    writer.finish("試し".to_owned(), String::new(), ContentHash::of(&[0])).unwrap().1
}

/// A door with everything behind it.
struct World {
    door: For,
    app: App,
    _folder: TempDir,
    _gate: TcpListener,
}

/// What came back, through whichever door.
struct Seen {
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl World {
    /// Makes a world for a request to `route`. There are tokens, unless what is asked for is off then.
    async fn new(door: For, route: &Route, circumstance: Circumstance) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let gate = TcpListener::bind("127.0.0.1:0").unwrap();
        let path = folder.path().join("poems.wakashu");
        std::fs::write(&path, archive()).unwrap();
        let is_open =
            is_page(route) && !matches!(circumstance, Circumstance::NoToken | Circumstance::StatusToken);
        let tokens = [READER, WATCHER].map(|token| Token::parse(token).unwrap());
        let mut config = Config {
            tokens: if is_open { Vec::new() } else { tokens.to_vec() },
            allowed_origins: vec![PAGE.to_owned()],
            ..Config::default()
        };
        if circumstance != Circumstance::NoArchive {
            config.archive = Some(path.to_str().unwrap().parse().unwrap());
        }
        match circumstance {
            Circumstance::TooOften => config.rate_per_client = 1,
            Circumstance::Panic => config.drill = Drill::Panic,
            Circumstance::Slow => {
                // Nobody lets them through.
                config.drill = Drill::Hold(gate.local_addr().unwrap());
                config.tool_timeout = Duration::from_millis(5);
            }
            _ => {}
        }
        if circumstance == Circumstance::Gone {
            config.archive = Some(folder.path().to_str().unwrap().parse().unwrap());
            config.preload_bytes = 0;
        }
        let mut state = door.state(&config).unwrap();
        if circumstance == Circumstance::Gone {
            state = Gone::new(archive()).served(state);
        }
        state.refresh().await;
        let app = door.app(&config, state, None, None);
        Self { door, app, _folder: folder, _gate: gate }
    }

    async fn ask(&self, request: Request<Vec<u8>>) -> Seen {
        if self.door == For::Lambda {
            return self.ask_by_event(request).await;
        }
        let arrival = Arrival { client: Some([192, 0, 2, 1].into()), ..Arrival::default() };
        let response = self.app.answer(arrival, request.map(Full::<bytes::Bytes>::from)).await;
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes().to_vec();
        Seen { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    async fn ask_by_event(&self, request: Request<Vec<u8>>) -> Seen {
        let (parts, body) = request.into_parts();
        let headers: serde_json::Map<String, Value> = parts
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), json!(value.to_str().unwrap())))
            .collect();
        let event = json!({
            "rawPath": parts.uri.path(),
            "rawQueryString": parts.uri.query(),
            "headers": headers,
            "requestContext": { "http": { "method": parts.method.as_str() } },
            "body": String::from_utf8(body).unwrap(),
        });
        let envelope = lambda::answer_one(&self.app, event).await;
        let mut headers = HeaderMap::new();
        for (name, value) in envelope["headers"].as_object().unwrap() {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.insert(name, HeaderValue::from_str(value.as_str().unwrap()).unwrap());
        }
        let status = u16::try_from(envelope["statusCode"].as_u64().unwrap()).unwrap();
        Seen { status, headers, body: envelope["body"].as_str().unwrap().as_bytes().to_vec() }
    }
}

/// Tells whether a route answers with a page of poems.
fn is_page(route: &Route) -> bool {
    matches!(route.to, Endpoint::Page(_))
}

/// A request that the route would answer, if all were well.
fn request(door: For, route: &Route, circumstance: Circumstance) -> Request<Vec<u8>> {
    let path = match (route.path, route.to) {
        (_, Endpoint::Picture) => "/pictures/1/1".to_owned(),
        (_, Endpoint::Page(Page::Round)) => "/rounds/1".to_owned(),
        (_, Endpoint::Page(Page::Poem)) => "/rounds/1/1".to_owned(),
        (_, Endpoint::Page(Page::Search)) => "/search?q=%E6%AD%8C".to_owned(),
        (_, Endpoint::Asset) => format!("/assets/{}", wakashu_pages::ASSETS[0].name),
        (_, Endpoint::V1Tool) => "/v1/tools/get_poem".to_owned(),
        (Pattern::Exact(path), _) => path.to_owned(),
        (Pattern::Segments(before, _), _) => format!("{before}none"),
        (Pattern::Below(root), _) => format!("{root}/none/none/none"),
        (Pattern::Any, _) => "/none".to_owned(),
    };
    let poem = json!({ "round_title": "1", "rank": 1 });
    let body = match route.to {
        Endpoint::Mcp => {
            let params = json!({ "name": "get_poem", "arguments": poem });
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
        }
        Endpoint::V1Call => json!({ "name": "get_poem", "parameters": poem }).to_string(),
        Endpoint::V1Search => json!({ "query": "poem" }).to_string(),
        _ => String::new(),
    };
    let method = match circumstance {
        Circumstance::Preflight => Method::OPTIONS,
        Circumstance::WrongMethod => Method::PUT,
        Circumstance::Head => Method::HEAD,
        _ if route.methods == Methods::Post => Method::POST,
        _ => Method::GET,
    };
    let mut request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    if is_page(route) {
        request = request.header("accept", "text/html,application/xhtml+xml,*/*;q=0.8");
    }
    let host = if door == For::Lambda { LAMBDA_HOST } else { "localhost" };
    request =
        request.header("host", if circumstance == Circumstance::BadHost { "evil.example" } else { host });
    match circumstance {
        Circumstance::BadOrigin => request = request.header("origin", "https://evil.example"),
        Circumstance::Preflight => {
            request = request.header("origin", PAGE).header("access-control-request-method", "POST");
        }
        _ => {}
    }
    match circumstance {
        Circumstance::Preflight | Circumstance::NoToken => {}
        Circumstance::StatusToken => request = request.header("authorization", "Bearer watcher"),
        _ => request = request.header("authorization", "Bearer reader"),
    }
    let padding = if circumstance == Circumstance::LargeBody { 1 << 20 } else { 0 };
    request.body(format!("{body}{}", " ".repeat(padding)).into_bytes()).unwrap()
}

/// Returns the row that answers: on Lambda nothing is counted, and only pages of a preview hear of changes. Where that is
/// not, the path does not exist.
fn answering(door: For, route: &'static Route) -> &'static Route {
    let is_there = match route.to {
        Endpoint::Metrics => door == For::Local,
        Endpoint::Changes => false,
        _ => true,
    };
    if is_there { route } else { nowhere().1 }
}

/// Returns the status a route answers with when all is well.
fn fine(route: &Route) -> u16 {
    match route.to {
        Endpoint::Missing => 404,
        Endpoint::Moved if route.methods == Methods::Post => 307,
        Endpoint::Moved => 308,
        _ => 200,
    }
}

fn expected(door: For, route: &Route, circumstance: Circumstance) -> u16 {
    let works = |failed: u16| match route.to {
        Endpoint::Picture | Endpoint::V1Call | Endpoint::Page(_) => failed,
        _ => fine(route),
    };
    match circumstance {
        // Pictures stand in other people's pages.
        Circumstance::BadOrigin if route.to == Endpoint::Picture => fine(route),
        Circumstance::BadHost | Circumstance::BadOrigin => 403,
        Circumstance::Preflight if route.to != Endpoint::Missing => 204,
        Circumstance::NoToken | Circumstance::Preflight if route.needs.is_some() => 401,
        // Over MCP and in the view the tool decides.
        Circumstance::StatusToken if route.needs == Some(Scope::Read) => 403,
        Circumstance::StatusToken if matches!(route.to, Endpoint::Mcp | Endpoint::V1Call) => 403,
        Circumstance::TooOften if route.rated && door == For::Local => 429,
        Circumstance::NoToken | Circumstance::StatusToken if is_page(route) => 403,
        Circumstance::WrongMethod if route.to != Endpoint::Missing => 405,
        Circumstance::Head if route.methods == Methods::Post => 405,
        Circumstance::LargeBody if route.body == BodyRule::Json => 413,
        Circumstance::Panic => works(500),
        Circumstance::Slow if is_page(route) => 503,
        Circumstance::Slow => works(408),
        Circumstance::NoArchive if route.to == Endpoint::Ready => 503,
        Circumstance::NoArchive => works(503),
        Circumstance::Gone if route.to == Endpoint::V1Call => 500,
        Circumstance::Gone if reads_entries(route) => works(503),
        _ => fine(route),
    }
}

/// Tells whether a route reads entries. The feed and the rest go by what was read when the archive was opened.
fn reads_entries(route: &Route) -> bool {
    match route.to {
        Endpoint::Page(page) => !matches!(page, Page::Feed | Page::Robots),
        to => matches!(to, Endpoint::Mcp | Endpoint::Picture | Endpoint::V1Call),
    }
}

/// Returns what the log calls the reason why a request has no answer, or another one.
fn code(route: &Route, circumstance: Circumstance, status: u16) -> Option<&'static str> {
    let works = matches!(route.to, Endpoint::Mcp | Endpoint::Picture | Endpoint::V1Call) || is_page(route);
    match (circumstance, status) {
        (_, 204 | 404) => None,
        (Circumstance::BadHost, _) => Some("HOST"),
        (Circumstance::BadOrigin, 403) => Some("ORIGIN"),
        (_, 401) => Some("AUTHENTICATION_ERROR"),
        // That pages are off is no fault of those who ask.
        (_, 403) => (!is_page(route)).then_some("AUTHORIZATION_ERROR"),
        (_, 405) => Some("METHOD"),
        (_, 413) if route.form == Form::V1 => Some("VALIDATION_ERROR"),
        (_, 413) => Some("BODY"),
        (_, 429) => Some("RATE_LIMIT_EXCEEDED"),
        (Circumstance::Panic, _) if works => Some("INTERNAL_ERROR"),
        (Circumstance::Slow, _) if works => Some("TIMEOUT"),
        (Circumstance::NoArchive, _) if works => Some("INDEX_UNAVAILABLE"),
        (Circumstance::Gone, _) if reads_entries(route) => Some("TOOL_EXECUTION_ERROR"),
        _ => None,
    }
}

/// Checks the form of a body, and the headers that go with a status.
fn check(door: For, route: &Route, circumstance: Circumstance, seen: &Seen, about: &str) {
    let header = |name: &str| seen.headers.get(name).map(|value| value.to_str().unwrap());
    let varies =
        |by: &str| seen.headers.get_all("vary").iter().any(|vary| vary.to_str().unwrap().contains(by));
    assert!(varies("Origin"), "{about}");
    if seen.status == 200 {
        assert_eq!(varies("Accept"), route.path == Pattern::Exact("/"), "{about}");
    }
    let origin = (circumstance == Circumstance::Preflight).then_some(PAGE);
    assert_eq!(header("access-control-allow-origin"), origin, "{about}");
    assert_eq!(header("allow").is_some(), seen.status == 405, "{about}");
    assert_eq!(header("retry-after").is_some(), seen.status == 429, "{about}");
    let asks_for_a_token = seen.status == 401
        || (seen.status == 403 && circumstance == Circumstance::StatusToken && !is_page(route));
    assert_eq!(header("www-authenticate").is_some(), asks_for_a_token, "{about}");
    match header("cache-control") {
        Some("no-store") | None => assert!(!is_page(route) || seen.status != 200, "{about}"),
        Some("public, no-cache") if is_page(route) => assert_eq!(seen.status, 200, "{about}"),
        Some(cache) => assert!(cache.starts_with("private") && varies("Authorization"), "{about}: {cache}"),
    }
    assert_eq!(header("etag").is_some(), has_a_name(route, seen.status), "{about}");
    if route.to == Endpoint::Picture && seen.status != 403 {
        let answered = matches!(seen.status, 200 | 408 | 500 | 503);
        assert_eq!(header("cross-origin-resource-policy").is_some(), answered, "{about}");
    }
    if circumstance == Circumstance::Head || seen.status == 204 {
        assert!(seen.body.is_empty(), "{about}");
        return;
    }
    let json: Option<Value> = serde_json::from_slice(&seen.body).ok();
    let kind = header("content-type").unwrap_or_default();
    match (route.form, seen.status) {
        // What foreign hosts and methods hear is for programs.
        (Form::Page, 405) => assert!(kind.starts_with("text/plain"), "{about}: {kind}"),
        (Form::Page, 403) if !is_closed(circumstance) => assert!(kind.starts_with("text/plain"), "{about}"),
        (Form::Page, status) => {
            let expected = match (route.to, status) {
                (Endpoint::Page(Page::Feed), 200) => "application/atom+xml; charset=utf-8",
                (Endpoint::Page(Page::Robots), 200) => "text/plain; charset=utf-8",
                _ => "text/html; charset=utf-8",
            };
            assert_eq!(kind, expected, "{about}");
            let policy = header("content-security-policy").unwrap();
            assert!(policy.starts_with("default-src 'none'; "), "{about}");
            assert_eq!(header("x-content-type-options"), Some("nosniff"), "{about}");
            assert_eq!(header("referrer-policy"), Some("no-referrer"), "{about}");
            let text = str::from_utf8(&seen.body).unwrap();
            let shows_poems = text.contains("/rounds/");
            let is_list = matches!(route.to, Endpoint::Page(page) if page != Page::Robots);
            assert_eq!(shows_poems, status == 200 && is_list, "{about}: {text}");
        }
        (Form::Rpc, _) => {
            let json = json.unwrap();
            let is_answer = json.get("result").is_some() || json.get("error").is_some();
            assert!(json["jsonrpc"] == "2.0" && is_answer && kind == "application/json", "{about}: {json}");
            assert!(seen.status != 200 || json["id"] == 1, "{about}: {json}");
        }
        (Form::V1, 401 | 408 | 413 | 429 | 500 | 503) => {
            let json = json.unwrap();
            assert!(json["success"] == false && json["code"].is_string(), "{about}: {json}");
        }
        (Form::V1, 200) => assert!(json.is_some_and(|json| json.is_object()), "{about}"),
        (Form::Plain, 200) if route.to == Endpoint::Picture => {
            let length = if door == For::Lambda { 120 } else { 90 };
            assert_eq!((kind, seen.body.len()), ("image/png", length), "{about}");
        }
        (Form::Plain, 200) if route.to == Endpoint::Metrics => {
            assert!(kind.starts_with("text/plain; version=0.0.4"), "{about}: {kind}");
            let text = str::from_utf8(&seen.body).unwrap();
            assert!(text.starts_with("# HELP wakashu_requests_total "), "{about}: {text}");
        }
        (Form::Plain, 200) if matches!(route.to, Endpoint::Asset | Endpoint::Icon) => {
            assert!(kind == "text/css; charset=utf-8" || kind == "image/svg+xml", "{about}: {kind}");
            assert_eq!(header("x-content-type-options"), Some("nosniff"), "{about}");
        }
        (Form::Plain, 200) => assert!(json.is_some(), "{about}"),
        (Form::Plain, 503) if route.to == Endpoint::Ready => {
            let json = json.unwrap();
            assert!(json["ready"] == false && json["reason"].is_string(), "{about}: {json}");
        }
        // In the view, a token of another scope is the tool's to refuse.
        (Form::V1, 403) if circumstance == Circumstance::StatusToken => assert!(json.is_some(), "{about}"),
        _ => assert!(kind.starts_with("text/plain") && json.is_none(), "{about}: {kind}"),
    }
}

/// Tells whether a page is withheld because there are tokens.
fn is_closed(circumstance: Circumstance) -> bool {
    matches!(circumstance, Circumstance::NoToken | Circumstance::StatusToken)
}

/// Tells whether an answer has an `ETag`, by which it need not be sent twice.
fn has_a_name(route: &Route, status: u16) -> bool {
    let kept = matches!(route.to, Endpoint::Picture | Endpoint::Asset | Endpoint::Icon);
    status == 200 && (kept || is_page(route))
}

#[tokio::test]
async fn every_route_under_every_circumstance_through_every_door() {
    // Drills panic on purpose; what they write is of no use here.
    std::panic::set_hook(Box::new(|panic| {
        if !panic.to_string().contains("this is a drill") {
            let _ = writeln!(std::io::stderr(), "{panic}");
        }
    }));
    let lines = Lines::default();
    let _guard = tracing::subscriber::set_default(lines.clone());
    for door in [For::Local, For::Lambda] {
        for circumstance in ALL {
            for route in &ROUTES {
                let about = format!("{:?} {circumstance:?} at {door:?}", route.path);
                let world = World::new(door, route, circumstance).await;
                if circumstance == Circumstance::TooOften {
                    let _ = world.ask(request(door, route, circumstance)).await;
                }
                lines.0.lock().unwrap().clear();
                let seen = world.ask(request(door, route, circumstance)).await;
                let route = answering(door, route);
                assert_eq!(seen.status, expected(door, route, circumstance), "{about}");
                check(door, route, circumstance, &seen, &about);
                let lines = lines.0.lock().unwrap();
                let [line] = lines.as_slice() else { unreachable!("{about}: {lines:?}") };
                assert_eq!(line["status"], json!(seen.status), "{about}: {line}");
                let code = code(route, circumstance, seen.status);
                assert_eq!(line.get("error").and_then(Value::as_str), code, "{about}: {line}");
                let fields = ["request", "method", "bytes", "ms"];
                assert!(fields.iter().all(|field| line.get(field).is_some()), "{about}: {line}");
                let is_known = circumstance == Circumstance::NoArchive || line.get("archive").is_some();
                assert!(is_known, "{about}: {line}");
            }
        }
    }
    let _ = std::panic::take_hook();
}

#[tokio::test]
async fn an_event_that_is_not_a_request_leaves_its_line_too() {
    let lines = Lines::default();
    let _guard = tracing::subscriber::set_default(lines.clone());
    let world = World::new(For::Lambda, &ROUTES[0], Circumstance::Fine).await;
    lines.0.lock().unwrap().clear();
    let event = json!({
        "rawPath": "/mcp",
        "requestContext": { "http": { "method": "POST" } },
        "body": "?",
        "isBase64Encoded": true,
    });
    assert_eq!(lambda::answer_one(&world.app, event).await["statusCode"], 400);
    let lines = lines.0.lock().unwrap();
    let [line] = lines.as_slice() else { unreachable!("{lines:?}") };
    assert_eq!((&line["status"], &line["error"]), (&json!(400), &json!("EVENT")), "{line}");
    assert!(line.get("ms").is_some() && line.get("method").is_some(), "{line}");
}

/// Collects the lines of requests.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<Value>>>);

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event()
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut message = Message(String::new());
        event.record(&mut message);
        let fields = message.0.split(' ').filter_map(|field| field.split_once('='));
        let fields = fields.map(|(name, value)| {
            (name.to_owned(), value.parse::<u64>().map_or_else(|_| json!(value), |number| json!(number)))
        });
        let fields: serde_json::Map<String, Value> = fields.collect();
        if fields.contains_key("status") {
            self.0.lock().unwrap().push(Value::Object(fields));
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// What an event says.
struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}
