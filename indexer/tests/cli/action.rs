//! The scripts of the GitHub action, as a runner starts them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{Place, Run, fixtures};

const VERSION: &str = "0.0.1";

/// The platform these scripts find themselves on.
fn target() -> String {
    let system = if cfg!(target_os = "macos") { "apple-darwin" } else { "unknown-linux-musl" };
    format!("{}-{system}", std::env::consts::ARCH)
}

/// An action that was fetched, releases that are served, and what a runner provides.
struct Runner {
    place: Place,
}

impl Runner {
    /// Makes one whose action belongs to a release.
    fn new() -> Self {
        let runner = Self { place: Place::new() };
        // A backslash as Windows has in every path.
        for folder in ["action", "runner\\temp"] {
            fs::create_dir(runner.at(folder)).unwrap();
        }
        fs::copy(fixtures().join("../action/install"), runner.at("action/install")).unwrap();
        let sum = runner.release(VERSION);
        let named = format!("version {VERSION}\nrepository owner/wakashu\n{sum}  {}\n", target());
        fs::write(runner.at("action/RELEASE"), named).unwrap();
        runner
    }

    fn at(&self, path: &str) -> PathBuf {
        self.place.path().join(path)
    }

    /// Publishes a release of a program that says its version, and returns the archive's checksum.
    fn release(&self, version: &str) -> String {
        let name = format!("wakashu-{version}-{}", target());
        let folder = self.at(&format!("web/owner/wakashu/releases/download/v{version}"));
        let script = "mkdir -p \"$1/$2\" && cd \"$1\" && printf '#!/bin/sh\\necho wakashu %s\\n' \"$3\" >\"$2/wakashu\" && chmod 755 \
                      \"$2/wakashu\" && tar -czf \"$2.tar.gz\" \"$2\" && rm -r \"$2\" && if command -v sha256sum >/dev/null; then \
                      sha256sum \"$2.tar.gz\"; else shasum -a 256 \"$2.tar.gz\"; fi | tee SHA256SUMS";
        let mut command = Command::new("bash");
        command.args(["-c", script, "bash"]).arg(folder).args([&name, version]);
        let run = Run::of(command);
        assert_eq!(run.code, 0, "{}", run.stderr);
        run.stdout.split(' ').next().unwrap().to_owned()
    }

    /// Runs the installing step; returns its run and the program it found.
    fn install(&self, variables: &[(&str, &str)]) -> (Run, String) {
        let output = self.at("output");
        fs::write(&output, "").unwrap();
        let mut command = Command::new("bash");
        command.arg(self.at("action/install")).current_dir(self.place.path());
        command
            .env_remove("WAKASHU_RELEASES")
            .env("GITHUB_SERVER_URL", format!("file://{}", self.at("web").display()))
            // What a runner says is the repository that uses the action.
            .env("GITHUB_REPOSITORY", "curator/data")
            .env("GITHUB_ACTION_REPOSITORY", "")
            .env("GITHUB_OUTPUT", &output)
            .env("RUNNER_TEMP", self.at("runner\\temp"))
            .envs(variables.iter().copied());
        let run = Run::of(command);
        let found = fs::read_to_string(output).unwrap();
        (run, found.trim_end().trim_start_matches("program=").to_owned())
    }
}

#[test]
fn the_program_comes_from_the_release_of_the_actions_own_repository() {
    let runner = Runner::new();
    let says = |program: &str| Run::of(Command::new(program)).stdout;
    let (run, program) = runner.install(&[]);
    assert_eq!((run.code, says(&program)), (0, format!("wakashu {VERSION}\n")), "{}", run.stdout);

    // Another version is vouched for by its own release.
    runner.release("0.0.2");
    let (run, program) = runner.install(&[("INPUT_VERSION", "v0.0.2")]);
    assert_eq!((run.code, says(&program).as_str()), (0, "wakashu 0.0.2\n"), "{}", run.stdout);
}

