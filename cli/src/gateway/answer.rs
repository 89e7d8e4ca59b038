//! Answering hosts: lists of the gateway's own, and everything else by the server it is for.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use wakashu_client::error::Error;
use wakashu_client::link::Call;
use wakashu_client::splice;
use wakashu_function::Generation;
use wakashu_function::gateway::{Answering, Ask, Gateway};
use wakashu_wire::error::{self, code};
use wakashu_wire::{RpcError, SUPPORTED, string};

use super::Front;
use super::catalogue::{Catalogue, Place, Target};
use super::fold::SELECTOR;
use super::rewrite::span;
use super::upstream::State;

/// How long a list waits for servers that are still starting.
const STARTING: Duration = Duration::from_secs(5);
/// How many entries a page of a list has.
const PAGE: usize = 1000;
/// How long clients may keep lists, in milliseconds.
const LIST_TTL_MS: u32 = 30_000;

type Answered = Result<Vec<Bytes>, RpcError>;

impl Gateway for Front {
    fn answer<'a>(&'a self, ask: Ask<'a>) -> Answering<'a> {
        Box::pin(self.answered(ask))
    }

    fn changes(&self) -> watch::Receiver<Generation> {
        self.generation.subscribe()
    }

    fn health(&self) -> (bool, String) {
        let mut servers = Map::new();
        let (mut is_ready, mut all) = (false, 0);
        for upstream in &self.upstreams {
            all += 1;
            let state = match upstream.state() {
                State::Starting => json!({"state": "starting"}),
                State::Up(lists) => {
                    is_ready = true;
                    json!({"state": "up", "tools": lists.tools.len()})
                }
                // The reason is for the log: it may name what is nobody's business.
                State::Down(..) => json!({"state": "down"}),
            };
            servers.insert(upstream.name.clone(), state);
        }
        (is_ready || all == 0, Value::Object(servers).to_string())
    }

    fn metrics(&self) -> String {
        self.manager.metrics().prometheus()
    }
}

impl Front {
    async fn answered(&self, ask: Ask<'_>) -> Answered {
        match &*ask.request.method {
            "tools/call" => self.call_tool(ask).await,
            "initialize" | "server/discover" => Ok(own(ask, self.introduction(&ask))),
            "ping" => Ok(own(ask, Map::new())),
            "tools/list" => self.list(ask, "tools", |catalogue| &catalogue.tools).await,
            "prompts/list" => self.list(ask, "prompts", |catalogue| &catalogue.prompts).await,
            "resources/list" => self.list(ask, "resources", |catalogue| &catalogue.resources).await,
            "resources/templates/list" => {
                self.list(ask, "resourceTemplates", |catalogue| &catalogue.templates).await
            }
            "prompts/get" => self.get_prompt(ask).await,
            "resources/read" => self.read_resource(ask).await,
            "completion/complete" => self.complete(ask).await,
            _ => Err(error::method_not_found(ask.revision.is_modern())),
        }
    }

    /// Says what the gateway is, whether or not its servers are there yet.
    fn introduction(&self, ask: &Ask<'_>) -> Map<String, Value> {
        let mut said = Map::new();
        if ask.revision.is_modern() {
            let versions: Vec<&str> = SUPPORTED.iter().map(|revision| revision.as_str()).collect();
            said.insert("supportedVersions".to_owned(), json!(versions));
            add_hint(&mut said, ask);
        } else {
            said.insert("protocolVersion".to_owned(), json!(ask.revision.as_str()));
            said.insert("serverInfo".to_owned(), info());
        }
        let changes = json!({"listChanged": true});
        // Those of collections never change; those of a server that is not there yet will.
        let may_change = self.upstreams.iter().any(|upstream| match upstream.state() {
            State::Up(lists) => lists.prompts_change,
            State::Starting | State::Down(..) => true,
        });
        let prompts = if may_change { changes.clone() } else { json!({}) };
        said.insert(
            "capabilities".to_owned(),
            json!({"tools": changes, "resources": changes, "prompts": prompts, "completions": {}}),
        );
        let names: Vec<&str> = self.upstreams.iter().map(|upstream| upstream.name.as_str()).collect();
        let mut instructions = format!(
            "Tools of several servers: {}. A name `server__tool` says whose it is; a tool that several share takes `{SELECTOR}`.",
            names.join(", ")
        );
        let catalogue = self.catalogue();
        if !catalogue.missing.is_empty() {
            let missing: Vec<&str> = catalogue.missing.iter().map(|(name, _)| name.as_str()).collect();
            instructions.push_str(&format!(" Not there at the moment: {}.", missing.join(", ")));
        }
        said.insert("instructions".to_owned(), json!(instructions));
        said
    }

