//! The registry: the one place tools live.
//!
//! A tool is one definition. Its input schema, the parsing of its arguments, its entry in `tools/list`, its page in
//! the HTTP view and its chapter in the reference all come from that.

pub(crate) mod arguments;
mod get_poem;
mod get_wakashu_ranking;
mod index_status;
mod list_rounds;
pub(crate) mod rounds;
mod search_poems;

pub(crate) use crate::entries::Form;
pub(crate) use list_rounds::write_round as list_rounds_row;

use std::future::Future;
use std::pin::Pin;

use crate::exchange::{Exchange, Scope};
use crate::fault::ToolError;
use crate::served::snapshot::Snapshot;
use crate::text::Answer;
use crate::tools::arguments::Arguments;
use wakashu_archive::MAX_RANK;
use wakashu_wire::Members;

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
    /// Whether it answers only while an index is loaded.
    pub needs_index: bool,
    /// What a token must be good for.
    pub needs: Scope,
    /// The arguments.
    pub parameters: &'static [Parameter],
    /// Whether its answers carry pictures. Those have no structured part: several clients then drop the pictures.
    pub pictures: bool,
    /// JSON Schema of the data: of the structured part where there is one, else of what the HTTP view calls raw.
    pub data_schema: &'static str,
    run: Run,
}

type Run = for<'a> fn(Call<'a>, &'a mut Answer) -> Work<'a>;

/// A tool at work.
pub(crate) type Work<'a> = Pin<Box<dyn Future<Output = Result<(), ToolError>> + Send + 'a>>;

/// An argument of a tool.
#[derive(Debug)]
pub(crate) struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// What well-formed texts look like, as a regular expression; a hint for forms, the tool itself decides.
    pub pattern: Option<&'static str>,
    /// What the model reads about it.
    pub description: &'static str,
    /// The value when it is left out, as JSON; an argument without one is optional or required.
    pub default: Option<&'static str>,
    /// Whether it must be given.
    pub required: bool,
}

/// The values a parameter takes.
#[derive(Debug)]
pub(crate) enum Kind {
    /// Text of at most this many characters.
    Text {
        /// The limit.
        max_characters: usize,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A rank: a whole number, also as readers write it (`1位`).
    Rank,
    /// A whole number within bounds.
    Integer {
        /// The smallest.
        minimum: u64,
        /// The largest.
        maximum: u64,
    },
}

impl Kind {
    /// Returns the smallest and the largest whole number.
    pub(crate) fn bounds(&self) -> (u64, u64) {
        match *self {
            Self::Integer { minimum, maximum } => (minimum, maximum),
            Self::Rank => (1, u64::from(MAX_RANK)),
            Self::Text { .. } | Self::Choice(_) => (0, 0),
        }
    }
}

/// One call of a tool, with everything it may look at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call<'a> {
    /// The archive's state when the request came in; one call sees one archive.
    pub snapshot: &'a Snapshot,
    /// The arguments, parsed and complete.
    pub arguments: &'a Arguments<'a>,
    /// Where pictures can be had over HTTP, without a slash at the end; unknown on stdio.
    pub picture_base: Option<&'a str>,
    /// What to write.
    pub form: Form,
}

/// All tools, in the order they are listed. The one without arguments comes first.
pub(crate) static TOOLS: [&Tool; 5] = [
    &index_status::TOOL,
    &list_rounds::TOOL,
    &get_wakashu_ranking::TOOL,
    &get_poem::TOOL,
    &search_poems::TOOL,
];

/// Finds a tool by name.
#[must_use]
pub(crate) fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.into_iter().find(|tool| tool.name == name)
}

impl Tool {
    /// Tells why the tool cannot be called now, if it cannot.
    pub(crate) fn unavailable(&self, x: &Exchange<'_>) -> Option<ToolError> {
        if x.core.state.is_off(self.name) {
            return Some(ToolError::ToolDisabled);
        }
        (self.needs_index && x.index().is_none())
            .then(|| ToolError::IndexUnavailable { configured: x.served.is_configured() })
    }

