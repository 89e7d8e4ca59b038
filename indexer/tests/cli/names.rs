//! Names no curator would choose, and names every Mac writes.

use std::fs;

use crate::harness::{Place, Run};

#[cfg(unix)]
#[test]
fn hostile_names_give_a_problem_line_and_never_a_panic() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    let place = Place::small();
    let raw = |bytes: &'static [u8]| OsStr::from_bytes(bytes).to_owned();
    let long = "長".repeat(85);
    let place = place
        .directory(raw(b"\xe7\xac\xac\xff"))
        .directory("第5回\n偽")
        .directory("\u{1b}[2J")
        .directory("　")
        .directory(&long)
        .directory(raw(b"\xe7\xac\xac1\xe5\x9b\x9e/3-\xff\xfe"))
        .directory("第1回/4-a\nb")
        .directory("第1回/5-..")
        .directory("第1回/..-6")
        .file("第1回/1-Laptop/memo\r\n.txt", "")
        .file("第1回/1-Laptop/a\u{202e}b", "");
    fs::write(place.dir().join(raw(b"stray\xff")), "").unwrap();
    let mut command = place.command(["build", "wakashu_dir", "-o", "out", "--json", "--no-cache"]);
    command.args(["--color", "always"]);
    let run = Run::of(command);
    assert_eq!(run.code, 1);
    for line in [
        "error 第\\xff",
        "error 第5回\\n偽",
        "error \\u{1b}[2J",
        "error 　",
        "error 第1回/3-\\xff\\xfe",
        "error 第1回/4-a\\nb",
        "error 第1回/5-..",
        "warning stray\\xff",
        "warning 第1回/1-Laptop/memo\\r\\n.txt",
        "warning 第1回/1-Laptop/a\\u{202e}b",
        &format!("warning {long}"),
    ] {
        assert!(run.problems().iter().any(|found| found == line), "{line:?} among {:#?}", run.problems());
    }
    let plain = run.stderr.replace("\u{1b}[0m", "").replace("\u{1b}[1;31m", "").replace("\u{1b}[1;33m", "");
    let plain = plain.replace("\u{1b}[36m", "");
    assert!(!plain.contains(|c: char| c.is_control() && c != '\n'), "{plain:?}");
    assert!(plain.lines().all(|line| !line.starts_with('偽')));
}

#[test]
fn the_longest_names_build() {
    let title = format!("{}回", "長".repeat(84));
    let place = Place::new().entry(&format!("{title}/1-{}", "x".repeat(253)));
    let archive = place.build();
    let run = place.run(["show", archive.to_str().unwrap(), "--json"]);
    assert_eq!(run.json()["rounds"][0]["title"].as_str().unwrap(), title);
}

#[test]
fn decomposed_names_as_a_mac_writes_them_are_read() {
    // が and ぱ, decomposed.
    let title = "か\u{3099}は\u{309a}の会";
    let place = Place::new().file("和歌集.json", "{\"Title\":\"試し\"}");
    let place = place.entry(&format!("{title}/1-か\u{3099}"));
    let place = place.file("編纂時期.json", "{\"がぱの会\":\"2025年4月\"}");
    let archive = place.build();
    let run = place.run(["show", archive.to_str().unwrap(), "--json", "--round", "がぱの会"]);
    assert_eq!(run.json()["round"]["title"].as_str().unwrap(), title);
    assert_eq!(run.json()["round"]["period"]["end"], "2025-04-30");

    let place = place.entry("がぱの会/1-a");
    let run = place.run(["build", "wakashu_dir", "-o", "out", "--json", "--no-cache"]);
    let told = [format!("error {title}"), format!("warning {title}"), "error がぱの会".to_owned()];
    assert_eq!((run.code, run.problems()), (1, told.to_vec()), "{}", run.stderr);
}

