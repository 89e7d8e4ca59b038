//! The sample collection, built by the real indexer.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use wakashu_archive::ContentHash;

use crate::programs::{program, repository, target_folder};

/// Returns an archive of `fixtures/wakashu_dir`.
///
/// Encoding pictures is slow work, so the archive is kept in the target folder under a name made of everything it
/// depends on: the collection and the sources that build it.
#[must_use]
pub fn sample() -> &'static Path {
    static SAMPLE: OnceLock<PathBuf> = OnceLock::new();
    SAMPLE.get_or_init(|| {
        let root = repository();
        let mut seen = Vec::new();
        for folder in ["fixtures/wakashu_dir", "indexer/src", "archive/src"] {
            digest_folder(&root.join(folder), &mut seen);
        }
        let name = ContentHash::of(&seen).to_string();
        let folder = target_folder().join("tmp");
        let path = folder.join(format!("sample-{}.wakashu", &name[..16]));
        if !path.exists() {
            build(&folder, &path);
        }
        path
    })
}

fn build(folder: &Path, path: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    // Written beside and renamed, because several test processes may build at once.
    let own = folder.join(format!("sample-{}-partial.wakashu", std::process::id()));
    let built = Command::new(program("wakashu-indexer"))
        .args(["build", "--no-progress", "--quiet", "--output"])
        .arg(&own)
        .arg("--cache-dir")
        .arg(folder.join("pictures"))
        .arg(repository().join("fixtures/wakashu_dir"))
        .output()
        .expect("the indexer starts");
    assert!(built.status.success(), "the sample does not build:\n{}", String::from_utf8_lossy(&built.stderr));
    std::fs::rename(own, path).unwrap();
}

/// Appends the names and hashes of all files below `folder`, in order.
fn digest_folder(folder: &Path, seen: &mut Vec<u8>) {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        seen.extend_from_slice(path.file_name().unwrap().as_encoded_bytes());
        if path.is_dir() {
            digest_folder(&path, seen);
        } else {
            seen.extend_from_slice(&ContentHash::of(&std::fs::read(&path).unwrap()).0);
        }
    }
}