#[test]
fn what_was_not_released_is_not_run() {
    let changed = |path: &Path| {
        let text = fs::read_to_string(path).unwrap();
        let digit =
            text.lines().find_map(|line| line.get(..64).filter(|_| line.contains("  ")).map(|sum| &sum[..1]));
        let digit = digit.unwrap();
        let other = if digit == "0" { "1" } else { "0" };
        let lines = text.lines().map(|line| match line.strip_prefix(digit).filter(|_| line.len() > 64) {
            Some(rest) => format!("{other}{rest}\n"),
            None => format!("{line}\n"),
        });
        fs::write(path, lines.collect::<String>()).unwrap();
    };
    let runner = Runner::new();
    changed(&runner.at("action/RELEASE"));
    let (run, program) = runner.install(&[]);
    assert_eq!((run.code, program.as_str()), (2, ""));
    assert!(run.stdout.contains("公開されたものと違います"), "{}", run.stdout);

    runner.release("0.0.2");
    changed(&runner.at("web/owner/wakashu/releases/download/v0.0.2/SHA256SUMS"));
    let (run, program) = runner.install(&[("INPUT_VERSION", "0.0.2"), ("INPUT_LANGUAGE", "en")]);
    assert_eq!((run.code, program.as_str()), (2, ""));
    assert!(run.stdout.contains("is not what was released"), "{}", run.stdout);

    // Before the first release.
    fs::write(runner.at("action/RELEASE"), "").unwrap();
    let (run, _) = runner.install(&[]);
    assert!(run.code == 2 && run.stdout.contains("まだ公開された版がありません"), "{}", run.stdout);
}

/// Runs a command of the action on a collection; returns its run, its outputs and its summary.
fn act(place: &Place, variables: &[(&str, &str)]) -> (Run, String, String) {
    let [output, summary] = ["output", "summary"].map(|name| place.path().join(name));
    for file in [&output, &summary] {
        fs::write(file, "").unwrap();
    }
    let mut command = Command::new("bash");
    command.arg(fixtures().join("../action/run")).current_dir(place.path());
    command
        .env("PROGRAM", env!("CARGO_BIN_EXE_wakashu-indexer"))
        .env("XDG_CACHE_HOME", place.path().join("cache"))
        .env("RUNNER_TEMP", place.path())
        .env("GITHUB_OUTPUT", &output)
        .env("GITHUB_STEP_SUMMARY", &summary)
        .envs(variables.iter().copied());
    let run = Run::of(command);
    (run, fs::read_to_string(output).unwrap(), fs::read_to_string(summary).unwrap())
}

#[test]
fn a_collection_of_drafts_alone_is_in_order_and_publishes_nothing() {
    let draft = "{\"下書き\": true}";
    let place = Place::small().file("第1回/編纂時期.json", draft).file("番外編/編纂時期.json", draft);
    for variables in [
        &[("INPUT_COMMAND", "check")][..],
        &[("INPUT_COMMAND", "export"), ("INPUT_STORE", "site")],
        &[("INPUT_COMMAND", "publish"), ("INPUT_STORE", "store")],
    ] {
        let (run, output, summary) = act(&place, variables);
        assert_eq!(run.code, 0, "{variables:?}: {}{}", run.stdout, run.stderr);
        assert!(summary.contains("まだ公開する回がありません"), "{variables:?}: {summary}");
        assert!(!output.contains("digest=") && !output.contains("preview="), "{variables:?}: {output}");
    }
    assert!(!place.path().join("site/index.html").exists() && !place.path().join("store").exists());

    // What is wrong besides is still wrong.
    let place = place.file("第2回/1-a/TextData1.json", "{");
    let (run, ..) = act(&place, &[("INPUT_COMMAND", "export")]);
    assert_eq!(run.code, 1, "{}", run.stderr);
}

#[test]
fn what_is_in_order_is_shown_exported_and_published() {
    let place = Place::small();
    let (run, output, summary) = act(&place, &[("INPUT_ARTIFACT", "春の集")]);
    assert!(
        run.code == 0 && output.contains("preview=") && summary.contains("「春の集」"),
        "{output}{summary}"
    );
    let (run, output, _) = act(&place, &[("INPUT_COMMAND", "export")]);
    assert!(run.code == 0 && output.contains("digest="), "{output}{}", run.stderr);
    let digest = output.split("digest=").nth(1).unwrap().lines().next().unwrap();
    assert!(fs::read_to_string(place.path().join("site/current.json")).unwrap().contains(digest));
    let (run, output, _) = act(&place, &[("INPUT_COMMAND", "publish"), ("INPUT_STORE", "store")]);
    assert!(run.code == 0 && output.contains(&format!("digest={digest}\n")), "{output}{}", run.stderr);
}

/// A site that cannot be read is not taken for one that is not there: the archives its readers hold would be gone.
#[test]
fn an_export_that_cannot_read_the_site_before_it_stops() {
    let place = Place::small();
    // Nothing listens there.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/");
    let (run, output, _) = act(&place, &[("INPUT_COMMAND", "export"), ("INPUT_URL", &url)]);
    assert!(run.code == 2 && !output.contains("digest="), "{}{}", run.stdout, run.stderr);
    assert!(!place.path().join("site/index.html").exists());
}
