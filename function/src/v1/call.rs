//! `POST /v1/tools/call`.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt as _;

use super::fields::{Fields, refuse};
use super::{Asked, Failure, write_time, write_timestamp};
use crate::desk::Caller;
use crate::fault::{Detail, Received, ToolError};
use crate::text::Answer;
use crate::tools::{self, Form, Tool};
use wakashu_wire::Members;

/// The longest time limit a caller may name; what is over the server's own counts as that.
pub(super) const MAX_TIMEOUT_MS: u64 = 3_600_000;

/// Calls a tool and wraps up what it says.
pub(super) async fn call(asked: &mut Asked<'_>, body: &[u8]) -> Result<Answer, Failure> {
    let fields = Fields::body(body, &["name", "parameters", "options"])?;
    let Some(name) = fields.text("name")? else {
        return Err(refuse("name", "ツールの名前を渡してください。", Received::Nothing, "required").into());
    };
    let options = fields.object("options", "options.", &["timeoutMs", "raw"])?;
    let time_limit = options.whole("timeoutMs", 1, MAX_TIMEOUT_MS)?.map(Duration::from_millis);
    let form = if options.flag("raw")? { Form::Data } else { Form::Result };
    let parameters = match fields.get("parameters") {
        None => Members::default(),
        Some(raw) => Members::read(raw).ok_or_else(|| {
            refuse("parameters", "オブジェクトで渡してください。", Received::of(raw.get()), "type")
        })?,
    };
    let tool = tools::find(&name).ok_or(ToolError::ToolNotFound)?;
    asked.tool = Some(tool.name);

    let mut answered = run(asked, tool, &parameters, form, time_limit).await;
    // As over MCP: an archive gone from storage is looked for once more.
    if let Some(index) = asked.snapshot.index().filter(|index| index.is_gone()).cloned() {
        asked.context.state.refresh().await;
        index.look_again();
        asked.snapshot = asked.context.state.current();
        answered = run(asked, tool, &parameters, form, time_limit).await;
    }
    match answered {
        Ok(out) => Ok(out),
        Err(error) => {
            error.report(tool.name, &asked.request_id);
            Err(error.into())
        }
    }
}

async fn run(
    asked: &Asked<'_>,
    tool: &'static Tool,
    parameters: &Members<'_>,
    form: Form,
    time_limit: Option<Duration>,
) -> Result<Answer, ToolError> {
    let caller = Caller {
        snapshot: &asked.snapshot,
        picture_base: asked.picture_base(),
        scope: asked.scope(),
        form,
        time_limit,
    };
    let mut out = Answer::default();
    out.raw(r#"{"success":true,"result":"#).raw(if form == Form::Result { "{" } else { "" });
    let work = asked.context.execution.call(tool, parameters, caller, &mut out);
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(done) => done?,
        Err(_) => return Err(ToolError::Internal(Detail::note("a tool panicked"))),
    }
    out.raw(if form == Form::Result { "}" } else { "" });
    write_time(&mut out, asked.started);
    write_timestamp(&mut out);
    out.raw("}");
    Ok(out)
}