#[cfg(unix)]
#[test]
fn symlinks_are_followed_inside_the_collection_only() {
    use std::os::unix::fs::symlink;

    let place = Place::small();
    symlink("第1回", place.dir().join("第8回")).unwrap();
    symlink("../1-Laptop/Picture1.png", place.dir().join("第1回/2-Wakashu/link")).unwrap();
    fs::remove_file(place.dir().join("第1回/2-Wakashu/Picture2.png")).unwrap();
    fs::rename(place.dir().join("第1回/2-Wakashu/link"), place.dir().join("第1回/2-Wakashu/Picture2.png"))
        .unwrap();
    let archive = place.build();
    let run = place.run(["show", archive.to_str().unwrap(), "--json"]);
    assert_eq!(run.json()["archive"]["entries"], 7);
    assert_eq!(run.json()["archive"]["pictures"], 7);

    fs::write(place.path().join("secret.png"), crate::harness::png(3, 3, 3)).unwrap();
    fs::remove_file(place.dir().join("第1回/1-Laptop/Picture1.png")).unwrap();
    symlink("../../../secret.png", place.dir().join("第1回/1-Laptop/Picture1.png")).unwrap();
    symlink("..", place.dir().join("第1回/10-Honka/up")).unwrap();
    symlink("/", place.dir().join("第7回")).unwrap();
    let run = place.run(["build", "wakashu_dir", "-o", "out", "--json", "--no-cache", "--keep-going"]);
    let problems = run.problems();
    for line in ["error 第7回", "error 第1回/1-Laptop/Picture1.png", "error 第1回/10-Honka/up"] {
        assert!(problems.iter().any(|found| found == line), "{line} among {problems:#?}");
    }
    // Not served without its picture: it is left out.
    assert_eq!(run.json()["left_out"][0], "第1回/1-Laptop");
}

#[cfg(unix)]
#[test]
fn directories_that_cannot_be_listed_are_one_error_each_and_left_out() {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::CommandExt as _;

    let place = Place::small().entry("第2回/1-a");
    let allow = |path: &std::path::Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    allow(place.path(), 0o755);
    allow(&place.out(), 0o777);
    let closed = ["第1回/2-Wakashu", "第2回"].map(|path| place.dir().join(path));
    for path in &closed {
        allow(path, 0o000);
    }
    let mut command =
        place.command(["build", "wakashu_dir", "-o", "out", "--no-cache", "--json", "--keep-going"]);
    if fs::read_dir(&closed[0]).is_ok() {
        // Permissions do not stop root: run as nobody, where nobody may run the program.
        command.uid(65534).gid(65534);
        if place.command(["--version"]).uid(65534).gid(65534).output().is_err() {
            return;
        }
    }
    let run = Run::of(command);
    for path in &closed {
        allow(path, 0o755);
    }
    assert_eq!(run.problems(), ["error 第1回/2-Wakashu", "error 第2回"], "{}", run.stderr);
    let json = run.json();
    assert_eq!((&json["summary"]["rounds"], &json["summary"]["entries"]), (&2.into(), &3.into()));
    assert_eq!(json["left_out"], serde_json::json!(["第1回/2-Wakashu"]));
}

#[cfg(unix)]
#[test]
fn a_symlink_to_itself_is_not_a_matter_of_permissions() {
    let place = Place::small();
    std::os::unix::fs::symlink("第5回", place.dir().join("第5回")).unwrap();
    let run = place.run(["check", "wakashu_dir", "--json"]);
    assert_eq!(run.problems(), ["error 第5回"]);
    let problem = &run.json()["problems"][0];
    assert!(problem["message"].as_str().unwrap().contains("symlink"), "{problem}");
    assert!(problem["hint"].as_str().unwrap().starts_with("remove it"), "{problem}");
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_a_picture_does_not_hang_the_build() {
    let place = Place::small();
    let picture = place.dir().join("第1回/1-Laptop/Picture1.png");
    fs::remove_file(&picture).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&picture).status().unwrap().success());
    let run = place.run(["check", "wakashu_dir", "--json"]);
    assert_eq!(run.problems(), ["error 第1回/1-Laptop/Picture1.png"]);
}

/// Nobody sees which is which: both are refused, and what makes them differ is named.
#[test]
fn titles_that_differ_by_marks_without_width_are_refused() {
    for (title, mark) in [
        ("第\u{200b}1回", Some("U+200B")),
        ("第1回\u{feff}", Some("U+FEFF")),
        ("第1\u{2060}回", Some("U+2060")),
        ("第1回\u{fe0f}", Some("U+FE0F")),
        ("夏\u{200d}編", None),
    ] {
        let place = Place::small().directory(title);
        let mut command = place.command(["build", "wakashu_dir", "-o", "out", "--json", "--no-cache"]);
        command.args(["--color", "never"]);
        let run = Run::of(command);
        let told = run.stderr.contains("differ by marks without width only");
        assert_eq!(told, mark.is_some(), "{title:?}: {}", run.stderr);
        assert!(
            mark.is_none_or(|mark| run.code == 1 && run.stderr.contains(mark)),
            "{title:?}: {}",
            run.stderr
        );
    }
}
