//! `wakashu://rounds/by-date/{start_date}/{end_date}`: the rounds that were compiled then.
//!
//! A round may be called `by-date`, too. Its pictures are found first, and its entries have shorter addresses.

use wakashu_archive::Period;

use super::rounds::rounds_json;
use super::{Address, Read, Resource, Segment, Wanted};
use crate::mcp::completion::Completes;
use crate::mcp::error::{self, RpcError};
use crate::text::Answer;
use crate::tools::rounds;

pub(super) static RESOURCE: Resource = Resource {
    address: Address::Path(&[
        Segment::Fixed("by-date"),
        Segment::Variable("start_date", Completes::Years),
        Segment::Variable("end_date", Completes::Years),
    ]),
    name: "rounds_by_date",
    title: "日付で探す回",
    description: "編纂時期が期間に重なる回。日付は 2025-04-01、2025年4月、2025年 など",
    media_type: Some("application/json"),
    read: Read::FromRoot(|wanted, out| Ok(read(wanted, out)?)),
};

fn read(wanted: Wanted<'_>, out: &mut Answer) -> Result<(), RpcError> {
    let window = window(wanted.segment(1), wanted.segment(2))?;
    let all = &wanted.index.archive().root().rounds;
    let matching =
        all.iter().filter(|round| rounds::period(round).is_some_and(|period| period.overlaps(window)));
    let undated = all.iter().filter(|round| round.period.is_none()).count();
    wanted.write_json(out, &rounds_json(wanted.title, matching, Some(undated)));
    Ok(())
}

fn window(start: &str, end: &str) -> Result<Period, RpcError> {
    let days = |text: &str| Period::parse(text).map_err(|error| error::invalid_params(error.to_string()));
    let (start, end) = (days(start)?.start, days(end)?.end);
    if start > end {
        return Err(error::invalid_params("the end date lies before the start date"));
    }
    Ok(Period { start, end })
}