    /// Waits until the servers that are starting are there or have had their time.
    async fn wait_for_all(&self) {
        let mut starting = self.starting.subscribe();
        // The sender lives as long as we do.
        let _ = tokio::time::timeout(STARTING, starting.wait_for(|count| *count == 0)).await;
    }

    async fn list(
        &self,
        ask: Ask<'_>,
        field: &str,
        entries: impl Fn(&Catalogue) -> &Vec<String>,
    ) -> Answered {
        self.wait_for_all().await;
        // From here on a change is one of what this host has seen.
        self.is_seen.store(true, Ordering::Release);
        let catalogue = self.catalogue();
        let entries = entries(&catalogue);
        let from = match ask.request.params.cursor {
            None => 0,
            Some(cursor) => string(cursor)
                .and_then(|cursor| cursor.parse::<usize>().ok())
                .filter(|from| *from > 0 && *from < entries.len())
                .ok_or_else(|| error::invalid_params("no such cursor: start again without one"))?,
        };
        let page: Vec<&str> = entries.iter().skip(from).take(PAGE).map(String::as_str).collect();
        let mut rest = Map::new();
        if from + page.len() < entries.len() {
            rest.insert("nextCursor".to_owned(), json!((from + page.len()).to_string()));
        }
        if ask.revision.is_modern() {
            rest.insert("resultType".to_owned(), json!("complete"));
            rest.insert("_meta".to_owned(), meta());
            add_hint(&mut rest, &ask);
        }
        let rest = Value::Object(rest).to_string();
        let rest = rest.get(1..rest.len() - 1).filter(|rest| !rest.is_empty());
        let comma = if rest.is_some() { "," } else { "" };
        // Each entry may be pretty-printed; a message is a line.
        let listed = page.join(",").replace(['\n', '\r'], " ");
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{"{field}":[{listed}]{comma}{}}}}}"#,
            ask.request.id,
            rest.unwrap_or_default()
        );
        Ok(vec![Bytes::from(message)])
    }

    /// Looks something up, and once more when all servers have had their time.
    async fn find<T>(&self, look: impl Fn(&Catalogue) -> Option<T>) -> Option<T> {
        if let Some(found) = look(&self.catalogue()) {
            return Some(found);
        }
        self.wait_for_all().await;
        look(&self.catalogue())
    }

    async fn call_tool(&self, ask: Ask<'_>) -> Answered {
        let params = &ask.request.params;
        let Some((raw, name)) = params.name.and_then(|raw| Some((raw, string(raw)?))) else {
            return Err(error::invalid_params("`name` must be a string"));
        };
        let Some(target) = self.find(|catalogue| catalogue.tool(&name).cloned()).await else {
            return Err(self.unknown("tool", &name));
        };
        let mut parts = Vec::new();
        let (server, own_name) = match target {
            Target::One { server, name } => (server, name),
            Target::Shared { servers, name } => match select(&ask, &servers) {
                Ok((server, part)) => {
                    parts.push(part);
                    (server, name)
                }
                Err(problem) => return Ok(failed(ask, &problem)),
            },
        };
        if own_name != name {
            parts.push((span(ask.message, raw.get()), json!(own_name).to_string()));
        }
        match self.forward(ask, &server, parts, Some(own_name)).await {
            Ok(pieces) => Ok(pieces),
            // What a server says stays an error; what happened on the way the model may act on.
            Err(error) if error.rpc_code().is_none() => {
                Ok(failed(ask, &format!("{server}: {error}. What to do: {}", error.next_step())))
            }
            Err(error) => Err(rpc(&error)),
        }
    }

    async fn get_prompt(&self, ask: Ask<'_>) -> Answered {
        let Some((raw, name)) = ask.request.params.name.and_then(|raw| Some((raw, string(raw)?))) else {
            return Err(error::invalid_params("`name` must be a string"));
        };
        match self.find(|catalogue| catalogue.prompt(&name).cloned()).await {
            Some(Target::One { server, name }) => {
                let parts = vec![(span(ask.message, raw.get()), json!(name).to_string())];
                self.forward(ask, &server, parts, Some(name)).await.map_err(|error| named(&server, &error))
            }
            _ => Err(self.unknown("prompt", &name)),
        }
    }

    async fn read_resource(&self, ask: Ask<'_>) -> Answered {
        let Some((raw, uri)) = ask.request.params.uri.and_then(|raw| Some((raw, string(raw)?))) else {
            return Err(error::invalid_params("`uri` must be a string"));
        };
        let (server, uri) = self.place(&ask, &uri).await?;
        let part = (span(ask.message, raw.get()), json!(uri).to_string());
        self.forward(ask, &server, vec![part], Some(uri)).await.map_err(|error| named(&server, &error))
    }

    async fn complete(&self, ask: Ask<'_>) -> Answered {
        let reference = ask.request.params.reference.members();
        if let Some(raw) = reference.get("uri") {
            let uri = string(raw).ok_or_else(|| error::invalid_params("`ref.uri` must be a string"))?;
            let (server, uri) = self.place(&ask, &uri).await?;
            let part = (span(ask.message, raw.get()), json!(uri).to_string());
            return self
                .forward(ask, &server, vec![part], None)
                .await
                .map_err(|error| named(&server, &error));
        }
        let Some((raw, name)) = reference.get("name").and_then(|raw| Some((raw, string(raw)?))) else {
            return Err(error::invalid_params("`ref` must name a prompt or a resource"));
        };
        match self.find(|catalogue| catalogue.prompt(&name).cloned()).await {
            Some(Target::One { server, name }) => {
                let parts = vec![(span(ask.message, raw.get()), json!(name).to_string())];
                self.forward(ask, &server, parts, None).await.map_err(|error| named(&server, &error))
            }
            _ => Err(self.unknown("prompt", &name)),
        }
    }

    /// Returns whose an address is, and what it is there.
    async fn place(&self, ask: &Ask<'_>, uri: &str) -> Result<(String, String), RpcError> {
        let look = |catalogue: &Catalogue| match catalogue.place(uri) {
            Place::Nowhere => None,
            place => Some(place),
        };
        match self.find(look).await {
            Some(Place::At { server, uri }) => Ok((server, uri)),
            Some(Place::Unclear(choices)) => {
                let sentence =
                    format!("several servers have this resource: ask for {}", choices.join(" or "));
                Err(error::invalid_params(sentence))
            }
            Some(Place::Nowhere) | None => Err(error::resource_not_found(ask.revision.is_modern(), uri)),
        }
    }

    /// Says that a name is unknown, and which servers might have it that are not there.
    fn unknown(&self, what: &str, name: &str) -> RpcError {
        let missing = &self.catalogue().missing;
        let missing: Vec<&str> = missing.iter().map(|(server, _)| server.as_str()).collect();
        // A name is the caller's text; it is not echoed at any length.
        let name: String = name.chars().take(64).collect();
        let mut sentence = format!("Unknown {what} `{name}`: call {what}s/list to see which exist");
        if !missing.is_empty() {
            sentence.push_str(&format!("; not there at the moment: {}", missing.join(", ")));
        }
        error::invalid_params(sentence)
    }

    /// Passes the message on with some parts replaced, under what it names then, and the answer back as it came.
    async fn forward(
        &self,
        ask: Ask<'_>,
        server: &str,
        parts: Vec<(Range<usize>, String)>,
        name: Option<String>,
    ) -> Result<Vec<Bytes>, Error> {
        let body = Bytes::copy_from_slice(ask.message.as_bytes());
        let call = Call::of_request(body, ask.message, ask.request).map_err(|refused| {
            let error = json!({"code": refused.error.code, "message": refused.error.message});
            Error::from_rpc(&error)
        })?;
        let call = if parts.is_empty() { call } else { call.with_parts(parts, name) };
        let answer = self.manager.forward(server, call).await.inspect_err(|error| {
            if let Some(upstream) = self.upstreams.iter().find(|upstream| upstream.name == server) {
                upstream.failed(error);
            }
        })?;
        Ok(answer.message.in_one_line().into_pieces())
    }
}

