//! What a search shows, end to end. How words are matched is tested where keys are made.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wakashu_archive::EntryDraft;
use wakashu_tests::{Collection, Server, call, poem, repository};

fn collection() -> Collection {
    let long = |rank: u32| {
        let (before, after) = ("春の夜の".repeat(300), "夢の浮橋".repeat(300));
        EntryDraft { poem: format!("{before}峰にわかるる{after}"), ..poem(rank, None) }
    };
    let told = |rank, text: &str, reading: &str| EntryDraft {
        poem: text.to_owned(),
        yomi: Some(reading.to_owned()),
        ..poem(rank, None)
    };
    Collection::default().round("第1回").entries([
        told(1, "かはの水\n流れて早き", "かわのみず ながれてはやき"),
        told(2, "川の岸\nかわの名も", "かわのきし かわのなも"),
        long(3),
    ])
}

/// Searches and returns the text for people and the data.
fn search(server: &Server, arguments: &Value) -> (String, Value) {
    let reply = server.send(&call("search_poems", arguments));
    assert!(!reply.is_tool_error(), "{}", reply.text());
    (reply.texts()[0].clone(), reply.result()["structuredContent"].clone())
}

#[test]
fn exact_hits_come_first_and_loose_ones_say_so() {
    let collection = collection();
    let server = Server::serve(&collection.write());
    // Historical kana: は is read わ.
    let (text, data) = search(&server, &json!({ "query": "かはの" }));
    let hits = data["hits"].as_array().unwrap();
    let seen: Vec<_> = hits.iter().map(|hit| (hit["rank"].as_u64().unwrap(), &hit["match"])).collect();
    assert_eq!(seen, [(1, &json!("exact")), (2, &json!("loose"))]);
    assert_eq!(hits[0]["poem"], "かはの水\n流れて早き");
    assert_eq!(hits[0]["marked"], json!({ "field": "poem", "text": "かはの" }));
    assert_eq!(hits[1]["poem"], "川の岸\nかわの名も");
    assert_eq!(hits[1]["marked"], json!({ "field": "poem", "text": "かわの" }));
    assert!(text.contains("\n【かはの】水\n") && text.contains("\n川の岸\n【かわの】名も\n"), "{text}");
    assert_eq!(text.matches("（表記ゆれを含む一致）").count(), 1, "{text}");
}

#[test]
fn a_match_in_the_reading_is_marked_there() {
    let collection = collection();
    let server = Server::serve(&collection.write());
    let (text, data) = search(&server, &json!({ "query": "ながれてはやき" }));
    assert_eq!(data["hits"][0]["yomi"], "かわのみず ながれてはやき");
    assert_eq!(data["hits"][0]["marked"], json!({ "field": "yomi", "text": "ながれてはやき" }));
    assert_eq!(data["hits"][0]["poem"], "かはの水\n流れて早き", "the poem stays as it is");
    assert!(text.contains("\nよみ: かわのみず 【ながれてはやき】"), "{text}");
}

#[test]
fn a_match_in_the_account_is_marked_there_even_if_the_poem_has_the_word() {
    let account = |rank, name: &str| EntryDraft {
        account: name.to_owned(),
        poem: "花子を待ちぬ".to_owned(),
        ..poem(rank, None)
    };
    let collection = Collection::default().round("第1回").entries([account(1, "@花子"), account(2, "@太郎")]);
    let server = Server::serve(&collection.write());
    for query in ["account:花子", "account: 花子", "ACCOUNT：花子"] {
        let (text, data) = search(&server, &json!({ "query": query }));
        let hits = data["hits"].as_array().unwrap();
        assert_eq!(hits.len(), 1, "{query}");
        assert_eq!(
            (&hits[0]["account"], &hits[0]["poem"]),
            (&json!("@花子"), &json!("花子を待ちぬ")),
            "{query}"
        );
        assert_eq!(hits[0]["marked"], json!({ "field": "account", "text": "花子" }), "{query}");
        assert!(text.contains("@【花子】\n花子を待ちぬ"), "{text}");
    }
    let reply = server.send(&call("search_poems", &json!({ "query": "round: 第1回" })));
    assert!(reply.is_tool_error() && reply.texts()[0].contains("round: のほかに"), "{:?}", reply.texts());
}

