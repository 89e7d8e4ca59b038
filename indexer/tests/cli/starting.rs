//! `new` and `add`: a collection of one's own, and one more poem in it.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use crate::harness::{Place, Run, files, fixtures, png};

/// Returns the paths of every file of the collection.
fn names(place: &Place) -> Vec<String> {
    let dir = place.dir();
    let shown = |path: &PathBuf| path.strip_prefix(&dir).unwrap().to_str().unwrap().to_owned();
    files(&dir).keys().map(shown).collect()
}

fn picture(place: Place) -> Place {
    fs::write(place.path().join("a.png"), png(9, 7, 5)).unwrap();
    place
}

/// A round of three, the last behind a gap.
fn three() -> Place {
    picture(
        Place::new()
            .file("和歌集.json", "{\"Title\":\"試し集\"}")
            .entry("第1回/1-a")
            .entry("第1回/2-a")
            .entry("第1回/4-d"),
    )
}

const ADD: [&str; 8] = ["add", "wakashu_dir", "1", "--account", "@花子", "--picture", "a.png", "--poem"];

fn add<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&ADD, more].concat()
}

#[test]
fn what_new_makes_is_in_order_and_whole() {
    let place = Place::new();
    for (action, workflow) in [(None, false), (Some("a/b@v1"), true)] {
        let folder = format!("新しい/{workflow}");
        let mut command = place.command(["new", &folder, "--title", "春の\"集\"", "--language", "ja"]);
        command.args(action.map(|action| ["--action", action]).into_iter().flatten());
        let run = Run::of(command);
        assert_eq!((run.code, run.stdout.trim_end()), (0, folder.as_str()), "{}", run.stderr);
        assert!(run.stderr.contains("次に打つコマンド：\n  cd 新しい/"), "{}", run.stderr);
        assert!(run.stderr.contains("wakashu check wakashu_dir\n"), "{}", run.stderr);
        let made = place.path().join(&folder);
        let collection = made.join("wakashu_dir");
        let check = place.run(["check", collection.to_str().unwrap(), "--strict", "--deep"]);
        assert_eq!(check.code, 0, "{}", check.stderr);
        let yml = made.join(".github/workflows/collection.yml");
        assert_eq!(yml.exists(), workflow);
        if workflow {
            assert_eq!(fs::read_to_string(yml).unwrap().matches("uses: a/b@v1\n").count(), 3);
        }
        for (path, bytes) in files(&made) {
            assert!(
                !bytes.windows(2).any(|two| two == b"{{") || path.ends_with("collection.yml"),
                "{path:?}"
            );
        }
        let build = place.run(["build", collection.to_str().unwrap(), "-o", "out", "--no-cache", "--json"]);
        let archive = build.json()["archive"]["path"].as_str().unwrap().to_owned();
        assert_eq!(place.run(["show", &archive, "--json"]).json()["archive"]["title"], "春の\"集\"");
    }
}

#[test]
fn new_refuses_what_is_not_empty_and_takes_a_cloned_empty_repository() {
    let place = Place::new();
    fs::create_dir_all(place.path().join("cloned/.git")).unwrap();
    assert_eq!(place.run(["new", "cloned"]).code, 0);
    let before = files(&place.path().join("cloned"));
    let again = place.run(["new", "cloned"]);
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("`cloned` is not empty: `.gitattributes` is there"), "{}", again.stderr);
    assert_eq!(files(&place.path().join("cloned")), before);
    for arguments in [["new", "x", "--action", "a/b"], ["new", "x", "--title", "a\nb"]] {
        assert_eq!(place.run(arguments).code, 2);
    }
    assert!(!place.path().join("x").exists());
}

