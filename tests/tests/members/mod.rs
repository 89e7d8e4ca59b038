//! What the workspace promises to those who build it.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use wakashu_tests::{program, repository};

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

/// Collects the variables of ours that a folder's files name.
fn variables(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_foreign = [".git", ".tools", "target", "node_modules", "corpus"].contains(&name);
        if path.is_dir() && !is_foreign {
            variables(&path, found);
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            let is_of_name =
                |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_';
            for rest in text.split("WAKASHU_").skip(1) {
                let end = rest.find(|letter| !is_of_name(letter)).unwrap_or(rest.len());
                if end > 0 {
                    found.insert(format!("WAKASHU_{}", &rest[..end]));
                }
            }
        }
    }
}

/// The server refuses variables it does not know; one that another program or a script of ours reads must not stop it.
#[test]
fn no_variable_of_ours_stops_the_server() {
    let mut names = BTreeSet::new();
    variables(repository(), &mut names);
    for misspelt in ["WAKASHU_TOKEN_SHA256", "WAKASHU_ALOWED_HOSTS"] {
        assert!(names.remove(misspelt), "{misspelt} is misspelt on purpose in the tests of the settings");
    }
    assert!(names.len() > 30, "{names:?}");
    let mut command = Command::new(program("wakashu-function"));
    let output = command.arg("config").envs(names.iter().map(|name| (name, ""))).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
