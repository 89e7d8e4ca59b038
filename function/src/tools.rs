//! The registry: the one place tools live.
//!
//! A tool is one file and one row of [`TOOLS`]. Its input schema, the reading of its arguments, its entry in
//! `tools/list`, its page in the HTTP view and its chapter in the reference all come from that.

pub(crate) mod arguments;
mod get_poem;
mod get_wakashu_ranking;
mod index_status;
mod list_rounds;
pub(crate) mod ranks;
pub(crate) mod rounds;
mod search_poems;

pub(crate) use crate::entries::Form;
pub(crate) use list_rounds::write_round as list_rounds_row;

use std::future::Future;
use std::pin::Pin;

use wakashu_wire::Members;

use crate::exchange::{Exchange, Scope};
use crate::fault::ToolError;
use crate::served::reading::Reading;
use crate::served::snapshot::Snapshot;
use crate::served::uri;
use crate::text::schema::{Dialect, Schema};
use crate::text::{Answer, field};
use crate::tools::arguments::{Kind, Parameter, Table};

/// A tool.
#[derive(Debug)]
pub(crate) struct Tool {
    /// The name clients call it by.
    pub name: &'static str,
    /// What people see, in Japanese.
    pub title: &'static str,
    /// What the model reads; `{title}` stands for the collection's own title.
    pub description: &'static str,
    /// Version of the tool's contract.
    pub version: &'static str,
    /// What it is about.
    pub category: &'static str,
    /// Words to find it by.
    pub tags: &'static [&'static str],
    /// Argument objects that work, as JSON.
    pub examples: &'static [&'static str],
    /// What a token must be good for.
    pub needs: Scope,
    /// What it is given.
    pub arguments: Table,
    /// Whether its answers carry pictures. Those have no structured part: several clients then drop the pictures.
    pub pictures: bool,
    /// Whether hosts that show views show its answers in ours.
    pub has_view: bool,
    /// The shape of the data: of the structured part where there is one, else of what the HTTP view calls raw.
    pub data: Schema,
    run: Run,
}

/// What a tool does: it reads its arguments and writes the form that was asked for.
#[derive(Debug)]
enum Run {
    /// With or without an index.
    Always(for<'a> fn(Call<'a>, &'a mut Answer) -> Work<'a>),
    /// From an index, and not without one.
    FromIndex(for<'a> fn(Call<'a>, &'a Reading, &'a mut Answer) -> Work<'a>),
}

/// A tool at work.
pub(crate) type Work<'a> = Pin<Box<dyn Future<Output = Result<(), ToolError>> + Send + 'a>>;

/// One call of a tool, with everything it may look at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call<'a> {
    /// The archive's state when the request came in; one call sees one archive.
    pub snapshot: &'a Snapshot,
    /// The arguments, as they were given.
    pub given: &'a Members<'a>,
    /// Where pictures can be had over HTTP, without a slash at the end; unknown on stdio.
    pub picture_base: Option<&'a str>,
    /// What to write.
    pub form: Form,
}

impl Call<'_> {
    /// Writes a text for readers and the same as data, in the form that was asked for.
    fn write(&self, out: &mut Answer, text: &str, data: impl FnOnce(&mut Answer)) {
        if self.form == Form::Result {
            field!(out, "content").array([text], write_text_block);
            field!(out, "structuredContent");
        }
        out.object(data);
    }
}

/// Writes a text as a block of an answer's content.
pub(crate) fn write_text_block(out: &mut Answer, text: &str) {
    out.object(|out| {
        field!(out, "type": "text");
        field!(out, "text").string(text);
    });
}

/// All tools, in the order they are listed. The one without arguments comes first.
pub(crate) static TOOLS: &[&Tool] = &[
    &index_status::TOOL,
    &list_rounds::TOOL,
    &get_wakashu_ranking::TOOL,
    &get_poem::TOOL,
    &search_poems::TOOL,
];

/// Finds a tool by name.
#[must_use]
pub(crate) fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().copied().find(|tool| tool.name == name)
}

impl Tool {
    /// Tells whether the tool answers only while an index is loaded.
    pub(crate) fn needs_index(&self) -> bool {
        matches!(self.run, Run::FromIndex(_))
    }

    /// Tells why the tool cannot be called now, if it cannot.
    pub(crate) fn unavailable(&self, x: &Exchange<'_>) -> Option<ToolError> {
        if x.core.state.is_off(self.name) {
            return Some(ToolError::ToolDisabled);
        }
        (self.needs_index() && x.index().is_none()).then(|| without_index(x))
    }

    /// Calls the tool: the one way, for every view. It writes what `form` says into `out`.
    pub(crate) async fn call(
        &self,
        x: &Exchange<'_>,
        given: &Members<'_>,
        form: Form,
        out: &mut Answer,
    ) -> Result<(), ToolError> {
        if !x.scope.covers(self.needs) {
            return Err(ToolError::Authorization);
        }
        if x.core.state.is_off(self.name) {
            return Err(ToolError::ToolDisabled);
        }
        let call = Call { snapshot: &x.served, given, picture_base: x.base(), form };
        match self.run {
            Run::Always(run) => run(call, out).await,
            Run::FromIndex(run) => run(call, x.index().ok_or_else(|| without_index(x))?, out).await,
        }
    }

