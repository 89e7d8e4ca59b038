//! Archives made to mislead, behind the real server: a clear sentence, `index_status` answers.

use std::time::{Duration, Instant};

use serde_json::json;
use wakashu_invariants::{Attack, Reach, attacks};
use wakashu_tests::{Server, call, check_answer, legacy};

use super::fixture::in_every_way;

/// Far more than any of them takes, on a machine that is busy with other things.
const AT_ONCE: Duration = Duration::from_secs(10);

#[test]
fn every_crafted_archive_is_refused_with_a_sentence_and_the_server_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("crafted.wakashu");
    for Attack { name, file, reaches, .. } in attacks() {
        std::fs::write(&path, &file).unwrap();
        in_every_way(&path, |way, server| check(&format!("{name}, {way}"), reaches, server));
    }
}

fn check(name: &str, reaches: Reach, mut server: Server) {
    let started = Instant::now();
    let status = server.send(&call("index_status", &json!({})));
    let state = if reaches == Reach::Nothing { "UNAVAILABLE" } else { "READY" };
    assert_eq!(status.result()["structuredContent"]["state"], state, "{name}");

    let first = server.send(&call("get_poem", &json!({ "round_title": "1", "rank": 1 })));
    check_answer(&first.body);
    let shown = first.texts().join("\n");
    match reaches {
        Reach::Nothing | Reach::Root => assert!(first.is_tool_error(), "{name}: {shown}"),
        Reach::Page | Reach::Large => {
            assert!(!first.is_tool_error() && first.pictures().is_empty(), "{name}");
            assert!(
                shown.contains("1位：@a") && shown.contains("画像だけを読み込めませんでした"),
                "{name}: {shown}"
            );
        }
        Reach::Everything => assert_eq!(first.pictures().len(), 1, "{name}: {shown}"),
    }
    let picture = server.get("/pictures/1/1").status;
    assert_eq!(picture, if reaches == Reach::Everything { 200 } else { 503 }, "{name}");
    let search = server.send(&call("search_poems", &json!({ "query": "歌" })));
    assert!(search.is_tool_error(), "{name}: the archive has no columns");

    if reaches != Reach::Nothing {
        let second = server.send(&call("get_poem", &json!({ "round_title": "2", "rank": 1 })));
        assert_eq!((second.is_tool_error(), second.pictures().len()), (false, 1), "{name}: the good round");
    }
    assert_eq!(server.send(&legacy("ping", &json!({}))).status, 200, "{name}");
    assert!(started.elapsed() < AT_ONCE, "{name}: {:?}", started.elapsed());
    assert!(server.is_alive(), "{name}");
}
