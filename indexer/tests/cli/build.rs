//! Building: what comes out, where it goes, what is left out.

use std::fs;

use wakashu_indexer::cmd::build::{BuildRequest, build};
use wakashu_indexer::output::Output;
use wakashu_indexer::report::Report;

use crate::harness::{Place, Run, fixtures, lasting_cache, png};

#[test]
fn the_sample_builds_without_a_word_and_checks() {
    let place = Place::new();
    let mut command = place.command(["build", "-o", "out", "--strict", "--json", "--cache-dir"]);
    command.arg(lasting_cache()).arg(fixtures().join("wakashu_dir"));
    let run = Run::of(command);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let json = run.json();
    assert_eq!(json["problems"].as_array().unwrap().len(), 0);
    assert!(json["summary"]["rounds"].as_u64().unwrap() >= 3);
    assert!(json["summary"]["entries"].as_u64().unwrap() >= 16);
    assert_eq!(json["summary"]["pictures"]["small"]["count"], json["summary"]["entries"]);
    let run = place.run(["check", "--strict", json["archive"]["path"].as_str().unwrap()]);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
fn what_is_tolerated_is_tolerated_silently() {
    let place = Place::new();
    let mut command = place.command(["build", "-o", "out", "--strict", "--cache-dir"]);
    command.arg(lasting_cache()).arg(fixtures().join("tolerated/wakashu_dir"));
    let run = Run::of(command);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(!run.stderr.contains("warning"), "{}", run.stderr);
}

#[test]
fn the_archive_goes_where_it_is_told() {
    let place = Place::small();
    let run = place.run(["build", "wakashu_dir", "--no-cache"]);
    let name = run.stdout.trim_end().to_owned();
    assert_eq!(name.len(), 64 + ".wakashu".len());
    assert!(place.path().join(&name).exists());

    for (argument, path) in [
        ("out", format!("out/{name}")),
        ("new/deep/", format!("new/deep/{name}")),
        ("out/latest.wakashu", "out/latest.wakashu".to_owned()),
    ] {
        let run = place.run(["build", "wakashu_dir", "-q", "--no-cache", "-o", argument]);
        assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (0, &*format!("{path}\n"), ""));
        assert_eq!(fs::read(place.path().join(path)).unwrap(), fs::read(place.path().join(&name)).unwrap());
    }
    for argument in ["nowhere", "missing/latest.wakashu", "wakashu_dir/和歌集.json/x.wakashu"] {
        let run = place.run(["build", "wakashu_dir", "--no-cache", "-o", argument]);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{argument}: {}", run.stderr);
        assert!(run.stderr.starts_with("error: "), "{}", run.stderr);
    }
    for arguments in
        [&["build", "absent"][..], &["build", "wakashu_dir/和歌集.json"], &["check", "absent"], &["build"]]
    {
        assert_eq!(place.run(arguments).code, 2, "{arguments:?}");
    }
}

#[test]
fn a_failed_build_leaves_nothing_behind_and_cleans_up_after_killed_ones() {
    let place = Place::small().file("第1回/1-Laptop/TextData1.json", "{");
    fs::write(place.out().join(".wakashu-build-1-0.tmp"), "half").unwrap();
    let run = place.run(["build", "wakashu_dir", "-o", "out", "--no-cache"]);
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
    assert!(run.stderr.contains("no archive was written"), "{}", run.stderr);
    assert_eq!(place.out_names(), [""; 0]);
}

#[test]
fn keep_going_leaves_bad_entries_out_and_says_so() {
    let place = Place::small()
        .file("第1回/1-Laptop/Picture1.png", "no picture")
        .file("第1回/2-Wakashu/TextData2.json", "[]")
        .entry("第1回/3-a")
        .entry("第1回/3-b")
        .entry("第2回/1-a")
        .entry("第二回/1-a")
        .directory("第1回/04-x");
    let run = place.run(["build", "wakashu_dir", "-o", "out", "--no-cache", "--json", "--keep-going"]);
    assert_eq!(run.code, 1);
    let json = run.json();
    assert_eq!(json["summary"]["entries"], 2);
    assert_eq!(json["summary"]["rounds"], 2);
    let left_out = ["第1回/1-Laptop", "第1回/2-Wakashu", "第1回/3-a", "第1回/3-b", "第2回/1-a", "第二回/1-a"];
    assert_eq!(json["left_out"], serde_json::json!(left_out));
    assert!(run.stderr.contains("left out: 第1回/2-Wakashu"), "{}", run.stderr);
    let check = place.run(["check", json["archive"]["path"].as_str().unwrap()]);
    assert_eq!(check.code, 0, "{}", check.stderr);
}

#[test]
fn the_wrong_directory_never_becomes_an_empty_archive() {
    let no_round = Place::new().file("memo.txt", "");
    let no_entry = Place::new().directory("第1回").directory("第2回");
    let no_good_entry = Place::new().file("第1回/1-a/TextData1.json", "{");
    for place in [no_round, no_entry, no_good_entry] {
        for more in ["--keep-going", "--no-progress"] {
            let run = place.run(["build", "wakashu_dir", "-o", "out", "--no-cache", more]);
            assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{more}: {}", run.stderr);
            assert_eq!(place.out_names(), [""; 0]);
        }
    }
}

