//! Search over a bucket: a column is fetched once, when it is first needed, and only if there is room for it.

use std::time::Duration;

use serde_json::json;
use wakashu_archive::ColumnName;
use wakashu_archive::Span;
use wakashu_bench::{Shape, write_archive};
use wakashu_tests::{HttpRequest, call};

use super::load::under_load;
use super::outage::wait_until;
use super::store::{Store, folder, open};
use wakashu_support::fault_proxy::{Fault, Rule};

fn search(query: &str) -> HttpRequest {
    call("search_poems", &json!({ "query": query, "limit": 1 }))
}

fn range(span: Span) -> String {
    format!("bytes={}-{}", span.offset, span.end() - 1)
}

#[test]
fn a_column_is_fetched_once_and_on_the_first_search() {
    let (_folder, path) = folder();
    // As many entries as one page holds, so that every hit is on a page that is known.
    write_archive(&path, &[Shape { rounds: 1, entries: 32, picture_bytes: 5_000 }]).unwrap();
    let (archive, _) = open(&path);
    let columns = ColumnName::ALL.map(|name| archive.column(name).unwrap());
    let columns = columns.iter().map(|column| range(column.span()));
    let [text, prompt, honka] = columns.collect::<Vec<_>>().try_into().unwrap();
    let store = Store::with(&path);
    let server = store.serve(&[("WAKASHU_REFRESH_SECONDS", "86400")]);
    let fetched = |column: &str| {
        let reads = store.archive_reads();
        let of_column = reads.iter().filter(|one| one.range.as_deref() == Some(column)).count();
        (of_column, reads.len())
    };
    assert!(!server.send(&call("get_wakashu_ranking", &json!({ "round_title": "1" }))).is_tool_error());
    assert_eq!(fetched(&text).0, 0, "nobody has searched yet");

    let _ = under_load(
        &server,
        |mut client| {
            let (reply, _) = client.ask(&search("poet"));
            assert_eq!(reply.result()["structuredContent"]["total"], 32, "{}", reply.text());
        },
        || (),
    );
    assert_eq!(fetched(&text), (1, 1), "ten at once share one read, and the page is known from before");
    assert!(!server.send(&search("窓 ラップトップ")).is_tool_error());
    assert_eq!(fetched(&text), (0, 0), "it is kept");
    assert!(!server.send(&search("prompt:ukiyo")).is_tool_error());
    assert_eq!(fetched(&prompt), (1, 1), "the others come when they are named");
    assert!(!server.send(&search("honka:wikisource")).is_tool_error());
    assert_eq!(fetched(&honka), (1, 1));
}

/// The read of a large column outlasts any answer. It was begun again for each search, and never ended.
#[test]
fn a_column_that_comes_after_the_search_has_ended_is_there_for_the_next() {
    let (_folder, path) = folder();
    write_archive(&path, &[Shape { rounds: 1, entries: 32, picture_bytes: 0 }]).unwrap();
    let column = range(open(&path).0.column(ColumnName::Text).unwrap().span());
    let store = Store::with(&path);
    let server = store.serve(&[("WAKASHU_TOOL_TIMEOUT_MS", "100"), ("WAKASHU_REFRESH_SECONDS", "86400")]);
    // Each read takes several times as long as a search may, and less than storage takes for a failure.
    store.proxy.inject(Rule::on("GET", "/archives/", Fault::Delay(Duration::from_secs(1))));
    assert!(server.send(&search("poet")).is_tool_error());
    let mut came = 0;
    wait_until("what was begun is found", || {
        let reads = store.archive_reads();
        came += reads.iter().filter(|one| one.range.as_deref() == Some(&column)).count();
        if came > 0 {
            store.proxy.heal();
        }
        !server.send(&search("poet")).is_tool_error()
    });
    assert_eq!(came, 1);
}

#[test]
fn a_column_that_does_not_fit_is_not_fetched() {
    let (_folder, path) = folder();
    write_archive(&path, &[Shape { rounds: 1, entries: 6_000, picture_bytes: 0 }]).unwrap();
    let (archive, _) = open(&path);
    let column = archive.column(ColumnName::Text).unwrap();
    assert!(column.length > 1 << 20, "{}", column.length);
    let store = Store::with(&path);
    let mut server = store.serve(&[("WAKASHU_SEARCH_BYTES", "1048576")]);
    let reply = server.send(&search("花"));
    let what_to_set = format!("WAKASHU_SEARCH_BYTES を {} 以上に", column.length);
    assert!(reply.is_tool_error() && reply.texts()[0].contains(&what_to_set), "{}", reply.text());
    assert!(server.log_with("WAKASHU_SEARCH_BYTES must be at least").contains(&column.length.to_string()));
    assert!(store.archive_reads().iter().all(|one| one.range.as_deref() != Some(&range(column.span()))));
    assert!(!server.send(&search("honka:wikisource")).is_tool_error(), "a smaller one fits");
    assert!(!server.send(&call("get_wakashu_ranking", &json!({ "round_title": "1" }))).is_tool_error());
    assert!(server.is_alive());
}
