//! `rollback`: an earlier version is served again.

use wakashu_archive::ContentHash;

use crate::cli::RollbackArguments;
use crate::cmd::{Status, open_store, runtime};
use crate::report::Report;
use crate::words::talk::Figure;
use crate::words::versions;

/// Runs the verb.
pub fn run(arguments: &RollbackArguments, report: &Report) -> anyhow::Result<Status> {
    // Hex digits mean the same in either case, and people copy them from anywhere.
    let digest = arguments.digest.as_deref().map(|digest| digest.to_ascii_lowercase().parse::<ContentHash>());
    let digest = digest.transpose()?;
    let outcome = runtime()?.block_on(async {
        let storage = open_store(&arguments.store).await?;
        Ok::<_, anyhow::Error>(wakashu_storage::rollback(storage.as_ref(), digest).await?)
    })?;
    report.figures(vec![
        (Figure::Serves, outcome.current.digest.to_string()),
        (Figure::Before, outcome.previous.digest.to_string()),
    ]);
    for version in &outcome.taken_back {
        report.remark(&versions::taken_back(&versions::changes(version.changes.as_ref())));
        if let Some(note) = &version.note {
            report.note(&format!("  {}", versions::note(note).said(report.language())));
        }
    }
    report.data(&format!("{}\n", outcome.current.digest))?;
    Ok(Status::Fine)
}
