//! The methods: which exist in which era, what a token must be good for, and what each answers.

use wakashu_wire::{Era, Members, Part, Request, Revision, string};

use crate::exchange::{Exchange, Scope};
use crate::mcp::error::{self, RpcError};
use crate::mcp::{Refused, completion, prompts, resources};
use crate::served::cursor::Cursor;
use crate::text::{Answer, field};
use crate::tools::{self, Tool};

/// A method.
#[derive(Debug)]
pub(super) struct Method {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// What a token must be good for; tools say so themselves.
    pub(super) needs: Scope,
    /// Whether it may have to wait for storage, and so takes a place at the desk.
    pub(super) reads: bool,
    eras: Eras,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    CallTool,
    ListTools,
    Discover,
    ListResources,
    ListTemplates,
    ReadResource,
    ListPrompts,
    GetPrompt,
    Complete,
    Initialize,
    Ping,
    Listen,
    #[cfg(feature = "drills")]
    Drill,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Eras {
    Both,
    Legacy,
    Modern,
}

const fn method(name: &'static str, kind: Kind, needs: Scope, reads: bool, eras: Eras) -> Method {
    Method { name, kind, needs, reads, eras }
}

/// All methods, those asked for most often first.
static METHODS: &[Method] = &[
    method("tools/call", Kind::CallTool, Scope::Status, true, Eras::Both),
    method("tools/list", Kind::ListTools, Scope::Status, false, Eras::Both),
    method("server/discover", Kind::Discover, Scope::Status, false, Eras::Modern),
    method("initialize", Kind::Initialize, Scope::Status, false, Eras::Legacy),
    method("ping", Kind::Ping, Scope::Status, false, Eras::Legacy),
    method("resources/list", Kind::ListResources, Scope::Read, false, Eras::Both),
    method("resources/templates/list", Kind::ListTemplates, Scope::Status, false, Eras::Both),
    method("resources/read", Kind::ReadResource, Scope::Read, true, Eras::Both),
    method("prompts/list", Kind::ListPrompts, Scope::Status, false, Eras::Both),
    method("prompts/get", Kind::GetPrompt, Scope::Read, true, Eras::Both),
    method("completion/complete", Kind::Complete, Scope::Read, true, Eras::Both),
    method("subscriptions/listen", Kind::Listen, Scope::Status, false, Eras::Modern),
    #[cfg(feature = "drills")]
    method("wakashu/drill", Kind::Drill, Scope::Status, false, Eras::Both),
];

/// What clients send besides, by the names a line of the log may hold; anything else is the caller's text and stays out.
const HEARD: [&str; 7] = [
    "resources/subscribe",
    "resources/unsubscribe",
    "logging/setLevel",
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/progress",
    "notifications/roots/list_changed",
];

/// Returns what the log calls something that is not one of our methods.
pub(super) fn known_name(name: &str) -> &'static str {
    HEARD.into_iter().find(|known| *known == name).unwrap_or("other")
}

impl Method {
    pub(super) fn find(name: &str) -> Option<&'static Self> {
        METHODS.iter().find(|method| method.name == name)
    }

    /// Tells whether the method exists for this request.
    pub(super) fn is_there(&self, x: &Exchange<'_>, era: Era) -> bool {
        let in_era = match self.eras {
            Eras::Both => true,
            Eras::Legacy => !era.is_modern(),
            Eras::Modern => era.is_modern(),
        };
        in_era
            && match self.kind {
                Kind::Listen => x.core.state.can_push(),
                #[cfg(feature = "drills")]
                Kind::Drill => x.core.desk.drill() == crate::desk::drill::Drill::Method,
                _ => true,
            }
    }

    /// Writes the fields of the result into `out`.
    pub(super) async fn answer(
        &self,
        x: &Exchange<'_>,
        request: &Request<'_>,
        era: Era,
        out: &mut Answer,
    ) -> Result<(), Refused> {
        let prepared = x.served.prepared();
        match self.kind {
            Kind::ListTools => {
                refuse_cursor(request)?;
                out.item().splice(prepared.tools.clone());
                cache_hint(x, out, era, prepared.list_ttl_ms);
            }
            Kind::Discover => {
                out.fields(&prepared.discover);
                cache_hint(x, out, era, prepared.list_ttl_ms);
            }
            Kind::ListResources => resources::list(x, request, era, out)?,
            Kind::ListTemplates => {
                refuse_cursor(request)?;
                resources::templates(out);
                cache_hint(x, out, era, prepared.list_ttl_ms);
            }
            Kind::ReadResource => resources::read(x, request, era, out).await?,
            Kind::ListPrompts => {
                refuse_cursor(request)?;
                prompts::list(out);
                cache_hint(x, out, era, prepared.list_ttl_ms);
            }
            Kind::GetPrompt => prompts::get(x, request, out).await?,
            Kind::Complete => completion::complete(x, request, out)?,
            Kind::Initialize => {
                let agreed = agree(request)?;
                field!(out, "protocolVersion").string(agreed.as_str());
                out.fields(&prepared.initialize);
            }
            #[cfg(feature = "drills")]
            Kind::Drill => drill(),
            // A tool and a subscription are answered where they are told apart.
            Kind::Ping | Kind::CallTool | Kind::Listen => {}
        }
        Ok(())
    }
}

