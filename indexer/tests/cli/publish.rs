//! What is published, what is not, and what is said about it.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use wakashu_archive::{ContentHash, RoundDraft, Writer};

use crate::harness::{Place, Run};

#[test]
fn the_wrong_folder_does_not_replace_what_is_served() {
    let place = Place::small();
    assert_eq!(place.run(["publish", "wakashu_dir", "store", "--no-cache"]).code, 0);
    let pointer = place.path().join("store/current.json");
    let before = fs::read(&pointer).unwrap();
    for folder in [".", "store", "wakashu_dir/第1回", "wakashu_dir/第1回/1-Laptop"] {
        let run = place.run(["publish", folder, "store", "--no-cache"]);
        assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{folder}: {}", run.stderr);
        assert_eq!(fs::read(&pointer).unwrap(), before);
        assert_eq!(fs::read_dir(place.path().join("store/archives")).unwrap().count(), 1);
    }
}

#[test]
fn publish_prints_one_object_whether_it_went_well_or_not() {
    let place = Place::small().text("第2回/1-a");
    let run = place.run(["publish", "wakashu_dir", "store", "--no-cache", "--json"]);
    assert_eq!((run.code, run.problems()), (0, vec!["warning 第2回/1-a".to_owned()]));
    let json = run.json();
    assert_eq!(json["tally"], serde_json::json!({"errors": 0, "warnings": 1}));
    assert_eq!((&json["switched"], &json["archive"]), (&true.into(), &"uploaded".into()));
    let served = json["current"]["digest"].as_str().unwrap().to_owned();

    let strict = place.run(["publish", "wakashu_dir", "store", "--no-cache", "--json", "--strict"]);
    assert_eq!((strict.code, strict.problems()), (1, run.problems()));

    let place = place.file("第1回/1-Laptop/TextData1.json", "{");
    let run = place.run(["publish", "wakashu_dir", "store", "--no-cache", "--json", "--dry-run"]);
    assert_eq!(run.code, 1);
    assert_eq!(run.problems(), ["error 第1回/1-Laptop/TextData1.json", "warning 第2回/1-a"]);
    let mut json = run.json();
    json["problems"].take();
    let nothing = serde_json::json!({
        "dry_run": true, "switched": false, "archive": null, "current": null, "previous": null, "pruned": [],
        "prune_problem": null, "tally": {"errors": 1, "warnings": 1}, "problems": null,
    });
    assert_eq!(json, nothing);

    // An archive has none, and history says what is stored.
    let archive = format!("store/archives/{served}.wakashu");
    let run = place.run(["publish", &archive, "elsewhere", "--json"]);
    assert_eq!((run.code, run.problems().len()), (0, 0));
    let stored: serde_json::Value =
        serde_json::from_slice(&fs::read(place.path().join("store/current.json")).unwrap()).unwrap();
    assert_eq!(place.run(["history", "store", "--json"]).json(), stored);
}

#[test]
fn what_does_not_outlive_the_run_and_options_of_other_verbs_are_not_mentioned() {
    let place = Place::small();
    let run = place.run(["publish", "wakashu_dir", "store", "--no-cache"]);
    let paths: Vec<&str> = run.stderr.lines().filter(|line| line.contains(".wakashu")).collect();
    assert!(run.code == 0 && paths.is_empty(), "{}", run.stderr);

    let place = place.file("第1回/1-Laptop/TextData1.json", "{");
    for arguments in [&["publish", "wakashu_dir", "store"][..], &["preview", "wakashu_dir", "--port", "0"]] {
        let mut command = place.command(arguments);
        command.arg("--no-cache");
        let run = Run::of(command);
        assert_eq!(run.code, 1);
        assert!(run.stderr.contains("no archive was made"), "{}", run.stderr);
        assert!(!run.stderr.contains("--keep-going"), "{}", run.stderr);
    }
    let build = place.run(["build", "wakashu_dir", "-o", "out", "--no-cache"]);
    assert!(build.stderr.contains("--keep-going"), "{}", build.stderr);
}

#[test]
fn an_archive_without_entries_is_refused_as_a_collection_without_entries_is() {
    let place = Place::new().directory("第1回");
    let archive = place.path().join("empty.wakashu");
    let mut writer = Writer::new(fs::File::create(&archive).unwrap()).unwrap();
    writer.begin_round(RoundDraft { title: "第1回".to_owned(), ..RoundDraft::default() }).unwrap();
    writer.finish("空".to_owned(), String::new(), ContentHash::of(b"")).unwrap();
    for (source, code) in [("wakashu_dir", 1), ("empty.wakashu", 2)] {
        for more in [&[][..], &["--dry-run"]] {
            let run = place.run([&["publish", source, "store"], more].concat());
            assert_eq!((run.code, run.stdout.as_str()), (code, ""), "{source}: {}", run.stderr);
            assert!(run.stderr.contains("no round has an entry"), "{source}: {}", run.stderr);
            assert!(!place.path().join("store/current.json").exists());
        }
    }
}

