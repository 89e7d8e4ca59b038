//! Collections made on the spot, and runs of the program.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process::Command;

use image::{ImageFormat, Rgb, RgbImage};
use serde_json::Value;
use tempfile::TempDir;

/// A temporary folder with a collection in it and room for what comes of it.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    /// Makes an empty place.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("wakashu_dir")).unwrap();
        fs::create_dir(folder.path().join("out")).unwrap();
        Self { folder }
    }

    /// Makes a place with two rounds of three and one entries.
    pub(crate) fn small() -> Self {
        Self::new()
            .entry("第1回/1-Laptop")
            .entry("第1回/2-Wakashu")
            .entry("第1回/10-Honka")
            .entry("番外編/1-Laptop")
            .file("第1回/編纂時期.json", "{\"Start\":\"2025-04-01\",\"End\":\"2025年5月\"}")
            .file("和歌集.json", "{\"Title\":\"試し集\",\"Description\":\"試し\"}")
    }

    /// Adds an entry with text and picture; the path ends in `{rank}-{name}`.
    pub(crate) fn entry(self, path: &str) -> Self {
        let rank = rank_of(path);
        self.text(path).file(&format!("{path}/Picture{rank}.png"), png(16, 12, seed_of(path)))
    }

    /// Adds an entry with a text only.
    pub(crate) fn text(self, path: &str) -> Self {
        let rank = rank_of(path);
        let text = format!(
            "{{\"AccountName\":\"@{rank}\",\"HonkadoriWaka\":\"歌{rank}\\n下の句\",\
             \"Honka\":[\"https://example.com/{rank}\"],\"Prompt\":\"prompt {rank}\"}}"
        );
        self.file(&format!("{path}/TextData{rank}.json"), text)
    }

    /// Adds a file.
    pub(crate) fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.dir().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    /// Adds a directory.
    pub(crate) fn directory(self, path: impl AsRef<Path>) -> Self {
        fs::create_dir_all(self.dir().join(path)).unwrap();
        self
    }

    /// Returns the place itself.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the collection.
    pub(crate) fn dir(&self) -> PathBuf {
        self.folder.path().join("wakashu_dir")
    }

    /// Returns where archives go.
    pub(crate) fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    /// Returns the names in the output's folder.
    pub(crate) fn out_names(&self) -> Vec<String> {
        let names = fs::read_dir(self.out()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Builds, expects it to go well, and returns the archive.
    pub(crate) fn build(&self) -> PathBuf {
        let run = self.run(["build", "wakashu_dir", "-o", "out", "--no-cache"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        self.path().join(run.stdout.trim_end())
    }

    /// Runs the program here.
    pub(crate) fn run<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, arguments: I) -> Run {
        Run::of(self.command(arguments))
    }

    /// Prepares a run of the program here, with nothing of the surroundings.
    pub(crate) fn command<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(&self, arguments: I) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wakashu-indexer"));
        command.args(arguments).current_dir(self.path());
        command
            .env("XDG_CACHE_HOME", self.path().join("cache"))
            .env("HOME", self.path())
            .env("LC_ALL", "C")
            .env_remove("WAKASHU_LANGUAGE")
            .env_remove("GITHUB_STEP_SUMMARY")
            .env_remove("NO_COLOR");
        command
    }
}

/// A run that has ended.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// Runs a command to its end.
    pub(crate) fn of(mut command: Command) -> Self {
        let output = command.output().unwrap();
        let code = output.status.code().expect("ended by a signal");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is not UTF-8");
        let run = Self { code, stdout: text(output.stdout), stderr: text(output.stderr) };
        assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
        run
    }

    /// Reads stdout as one JSON object.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}{}", self.stdout, self.stderr))
    }

    /// Returns `severity path` of every problem in the JSON object.
    pub(crate) fn problems(&self) -> Vec<String> {
        let json = self.json();
        let problems = json["problems"].as_array().unwrap();
        let line = |problem: &Value| {
            format!("{} {}", problem["severity"].as_str().unwrap(), problem["path"].as_str().unwrap())
        };
        problems.iter().map(line).collect()
    }
}

/// Returns every file below a folder with its bytes; hidden work in progress, too.
pub(crate) fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.insert(entry.path(), fs::read(entry.path()).unwrap());
        }
    }
    found
}

/// Returns the repository's fixtures.
pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures")
}

/// Returns a cache that outlives the test run: the sample's pictures are large, and many tests use them.
pub(crate) fn lasting_cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("pictures")
}

/// Draws a picture.
pub(crate) fn png(width: u32, height: u32, seed: u8) -> Vec<u8> {
    encoded(width, height, seed, ImageFormat::Png)
}

/// Draws a picture in a format.
pub(crate) fn encoded(width: u32, height: u32, seed: u8, format: ImageFormat) -> Vec<u8> {
    let low = |value: u32| u8::try_from(value % 256).unwrap();
    let picture = RgbImage::from_fn(width, height, |x, y| Rgb([low(x * 7), low(y * 5), seed]));
    let mut bytes = Cursor::new(Vec::new());
    picture.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

/// Copies a tree, deepest and last names first, so that directories list in another order.
pub(crate) fn copy_backwards(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    let mut entries: Vec<_> = fs::read_dir(from).unwrap().map(Result::unwrap).collect();
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.file_name()));
    for entry in entries {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_backwards(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn rank_of(path: &str) -> u32 {
    let name = path.rsplit('/').next().unwrap();
    name.split('-').next().unwrap().parse().unwrap()
}

fn seed_of(path: &str) -> u8 {
    path.bytes().fold(0, u8::wrapping_add)
}
