//! The official SDK as a client: every answer must parse as its model types, in both eras, through both doors.

use std::ffi::OsStr;

use rmcp::model::{
    CallToolRequestParams, ClientConfig, CompletionContext, ContentBlock, GetPromptRequestParams, JsonObject,
    PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams, ResourceContents, ServerResult,
};
use rmcp::service::{RunningService, ServiceError};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientLifecycleMode, ClientServiceExt as _, RoleClient};
use serde_json::{Value, json};
use wakashu_support::web_server::WebServer;
use wakashu_tests::{Server, TOOLS, program, sample};

use crate::site::export;

type Client = RunningService<RoleClient, ClientConfig>;

const ROUND: &str = "wakashu://rounds/%E7%AC%AC1%E5%9B%9E";

fn modern() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
}

fn auto() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    }
}

async fn over_http(server: &Server, lifecycle: ClientLifecycleMode) -> Client {
    let transport = StreamableHttpClientTransport::from_uri(server.url().to_owned());
    ClientConfig::default().serve_with_lifecycle(transport, lifecycle).await.expect("the client connects")
}

async fn over_stdio(source: impl AsRef<OsStr>, lifecycle: ClientLifecycleMode) -> Client {
    let mut command = tokio::process::Command::new(program("wakashu-function"));
    command.arg("stdio").arg(source).env("WAKASHU_LOG", "off");
    let transport = TokioChildProcess::new(command).expect("the process starts");
    ClientConfig::default().serve_with_lifecycle(transport, lifecycle).await.expect("the client connects")
}

/// Through `wakashu bridge`, whose host is this client.
async fn over_bridge(server: &Server, lifecycle: ClientLifecycleMode) -> Client {
    let mut command = tokio::process::Command::new(program("wakashu"));
    command.args(["bridge", server.url()]);
    let transport = TokioChildProcess::new(command).expect("the process starts");
    ClientConfig::default().serve_with_lifecycle(transport, lifecycle).await.expect("the client connects")
}

fn object(value: &Value) -> JsonObject {
    value.as_object().unwrap().clone()
}

/// Uses everything the server offers.
async fn use_everything(client: &Client, is_modern: bool) {
    let tools = client.list_all_tools().await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, TOOLS);
    assert_eq!(tools[2].title.as_deref(), Some("和歌集ランキング情報取得"));
    for tool in &tools {
        let annotations = tool.annotations.as_ref().unwrap();
        assert_eq!((annotations.read_only_hint, annotations.open_world_hint), (Some(true), Some(false)));
    }

    call_every_tool(client).await;
    read_every_resource(client, is_modern).await;
    get_every_prompt(client).await;

    let titles = client.complete_prompt_simple("present_round", "round_title", "第").await.unwrap();
    assert_eq!(titles, ["第1回", "第2回", "第3回"]);
    let chosen =
        serde_json::from_value::<CompletionContext>(json!({ "arguments": { "round": "第3回" } })).unwrap();
    let template = "wakashu://rounds/{round}/{rank}";
    let ranks = client.complete_resource_argument(template, "rank", "1", Some(chosen)).await.unwrap();
    assert_eq!(
        (ranks.values, ranks.total, ranks.has_more),
        (words(&["1", "10", "11", "12"]), Some(4), Some(false))
    );

    let ping = client.send_request(serde_json::from_value(json!({ "method": "ping" })).unwrap()).await;
    if is_modern {
        assert_eq!(code(&ping), -32601, "ping was removed");
    } else {
        assert!(matches!(ping, Ok(ServerResult::EmptyResult(_))), "{ping:?}");
    }
}

