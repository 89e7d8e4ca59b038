//! From nothing to a published collection and through an outage, as the official SDK's client sees it.

use std::time::Duration;

use rmcp::handler::client::ClientHandler;
use rmcp::model::CallToolRequestParams;
use rmcp::service::{NotificationContext, RunningService};
use rmcp::transport::TokioChildProcess;
use rmcp::{ClientLifecycleMode, ClientServiceExt as _, RoleClient};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use wakashu_tests::{Collection, TOOLS, poem, program};

use super::store::Store;
use wakashu_support::fault_proxy::{Fault, Rule};

const PATIENCE: Duration = Duration::from_secs(15);

/// A client that passes on what it is told.
struct Ears(UnboundedSender<()>);

impl ClientHandler for Ears {
    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        let _ = self.0.send(());
    }
}

async fn connect(
    settings: Vec<(&'static str, String)>,
) -> (RunningService<RoleClient, Ears>, UnboundedReceiver<()>) {
    let mut command = tokio::process::Command::new(program("wakashu-function"));
    command.arg("stdio").env_remove("WAKASHU_ARCHIVE").envs(settings).env("WAKASHU_LOG", "off");
    let transport = TokioChildProcess::new(command).expect("the process starts");
    let (told, hears) = unbounded_channel();
    let client = Ears(told).serve_with_lifecycle(transport, ClientLifecycleMode::Initialize).await;
    (client.expect("the client connects"), hears)
}

async fn tools(client: &RunningService<RoleClient, Ears>) -> Vec<String> {
    let tools = client.list_all_tools().await.unwrap();
    tools.into_iter().map(|tool| tool.name.into_owned()).collect()
}

async fn status(client: &RunningService<RoleClient, Ears>) -> Value {
    let answer = client.call_tool(CallToolRequestParams::new("index_status")).await.unwrap();
    answer.structured_content.unwrap()
}

async fn wait_for(client: &RunningService<RoleClient, Ears>, member: &str, expected: &Value) -> Value {
    let waited = tokio::time::timeout(PATIENCE, async {
        loop {
            let status = status(client).await;
            if status[member] == *expected {
                return status;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    waited.await.unwrap_or_else(|_| panic!("{member} does not become {expected}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn with_nothing_configured_only_the_state_can_be_asked_for() {
    let (client, _hears) = connect(Vec::new()).await;
    assert_eq!(tools(&client).await, ["index_status"]);
    assert_eq!(status(&client).await["state"], "NOT_CONFIGURED");
    client.cancel().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_hears_of_the_first_publication_and_keeps_it_through_an_outage() {
    let store = tokio::task::block_in_place(Store::empty);
    let (client, mut hears) = connect(store.settings()).await;
    assert_eq!(tools(&client).await, ["index_status"]);
    assert_eq!(status(&client).await["state"], "UNAVAILABLE");

    let first = Collection::default().title("初めの和歌集").round("第1回").entry(poem(1, None));
    let first = first.write();
    tokio::task::block_in_place(|| store.publish(&first));
    let told = tokio::time::timeout(PATIENCE, hears.recv()).await;
    assert!(told.is_ok_and(|told| told.is_some()), "it is told");
    assert_eq!(tools(&client).await, TOOLS);
    assert_eq!(status(&client).await["title"], "初めの和歌集");

    store.proxy.inject(Rule::always(Fault::Drop));
    let stale = wait_for(&client, "stale", &true.into()).await;
    assert_eq!((&stale["state"], &stale["title"]), (&"READY".into(), &"初めの和歌集".into()));
    assert!(stale["staleSince"].is_string());
    assert_eq!(tools(&client).await, TOOLS, "a good index is never lost");

    store.proxy.heal();
    let fresh = wait_for(&client, "stale", &false.into()).await;
    assert!(fresh.get("staleSince").is_none());
    assert!(hears.try_recv().is_err(), "the tools have not changed since");
    client.cancel().await.unwrap();
    tokio::task::block_in_place(|| drop(store));
}
