//! Same input, same bytes.

use std::fs;

use image::ImageFormat;

use crate::harness::{Place, Run, copy_backwards, encoded, png};

/// A place whose pictures are passed on, scaled and shared, over more than one chunk.
fn place() -> Place {
    let mut place = Place::small();
    for rank in 1..=40 {
        place = place.entry(&format!("第2回/{rank}-x"));
    }
    place
        .file("第2回/7-x/Picture7.png", png(700, 500, 9))
        .file("第2回/8-x/Picture8.png", png(700, 500, 9))
        .text("第3回/1-gif")
        .file("第3回/1-gif/Picture1.GIF", encoded(600, 20, 3, ImageFormat::Gif))
        .directory("第4回")
}

#[test]
fn threads_cache_and_walk_order_do_not_change_a_byte() {
    let place = place();
    let copy = Place::new();
    copy_backwards(&place.dir(), &copy.dir());

    let build = |place: &Place, more: &[&str]| {
        let mut command = place.command(["build", "wakashu_dir", "-o", "out/a.wakashu", "--json"]);
        command.args(more);
        let run = Run::of(command);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let bytes = fs::read(place.out().join("a.wakashu")).unwrap();
        let json = run.json();
        let digest = json["archive"]["digest"].as_str().unwrap().to_owned();
        let built_from = json["archive"]["built_from"].as_str().unwrap().to_owned();
        (blake3::hash(&bytes), digest, built_from, json["summary"]["cache_hits"].as_u64().unwrap())
    };
    let (bytes, digest, built_from, hits) = build(&place, &["--no-cache", "--threads", "1"]);
    assert_eq!(hits, 0);
    for (more, warm) in [
        (&["--threads", "2"][..], false),
        (&["--threads", "2"], true),
        (&["--threads", "8"], true),
        (&["--threads", "8", "--no-cache"], false),
        (&["--threads", "3", "--cache-dir", "other"], false),
    ] {
        let again = build(&place, more);
        assert_eq!((again.0, &again.1, &again.2), (bytes, &digest, &built_from), "{more:?}");
        // Equal pictures may meet in a cold cache.
        assert_eq!(again.3 > 40, warm, "{more:?}");
    }
    let copied = build(&copy, &["--no-cache"]);
    assert_eq!((copied.0, copied.1, copied.2), (bytes, digest, built_from));
}

#[test]
fn built_from_follows_inputs_and_settings() {
    let place = Place::small();
    let built_from = |more: &[&str]| {
        let mut command = place.command(["build", "wakashu_dir", "-o", "out/", "--json"]);
        command.args(more);
        let run = Run::of(command);
        run.json()["archive"]["built_from"].as_str().map(str::to_owned).unwrap()
    };
    let mut seen = vec![built_from(&[])];
    assert_eq!(built_from(&["--max-pixels", "1000"]), seen[0]);
    let mut changed = |what: &str, more: &[&str]| {
        let this = built_from(more);
        assert!(!seen.contains(&this), "{what}");
        seen.push(this);
    };
    changed("originals", &["--originals"]);
    changed("metadata", &["--keep-metadata"]);
    fs::create_dir(place.dir().join("第9回")).unwrap();
    changed("empty round", &[]);
    fs::rename(place.dir().join("番外編"), place.dir().join("番外篇")).unwrap();
    changed("title", &[]);
    fs::write(place.dir().join("編纂時期.json"), "{\"第9回\":\"2025年\"}").unwrap();
    changed("period", &[]);
    fs::remove_file(place.dir().join("第1回/1-Laptop/Picture1.png")).unwrap();
    changed("picture", &[]);
}
