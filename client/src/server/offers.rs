//! What a server offers: its tools, prompts and resources, asked for and kept for a while.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::Server;
use crate::cache::Key;
use crate::error::{Error, ErrorCode, Result};
use crate::link::MAX_MESSAGE_BYTES;
use crate::metrics::Counter;
use crate::policy::Repeat;

/// The most pages of one list.
const MAX_PAGES: usize = 1000;

/// A tool as a server lists it.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The version of its server, as tools have none of their own.
    pub version: String,
    /// What it takes.
    pub input_schema: Value,
    /// What it gives.
    pub output_schema: Option<Value>,
    /// The whole definition.
    pub definition: Value,
}

impl Tool {
    fn read(definition: Value, version: &str) -> Option<Self> {
        let text = |name: &str| definition.get(name).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            name: text("name")?,
            description: text("description").unwrap_or_default(),
            version: version.to_owned(),
            input_schema: definition.get("inputSchema").cloned().unwrap_or_else(|| json!({"type": "object"})),
            output_schema: definition.get("outputSchema").cloned(),
            definition,
        })
    }
}

impl Server {
    /// Tells whether a tool may be run twice: if it says that it only reads, and is believed.
    pub(super) async fn repeat_of_tool(self: &Arc<Self>, name: &str) -> Result<Repeat> {
        if !self.treatment.trusted {
            return Ok(Repeat::Unsafe);
        }
        let list = self.list("tools/list", "tools").await?;
        let tool = entries(&list).iter().find(|tool| tool.get("name").and_then(Value::as_str) == Some(name));
        let reads =
            tool.and_then(|tool| tool.pointer("/annotations/readOnlyHint")) == Some(&Value::Bool(true));
        Ok(if reads { Repeat::Safe } else { Repeat::Unsafe })
    }

