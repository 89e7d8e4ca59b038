//! What a search shows, end to end. How words are matched is tested where keys are made.

use serde_json::{Value, json};
use wakashu_archive::EntryDraft;
use wakashu_tests::{Collection, Server, call, poem};

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
    assert_eq!(hits[0]["poem"], "【かはの】水\n流れて早き");
    assert_eq!(hits[1]["poem"], "川の岸\n【かわの】名も");
    assert_eq!(text.matches("（表記の違いを許した一致）").count(), 1, "{text}");
}

#[test]
fn a_match_in_the_reading_is_marked_there() {
    let collection = collection();
    let server = Server::serve(&collection.write());
    let (text, data) = search(&server, &json!({ "query": "ながれてはやき" }));
    assert_eq!(data["hits"][0]["yomi"], "かわのみず 【ながれてはやき】");
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
        let (_, data) = search(&server, &json!({ "query": query }));
        let hits = data["hits"].as_array().unwrap();
        assert_eq!(hits.len(), 1, "{query}");
        assert_eq!(
            (&hits[0]["account"], &hits[0]["poem"]),
            (&json!("@【花子】"), &json!("花子を待ちぬ")),
            "{query}"
        );
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
        let (_, data) = search(&server, &json!({ "query": query }));
        let shown = data["hits"][0]["poem"].as_str().unwrap();
        assert!(shown.contains(&format!("【{query}】")), "{shown}");
        assert!(shown.starts_with(begins) && shown.ends_with(ends), "{shown}");
        assert!(shown.chars().count() <= 802, "{} characters", shown.chars().count());
    }
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
