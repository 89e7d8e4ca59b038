//! Texts about rounds, and rounds that are drafts: seen by the curator alone.

use crate::harness::Place;

/// One round that is shown, and one that is a draft with a fault in it.
fn place() -> Place {
    Place::new()
        .file("和歌集.json", "{\"Title\":\"試し集\"}")
        .entry("第1回/1-a")
        .file("第1回/編纂時期.json", "{\"編纂時期\":\"2025年4月\",\"お題\":\"春\",\"Comment\":\"佳い\"}")
        .entry("第2回/1-秘密")
        .file("第2回/2-b/TextData2.json", "{")
        .file("第2回/編纂時期.json", "{\"お題\":\"夏\",\"下書き\":true}")
}

#[test]
fn drafts_are_checked_and_never_built_or_published() {
    let place = place();
    let check = place.run(["check", "wakashu_dir", "--json"]);
    assert_eq!((check.code, check.json()["checked"]["rounds"].as_u64()), (1, Some(2)), "{}", check.stderr);

    for (language, said) in
        [("en", "drafts, not included: `第2回`"), ("ja", "下書きの回なので、入れていません：「第2回」")]
    {
        let build =
            place.run(["build", "wakashu_dir", "-o", "out", "--no-cache", "--json", "--language", language]);
        assert!(build.code == 0 && build.stderr.contains(said), "{}", build.stderr);
        assert_eq!(build.json()["drafts"][0], "第2回");
        assert_eq!(build.json()["summary"]["rounds"], 1);
    }
    let publish = place.run(["publish", "wakashu_dir", "store", "--no-cache", "--keep", "0"]);
    assert!(publish.code == 0 && publish.stderr.contains("第2回"), "{}", publish.stderr);
    for folder in [place.out(), place.path().join("store/archives")] {
        for file in std::fs::read_dir(folder).unwrap() {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            let holds = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
            assert!(holds("お題") && !holds("夏") && !holds("第2回"));
        }
    }
}

#[test]
fn a_collection_of_drafts_alone_has_nothing_to_publish() {
    let place = Place::new().entry("第1回/1-a").file("第1回/編纂時期.json", "{\"Draft\": true}");
    let run = place.run(["build", "wakashu_dir", "-o", "out", "--no-cache"]);
    assert_eq!((run.code, place.out_names().len()), (1, 0));
    assert!(run.stderr.contains("every round with entries is a draft"), "{}", run.stderr);
}

#[test]
fn what_may_be_a_draft_is_not_shown_even_when_told_to_keep_going() {
    for file in ["{\"Draft\": \"true\"}", "{\"draft\": true}", "{\"Draft\": true", "{\"下書\": true}"] {
        let place = Place::new().entry("第1回/1-a").entry("第2回/1-b").file("第2回/編纂時期.json", file);
        let run = place.run(["build", "wakashu_dir", "-o", "out", "--no-cache", "--keep-going", "--json"]);
        assert_eq!(run.code, 1, "{file}");
        assert_eq!(run.json()["summary"]["rounds"], 1, "{file}: {}", run.stderr);
    }
}

/// Two files that can both be meant, and one of them says that the round is a draft.
#[test]
fn what_one_of_two_files_calls_a_draft_is_not_shown() {
    let names = ["編纂時期.JSON", "編纂時期.json.txt"];
    for (draft, other) in [(names[0], names[1]), (names[1], names[0])] {
        let place = Place::new()
            .entry("第1回/1-a")
            .entry("第2回/1-b")
            .file(&format!("第2回/{draft}"), "{\"下書き\": true}")
            .file(&format!("第2回/{other}"), "{\"編纂時期\": \"2025年4月\"}");
        let run = place.run(["build", "wakashu_dir", "-o", "out", "--no-cache", "--keep-going", "--json"]);
        assert_eq!(
            (run.code, run.json()["summary"]["rounds"].as_u64()),
            (1, Some(1)),
            "{draft}: {}",
            run.stderr
        );

        // Beside the file itself the others are copies.
        let place = place.file("第2回/編纂時期.json", "{\"下書き\": true}");
        let run = place.run(["build", "wakashu_dir", "-o", "out", "--no-cache", "--json"]);
        assert_eq!((run.code, &run.json()["drafts"][0]), (0, &"第2回".into()), "{draft}: {}", run.stderr);
        let check = place.run(["check", "wakashu_dir"]);
        assert_eq!(check.stderr.matches("unexpected file is ignored").count(), 2, "{}", check.stderr);
    }
}

#[cfg(unix)]
#[test]
fn a_round_whose_own_file_cannot_be_read_is_not_shown() {
    for target in ["../../outside.json", "nowhere.json", "編纂時期.json"] {
        let place =
            Place::new().entry("第1回/1-a").entry("第2回/1-b").file("../outside.json", "{\"Draft\": true}");
        std::os::unix::fs::symlink(target, place.dir().join("第2回/編纂時期.json")).unwrap();
        let run = place.run(["build", "wakashu_dir", "-o", "out", "--no-cache", "--keep-going", "--json"]);
        assert_eq!(
            (run.code, run.json()["summary"]["rounds"].as_u64()),
            (1, Some(1)),
            "{target}: {}",
            run.stderr
        );
    }
}
