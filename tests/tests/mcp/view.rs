//! The view of MCP Apps: there whatever the address's query says and whatever the index does.

use serde_json::{Value, json};
use wakashu_tests::{Server, legacy, modern};

use super::fixture;

const ADDRESS: &str = "ui://wakashu/poems.html";

/// Reads the view and checks what hosts look at.
fn check(result: &Value, address: &str) -> String {
    let content = &result["contents"][0];
    assert_eq!(content["uri"], address);
    assert_eq!(content["mimeType"], "text/html;profile=mcp-app");
    assert_eq!(
        content["_meta"],
        json!({ "ui": { "csp": { "resourceDomains": ["data:"] }, "prefersBorder": false } })
    );
    let html = content["text"].as_str().unwrap();
    assert!(html.starts_with("<!DOCTYPE html>") && html.len() <= 60_000, "{} bytes", html.len());
    html.to_owned()
}

#[test]
fn the_view_answers_in_every_state_and_era_whatever_the_query() {
    let (ready, _collection) = fixture::serve();
    let empty = Server::serve_with(None, &[]);
    let missing = Server::serve_with(Some(std::path::Path::new("/nowhere/poems.wakashu")), &[]);
    let mut seen = Vec::new();
    for server in [&ready, &empty, &missing] {
        for query in ["", "?v=0000000000000000", "?x", "?"] {
            let address = format!("{ADDRESS}{query}");
            for request in [legacy, modern] {
                let reply = server.send(&request("resources/read", &json!({ "uri": address })));
                seen.push(check(&reply.result(), &address));
            }
        }
        let listed = server.send(&legacy("resources/list", &json!({}))).result();
        let of_view = |resource: &&Value| resource["name"] == "poems_view";
        assert_eq!(listed["resources"].as_array().unwrap().iter().filter(of_view).count(), 1);
    }
    seen.dedup();
    assert_eq!(seen.len(), 1, "it is the same everywhere");
    for other in ["ui://wakashu/poems.htm", "ui://wakashu/poems.html/x", "ui://wakashu/"] {
        let reply = ready.send(&legacy("resources/read", &json!({ "uri": other })));
        assert_eq!(reply.json()["error"]["code"], -32002, "{other}");
    }
}

#[test]
fn the_tools_name_the_address_that_is_listed_under_both_keys() {
    let (server, _collection) = fixture::serve();
    let listed = server.send(&legacy("resources/list", &json!({}))).result();
    let tools = server.send(&legacy("tools/list", &json!({}))).result();
    for tool in tools["tools"].as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        let has_view = ["get_wakashu_ranking", "get_poem", "search_poems"].contains(&name);
        assert_eq!(tool.get("_meta").is_some(), has_view, "{name}");
        if has_view {
            let address = &listed["resources"][1]["uri"];
            assert_eq!(&tool["_meta"]["ui"]["resourceUri"], address);
            assert_eq!(&tool["_meta"]["ui/resourceUri"], address);
            assert_eq!(tool["_meta"]["ui"]["visibility"], json!(["model", "app"]));
        }
    }
}
