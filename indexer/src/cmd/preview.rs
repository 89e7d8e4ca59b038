//! `preview`: the collection as readers will see it, on this machine, built again when it changes.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use wakashu_archive::ContentHash;
use wakashu_function::{ArchiveState, Config, app as server, door};
use wakashu_storage::{Folder, Progress, PublishOptions};
use walkdir::{DirEntry, WalkDir};

use crate::cli::PreviewArguments;
use crate::cmd::build::{self, BuildRequest, Purpose};
use crate::cmd::{Status, runtime};
use crate::output::Output;
use crate::report::Report;
use crate::walk::names::is_skipped;

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
    if published == Built::Nothing && !arguments.watch {
        return Ok(Status::Findings);
    }
    let store = scratch.path().join("store");
    let store = store.to_string_lossy();
    let given = |name: &str| match name {
        "WAKASHU_ARCHIVE" => Some(format!("file://{store}")),
        "PORT" => arguments.port.map(|port| port.to_string()),
        _ => None,
    };
    let config = Config::read(given, std::env::vars_os())?;
    runtime.block_on(async {
        let running = server::Server::start(&config).await?;
        // Whoever reads the address may stop the server at once.
        let stop = door::local::stop_requested();
        report.data(&format!("{}\n", running.url()))?;
        server::write_connection_help(&mut std::io::stderr(), &running.url(), None)?;
        let watching = arguments.watch.then(|| tokio::spawn(preview.watch(seen, running.state())));
        running.serve(stop).await;
        if let Some(watching) = watching {
            watching.abort();
        }
        Ok(Status::Fine)
    })
}

/// What building the collection came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Built {
    /// A version that is served from now on.
    New,
    /// The version that is served already.
    Same,
    /// Nothing: there are problems. The version before is kept.
    Nothing,
}

struct Preview {
    request: BuildRequest,
    store: Folder,
    report: Report,
}

impl Preview {
    /// Builds the collection and publishes it.
    async fn build_and_publish(&self) -> anyhow::Result<Built> {
        let (request, report) = (self.request.clone(), self.report.clone());
        let outcome = tokio::task::spawn_blocking(move || {
            let outcome = build::build(&request, &report);
            if let Ok(outcome) = &outcome {
                build::describe(outcome, &request, Purpose::Store, &report);
            }
            outcome
        });
        let Some(archive) = outcome.await??.archive else { return Ok(Built::Nothing) };
        let options = PublishOptions { keep: 0, ..PublishOptions::at(SystemTime::now()) };
        let progress = Progress::silent();
        let outcome = wakashu_storage::publish(&self.store, &archive.path, &options, &progress).await?;
        // The store has its own copy.
        std::fs::remove_file(&archive.path)?;
        Ok(if outcome.switched { Built::New } else { Built::Same })
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
                Ok(Built::New) => {
                    state.refresh().await;
                    self.report.note("serving the new version");
                }
                Ok(Built::Same) => {
                    self.report.note("nothing readers see has changed; serving the same version");
                }
                Ok(Built::Nothing) => self.report.note("still serving the version before"),
                Err(error) => self.report.failure(&format!("{error:#}"), None),
            }
        }
    }
}

/// Returns a hash of what a build would look at: it differs when a name, a file's size or its time does.
///
/// Directories count with their names alone: their times change with every hidden file an editor or git puts there.
fn fingerprint(folder: &Path) -> ContentHash {
    let real_folder = folder.canonicalize().unwrap_or_default();
    let stays_inside = |path: &Path| path.canonicalize().is_ok_and(|target| target.starts_with(&real_folder));
    let is_looked_at = |entry: &DirEntry| {
        let is_skipped = entry.depth() > 0 && is_skipped(entry.file_name());
        !is_skipped && (!entry.path_is_symlink() || stays_inside(entry.path()))
    };
    let mut seen = Vec::new();
    let entries = WalkDir::new(folder).max_depth(3).follow_links(true).sort_by_file_name();
    for entry in entries.into_iter().filter_entry(is_looked_at) {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                if !error.path().and_then(Path::file_name).is_some_and(is_skipped) {
                    seen.extend_from_slice(error.to_string().as_bytes());
                }
                continue;
            }
        };
        seen.extend_from_slice(entry.path().as_os_str().as_encoded_bytes());
        let Some(data) = entry.metadata().ok().filter(|data| !data.is_dir()) else { continue };
        seen.extend_from_slice(&data.len().to_le_bytes());
        let modified = data.modified().ok().and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
        seen.extend_from_slice(&modified.unwrap_or_default().as_nanos().to_le_bytes());
    }
    ContentHash::of(&seen)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_what_a_build_looks_at_counts() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        fs::create_dir_all(at("第1回/1-a")).unwrap();
        fs::write(at("第1回/1-a/TextData1.json"), "{}").unwrap();
        let before = fingerprint(folder.path());

        fs::create_dir(at(".git")).unwrap();
        for skipped in [".git/x", "第1回/.DS_Store", "第1回/1-a/README.md", "Thumbs.db"] {
            fs::write(at(skipped), "x").unwrap();
            assert_eq!(fingerprint(folder.path()), before, "{skipped}");
        }
        fs::write(at("第1回/1-a/TextData1.json"), "{ }").unwrap();
        let changed = fingerprint(folder.path());
        assert_ne!(changed, before);
        fs::create_dir(at("第2回")).unwrap();
        assert_ne!(fingerprint(folder.path()), changed);
    }

    #[cfg(unix)]
    #[test]
    fn symlinks_count_with_what_they_lead_to_inside_the_collection() {
        use std::os::unix::fs::symlink;

        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = |path: &str| folder.path().join(path);
        fs::create_dir(at(".kept")).unwrap();
        fs::write(at(".kept/Picture1.png"), "1").unwrap();
        symlink(".kept", at("第1回")).unwrap();
        symlink(outside.path(), at("第2回")).unwrap();
        let before = fingerprint(folder.path());
        fs::write(outside.path().join("x"), "x").unwrap();
        // As some editors mark a file that is open.
        symlink("somebody@nowhere.1", at(".#TextData1.json")).unwrap();
        assert_eq!(fingerprint(folder.path()), before);
        fs::write(at(".kept/Picture1.png"), "12").unwrap();
        let changed = fingerprint(folder.path());
        assert_ne!(changed, before);
        symlink("nowhere", at("第3回")).unwrap();
        assert_ne!(fingerprint(folder.path()), changed);
    }
}