#[test]
fn of_a_long_poem_the_part_around_the_match_is_shown() {
    let collection = collection();
    let server = Server::serve(&collection.write());
    for (query, begins, ends) in [("峰にわかるる", "…", "…"), ("春の夜の", "【春の夜の】", "…")]
    {
        let (text, data) = search(&server, &json!({ "query": query }));
        let shown = text.lines().last().unwrap();
        assert!(shown.contains(&format!("【{query}】")), "{shown}");
        assert!(shown.starts_with(begins) && shown.ends_with(ends), "{shown}");
        assert!(shown.chars().count() <= 802, "{} characters", shown.chars().count());
        let hit = &data["hits"][0];
        let written = shown.replace(['…', '【', '】'], "");
        assert_eq!((&hit["poem"], &hit["truncated"]), (&json!(written), &json!(true)));
        assert_eq!(hit["marked"], json!({ "field": "poem", "text": query }));
    }
}

/// Some libraries hand on the data alone: what the text says besides is in it, too.
#[test]
fn the_data_of_a_search_says_what_its_text_says() {
    let collection = collection();
    let server = Server::serve(&collection.write());
    for arguments in [json!({ "query": "の", "limit": 2 }), json!({ "query": "なし" })] {
        let (text, data) = search(&server, &arguments);
        assert_eq!(text.lines().next(), data["note"].as_str(), "{data}");
        assert!(!data.to_string().contains('【'), "marks are for readers: {data}");
    }
    // A poem may have marks of its own.
    let own = EntryDraft { poem: "【題】花の色は".to_owned(), ..poem(1, None) };
    let collection = Collection::default().round("第1回").entry(own);
    let server = Server::serve(&collection.write());
    let (_, data) = search(&server, &json!({ "query": "花" }));
    assert_eq!(data["hits"][0]["poem"], "【題】花の色は");
    let (_, data) = search(&server, &json!({ "query": "prompt:picture" }));
    assert!(data["hits"][0].get("marked").is_none(), "nothing that is shown matched: {data}");
}

