//! The folder that is site and store: what is in it, what stays, what goes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::harness::{Place, Run, fixtures, lasting_cache};

/// Returns every file of a folder with its content; those that no host shows are left out.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap().map(Result::unwrap) {
            let name = entry.path().strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
            if entry.file_type().unwrap().is_dir() {
                if name != ".wakashu-site" {
                    folders.push(entry.path());
                }
            } else {
                found.insert(name, fs::read(entry.path()).unwrap());
            }
        }
    }
    found
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        if *byte == b'%' {
            bytes.push(u8::from_str_radix(std::str::from_utf8(&after[..2]).unwrap(), 16).unwrap());
            rest = &after[2..];
        } else {
            bytes.push(*byte);
            rest = after;
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// Returns the links of all pages that lead to nothing.
fn dead_links(files: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    let mut dead = Vec::new();
    let mut links = 0;
    for (name, content) in files.iter().filter(|(name, _)| name.ends_with(".html") && *name != "404.html") {
        let page = String::from_utf8_lossy(content);
        let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
        for attribute in [" href=\"", " src=\"", " srcset=\""] {
            for link in page.split(attribute).skip(1).filter_map(|rest| rest.split('"').next()) {
                for target in link.split(", ").map(|part| part.split([' ', '?', '#']).next().unwrap()) {
                    if target.is_empty() || target.contains("://") {
                        continue;
                    }
                    let mut path: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
                    let target = decoded(target);
                    for part in target.split('/') {
                        if part == ".." {
                            path.pop().unwrap();
                        } else {
                            path.push(part);
                        }
                    }
                    links += 1;
                    if !files.contains_key(&path.join("/")) {
                        dead.push(format!("{name}: {target}"));
                    }
                }
            }
        }
    }
    assert!(links > 0);
    dead
}

fn export(place: &Place, arguments: &[&str]) -> Run {
    let mut command = place.command(["export"]);
    command.args(arguments).args(["--no-progress"]).env_remove("SOURCE_DATE_EPOCH");
    Run::of(command)
}

fn exported(place: &Place, arguments: &[&str]) -> serde_json::Value {
    let run = export(place, &[arguments, &["--json"]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    run.json()
}

fn times(folder: &Path) -> BTreeMap<String, SystemTime> {
    files(folder)
        .into_keys()
        .map(|name| {
            let modified = fs::metadata(folder.join(&name)).unwrap().modified().unwrap();
            (name, modified)
        })
        .collect()
}

#[test]
fn the_sample_becomes_a_site_and_a_store() {
    let place = Place::new();
    let sample = fixtures().join("wakashu_dir");
    let cache = lasting_cache();
    let base = "https://example.org/waka";
    let run = export(
        &place,
        &[sample.to_str().unwrap(), "-o", "site", "--base-url", base, "--cache-dir", cache.to_str().unwrap()],
    );
    assert_eq!((run.code, run.stdout.as_str()), (0, "site/index.html\n"), "{}", run.stderr);
    let site = files(&place.path().join("site"));
    assert_eq!(dead_links(&site), Vec::<String>::new());
    for name in [
        ".nojekyll",
        "404.html",
        "index.html",
        "feed.xml",
        "robots.txt",
        "current.json",
        "rounds/第1回/1/index.html",
    ] {
        assert!(site.contains_key(name), "{name}: {:?}", site.keys());
    }
    let poem = String::from_utf8_lossy(&site["rounds/第1回/1/index.html"]);
    assert!(
        poem.contains("<meta property=\"og:image\" content=\"https://example.org/waka/pictures/"),
        "{poem}"
    );
    assert!(String::from_utf8_lossy(&site["404.html"]).contains("href=\"/waka/assets/style-"));

    // It is a store: verbs that read one read it, and it can be exported from.
    let history = place.run(["history", "site", "--json"]).json();
    let archive = format!("site/archives/{}.wakashu", history["digest"].as_str().unwrap());
    assert_eq!(place.run(["check", &archive]).code, 0);
    let again = exported(&place, &["site", "-o", "second", "--base-url", base]);
    assert_eq!(again["published_at"], history["published_at"], "as the store says");
    assert_eq!(files(&place.path().join("second")), site);
}

#[test]
fn what_is_the_same_is_not_touched_and_what_is_not_ours_is_left_alone() {
    let place = Place::small();
    let folder = place.path().join("site");
    let first = exported(&place, &["wakashu_dir", "-o", "site"]);
    assert_eq!((&first["unchanged"], &first["removed"]), (&0.into(), &0.into()));
    let before = times(&folder);
    assert_eq!(first["written"], before.len());
    std::thread::sleep(Duration::from_millis(20));

    let second = exported(&place, &["wakashu_dir", "-o", "site"]);
    assert_eq!((&second["written"], &second["unchanged"]), (&0.into(), &first["written"]));
    assert_eq!(second["published_at"], first["published_at"]);
    assert_eq!(times(&folder), before);

    fs::write(folder.join("rounds/番外編/mine.txt"), "mine").unwrap();
    fs::write(folder.join("CNAME"), "example.org").unwrap();
    fs::remove_dir_all(place.dir().join("番外編")).unwrap();
    let place = place.entry("第1回/3-New");
    let dry = exported(&place, &["wakashu_dir", "-o", "site", "--dry-run", "--history", "0"]);
    assert_eq!(times(&folder).keys().filter(|name| name.contains("New")).count(), 0);
    let third = exported(&place, &["wakashu_dir", "-o", "site", "--history", "0"]);
    for count in ["written", "unchanged", "removed", "bytes", "files"] {
        assert_eq!(dry[count], third[count], "{count}");
    }
    let after = times(&folder);
    let site = files(&folder);
    assert_eq!(dead_links(&site), Vec::<String>::new());
    assert_eq!(site["rounds/番外編/mine.txt"], b"mine");
    assert!(site.contains_key("CNAME") && !site.contains_key("rounds/番外編/index.html"));
    assert!(!folder.join("rounds/番外編/1").exists() && site.contains_key("rounds/第1回/3/index.html"));
    let same = "rounds/第1回/1/index.html";
    assert_eq!(after[same], before[same], "its neighbours are those of before");
    assert_eq!(site.keys().filter(|name| name.starts_with("archives/")).count(), 1);

    // What others changed is put right, and what they removed is back.
    fs::write(folder.join("feed.xml"), "changed").unwrap();
    fs::remove_file(folder.join("index.html")).unwrap();
    let mended = exported(&place, &["wakashu_dir", "-o", "site", "--history", "0"]);
    assert_eq!(mended["written"], 2);
    assert_eq!(files(&folder), site);
}

#[test]
fn the_same_collection_makes_the_same_bytes() {
    let place = Place::small();
    for name in ["one", "two"] {
        let mut command = place.command(["export", "wakashu_dir", "-o", name, "--no-cache"]);
        command.env("SOURCE_DATE_EPOCH", "1700000000");
        assert_eq!(Run::of(command).code, 0);
    }
    let [one, two] = ["one", "two"].map(|name| files(&place.path().join(name)));
    assert_eq!(one, two);
    let list = |name| fs::read(place.path().join(name).join(".wakashu-site/files")).unwrap();
    assert_eq!(list("one"), list("two"));
    let pointer: serde_json::Value = serde_json::from_slice(&one["current.json"]).unwrap();
    assert_eq!(pointer["published_at"], "2023-11-14T22:13:20Z");
    let feed = String::from_utf8_lossy(&one["feed.xml"]);
    assert!(
        feed.contains("urn:uuid:")
            && feed.contains("2025-05-31T00:00:00Z")
            && feed.contains("2023-11-14T22:13:20Z")
    );

    let mut command = place.command(["export", "wakashu_dir", "-o", "three"]);
    command.env("SOURCE_DATE_EPOCH", "yesterday");
    let run = Run::of(command);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("SOURCE_DATE_EPOCH is `yesterday`"), "{}", run.stderr);
}

/// A book has one date: that of its latest round, or what the environment says.
#[test]
fn the_same_collection_makes_the_same_book() {
    let book = |place: &Place, name: &str, epoch: Option<&str>| {
        let mut command = place.command(["book", "wakashu_dir", "-o", name, "--no-cache", "--no-progress"]);
        command.env_remove("SOURCE_DATE_EPOCH").envs(epoch.map(|epoch| ("SOURCE_DATE_EPOCH", epoch)));
        let run = Run::of(command);
        assert_eq!(run.code, 0, "{}", run.stderr);
        fs::read(place.path().join(name)).unwrap()
    };
    // Texts lie in a book as they are.
    let is_dated = |book: &[u8], date: &str| {
        let modified = format!("<meta property=\"dcterms:modified\">{date}</meta>");
        book.windows(modified.len()).any(|window| window == modified.as_bytes())
    };
    let dated = Place::small();
    let one = book(&dated, "one.epub", None);
    assert!(is_dated(&one, "2025-05-31T00:00:00Z"));
    assert_eq!(book(&dated, "two.epub", None), one);

    let undated = Place::new().entry("第1回/1-Laptop");
    let one = book(&undated, "one.epub", Some("1700000000"));
    assert!(is_dated(&one, "2023-11-14T22:13:20Z"));
    assert_eq!(book(&undated, "two.epub", Some("1700000000")), one);
    assert!(
        !is_dated(&book(&undated, "now.epub", None), "2023-11-14T22:13:20Z"),
        "else it is dated by the clock"
    );
}

#[test]
fn a_folder_of_others_is_refused_before_anything_is_written() {
    let place = Place::small();
    let folder = place.path().join("www");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("index.html"), "my page").unwrap();
    let run = export(&place, &["wakashu_dir", "-o", "www"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(
        run.stderr.contains("`www` already has 1 of the site's names")
            && run.stderr.contains("hint: name a folder"),
        "{}",
        run.stderr
    );
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "no trace is left");
    // A store is one, too.
    assert_eq!(place.run(["publish", "wakashu_dir", "store", "--no-cache"]).code, 0);
    assert_eq!(export(&place, &["wakashu_dir", "-o", "store"]).code, 2);
    for inside in ["wakashu_dir/site", "wakashu_dir", "wakashu_dir/a/b"] {
        let run = export(&place, &["wakashu_dir", "-o", inside]);
        assert_eq!(run.code, 2, "{inside}");
        assert!(run.stderr.contains("inside the collection"), "{}", run.stderr);
    }
    // The list of what is ours was lost: the site says itself that it is one.
    exported(&place, &["wakashu_dir", "-o", "site"]);
    fs::remove_dir_all(place.path().join("site/.wakashu-site")).unwrap();
    assert_eq!(exported(&place, &["wakashu_dir", "-o", "site"])["written"], 0);
}

/// A folder that already is our site may have files of others, too; a later run does not take them for its own.
#[test]
fn a_page_of_others_is_refused_by_every_run() {
    let place = Place::small();
    exported(&place, &["wakashu_dir", "-o", "site"]);
    let mine = place.path().join("site/rounds/第2回/index.html");
    fs::create_dir_all(mine.parent().unwrap()).unwrap();
    fs::write(&mine, "mine").unwrap();
    let before = files(&place.path().join("site"));
    let place = place.text("第2回/1-New");
    let run = export(&place, &["wakashu_dir", "-o", "site"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("rounds/第2回/index.html"), "{}", run.stderr);
    assert_eq!(files(&place.path().join("site")), before);
    fs::remove_file(&mine).unwrap();
    exported(&place, &["wakashu_dir", "-o", "site"]);
    assert_ne!(fs::read(&mine).unwrap(), b"mine");
}

#[test]
fn a_bundle_in_the_folder_is_offered() {
    let place = Place::small();
    exported(&place, &["wakashu_dir", "-o", "site"]);
    let link = "href=\"%E6%AD%8C%E9%9B%86.mcpb\"";
    let front = || fs::read_to_string(place.path().join("site/index.html")).unwrap();
    assert!(!front().contains(link));
    fs::write(place.path().join("site/歌集.mcpb"), "a bundle").unwrap();
    exported(&place, &["wakashu_dir", "-o", "site"]);
    assert!(front().contains(link), "{}", front());
    assert_eq!(dead_links(&files(&place.path().join("site"))), Vec::<String>::new());
    assert_eq!(fs::read(place.path().join("site/歌集.mcpb")).unwrap(), b"a bundle");
}

#[test]
fn problems_of_the_collection_stop_it() {
    let place = Place::small().file("第1回/1-Laptop/TextData1.json", "{");
    let run = export(&place, &["wakashu_dir", "-o", "site", "--json"]);
    assert_eq!((run.code, run.problems()), (1, vec!["error 第1回/1-Laptop/TextData1.json".to_owned()]));
    assert!(!place.path().join("site").exists());
}

#[test]
fn what_readers_of_the_live_site_hold_is_carried_over() {
    let place = Place::small();
    exported(&place, &["wakashu_dir", "-o", "one"]);
    let one = files(&place.path().join("one"));
    // Another picture, and one entry fewer.
    let place = place.file("第1回/1-Laptop/Picture1.png", crate::harness::png(20, 20, 99));
    fs::remove_dir_all(place.dir().join("番外編")).unwrap();

    let nothing = export(&place, &["wakashu_dir", "-o", "first", "--previous", "not-there-yet"]);
    assert_eq!(nothing.code, 0, "{}", nothing.stderr);
    assert!(
        nothing.stderr.contains("nothing is there yet to carry over: not-there-yet"),
        "{}",
        nothing.stderr
    );
    let unreachable =
        export(&place, &["wakashu_dir", "-o", "other", "--previous", "http://127.0.0.1:1/site"]);
    assert_eq!(unreachable.code, 2, "{}", unreachable.stderr);
    assert!(!place.path().join("other/current.json").exists());

    exported(&place, &["wakashu_dir", "-o", "two", "--previous", "one"]);
    let two = files(&place.path().join("two"));
    let kept = |prefix: &str| {
        one.keys().filter(|name| name.starts_with(prefix)).all(|name| two.get(name) == one.get(name))
    };
    let by_content: Vec<_> =
        one.keys().filter(|name| name.starts_with("search/") && !name.ends_with(".html")).collect();
    assert!(kept("archives/") && kept("pictures/") && kept("assets/"));
    assert!(by_content.iter().all(|name| two.contains_key(*name)), "{by_content:?}");
    assert!(!two.contains_key("rounds/番外編/index.html"));
    assert_eq!(two.keys().filter(|name| name.starts_with("archives/")).count(), 2);
    let history = place.run(["history", "two", "--json"]).json();
    assert_eq!(history["history"].as_array().unwrap().len(), 1);

    // The version before goes with the next but one, and at once where none is to be kept.
    let place = place.file("和歌集.json", "{\"Title\":\"三\"}");
    exported(&place, &["wakashu_dir", "-o", "three", "--previous", "two"]);
    exported(&place, &["wakashu_dir", "-o", "none", "--previous", "two", "--history", "0"]);
    for (name, archives) in [("three", 2), ("none", 1)] {
        let site = files(&place.path().join(name));
        assert_eq!(site.keys().filter(|name| name.starts_with("archives/")).count(), archives, "{name}");
        assert_eq!(dead_links(&site), Vec::<String>::new());
    }
    // What the host has lost is told, and not promised.
    let lost: Vec<PathBuf> =
        fs::read_dir(place.path().join("two/archives")).unwrap().map(|entry| entry.unwrap().path()).collect();
    for archive in lost {
        fs::remove_file(archive).unwrap();
    }
    let told = exported(&place, &["wakashu_dir", "-o", "four", "--previous", "two"]);
    assert_eq!(told["warnings"].as_array().unwrap().len(), 1, "{told}");
    assert_eq!(place.run(["history", "four", "--json"]).json()["history"].as_array().unwrap().len(), 0);
}

/// Style and script have the program's own content: that an older one stays is seen by a deploy of an older program.
#[test]
fn style_and_script_of_the_deploy_before_stay_for_one_more() {
    let place = Place::small();
    exported(&place, &["wakashu_dir", "-o", "one"]);
    let older = "body { color: red }";
    let hash = wakashu_archive::ContentHash::of(older.as_bytes()).to_short_hex();
    let name = format!("assets/style-{}.css", hash.as_str());
    fs::write(place.path().join("one").join(&name), older).unwrap();
    let deploys = place.path().join("one/site.json");
    let mut known: serde_json::Value = serde_json::from_slice(&fs::read(&deploys).unwrap()).unwrap();
    let loaded = known["deploys"][0]["files"].as_array_mut().unwrap();
    loaded.push(serde_json::json!({ "path": name, "bytes": older.len() }));
    fs::write(&deploys, known.to_string()).unwrap();

    let place = place.file("和歌集.json", "{\"Title\":\"二\"}");
    exported(&place, &["wakashu_dir", "-o", "two", "--previous", "one", "--history", "1"]);
    let place = place.file("和歌集.json", "{\"Title\":\"三\"}");
    exported(&place, &["wakashu_dir", "-o", "three", "--previous", "two", "--history", "1"]);
    let [two, three] = ["two", "three"].map(|name| files(&place.path().join(name)));
    assert_eq!(two.get(&name).map(Vec::as_slice), Some(older.as_bytes()));
    assert!(!three.contains_key(&name), "{:?}", three.keys());
}

#[test]
fn titles_that_no_disk_holds_have_names_on_every_disk() {
    let long = "歌".repeat(80);
    // Titles that differ by case alone are no collection; `pages` has the test of their names.
    let place = ["a?b#c%d:e", "CON", "A", "春 の部", &long]
        .iter()
        .fold(Place::new(), |place, title| place.text(&format!("{title}/1-x")));
    exported(&place, &["wakashu_dir", "-o", "site"]);
    let site = files(&place.path().join("site"));
    assert_eq!(dead_links(&site), Vec::<String>::new());
    let mut folders: Vec<String> = fs::read_dir(place.path().join("site/rounds"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(folders.len(), 5);
    assert!(
        folders.iter().all(|name| name.len() <= 96 && !name.contains([' ', '?', '#', '%', ':'])),
        "{folders:?}"
    );
    for name in &mut folders {
        *name = name.to_lowercase();
    }
    folders.sort();
    folders.dedup();
    assert_eq!(folders.len(), 5, "also where case does not count: {folders:?}");
}

#[test]
fn one_run_at_a_time() {
    let place = Place::small();
    exported(&place, &["wakashu_dir", "-o", "site"]);
    let lock = fs::File::options().append(true).open(place.path().join("site/.wakashu-site/lock")).unwrap();
    lock.lock().unwrap();
    let run = export(&place, &["wakashu_dir", "-o", "site"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("another export is writing to `site`"), "{}", run.stderr);
}