#[test]
fn history_gives_japanese_time_and_its_data_utc() {
    let place = Place::small();
    assert_eq!(place.run(["publish", "wakashu_dir", "store", "--no-cache"]).code, 0);
    let pointer = place.path().join("store/current.json");
    let mut stored: serde_json::Value = serde_json::from_slice(&fs::read(&pointer).unwrap()).unwrap();
    stored["published_at"] = "2026-11-16T15:30:00Z".into();
    fs::write(&pointer, stored.to_string()).unwrap();
    let run = place.run(["history", "store"]);
    assert!(run.stdout.starts_with("served  2026-11-17 00:30 JST  "), "{}", run.stdout);
    assert_eq!(place.run(["history", "store", "--json"]).json()["published_at"], "2026-11-16T15:30:00Z");
    let run = place.run(["rollback", "store"]);
    assert!(run.stderr.contains("published at 2026-11-17 00:30 JST"), "{}", run.stderr);
}

#[test]
fn a_source_that_is_not_there_is_named() {
    let place = Place::small();
    let run = place.run(["publish", "nope", "store", "--originals"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("could not open `nope`"), "{}", run.stderr);
    assert!(run.stderr.contains("hint: "), "{}", run.stderr);
}

#[test]
fn options_of_building_are_refused_for_an_archive() {
    let place = Place::small();
    let archive = place.build();
    for options in [
        &["--originals"][..],
        &["--keep-metadata", "--no-cache"],
        &["--strict"],
        &["--max-pixels", "9"],
        &["--cache-dir", "x"],
    ] {
        let mut command = place.command(["publish", "--dry-run"]);
        command.arg(&archive).arg("store").args(options);
        let run = Run::of(command);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{options:?}");
        for name in options.iter().filter(|option| option.starts_with("--")) {
            assert!(run.stderr.contains(&format!("`{name}`")), "{name}: {}", run.stderr);
        }
    }
    assert!(!place.path().join("store").exists());
}

#[test]
fn a_digest_may_be_written_in_capitals() {
    let place = Place::small();
    let publish = |place: &Place, more: &[&str]| {
        let mut command = place.command(["publish", "wakashu_dir", "store", "--no-cache"]);
        command.args(more);
        Run::of(command).stdout.trim_end().to_owned()
    };
    let first = publish(&place, &[]);
    let second = publish(&place, &["--originals"]);
    let run = place.run(["rollback", "store", &first.to_uppercase()]);
    assert_eq!((run.code, run.stdout.trim_end()), (0, first.as_str()), "{}", run.stderr);
    let run = place.run(["rollback", "store", &second[..10]]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("hint: "), "{}", run.stderr);
}

/// Tells whether interrupts are ignored, as in what a shell runs in the background: a child inherits that.
#[cfg(unix)]
fn interrupts_are_ignored() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 2 != 0)
}

/// Stopped when the archive is built and written, and the pointer is not: then most could be left behind.
#[cfg(unix)]
#[test]
fn a_publish_that_is_stopped_leaves_nothing_behind_and_the_next_one_works() {
    let place = Place::small();
    let (store, scratch) = (place.path().join("store"), place.path().join("scratch"));
    fs::create_dir_all(store.join("archives")).unwrap();
    fs::create_dir(&scratch).unwrap();
    let names = |folder: &std::path::Path| {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        names.map(|name| name.into_string().unwrap()).collect::<Vec<_>>()
    };
    let publish = ["publish", "wakashu_dir", "store", "--no-cache"];
    for signal in ["-INT", "-TERM", "-KILL"] {
        if signal == "-INT" && interrupts_are_ignored() {
            eprintln!(
                "not tried with SIGINT: these tests were started with it ignored, and children inherit that"
            );
            continue;
        }
        let lock = fs::File::options().create(true).append(true).open(store.join(".wakashu.lock")).unwrap();
        lock.lock().unwrap();
        let mut command = place.command(publish);
        command.env("TMPDIR", &scratch).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let begun = Instant::now();
        while !names(&store.join("archives")).iter().any(|name| name.ends_with(".wakashu")) {
            assert!(begun.elapsed() < Duration::from_secs(30), "it does not come to the archive");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(names(&scratch).is_empty(), "a name while it runs: {:?}", names(&scratch));
        let killed = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(killed.unwrap().success());
        assert!(!child.wait().unwrap().success());
        assert!(names(&scratch).is_empty(), "{signal} leaves {:?}", names(&scratch));
        assert!(!store.join("current.json").exists(), "{signal}: nothing half");
        drop(lock);
        fs::remove_file(store.join("archives").join(&names(&store.join("archives"))[0])).unwrap();
    }
    assert_eq!(place.run(publish).code, 0);
    let archive = format!("store/archives/{}", names(&store.join("archives"))[0]);
    assert_eq!(place.run(["check", &archive]).code, 0);
}
