//! A tool as this view shows it.

use crate::exchange::Exchange;
use crate::text::Answer;
use crate::tools::{Kind, Parameter, Tool};

/// Who wrote the tools.
const AUTHOR: &str = "wakashu";

/// Writes what a list shows of a tool, without the closing brace.
fn write_summary(out: &mut Answer, tool: &Tool, x: &Exchange<'_>) {
    out.raw(r#"{"name":"#).string(tool.name).raw(r#","title":"#).string(tool.title);
    out.raw(r#","description":"#).string(&description(tool, x));
    out.raw(r#","version":"#).string(tool.version).raw(r#","category":"#).string(tool.category);
    out.raw(r#","tags":["#);
    write_strings(out, tool.tags);
    out.raw(r#"],"author":"#).string(AUTHOR);
    match tool.unavailable(x) {
        None => {
            out.raw(r#","enabled":true"#);
        }
        Some(reason) => {
            out.raw(r#","enabled":false,"reason":{"code":"#).string(reason.code());
            out.raw(r#","message":"#).string(&reason.sentence(&x.id)).raw("}");
        }
    }
    out.raw(r#","registeredAt":"#).string(&x.core.started_at.to_string());
}

/// Writes a tool as a list shows it.
pub(super) fn write_listed(out: &mut Answer, tool: &Tool, x: &Exchange<'_>) {
    write_summary(out, tool, x);
    out.raw("}");
}

/// Writes everything the registry knows of a tool.
pub(super) fn write_whole(out: &mut Answer, tool: &Tool, x: &Exchange<'_>) {
    write_summary(out, tool, x);
    out.raw(r#","examples":["#).raw(&tool.examples.join(",")).raw(r#"],"inputSchema":"#);
    tool.write_input_schema(out);
    out.raw(r#","dataSchema":"#).raw(tool.data_schema).raw(r#","parameters":["#);
    for (at, parameter) in tool.parameters.iter().enumerate() {
        out.raw(if at == 0 { "" } else { "," });
        write_parameter(out, parameter);
    }
    out.raw("]}");
}

/// Returns a tool's description, with the collection's title in it.
pub(super) fn description(tool: &Tool, x: &Exchange<'_>) -> String {
    tool.description.replace("{title}", x.served.title())
}

fn write_parameter(out: &mut Answer, parameter: &Parameter) {
    let kind = match parameter.kind {
        Kind::Text { .. } | Kind::Choice(_) => "string",
        Kind::Rank | Kind::Integer { .. } => "integer",
    };
    out.raw(r#"{"name":"#).string(parameter.name).raw(r#","type":"#).string(kind);
    out.raw(r#","description":"#).string(parameter.description);
    out.raw(r#","required":"#).raw(if parameter.required { "true" } else { "false" });
    if let Some(default) = parameter.default {
        out.raw(r#","default":"#).raw(default);
    }
    match parameter.kind {
        Kind::Text { max_characters } => {
            out.raw(r#","maxLength":"#).number(max_characters as u64);
        }
        Kind::Choice(words) => {
            out.raw(r#","enum":["#);
            write_strings(out, words);
            out.raw("]");
        }
        Kind::Rank | Kind::Integer { .. } => {
            let (minimum, maximum) = parameter.kind.bounds();
            out.raw(r#","minimum":"#).number(minimum).raw(r#","maximum":"#).number(maximum);
        }
    }
    if let Some(pattern) = parameter.pattern {
        out.raw(r#","pattern":"#).string(pattern);
    }
    out.raw("}");
}

fn write_strings(out: &mut Answer, texts: &[&str]) {
    for (at, text) in texts.iter().enumerate() {
        out.raw(if at == 0 { "" } else { "," }).string(text);
    }
}
