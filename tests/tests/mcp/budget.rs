//! Every answer fits: 1,000,000 bytes, 20 pictures, 100,000 characters of text. Tried right at the edges, on archives
//! made for it.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use wakashu_archive::EntryDraft;
use wakashu_tests::{
    Collection, HttpRequest, Pictures, Reply, Server, call, legacy, modern_body, poem, post,
};

/// What the content blocks of one answer may take: the budget less what envelope and closing remark are allowed.
const CONTENT_BYTES: usize = 1_000_000 - 2 * 4_096;
const MAX_TEXT_CHARACTERS: usize = 100_000;

/// Ranks of six digits: links are then exactly as long as the arithmetic assumes.
const LAST: u32 = 999_999;

fn ranking(server: &Server, range: &str) -> Reply {
    let reply =
        server.send(&call("get_wakashu_ranking", &json!({ "round_title": "第1回", "rank_range": range })));
    check_texts(&reply);
    assert!(reply.pictures().len() <= 20, "{} pictures", reply.pictures().len());
    reply
}

/// Checks the budget of characters.
fn check_texts(reply: &Reply) {
    let characters: usize = reply.texts().iter().map(|text| text.chars().count()).sum();
    assert!(characters <= MAX_TEXT_CHARACTERS, "{characters} characters");
}

/// Returns how many bytes the content blocks take, one comma for each.
fn content_bytes(reply: &Reply) -> usize {
    let frame = br#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#;
    reply.body.len() - frame.len() + 1
}

/// Returns the ranks of a ranking's entries.
fn ranks(reply: &Reply) -> Vec<u32> {
    let rank = |text: &String| text.split_once("位：").and_then(|(rank, _)| rank.parse().ok());
    reply.texts().iter().filter_map(rank).collect()
}

/// Returns the range the closing remark says to ask next.
fn next_range(reply: &Reply) -> Option<String> {
    let remark = reply.texts().pop()?;
    let rest = remark.split_once("続きは rank_range に \"")?.1;
    Some(rest.split_once('"')?.0.to_owned())
}

/// Serves one round.
fn serve(entries: impl IntoIterator<Item = EntryDraft>) -> (Server, Collection) {
    let collection = Collection::default().round("第1回").entries(entries);
    (Server::serve(&collection.write()), collection)
}

/// Lengthens a prompt by so many bytes.
fn padded(entry: EntryDraft, bytes: usize) -> EntryDraft {
    EntryDraft { prompt: entry.prompt.clone() + &"x".repeat(bytes), ..entry }
}

/// Returns by how many bytes `entries` stay below the limit.
fn room(entries: &[EntryDraft], range: &str) -> usize {
    let (server, _collection) = serve(entries.to_vec());
    CONTENT_BYTES - content_bytes(&ranking(&server, range))
}

#[test]
fn the_pictures_shrink_at_the_exact_byte() {
    let (tiny, near, huge) = (1_000, 730_000, 760_000);
    for (name, pictures, fitting, smaller) in [
        ("large to medium", Pictures { small: tiny, medium: tiny + 9, large: near }, near, tiny + 9),
        ("medium to small", Pictures { small: tiny, medium: near, large: huge }, near, tiny),
    ] {
        let entry = poem(LAST, Some(pictures));
        let range = LAST.to_string();
        let room = room(std::slice::from_ref(&entry), &range);
        for (more, expected) in [(room - 1, fitting), (room, fitting), (room + 1, smaller)] {
            let (server, _collection) = serve([padded(entry.clone(), more)]);
            let reply = ranking(&server, &range);
            let found = reply.pictures()[0].len() / 4 * 3;
            assert!(found.abs_diff(expected) < 3, "{name}, {more} of {room}: a picture of {found} bytes");
            if more == room {
                assert_eq!(content_bytes(&reply), CONTENT_BYTES, "{name}: the limit is reached exactly");
            }
            assert_eq!(next_range(&reply), None, "{name}");
        }
    }
}

