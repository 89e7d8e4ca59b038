//! What the program says, and where.

use std::process::Stdio;

use crate::harness::Place;

fn settings() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.add_filter(r"[0-9a-f]{64}", "<digest>");
    settings.add_filter(r#""seconds": [0-9.e-]+"#, r#""seconds": 0.0"#);
    settings.add_filter(r"time       .*", "time       <time>");
    // Sizes follow the codecs.
    settings.add_filter(r#""(bytes|bytes_out|file_bytes|stored_bytes|stored_offset)": [0-9]+"#, r#""$1": 0"#);
    settings.add_filter(r"(small|medium|large|out) ( +)[0-9.]+ k?B", "$1 $2<bytes>");
    settings
}

#[test]
fn build_prints_one_documented_object() {
    let place = Place::small().text("第2回/1-a").file("第1回/1-Laptop/TextData1.json", "{\"Honka\":\"u\"}");
    let run = place.run(["build", "wakashu_dir", "-o", "out", "--no-cache", "--json", "--keep-going"]);
    settings().bind(|| insta::assert_snapshot!("build_json", run.stdout));
}

#[test]
fn build_talks_on_stderr_and_ends_with_figures() {
    let place = Place::small().text("第2回/1-a");
    let run = place.run(["build", "wakashu_dir", "-o", "out/a.wakashu", "--no-cache"]);
    assert_eq!(run.stdout, "out/a.wakashu\n");
    settings().bind(|| insta::assert_snapshot!("build_talk", run.stderr));
}

#[test]
fn check_prints_one_documented_object() {
    let place = Place::small();
    place.run(["build", "wakashu_dir", "-o", "out/a.wakashu", "--no-cache"]);
    let run = place.run(["check", "out/a.wakashu", "--json"]);
    settings().bind(|| insta::assert_snapshot!("check_json", run.stdout));
}

#[test]
fn show_prints_one_documented_object() {
    let place = Place::small();
    place.run(["build", "wakashu_dir", "-o", "out/a.wakashu", "--no-cache"]);
    let run = place.run(["show", "out/a.wakashu", "--json"]);
    settings().bind(|| insta::assert_snapshot!("show_json", run.stdout));
    let run = place.run(["show", "out/a.wakashu", "--json", "--round", "1", "--rank", "2"]);
    settings().bind(|| insta::assert_snapshot!("show_entry_json", run.stdout));
}

#[test]
fn colour_is_used_when_asked_for_and_quiet_is_quiet() {
    let place = Place::small().text("第2回/1-a");
    let stderr = |arguments: &[&str]| {
        let mut command = place.command(["build", "wakashu_dir", "-o", "out", "--no-cache"]);
        command.args(arguments);
        crate::harness::Run::of(command).stderr
    };
    assert!(!stderr(&[]).contains('\u{1b}'));
    assert!(stderr(&["--color", "always"]).contains("\u{1b}[1;33mwarning\u{1b}[0m"));
    assert!(stderr(&["-v"]).contains("collection walked"));
    // One line for an entry without a picture, and none under `-q`.
    assert_eq!(stderr(&[]).matches("picture is missing").count(), 1);
    assert!(!stderr(&[]).contains("add a picture"));
    assert_eq!(stderr(&["-q"]), "");
    assert!(stderr(&["-q", "--strict"]).contains("picture is missing"), "it fails for a reason");
}

#[test]
fn a_reader_that_leaves_is_no_fault() {
    let mut place = Place::small();
    for rank in 1..=200 {
        place = place.text(&format!("第2回/{rank}-{}", "x".repeat(30)));
    }
    let archive = place.build();
    for arguments in [&["show", "--json", "--round", "2"][..], &["check", "--json"]] {
        let mut command = place.command(arguments);
        let mut child = command.arg(&archive).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        drop(child.stdout.take());
        assert_eq!(child.wait().unwrap().code(), Some(0), "{arguments:?}");
    }
}

#[test]
fn every_verb_has_help_with_examples_and_completions_exist() {
    let place = Place::new();
    for verb in ["build", "check", "show", "completions"] {
        let run = place.run([verb, "--help"]);
        assert!(run.code == 0 && run.stdout.contains("Examples:"), "{verb}");
    }
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(place.run(["completions", shell]).stdout.contains("keep-going"), "{shell}");
    }
}