#[test]
fn an_added_poem_is_behind_the_last_one_under_the_right_names() {
    let place = three();
    let run =
        place.run(add(&["上の句\n下の句", "--yomi", "よみ", "--honka", "https://a", "--honka", "https://b"]));
    assert_eq!((run.code, run.stdout.as_str()), (0, "wakashu_dir/第1回/5-花子\n"), "{}", run.stderr);
    let text = fs::read_to_string(place.dir().join("第1回/5-花子/TextData5.json")).unwrap();
    let expected = "{\n  \"AccountName\": \"@花子\",\n  \"HonkadoriWaka\": \"上の句\\n下の句\",\n  \"Yomi\": \"よみ\",\n  \"Honka\": [\n    \
                    \"https://a\",\n    \"https://b\"\n  ],\n  \"Prompt\": \"\"\n}\n";
    assert_eq!(text, expected);
    assert_eq!(fs::read(place.dir().join("第1回/5-花子/Picture5.png")).unwrap(), png(9, 7, 5));

    // A new round by number, a phone's picture, a poem from stdin.
    let phone = fixtures().join("pictures/heic-grid-phone.heic");
    let mut command =
        place.command(["add", "wakashu_dir", "２", "--account", "@b", "--poem", "-", "--picture"]);
    command.arg(phone).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), "春\r\n夏\r\n".as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(place.dir().join("第2回/1-b/Picture1.heic").is_file());
    let text = fs::read_to_string(place.dir().join("第2回/1-b/TextData1.json")).unwrap();
    assert!(text.contains("\"春\\n夏\""), "{text}");
    assert_eq!(place.run(["check", "wakashu_dir", "--strict", "--deep"]).code, 0);
}

#[test]
fn a_rank_in_the_middle_moves_those_behind_it_up_to_the_gap() {
    let place = three();
    let before = files(&place.dir());
    let dry = place.run(add(&["歌", "--rank", "1", "--dry-run", "--language", "ja"]));
    assert_eq!((dry.code, files(&place.dir())), (0, before.clone()), "{}", dry.stderr);
    assert!(dry.stderr.contains("動かすもの：2-a → 3-a\n  動かすもの：1-a → 2-a\n"), "{}", dry.stderr);
    assert!(dry.stderr.contains("2 首のページのアドレスが変わります"), "{}", dry.stderr);

    assert_eq!(place.run(add(&["歌", "--rank", "1"])).code, 0);
    let folders = ["1-花子/Picture1.png", "1-花子/TextData1.json", "2-a/Picture2.png", "2-a/TextData2.json"];
    let more = ["3-a/Picture3.png", "3-a/TextData3.json", "4-d/Picture4.png", "4-d/TextData4.json"];
    let mut expected: Vec<String> = folders.iter().chain(&more).map(|name| format!("第1回/{name}")).collect();
    expected.insert(0, "和歌集.json".to_owned());
    assert_eq!(names(&place), expected);
    let after = files(&place.dir());
    assert!(before.values().all(|bytes| after.values().any(|kept| kept == bytes)));
    assert_eq!(place.run(["check", "wakashu_dir", "--strict"]).code, 0);
}

