//! Archives of every format version still open, and today's writer still writes the newest of them.
//!
//! To leave a golden file for a new version: `WAKASHU_WRITE_GOLDEN=1 cargo test -p wakashu-archive --test compat`.

mod walk;

use std::path::PathBuf;

use wakashu_archive::VERSION;

use crate::walk::{sample, walk};

fn golden(version: u16) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../fixtures/archives/v{version}.wakashu"))
}

#[test]
fn every_golden_archive_opens() {
    for version in 1..=VERSION {
        let bytes = std::fs::read(golden(version)).unwrap();
        assert_eq!(walk(&bytes), Ok(33), "version {version}");
    }
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
