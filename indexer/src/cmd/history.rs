//! `history`: the versions a store remembers, the one served first.

use crate::cli::HistoryArguments;
use crate::cmd::{Status, open_store_to_read, runtime};
use crate::report::{self, Report};

/// Runs the verb.
pub fn run(arguments: &HistoryArguments, report: &Report) -> anyhow::Result<Status> {
    let pointer = runtime()?.block_on(async {
        let storage = open_store_to_read(&arguments.store).await?;
        Ok::<_, anyhow::Error>(wakashu_storage::history(storage.as_ref()).await?)
    })?;
    if arguments.json {
        report.json(&pointer)?;
        return Ok(Status::Fine);
    }
    let mut table = String::new();
    for (at, version) in pointer.versions().enumerate() {
        let mark = if at == 0 { "served" } else { "      " };
        let bytes = report::bytes(version.bytes);
        table.push_str(&format!("{mark}  {}  {bytes:>9}  {}\n", version.published_at.jst(), version.digest));
    }
    report.data(&table)?;
    Ok(Status::Fine)
}
