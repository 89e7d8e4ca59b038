//! An exported folder, seen by those who use it: a browser that searches in it, servers that read it as their store from a
//! host of static files, readers that hold what an earlier deploy was.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking, and say what they left out"
)]

mod deploys;
mod host;
mod search;

use std::path::Path;
use std::process::Command;

use wakashu_tests::program;

/// Exports a collection, an archive or a store.
pub(crate) fn export(source: &Path, folder: &Path, more: &[&str]) {
    export_at("", source, folder, more);
}

/// Exports at a moment, in seconds since 1970.
fn export_at(moment: &str, source: &Path, folder: &Path, more: &[&str]) {
    let mut command = Command::new(program("wakashu-indexer"));
    command.arg("export").arg(source).arg("-o").arg(folder).args(["--no-progress", "-q"]).args(more);
    let done = command.env("SOURCE_DATE_EPOCH", moment).output().expect("the indexer starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}