/// Panics, so that a test can see that a panic is contained. Only where `WAKASHU_DRILL` is on.
#[cfg(feature = "drills")]
#[expect(clippy::panic, reason = "what a drill is for")]
fn drill() {
    panic!("this is a drill")
}

/// Finds the tool that a `tools/call` names.
pub(super) fn find_tool(request: &Request<'_>) -> Result<&'static Tool, RpcError> {
    let Some(name) = request.params.name.and_then(string) else {
        return Err(error::invalid_params("`name` must be a string"));
    };
    arguments(request)?;
    tools::find(&name)
        .ok_or_else(|| error::invalid_params("Unknown tool: call tools/list to see which exist"))
}

/// Returns the members of `arguments`; empty if it is missing.
pub(super) fn arguments<'r, 'a>(request: &'r Request<'a>) -> Result<&'r Members<'a>, RpcError> {
    if matches!(request.params.arguments, Part::Other) {
        return Err(error::invalid_params("`arguments` must be an object"));
    }
    let members = request.params.arguments.members();
    if members.has_repeated_name() {
        return Err(error::invalid_params("a name appears twice in `arguments`"));
    }
    Ok(members)
}

/// Returns the revision that an `initialize` is answered in.
pub(super) fn agree(request: &Request<'_>) -> Result<Revision, RpcError> {
    if matches!(request.params.capabilities, Part::Other) {
        return Err(error::invalid_params("`capabilities` must be an object"));
    }
    let asked = request.params.protocol_version.and_then(string);
    let Some(asked) = asked else {
        return Err(error::invalid_params("`protocolVersion` must be a string"));
    };
    // A revision without `initialize` cannot be agreed on here.
    let agreed = Revision::parse(&asked).filter(|revision| !revision.is_modern());
    Ok(agreed.unwrap_or(Revision::NEWEST_LEGACY))
}

/// Writes how long and by whom a result may be kept; only the modern era knows of it.
pub(super) fn cache_hint(x: &Exchange<'_>, out: &mut Answer, era: Era, ttl_ms: u64) {
    if era.is_modern() {
        field!(out, "ttlMs").number(ttl_ms);
        field!(out, "cacheScope").string(if x.core.is_guarded { "private" } else { "public" });
    }
}

/// Lists of one page take no cursor.
fn refuse_cursor(request: &Request<'_>) -> Result<(), RpcError> {
    match request.params.cursor {
        None => Ok(()),
        Some(_) => Err(error::invalid_params("no such cursor: this list has one page")),
    }
}

/// Reads where a paged list goes on.
pub(super) fn page_offset(x: &Exchange<'_>, request: &Request<'_>) -> Result<usize, RpcError> {
    let Some(raw) = request.params.cursor else { return Ok(0) };
    let digest = x.index().map(|index| index.archive().digest());
    let cursor = string(raw).zip(digest).and_then(|(text, digest)| Cursor::parse(&text, digest));
    cursor
        .map(|cursor| cursor.offset)
        .ok_or_else(|| error::invalid_params("no such cursor: start again without one"))
}