/// Returns the server that the arguments choose, and the part of the message that says so, which is for us alone.
fn select(ask: &Ask<'_>, servers: &[String]) -> Result<(String, (Range<usize>, String)), String> {
    let given = ask.request.params.arguments.members();
    let choices = || servers.iter().map(|server| format!("`{server}`")).collect::<Vec<_>>().join(", ");
    let mut selectors = given.0.iter().filter(|(name, _)| name == SELECTOR);
    let (Some((_, raw)), None) = (selectors.next(), selectors.next()) else {
        return Err(format!("`{SELECTOR}` is needed once: one of {}", choices()));
    };
    let chosen = string(*raw).filter(|chosen| servers.iter().any(|server| server == chosen));
    let Some(chosen) = chosen else { return Err(format!("`{SELECTOR}` must be one of {}", choices())) };
    let member = splice::member(ask.message, span(ask.message, raw.get()));
    Ok((chosen.into_owned(), (member, String::new())))
}

/// Returns a message with a result of the gateway's own.
fn own(ask: Ask<'_>, mut result: Map<String, Value>) -> Vec<Bytes> {
    if ask.revision.is_modern() {
        result.insert("resultType".to_owned(), json!("complete"));
        result.insert("_meta".to_owned(), meta());
    }
    let message =
        format!(r#"{{"jsonrpc":"2.0","id":{},"result":{}}}"#, ask.request.id, Value::Object(result));
    vec![Bytes::from(message)]
}

/// Returns the result of a tool that failed before its server had it.
fn failed(ask: Ask<'_>, sentence: &str) -> Vec<Bytes> {
    let mut result = Map::new();
    result.insert("isError".to_owned(), json!(true));
    result.insert("content".to_owned(), json!([{"type": "text", "text": sentence}]));
    own(ask, result)
}

fn info() -> Value {
    json!({"name": "wakashu_gateway", "title": "wakashu gateway", "version": env!("CARGO_PKG_VERSION")})
}

fn meta() -> Value {
    json!({"io.modelcontextprotocol/serverInfo": info()})
}

fn add_hint(result: &mut Map<String, Value>, ask: &Ask<'_>) {
    result.insert("ttlMs".to_owned(), json!(LIST_TTL_MS));
    result.insert("cacheScope".to_owned(), json!(if ask.is_guarded { "private" } else { "public" }));
}

/// Returns a failure as a host is told of it.
fn rpc(error: &Error) -> RpcError {
    let said = error.to_rpc();
    let number = said.get("code").and_then(Value::as_i64).and_then(|number| i32::try_from(number).ok());
    let message = said.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
    let data = said.get("data").map(ToString::to_string);
    RpcError { data, ..RpcError::new(200, number.unwrap_or(code::INTERNAL), message) }
}

/// The same, with the name of the server where it happened on the way to it.
fn named(server: &str, error: &Error) -> RpcError {
    let failed = rpc(error);
    if error.rpc_code().is_some() {
        return failed;
    }
    RpcError { message: format!("{server}: {}", failed.message).into(), ..failed }
}
