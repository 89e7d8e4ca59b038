//! `wakashu gateway`: collections of one kind, another that was upgraded, one that is not there and something else
//! behind one endpoint, asked by the official SDK and by hand.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientConfig, GetPromptRequestParams, ProtocolVersion,
    ReadResourceRequestParams,
};
use rmcp::service::RunningService;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientLifecycleMode, ClientServiceExt as _, RoleClient};
use serde_json::{Value, json};
use tempfile::TempDir;
use wakashu_support::fault_proxy::{Fault, FaultProxy, Rule};
use wakashu_tests::{Connection, HttpRequest, Server, legacy, modern, program, sample, wait_until};

use super::{said, wakashu};

type Client = RunningService<RoleClient, ClientConfig>;

/// A name that leaves no room for those of tools.
const LONG: &str = "a-server-whose-name-is-much-too-long-for-the-hosts-there-are";

/// A configuration in a folder of its own.
struct Setup {
    folder: TempDir,
    _server: Option<Server>,
}

impl Setup {
    fn new(servers: &Value, server: Option<Server>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(".mcp.json"), json!({ "servers": servers }).to_string()).unwrap();
        Self { folder, _server: server }
    }

    /// Two collections that are alike, a third whose tools were changed, one that is not there, and something else.
    fn of_many() -> Self {
        let server = Server::serve(sample());
        let (function, archive) = (program("wakashu-function"), sample());
        // As if a newer program took fewer ranks.
        let upgraded = format!(
            "'{}' stdio '{}' | sed -u 's/\"maximum\":999999/\"maximum\":99999/g'",
            function.display(),
            archive.display()
        );
        // A list keeps its order.
        let servers = json!([
            {"name": "web", "url": server.url()},
            {"name": "local", "command": function, "args": ["stdio", archive], "env": {"WAKASHU_LOG": "off"}},
            {"name": "upgraded", "command": "sh", "args": ["-c", upgraded], "env": {"WAKASHU_LOG": "off"}},
            {"name": "dead", "url": nobody(), "retryPolicy": {"maxRetries": 0}},
            {"name": LONG, "command": program("wakashu-client-fixture"), "args": ["server", "legacy"]},
        ]);
        Self::new(&servers, Some(server))
    }

    fn gateway(&self) -> Command {
        let mut command = wakashu();
        command.arg("gateway").current_dir(self.folder.path());
        command
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// Returns an address that nobody listens on.
fn nobody() -> String {
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    format!("http://{address}/mcp")
}

/// A gateway that serves HTTP.
struct Http {
    child: Child,
    url: String,
    _stdout: BufReader<ChildStdout>,
}

impl Http {
    fn start(setup: &Setup, settings: &[(&str, &str)]) -> Self {
        let mut command = setup.gateway();
        command.args(["--listen", "127.0.0.1:0"]).envs(settings.iter().copied());
        command.env("WAKASHU_LOG", "off").stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut url = String::new();
        stdout.read_line(&mut url).unwrap();
        Self { child, url: url.trim().to_owned(), _stdout: stdout }
    }

    fn send(&self, request: &HttpRequest) -> (u16, Value) {
        let address = self.url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
        let mut connection = Connection::open(address.parse::<SocketAddr>().unwrap());
        connection.send(&request.bytes()).unwrap();
        let reply = connection.receive_for(&request.method).unwrap();
        let body = serde_json::from_slice(&reply.body);
        (reply.status, body.unwrap_or_else(|_| Value::String(reply.text())))
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        // Asked to end, so that its own servers end with it.
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
    }
}

/// A gateway on standard input and output, spoken to by hand.
struct Lines {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Lines {
    fn start(setup: &Setup) -> Self {
        let mut command = setup.gateway();
        command.env("WAKASHU_LOG", "off").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { stdin: child.stdin.take(), stdout, child }
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params}));
        loop {
            let message = self.receive();
            if message["id"] == method {
                return message["result"].clone();
            }
        }
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.stdin = None;
        let _ = self.child.wait();
    }
}

