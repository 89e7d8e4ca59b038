//! What a curator meets: their language, spellings that are forgiven, and `check --fix`.

use std::fs;

use crate::harness::{Place, Run, files, png};

const TEXT: &str = "{\"AccountName\":\"@a\",\"HonkadoriWaka\":\"山里は\",\"Honka\":[],\"Prompt\":\"\"}";

/// A collection with one sound entry and a title, for spellings to be added to.
fn sound() -> Place {
    Place::new().entry("第1回/1-Laptop").file("和歌集.json", "{\"Title\":\"試し集\"}")
}

#[test]
fn the_language_is_the_flags_then_the_variables_then_the_systems() {
    let place = sound().text("第1回/2-a");
    let said = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = place.command(["check", "wakashu_dir"]);
        command.args(arguments).env_remove("LC_ALL").env_remove("LANG").envs(variables.iter().copied());
        let run = Run::of(command);
        match (run.stderr.contains("画像がありません"), run.stderr.contains("picture is missing")) {
            (true, false) => "ja",
            (false, true) => "en",
            _ => panic!("{}", run.stderr),
        }
    };
    assert_eq!(said(&[], &[]), "en");
    assert_eq!(said(&[], &[("LANG", "ja_JP.UTF-8")]), "ja");
    assert_eq!(said(&[], &[("LANG", "ja_JP.UTF-8"), ("LC_ALL", "C")]), "en");
    assert_eq!(said(&[], &[("LC_ALL", "C"), ("WAKASHU_LANGUAGE", "ja")]), "ja");
    assert_eq!(said(&["--language", "en"], &[("WAKASHU_LANGUAGE", "ja")]), "en");
    assert_eq!(said(&["--language=ja"], &[("LC_ALL", "C")]), "ja");
}

#[test]
fn programs_get_codes_places_and_english_whatever_the_language() {
    let place = sound().file("第1回/1-Laptop/TextData1.json", "{\n  \"Honka\": “x”\n}");
    let json =
        |arguments: &[&str]| place.run([&["check", "wakashu_dir", "--language", "ja"], arguments].concat());
    let run = json(&["--json"]);
    assert_eq!(run.stdout, json(&["--format", "json"]).stdout);
    let problem = &run.json()["problems"][0];
    assert_eq!(
        (&problem["code"], &problem["line"], &problem["column"]),
        (&"JSON_MARK".into(), &2.into(), &12.into())
    );
    assert!(problem["message"].as_str().unwrap().starts_with("file is not valid JSON: `“` is"), "{problem}");
    assert!(run.stderr.contains("直し方: "), "{}", run.stderr);
}

#[test]
fn a_workflow_gets_annotations_errors_first_and_everything_in_the_summary() {
    let mut place = sound();
    for rank in 2..=14 {
        place = place.text(&format!("第1回/{rank}-a"));
    }
    let place = place.file("第1回/14-a/TextData14.json", "{\"AccountName\":\n}");
    let summary = place.path().join("summary.md");
    let mut command = place.command(["check", "wakashu_dir", "--format", "github", "--language", "ja"]);
    command.env("GITHUB_STEP_SUMMARY", &summary);
    let run = Run::of(command);
    let lines: Vec<&str> = run.stdout.lines().collect();
    let first = "::error title=JSON_VALUE,file=wakashu_dir/第1回/14-a/TextData14.json,line=2,col=1::JSON の書き方が違います。";
    assert!(run.code == 1 && lines[0].starts_with(first), "{}", run.stdout);
    assert_eq!(lines.iter().filter(|line| line.starts_with("::warning ")).count(), 13, "{}", run.stdout);
    assert!(run.stdout.contains("::notice::"), "{}", run.stdout);
    let summary = fs::read_to_string(summary).unwrap();
    assert_eq!(summary.matches("<tr><td>").count(), 14, "{summary}");
    assert_eq!(run.stderr, "");
}

