//! Archives of every readable format version still open, older ones are refused as such, and today's writer still writes
//! the newest of them.
//!
//! To leave a golden file for a new version: `WAKASHU_WRITE_GOLDEN=1 cargo test -p wakashu-archive --test compat`.

mod walk;

use std::path::PathBuf;

use wakashu_archive::{Archive, ArchiveError, ColumnName, ContentHash, KEYS_VERSION, VERSION};

use crate::walk::{sample, walk};

/// Versions that were never released, and are refused.
const NEVER_RELEASED: u16 = 1;

const GOLDEN_DIGEST: &str = "59e2c995bf8f35ffa6c362f71cdcd46b15da02aba2da8c64398fbcde7a41812a";

fn golden(version: u16) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../fixtures/archives/v{version}.wakashu"))
}

#[test]
fn every_golden_archive_opens() {
    for version in NEVER_RELEASED + 1..=VERSION {
        let bytes = std::fs::read(golden(version)).unwrap();
        assert_eq!(walk(&bytes), Ok(33), "version {version}");
        let archive = Archive::open(bytes.as_slice()).unwrap();
        assert_eq!(archive.trailer().version(), version);
        // The name of a published archive: it must not change with the build that reads it.
        let trailer = bytes.last_chunk::<64>().unwrap();
        assert_eq!(archive.digest(), ContentHash::of(trailer), "version {version}");
    }
}

#[test]
fn version_1_is_refused_as_too_old_with_what_to_do() {
    let bytes = std::fs::read(golden(1)).unwrap();
    let refused = walk(&bytes).unwrap_err();
    assert_eq!(refused, ArchiveError::TooOld { found: 1, oldest: 2 });
    assert!(refused.to_string().contains("rebuild it with this indexer"), "{refused}");
}

#[test]
fn the_golden_digests_are_frozen() {
    let archive = Archive::open(std::fs::read(golden(2)).unwrap().as_slice()).unwrap();
    assert_eq!(archive.digest().to_string(), GOLDEN_DIGEST);
    assert_eq!(archive.root().rounds[0].extras[0].title, "お題");
}

#[test]
fn the_golden_columns_hold_the_keys_they_state() {
    let bytes = std::fs::read(golden(2)).unwrap();
    let archive = Archive::open(bytes.as_slice()).unwrap();
    for name in ColumnName::ALL {
        let reference = archive.column(name).unwrap();
        let from = usize::try_from(reference.offset).unwrap();
        assert_eq!(bytes[from + 12..from + 16], [1, 0, 0, 0], "{name:?}");
    }
    assert_eq!(KEYS_VERSION, 1, "other keys leave a golden file of their own");
}

#[test]
fn the_writer_still_writes_the_frozen_format() {
    let written = sample(33);
    let path = golden(VERSION);
    if std::env::var_os("WAKASHU_WRITE_GOLDEN").is_some() && !path.exists() {
        std::fs::write(&path, &written).unwrap();
    }
    // A difference here means that the format changed: it needs a new version, not a new golden file.
    assert!(std::fs::read(&path).unwrap() == written, "the bytes of format version {VERSION} changed");
}
