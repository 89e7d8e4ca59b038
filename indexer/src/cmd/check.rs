//! stub
use super::Status;
use crate::report::Report;
/// x
pub fn run(_: &crate::cli::CheckArguments, _: Report) -> anyhow::Result<Status> {
    Ok(Status::Fine)
}