#[test]
fn the_limit_holds_with_the_longest_envelope() {
    let entry = poem(LAST, Some(Pictures { small: 1_000, medium: 1_001, large: 730_000 }));
    let room = room(std::slice::from_ref(&entry), &LAST.to_string());
    let collection =
        Collection::default().title(&"𠮷\"".repeat(300)).round("第1回").entry(padded(entry, room));
    let server = Server::serve(&collection.write());
    let arguments = json!({ "round_title": "第1回", "rank_range": LAST.to_string() });
    let mut body =
        modern_body("tools/call", &json!({ "name": "get_wakashu_ranking", "arguments": arguments }));
    body["id"] = json!("\u{1}".repeat(42));
    let request = post(body.to_string())
        .header("MCP-Protocol-Version", "2026-07-28")
        .header("Mcp-Method", "tools/call")
        .header("Mcp-Name", "get_wakashu_ranking");
    let reply = server.send(&request);
    assert_eq!(reply.pictures().len(), 1);
    assert!(reply.pictures()[0].len() > 900_000, "still the large picture");
}

#[test]
fn what_does_not_fit_even_small_is_left_for_the_next_question_at_the_exact_byte() {
    let (small, huge) = (365_000, 800_000);
    let pictures = Some(Pictures { small, medium: huge, large: huge + 1 });
    let range = format!("{}-{LAST}", LAST - 1);
    let entries = [poem(LAST - 1, pictures), poem(LAST, pictures)];
    let room = room(&entries, &range);
    for (more, fits) in [(room - 1, true), (room, true), (room + 1, false)] {
        let (server, _collection) = serve([entries[0].clone(), padded(entries[1].clone(), more)]);
        let reply = ranking(&server, &range);
        assert!(!reply.is_tool_error());
        if fits {
            assert_eq!((ranks(&reply), next_range(&reply)), (vec![LAST - 1, LAST], None));
            assert_eq!(reply.pictures().len(), 2);
        } else {
            assert_eq!(ranks(&reply), [LAST - 1]);
            assert_eq!(next_range(&reply).unwrap(), format!("{LAST}-{LAST}"));
            let next = ranking(&server, &next_range(&reply).unwrap());
            assert_eq!((ranks(&next), next_range(&next), next.pictures().len()), (vec![LAST], None, 1));
        }
    }
}

#[test]
fn texts_are_counted_in_characters_at_the_exact_one() {
    let entry = |rank: u32, length: usize| EntryDraft {
        rank: LAST - 3 + rank,
        account: "@a".to_owned(),
        poem: "歌".repeat(length),
        ..EntryDraft::default()
    };
    let range = format!("{}-{LAST}", LAST - 2);
    let shown = |reply: &Reply| reply.texts().iter().map(|text| text.chars().count()).sum::<usize>();
    let (server, _collection) = serve((1..=3).map(|rank| entry(rank, 30_000)));
    let room = MAX_TEXT_CHARACTERS - 1_000 - shown(&ranking(&server, &range));
    for (more, fits) in [(room - 1, true), (room, true), (room + 1, false)] {
        let (server, _collection) = serve([entry(1, 30_000), entry(2, 30_000), entry(3, 30_000 + more)]);
        let reply = ranking(&server, &range);
        assert_eq!(ranks(&reply).len(), if fits { 3 } else { 2 }, "{more} of {room}");
        assert_eq!(next_range(&reply).is_none(), fits);
    }
}

/// Half a link would lead elsewhere.
#[test]
fn a_cut_text_ends_between_links() {
    for padding in 0..4 {
        let links: Vec<String> = (0..6_000).map(|number| format!("https://example.org/{number}")).collect();
        let entry = EntryDraft { honka: links.clone(), poem: "あ".repeat(1 + 7 * padding), ..poem(1, None) };
        let (server, _collection) = serve([entry]);
        let reply = server.send(&call("get_poem", &json!({ "round_title": "1", "rank": 1 })));
        let text = &reply.texts()[0];
        assert!(text.contains("（以下省略）"));
        let shown: Vec<&str> = text.lines().filter(|line| line.starts_with("https://example.org")).collect();
        assert_eq!(shown, links[..shown.len()], "the first so many, each whole");
    }
}

