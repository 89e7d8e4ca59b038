//! `preview`: the collection as readers will see it, on this machine, built again when it changes.

mod shown;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use tokio::sync::watch;
use wakashu_archive::ContentHash;
use wakashu_function::{ArchiveState, Config, app as server, door};
use wakashu_pages::Preview as Shown;
use wakashu_storage::{
    ARCHIVES_PREFIX, Folder, Location, Progress, PublishOptions, Store as _, Version, digest_of_key,
};
use walkdir::{DirEntry, WalkDir};

use crate::cli::PreviewArguments;
use crate::cmd::build::{self, BuildRequest, Purpose};
use crate::cmd::{Status, reasons, runtime};
use crate::output::Output;
use crate::report::Report;
use crate::walk::names::is_skipped;
use crate::words::{failure, talk};

/// How often the collection is looked at for changes.
const LOOK_EVERY: Duration = Duration::from_millis(700);

/// Runs the verb.
pub fn run(arguments: &PreviewArguments, report: Report) -> anyhow::Result<Status> {
    let report = if arguments.no_progress { report.without_progress() } else { report };
    let scratch = tempfile::tempdir()?;
    let store = scratch.path().join("store");
    let built = Output::Directory(scratch.path().join("built"));
    let request = BuildRequest::new(arguments.wakashu_dir.clone(), built).with_pictures(&arguments.pictures);
    let preview = Preview {
        request: BuildRequest { drafts: true, ..request },
        store: Folder::new(&store),
        report: report.clone(),
    };
    let given = |name: &str| match name {
        // Not the one of the environment: the store of this preview.
        "WAKASHU_ARCHIVE" => Some(String::new()),
        "PORT" => arguments.port.map(|port| port.to_string()),
        _ => None,
    };
    let mut config = Config::read(given, std::env::vars_os())?;
    config.archive = Some(Location::folder(store));
    look_at_port(&config, &report)?;
    let runtime = runtime()?;
    let seen = fingerprint(&arguments.wakashu_dir);
    let (built, shown) = runtime.block_on(preview.build_and_publish(false))?;
    if built == Built::Nothing && !arguments.watch {
        return Ok(Status::Findings);
    }
    let shown = watch::Sender::new(Arc::new(shown));
    runtime.block_on(async {
        let running = server::Server::start_preview(&config, shown.subscribe()).await?;
        // The program that reads the address may stop the server at once.
        let stop = door::local::stop_requested();
        let asks_for_tokens = !config.tokens.is_empty();
        let mcp = running.url();
        let page = mcp.strip_suffix("mcp").unwrap_or(&mcp);
        report.data(&format!("{page}\n{mcp}\n"))?;
        if arguments.open && !open(page) {
            report.remark(&talk::not_opened(page));
        }
        server::write_connection_help(&mut std::io::stderr(), &mcp, asks_for_tokens, None)?;
        report.remark(&talk::look_at(page));
        let watching = arguments.watch.then(|| {
            let is_shown = built != Built::Nothing;
            tokio::spawn(preview.watch(seen, is_shown, running.state(), shown.clone()))
        });
        running.serve(stop).await;
        if let Some(watching) = watching {
            watching.abort();
        }
        Ok(Status::Fine)
    })
}

/// Shows a page in the person's browser; tells whether that could be asked for.
fn open(page: &str) -> bool {
    let (program, before): (&str, &[&str]) = if cfg!(windows) {
        ("cmd", &["/C", "start", ""])
    } else if cfg!(target_os = "macos") {
        ("open", &[])
    } else {
        ("xdg-open", &[])
    };
    let mut command = std::process::Command::new(program);
    command.args(before).arg(page);
    let quiet = std::process::Stdio::null;
    command.stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn().is_ok()
}

