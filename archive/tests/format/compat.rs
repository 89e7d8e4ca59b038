//! Archives of every readable format version still open, older ones are refused as such, and today's writer still writes
//! the newest of them.
//!
//! To leave a golden file for a new version or for other search keys: `WAKASHU_WRITE_GOLDEN=1 cargo test -p wakashu-archive --test format`.

use std::path::PathBuf;

use wakashu_archive::{Archive, ArchiveError, ColumnName, ContentHash, KEYS_VERSION, VERSION};

use crate::walk::{sample, walk};

/// Versions that were never released, and are refused.
const NEVER_RELEASED: u16 = 1;

/// The readable golden files: format version, version of the search keys, digest.
const GOLDEN: [(u16, u16, &str); 2] = [
    (2, 1, "59e2c995bf8f35ffa6c362f71cdcd46b15da02aba2da8c64398fbcde7a41812a"),
    (2, 2, "eca58e837f684c74f1390ddd93e30cdf9c4e6fb6575a9e47a3a558b9352d0b7c"),
];

fn golden(version: u16, keys: u16) -> PathBuf {
    // The first keys of a version need no name of their own.
    let keys = if keys == 1 { String::new() } else { format!("-keys{keys}") };
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../fixtures/archives/v{version}{keys}.wakashu"))
}

#[test]
fn every_golden_archive_opens() {
    assert!((NEVER_RELEASED + 1..=VERSION).all(|version| GOLDEN.iter().any(|golden| golden.0 == version)));
    for (version, keys, _) in GOLDEN {
        let bytes = std::fs::read(golden(version, keys)).unwrap();
        assert_eq!(walk(&bytes), Ok(33), "version {version}, keys {keys}");
        let archive = Archive::open(bytes.as_slice()).unwrap();
        assert_eq!(archive.trailer().version(), version);
        // The name of a published archive: it must not change with the build that reads it.
        let trailer = bytes.last_chunk::<64>().unwrap();
        assert_eq!(archive.digest(), ContentHash::of(trailer), "version {version}, keys {keys}");
    }
}

#[test]
fn version_1_is_refused_as_too_old_with_what_to_do() {
    let bytes = std::fs::read(golden(1, 1)).unwrap();
    let refused = walk(&bytes).unwrap_err();
    assert_eq!(refused, ArchiveError::TooOld { found: 1, oldest: 2 });
    assert!(refused.to_string().contains("rebuild it with this indexer"), "{refused}");
}

#[test]
fn the_golden_digests_are_frozen() {
    for (version, keys, digest) in GOLDEN {
        let archive = Archive::open(std::fs::read(golden(version, keys)).unwrap().as_slice()).unwrap();
        assert_eq!(archive.digest().to_string(), digest, "version {version}, keys {keys}");
        assert_eq!(archive.root().rounds[0].extras[0].title, "お題");
    }
}

#[test]
fn the_golden_columns_hold_the_keys_they_state() {
    for (version, keys, _) in GOLDEN {
        let bytes = std::fs::read(golden(version, keys)).unwrap();
        let archive = Archive::open(bytes.as_slice()).unwrap();
        for name in ColumnName::ALL {
            let reference = archive.column(name).unwrap();
            let from = usize::try_from(reference.offset).unwrap();
            assert_eq!(bytes[from + 12..from + 14], keys.to_le_bytes(), "{name:?}");
            assert_eq!(bytes[from + 14..from + 16], [0, 0], "{name:?}");
        }
    }
    let last = GOLDEN.last().unwrap();
    assert_eq!((VERSION, KEYS_VERSION), (last.0, last.1), "other keys leave a golden file of their own");
}

#[test]
fn the_writer_still_writes_the_frozen_format() {
    let written = sample(33);
    let path = golden(VERSION, KEYS_VERSION);
    if std::env::var_os("WAKASHU_WRITE_GOLDEN").is_some() && !path.exists() {
        std::fs::write(&path, &written).unwrap();
    }
    // A difference here means that the format changed: it needs a new version, not a new golden file.
    assert!(std::fs::read(&path).unwrap() == written, "the bytes of format version {VERSION} changed");
}