#[test]
fn one_entry_over_the_budget_is_cut_and_keeps_its_picture() {
    let pictures = Some(Pictures { small: 40_000, medium: 220_000, large: 700_000 });
    for (name, text) in [
        ("plain", "あ".repeat(300_000)),
        ("outside the basic plane", "𠮷".repeat(200_000)),
        ("escapes", "\u{1}".repeat(170_000)),
        ("quotes", "\"\\\n".repeat(150_000)),
    ] {
        let (server, _collection) =
            serve([EntryDraft { prompt: text, ..poem(1, pictures) }, poem(2, pictures)]);
        for request in [
            call("get_poem", &json!({ "round_title": "1", "rank": 1 })),
            call("get_wakashu_ranking", &json!({ "round_title": "1", "rank_range": "1" })),
            call("get_wakashu_ranking", &json!({ "round_title": "1", "rank_range": "1-2" })),
            call(
                "get_wakashu_ranking",
                &json!({ "round_title": "1", "rank_range": "1-2", "pictures": "none" }),
            ),
        ] {
            let reply = server.send(&request);
            check_texts(&reply);
            assert!(!reply.is_tool_error(), "{name}");
            let with_pictures = !String::from_utf8_lossy(&request.body).contains("none");
            assert_eq!(reply.pictures().is_empty(), !with_pictures, "{name}");
            let texts = reply.texts();
            assert!(texts[0].contains("（以下省略）"), "{name} is said to be cut");
            assert!(
                texts[0].contains("wakashu://rounds/%E7%AC%AC1%E5%9B%9E/1"),
                "{name} says where the rest is"
            );
            assert!(texts[0].contains("画像: http"), "{name} keeps its link");
        }
        let whole = server.send(&legacy("resources/read", &json!({ "uri": "wakashu://rounds/第1回/1" })));
        assert!(whole.result()["contents"][0]["text"].as_str().unwrap().chars().count() > 98_000, "{name}");
    }
}

#[test]
fn a_poem_with_a_monstrous_picture_comes_without_it() {
    let monster = 1_100_000;
    let (server, _collection) = serve([
        poem(1, Some(Pictures { small: monster, medium: monster + 1, large: monster + 2 })),
        poem(2, None),
    ]);
    let reply = server.send(&call("get_poem", &json!({ "round_title": "1", "rank": 1 })));
    assert!(!reply.is_tool_error() && reply.pictures().is_empty());
    assert_eq!(ranks(&reply), [1], "the poem is not lost with its picture");
    let picture = server.send(&legacy("resources/read", &json!({ "uri": "wakashu://rounds/1/1/picture" })));
    assert_eq!(picture.code(), -32603);
    assert_eq!(ranks(&ranking(&server, "2")), [2], "its neighbours are served");
}

/// Asks for a range and follows the remarks until nothing is left.
fn follow(server: &Server, range: &str) -> Vec<Reply> {
    let mut replies = vec![ranking(server, range)];
    while let Some(next) = next_range(replies.last().unwrap()) {
        assert!(replies.len() < 1_000, "the remarks lead on for ever");
        replies.push(ranking(server, &next));
    }
    replies
}

#[test]
fn fifty_ranks_asked_at_once_are_all_seen_exactly_once() {
    for (name, pictures, answers) in [
        ("tiny", Some(Pictures { small: 300, medium: 600, large: 900 }), 3),
        ("usual", Some(Pictures { small: 40_000, medium: 220_000, large: 700_000 }), 3),
        ("as large as they come", Some(Pictures { small: 240_000, medium: 300_000, large: 700_000 }), 17),
        ("none", None, 1),
    ] {
        let (server, _collection) = serve((1..=50).map(|rank| poem(rank, pictures)));
        let replies = follow(&server, "1-50");
        let seen: Vec<u32> = replies.iter().flat_map(ranks).collect();
        assert_eq!(seen, (1..=50).collect::<Vec<_>>(), "{name}");
        let shown: usize = replies.iter().map(|reply| reply.pictures().len()).sum();
        assert_eq!(shown, if pictures.is_some() { 50 } else { 0 }, "{name}: no picture is lost");
        assert_eq!(replies.len(), answers, "{name}");
    }
}

