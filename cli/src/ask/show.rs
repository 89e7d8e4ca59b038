//! Answers as people read them.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use wakashu_client::Manager;
use wakashu_client::server::{Agreed, Server};

use super::Ask;

/// What a server has.
pub(super) struct Offer {
    agreed: Arc<Agreed>,
    tools: Vec<Value>,
    prompts: Vec<Value>,
    resources: Vec<Value>,
    templates: Vec<Value>,
}

impl Offer {
    pub(super) async fn read(manager: &Manager, server: &Arc<Server>) -> anyhow::Result<Self> {
        Ok(Self {
            agreed: server.connect().await?,
            tools: manager.tools().into_iter().map(|tool| tool.tool.definition).collect(),
            prompts: server.list_prompts().await?,
            resources: server.list_resources().await?,
            templates: server.list_resource_templates().await?,
        })
    }

    pub(super) fn to_json(&self) -> Value {
        json!({"server": self.agreed.info, "protocolVersion": self.agreed.revision.as_str(),
            "instructions": self.agreed.instructions, "tools": self.tools, "prompts": self.prompts,
            "resources": self.resources, "resourceTemplates": self.templates})
    }

    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let info = |name: &str| self.agreed.info.get(name).and_then(Value::as_str).unwrap_or("?");
        writeln!(out, "{} {}, revision {}", info("name"), info("version"), self.agreed.revision.as_str())?;
        if let Some(instructions) = &self.agreed.instructions {
            writeln!(out, "{}", printable(instructions))?;
        }
        if !self.tools.is_empty() {
            writeln!(out, "\ntools")?;
        }
        for tool in &self.tools {
            entry(out, text(tool, "name"), first_line(text(tool, "description")))?;
            for parameter in parameters(tool.get("inputSchema").unwrap_or(&Value::Null)) {
                writeln!(out, "  {parameter}")?;
            }
        }
        if !self.prompts.is_empty() {
            writeln!(out, "\nprompts")?;
        }
        for prompt in &self.prompts {
            entry(out, text(prompt, "name"), first_line(text(prompt, "description")))?;
            for argument in prompt.get("arguments").and_then(Value::as_array).into_iter().flatten() {
                let needed =
                    if argument.get("required") == Some(&Value::Bool(true)) { " (needed)" } else { "" };
                let what = printable(first_line(text(argument, "description")));
                writeln!(out, "    {}=…{needed}  {what}", printable(text(argument, "name")))?;
            }
        }
        if self.resources.len() + self.templates.len() > 0 {
            writeln!(out, "\nresources")?;
        }
        for resource in self.resources.iter().chain(&self.templates) {
            let uri = resource.get("uri").or_else(|| resource.get("uriTemplate")).and_then(Value::as_str);
            let title =
                [text(resource, "title"), text(resource, "name")].into_iter().find(|title| !title.is_empty());
            entry(out, uri.unwrap_or_default(), title.unwrap_or_default())?;
        }
        Ok(())
    }
}

/// Returns a line for each of a tool's parameters.
pub(super) fn parameters(schema: &Value) -> Vec<String> {
    let required = schema.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let properties = schema.get("properties").and_then(Value::as_object);
    let lines = properties.into_iter().flatten().map(|(name, property)| {
        let kind = match property.get("type") {
            Some(Value::String(kind)) => kind.clone(),
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("|"),
            _ => "any".to_owned(),
        };
        let kind = match property.get("enum").and_then(Value::as_array) {
            Some(values) => values.iter().map(plain).collect::<Vec<_>>().join("|"),
            None => kind,
        };
        let mut line = format!("  {}={}", printable(name), printable(&kind));
        if required.iter().any(|required| required == name) {
            line.push_str(" (needed)");
        } else if let Some(default) = property.get("default") {
            let _ = write!(line, " [{}]", printable(&plain(default)));
        }
        let _ = write!(line, "  {}", printable(first_line(text(property, "description"))));
        line.trim_end().to_owned()
    });
    lines.collect()
}