async fn call_every_tool(client: &Client) {
    for (tool, arguments, texts, pictures) in [
        ("index_status", json!({}), 1, 0),
        ("list_rounds", json!({ "limit": 2 }), 1, 0),
        ("get_wakashu_ranking", json!({ "round_title": "第1回", "rank_range": "1-3" }), 3, 3),
        ("get_poem", json!({ "round_title": "番外編", "rank": 1 }), 1, 1),
        ("search_poems", json!({ "query": "花" }), 1, 0),
    ] {
        let params = CallToolRequestParams::new(tool).with_arguments(object(&arguments));
        let result = client.call_tool(params).await.unwrap_or_else(|error| panic!("{tool}: {error}"));
        assert_ne!(result.is_error, Some(true), "{tool}");
        let count =
            |wanted: fn(&ContentBlock) -> bool| result.content.iter().filter(|block| wanted(block)).count();
        let found = (
            count(|block| matches!(block, ContentBlock::Text(_))),
            count(|block| matches!(block, ContentBlock::Image(_))),
        );
        assert_eq!(found, (texts, pictures), "{tool}");
        assert_eq!(result.structured_content.is_some(), pictures == 0, "{tool}");
    }

    let unknown_round = CallToolRequestParams::new("get_poem")
        .with_arguments(object(&json!({ "round_title": "第99回", "rank": 1 })));
    let result = client.call_tool(unknown_round).await.unwrap();
    assert_eq!(result.is_error, Some(true));
    let text = result.content[0].as_text().unwrap();
    assert!(text.text.starts_with("指定された回のデータは見つかりませんでした。"));

    assert_eq!(code(&client.call_tool(CallToolRequestParams::new("no_such_tool")).await), -32602);
}

async fn read_every_resource(client: &Client, is_modern: bool) {
    let resources = client.list_all_resources().await.unwrap();
    let uris: Vec<&str> = resources.iter().map(|resource| &*resource.uri).collect();
    assert_eq!((uris[0], uris[2], uris.len()), ("wakashu://rounds", ROUND, 6));
    assert!(uris[1].starts_with("ui://wakashu/poems.html?v="));
    let templates = client.list_all_resource_templates().await.unwrap();
    assert!(
        templates.iter().any(|template| template.uri_template == "wakashu://rounds/{round}/{rank}/picture")
    );

    let addresses =
        [format!("{ROUND}/1"), format!("{ROUND}/1/picture"), "wakashu://rounds/第1回/2".to_owned()];
    for uri in uris.iter().map(|uri| (*uri).to_owned()).chain(addresses) {
        let read = client.read_resource(ReadResourceRequestParams::new(uri.clone())).await;
        let contents = read.unwrap_or_else(|error| panic!("{uri}: {error}")).contents;
        match &contents[..] {
            [ResourceContents::TextResourceContents { uri: found, text, .. }] => {
                assert_eq!((found, text.is_empty()), (&uri, false));
            }
            [ResourceContents::BlobResourceContents { uri: found, mime_type, .. }] => {
                assert_eq!((found, uri.ends_with("/picture")), (&uri, true));
                assert!(mime_type.as_deref().unwrap().starts_with("image/"));
            }
            other => panic!("{uri}: {other:?}"),
        }
    }
    let missing = client.read_resource(ReadResourceRequestParams::new("wakashu://rounds/第99回")).await;
    assert_eq!(code(&missing), if is_modern { -32602 } else { -32002 });

    let page = PaginatedRequestParams::default().with_cursor(Some("no such cursor".to_owned()));
    assert_eq!(code(&client.list_resources(Some(page)).await), -32602);
}

