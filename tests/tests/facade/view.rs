//! Listing, showing, searching and calling.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use wakashu_archive::EntryDraft;
use wakashu_tests::{Collection, HttpRequest, Pictures, Server, legacy, picture_bytes, poem};

use super::{TOOLS, arguments, call, check_failure, post, serve};

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn the_list_is_filtered_and_paged() {
    let (server, _collection) = serve(&[]);
    let all = server.get("/v1/tools").json();
    assert_eq!(names(&all["tools"]), TOOLS);
    assert_eq!(all["pagination"], json!({ "page": 1, "limit": 50, "total": 5, "totalPages": 1 }));
    for (query, expected) in [
        ("category=ranking", &["get_wakashu_ranking", "get_poem"][..]),
        ("tag=%E6%A4%9C%E7%B4%A2", &["search_poems"]),
        ("category=ranking&tag=%E7%94%BB%E5%83%8F&limit=1&page=2", &["get_poem"]),
        ("category=none", &[]),
        ("enabled=false", &[]),
        ("enabled=true&limit=2&page=3", &["search_poems"]),
        ("limit=2&page=1000000", &[]),
        ("limit=100&page=", &TOOLS),
    ] {
        let list = server.get(&format!("/v1/tools?{query}")).json();
        assert_eq!(names(&list["tools"]), expected, "{query}");
    }
    let page = server.get("/v1/tools?limit=2&page=3").json();
    assert_eq!(page["pagination"], json!({ "page": 3, "limit": 2, "total": 5, "totalPages": 3 }));
    for (query, field) in [
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("limit=-1", "limit"),
        ("limit=ten", "limit"),
        ("limit=99999999999999999999", "limit"),
        ("page=0", "page"),
        ("page=1000001", "page"),
        ("page=%2B1", "page"),
        ("enabled=yes", "enabled"),
    ] {
        let body = check_failure(&server.get(&format!("/v1/tools?{query}")), 400, "VALIDATION_ERROR");
        assert_eq!(body["details"]["field"], field, "{query}");
    }
}

#[test]
fn a_tool_shows_everything_the_registry_knows() {
    let (server, _collection) = serve(&[]);
    let listed = server.send(&legacy("tools/list", &json!({}))).result();
    for (at, tool) in TOOLS.iter().enumerate() {
        let shown = server.get(&format!("/v1/tools/{tool}")).json();
        for key in ["name", "title", "description", "inputSchema"] {
            assert_eq!(shown[key], listed["tools"][at][key], "{tool}: {key}");
        }
        assert_eq!((&shown["author"], &shown["enabled"]), (&json!("wakashu"), &json!(true)));
        assert!(shown["registeredAt"].as_str().unwrap().ends_with('Z'));
        assert!(!shown["examples"].as_array().unwrap().is_empty());
        let properties = shown["inputSchema"]["properties"].as_object();
        let parameters = shown["parameters"].as_array().unwrap();
        assert_eq!(parameters.len(), properties.map_or(0, serde_json::Map::len), "{tool}");
        for parameter in parameters {
            let name = parameter["name"].as_str().unwrap();
            let schema = &properties.unwrap()[name];
            for key in ["type", "description", "default", "enum", "minimum", "maximum"] {
                assert_eq!(parameter.get(key), schema.get(key), "{tool}: {name}: {key}");
            }
            let required = shown["inputSchema"]["required"].as_array();
            let required = required.is_some_and(|names| names.contains(&json!(name)));
            assert_eq!(parameter["required"], json!(required), "{tool}: {name}");
        }
    }
    assert_eq!(server.get("/v1/tools/get%5Fpoem").status, 200);
    for name in ["get_poems", "%E6%AD%8C", "%ff", "..", "GET_POEM"] {
        check_failure(&server.get(&format!("/v1/tools/{name}")), 404, "TOOL_NOT_FOUND");
    }
}

#[test]
fn tools_without_an_index_are_listed_with_the_reason() {
    let server = Server::serve_with(None, &[("WAKASHU_TOOLS_DISABLED", "index_status")]);
    let list = server.get("/v1/tools").json();
    assert_eq!(names(&list["tools"]), TOOLS);
    for tool in list["tools"].as_array().unwrap() {
        let code = if tool["name"] == "index_status" { "TOOL_DISABLED" } else { "INDEX_UNAVAILABLE" };
        assert_eq!((&tool["enabled"], &tool["reason"]["code"]), (&json!(false), &json!(code)), "{tool}");
    }
    assert_eq!(server.get("/v1/tools?enabled=true").json()["pagination"]["total"], 0);
    assert_eq!(server.send(&legacy("tools/list", &json!({}))).result()["tools"], json!([]));
}

