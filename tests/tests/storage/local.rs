//! The file under a server is changed, cut short or replaced: no answer is forged, the server lives, it says that it is
//! stale, and the next good version is served.

use std::fs::{self, File};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tempfile::TempDir;
use wakashu_archive::{Archive, Span};
use wakashu_tests::{Reply, Server, program};

use super::outage::{status, wait_until};
use super::refresh::{MARKS, marked, request};
use super::store::open;

/// How many different requests are sent to see what is answered: they touch every part.
const REQUESTS: usize = 36;

const SETTINGS: [(&str, &str); 1] = [("WAKASHU_REFRESH_SECONDS", "1")];

/// Where the archive is served from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A file that is named.
    File,
    /// A store in a folder.
    Folder,
}

const PLACES: [Place; 2] = [Place::File, Place::Folder];

/// A server on an archive of the first mark, and an archive of the second that is as long to the byte.
struct World {
    server: Server,
    place: Place,
    /// The file that is served.
    path: PathBuf,
    archive: Archive,
    good: Vec<u8>,
    forged: Vec<u8>,
    files: TempDir,
}

impl World {
    fn new(place: Place) -> Self {
        let files = tempfile::tempdir().unwrap();
        let [good, forged] = MARKS.map(|mark| fs::read(marked(mark).write()).unwrap());
        assert_eq!(good.len(), forged.len(), "the forgery fits");
        let named = files.path().join("poems.wakashu");
        fs::write(&named, &good).unwrap();
        let archive = open(&named).0;
        let (address, path) = match place {
            Place::File => (named.clone(), named),
            Place::Folder => {
                let store = files.path().join("store");
                publish(&named, &store);
                let path = store.join(format!("archives/{}.wakashu", archive.digest()));
                (store, path)
            }
        };
        let server = Server::serve_with(Some(&address), &SETTINGS);
        let world = Self { server, place, path, archive, good, forged, files };
        // Some of it is in the cache, some is not.
        assert_eq!(mark_of(&world.server.send(&request(4))), Some(0));
        world
    }

    /// Writes into the served file where it lies.
    fn write_in_place(&self, span: Span, bytes: &[u8]) {
        let mut file = File::options().write(true).open(&self.path).unwrap();
        file.seek(SeekFrom::Start(span.offset)).unwrap();
        let part = usize::try_from(span.offset).unwrap()..usize::try_from(span.end()).unwrap();
        file.write_all(&bytes[part]).unwrap();
    }

    /// Asks for everything. Whatever comes is of one archive; returns of which, where it tells.
    fn ask_for_everything(&mut self) -> Vec<usize> {
        let seen = (0..REQUESTS).filter_map(|number| mark_of(&self.server.send(&request(number)))).collect();
        assert!(self.server.is_alive());
        seen
    }

    /// Checks that nothing forged is answered, and that it is said to be stale soon.
    fn check_nothing_forged(&mut self, what: &str) {
        wait_until(&format!("{what}: it is noticed"), || {
            let seen = self.ask_for_everything();
            assert!(!seen.contains(&1), "{what} in a {:?}: a forged answer", self.place);
            status(&self.server)["stale"] == true
        });
        assert_eq!(status(&self.server)["state"], "READY");
    }

    /// Puts the next version into place as it should be, and checks that it is served.
    fn check_next_version(&mut self, what: &str) {
        let next = self.files.path().join("next.wakashu");
        fs::copy(marked("次印").write(), &next).unwrap();
        match self.place {
            Place::File => fs::rename(next, &self.path).unwrap(),
            Place::Folder => publish(&next, &self.files.path().join("store")),
        }
        wait_until(&format!("{what}: the next version is served"), || {
            let status = status(&self.server);
            status["title"] == "次印" && status["stale"] == false
        });
        for number in 0..REQUESTS {
            let reply = self.server.send(&request(number));
            let is_good = reply.code() == 0 && !reply.is_tool_error() && mark_of(&reply).is_none();
            assert!(is_good, "{what}: {}", reply.text());
        }
    }
}