    /// Returns a result from the cache, or asks for it.
    async fn cached<F>(self: &Arc<Self>, method: &'static str, params: String, fetch: F) -> Result<Arc<Value>>
    where
        F: Future<Output = Result<(Value, usize)>>,
    {
        let (cache, metrics) = (&self.treatment.cache, &self.treatment.metrics);
        let key = Key {
            server: Arc::clone(&self.name),
            authorisation: self.treatment.authorisation,
            method,
            params,
        };
        if let Some(kept) = cache.get(&key) {
            metrics.count(Counter::CacheHits, &self.name);
            return Ok(kept);
        }
        metrics.count(Counter::CacheMisses, &self.name);
        let epoch = cache.epoch(&self.name);
        let (value, bytes) = fetch.await?;
        let value = Arc::new(value);
        cache.put(key, Arc::clone(&value), bytes, epoch);
        Ok(value)
    }

    /// Returns all entries of a list, page by page. If a page is refused because the list changed meanwhile, it is read
    /// once more from its beginning.
    async fn list(self: &Arc<Self>, method: &'static str, field: &'static str) -> Result<Arc<Value>> {
        self.cached(method, String::new(), async {
            match self.pages(method, field).await {
                Err(Broken { error, at_first: false }) if error.code == ErrorCode::InvalidParams => {
                    self.pages(method, field).await.map_err(|broken| broken.error)
                }
                read => read.map_err(|broken| broken.error),
            }
        })
        .await
    }

    async fn pages(
        self: &Arc<Self>,
        method: &'static str,
        field: &'static str,
    ) -> Result<(Value, usize), Broken> {
        let (mut entries, mut bytes, mut ttl) = (Vec::new(), 0, None);
        let mut cursor: Option<Value> = None;
        for page in 0..MAX_PAGES {
            let broken = |error| Broken { error, at_first: page == 0 };
            let mut params = Map::new();
            if let Some(cursor) = &cursor {
                params.insert("cursor".to_owned(), cursor.clone());
            }
            let (mut result, size) = self.request_as(method, params, Repeat::Safe).await.map_err(broken)?;
            bytes += size;
            if bytes > MAX_MESSAGE_BYTES {
                let sentence = format!("the list `{method}` has more than {MAX_MESSAGE_BYTES} bytes");
                return Err(broken(Error::new(ErrorCode::InvalidRequest, sentence)));
            }
            if let Some(stated) = result.get("ttlMs").and_then(Value::as_u64) {
                ttl = Some(ttl.map_or(stated, |ttl: u64| ttl.min(stated)));
            }
            let Some(Value::Array(more)) = result.get_mut(field).map(Value::take) else {
                let sentence = format!("the answer to `{method}` has no list `{field}`");
                return Err(broken(Error::new(ErrorCode::InvalidRequest, sentence)));
            };
            entries.extend(more);
            let next = result.get_mut("nextCursor").map(Value::take).filter(|next| !next.is_null());
            if next.is_none() {
                let list = match ttl {
                    Some(ttl) => json!({"entries": entries, "ttlMs": ttl}),
                    None => json!({"entries": entries}),
                };
                return Ok((list, bytes));
            }
            if next == cursor {
                let sentence = format!("the server lists the same page of `{method}` without end");
                return Err(broken(Error::new(ErrorCode::InvalidRequest, sentence)));
            }
            cursor = next;
        }
        let sentence = format!("the list `{method}` has more than {MAX_PAGES} pages");
        Err(Broken { error: Error::new(ErrorCode::InvalidRequest, sentence), at_first: false })
    }

    /// Tells whether the server says that it can do something.
    async fn can(self: &Arc<Self>, what: &str) -> Result<bool> {
        Ok(self.connect().await?.capabilities.get(what).is_some())
    }

    /// Returns its tools.
    pub async fn list_tools(self: &Arc<Self>) -> Result<Vec<Tool>> {
        let agreed = self.connect().await?;
        if agreed.capabilities.get("tools").is_none() {
            return Ok(Vec::new());
        }
        let version = agreed.info.get("version").and_then(Value::as_str).unwrap_or_default();
        let list = self.list("tools/list", "tools").await?;
        Ok(entries(&list).iter().filter_map(|definition| Tool::read(definition.clone(), version)).collect())
    }

    /// Returns one of its tools.
    pub async fn get_tool(self: &Arc<Self>, name: &str) -> Result<Option<Tool>> {
        Ok(self.list_tools().await?.into_iter().find(|tool| tool.name == name))
    }

    /// Runs a tool and returns what it gives: `content`, and whatever else there is.
    pub async fn execute_tool(self: &Arc<Self>, name: &str, arguments: &Value) -> Result<Value> {
        let repeat = self.repeat_of_tool(name).await?;
        let mut params = Map::new();
        params.insert("name".to_owned(), json!(name));
        params
            .insert("arguments".to_owned(), if arguments.is_null() { json!({}) } else { arguments.clone() });
        let (result, _) = self.request_as("tools/call", params, repeat).await?;
        complete(result)
    }

    /// Returns its prompts.
    pub async fn list_prompts(self: &Arc<Self>) -> Result<Vec<Value>> {
        if !self.can("prompts").await? {
            return Ok(Vec::new());
        }
        Ok(entries(&*self.list("prompts/list", "prompts").await?).to_vec())
    }

    /// Returns the messages of a prompt.
    pub async fn get_prompt(self: &Arc<Self>, name: &str, arguments: &Map<String, Value>) -> Result<Value> {
        let mut params = Map::new();
        params.insert("name".to_owned(), json!(name));
        params.insert("arguments".to_owned(), Value::Object(arguments.clone()));
        complete(self.request("prompts/get", params).await?)
    }

    /// Returns a prompt as one text.
    pub async fn execute_prompt(
        self: &Arc<Self>,
        name: &str,
        arguments: &Map<String, Value>,
    ) -> Result<String> {
        let prompt = self.get_prompt(name, arguments).await?;
        let messages =
            prompt.get("messages").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let texts = messages.iter().filter_map(|message| message.pointer("/content/text")?.as_str());
        Ok(texts.collect::<Vec<_>>().join("\n\n"))
    }

    /// Returns its resources.
    pub async fn list_resources(self: &Arc<Self>) -> Result<Vec<Value>> {
        if !self.can("resources").await? {
            return Ok(Vec::new());
        }
        Ok(entries(&*self.list("resources/list", "resources").await?).to_vec())
    }

    /// Returns the templates of its resources.
    pub async fn list_resource_templates(self: &Arc<Self>) -> Result<Vec<Value>> {
        if !self.can("resources").await? {
            return Ok(Vec::new());
        }
        match self.list("resources/templates/list", "resourceTemplates").await {
            Ok(list) => Ok(entries(&list).to_vec()),
            Err(error) if error.code == ErrorCode::MethodNotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Returns what is in a resource.
    pub async fn read_resource(self: &Arc<Self>, uri: &str) -> Result<Value> {
        let mut params = Map::new();
        params.insert("uri".to_owned(), json!(uri));
        let read = async {
            let read = self.request_as("resources/read", params, Repeat::Safe).await;
            // In the modern era a missing resource is a parameter that does not fit.
            let (read, bytes) = read.map_err(|error| match error.code {
                ErrorCode::InvalidParams => Error { code: ErrorCode::ResourceNotFound, ..error },
                _ => error,
            })?;
            Ok((complete(read)?, bytes))
        };
        let read = self.cached("resources/read", uri.to_owned(), read).await?;
        Ok(Arc::unwrap_or_clone(read))
    }

    /// Completes an argument of a prompt or of a template: `reference` is `{"type": "ref/prompt", "name": …}` or
    /// `{"type": "ref/resource", "uri": …}`.
    pub async fn complete(
        self: &Arc<Self>,
        reference: Value,
        name: &str,
        value: &str,
    ) -> Result<Vec<String>> {
        let mut params = Map::new();
        params.insert("ref".to_owned(), reference);
        params.insert("argument".to_owned(), json!({"name": name, "value": value}));
        let result = self.request("completion/complete", params).await?;
        let values = result.pointer("/completion/values").and_then(Value::as_array);
        let values = values.into_iter().flatten().filter_map(Value::as_str);
        Ok(values.map(str::to_owned).collect())
    }
}

/// A list that could not be read, and whether its first page was the reason.
struct Broken {
    error: Error,
    at_first: bool,
}

/// Refuses a result that is a question: we declare nothing that would let a server ask one.
fn complete(result: Value) -> Result<Value> {
    match result.get("resultType").and_then(Value::as_str) {
        None | Some("complete") => Ok(result),
        Some(kind) => {
            let sentence = format!("the server answers with `{kind}`, which was not offered to it");
            Err(Error::new(ErrorCode::ExecutionFailed, sentence).with_details(result))
        }
    }
}

fn entries(list: &Value) -> &[Value] {
    list.get("entries").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