async fn get_every_prompt(client: &Client) {
    let prompts = client.list_all_prompts().await.unwrap();
    let names: Vec<&str> = prompts.iter().map(|prompt| &*prompt.name).collect();
    assert_eq!(names, ["present_round", "compare_poems", "explain_honkadori"]);
    let arguments = json!({ "round": "第1回", "rank": "1", "other_rank": "2" });
    for prompt in prompts {
        assert!(prompt.description.is_some());
        let params = GetPromptRequestParams::new(&*prompt.name).with_arguments(object(&arguments));
        let result =
            client.get_prompt(params).await.unwrap_or_else(|error| panic!("{}: {error}", prompt.name));
        assert_eq!(result.messages.len(), 1, "{}", prompt.name);
    }
    assert_eq!(code(&client.get_prompt(GetPromptRequestParams::new("no_such_prompt")).await), -32602);
    assert_eq!(code(&client.get_prompt(GetPromptRequestParams::new("present_round")).await), -32602);
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Returns the JSON-RPC code a call failed with.
fn code<T: std::fmt::Debug>(result: &Result<T, ServiceError>) -> i32 {
    match result {
        Err(ServiceError::McpError(error)) => error.code.0,
        other => panic!("not a JSON-RPC error: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_modern_client_uses_everything_over_http() {
    let server = Server::serve(sample());
    let client = over_http(&server, modern()).await;
    let info = client.peer_info().unwrap();
    assert_eq!(info.server_info.as_ref().unwrap().name, "wakashu_mcp_server");
    use_everything(&client, true).await;
    client.cancel().await.unwrap();
    assert!(!server.log_with("completion/complete").contains("\"era\":\"2025"), "{}", server.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_legacy_client_uses_everything_over_http() {
    let server = Server::serve(sample());
    let client = over_http(&server, ClientLifecycleMode::Initialize).await;
    use_everything(&client, false).await;
    client.cancel().await.unwrap();
    assert!(!server.log_with("\"ping\"").contains("\"era\":\"2026"), "{}", server.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_probes_ends_up_modern_over_http() {
    let server = Server::serve(sample());
    let client = over_http(&server, auto()).await;
    use_everything(&client, true).await;
    client.cancel().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_of_every_era_use_everything_through_a_bridge() {
    let server = Server::serve(sample());
    for (lifecycle, is_modern) in [(modern(), true), (ClientLifecycleMode::Initialize, false), (auto(), true)]
    {
        let client = over_bridge(&server, lifecycle).await;
        use_everything(&client, is_modern).await;
        client.cancel().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_modern_client_uses_everything_over_stdio() {
    let client = over_stdio(sample(), modern()).await;
    use_everything(&client, true).await;
    client.cancel().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_legacy_client_uses_everything_over_stdio() {
    let client = over_stdio(sample(), ClientLifecycleMode::Initialize).await;
    use_everything(&client, false).await;
    client.cancel().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_probes_ends_up_modern_over_stdio() {
    let client = over_stdio(sample(), auto()).await;
    use_everything(&client, true).await;
    client.cancel().await.unwrap();
}

/// A site that was exported, below a path of a web host, is a store like any other.
#[tokio::test(flavor = "multi_thread")]
async fn clients_get_the_same_answers_from_an_exported_folder() {
    let files = tempfile::tempdir().unwrap();
    export(sample(), &files.path().join("under/site"), &[]);
    let host = WebServer::start(files.path().to_owned(), None).await.unwrap();
    let address = format!("http://{}/under/site", host.address());
    for is_modern in [true, false] {
        let lifecycle = || if is_modern { modern() } else { ClientLifecycleMode::Initialize };
        let (site, archive) =
            (over_stdio(&address, lifecycle()).await, over_stdio(sample(), lifecycle()).await);
        use_everything(&site, is_modern).await;
        for (tool, arguments) in [
            ("list_rounds", json!({})),
            ("get_wakashu_ranking", json!({ "round_title": "第1回", "rank_range": "1-3" })),
            ("get_poem", json!({ "round_title": "番外編", "rank": 1 })),
            ("get_poem", json!({ "round_title": "第1回", "rank": 99 })),
            ("search_poems", json!({ "query": "花" })),
        ] {
            let params = || CallToolRequestParams::new(tool).with_arguments(object(&arguments));
            let [one, other] = [site.call_tool(params()).await, archive.call_tool(params()).await]
                .map(|result| serde_json::to_value(result.unwrap()).unwrap());
            assert_eq!(one, other, "{tool} {arguments}");
        }
        for uri in [format!("{ROUND}/1"), format!("{ROUND}/1/picture")] {
            let params = || ReadResourceRequestParams::new(uri.clone());
            let [one, other] = [site.read_resource(params()).await, archive.read_resource(params()).await]
                .map(|result| serde_json::to_value(result.unwrap()).unwrap());
            assert_eq!(one, other, "{uri}");
        }
        site.cancel().await.unwrap();
        archive.cancel().await.unwrap();
    }
}