#[test]
fn tools_are_found_by_parts_of_their_texts() {
    let (server, _collection) = serve(&[]);
    let search = |body: Value| server.send(&post("/v1/tools/search", &body));
    for (body, expected, total) in [
        (json!({ "query": "WAKASHU_r" }), &["get_wakashu_ranking"][..], 1),
        (json!({ "query": " 編纂時期 " }), &["list_rounds"], 1),
        (json!({ "query": "試しの和歌集" }), &TOOLS, 5),
        (json!({ "query": "_", "limit": 2 }), &["index_status", "list_rounds"], 5),
        (
            json!({ "query": "画像", "filters": { "category": "ranking", "tags": ["ランキング"] } }),
            &["get_wakashu_ranking"],
            1,
        ),
        (
            json!({ "query": "画像", "filters": null, "limit": null }),
            &["get_wakashu_ranking", "get_poem", "search_poems"],
            3,
        ),
        (json!({ "query": "zzz" }), &[], 0),
    ] {
        let found = search(body.clone()).json();
        assert_eq!((names(&found["results"]), &found["total"]), (expected.to_vec(), &json!(total)), "{body}");
        assert_eq!(found["query"], body["query"]);
    }
    for (body, field) in [
        (json!({}), "query"),
        (json!({ "query": "　 " }), "query"),
        (json!({ "query": 1 }), "query"),
        (json!({ "query": "あ".repeat(201) }), "query"),
        (json!({ "query": "a", "limit": 0 }), "limit"),
        (json!({ "query": "a", "limit": "5" }), "limit"),
        (json!({ "query": "a", "page": 1 }), "page"),
        (json!({ "query": "a", "filters": [] }), "filters"),
        (json!({ "query": "a", "filters": { "tags": "x" } }), "filters.tags"),
        (json!({ "query": "a", "filters": { "tag": "x" } }), "filters.tag"),
        (json!([]), "body"),
    ] {
        let failure = check_failure(&search(body.clone()), 400, "VALIDATION_ERROR");
        assert_eq!(failure["details"]["field"], field, "{body}");
    }
}

#[test]
fn a_call_returns_what_mcp_returns() {
    let (server, _collection) = serve(&[]);
    for tool in TOOLS {
        let reply = server.send(&call(tool, &arguments(tool), &json!({})));
        let body = reply.json();
        assert_eq!((reply.status, &body["success"]), (200, &json!(true)), "{body}");
        assert!(body["executionTime"].as_f64().unwrap() >= 0.0);
        assert!(body["timestamp"].as_str().unwrap().ends_with('Z'));
        let result = server.send(&wakashu_tests::call(tool, &arguments(tool))).result();
        assert_eq!(body["result"], result, "{tool}");
        let raw =
            server.send(&call(tool, &arguments(tool), &json!({ "raw": true }))).json()["result"].clone();
        if let Some(structured) = result.get("structuredContent") {
            assert_eq!(&raw, structured, "{tool}");
        }
    }
    let short = server.send(&post("/v1/tools/call", &json!({ "name": "index_status" })));
    assert_eq!(short.status, 200);
}

#[test]
fn raw_entries_are_the_curators_own_words() {
    let (server, collection) = serve(&[]);
    let raw = json!({ "raw": true });
    let ranking = |arguments: Value| {
        server.send(&call("get_wakashu_ranking", &arguments, &raw)).json()["result"].clone()
    };
    let whole = ranking(json!({ "round_title": "2", "rank_range": "1-5" }));
    assert_eq!(whole["round"], "第2回");
    let missing = json!([{ "first": 1, "last": 1 }, { "first": 3, "last": 3 }, { "first": 5, "last": 5 }]);
    assert_eq!(whole["missing"], missing);
    assert!(whole["note"].as_str().unwrap().contains("1位、3位、5位"), "what the text says: {whole}");
    let [pictured, plain] = whole["entries"].as_array().unwrap().as_slice() else { panic!("{whole}") };
    assert_eq!(
        plain,
        &json!({
            "round": "第2回", "rank": 4, "account": "@poet4", "poem": "4番目の歌\n風の音にぞ「驚かれぬる」",
            "honka": ["https://example.org/a", "https://example.org/b"], "prompt": "a picture of poem 4",
            "extras": { "季語 \"春\"": "桜\\梅" }, "yomi": "よみ\n", "picture": null,
            "uri": "wakashu://rounds/%E7%AC%AC2%E5%9B%9E/4",
        })
    );
    let picture = &pictured["picture"];
    assert_eq!(picture["rendition"], "large");
    assert_eq!((&picture["mediaType"], &picture["bytes"]), (&json!("image/png"), &json!(900)));
    assert_eq!((&picture["width"], &picture["height"]), (&json!(4), &json!(4)));
    assert_eq!(STANDARD.decode(picture["data"].as_str().unwrap()).unwrap(), picture_bytes(2, 3, 900));
    let url = picture["url"].as_str().unwrap();
    let target = url.strip_prefix(&format!("http://{}", server.address())).unwrap();
    let fetched = server.send(&HttpRequest::new("GET", target));
    assert_eq!(fetched.body, picture_bytes(2, 3, 900));
    assert!(fetched.header("cache-control").unwrap().contains("immutable"));

    let bare = ranking(json!({ "round_title": "2", "rank_range": "2", "pictures": "none" }));
    assert!(
        bare["entries"][0]["picture"].get("data").is_none() && bare["entries"][0]["picture"]["url"] == url
    );
    let one = server.send(&call("get_poem", &json!({ "round_title": "2", "rank": 2 }), &raw)).json();
    assert_eq!(&one["result"], pictured);
    drop(collection);
}

