//! The methods: which exist in which era, and what each answers.

use crate::desk::Caller;
use crate::desk::drill::Drill;
use crate::fault::ToolError;
use crate::mcp::error::{self, RpcError};
use crate::mcp::{Door, completion, prompts, resources};
use crate::observe::facts::RequestLog;
use crate::served::cursor::Cursor;
use crate::text::Answer;
use crate::tools::{self, Form};
use wakashu_wire::{Era, Revision};
use wakashu_wire::{Part, Request, string};

/// Writes the members of the result into `out`.
pub(super) async fn answer(
    request: &Request<'_>,
    era: Era,
    door: &Door<'_>,
    out: &mut Answer,
    log: &mut RequestLog,
) -> Result<(), RpcError> {
    if !door.scope.covers_method(&request.method) {
        return Err(error::not_covered());
    }
    match &*request.method {
        "tools/call" => call_tool(request, door, out, log).await,
        "tools/list" => {
            refuse_cursor(request)?;
            out.splice(door.snapshot.rendered().tools().clone());
            cache_hint(out, era, door.snapshot.rendered().list_ttl_ms());
            Ok(())
        }
        "server/discover" if era.is_modern() => {
            out.raw(door.snapshot.rendered().discover());
            cache_hint(out, era, door.snapshot.rendered().list_ttl_ms());
            Ok(())
        }
        "resources/list" => resources::list(request, era, door, out),
        "resources/templates/list" => {
            refuse_cursor(request)?;
            resources::templates(out);
            cache_hint(out, era, door.snapshot.rendered().list_ttl_ms());
            Ok(())
        }
        "resources/read" => Box::pin(resources::read(request, era, door, out)).await,
        "prompts/list" => {
            refuse_cursor(request)?;
            prompts::list(out);
            cache_hint(out, era, door.snapshot.rendered().list_ttl_ms());
            Ok(())
        }
        "prompts/get" => Box::pin(prompts::get(request, door, out)).await,
        "completion/complete" => completion::complete(request, door, out),
        "initialize" if !era.is_modern() => initialize(request, door, out, log),
        "ping" if !era.is_modern() => Ok(()),
        "wakashu/drill" if door.execution.drill() == Drill::Method => drill(),
        _ => Err(error::method_not_found(era.is_modern())),
    }
}

/// Panics, so that an operator can see that a panic is contained. Only where `WAKASHU_DRILL` is on.
#[expect(clippy::panic, reason = "what a drill is for")]
fn drill() -> Result<(), RpcError> {
    panic!("this is a drill")
}

/// Writes how long and by whom a result may be kept; only the modern era knows of it.
pub(super) fn cache_hint(out: &mut Answer, era: Era, ttl_ms: u64) {
    if era.is_modern() {
        out.raw(r#","ttlMs":"#).number(ttl_ms).raw(r#","cacheScope":"public""#);
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
pub(super) fn page_offset(request: &Request<'_>, door: &Door<'_>) -> Result<usize, RpcError> {
    let Some(raw) = request.params.cursor else { return Ok(0) };
    let digest = door.snapshot.index().map(|index| index.archive().digest());
    let cursor = string(raw).zip(digest).and_then(|(text, digest)| Cursor::parse(&text, digest));
    cursor
        .map(|cursor| cursor.offset)
        .ok_or_else(|| error::invalid_params("no such cursor: start again without one"))
}

fn initialize(
    request: &Request<'_>,
    door: &Door<'_>,
    out: &mut Answer,
    log: &mut RequestLog,
) -> Result<(), RpcError> {
    let asked = request.params.protocol_version.and_then(string);
    let Some(asked) = asked else {
        return Err(error::invalid_params("`protocolVersion` must be a string"));
    };
    // A revision without `initialize` cannot be agreed on here.
    let agreed = Revision::parse(&asked).filter(|revision| !revision.is_modern());
    let agreed = agreed.unwrap_or(Revision::NEWEST_LEGACY);
    log.agreed = Some(agreed);
    log.era = agreed.as_str();
    out.raw(r#""protocolVersion":"#)
        .string(agreed.as_str())
        .raw(",")
        .raw(door.snapshot.rendered().initialize());
    Ok(())
}

async fn call_tool(
    request: &Request<'_>,
    door: &Door<'_>,
    out: &mut Answer,
    log: &mut RequestLog,
) -> Result<(), RpcError> {
    let Some(name) = request.params.name.and_then(string) else {
        return Err(error::invalid_params("`name` must be a string"));
    };
    if matches!(request.params.arguments, Part::Other) {
        return Err(error::invalid_params("`arguments` must be an object"));
    }
    let Some(tool) = tools::find(&name) else {
        return Err(error::invalid_params("Unknown tool: call tools/list to see which exist"));
    };
    log.tool = Some(tool.name);
    let mark = out.mark();
    let caller = Caller {
        snapshot: door.snapshot,
        picture_base: door.picture_base,
        scope: door.scope,
        form: Form::Result,
        time_limit: None,
    };
    if let Err(error) = door.execution.call(tool, request.params.arguments.members(), caller, out).await {
        log.error = Some(error.code());
        error.report(tool.name, door.request_id);
        if matches!(error, ToolError::Authorization) {
            return Err(error::not_covered());
        }
        out.rewind(mark);
        let sentence = error.sentence(door.request_id);
        out.raw(r#""isError":true,"content":[{"type":"text","text":"#).string(&sentence).raw("}]");
    }
    Ok(())
}
