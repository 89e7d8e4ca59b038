//! Typed helpers for Serena, a server for code, as of its version 2.1.
//!
//! Serena shows these tools when it is started with `--agent-interface tools`. Its tools answer in text, of which some is
//! JSON; both come back as a [`Value`]. Of the methods this grew from, `replaceRegex` is called `replace_content` now, and
//! the `think…` tools (`thinkAboutCollectedInformation`, `thinkAboutWhetherYouAreDone`) are gone: models think by
//! themselves.

use serde_json::{Value, json};

use crate::error::{Error, ErrorCode, Result};
use crate::manager::Manager;

/// Serena among the servers of a manager.
#[derive(Debug, Clone)]
pub struct Serena {
    manager: Manager,
    server: String,
}

impl Manager {
    /// Returns Serena: the server of that name, or the first that has its `find_symbol`.
    #[must_use]
    pub fn get_serena_tool(&self) -> Option<Serena> {
        let named = self.servers().into_iter().find(|name| &**name == "serena");
        let found = || self.tools().into_iter().find(|tool| tool.tool.name == "find_symbol")?.server;
        let server = named.or_else(found)?.to_string();
        Some(Serena { manager: self.clone(), server })
    }
}

impl Serena {
    /// Runs one of its tools.
    pub async fn call(&self, tool: &str, params: Value) -> Result<Value> {
        let result = self.manager.execute_tool(&format!("{}__{tool}", self.server), params).await;
        if let Some(error) = result.error {
            return Err(error);
        }
        let data = result.data.unwrap_or_default();
        let text = data.pointer("/structuredContent/result").or_else(|| data.pointer("/content/0/text"));
        let text = text.and_then(Value::as_str);
        let text =
            text.ok_or_else(|| Error::new(ErrorCode::ExecutionFailed, "Serena answered without text"))?;
        Ok(serde_json::from_str(text).unwrap_or_else(|_| json!(text)))
    }

    /// Finds symbols by a name path such as `Class/method`; in all of the project if `path` is empty.
    pub async fn find_symbol(&self, name: &str, path: &str, include_body: bool) -> Result<Value> {
        let params = json!({"name_path_pattern": name, "relative_path": path, "include_body": include_body});
        self.call("find_symbol", params).await
    }

    /// Returns the symbols of a file.
    pub async fn get_symbols_overview(&self, path: &str) -> Result<Value> {
        self.call("get_symbols_overview", json!({"relative_path": path})).await
    }

    /// Replaces the body of a symbol.
    pub async fn replace_symbol_body(&self, path: &str, symbol: &str, body: &str) -> Result<Value> {
        self.call("replace_symbol_body", json!({"relative_path": path, "name_path": symbol, "body": body}))
            .await
    }

    /// Inserts text before a symbol.
    pub async fn insert_before_symbol(&self, path: &str, symbol: &str, body: &str) -> Result<Value> {
        self.call("insert_before_symbol", json!({"relative_path": path, "name_path": symbol, "body": body}))
            .await
    }

    /// Inserts text after a symbol.
    pub async fn insert_after_symbol(&self, path: &str, symbol: &str, body: &str) -> Result<Value> {
        self.call("insert_after_symbol", json!({"relative_path": path, "name_path": symbol, "body": body}))
            .await
    }

    /// Searches all files for a regular expression.
    pub async fn search_for_pattern(&self, pattern: &str) -> Result<Value> {
        self.call("search_for_pattern", json!({"substring_pattern": pattern})).await
    }

    /// Replaces what a regular expression matches in a file, everywhere if `all`.
    pub async fn replace_content(&self, path: &str, regex: &str, with: &str, all: bool) -> Result<Value> {
        let params = json!({"relative_path": path, "needle": regex, "repl": with, "mode": "regex",
            "allow_multiple_occurrences": all});
        self.call("replace_content", params).await
    }

    /// Finds files by a mask such as `*.rs`.
    pub async fn find_file(&self, mask: &str) -> Result<Value> {
        self.call("find_file", json!({"file_mask": mask, "relative_path": "."})).await
    }

    /// Lists a folder.
    pub async fn list_dir(&self, path: &str) -> Result<Value> {
        self.call("list_dir", json!({"relative_path": path, "recursive": false})).await
    }

    /// Reads a memory.
    pub async fn read_memory(&self, name: &str) -> Result<Value> {
        self.call("read_memory", json!({"memory_name": name})).await
    }

    /// Writes a memory.
    pub async fn write_memory(&self, name: &str, content: &str) -> Result<Value> {
        self.call("write_memory", json!({"memory_name": name, "content": content})).await
    }

    /// Finds what refers to a symbol of a file.
    pub async fn find_referencing_symbols(&self, path: &str, symbol: &str) -> Result<Value> {
        self.call("find_referencing_symbols", json!({"relative_path": path, "name_path": symbol})).await
    }
}
