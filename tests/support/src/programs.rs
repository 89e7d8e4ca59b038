//! Where the programs under test are: built by cargo, once per test run.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// Returns the repository's root.
#[must_use]
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the tests lie in the repository")
}

/// Returns the path of a program of this workspace, up to date.
///
/// It is built with the profile of the running test. `WAKASHU_PROGRAMS` names a folder of programs to test instead,
/// such as the ones about to be shipped.
#[must_use]
pub fn program(name: &str) -> PathBuf {
    static BUILT: Mutex<Vec<String>> = Mutex::new(Vec::new());
    if let Some(folder) = std::env::var_os("WAKASHU_PROGRAMS") {
        return PathBuf::from(folder).join(name);
    }
    let place = Place::find();
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    if !built.iter().any(|known| known == name) {
        // nextest runs every test in a process of its own: the first one of a run builds.
        let run = std::env::var("NEXTEST_RUN_ID").ok();
        let stamp = run.map(|run| place.target.join("tmp").join(format!("{name}-{run}.built")));
        if !stamp.as_ref().is_some_and(|stamp| stamp.exists()) {
            place.build(name);
            if let Some(stamp) = stamp {
                std::fs::create_dir_all(stamp.parent().unwrap()).unwrap();
                std::fs::write(stamp, "").unwrap();
            }
        }
        built.push(name.to_owned());
    }
    place.folder.join(name)
}

/// Returns cargo's target folder, for files that are worth keeping between runs.
#[must_use]
pub fn target_folder() -> PathBuf {
    Place::find().target
}

/// The place of the running test, `target/[triple/]profile/deps/…`, and so of the programs beside it.
struct Place {
    target: PathBuf,
    triple: Option<String>,
    profile: String,
    folder: PathBuf,
}

impl Place {
    fn find() -> Self {
        let test = std::env::current_exe().expect("a test knows its own path");
        let folder =
            test.parent().and_then(Path::parent).expect("a test lies in target/profile/deps").to_owned();
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        let profile = match name(&folder).as_str() {
            "debug" => "dev".to_owned(),
            other => other.to_owned(),
        };
        let above = folder.parent().unwrap();
        if above.join("CACHEDIR.TAG").exists() {
            Self { target: above.to_owned(), triple: None, profile, folder }
        } else {
            Self { target: above.parent().unwrap().to_owned(), triple: Some(name(above)), profile, folder }
        }
    }

    fn build(&self, name: &str) {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        // With the whole workspace cargo settles on the same features as `cargo test --workspace` does: what that built
        // is not built a second time.
        command.current_dir(repository()).args(["build", "--quiet", "--workspace", "--bin", name]);
        command.args(["--profile", &self.profile]).arg("--target-dir").arg(&self.target);
        if let Some(triple) = &self.triple {
            command.args(["--target", triple]);
        }
        let built = command.output().expect("cargo starts");
        assert!(built.status.success(), "{name} does not build:\n{}", String::from_utf8_lossy(&built.stderr));
    }
}
