//! What SECURITY.md promises is held by tests, and they are there.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use wakashu_tests::repository;

/// Collects the sources of all crates.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() && !name.starts_with('.') && name != "target" && name != "node_modules" {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Returns what stands between backticks in the last cell of the table's rows.
fn named(text: &str) -> Vec<&str> {
    let rows = text.lines().filter(|line| line.starts_with('|') && line.ends_with('|'));
    let cells = rows.filter_map(|row| row.trim_end_matches('|').trim_end().rsplit_once(" | "));
    cells.flat_map(|(_, cell)| cell.split('`').skip(1).step_by(2)).collect()
}

#[test]
fn every_test_that_security_md_names_is_there() {
    let text = std::fs::read_to_string(repository().join("SECURITY.md")).unwrap();
    let mut files = Vec::new();
    sources(repository(), &mut files);
    let code: Vec<String> = files.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let named = named(&text);
    assert!(named.len() > 50, "the table was not read: {named:?}");
    for name in named {
        let is_there = if name.contains(['/', '.']) {
            repository().join(name).exists()
        } else {
            let (function, listed) = (format!("fn {name}("), format!("    {name},\n"));
            code.iter().any(|file| file.contains(&function) || file.contains(&listed))
        };
        assert!(is_there, "SECURITY.md names `{name}`, which is nowhere");
    }
}