#[test]
fn the_folder_that_was_probably_meant_is_named() {
    let place = Place::small();
    let hint = |folder: &str| {
        let run = place.run(["check", folder, "--json"]);
        assert_eq!(run.code, 1, "{folder}: {}", run.stderr);
        let json = run.json();
        let problems = json["problems"].as_array().unwrap();
        let error = problems.iter().find(|problem| problem["severity"] == "error").unwrap();
        assert_eq!(error["path"], ".");
        format!("{} {}", error["message"].as_str().unwrap(), error["hint"].as_str().unwrap())
    };
    assert!(hint(".").contains("did you mean `./wakashu_dir`?"), "{}", hint("."));
    fs::remove_file(place.dir().join("和歌集.json")).unwrap();
    assert!(hint(".").contains("did you mean `./wakashu_dir`?"), "{}", hint("."));
    assert!(hint("wakashu_dir/第1回").contains("looks like a round"));

    assert_eq!(place.run(["publish", "wakashu_dir", "store", "--no-cache"]).code, 0);
    assert!(hint("store").contains("this is a store"), "{}", hint("store"));
}

#[test]
fn warnings_fail_only_when_strict() {
    let place = Place::small().text("第2回/1-a").directory("第3回").file("memo.txt", "");
    let run = place.run(["build", "wakashu_dir", "-o", "out", "--no-cache", "--json"]);
    assert_eq!(run.code, 0);
    assert_eq!(run.problems(), ["warning memo.txt", "warning 第2回/1-a", "warning 第3回"]);
    assert_eq!(run.json()["summary"]["rounds"], 4);
    let run = place.run(["build", "wakashu_dir", "-o", "strict/", "--no-cache", "--strict"]);
    assert_eq!((run.code, run.stdout.as_str()), (1, ""));
    assert_eq!(place.run(["check", "wakashu_dir", "--strict"]).code, 1);
    assert_eq!(place.run(["check", "wakashu_dir"]).code, 0);
}

#[test]
fn texts_at_the_limit_build_and_over_it_are_problems() {
    let text = |filler: &str, extra: &str| {
        format!(
            "{{\"AccountName\":\"@a\",\"HonkadoriWaka\":\"p\",\"Honka\":[],\"Prompt\":\"{filler}\",\"x\":{extra}}}"
        )
    };
    let most = 1 << 20;
    for (length, code) in [(most, 0), (most + 1, 1)] {
        let padded = text("", "0") + &" ".repeat(length - text("", "0").len());
        let place = Place::new().entry("第1回/1-a").file("第1回/1-a/TextData1.json", padded);
        let run = place.run(["build", "wakashu_dir", "-o", "out", "--no-cache"]);
        assert_eq!(run.code, code, "{}", run.stderr);
    }
    // Small enough as a file, too large once escaped twice over.
    let quotes = format!("[\"{}\"]", "\\\"".repeat(300_000));
    let place = Place::new().file("和歌集.json", "{\"Title\":\"試し\"}");
    let place = place.entry("第1回/1-a").file("第1回/1-a/TextData1.json", text("", &quotes));
    let run = place.run(["build", "wakashu_dir", "-o", "out", "--no-cache", "--json"]);
    assert_eq!(run.problems(), ["error 第1回/1-a/TextData1.json"]);

    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let place = Place::new().entry("第1回/1-a").file("第1回/1-a/TextData1.json", text("", &deep));
    place.build();
}

#[test]
fn a_rounds_own_period_wins_over_the_map() {
    let place = Place::small().file(
        "編纂時期.json",
        "{\"第一回\":\"1999年\",\"番外編\":{\"開始\":\"2025/1/1\",\"終了\":\"2025/1/31\"}}",
    );
    let archive = place.build();
    let rounds = place.run(["show", "--json", archive.to_str().unwrap()]).json()["rounds"].clone();
    assert_eq!(rounds[0]["period"], serde_json::json!({"start": "2025-04-01", "end": "2025-05-31"}));
    assert_eq!(rounds[1]["period"], serde_json::json!({"start": "2025-01-01", "end": "2025-01-31"}));
}

#[test]
fn pictures_over_the_pixel_limit_are_refused_until_allowed() {
    let place = Place::new().text("第1回/1-a").file("第1回/1-a/Picture1.png", png(40, 40, 1));
    for (limit, code) in [("1599", 1), ("1600", 0)] {
        let run = place.run(["build", "wakashu_dir", "-o", "out", "--no-cache", "--max-pixels", limit]);
        assert_eq!(run.code, code, "{}", run.stderr);
    }
}

#[test]
fn one_request_can_be_built_again_and_again() {
    let place = Place::small();
    let mut request = BuildRequest::new(place.dir(), Output::Directory(place.out()));
    request.cache_dir = Some(place.path().join("cache"));
    let silent = Report::silent();
    let first = build(&request, &silent).unwrap();
    let again = build(&request, &silent).unwrap();
    assert_eq!(first.archive, again.archive);
    assert_eq!((first.summary.cache_misses, again.summary.cache_hits), (4, 4));

    let place = place.file("第1回/1-Laptop/TextData1.json", "{");
    let broken = build(&request, &silent).unwrap();
    assert!(broken.archive.is_none());
    assert_eq!(broken.tally.errors, 1);
    let place = place.text("第1回/1-Laptop");
    assert_eq!(build(&request, &silent).unwrap().archive, first.archive);
    assert_eq!(place.out_names().len(), 1);
}