#[test]
fn pages_of_hits_add_up_to_all_of_them() {
    let collection = collection();
    let server = Server::serve(&collection.write());
    let (_, all) = search(&server, &json!({ "query": "の" }));
    let (mut paged, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let (_, page) = search(&server, &json!({ "query": "の", "limit": 1, "cursor": cursor }));
        assert_eq!(page["total"], all["total"]);
        paged.extend(page["hits"].as_array().unwrap().iter().cloned());
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(Value::from(paged), all["hits"]);
    assert_eq!(all["total"], 3);
}

/// Fifty long hits once made a text of 100,924 characters; what does not fit is on the next page.
#[test]
fn a_page_of_long_hits_keeps_to_100_000_characters() {
    let long = |rank: u32| EntryDraft {
        account: format!("@{}", "a".repeat(300)),
        poem: "春".repeat(2_000),
        yomi: Some("はるか".repeat(700)),
        ..poem(rank, None)
    };
    let collection = Collection::default().round(&"t".repeat(240)).entries((1..=60).map(long));
    let server = Server::serve(&collection.write());
    let (mut seen, mut cursor) = (Vec::new(), None);
    loop {
        let mut arguments = json!({ "query": "はるか", "limit": 50 });
        if let Some(cursor) = &cursor {
            arguments["cursor"] = json!(cursor);
        }
        let (text, data) = search(&server, &arguments);
        assert!(text.chars().count() <= 100_000, "{}", text.chars().count());
        seen.extend(data["hits"].as_array().unwrap().iter().map(|hit| hit["rank"].as_u64().unwrap()));
        cursor = data["nextCursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, (1..=60).collect::<Vec<_>>(), "every hit once");
}

#[test]
fn readers_of_today_find_what_is_spelled_as_of_old() {
    let told = |rank, text: &str, reading: &str| EntryDraft {
        poem: text.to_owned(),
        yomi: Some(reading.to_owned()),
        ..poem(rank, None)
    };
    let collection = Collection::default().round("万葉集 巻01").entries([
        told(1, "もみち葉を風にまかせて見るよりも", "もみぢばをかぜにまかせてみるよりも"),
        told(2, "逢坂の関の清水に影みえて", "あふさかのせきのしみづにかげみえて"),
        told(3, "風吹けば沖つ白浪", "かぜふけばおきつしらなみ"),
        told(4, "龜の尾の山の", "かめのをのやまの"),
    ]);
    let server = Server::serve(&collection.write());
    for (query, rank, field, marked) in [
        // Written without voicing marks, it is marked there all the same.
        ("もみじ", 1, "poem", "もみち"),
        ("おうさか", 2, "yomi", "あふさか"),
        ("しみず", 2, "yomi", "しみづ"),
        ("かせふけ", 3, "yomi", "かぜふけ"),
    ] {
        let (_, data) = search(&server, &json!({ "query": query }));
        let hits = data["hits"].as_array().unwrap();
        assert_eq!(hits.len(), 1, "{query}: {hits:?}");
        assert_eq!((&hits[0]["rank"], &hits[0]["match"]), (&json!(rank), &json!("loose")), "{query}");
        assert_eq!(hits[0]["marked"], json!({ "field": field, "text": marked }), "{query}");
    }
    let (_, data) = search(&server, &json!({ "query": "亀 round:\"万葉集 巻01\"" }));
    assert_eq!(data["hits"][0]["marked"]["text"], "龜");
}

#[test]
fn an_archive_with_old_keys_is_served_and_says_why_it_is_not_searched() {
    let server = Server::serve(&repository().join("fixtures/archives/v2.wakashu"));
    let ranking = server.send(&call("get_wakashu_ranking", &json!({ "round_title": "第1回" })));
    assert!(!ranking.is_tool_error(), "{}", ranking.text());
    let reply = server.send(&call("search_poems", &json!({ "query": "光" })));
    assert!(reply.is_tool_error());
    assert!(reply.texts()[0].contains("作り直すまで歌を探せません"), "{:?}", reply.texts());
}

/// Twelve poems of 1 MiB of U+FDFA, 15 letters each once folded. Before keys had an end and scans took turns, a
/// health check waited for seconds.
#[test]
fn long_searches_hold_up_nobody_and_end_in_time() {
    let worst = "\u{fdfa}".repeat((1 << 20) / 3 - 64);
    let entries = (1..=12).map(|rank| EntryDraft { poem: worst.clone(), ..poem(rank, None) });
    let collection = Collection::default().round("第1回").entries(entries);
    let server = Server::serve_with(Some(&collection.write()), &[("WAKASHU_TOOL_TIMEOUT_MS", "500")]);
    let query = format!("{}ん", "\u{fdfa}".repeat(11));
    let calls: Vec<_> = (0..20).map(|_| call("search_poems", &json!({ "query": query }))).collect();
    let mut connections: Vec<_> = calls
        .iter()
        .map(|call| {
            let mut connection = server.connect();
            connection.send(&call.bytes()).unwrap();
            connection
        })
        .collect();
    let started = Instant::now();
    assert_eq!(server.get("/health").status, 200);
    let waited = started.elapsed();
    // Generous: the programs of a test run are not optimised, and many tests run at once.
    assert!(waited < Duration::from_secs(2), "health waited {waited:?}");
    for connection in &mut connections {
        let _ = connection.receive_for("POST").expect("an answer");
    }
    let took = started.elapsed();
    assert!(took < Duration::from_secs(10), "the searches took {took:?}");
}
