//! Showing, and taking pictures out.

use std::fs;

use crate::harness::{Place, png};

#[test]
fn what_went_in_is_shown_and_pictures_come_out_again() {
    let place = Place::new()
        .file(
            "第1回/1-a/TextData1.json",
            "{\"AccountName\":\"@a\",\"Mood\":\"春\\u001b\",\"HonkadoriWaka\":\"上\\n下\",\"Honka\":[\"u\",\"v\"],\
             \"Prompt\":\"\",\"Yomi\":\"よみ\",\"n\":[1, 2.50]}",
        )
        .file("第1回/1-a/Picture1.png", png(20, 10, 5))
        .entry("会/12-b");
    let archive = place.build();
    let archive = archive.to_str().unwrap();

    let json = place.run(["show", archive, "--round", "第一回", "--rank", "1", "--json"]).json();
    let entry = &json["entries"][0];
    assert_eq!(entry["account"], "@a");
    assert_eq!(entry["poem"], "上\n下");
    assert_eq!(entry["honka"], serde_json::json!(["u", "v"]));
    assert_eq!(entry["yomi"], "よみ");
    assert_eq!(
        entry["extras"],
        serde_json::json!([{"key": "Mood", "value": "春\u{1b}"}, {"key": "n", "value": "[1,2.50]"}])
    );
    let run = place.run(["show", archive, "--round", "1", "--rank", "1"]);
    assert!(run.stdout.contains("1位：@a\n上\n下\nu\nv\nMood: 春\\u{1b}\nn: [1,2.50]\n"), "{}", run.stdout);

    let run = place.run(["show", archive, "--extract", "pictures"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let files: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(files.len(), 6);
    assert_eq!(files[2], "pictures/round-0001/000001-large.png");
    assert_eq!(files[3], "pictures/other-0002/000012-small.png");
    let taken = image::load_from_memory(&fs::read(place.path().join(files[2])).unwrap()).unwrap();
    let given = image::load_from_memory(&png(20, 10, 5)).unwrap();
    assert_eq!(taken.to_rgb8(), given.to_rgb8());

    let again = place.run(["show", archive, "--extract", "pictures"]);
    assert_eq!((again.code, &again.stdout), (0, &run.stdout));
    fs::write(place.path().join(files[2]), "mine").unwrap();
    let refused = place.run(["show", archive, "--extract", "pictures"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("not overwritten"), "{}", refused.stderr);
    assert_eq!(fs::read(place.path().join(files[2])).unwrap(), b"mine");
}

#[test]
fn what_is_not_there_is_said_with_what_is() {
    let place = Place::small();
    let archive = place.build();
    let archive = archive.to_str().unwrap();
    let run = place.run(["show", archive, "--round", "第9回"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("第1回, 番外編"), "{}", run.stderr);
    let run = place.run(["show", archive, "--round", "1", "--rank", "3"]);
    assert!(run.stderr.contains("between 1 and 10"), "{}", run.stderr);
    assert_eq!(place.run(["show", "wakashu_dir/和歌集.json"]).code, 2);
}

#[test]
fn originals_are_kept_when_asked_for() {
    let place = Place::small().text("第2回/1-a").file("第2回/1-a/Picture1.png", png(600, 400, 1));
    let run = place.run(["build", "wakashu_dir", "-o", "out", "--no-cache", "--originals"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let archive = run.stdout.trim_end();
    assert_eq!(place.run(["check", archive]).code, 0);
    let run = place.run(["show", archive, "--round", "2", "--extract", "p"]);
    let original = run.stdout.lines().last().unwrap();
    assert_eq!(original, "p/round-0002/000001-original.png");
    let taken = image::load_from_memory(&fs::read(place.path().join(original)).unwrap()).unwrap();
    assert_eq!((taken.width(), taken.height()), (600, 400));
}
