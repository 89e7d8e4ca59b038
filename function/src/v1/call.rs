//! `POST /v1/tools/call`.

use std::time::{Duration, SystemTime};

use wakashu_storage::Timestamp;
use wakashu_wire::Members;

use super::fields::{Fields, once_each, refuse};
use super::write_time;
use crate::desk::Wants;
use crate::exchange::{Exchange, Owed};
use crate::fault::{Received, ToolError};
use crate::text::{Answer, field};
use crate::tools::{self, Form, Tool};

/// The longest time limit a caller may name; what is over the server's own counts as that.
pub(super) const MAX_TIMEOUT_MS: u64 = 3_600_000;

/// Calls a tool and wraps up what it says.
pub(super) async fn call(x: &mut Exchange<'_>, body: &[u8]) -> Result<Answer, ToolError> {
    let fields = Fields::body(body, &["name", "parameters", "options"])?;
    let Some(name) = fields.text("name")? else {
        return Err(refuse("name", "ツールの名前を渡してください。", Received::Nothing, "required"));
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
    once_each(&parameters, "parameters")?;
    let tool = tools::find(&name).ok_or(ToolError::ToolNotFound)?;
    x.facts.tool = Some(tool.name);
    let wants = Wants { place: true, time_limit };
    let call = Call { tool, parameters: &parameters, form };
    let answered = x.work(wants, &call).await;
    answered.inspect_err(|error| {
        error.report(Some(tool.name), &x.id);
        x.count_fault(tool.name, error);
    })
}

/// A call whose body was understood.
struct Call<'a> {
    tool: &'static Tool,
    parameters: &'a Members<'a>,
    form: Form,
}

impl Owed for Call<'_> {
    type Done = Answer;
    type Refused = ToolError;

    async fn work(&self, x: &mut Exchange<'_>) -> Result<Answer, ToolError> {
        let mut out = Answer::default();
        let body = out.open_object();
        field!(out, "success").boolean(true);
        field!(out, "result");
        // The fields of an MCP result, or a value.
        let result = (self.form == Form::Result).then(|| out.open_object());
        self.tool.call(x, self.parameters, self.form, &mut out).await?;
        if let Some(result) = result {
            out.close(result);
        }
        write_time(&mut out, x.started);
        field!(out, "timestamp").string(&Timestamp::from(SystemTime::now()).to_string());
        out.close(body);
        Ok(out)
    }
}
