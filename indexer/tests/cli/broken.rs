//! Every folder of `fixtures/broken` is reported as it says itself.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::harness::{Place, Run, fixtures, lasting_cache};

#[test]
fn every_broken_collection_is_reported_as_expected_and_nothing_else() {
    let mut folders: Vec<_> =
        fs::read_dir(fixtures().join("broken")).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    assert!(folders.len() > 50, "fixtures are missing");
    let mut wrong = Vec::new();
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        let name = folder.file_name().unwrap().to_string_lossy();
        if let Err(message) = compare(folder) {
            wrong.push(format!("{name}: {message}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What a curator reads about each of them. Every sentence says what is wrong, where, and what to do.
#[test]
fn every_broken_collection_is_told_in_both_languages() {
    let mut folders: Vec<_> =
        fs::read_dir(fixtures().join("broken")).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    for language in ["en", "ja"] {
        let mut told = String::new();
        for folder in folders.iter().filter(|folder| folder.is_dir()) {
            let place = Place::new();
            let mut command = place.command(["check", "wakashu_dir", "--language", language, "--deep"]);
            let run = Run::of({
                command.current_dir(folder);
                command
            });
            let name = folder.file_name().unwrap().to_string_lossy();
            told.push_str(&format!("== {name}\n{}", run.stderr));
        }
        let mut settings = insta::Settings::clone_current();
        settings.set_prepend_module_to_snapshot(false);
        settings.bind(|| insta::assert_snapshot!(format!("broken_{language}"), told));
    }
}

fn compare(folder: &Path) -> Result<(), String> {
    let expected: Value = serde_json::from_slice(&fs::read(folder.join("expected.json")).unwrap()).unwrap();
    let mut expected_problems = vec![expected.clone()];
    expected_problems.extend(expected["also"].as_array().cloned().unwrap_or_default());
    let any_error = expected_problems.iter().any(|problem| problem["severity"] == "error");

    let place = Place::new();
    let collection = folder.join("wakashu_dir");
    let collection = collection.as_os_str();
    let cache = lasting_cache();
    let build = |more: &[&str]| {
        let mut command = place.command(["build", "-o", "out", "--json", "--cache-dir"]);
        command.arg(&cache).arg(collection).args(more);
        Run::of(command)
    };

    let run = build(&[]);
    same_problems(&expected_problems, &run)?;
    let (code, archives) = if any_error { (1, 0) } else { (0, 1) };
    if (run.code, place.out_names().len()) != (code, archives) {
        return Err(format!("exit code {}, files {:?}", run.code, place.out_names()));
    }
    if run.json()["archive"].is_null() != any_error {
        return Err("archive and problems do not agree".to_owned());
    }

    let strict = build(&["--strict"]);
    same_problems(&expected_problems, &strict)?;
    if strict.code != 1 || !strict.json()["archive"].is_null() {
        return Err(format!("exit code {} with --strict", strict.code));
    }

    let mut check = place.command(["check", "--json", "--deep"]);
    check.arg(collection);
    let check = Run::of(check);
    same_problems(&expected_problems, &check).map_err(|message| format!("check: {message}"))?;
    if check.code == code { Ok(()) } else { Err(format!("check: exit code {}", check.code)) }
}

fn same_problems(expected: &[Value], run: &Run) -> Result<(), String> {
    let json = run.json();
    let mut found = json["problems"].as_array().unwrap().clone();
    for problem in &found {
        if problem["hint"].as_str().is_none_or(str::is_empty) {
            return Err(format!("no hint: {problem}"));
        }
    }
    for wanted in expected {
        let position = found.iter().position(|problem| {
            let message = problem["message"].as_str().unwrap();
            let mentions = wanted["mentions"].as_array().unwrap();
            problem["severity"] == wanted["severity"]
                && problem["path"] == wanted["path"]
                && mentions.iter().all(|part| message.contains(part.as_str().unwrap()))
        });
        match position {
            Some(position) => drop(found.remove(position)),
            None => return Err(format!("expected {wanted}\n  among {found:#?}")),
        }
    }
    if found.is_empty() { Ok(()) } else { Err(format!("not expected: {found:#?}")) }
}