#[test]
fn gaps_between_ranks_are_named_and_never_asked_for_again() {
    let pictures =
        |rank: u32| (!rank.is_multiple_of(3)).then_some(Pictures { small: 300, medium: 600, large: 900 });
    let existing: Vec<u32> = (1..=120).filter(|rank: &u32| !rank.is_multiple_of(4)).collect();
    let (server, _collection) = serve(existing.iter().map(|rank| poem(*rank, pictures(*rank))));
    let replies = follow(&server, "1-130");
    let seen: Vec<u32> = replies.iter().flat_map(ranks).collect();
    assert_eq!(seen, existing);
    for reply in &replies {
        let remark = reply.texts().pop().unwrap();
        assert!(remark.contains("指定された順位の投稿はありません。"), "{remark}");
        assert!(remark.chars().count() < 1_000, "{remark}");
    }
    assert!(replies.last().unwrap().texts().last().unwrap().contains("120位から130位"));
}

#[test]
fn the_20th_picture_fits_and_the_21st_waits() {
    let tiny = Some(Pictures { small: 300, medium: 600, large: 900 });
    let (server, _collection) = serve((1..=30).map(|rank| poem(rank, tiny)));
    for (range, pictures, next) in
        [("1-19", 19, None), ("1-20", 20, None), ("1-21", 20, Some("21-21")), ("5-30", 20, Some("25-30"))]
    {
        let reply = ranking(&server, range);
        assert_eq!((reply.pictures().len(), next_range(&reply).as_deref()), (pictures, next), "{range}");
    }
    let none =
        call("get_wakashu_ranking", &json!({ "round_title": "1", "rank_range": "1-30", "pictures": "none" }));
    assert_eq!(server.send(&none).texts().len(), 30, "texts alone are not bound by the number of pictures");
}

#[test]
fn thousands_of_tiny_entries_stay_within_the_characters() {
    let tiny =
        |rank| EntryDraft { rank, account: "a".to_owned(), poem: "b".to_owned(), ..EntryDraft::default() };
    let (server, _collection) = serve((1..=20_000).map(tiny));
    let mut seen = 0;
    for reply in follow(&server, "1-20000") {
        for rank in ranks(&reply) {
            seen += 1;
            assert_eq!(rank, seen);
        }
    }
    assert_eq!(seen, 20_000);
    for uri in ["wakashu://rounds/第1回", "wakashu://rounds"] {
        let read = server.send(&legacy("resources/read", &json!({ "uri": uri })));
        let text = read.result()["contents"][0]["text"].as_str().unwrap().to_owned();
        assert!(text.chars().count() <= MAX_TEXT_CHARACTERS, "{uri}");
    }
}

#[test]
fn prompts_stay_within_the_characters() {
    let long = |rank| EntryDraft { poem: "歌".repeat(90_000), ..poem(rank, None) };
    let (server, _collection) = serve((1..=3).map(long));
    for (name, arguments) in [
        ("present_round", json!({ "round": "第1回" })),
        ("compare_poems", json!({ "round": "第1回", "rank": "1", "other_rank": "2" })),
        ("explain_honkadori", json!({ "round": "第1回", "rank": "1" })),
    ] {
        let reply = server.send(&legacy("prompts/get", &json!({ "name": name, "arguments": arguments })));
        let text = reply.result()["messages"][0]["content"]["text"].as_str().unwrap().to_owned();
        let characters = text.chars().count();
        assert!(characters <= MAX_TEXT_CHARACTERS, "{name}: {characters} characters");
        assert!(text.contains("1位："), "{name}");
        assert_eq!(text.contains("2位："), name == "compare_poems", "{name}");
    }
}

#[test]
fn an_address_of_any_length_is_answered_within_the_budget() {
    let (server, _collection) = serve([poem(1, Some(Pictures { small: 300, medium: 600, large: 700_000 }))]);
    for blanks in [1, 1_000, 10_000, 100_000, 170_000, 300_000, 900_000] {
        for part in ["", "/1", "/1/picture", "/99"] {
            // Blanks do not count in a title, so all of these name round 1.
            let uri = format!("wakashu://rounds/{}1{part}", " ".repeat(blanks));
            let reply = server.send(&legacy("resources/read", &json!({ "uri": uri })));
            assert_eq!(reply.status, 200, "{blanks} blanks{part}");
            assert!(matches!(reply.code(), 0 | -32002), "{blanks} blanks{part}: {}", reply.code());
        }
    }
}

/// Ten thousand numbered rounds and one with a long title.
fn many_rounds() -> (Server, Collection) {
    let collection = (1..=10_000).fold(Collection::default(), |collection, number| {
        collection.dated_round(&format!("第{number}回"), Some("2025年4月"))
    });
    let collection = collection.round(&format!("番外編{}", "長".repeat(80)));
    (Server::serve(&collection.write()), collection)
}