/// Shows what a tool gave.
pub(super) fn result(ask: &Ask, tool: &str, result: &Value, out: &mut impl Write) -> anyhow::Result<()> {
    if ask.json {
        return Ok(writeln!(out, "{result}")?);
    }
    let blocks = result.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut files = Files { folder: ask.save.as_deref(), stem: tool, count: 0 };
    for block in blocks {
        content(block, &mut files, out)?;
    }
    if let Some(structured) = result.get("structuredContent").filter(|_| blocks.is_empty()) {
        writeln!(out, "{}", serde_json::to_string_pretty(structured)?)?;
    }
    Ok(())
}

/// Shows the messages of a prompt.
pub(super) fn prompt(ask: &Ask, result: &Value, out: &mut impl Write) -> anyhow::Result<()> {
    if ask.json {
        return Ok(writeln!(out, "{result}")?);
    }
    let mut files = Files { folder: ask.save.as_deref(), stem: "prompt", count: 0 };
    for message in result.get("messages").and_then(Value::as_array).into_iter().flatten() {
        writeln!(out, "{}:", printable(text(message, "role")))?;
        content(message.get("content").unwrap_or(&Value::Null), &mut files, out)?;
    }
    Ok(())
}

/// Shows what is in a resource.
pub(super) fn resource(ask: &Ask, result: &Value, out: &mut impl Write) -> anyhow::Result<()> {
    if ask.json {
        return Ok(writeln!(out, "{result}")?);
    }
    let mut files = Files { folder: ask.save.as_deref(), stem: "resource", count: 0 };
    for contents in result.get("contents").and_then(Value::as_array).into_iter().flatten() {
        embedded(contents, &mut files, out)?;
    }
    Ok(())
}

/// Where pictures and other files go.
struct Files<'a> {
    folder: Option<&'a Path>,
    stem: &'a str,
    count: usize,
}

impl Files<'_> {
    fn show(&mut self, media: &str, data: &str, out: &mut impl Write) -> anyhow::Result<()> {
        self.count += 1;
        let bytes =
            STANDARD.decode(data).map_err(|error| anyhow::anyhow!("a file is not Base64: {error}"))?;
        let Some(folder) = self.folder else {
            let (number, media) = (self.count, printable(media));
            writeln!(out, "[{number}: {media}, {} bytes; `--save DIR` keeps it]", bytes.len())?;
            return Ok(());
        };
        std::fs::create_dir_all(folder)?;
        // Neither the server nor the name it was asked by may lead out of the folder.
        let stem: String = self
            .stem
            .chars()
            .map(|letter| if letter.is_alphanumeric() || letter == '_' { letter } else { '-' })
            .collect();
        let extension = match media {
            "image/jpeg" => "jpg",
            "text/plain" => "txt",
            _ => media.rsplit(['/', '+']).next().unwrap_or_default(),
        };
        let is_usual = !extension.is_empty() && extension.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let path = folder.join(format!("{stem}-{}.{}", self.count, if is_usual { extension } else { "bin" }));
        std::fs::write(&path, &bytes)?;
        writeln!(out, "{}", path.display())?;
        Ok(())
    }
}

fn content(block: &Value, files: &mut Files<'_>, out: &mut impl Write) -> anyhow::Result<()> {
    match text(block, "type") {
        "text" => writeln!(out, "{}", printable(text(block, "text")))?,
        "image" | "audio" => files.show(text(block, "mimeType"), text(block, "data"), out)?,
        "resource_link" => entry(out, text(block, "uri"), text(block, "name"))?,
        "resource" => embedded(block.get("resource").unwrap_or(&Value::Null), files, out)?,
        _ => writeln!(out, "{block}")?,
    }
    Ok(())
}

fn embedded(contents: &Value, files: &mut Files<'_>, out: &mut impl Write) -> anyhow::Result<()> {
    match contents.get("blob").and_then(Value::as_str) {
        Some(blob) => files.show(text(contents, "mimeType"), blob, out),
        None => Ok(writeln!(out, "{}", printable(text(contents, "text")))?),
    }
}

fn entry(out: &mut impl Write, name: &str, what: &str) -> io::Result<()> {
    writeln!(out, "{}", format!("  {}  {}", printable(name), printable(what)).trim_end())
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}

/// Returns a server's text without what could steer a terminal.
fn printable(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control() || matches!(letter, '\n' | '\t')).collect()
}
