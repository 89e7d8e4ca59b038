//! What the curator says about a round, お題 and 講評, wherever a reader meets the round.

use serde_json::json;
use wakashu_tests::{Collection, Server, call, modern, poem};

fn server() -> (Server, Collection) {
    let collection = Collection::default()
        .dated_round("第1回", Some("2025年4月"))
        .extra("お題", "春の\n\"雨\"")
        .extra("講評", &"佳い。".repeat(400))
        .entry(poem(1, None))
        .round("第2回")
        .entry(poem(1, None));
    (Server::serve(&collection.write()), collection)
}

#[test]
fn the_list_of_rounds_shows_them_shortened() {
    let (server, _collection) = server();
    let reply = server.send(&call("list_rounds", &json!({})));
    let text = &reply.texts()[0];
    assert!(
        text.contains("第1回（2025-04-01〜2025-04-30）: 1首\n  お題: 春の \"雨\"\n  講評: 佳い。"),
        "{text}"
    );
    let rounds = &reply.result()["structuredContent"]["rounds"];
    assert_eq!(rounds[0]["extras"]["お題"], "春の\n\"雨\"");
    assert_eq!(rounds[0]["extras"]["講評"].as_str().unwrap().chars().count(), 201, "{rounds}");
    assert!(rounds[1].get("extras").is_none(), "{rounds}");
}

#[test]
fn the_rounds_resource_and_the_prompt_have_all_of_them() {
    let (server, _collection) = server();
    let whole = "佳い。".repeat(400);
    let uri = "wakashu://rounds/%E7%AC%AC1%E5%9B%9E";
    let reply = server.send(&modern("resources/read", &json!({ "uri": uri })));
    let text = reply.result()["contents"][0]["text"].as_str().unwrap().to_owned();
    assert!(text.contains(&format!(" 1首\nお題：春の\n\"雨\"\n講評：{whole}\n\n1位：")), "{text}");

    let arguments = json!({ "name": "present_round", "arguments": { "round_title": "第1回" } });
    let reply = server.send(&modern("prompts/get", &arguments));
    let asked = reply.result()["messages"][0]["content"]["text"].as_str().unwrap().to_owned();
    assert!(asked.contains("\nお題：春の\n\"雨\"\n講評：佳い。"), "{asked}");
}