#[test]
fn ten_thousand_rounds_are_listed_page_by_page() {
    let (server, _collection) = many_rounds();
    let mut titles = BTreeSet::new();
    let mut arguments = json!({ "limit": 100 });
    let mut pages = 0;
    loop {
        let reply = server.send(&call("list_rounds", &arguments));
        check_texts(&reply);
        let structured = reply.result()["structuredContent"].clone();
        assert_eq!(structured["total"], 10_001);
        for round in structured["rounds"].as_array().unwrap() {
            assert!(titles.insert(round["title"].as_str().unwrap().to_owned()), "{round} comes twice");
        }
        pages += 1;
        let Some(cursor) = structured["nextCursor"].as_str() else { break };
        assert!(reply.texts()[0].contains(cursor), "the text names the cursor too");
        arguments["cursor"] = json!(cursor);
    }
    assert_eq!((titles.len(), pages), (10_001, 101));
}

#[test]
fn ten_thousand_rounds_are_resources_page_by_page() {
    let (server, _collection) = many_rounds();
    let mut uris = BTreeSet::new();
    let mut params = json!({});
    let mut pages = 0;
    loop {
        let result = server.send(&legacy("resources/list", &params)).result();
        for resource in result["resources"].as_array().unwrap() {
            assert!(uris.insert(resource["uri"].as_str().unwrap().to_owned()), "{resource} comes twice");
        }
        pages += 1;
        match result.get("nextCursor") {
            Some(cursor) => params = json!({ "cursor": cursor }),
            None => break,
        }
    }
    assert_eq!((uris.len(), pages), (10_003, 101), "the list of rounds, the view and every round");
}

#[test]
fn ten_thousand_rounds_never_come_in_one_answer() {
    let (server, _collection) = many_rounds();
    for uri in ["wakashu://rounds", "wakashu://rounds/by-date/2025/2025"] {
        let read = server.send(&legacy("resources/read", &json!({ "uri": uri })));
        let text = read.result()["contents"][0]["text"].as_str().unwrap().to_owned();
        assert!(text.chars().count() <= MAX_TEXT_CHARACTERS, "{} characters", text.chars().count());
        let json: Value = serde_json::from_str(&text).unwrap();
        let listed = json["rounds"].as_array().unwrap().len();
        assert!(listed > 100 && listed < 10_000, "{listed}");
        assert!(json["total"].as_u64().unwrap() >= 10_000);
        assert!(
            json["note"].as_str().unwrap().contains("list_rounds"),
            "says where the rest is: {}",
            json["note"]
        );
    }
    let unknown = server.send(&call("get_poem", &json!({ "round_title": "第99999回", "rank": 1 })));
    let hint = unknown.texts().remove(0);
    assert_eq!(hint.matches('第').count(), 10, "at most ten rounds are named: {hint}");
    assert!(hint.contains("10001"), "and how many there are: {hint}");

    let reference = json!({ "type": "ref/prompt", "name": "present_round" });
    let complete = |value: &str| -> HttpRequest {
        legacy(
            "completion/complete",
            &json!({ "ref": reference, "argument": { "name": "round", "value": value } }),
        )
    };
    let completion = server.send(&complete("第")).result()["completion"].clone();
    assert_eq!(completion["values"].as_array().unwrap().len(), 100);
    assert_eq!((&completion["total"], &completion["hasMore"]), (&json!(10_000), &json!(true)));
}

#[test]
fn a_batch_shares_one_budget() {
    let (server, _collection) =
        serve((1..=3).map(|rank| poem(rank, Some(Pictures { small: 1_000, medium: 2_000, large: 500_000 }))));
    let get = |id: u32| {
        let params = json!({ "name": "get_poem", "arguments": { "round_title": "1", "rank": id } });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
    };
    let reply = server.send(&post(json!([get(1), get(2), get(3)]).to_string()));
    let answers = reply.json();
    assert_eq!(answers[0]["result"]["content"].as_array().unwrap().len(), 2);
    for (at, id) in [(1, 2), (2, 3)] {
        assert_eq!((&answers[at]["id"], &answers[at]["error"]["code"]), (&json!(id), &json!(-32603)));
    }
}