async fn over_stdio(setup: &Setup, lifecycle: ClientLifecycleMode) -> Client {
    let mut command = setup.gateway();
    command.env("WAKASHU_LOG", "off");
    let transport = TokioChildProcess::new(tokio::process::Command::from(command)).unwrap();
    ClientConfig::default().serve_with_lifecycle(transport, lifecycle).await.unwrap()
}

async fn over_http(gateway: &Http, lifecycle: ClientLifecycleMode) -> Client {
    let transport = StreamableHttpClientTransport::from_uri(gateway.url.clone());
    ClientConfig::default().serve_with_lifecycle(transport, lifecycle).await.unwrap()
}

fn newest() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
}

async fn call(client: &Client, tool: &str, arguments: &Value) -> CallToolResult {
    let params = CallToolRequestParams::new(tool.to_owned());
    client.call_tool(params.with_arguments(arguments.as_object().unwrap().clone())).await.unwrap()
}

fn text(result: &CallToolResult) -> String {
    serde_json::to_value(result).unwrap()["content"][0]["text"].as_str().unwrap().to_owned()
}

/// Asks all kinds of things of all servers.
async fn use_everything(client: &Client) {
    let tools = client.list_all_tools().await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    let shared = ["index_status", "list_rounds", "get_wakashu_ranking", "get_poem", "search_poems"];
    assert_eq!(names[..5], shared, "{names:?}");
    // The upgraded one left where it differs, and only there: nothing else has another name for that.
    assert!(names.contains(&"upgraded__get_poem") && !names.contains(&"web__get_poem"), "{names:?}");
    assert!(!names.contains(&"upgraded__list_rounds"), "{names:?}");
    assert!(names.iter().all(|name| name.len() + "mcp__wakashu__".len() <= 64), "{names:?}");
    let choices = |tool: usize| tools[tool].input_schema["properties"]["collection"]["enum"].clone();
    assert_eq!(choices(3), json!(["web", "local"]));
    assert_eq!(choices(1), json!(["web", "local", "upgraded"]));

    let poem = json!({"round_title": "第1回", "rank": 1});
    let mut chosen = poem.clone();
    chosen["collection"] = json!("local");
    let local = call(client, "get_poem", &chosen).await;
    chosen["collection"] = json!("web");
    let web = call(client, "get_poem", &chosen).await;
    let own = call(client, "upgraded__get_poem", &poem).await;
    for result in [&local, &web, &own] {
        assert!(text(result).starts_with("1位：@Laptop") && result.content.len() == 2, "{result:?}");
    }
    // Which one is for the model to say; it is told what there is.
    for wrong in
        [json!({"round_title": "第1回", "rank": 1}), json!({"collection": "dead"}), json!({"collection": 1})]
    {
        let refused = call(client, "get_poem", &wrong).await;
        assert_eq!(refused.is_error, Some(true), "{wrong}");
        assert!(text(&refused).contains("`web`, `local`"), "{refused:?}");
    }
    let long = names.iter().find(|name| name.starts_with("a-server-whose") && name.contains("echo")).unwrap();
    assert_eq!(text(&call(client, long, &json!({"a": 1})).await), r#"{"a":1}"#);
    let unknown = client.call_tool(CallToolRequestParams::new("dead__anything")).await.unwrap_err();
    assert!(unknown.to_string().contains("not there at the moment: dead"), "{unknown}");

    let read = client.read_resource(ReadResourceRequestParams::new("local+wakashu://rounds")).await.unwrap();
    assert!(serde_json::to_string(&read).unwrap().contains("第1回"));
    // A link inside of an answer does not say whose it is, and three have it.
    let unclear = client.read_resource(ReadResourceRequestParams::new("wakashu://rounds")).await.unwrap_err();
    assert!(unclear.to_string().contains("web+wakashu://rounds"), "{unclear}");
    let round = json!({"round_title": "第1回"}).as_object().unwrap().clone();
    let prompt = GetPromptRequestParams::new("web__present_round").with_arguments(round);
    assert!(!client.get_prompt(prompt).await.unwrap().messages.is_empty());
    let titles = client.complete_prompt_simple("web__present_round", "round_title", "第").await.unwrap();
    assert_eq!(titles, ["第1回", "第2回", "第3回"]);
    let rounds = client
        .complete_resource_argument("local+wakashu://rounds/{round}", "round", "第", None)
        .await
        .unwrap();
    assert_eq!(rounds.values, ["第1回", "第2回", "第3回"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_servers_are_one_over_stdio_in_both_eras() {
    let setup = Setup::of_many();
    for lifecycle in [newest(), ClientLifecycleMode::Initialize] {
        let client = over_stdio(&setup, lifecycle).await;
        use_everything(&client).await;
        client.cancel().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_servers_are_one_over_http_in_both_eras() {
    let setup = Setup::of_many();
    let gateway = Http::start(&setup, &[]);
    // On a busy machine that may take longer than a list waits.
    wait_until("all are there", || {
        let servers = gateway.send(&HttpRequest::new("GET", "/health")).1["servers"].clone();
        let up =
            ["web", "local", "upgraded", LONG].into_iter().filter(|name| servers[*name]["state"] == "up");
        up.count() == 4
    });
    for lifecycle in [newest(), ClientLifecycleMode::Initialize] {
        let client = over_http(&gateway, lifecycle).await;
        use_everything(&client).await;
        client.cancel().await.unwrap();
    }
    let (status, health) = gateway.send(&HttpRequest::new("GET", "/health"));
    assert_eq!((status, &health["servers"]["dead"]["state"]), (200, &json!("down")), "{health}");
    let (_, metrics) = gateway.send(&HttpRequest::new("GET", "/metrics"));
    let metrics = metrics.as_str().unwrap().to_owned();
    assert!(metrics.contains(r#"wakashu_client_requests_total{server="local",outcome="ok"}"#), "{metrics}");
    assert!(metrics.contains(r#"wakashu_requests_total{route="mcp",outcome="ok"}"#), "{metrics}");
    // What only a collection has is not there.
    for path in ["/v1/tools", "/pictures/a/1"] {
        assert_eq!(gateway.send(&HttpRequest::new("GET", path)).0, 404, "{path}");
    }
}

#[test]
fn the_doors_are_those_of_the_server() {
    let setup = Setup::new(&json!({"dead": {"url": nobody(), "retryPolicy": {"maxRetries": 0}}}), None);
    // printf %s reader | sha256sum
    let reader = "3d0941964aa3ebdcb00ccef58b1bb399f9f898465e9886d5aec7f31090a0fb30";
    // printf %s watcher | sha256sum
    let watcher = "0e7f3c5c909ce8afb978a208d639e85af2171df2ec0003a07f13ad97878ef053:status";
    let gateway = Http::start(&setup, &[("WAKASHU_TOKENS_SHA256", &format!("{reader}, {watcher}"))]);
    assert_eq!(gateway.send(&legacy("ping", &json!({}))).0, 401);
    let (status, answer) =
        gateway.send(&modern("tools/list", &json!({})).header("Authorization", "Bearer reader"));
    assert_eq!((status, &answer["result"]["tools"]), (200, &json!([])), "{answer}");
    assert_eq!(answer["result"]["cacheScope"], "private");
    // Who may see what there is may not have servers do anything.
    let watching = |request: HttpRequest| gateway.send(&request.header("Authorization", "Bearer watcher")).0;
    assert_eq!(watching(modern("tools/list", &json!({}))), 200);
    assert_eq!(watching(modern("tools/call", &json!({"name": "dead__x", "arguments": {}}))), 403);
    let foreign = legacy("ping", &json!({})).with("Host", "evil.example");
    assert_eq!(gateway.send(&foreign).0, 403);
    assert_eq!(gateway.send(&HttpRequest::new("GET", "/health")).0, 503);
}

/// A greeting comes before any server is there; a collection that appears is told of once, and joins the others.
#[test]
fn a_list_that_changes_is_told_of_and_one_that_does_not_is_not() {
    let function = program("wakashu-function");
    let folder = tempfile::tempdir().unwrap();
    let late = folder.path().join("late.wakashu");
    let env = json!({"WAKASHU_LOG": "off", "WAKASHU_REFRESH_SECONDS": "1"});
    let setup = Setup::new(
        &json!({
            "first": {"command": function, "args": ["stdio", sample()], "env": env},
            "late": {"command": function, "args": ["stdio", late], "env": env},
        }),
        None,
    );
    let mut gateway = Lines::start(&setup);
    let started = Instant::now();
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let said = gateway.ask("initialize", &hello);
    assert!(said["instructions"].as_str().unwrap().contains("first, late"), "{said}");
    assert!(started.elapsed() < Duration::from_secs(10));
    let choices = |gateway: &mut Lines, name: &str| {
        let tools = gateway.ask("tools/list", &json!({}))["tools"].clone();
        let tool = tools.as_array().unwrap().iter().find(|tool| tool["name"] == name).cloned();
        tool.map(|tool| tool["inputSchema"]["properties"]["collection"]["enum"].clone())
    };
    // Alone with it, and yet under the name that it will have.
    assert_eq!(choices(&mut gateway, "get_poem"), Some(json!(["first"])));
    assert_eq!(choices(&mut gateway, "index_status"), Some(json!(["first", "late"])));
    std::fs::copy(sample(), folder.path().join("partial")).unwrap();
    std::fs::rename(folder.path().join("partial"), &late).unwrap();
    let mut told = Vec::new();
    while !told.iter().any(|method: &String| method.contains("tools")) {
        told.push(gateway.receive()["method"].as_str().unwrap().to_owned());
    }
    assert_eq!(choices(&mut gateway, "get_poem"), Some(json!(["first", "late"])));
    let tools = told.iter().filter(|method| method.contains("tools")).count();
    assert_eq!(tools, 1, "{told:?}");
}

/// Of twelve servers ten have a link. What changes at one that was stopped is told of once it is in use again, and what
/// does not change is not.
#[test]
fn a_server_that_was_stopped_to_make_room_tells_of_its_changes_when_it_is_back() {
    let folder = tempfile::tempdir().unwrap();
    let also = folder.path().join("also");
    std::fs::write(&also, "first").unwrap();
    let mut args = vec!["server".to_owned(), "legacy".to_owned()];
    let server = |name: &str, args: &[String]| json!({"name": name, "command": program("wakashu-client-fixture"), "args": args});
    let others: Vec<String> = (0..11).map(|number| format!("other{number}")).collect();
    let mut servers: Vec<Value> = others.iter().map(|name| server(name, &args)).collect();
    // One tool more than the others.
    args.push(format!("also={}", also.display()));
    servers.push(server("late", &args));
    let setup = Setup::new(&json!(servers), None);
    let mut gateway = Lines::start(&setup);
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    gateway.ask("initialize", &hello);
    let tools = |gateway: &mut Lines| gateway.ask("tools/list", &json!({}))["tools"].to_string();
    let lists = |listed: &str, name: &str| listed.contains(&format!("\"name\":\"{name}\""));
    wait_until("all are there", || {
        let listed = tools(&mut gateway);
        lists(&listed, "first") && others.iter().all(|name| listed.contains(&format!("\"{name}\"")))
    });
    let echo = |gateway: &mut Lines, name: &str| {
        let said = gateway.ask("tools/call", &json!({"name": "echo", "arguments": {"collection": name}}));
        assert_eq!(said["isError"], Value::Null, "{said}");
    };
    let stop_late = |gateway: &mut Lines| others.iter().for_each(|name| echo(gateway, name));
    stop_late(&mut gateway);
    std::fs::write(&also, "second").unwrap();
    assert!(lists(&tools(&mut gateway), "first"), "nobody knows yet");
    echo(&mut gateway, "late");
    assert_eq!(gateway.receive()["method"], "notifications/tools/list_changed");
    let listed = tools(&mut gateway);
    assert!(lists(&listed, "second") && !lists(&listed, "first"), "{listed}");
    // Again, and nothing is other than before.
    stop_late(&mut gateway);
    echo(&mut gateway, "late");
    std::thread::sleep(Duration::from_secs(1));
    gateway.send(&json!({"jsonrpc": "2.0", "id": "last", "method": "ping"}));
    assert_eq!(gateway.receive()["id"], "last");
}

/// What is denied is not listed, not shared and not run, whoever knows its name.
#[test]
fn tools_that_are_denied_are_not_there() {
    let collection = |name: &str, denied: &[&str]| {
        json!({"name": name, "command": program("wakashu-function"), "args": ["stdio", sample()],
            "env": {"WAKASHU_LOG": "off"}, "deny": denied})
    };
    let servers = json!([
        collection("quiet", &["search_*"]),
        collection("whole", &[]),
        {"name": "things", "command": program("wakashu-client-fixture"), "args": ["server", "legacy"],
            "allow": ["e*", "s*"], "deny": ["spawn"]},
    ]);
    let setup = Setup::new(&servers, None);
    let mut gateway = Lines::start(&setup);
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    gateway.ask("initialize", &hello);
    let mut tools = Vec::new();
    wait_until("all are there", || {
        tools = gateway.ask("tools/list", &json!({}))["tools"].as_array().unwrap().clone();
        let sharers = tools.iter().filter_map(|tool| tool.pointer("/inputSchema/properties/collection/enum"));
        tools.iter().any(|tool| tool["name"] == "things__echo") && sharers.count() == 5
    });
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let shared = ["index_status", "list_rounds", "get_wakashu_ranking", "get_poem", "search_poems"];
    assert_eq!(names, [&shared[..], &["things__echo", "things__env", "things__sleep"]].concat());
    let choices = |at: usize| tools[at]["inputSchema"]["properties"]["collection"]["enum"].clone();
    assert_eq!((choices(0), choices(4)), (json!(["quiet", "whole"]), json!(["whole"])));
    for (name, arguments) in
        [("things__spawn", json!({})), ("spawn", json!({})), ("quiet__search_poems", json!({"query": "月"}))]
    {
        gateway.send(&json!({"jsonrpc": "2.0", "id": name, "method": "tools/call",
            "params": {"name": name, "arguments": arguments}}));
        let answer = loop {
            let message = gateway.receive();
            if message["id"] == name {
                break message;
            }
        };
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    let (_, out, _) = said(&setup.gateway().arg("--list").output().unwrap());
    assert!(out.contains("things: 3 tools") && !out.contains("spawn"), "{out}");
}

/// One that ends after it was there, and cannot be started again until later.
#[test]
fn a_server_that_is_lost_is_told_of_and_so_is_its_return() {
    let folder = tempfile::tempdir().unwrap();
    let (script, away) = (folder.path().join("server"), folder.path().join("away"));
    let fixture = program("wakashu-client-fixture");
    std::fs::write(&script, format!("exec '{}' server legacy", fixture.display())).unwrap();
    let server = json!({"command": "sh", "args": [script], "retryPolicy": {"maxRetries": 0}});
    let setup = Setup::new(&json!({"things": server}), None);
    let gateway = Http::start(&setup, &[]);
    let state = || gateway.send(&HttpRequest::new("GET", "/health")).1["servers"]["things"]["state"].clone();
    let tools =
        || gateway.send(&legacy("tools/list", &json!({}))).1["result"]["tools"].as_array().unwrap().len();
    wait_until("it is there", || state() == "up");
    assert_eq!(tools(), 9);
    std::fs::rename(&script, &away).unwrap();
    let params = json!({"name": "things__die", "arguments": {}});
    let (_, answer) = gateway.send(&legacy("tools/call", &params));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    wait_until("it is gone", || state() == "down");
    assert_eq!(tools(), 0);
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let (_, hello) = gateway.send(&legacy("initialize", &hello));
    let instructions = hello["result"]["instructions"].as_str().unwrap();
    assert!(instructions.contains("Not there at the moment: things"), "{instructions}");
    std::fs::rename(&away, &script).unwrap();
    wait_until("it is back", || state() == "up");
    assert_eq!(tools(), 9);
}

/// Whatever happens on the way, each request has one answer, which names the server, and the way is found again.
#[test]
fn a_fault_on_the_way_costs_one_answer() {
    let server = Server::serve(sample());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let proxy = runtime.block_on(FaultProxy::start(server.address())).unwrap();
    let setup = Setup::new(&json!({"poems": {"url": format!("{}/mcp", proxy.endpoint())}}), Some(server));
    let mut gateway = Lines::start(&setup);
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    gateway.ask("initialize", &hello);
    let mut poem = || {
        let params = json!({"name": "get_poem", "arguments": {"round_title": "第1回", "rank": 1}});
        gateway.ask("tools/call", &params)["content"][0]["text"].as_str().unwrap_or_default().to_owned()
    };
    wait_until("it is there", || poem().starts_with("1位"));
    let answer = |status, body| Fault::Answer { status, header: None, body };
    for fault in [
        Fault::LoseAnswer,
        Fault::Truncate(40),
        Fault::Drop,
        answer(503, ""),
        answer(404, "not found"),
        answer(200, "<html>"),
        answer(200, "{"),
    ] {
        let said = (0..20).find_map(|_| {
            proxy.inject(Rule::on("POST", "/mcp", fault.clone()).times(1));
            let said = poem();
            proxy.heal();
            wait_until("the way is found again", || poem().starts_with("1位"));
            // The lists may just be read again, and the fault befall that.
            said.starts_with("poems: ").then_some(said)
        });
        assert!(said.is_some_and(|said| said.contains("What to do: ")), "{fault:?}");
    }
}

#[test]
fn list_shows_what_hosts_will_see_and_who_is_missing() {
    let setup = Setup::of_many();
    let (code, out, _) = said(&setup.gateway().arg("--list").output().unwrap());
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("dead: NOT THERE: cannot connect"), "{out}");
    assert!(out.contains(r#"  get_poem  collection: ["web","local"]"#), "{out}");
    assert!(!setup.path("nothing").exists());
    let nowhere = said(&wakashu().args(["gateway", "--config", "none.yaml"]).output().unwrap());
    assert!(nowhere.0 == 2 && nowhere.2.contains("none.yaml"), "{}", nowhere.2);
}

/// What the gateway starts ends with it, also when it is killed.
#[test]
#[cfg(target_os = "linux")]
fn nothing_is_left_when_it_is_killed() {
    let setup = Setup::new(
        &json!({"local": {"command": program("wakashu-function"), "args": ["stdio", sample()]}}),
        None,
    );
    let mut gateway = Http::start(&setup, &[]);
    let marker = sample().to_str().unwrap();
    wait_until("the server runs", || descendants(gateway.child.id(), marker));
    let (_, answer) = gateway.send(&legacy("tools/list", &json!({})));
    assert!(answer["result"]["tools"].as_array().is_some_and(|tools| tools.len() == 5), "{answer}");
    let processes = all_with(marker, gateway.child.id());
    gateway.child.kill().unwrap();
    gateway.child.wait().unwrap();
    wait_until("all are gone", || processes.iter().all(|id| !Path::new(&format!("/proc/{id}")).exists()));
}

#[cfg(target_os = "linux")]
fn descendants(gateway: u32, marker: &str) -> bool {
    !all_with(marker, gateway).is_empty()
}

/// Returns the processes below `ancestor` whose command line has `marker`.
#[cfg(target_os = "linux")]
fn all_with(marker: &str, ancestor: u32) -> Vec<u32> {
    let parent = |id: u32| -> Option<u32> {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
    };
    let processes = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    processes
        .filter(|id| {
            let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            let mut at = *id;
            let is_below =
                std::iter::from_fn(|| parent(at).inspect(|parent| at = *parent)).any(|id| id == ancestor);
            is_below && String::from_utf8_lossy(&line).contains(marker)
        })
        .collect()
}
