//! The modules of the server are layers: each uses only those that stand before it here.
#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const LAYERS: [&str; 19] = [
    "deadline",  // time limits that cost nothing where there is nothing to wait for
    "text",      // an answer as it is written
    "observe",   // the log, and a request's facts in it
    "served",    // the archive and what can be found in it; nothing of a protocol
    "fault",     // kinds of failure: sentence, status and code in one table
    "desk",      // places, time limits, the fence
    "gateway",   // what stands in the place of an archive, where other servers answer
    "exchange",  // what every request carries; nothing of HTTP
    "entries",   // an entry as readers see it
    "tools",     // the registry, one file per tool
    "mcp",       // JSON-RPC in, JSON-RPC out
    "v1",        // the plain HTTP view
    "web",       // routes and the one way through them
    "config",    // settings
    "door",      // sockets, events, lines
    "app",       // settings become a running server
    "reference", // chapters for the docs
    "program",   // the doors with their arguments, for both programs
    "main",
];

/// Returns the modules a source names, its tests left out: these may put any parts together.
fn named(source: &str) -> BTreeSet<&str> {
    let source = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    let uses = code.flat_map(|line| line.split("crate::").skip(1));
    uses.map(|rest| rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap())
        .collect()
}

/// Where JSON is written as it is: the scopes themselves, the blocks whose bytes the budget counts, and text that lies
/// escaped in the archive.
const BY_HAND: [&str; 3] = ["text/answer.rs", "entries.rs", "mcp/resources/round.rs"];

fn sources(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn every_module_uses_only_those_below_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files {
        let inside = file.strip_prefix(&root).unwrap();
        let module = inside.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs").to_owned();
        if module == "lib" {
            continue;
        }
        let source = std::fs::read_to_string(&file).unwrap();
        edges.entry(module).or_default().extend(named(&source).into_iter().map(str::to_owned));
    }
    let place = |module: &str| LAYERS.iter().position(|layer| *layer == module);
    assert_eq!(edges.len(), LAYERS.len(), "a layer for every module: {:?}", edges.keys());
    for (module, uses) in edges {
        let own = place(&module).unwrap_or_else(|| unreachable!("`{module}` is in no layer"));
        for used in uses.iter().filter(|used| **used != module) {
            let used_place =
                place(used).unwrap_or_else(|| unreachable!("`{module}` uses `{used}`, which is in no layer"));
            assert!(used_place < own, "`{module}` uses `{used}`, which lies above it");
        }
    }
}

#[test]
fn answers_are_written_with_scopes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let by_hand = files.iter().filter(|file| {
        let source = std::fs::read_to_string(file).unwrap();
        source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default().contains(".raw(")
    });
    let by_hand: BTreeSet<&str> =
        by_hand.map(|file| file.strip_prefix(&root).unwrap().to_str().unwrap()).collect();
    assert_eq!(by_hand, BTreeSet::from(BY_HAND));
}