/// Says that the port is taken before minutes are spent on building.
fn look_at_port(config: &Config, report: &Report) -> anyhow::Result<()> {
    let listening = std::net::TcpListener::bind((config.host.as_str(), config.port));
    if let Err(error) = &listening
        && error.kind() == std::io::ErrorKind::AddrInUse
    {
        anyhow::bail!("{}", talk::port_taken(config.port).said(report.language()));
    }
    let address = format!("{}:{}", config.host, config.port);
    listening.map(drop).with_context(|| failure::not_listening(&address).said(report.language()).to_owned())
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
    /// Builds the collection and publishes it; returns what to show of it besides. `is_before_shown` tells whether there is
    /// an earlier version to look at.
    async fn build_and_publish(&self, is_before_shown: bool) -> anyhow::Result<(Built, Shown)> {
        let (request, report) = (self.request.clone(), self.report.clone());
        let outcome = tokio::task::spawn_blocking(move || {
            let outcome = build::build(&request, &report);
            if let Ok(outcome) = &outcome {
                build::describe(outcome, &request, Purpose::Store, &report);
            }
            outcome
        });
        let outcome = outcome.await??;
        let digest = outcome.archive.as_ref().map(|archive| archive.digest);
        let shown = shown::of_problems(&outcome.problems, digest, is_before_shown, self.report.language());
        let Some(archive) = outcome.archive else { return Ok((Built::Nothing, shown)) };
        let options = PublishOptions { keep: 0, ..PublishOptions::at(SystemTime::now()) };
        let progress = Progress::silent();
        let outcome = wakashu_storage::publish(&self.store, &archive.path, &options, &progress).await?;
        // The store has its own copy.
        std::fs::remove_file(&archive.path)?;
        self.remove_all_but(&[Some(&outcome.current), outcome.previous.as_ref()]).await;
        Ok((if outcome.switched { Built::New } else { Built::Same }, shown))
    }

    /// Removes earlier builds. The version before the current one is kept, because a reader may be about to open it.
    async fn remove_all_but(&self, kept: &[Option<&Version>]) {
        for object in self.store.list(ARCHIVES_PREFIX).await.unwrap_or_default() {
            let digest = digest_of_key(&object.key);
            if !kept.iter().flatten().any(|version| Some(version.digest) == digest) {
                // Where a file that is being read cannot be removed, the next build tries again.
                let _ = self.store.delete(&object.key).await;
            }
        }
    }

    /// Builds again whenever the collection has changed and has then kept still for one look, or will not keep still.
    async fn watch(
        self,
        built: ContentHash,
        mut is_shown: bool,
        state: Arc<ArchiveState>,
        shown: watch::Sender<Arc<Shown>>,
    ) {
        let mut looks = Looks { built, last: built, restless: 0 };
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            if !looks.is_due(fingerprint(&self.request.wakashu_dir)) {
                continue;
            }
            self.report.remark(&talk::changed_again());
            let now = match self.build_and_publish(is_shown).await {
                Ok((built, now)) => {
                    is_shown |= built != Built::Nothing;
                    if built == Built::New {
                        state.refresh().await;
                    }
                    self.report.remark(&match built {
                        Built::New => talk::serving_new(),
                        Built::Same => talk::serving_same(),
                        Built::Nothing if is_shown => talk::serving_before(),
                        Built::Nothing => talk::serving_nothing(),
                    });
                    now
                }
                Err(error) => {
                    let language = self.report.language();
                    let reason = reasons(&error).said(language).to_owned();
                    self.report.failure(&reason, None);
                    shown::of_failure(reason, language)
                }
            };
            shown.send_replace(Arc::new(now));
        }
    }
}

/// What was seen of a collection that is watched.
struct Looks {
    /// As it was built last.
    built: ContentHash,
    /// As it was seen last.
    last: ContentHash,
    /// How often in a row it was seen to change.
    restless: u32,
}

impl Looks {
    /// So many changes in a row are waited for: a file that is being written must not keep the others from being seen.
    const PATIENCE: u32 = 10;

    /// Takes note of the collection as it is now, and tells whether to build it.
    fn is_due(&mut self, now: ContentHash) -> bool {
        let settled = now == self.last;
        self.last = now;
        self.restless = if settled { 0 } else { self.restless + 1 };
        let due = now != self.built && (settled || self.restless >= Self::PATIENCE);
        if due {
            self.built = now;
            self.restless = 0;
        }
        due
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
    fn a_collection_that_never_keeps_still_is_built_all_the_same() {
        let state = |number: u32| ContentHash::of(&number.to_le_bytes());
        let mut looks = Looks { built: state(0), last: state(0), restless: 0 };
        assert!(!looks.is_due(state(0)), "nothing has changed");
        assert!(!looks.is_due(state(1)) && looks.is_due(state(1)), "once it keeps still");
        assert!(!looks.is_due(state(1)));
        let builds = (2..102).filter(|number| looks.is_due(state(*number))).count();
        assert_eq!(builds, 10);
    }

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