fn publish(archive: &Path, store: &Path) {
    let mut command = Command::new(program("wakashu-indexer"));
    let done = command.args(["publish", "--no-progress"]).args([archive, store]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// Returns which archive an answer is of, if it tells, after making sure that no part of it is of the other.
fn mark_of(reply: &Reply) -> Option<usize> {
    assert_eq!(reply.status, 200, "{}", reply.text());
    let text = reply.text();
    // search_poems sets its mark inside ours: 甲【印】.
    let has = |mark: &str| text.contains(mark) || text.contains(&mark.replace('印', "【印】"));
    let mut found: Vec<usize> = (0..MARKS.len()).filter(|which| has(MARKS[*which])).collect();
    // A resource that cannot be read is an error of the protocol.
    let result = if reply.code() == 0 { reply.result() } else { Value::Null };
    let blocks = result["content"].as_array().into_iter().flatten();
    for picture in blocks.filter_map(|block| block["data"].as_str()) {
        let bytes = STANDARD.decode(picture).unwrap();
        found.extend((0..MARKS.len()).filter(|which| bytes.ends_with(MARKS[*which].as_bytes())));
    }
    found.sort_unstable();
    found.dedup();
    assert!(found.len() <= 1, "an answer of both: {text:.2000}");
    found.first().copied()
}

/// Names the parts of an archive: its pictures and pages, its columns, its end.
fn parts(archive: &Archive) -> [(&'static str, Span); 3] {
    let chunks = archive.root().rounds.iter().flat_map(|round| round.chunks.iter());
    let pages_end = chunks.map(|chunk| chunk.page.span().end()).max().unwrap();
    let opening = archive.opening_span();
    let between = |offset, end| Span { offset, length: end - offset };
    [
        ("pictures and pages", between(8, pages_end)),
        ("columns", between(pages_end, opening.offset)),
        ("root, table and trailer", opening),
    ]
}

#[test]
fn a_file_changed_in_place_forges_no_answer() {
    for place in PLACES {
        let mut world = World::new(place);
        for (part, span) in parts(&world.archive.clone()) {
            world.write_in_place(span, &world.forged);
            if !(place == Place::File && part.starts_with("root")) {
                world.check_nothing_forged(part);
            }
            world.write_in_place(span, &world.good);
            // What was mended in place is fresh again.
            wait_until(&format!("{part}: it is fresh again"), || status(&world.server)["stale"] == false);
            assert!(world.ask_for_everything().iter().all(|mark| *mark == 0), "{part}");
        }
        // Nothing of the pages is left: zeros, as a disk that fails may give.
        let mut world = World::new(place);
        let (_, span) = parts(&world.archive)[0];
        world.write_in_place(span, &vec![0; world.good.len()]);
        world.check_nothing_forged("zeros");
        world.check_next_version("zeros");
    }
}

#[test]
fn a_file_cut_short_in_place_ends_nobody() {
    for place in PLACES {
        for (what, keep) in [("half", 2), ("nothing", u64::MAX)] {
            let mut world = World::new(place);
            let length = world.good.len() as u64 / keep;
            File::options().write(true).open(&world.path).unwrap().set_len(length).unwrap();
            world.check_nothing_forged(what);
            world.check_next_version(what);
        }
    }
}

#[test]
fn a_file_replaced_by_another_archive_is_served_whole_or_not_at_all() {
    for place in PLACES {
        for renamed in [false, true] {
            let mut world = World::new(place);
            if renamed {
                let other = world.path.with_extension("other");
                fs::write(&other, &world.forged).unwrap();
                fs::rename(&other, &world.path).unwrap();
            } else {
                // As `cp` does it: the same file, emptied and written again.
                fs::write(&world.path, &world.forged).unwrap();
            }
            match place {
                // A writer of the file decides what is served.
                Place::File => {
                    wait_until("the other archive is served", || {
                        world.ask_for_everything();
                        status(&world.server)["title"] == MARKS[1]
                    });
                    assert!(world.ask_for_everything().iter().all(|mark| *mark == 1));
                    assert_eq!(status(&world.server)["stale"], false);
                }
                // A writer of the pointer decides what is served. The file's old content is read on, if it is still there.
                Place::Folder if renamed => {
                    wait_until("it is noticed", || {
                        assert!(!world.ask_for_everything().contains(&1), "a forged answer");
                        status(&world.server)["stale"] == true
                    });
                }
                Place::Folder => world.check_nothing_forged("another archive"),
            }
            world.check_next_version("another archive");
        }
    }
}