#[test]
fn malformed_calls_name_the_field() {
    let (server, _collection) = serve(&[]);
    for (body, field) in [
        (json!({}), "name"),
        (json!({ "name": 1 }), "name"),
        (json!({ "name": "index_status", "arguments": {} }), "arguments"),
        (json!({ "name": "index_status", "parameters": [] }), "parameters"),
        (json!({ "name": "index_status", "parameters": { "x": 1 } }), "x"),
        (json!({ "name": "index_status", "options": 1 }), "options"),
        (json!({ "name": "index_status", "options": { "raw": "yes" } }), "options.raw"),
        (json!({ "name": "index_status", "options": { "timeoutMs": 0 } }), "options.timeoutMs"),
        (json!({ "name": "index_status", "options": { "timeoutMs": 1.5 } }), "options.timeoutMs"),
        (json!({ "name": "index_status", "options": { "timeout": 1 } }), "options.timeout"),
        (json!("index_status"), "body"),
    ] {
        let failure = check_failure(&server.send(&post("/v1/tools/call", &body)), 400, "VALIDATION_ERROR");
        assert_eq!(failure["details"]["field"], field, "{body}");
        assert!(failure["executionTime"].is_number(), "{failure}");
    }
    let broken = HttpRequest::new("POST", "/v1/tools/call").header("Content-Type", "application/json");
    for body in ["", "{", "{\"name\":\"index_status\"", "\u{0}"] {
        check_failure(&server.send(&broken.clone().body(body)), 400, "VALIDATION_ERROR");
    }
    check_failure(&server.send(&broken.clone().body([0xff, 0xfe])), 400, "VALIDATION_ERROR");
    let form = HttpRequest::new("POST", "/v1/tools/call").header("Content-Type", "text/plain").body("{}");
    check_failure(&server.send(&form), 415, "VALIDATION_ERROR");
    check_failure(&server.send(&broken.body(" ".repeat((1 << 20) + 1))), 413, "VALIDATION_ERROR");
}

#[test]
fn the_openapi_document_speaks_of_every_tool() {
    let (server, _collection) = serve(&[]);
    let document = server.get("/v1/openapi.json").json();
    assert_eq!((&document["openapi"], &document["info"]["title"]), (&json!("3.0.3"), &json!("wakashu")));
    assert!(document["info"]["description"].as_str().unwrap().contains("試しの和歌集"));
    assert!(document.get("security").is_none());
    let schemas = document["components"]["schemas"].as_object().unwrap();
    for tool in TOOLS {
        let shown = server.get(&format!("/v1/tools/{tool}")).json();
        let call = &schemas[&format!("Call_{tool}")];
        assert_eq!(call["properties"]["parameters"], shown["inputSchema"], "{tool}");
        assert_eq!(schemas[&format!("Data_{tool}")], in_openapi(shown["dataSchema"].clone()), "{tool}");
    }
    assert_eq!(untidy(&document["components"]["schemas"], "schemas"), Vec::<String>::new());
    assert!(schemas.keys().all(|name| name.is_ascii()));
    // Every reference leads somewhere.
    let text = document.to_string();
    for reference in text.split("\"#/components/schemas/").skip(1) {
        let name = reference.split('"').next().unwrap();
        assert!(schemas.contains_key(name), "{name}");
    }
}