#[test]
fn what_cannot_be_added_changes_nothing_and_says_why() {
    let place = three();
    fs::write(place.path().join("no.png"), "no picture").unwrap();
    let before = files(&place.dir());
    for (arguments, code, said) in [
        (add(&[" "]), 1, "`HonkadoriWaka` is empty"),
        (
            vec!["add", "wakashu_dir", "1", "--account", "@a", "--poem", "x", "--picture", "no.png"],
            1,
            "no.png",
        ),
        (
            vec!["add", "wakashu_dir", "1", "--account", "@a", "--poem", "x", "--picture", "gone.png"],
            2,
            "gone.png",
        ),
        (vec!["add", "wakashu_dir", "1", "--account", "@a", "--poem", "x"], 2, "`--picture` is missing"),
        (vec!["add", "wakashu_dir", "1", "--poem", "x", "--picture", "a.png"], 2, "`--account` is missing"),
        (add(&["x", "--name", "../x"]), 2, "cannot be the name of a folder"),
        (add(&["x", "--rank", "0"]), 2, "--rank"),
        (
            vec!["add", "wakashu_dir", "../x", "--account", "@a", "--poem", "x", "--picture", "a.png"],
            2,
            "name of a round",
        ),
        (
            vec!["add", "nowhere", "1", "--account", "@a", "--poem", "x", "--picture", "a.png"],
            2,
            "could not open",
        ),
    ] {
        let mut command = place.command(&arguments);
        command.stdin(Stdio::null());
        let run = Run::of(command);
        assert_eq!(run.code, code, "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(said), "{arguments:?}: {}", run.stderr);
        assert_eq!(files(&place.dir()), before, "{arguments:?}");
    }
    // Ranks of a round that is not in order are not moved by a guess, which is told before anything is asked for.
    let place = place.entry("第1回/02-x");
    for arguments in [add(&["x", "--rank", "1"]), vec!["add", "wakashu_dir", "1", "--rank", "1"]] {
        let mut command = place.command(arguments);
        command.stdin(Stdio::null());
        let run = Run::of(command);
        assert!(run.code == 2 && run.stderr.contains("`wakashu check`"), "{}", run.stderr);
    }
}

/// What `--fix` will call `5-x` has the rank 5 already.
#[test]
fn a_folder_that_is_misspelt_keeps_its_rank() {
    let place = three()
        .file("第1回/05-x/TextData5.json", fs::read(three().dir().join("第1回/1-a/TextData1.json")).unwrap());
    let refused = place.run(add(&["歌", "--rank", "5"]));
    assert!(refused.code == 2 && refused.stderr.contains("has errors"), "{}", refused.stderr);
    let run = place.run(add(&["歌"]));
    assert_eq!((run.code, run.stdout.as_str()), (0, "wakashu_dir/第1回/6-花子\n"), "{}", run.stderr);
    let fixed = place.run(["check", "wakashu_dir", "--fix"]);
    assert_eq!(fixed.code, 0, "{}", fixed.stderr);
    assert!(place.dir().join("第1回/5-x/TextData5.json").is_file());
}

#[test]
fn a_new_that_was_stopped_is_finished_under_the_title_it_was_begun_with() {
    let place = Place::new();
    assert_eq!(place.run(["new", "poems", "--title", "春の集", "--action", "a/b@v1"]).code, 0);
    let folder = place.path().join("poems");
    let whole = files(&folder);
    let hidden = folder.join(".wakashu-new");
    let made: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    fs::create_dir(&hidden).unwrap();
    for name in made {
        fs::rename(folder.join(&name), hidden.join(&name)).unwrap();
    }
    let run = place.run(["new", "poems", "--title", "夏の集"]);
    assert!(run.code == 0 && run.stderr.contains("made poems: 春の集\n"), "{}", run.stderr);
    assert!(!run.stderr.contains("without a workflow"), "{}", run.stderr);
    assert_eq!(files(&folder), whole);
}

#[test]
fn what_an_add_left_is_named_and_the_next_run_finishes_it() {
    let journal = "{\"moves\":[[\"2-a\",\"3-a\"],[\"3-a/TextData2.json\",\"3-a/TextData3.json\"],\
                   [\"3-a/Picture2.png\",\"3-a/Picture3.png\"],[\".wakashu-adding\",\"2-x\"]]}";
    let left = || {
        let place = three().file("第1回/.wakashu-add.json", journal).file(
            "第1回/.wakashu-adding/TextData2.json",
            fs::read(three().dir().join("第1回/2-a/TextData2.json")).unwrap(),
        );
        fs::rename(place.dir().join("第1回/2-a"), place.dir().join("第1回/3-a")).unwrap();
        place
    };
    let place = left();
    let before = files(&place.dir());
    let run = place.run(["check", "wakashu_dir", "--json"]);
    let problems = run.json()["problems"].as_array().unwrap().clone();
    assert_eq!((run.code, problems.len(), &problems[0]["code"]), (1, 1, &"ADD_BEGUN".into()), "{problems:?}");
    assert_eq!(
        place.run(["build", "wakashu_dir", "-o", "out", "--no-cache"]).code,
        1,
        "nothing half-moved is published"
    );
    assert_eq!(files(&place.dir()), before);

    let fixed = place.run(["check", "wakashu_dir", "--fix", "--language", "ja"]);
    assert_eq!(fixed.code, 0, "{}", fixed.stderr);
    assert!(
        fixed.stderr.contains("前の add が途中で終わっていたので、続きを済ませました"),
        "{}",
        fixed.stderr
    );
    let place = left();
    let added = place.run(add(&["歌"]));
    assert!(added.code == 0 && added.stderr.contains("finished what an earlier `add`"), "{}", added.stderr);
    assert!(names(&place).contains(&"第1回/5-花子/TextData5.json".to_owned()), "{:?}", names(&place));
    assert_eq!(place.run(["check", "wakashu_dir"]).code, 0);

    let half = three().file("第1回/.wakashu-adding/TextData5.json", "{").file(".wakashu-adding/1-x/x", "");
    let run = half.run(["check", "wakashu_dir", "--json"]);
    assert_eq!(run.json()["tally"]["warnings"], 2, "{}", run.stdout);
    let fixed = half.run(["check", "wakashu_dir", "--fix"]);
    assert!(fixed.code == 0 && fixed.stderr.contains("half-written"), "{}", fixed.stderr);
    assert_eq!(names(&half), names(&three()));

    // What it was to move was taken away by hand: which name is missing is said, and the way out.
    let stuck = left();
    fs::remove_dir_all(stuck.dir().join("第1回/.wakashu-adding")).unwrap();
    for arguments in
        [add(&["歌", "--language", "ja"]), vec!["check", "wakashu_dir", "--fix", "--language", "ja"]]
    {
        let run = stuck.run(arguments);
        assert!(
            run.code == 2
                && run.stderr.contains("「wakashu_dir/第1回/.wakashu-adding」が見つかりません")
                && run.stderr.contains(".wakashu-add.json を消してください"),
            "{}",
            run.stderr
        );
    }
    fs::remove_file(stuck.dir().join("第1回/.wakashu-add.json")).unwrap();
    assert_eq!(stuck.run(["check", "wakashu_dir"]).code, 0);

    let hostile = three().file("第1回/.wakashu-add.json", "{\"moves\":[[\"../和歌集.json\",\"x\"]]}");
    let run = hostile.run(["check", "wakashu_dir", "--fix"]);
    assert!(run.code == 2 && run.stderr.contains("cannot be finished"), "{}", run.stderr);
    assert!(hostile.dir().join("和歌集.json").is_file());
}

/// What is asked on a terminal, which `script` stands for: nothing that was typed is lost for a wrong answer.
#[cfg(target_os = "linux")]
#[test]
fn what_is_missing_is_asked_for_until_the_answers_will_do() {
    let typed = |place: &Place, round: &str, answers: &str| {
        let program = env!("CARGO_BIN_EXE_wakashu-indexer");
        let line = format!("{program} add wakashu_dir {round} --language ja");
        let mut command = std::process::Command::new("script");
        command.args(["--quiet", "--return", "--echo", "never", "--command", &line, "/dev/null"]);
        command.current_dir(place.path());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), answers.as_bytes()).unwrap();
        let done = child.wait_with_output().unwrap();
        (done.status.code().unwrap(), String::from_utf8(done.stdout).unwrap())
    };
    let place = three();
    fs::write(place.path().join("no.png"), "no picture").unwrap();
    fs::rename(place.path().join("a.png"), place.path().join("私の 絵.png")).unwrap();
    let (code, said) =
        typed(&place, "1", "\n@/\na/b\n花子\n\n上の句\n下の句\n\ngone.png\nno.png\n'私の 絵.png'\n");
    assert_eq!(code, 0, "{said}");
    for words in [
        "「a/b」はフォルダーの名前にできません",
        "「gone.png」を読めません（見つかりません）",
        "画像ではありません",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let text = fs::read_to_string(place.dir().join("第1回/5-花子/TextData5.json")).unwrap();
    assert!(text.contains("\"@/\"") && text.contains("\"上の句\\n下の句\""), "{text}");
    assert_eq!(fs::read(place.dir().join("第1回/5-花子/Picture5.png")).unwrap(), png(9, 7, 5));

    // Ctrl-D, and Ctrl-C, before the last answer; a round that cannot be, before the first.
    let before = files(&place.dir());
    for (round, answers, words) in [
        ("1", "@a\n歌\n\n\u{4}", "答えがなかった"),
        ("1", "@a\n歌\n\n\u{3}", ""),
        ("../x", "", "回の名前にできません"),
    ] {
        let (code, said) = typed(&place, round, answers);
        assert!(code != 0 && said.contains(words), "{code}: {said}");
        assert_eq!(files(&place.dir()), before, "{round}");
    }
}