#[test]
fn names_with_blanks_and_decomposed_ones_are_read_with_a_warning() {
    let place = sound()
        .entry("第2回 /1-a")
        .entry("か\u{3099}の会/1-a")
        .file("第3回/1-a /TextData1.json ", TEXT)
        .file("第3回/1-a /Picture1.png ", png(4, 4, 1));
    let mut told = String::new();
    for language in ["en", "ja"] {
        let run = place.run(["check", "wakashu_dir", "--language", language]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        told.push_str(&run.stderr);
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!("names_forgiven", told));

    let archive = place.build();
    let run = place.run(["show", archive.to_str().unwrap(), "--json"]);
    let titles: Vec<_> =
        run.json()["rounds"].as_array().unwrap().iter().map(|round| round["title"].clone()).collect();
    assert_eq!(titles, ["第1回", "第2回", "第3回", "か\u{3099}の会"]);
}

#[test]
fn the_readers_never_see_keys_for_programs() {
    let text = "{\"$schema\":\"秘密\",\"AccountName\":\"@a\",\"HonkadoriWaka\":\"p\",\"Honka\":[],\"Prompt\":\"\",\"詞書\":\"冬\"}";
    let archive = sound().file("第1回/1-Laptop/TextData1.json", text);
    let built = archive.build();
    let run = archive.run(["show", built.to_str().unwrap(), "--round", "1", "--rank", "1"]);
    assert!(run.stdout.contains("詞書: 冬") && !run.stdout.contains("秘密"), "{}", run.stdout);
}

#[test]
fn why_a_verb_could_not_run_is_said_in_the_curators_language() {
    let place = sound();
    let archive = place.build();
    let archive = archive.to_str().unwrap();
    let (picture, digest) = ("wakashu_dir/第1回/1-Laptop/Picture1.png", "0".repeat(64));
    for (arguments, reason, hint) in [
        (&["check", "nowhere"][..], "「nowhere」を読めません：見つかりません", "場所を確かめてください"),
        (
            &["add", "nowhere", "1", "--account", "@a", "--poem", "x", "--picture", picture],
            "「nowhere」を和歌集として開けません：見つかりません",
            "場所を確かめてください",
        ),
        (&["build", "wakashu_dir/和歌集.json"], "として開けません：フォルダーではありません", ""),
        (&["build", "wakashu_dir", "-o", "out/x"], "「out/x」はフォルダーではなく", "先にフォルダーを作るか"),
        (&["check", archive, "--fix"], "--fix は和歌集に使います", ""),
        (&["new", "wakashu_dir/和歌集.json/x"], "を変更できません：フォルダーではありません", ""),
        (&["history", "out"], "には、まだ何も公開していません", "先に、そこに公開してください"),
        (&["rollback", "store", &digest], "", "wakashu history"),
    ] {
        if arguments[0] == "rollback" {
            assert_eq!(place.run(["publish", archive, "store"]).code, 0);
        }
        let mut command = place.command(arguments);
        let run = Run::of({
            command.args(["--language", "ja"]);
            command
        });
        assert_eq!(run.code, 2, "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(reason) && run.stderr.contains(hint), "{arguments:?}: {}", run.stderr);
        let words = run
            .stderr
            .split_whitespace()
            .filter(|word| word.chars().all(|letter| letter.is_ascii_lowercase()));
        assert!(words.count() < 3, "English: {arguments:?}: {}", run.stderr);
    }
}

/// A collection with everything that `--fix` puts right.
fn fixable() -> Place {
    let shift_jis =
        b"{\"AccountName\":\"@b\",\"HonkadoriWaka\":\"\x82\xa0\x82\xa2\",\"Honka\":[],\"Prompt\":\"\",}";
    sound()
        .file("第1回/２‐b/TextData2.json.txt", shift_jis)
        .file("第1回/２‐b/picture2.PNG", png(4, 4, 2))
        .file(
            "第1回/03-c/TextData3.json",
            "｛“accountname”：“@c”，\n\"HonkadoriWaka\":\"上の句\n下の句\",\"Honka\":[],\"Prompt\":\"\"｝",
        )
        .file("第1回/03-c/Picture3.png", png(4, 4, 3))
        .file("第1回/4位-d/Text4.json", format!("\u{feff}{TEXT}"))
        .file("第1回/4位-d/Picture4.png", png(4, 4, 4))
        .file("第1回/編纂時期.JSON", "{\"Start\": \"令和7年4月1日\", \"End\": \"R7.5\"}")
}

#[test]
fn fixing_puts_right_what_needs_no_guess_and_keeps_what_it_replaced() {
    let place = fixable();
    let before = files(&place.dir());
    let dry = place.run(["check", "wakashu_dir", "--fix", "--dry-run"]);
    assert_eq!(files(&place.dir()), before, "a dry run changes nothing");
    assert_eq!(dry.code, 1);

    let run = place.run(["check", "wakashu_dir", "--fix"]);
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!("fix_talk", run.stderr));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let strict = place.run(["check", "wakashu_dir", "--strict", "--deep"]);
    assert_eq!(strict.code, 0, "{}", strict.stderr);

    let after = files(&place.dir());
    for bytes in before.values() {
        assert!(after.values().any(|kept| kept == bytes), "every file is still there, byte for byte");
    }
    let read = |path: &str| fs::read_to_string(place.dir().join(path)).unwrap();
    assert!(read("第1回/2-b/TextData2.json").contains("\"HonkadoriWaka\":\"あい\""));
    assert!(
        read("第1回/3-c/TextData3.json")
            .contains("\"AccountName\":\"@c\",\n\"HonkadoriWaka\":\"上の句\\n下の句\"")
    );
    assert!(read("第1回/4-d/TextData4.json").starts_with('\u{feff}'), "what is not wrong stays");
    assert_eq!(read("第1回/編纂時期.json"), "{\"Start\": \"2025年4月1日\", \"End\": \"2025年5月\"}");
    let again = place.run(["check", "wakashu_dir", "--fix"]);
    assert!(again.stderr.contains("nothing to fix"), "{}", again.stderr);
    assert_eq!(files(&place.dir()), after);
}

#[test]
fn fixing_never_guesses_and_never_overwrites() {
    let place = sound()
        .entry("第1回/2-b")
        .file("第1回/02-b/TextData2.json", TEXT)
        .file("第1回/3-c/TextData3.json", TEXT.replace("AccountName", "AcountName"))
        .file("第1回/4-d/TextData4.json", b"{\"a\":\"\xb1\xb2\xb3\xb4\"}")
        .file("第1回/5-e/TextData5.json", "{“a”:“彼は”はい”と”}")
        .file("第1回/6Laptop/TextData6.json", TEXT);
    let before = files(&place.dir());
    let run = place.run(["check", "wakashu_dir", "--fix", "--language", "ja"]);
    assert_eq!(run.code, 1);
    assert_eq!(files(&place.dir()), before);
    assert!(run.stderr.contains("「2-b」がすでにあります"), "{}", run.stderr);
}

/// A fix that is killed at any moment leaves every poem and every picture in the folder.
#[cfg(unix)]
#[test]
fn a_killed_fix_loses_nothing() {
    use std::process::Stdio;
    use std::time::Duration;

    let mut kills = 0;
    for delay in 0..24_u64 {
        let place = fixable();
        let before = files(&place.dir());
        let mut command = place.command(["check", "wakashu_dir", "--fix", "-q"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(delay * 3));
        child.kill().unwrap();
        kills += u32::from(!child.wait().unwrap().success());
        let after = files(&place.dir());
        for bytes in before.values() {
            assert!(after.values().any(|kept| kept == bytes), "after {delay}: {:?}", after.keys());
        }
        let run = place.run(["check", "wakashu_dir", "--fix"]);
        assert_eq!(run.code, 0, "after {delay}: {}", run.stderr);
    }
    assert!(kills > 0, "none was killed in time");
}

#[test]
fn help_of_new_add_and_check_is_in_the_curators_language() {
    let place = Place::new();
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    for verb in ["new", "add", "check"] {
        let run = place.run([verb, "--help", "--language", "ja"]);
        settings.bind(|| insta::assert_snapshot!(format!("help_{verb}_ja"), run.stdout));
    }
    let run = place.run(["check", "--help"]);
    assert!(run.stdout.contains("Usage:") && run.stdout.contains("Examples:"), "{}", run.stdout);
}