    /// Calls the tool: the one way, for every view. It writes what `form` says into `out`.
    pub(crate) async fn call(
        &self,
        x: &Exchange<'_>,
        arguments: &Members<'_>,
        form: Form,
        out: &mut Answer,
    ) -> Result<(), ToolError> {
        if !x.scope.covers(self.needs) {
            return Err(ToolError::Authorization);
        }
        if let Some(error) = self.unavailable(x) {
            return Err(error);
        }
        let arguments = Arguments::parse(self, arguments)?;
        let call = Call { snapshot: &x.served, arguments: &arguments, picture_base: x.base(), form };
        (self.run)(call, out).await
    }

    /// Writes the tool as `tools/list` shows it.
    pub(crate) fn write_listing(&self, out: &mut Answer, collection_title: &str) {
        out.raw(r#"{"name":"#).string(self.name).raw(r#","title":"#).string(self.title);
        out.raw(r#","description":"#).string(&self.description.replace("{title}", collection_title));
        out.raw(r#","inputSchema":"#);
        self.write_input_schema(out);
        if !self.pictures {
            out.raw(r#","outputSchema":"#).raw(self.data_schema);
        }
        out.raw(r#","annotations":{"title":"#).string(self.title);
        out.raw(
            r#","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}"#,
        );
    }

    /// Writes the JSON Schema of the arguments.
    pub(crate) fn write_input_schema(&self, out: &mut Answer) {
        out.raw(r#"{"type":"object","additionalProperties":false"#);
        let mut required = self.parameters.iter().filter(|parameter| parameter.required).peekable();
        if required.peek().is_some() {
            out.raw(r#","required":["#);
            for (at, parameter) in required.enumerate() {
                out.raw(if at == 0 { "" } else { "," }).string(parameter.name);
            }
            out.raw("]");
        }
        // There even without arguments: some clients cannot do without.
        out.raw(r#","properties":{"#);
        for (at, parameter) in self.parameters.iter().enumerate() {
            out.raw(if at == 0 { "" } else { "," }).string(parameter.name).raw(":");
            parameter.write_schema(out);
        }
        out.raw("}}");
    }
}

impl Parameter {
    fn write_schema(&self, out: &mut Answer) {
        match self.kind {
            Kind::Text { max_characters } => {
                out.raw(r#"{"type":"string","maxLength":"#).number(max_characters as u64);
            }
            Kind::Choice(words) => {
                out.raw(r#"{"type":"string","enum":["#);
                for (at, word) in words.iter().enumerate() {
                    out.raw(if at == 0 { "" } else { "," }).string(word);
                }
                out.raw("]");
            }
            Kind::Rank | Kind::Integer { .. } => {
                let (minimum, maximum) = self.kind.bounds();
                out.raw(r#"{"type":"integer","minimum":"#).number(minimum);
                out.raw(r#","maximum":"#).number(maximum);
            }
        }
        if let Some(default) = self.default {
            out.raw(r#","default":"#).raw(default);
        }
        out.raw(r#","description":"#).string(self.description).raw("}");
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
        let defaults = tool.parameters.iter().filter_map(|parameter| parameter.default);
        let mut schema = Answer::default();
        tool.write_input_schema(&mut schema);
        let schema = schema.into_text();
        for json in defaults.chain([tool.data_schema, schema.as_str()]) {
            if serde_json::from_str::<serde::de::IgnoredAny>(json).is_err() {
                problems.push(format!("tool `{}`: a schema or default is not valid JSON", tool.name));
            }
        }
        for example in tool.examples {
            let members = serde_json::from_str(example).ok().and_then(Members::read);
            if members.is_none_or(|members| Arguments::parse(tool, &members).is_err()) {
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
        assert!(super::TOOLS[0].parameters.is_empty() && !super::TOOLS[0].needs_index);
    }
}
