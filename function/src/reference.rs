//! The reference for the docs, written from what the program itself goes by: tools, arguments, errors.

use std::io::{self, Write};

use crate::fault::HANDLING;
use crate::mcp::prompts::PROMPTS;
use crate::served::snapshot::DEFAULT_TITLE;
use crate::tools::TOOLS;
use crate::tools::arguments::{Kind, Parameter};

pub use crate::config::write_markdown as write_settings_markdown;

/// Writes the tools, one per line.
pub fn write_tools(out: &mut impl Write) -> io::Result<()> {
    TOOLS.iter().try_for_each(|tool| writeln!(out, "{}\t{}", tool.name, tool.title))
}

/// A tool or a prompt as a collection shows it.
#[derive(Debug)]
pub struct Offer {
    /// The name programs call it by.
    pub name: &'static str,
    /// What people and models read.
    pub description: String,
    /// The names of its arguments.
    pub arguments: Vec<&'static str>,
}

/// Returns the tools of a collection with this title.
pub fn tools(title: &str) -> impl Iterator<Item = Offer> {
    TOOLS.iter().map(move |tool| Offer {
        name: tool.name,
        description: tool.description.replace("{title}", title),
        arguments: tool.arguments.parameters.iter().map(|parameter| parameter.name).collect(),
    })
}

/// Returns the prompts.
pub fn prompts() -> impl Iterator<Item = Offer> {
    PROMPTS.iter().map(|prompt| Offer {
        name: prompt.name,
        description: prompt.description.to_owned(),
        arguments: prompt.arguments.iter().map(|argument| argument.name).collect(),
    })
}

/// Writes the kinds of errors, one per line.
pub fn write_errors(out: &mut impl Write) -> io::Result<()> {
    HANDLING.iter().try_for_each(|row| writeln!(out, "{}\t{}\t{}", row.code, row.status, row.when))
}

/// Writes the table of errors for the docs.
pub fn write_errors_markdown(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "| code | when | HTTP view | MCP | log |")?;
    writeln!(out, "|---|---|--:|---|---|")?;
    HANDLING.iter().try_for_each(|row| {
        let level = row.level.as_str().to_lowercase();
        writeln!(out, "| `{}` | {} | {} | {} | {level} |", row.code, row.when, row.status, row.mcp_in_words())
    })
}

/// Writes a chapter for every tool, for the docs.
pub fn write_tools_markdown(out: &mut impl Write) -> io::Result<()> {
    for (at, tool) in TOOLS.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        writeln!(out, "## `{}`: {}\n", tool.name, tool.title)?;
        writeln!(out, "{}\n", tool.description.replace("{title}", DEFAULT_TITLE))?;
        let tags = tool.tags.join("、");
        writeln!(out, "Version {}, category `{}`, tags {tags}.", tool.version, tool.category)?;
        writeln!(out, "{}\n", availability(tool.needs_index(), tool.pictures))?;
        if tool.arguments.parameters.is_empty() {
            writeln!(out, "No arguments.\n")?;
        } else {
            writeln!(out, "| argument | values | default | meaning |")?;
            writeln!(out, "|---|---|---|---|")?;
            tool.arguments.parameters.iter().try_for_each(|parameter| write_parameter(out, parameter))?;
            writeln!(out)?;
        }
        writeln!(out, "```json")?;
        tool.examples.iter().try_for_each(|example| writeln!(out, "{example}"))?;
        writeln!(out, "```")?;
    }
    Ok(())
}

fn availability(needs_index: bool, pictures: bool) -> &'static str {
    match (needs_index, pictures) {
        (true, true) => "Needs an index. Answers with text and pictures.",
        (true, false) => "Needs an index. Answers with text and structured data.",
        (false, _) => "Answers also without an index, with text and structured data.",
    }
}

fn write_parameter(out: &mut impl Write, parameter: &Parameter) -> io::Result<()> {
    let values = match parameter.kind {
        Kind::Text { max_characters } => format!("text, at most {max_characters} characters"),
        Kind::Choice(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" or "),
        Kind::Rank | Kind::Integer { .. } => {
            let (minimum, maximum) = parameter.kind.bounds();
            format!("whole number, {minimum} to {maximum}")
        }
    };
    let default = match (parameter.default, parameter.required) {
        (Some(default), _) => format!("`{}`", default.trim_matches('"')),
        (None, true) => "required".to_owned(),
        (None, false) => String::new(),
    };
    writeln!(out, "| `{}` | {values} | {default} | {} |", parameter.name, parameter.description)
}
