//! Ten deploys under ten readers: a host that replaces the whole site at once and deletes what a deploy does not contain, and
//! a cache that goes on answering with the pointer of before, now and then, as the caches of several places do. Ten minutes
//! are a second and a half here.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use wakashu_support::web_server::{Lie, WebServer};
use wakashu_tests::{Collection, Pictures, Server, call, poem};

use crate::storage::store::runtime;

const DEPLOYS: usize = 10;
const READERS: usize = 10;
const CACHED: Duration = Duration::from_millis(1_500);
/// Deploys come less often than the cache forgets, as `docs/site.md` asks for.
const BETWEEN: Duration = Duration::from_millis(2_500);

fn archive(deploy: usize, folder: &Path) -> PathBuf {
    let size = Pictures { small: 3_000, medium: 6_000, large: 9_000 };
    let rank = |rank: u32| rank + u32::try_from(deploy).unwrap() * 1_000;
    let entries = (1..=40).map(|number| {
        let mut entry = poem(rank(number), Some(size));
        entry.poem = format!("{deploy}版目の歌{number}");
        entry.rank = number;
        entry
    });
    let path = folder.join(format!("{deploy}.wakashu"));
    Collection::default().title(&format!("{deploy}版")).round("第1回").entries(entries).write_to(&path);
    path
}

/// Returns what the pages of a folder load: everything they name but pages.
fn loaded_by_pages(folder: &Path) -> BTreeSet<String> {
    let mut loaded = BTreeSet::new();
    for page in ["index.html", "rounds/第1回/index.html", "rounds/第1回/7/index.html", "search/index.html"]
    {
        let text = std::fs::read_to_string(folder.join(page)).unwrap();
        for attribute in ["src=\"", "href=\"", "srcset=\"", "data-index=\""] {
            for link in text.split(attribute).skip(1).filter_map(|rest| rest.split('"').next()) {
                for target in link.split(", ").filter_map(|part| part.split(' ').next()) {
                    let target = target.trim_start_matches("../");
                    if ["assets/", "pictures/", "search/index-"].iter().any(|start| target.starts_with(start))
                    {
                        loaded.insert(target.to_owned());
                    }
                }
            }
        }
    }
    // And what the search's index names.
    let index = loaded.iter().find(|path| path.starts_with("search/index-")).unwrap().clone();
    let text = std::fs::read_to_string(folder.join(index)).unwrap();
    loaded.extend(text.split('"').filter(|part| part.starts_with("search/")).map(str::to_owned));
    loaded
}

fn point(live: &Path, to: &Path) {
    let next = live.with_extension("next");
    std::os::unix::fs::symlink(to, &next).unwrap();
    std::fs::rename(next, live).unwrap();
}

#[test]
fn ten_deploys_under_ten_readers_lose_nothing_and_never_step_back() {
    let files = tempfile::tempdir().unwrap();
    let at = |name: String| files.path().join(name);
    let folder = |deploy: usize| at(format!("deploy-{deploy}"));
    let live = at("live".to_owned());
    // Made one after the other, each from what is live then, as the workflow does it. The times of publishing differ by
    // more than a second.
    for deploy in 0..=DEPLOYS {
        let archive = archive(deploy, files.path());
        let previous = folder(deploy.saturating_sub(1));
        let moment = (1_700_000_000 + deploy * 60).to_string();
        super::export_at(&moment, &archive, &folder(deploy), &["--previous", previous.to_str().unwrap()]);
        if deploy > 0 {
            for path in loaded_by_pages(&previous) {
                assert!(
                    folder(deploy).join(&path).is_file(),
                    "a page of deploy {} misses {path}",
                    deploy - 1
                );
            }
        }
    }
    point(&live, &folder(0));
    let (runtime, live) = (runtime(), live);
    let host = runtime.block_on(WebServer::start(live.clone(), None)).unwrap();
    let address = format!("http://{}", host.address());
    let settings = [
        ("WAKASHU_ARCHIVE", address.as_str()),
        ("WAKASHU_PRELOAD_BYTES", "0"),
        ("WAKASHU_CACHE_BYTES", "1048576"),
        ("WAKASHU_REFRESH_SECONDS", "1"),
    ];
    let (done, answers) = (AtomicBool::new(false), AtomicUsize::new(0));
    let newest: Vec<usize> = std::thread::scope(|scope| {
        let readers: Vec<_> = (0..READERS)
            .map(|reader| {
                let (settings, done, answers) = (&settings, &done, &answers);
                scope.spawn(move || {
                    let server = Server::serve_with(None, settings);
                    let mut newest = 0;
                    for number in (1..=40).cycle() {
                        if done.load(Ordering::Relaxed) {
                            break;
                        }
                        let asked = json!({ "round_title": "1", "rank": number });
                        let reply = server.send(&call("get_poem", &asked));
                        assert!(
                            !reply.is_tool_error(),
                            "reader {reader} after {newest}: {}{}",
                            reply.text(),
                            server.log()
                        );
                        let text = reply.text();
                        let version: usize = (0..=DEPLOYS)
                            .find(|one| text.contains(&format!("\\n{one}版目の歌{number}\\n")))
                            .unwrap_or_else(|| panic!("{text}"));
                        assert!(version >= newest, "reader {reader} went from {newest} back to {version}");
                        assert_eq!(reply.pictures().len(), 1);
                        newest = version;
                        answers.fetch_add(1, Ordering::Relaxed);
                        std::thread::sleep(Duration::from_millis(40));
                    }
                    newest
                })
            })
            .collect();
        std::thread::sleep(Duration::from_secs(3));
        for deploy in 1..=DEPLOYS {
            let (began, before) = (Instant::now(), folder(deploy - 1).join("current.json"));
            host.lie("current.json", Lie::Another(before.clone()));
            point(&live, &folder(deploy));
            // Some places have forgotten already, others not: readers see the new one and then the old one again.
            while began.elapsed() < CACHED {
                std::thread::sleep(Duration::from_millis(150));
                host.heal();
                std::thread::sleep(Duration::from_millis(100));
                host.lie("current.json", Lie::Another(before.clone()));
            }
            host.heal();
            std::thread::sleep(BETWEEN.saturating_sub(began.elapsed()));
        }
        std::thread::sleep(Duration::from_secs(3));
        done.store(true, Ordering::Relaxed);
        readers.into_iter().map(|reader| reader.join().unwrap()).collect()
    });
    assert_eq!(newest, [DEPLOYS; READERS]);
    assert!(answers.load(Ordering::Relaxed) > 500, "{answers:?}");
}
