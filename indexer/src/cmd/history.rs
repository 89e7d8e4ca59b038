//! `history`: the versions a store remembers, the one served first.

use unicode_width::UnicodeWidthStr as _;

use crate::cli::HistoryArguments;
use crate::cmd::{Status, open_store_to_read, runtime};
use crate::report::{self, Report};
use crate::words::{Remark, versions};

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
    let language = report.language();
    let (served, taken_back) = (versions::served(), versions::rolled_back());
    let (served, taken_back) = (served.said(language), taken_back.said(language));
    let rolled_back = pointer.rolled_back();
    let width = if rolled_back.is_empty() { served.width() } else { served.width().max(taken_back.width()) };
    let mut table = String::new();
    for (at, version) in pointer.versions().enumerate() {
        let mark = match at {
            0 => served,
            _ if rolled_back.iter().any(|other| other.digest == version.digest) => taken_back,
            _ => "",
        };
        let mark = format!("{mark}{}", " ".repeat(width - mark.width()));
        let bytes = report::bytes(version.bytes);
        table.push_str(&format!("{mark}  {}  {bytes:>9}  {}\n", version.published_at.jst(), version.digest));
        let mut more = |remark: &Remark| {
            table.push_str(&format!("{}  {}\n", " ".repeat(width), remark.said(language)));
        };
        if version.changes.is_some() {
            more(&versions::changes(version.changes.as_ref()));
        }
        if let Some(note) = &version.note {
            more(&versions::note(note));
        }
    }
    report.data(&table)?;
    Ok(Status::Fine)
}