    /// Writes the tool as `tools/list` shows it.
    pub(crate) fn write_listing(&self, out: &mut Answer, collection_title: &str) {
        out.object(|out| {
            field!(out, "name").string(self.name);
            field!(out, "title").string(self.title);
            field!(out, "description").string(&self.description.replace("{title}", collection_title));
            self.write_input_schema(field!(out, "inputSchema"));
            if !self.pictures {
                self.data.write(field!(out, "outputSchema"), Dialect::JsonSchema);
            }
            field!(out, "annotations").object(|out| {
                field!(out, "title").string(self.title);
                field!(out, "readOnlyHint").boolean(true);
                field!(out, "destructiveHint").boolean(false);
                field!(out, "idempotentHint").boolean(true);
                field!(out, "openWorldHint").boolean(false);
            });
            if self.has_view {
                write_view(out);
            }
        });
    }

    /// Writes the JSON Schema of the arguments.
    pub(crate) fn write_input_schema(&self, out: &mut Answer) {
        let parameters = self.arguments.parameters;
        out.object(|out| {
            field!(out, "type": "object");
            field!(out, "additionalProperties").boolean(false);
            let mut required = parameters.iter().filter(|parameter| parameter.required).peekable();
            if required.peek().is_some() {
                field!(out, "required").strings(required.map(|parameter| parameter.name));
            }
            // There even without arguments: some clients cannot do without.
            field!(out, "properties").object(|out| {
                for parameter in parameters {
                    parameter.write_schema(out.field_called(parameter.name));
                }
            });
        });
    }
}

/// Writes where the view of a tool is. Some hosts read only the name that the specification has given up since.
fn write_view(out: &mut Answer) {
    let address = uri::of_view();
    field!(out, "_meta").object(|out| {
        field!(out, "ui").object(|out| {
            field!(out, "resourceUri").string(&address);
            field!(out, "visibility").strings(["model", "app"]);
        });
        field!(out, "ui/resourceUri").string(&address);
    });
}

fn without_index(x: &Exchange<'_>) -> ToolError {
    ToolError::IndexUnavailable { configured: x.served.is_configured() }
}

impl Parameter {
    fn write_schema(&self, out: &mut Answer) {
        out.object(|out| {
            field!(out, "type").string(self.kind.type_name());
            match self.kind {
                Kind::Text { max_characters } => {
                    field!(out, "maxLength").number(max_characters as u64);
                }
                Kind::Choice(words) => {
                    field!(out, "enum").strings(words);
                }
                Kind::Rank | Kind::Integer { .. } => {
                    let (minimum, maximum) = self.kind.bounds();
                    field!(out, "minimum").number(minimum);
                    field!(out, "maximum").number(maximum);
                }
            }
            if let Some(default) = self.default {
                field!(out, "default").value(default);
            }
            field!(out, "description").string(self.description);
        });
    }
}

/// Checks the registry; every problem is listed. Called at start and by a test.
///
/// # Errors
///
/// The problems, one sentence each.
pub(crate) fn check() -> Result<(), Vec<String>> {
    let mut problems = Vec::new();
    for (at, tool) in TOOLS.iter().enumerate() {
        let mut letters = tool.name.bytes();
        let well_named = letters.next().is_some_and(|first| first.is_ascii_lowercase())
            && letters.all(|byte| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-')
            })
            && tool.name.len() <= 64;
        if !well_named {
            problems.push(format!("tool `{}`: the name must match ^[a-z][a-z0-9_-]{{0,63}}$", tool.name));
        }
        if TOOLS.iter().take(at).any(|before| before.name == tool.name) {
            problems.push(format!("tool `{}`: the name is taken", tool.name));
        }
        if tool.description.is_empty() || tool.title.is_empty() {
            problems.push(format!("tool `{}`: title and description must be there", tool.name));
        }
        for default in tool.arguments.parameters.iter().filter_map(|parameter| parameter.default) {
            if serde_json::from_str::<serde::de::IgnoredAny>(default).is_err() {
                problems.push(format!("tool `{}`: the default {default} is not valid JSON", tool.name));
            }
        }
        for example in tool.examples {
            let members = serde_json::from_str(example).ok().and_then(Members::read);
            if members.is_none_or(|members| (tool.arguments.check)(&members).is_err()) {
                problems.push(format!(
                    "tool `{}`: the example {example} does not fit its own parameters",
                    tool.name
                ));
            }
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_registry_is_sound() {
        assert_eq!(super::check(), Ok(()));
    }

    #[test]
    fn the_tool_without_arguments_is_listed_first() {
        let first = super::TOOLS[0];
        assert!(first.arguments.parameters.is_empty() && !first.needs_index());
    }
}
