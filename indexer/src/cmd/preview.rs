//! `preview`: the collection as readers will see it, on this machine, built again when it changes.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use wakashu_archive::ContentHash;
use wakashu_function::{ArchiveState, Config, door, run as server};
use wakashu_storage::{Folder, Progress, PublishOptions};
use walkdir::WalkDir;

use crate::cli::PreviewArguments;
use crate::cmd::build::{self, BuildRequest, Purpose};
use crate::cmd::{Status, runtime};
use crate::output::Output;
use crate::report::Report;

/// How often the collection is looked at for changes.
const LOOK_EVERY: Duration = Duration::from_millis(700);

/// Runs the verb.
pub fn run(arguments: &PreviewArguments, report: Report) -> anyhow::Result<Status> {
    let report = if arguments.no_progress { report.without_progress() } else { report };
    let scratch = tempfile::tempdir()?;
    let preview = Preview {
        request: BuildRequest::new(
            arguments.wakashu_dir.clone(),
            Output::Directory(scratch.path().join("built")),
        )
        .with_pictures(&arguments.pictures),
        store: Folder::new(scratch.path().join("store")),
        report: report.clone(),
    };
    let runtime = runtime()?;
    let seen = fingerprint(&arguments.wakashu_dir);
    let published = runtime.block_on(preview.build_and_publish())?;
    if !published && !arguments.watch {
        return Ok(Status::Findings);
    }
    let store = scratch.path().join("store");
    let store = store.to_string_lossy();
    let config = Config::read(|name| match name {
        "WAKASHU_ARCHIVE" => Some(format!("file://{store}")),
        "PORT" => arguments.port.map(|port| port.to_string()).or_else(|| std::env::var(name).ok()),
        _ => std::env::var(name).ok(),
    })?;
    runtime.block_on(async {
        let running = server::Server::start(&config).await?;
        report.data(&format!("{}\n", running.url()))?;
        server::write_connection_help(&mut std::io::stderr(), &running.url(), None)?;
        let watching = arguments.watch.then(|| tokio::spawn(preview.watch(seen, running.state())));
        running.serve(door::local::stop_requested()).await;
        if let Some(watching) = watching {
            watching.abort();
        }
        Ok(Status::Fine)
    })
}

struct Preview {
    request: BuildRequest,
    store: Folder,
    report: Report,
}

impl Preview {
    /// Builds the collection and publishes it; tells whether it could. Problems keep the version before.
    async fn build_and_publish(&self) -> anyhow::Result<bool> {
        let (request, report) = (self.request.clone(), self.report.clone());
        let outcome = tokio::task::spawn_blocking(move || {
            let outcome = build::build(&request, &report);
            if let Ok(outcome) = &outcome {
                build::describe(outcome, &request, Purpose::Store, &report);
            }
            outcome
        });
        let Some(archive) = outcome.await??.archive else { return Ok(false) };
        let options = PublishOptions { keep: 0, ..PublishOptions::at(SystemTime::now()) };
        wakashu_storage::publish(&self.store, &archive.path, &options, &Progress::silent()).await?;
        // The store has its own copy.
        std::fs::remove_file(&archive.path)?;
        Ok(true)
    }

    /// Builds again whenever the collection has changed and has then kept still for one look.
    async fn watch(self, mut built: ContentHash, state: Arc<ArchiveState>) {
        let mut last = built;
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let now = fingerprint(&self.request.wakashu_dir);
            let settled = now == last;
            last = now;
            if !settled || now == built {
                continue;
            }
            built = now;
            self.report.note("the collection changed; building it again");
            match self.build_and_publish().await {
                Ok(true) => {
                    state.refresh().await;
                    self.report.note("serving the new version");
                }
                Ok(false) => self.report.note("still serving the version before"),
                Err(error) => self.report.failure(&format!("{error:#}"), None),
            }
        }
    }
}

/// Returns a hash of the names, sizes and times of all files below a folder: it differs when one changes.
fn fingerprint(folder: &Path) -> ContentHash {
    let mut seen = Vec::new();
    for entry in WalkDir::new(folder).sort_by_file_name().into_iter().flatten() {
        seen.extend_from_slice(entry.path().as_os_str().as_encoded_bytes());
        let Ok(data) = entry.metadata() else { continue };
        seen.extend_from_slice(&data.len().to_le_bytes());
        let modified = data.modified().ok().and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
        seen.extend_from_slice(&modified.unwrap_or_default().as_nanos().to_le_bytes());
    }
    ContentHash::of(&seen)
}