/// Returns a schema as OpenAPI 3.0 writes it, where only `null` is written differently.
fn in_openapi(mut schema: Value) -> Value {
    if let Some([kind, Value::String(null)]) = schema["type"].as_array().map(Vec::as_slice)
        && null == "null"
    {
        schema["type"] = kind.clone();
        schema["nullable"] = json!(true);
    }
    match schema {
        Value::Object(members) => {
            members.into_iter().map(|(name, value)| (name, in_openapi_if_any(value))).collect()
        }
        other => other,
    }
}

fn in_openapi_if_any(value: Value) -> Value {
    if value.is_object() { in_openapi(value) } else { value }
}

/// Returns what generators stumble over: shapes without a type, objects that say nothing of their fields, words of 3.1.
fn untidy(schema: &Value, place: &str) -> Vec<String> {
    let mut found = Vec::new();
    let Some(members) = schema.as_object() else { return found };
    let is_shape = !place.ends_with("properties") && place != "schemas" && !place.ends_with("mapping");
    if is_shape {
        let by_others =
            ["$ref", "oneOf", "anyOf", "propertyName"].iter().any(|word| members.contains_key(*word));
        if !by_others && !members.get("type").is_some_and(Value::is_string) {
            found.push(format!("{place}: no type"));
        }
        let says_fields = members.contains_key("properties") || members.contains_key("additionalProperties");
        if members.get("type") == Some(&json!("object")) && !says_fields {
            found.push(format!("{place}: an object of nothing"));
        }
        for word in ["const", "title", "examples", "prefixItems", "$defs", "if"] {
            if members.contains_key(word) {
                found.push(format!("{place}: {word}"));
            }
        }
    }
    for (name, member) in members {
        let place = format!("{place}.{name}");
        match member {
            Value::Object(_) if !(is_shape && name == "default") => found.extend(untidy(member, &place)),
            Value::Array(items) => found.extend(items.iter().flat_map(|item| untidy(item, &place))),
            _ => {}
        }
    }
    found
}

#[test]
fn old_addresses_lead_to_the_new_ones() {
    let (server, _collection) = serve(&[]);
    let list = server.get("/tools?limit=1");
    assert_eq!((list.status, list.header("location")), (308, Some("/v1/tools?limit=1")));
    let call = server.send(&post("/tools/call", &json!({ "name": "index_status" })));
    assert_eq!((call.status, call.header("location")), (307, Some("/v1/tools/call")));
}

#[test]
fn health_tells_of_the_index() {
    let (server, _collection) = serve(&[]);
    let health = server.get("/").json();
    assert_eq!((&health["status"], &health["index"]["state"]), (&json!("ok"), &json!("READY")));
    assert_eq!(health["index"]["digest"].as_str().unwrap().len(), 64);
    assert!(health["uptime"].is_u64() && health["version"].is_string() && health["message"].is_string());
    assert!(health["timestamp"].as_str().unwrap().ends_with('Z'));
    let head = server.send(&HttpRequest::new("HEAD", "/v1/tools"));
    let whole = server.get("/v1/tools");
    assert_eq!((head.status, head.header("content-length")), (200, whole.header("content-length")));
}

/// Only what goes to a model was kept within the budget once: raw data of such an entry had 1,269,211 bytes.
#[test]
fn raw_data_keeps_to_the_budget() {
    let long = |rank: u32| EntryDraft {
        poem: "あ".repeat(150_000),
        yomi: Some("い".repeat(150_000)),
        ..poem(rank, Some(Pictures { small: 100_000, medium: 300_000, large: 700_000 }))
    };
    let collection = Collection::default().round("第1回").entries((1..=3).map(long));
    let server = Server::serve(&collection.write());
    let raw = json!({ "raw": true });
    let poem = server.send(&call("get_poem", &json!({ "round_title": "1", "rank": 2 }), &raw));
    let result = &poem.json()["result"];
    assert_eq!((poem.status, &result["rank"], &result["truncated"]), (200, &json!(2), &json!(true)));
    assert!(poem.body.len() <= 1_000_000, "{} bytes", poem.body.len());
    assert!(result["picture"]["data"].is_string());
    let ranking = server.send(&call("get_wakashu_ranking", &json!({ "round_title": "1" }), &raw));
    let result = &ranking.json()["result"];
    assert!(ranking.body.len() <= 1_000_000, "{} bytes", ranking.body.len());
    assert_eq!((result["entries"].as_array().unwrap().len(), &result["nextRankRange"]), (1, &json!("2-3")));
}
