//! The docs show what the program goes by. `UPDATE_DOCS=1 cargo test -p wakashu-tests --test e2e docs` rewrites them.

use std::process::Command;

use wakashu_tests::{program, repository};

/// A file, the marker around the generated part, and the verb that writes it.
const GENERATED: [(&str, &str, &str); 3] = [
    ("docs/settings.md", "settings", "config"),
    ("docs/errors.md", "errors", "errors"),
    ("docs/tools.md", "tools", "tools"),
];

fn output(arguments: &[&str], settings: &[(&str, &str)]) -> String {
    let mut command = Command::new(program("wakashu-function"));
    let output = command.args(arguments).envs(settings.iter().copied()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_docs_are_up_to_date() {
    for (file, marker, verb) in GENERATED {
        let path = repository().join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        let (open, close) = (format!("<!-- {marker} -->\n"), format!("<!-- /{marker} -->"));
        let (before, rest) = text.split_once(&open).unwrap_or_else(|| panic!("{file} has no {open}"));
        let (_, after) = rest.split_once(&close).unwrap_or_else(|| panic!("{file} has no {close}"));
        let written = output(&[verb, "--markdown"], &[]);
        let expected = format!("{before}{open}{written}{close}{after}");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, expected).unwrap();
        } else {
            assert!(
                text == expected,
                "{file} is out of date: UPDATE_DOCS=1 cargo test -p wakashu-tests --test e2e docs"
            );
        }
    }
}

#[test]
fn settings_are_shown_without_their_secrets() {
    let hash = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
    let shown = output(&["config"], &[("WAKASHU_TOKENS_SHA256", hash)]);
    assert!(shown.contains("WAKASHU_TOKENS_SHA256=****:read\n"), "{shown}");
    assert!(!shown.contains(&hash[..8]), "{shown}");
    assert_eq!(output(&["tools"], &[]).lines().count(), 5);
    assert_eq!(output(&["errors"], &[]).lines().count(), 11);
}
