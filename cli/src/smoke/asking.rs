//! Asking a server in one era.

use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use wakashu_client::error::{Error, ErrorCode, Result};
use wakashu_client::link::http::HttpLink;
use wakashu_client::link::{Call, Link as _};
use wakashu_client::splice;
use wakashu_wire::Revision;

/// How long an answer may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// One era's way of asking. A [`Server`](wakashu_client::server::Server) would choose the era by itself.
#[derive(Debug)]
pub(super) struct Asking {
    link: HttpLink,
    is_modern: bool,
}

impl Asking {
    pub(super) fn new(url: &str, headers: &HeaderMap, is_modern: bool) -> Result<Self> {
        // What a server says by itself is not asked for.
        let (inbox, _) = mpsc::channel(1);
        Ok(Self { link: HttpLink::new(url, headers.clone(), inbox)?, is_modern })
    }

    /// Returns the revision that is spoken, and what the server says of itself.
    pub(super) async fn greet(&self) -> Result<(String, Value)> {
        if self.is_modern {
            let (said, _) = self.ask("server/discover", json!({})).await?;
            let revision = Revision::V2026_07_28.as_str();
            let versions = said.get("supportedVersions").and_then(Value::as_array);
            if !versions.is_some_and(|versions| versions.iter().any(|version| version == revision)) {
                return Err(unexpected(format!(
                    "`server/discover` does not name revision {revision}: {said}"
                )));
            }
            return Ok((revision.to_owned(), said));
        }
        let params = json!({"protocolVersion": Revision::NEWEST_LEGACY.as_str(), "capabilities": {},
            "clientInfo": splice::client_info()});
        let (said, _) = self.ask("initialize", params).await?;
        let Some(revision) = said.get("protocolVersion").and_then(Value::as_str).map(str::to_owned) else {
            return Err(unexpected(format!("`initialize` names no revision: {said}")));
        };
        self.link.notify(read(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?).await?;
        Ok((revision, said))
    }

    /// Asks, and returns the result with the bytes of the whole answer.
    pub(super) async fn ask(&self, method: &str, params: Value) -> Result<(Value, usize)> {
        let mut params: Map<String, Value> = params.as_object().cloned().unwrap_or_default();
        if self.is_modern {
            params.insert("_meta".to_owned(), Value::Object(splice::envelope()));
        }
        let mut call = read(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))?;
        call.patience = PATIENCE;
        let answer = super::patiently(|| self.link.request(call.clone())).await?;
        Ok((answer.result()?, answer.message.len()))
    }

    /// Calls a tool. A result that says it is an error is one.
    pub(super) async fn call(&self, tool: &str, arguments: &Value) -> Result<(Value, usize)> {
        let (result, bytes) = self
            .ask("tools/call", json!({"name": tool, "arguments": arguments}))
            .await
            .map_err(|error| Error { message: format!("{tool} {arguments}: {}", error.message), ..error })?;
        if result.get("isError") == Some(&Value::Bool(true)) {
            let said = super::texts(&result).join(" ");
            return Err(unexpected(format!("{tool} {arguments} is answered with an error: {said}")));
        }
        Ok((result, bytes))
    }

    /// Reads a whole list, page by page.
    pub(super) async fn list(&self, method: &str, field: &str) -> Result<Vec<Value>> {
        let (mut entries, mut params) = (Vec::new(), json!({}));
        for _ in 0..1000 {
            let (mut page, _) = self.ask(method, params).await?;
            let Some(Value::Array(more)) = page.get_mut(field).map(Value::take) else {
                return Err(unexpected(format!("the answer to `{method}` has no list `{field}`")));
            };
            entries.extend(more);
            match page.get("nextCursor").filter(|cursor| !cursor.is_null()) {
                Some(cursor) => params = json!({"cursor": cursor}),
                None => return Ok(entries),
            }
        }
        Err(unexpected(format!("`{method}` has more than 1000 pages")))
    }

    pub(super) async fn close(&self) {
        self.link.close().await;
    }
}

fn read(message: &Value) -> Result<Call> {
    let refused = |refused: wakashu_client::link::Refused| unexpected(refused.error.message);
    Call::read(Bytes::from(message.to_string())).map_err(refused)
}

/// Returns the failure of a server that answers, but not as it should.
pub(super) fn unexpected(sentence: impl Into<String>) -> Error {
    Error::new(ErrorCode::ExecutionFailed, sentence)
}
