//! A tool as this view shows it.

use crate::exchange::Exchange;
use crate::text::schema::Dialect;
use crate::text::{Answer, field};
use crate::tools::Tool;
use crate::tools::arguments::{Kind, Parameter};

/// Who wrote the tools.
const AUTHOR: &str = "wakashu";

/// Writes the fields that a list shows of a tool.
fn write_summary(out: &mut Answer, tool: &Tool, x: &Exchange<'_>) {
    field!(out, "name").string(tool.name);
    field!(out, "title").string(tool.title);
    field!(out, "description").string(&description(tool, x));
    field!(out, "version").string(tool.version);
    field!(out, "category").string(tool.category);
    field!(out, "tags").strings(tool.tags);
    field!(out, "author").string(AUTHOR);
    let unavailable = tool.unavailable(x);
    field!(out, "enabled").boolean(unavailable.is_none());
    if let Some(reason) = unavailable {
        field!(out, "reason").object(|out| {
            field!(out, "code").string(reason.code());
            field!(out, "message").string(&reason.sentence(&x.id));
        });
    }
    field!(out, "registeredAt").string(&x.core.started_at.to_string());
}

/// Writes a tool as a list shows it.
pub(super) fn write_listed(out: &mut Answer, tool: &Tool, x: &Exchange<'_>) {
    out.object(|out| write_summary(out, tool, x));
}

/// Writes everything the registry knows of a tool.
pub(super) fn write_whole(out: &mut Answer, tool: &Tool, x: &Exchange<'_>) {
    out.object(|out| {
        write_summary(out, tool, x);
        field!(out, "examples").array(tool.examples, |out, example| {
            out.value(example);
        });
        tool.write_input_schema(field!(out, "inputSchema"));
        tool.data.write(field!(out, "dataSchema"), Dialect::JsonSchema);
        field!(out, "parameters").array(tool.arguments.parameters, write_parameter);
    });
}

/// Returns a tool's description, with the collection's title in it.
pub(super) fn description(tool: &Tool, x: &Exchange<'_>) -> String {
    tool.description.replace("{title}", x.served.title())
}

fn write_parameter(out: &mut Answer, parameter: &Parameter) {
    out.object(|out| {
        field!(out, "name").string(parameter.name);
        field!(out, "type").string(parameter.kind.type_name());
        field!(out, "description").string(parameter.description);
        field!(out, "required").boolean(parameter.required);
        if let Some(default) = parameter.default {
            field!(out, "default").value(default);
        }
        match parameter.kind {
            Kind::Text { max_characters } => {
                field!(out, "maxLength").number(max_characters as u64);
            }
            Kind::Choice(words) => {
                field!(out, "enum").strings(words);
            }
            Kind::Rank | Kind::Integer { .. } => {
                let (minimum, maximum) = parameter.kind.bounds();
                field!(out, "minimum").number(minimum);
                field!(out, "maximum").number(maximum);
            }
        }
        if let Some(pattern) = parameter.pattern {
            field!(out, "pattern").string(pattern);
        }
    });
}
