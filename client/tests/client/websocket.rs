//! A server over a WebSocket.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_tungstenite::accept_hdr_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
use wakashu_client::ErrorCode;
use wakashu_client::config::{Options, ServerConfig};
use wakashu_client::manager::{Execution, Manager};
use wakashu_client::policy::RetryPolicy;

/// A legacy server that ends the connection when its tool `die` is run, and tells how many there were before.
async fn start() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/ws", listener.local_addr().unwrap());
    tokio::spawn(async move {
        for connection in 0.. {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                #[expect(clippy::result_large_err, reason = "as the library has it")]
                let agree = |request: &Request, mut response: Response| {
                    assert_eq!(request.headers()["sec-websocket-protocol"], "mcp");
                    assert_eq!(request.headers()["authorization"], "Bearer t");
                    response.headers_mut().insert("sec-websocket-protocol", "mcp".parse().unwrap());
                    Ok(response)
                };
                let mut socket = accept_hdr_async(stream, agree).await.unwrap();
                while let Some(Ok(Message::Text(text))) = socket.next().await {
                    let message: Value = serde_json::from_str(&text).unwrap();
                    let Some(id) = message.get("id") else { continue };
                    let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
                    let result = match message["method"].as_str().unwrap() {
                        "initialize" => {
                            json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "w", "version": "1"}})
                        }
                        "tools/list" => json!({"tools": [tool("count"), tool("die")]}),
                        "tools/call" if message["params"]["name"] == "die" => return,
                        "tools/call" => {
                            json!({"content": [{"type": "text", "text": connection.to_string()}]})
                        }
                        _ => {
                            let error = json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no"}});
                            socket.send(Message::text(error.to_string())).await.unwrap();
                            continue;
                        }
                    };
                    let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
                    socket.send(Message::text(answer.to_string())).await.unwrap();
                }
            });
        }
    });
    url
}

#[tokio::test]
async fn a_server_over_a_websocket_is_one_like_others() {
    let token = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(token.path(), "t\n").unwrap();
    let file = json!({"mcpServers": {"w": {"url": start().await, "tokenFile": token.path()}}}).to_string();
    let config = wakashu_client::Config::parse(
        &file,
        wakashu_client::config::Format::Json,
        std::path::Path::new("/"),
        &|_| None,
    );
    let servers: Vec<ServerConfig> = config.unwrap().servers;
    let retry_policy = RetryPolicy { initial_delay: Duration::from_millis(5), ..RetryPolicy::default() };
    let manager = Manager::new(Options { retry_policy, ..Options::default() });
    assert!(manager.initialize(servers).await.is_empty());
    let counts = manager.execute_parallel(vec![Execution::new("count", json!({})); 20]).await;
    assert!(counts.0.iter().all(|result| result.data.as_ref().unwrap()["content"][0]["text"] == "0"));
    let died = manager.execute_tool("die", json!({})).await.error.unwrap();
    assert_eq!((died.code, died.never_sent), (ErrorCode::ConnectionLost, false));
    // The next connection is greeted again by itself.
    let count = manager.execute_tool("count", json!({})).await;
    assert_eq!(count.data.unwrap()["content"][0]["text"], "1");
    manager.disconnect("w").await.unwrap();
    assert!(!manager.is_connected("w"));
}

#[tokio::test]
async fn what_opens_no_websocket_says_so_and_was_never_asked() {
    let web =
        crate::support::WebServer::start(|_, _| crate::support::Reply::status("404 Not Found", "", "")).await;
    let manager =
        Arc::new(Manager::new(Options { retry_policy: RetryPolicy::never(), ..Options::default() }));
    let url = web.url.replace("http:", "ws:");
    let error = manager.register_server(ServerConfig::http("w", url)).await.unwrap_err();
    assert_eq!((error.code, error.never_sent), (ErrorCode::ConnectionFailed, true));
    assert!(error.message.contains("answers 404 Not Found instead"), "{error}");
}
