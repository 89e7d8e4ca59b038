//! A server that takes an exported folder for its store, over a real host of static files, answers as with the archive.

use std::net::TcpListener;

use serde_json::{Value, json};
use wakashu_tests::{Collection, Pictures, Server, call, poem};

use super::export;
use crate::storage::web::Nginx;

#[test]
fn an_exported_folder_on_nginx_gives_the_answers_of_the_archive() {
    let size = Pictures { small: 20_000, medium: 60_000, large: 100_000 };
    let entries = (1..=70).map(|rank| poem(rank, Some(size)));
    let collection = Collection::default().dated_round("第1回", Some("2025年4月")).entries(entries);
    let collection = collection.round("a?b#c%d:e").entries((1..=3).map(|rank| poem(rank, None)));
    let archive = collection.write();
    let files = tempfile::tempdir().unwrap();
    export(&archive, &files.path().join("under/site"), &["--base-url", "https://example.org/under/site/"]);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let Some(_nginx) = Nginx::start(files.path(), files.path(), port) else {
        println!("skipped: there is no nginx (`.ci/tools nginx` installs it)");
        return;
    };
    let address = format!("http://127.0.0.1:{port}/under/site");
    let settings = [("WAKASHU_ARCHIVE", address.as_str()), ("WAKASHU_PRELOAD_BYTES", "0")];
    let (from_host, from_file) = (Server::serve_with(None, &settings), Server::serve(&archive));
    let mut compared = 0;
    for (tool, arguments) in [
        ("list_rounds", json!({})),
        ("get_wakashu_ranking", json!({"round_title": "1", "rank_range": "1-3"})),
        ("get_wakashu_ranking", json!({"round_title": "1", "rank_range": "60-70"})),
        ("get_poem", json!({"round_title": "a?b#c%d:e", "rank": 2})),
        ("get_poem", json!({"round_title": "1", "rank": 99})),
        ("search_poems", json!({"query": "風の音", "limit": 50})),
        ("search_poems", json!({"query": "prompt:poem"})),
    ] {
        // Links to pictures name the server itself.
        let said = |server: &Server| {
            let reply: Value = server.send(&call(tool, &arguments)).result();
            reply.to_string().replace(&server.address().to_string(), "HOST")
        };
        assert_eq!(said(&from_host), said(&from_file), "{tool} {arguments}");
        compared += 1;
    }
    assert_eq!(compared, 7);
}
