//! What the workspace promises to those who build it.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::BTreeSet;
use std::process::Command;

use wakashu_tests::repository;

/// Returns what `cargo tree` lists for a selection, each line once.
fn tree(options: &[&str]) -> BTreeSet<String> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(repository()).args(["tree", "--locked", "--prefix", "none"]).args(options);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{options:?}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// Returns the dependencies from elsewhere, with their features, that tests of a selection are built with.
fn dependencies(selection: &[&str]) -> BTreeSet<String> {
    let options = ["--edges", "normal,build,dev", "--no-dedupe", "--format", "{p} with {f}"];
    let all = tree(&[&options, selection].concat());
    all.into_iter().filter(|line| !line.contains("(/")).collect()
}

#[test]
fn whichever_member_is_tested_no_dependency_is_built_again() {
    let whole = dependencies(&["--workspace"]);
    let members = tree(&["--workspace", "--depth", "0", "--format", "{p}"]);
    assert!(members.len() > 8, "{members:?}");
    for member in &members {
        let name = member.split(' ').next().unwrap();
        let alone = dependencies(&["--package", name]);
        let others: Vec<_> = alone.difference(&whole).collect();
        assert!(
            others.is_empty(),
            "tests of {name} alone take other features; it must test with wakashu-support, and that must depend on what \
             any tests depend on: {others:#?}"
        );
    }
}
