//! The data of every tool has the shape that its schema states, and no field besides.

use serde_json::{Map, Value, json};
use wakashu_archive::EntryDraft;
use wakashu_tests::{Collection, Pictures, Server, poem};

use super::{TOOLS, call, serve};

/// Returns a schema that allows only the fields it names.
fn closed(mut schema: Value) -> Value {
    let members = schema.as_object_mut().unwrap();
    if members.contains_key("properties") {
        members.insert("additionalProperties".to_owned(), json!(false));
    }
    for name in ["items", "additionalProperties"] {
        if let Some(inner) = members.get_mut(name).filter(|inner| inner.is_object()) {
            *inner = closed(inner.take());
        }
    }
    if let Some(Value::Object(properties)) = members.get_mut("properties") {
        let taken = std::mem::take(properties);
        *properties = taken.into_iter().map(|(name, inner)| (name, closed(inner))).collect::<Map<_, _>>();
    }
    schema
}

/// Calls a tool and holds its data against its schema; returns the data.
fn checked(server: &Server, tool: &str, arguments: &Value) -> Value {
    let schema = closed(server.get(&format!("/v1/tools/{tool}")).json()["dataSchema"].clone());
    let body = server.send(&call(tool, arguments, &json!({ "raw": true }))).json();
    assert_eq!(body["success"], true, "{tool} {arguments}: {body}");
    let data = body["result"].clone();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let problems: Vec<String> =
        validator.iter_errors(&data).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(problems.is_empty(), "{tool} {arguments}: {problems:?}");
    let result = server.send(&wakashu_tests::call(tool, arguments)).result();
    if let Some(structured) = result.get("structuredContent") {
        assert!(validator.is_valid(structured), "{tool} {arguments}: {structured}");
    }
    data
}

#[test]
fn the_data_of_every_tool_has_the_shape_its_schema_states() {
    let (server, _collection) = serve(&[]);
    let asked = [
        ("index_status", json!({})),
        ("list_rounds", json!({})),
        ("list_rounds", json!({ "limit": 1 })),
        ("list_rounds", json!({ "start_date": "2025年" })),
        ("get_wakashu_ranking", json!({ "round_title": "1" })),
        ("get_wakashu_ranking", json!({ "round_title": "2", "rank_range": "1-9", "pictures": "none" })),
        ("get_poem", json!({ "round_title": "1", "rank": 1 })),
        ("get_poem", json!({ "round_title": "2", "rank": 4 })),
        ("search_poems", json!({ "query": "番目", "limit": 1 })),
        ("search_poems", json!({ "query": "よみ" })),
        ("search_poems", json!({ "query": "account:poet" })),
        ("search_poems", json!({ "query": "どこにもない" })),
    ];
    for (tool, arguments) in &asked {
        checked(&server, tool, arguments);
    }
    let listed = server.get("/v1/tools").json();
    for tool in listed["tools"].as_array().unwrap() {
        assert!(
            asked.iter().any(|(name, _)| tool["name"] == *name),
            "no answer of {} was looked at",
            tool["name"]
        );
    }
    let nothing = Server::serve_with(None, &[]);
    let status = checked(&nothing, "index_status", &json!({}));
    assert!(status["note"].as_str().unwrap().contains("WAKASHU_ARCHIVE"), "{status}");
}

/// Fields that only large answers have.
#[test]
fn cut_answers_have_the_shape_their_schemas_state() {
    let long = |rank: u32| EntryDraft {
        poem: "春の夜の".repeat(40_000),
        yomi: Some("はるのよの".repeat(30_000)),
        ..poem(rank, Some(Pictures { small: 100_000, medium: 300_000, large: 700_000 }))
    };
    let collection = Collection::default().round("第1回").entries((1..=2).map(long));
    let server = Server::serve(&collection.write());
    let ranking = checked(&server, "get_wakashu_ranking", &json!({ "round_title": "1" }));
    assert_eq!(
        (&ranking["nextRankRange"], &ranking["entries"][0]["truncated"]),
        (&json!("2-3"), &json!(true))
    );
    let hits = checked(&server, "search_poems", &json!({ "query": "春" }));
    assert_eq!(hits["hits"][0]["truncated"], true);
}

/// The check above must be able to fail.
#[test]
fn a_schema_of_another_tool_does_not_fit() {
    let (server, _collection) = serve(&[]);
    let schema = |tool: &str| closed(server.get(&format!("/v1/tools/{tool}")).json()["dataSchema"].clone());
    let status = server.send(&call("index_status", &json!({}), &json!({ "raw": true }))).json();
    for tool in TOOLS {
        assert_eq!(jsonschema::is_valid(&schema(tool), &status["result"]), tool == "index_status", "{tool}");
    }
}
