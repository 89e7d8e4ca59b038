//! Crafted archives behind the function: every answer stays whole and within its budget, and `index_status` answers.

use std::cell::RefCell;

use http::header::{CONTENT_TYPE, HOST};
use http::{HeaderValue, Request};
use http_body_util::Full;
use serde_json::{Value, json};

use crate::repair::with_right_hashes;
use crate::rpc::{Served, check_mcp};

thread_local! {
    static SERVED: RefCell<Option<Served>> = const { RefCell::new(None) };
}

/// Serves bytes as an archive, their hashes made right, and asks for everything.
pub fn served(bytes: &[u8]) {
    let archive = with_right_hashes(bytes);
    SERVED.with_borrow_mut(|served| {
        let served = match served {
            Some(served) => {
                served.exchange(&archive);
                served
            }
            None => served.insert(Served::new(&archive)),
        };
        ask_for_everything(served);
    });
}

fn ask_for_everything(served: &Served) {
    let status = call(served, "index_status", &json!({}));
    let state = &status["result"]["structuredContent"]["state"];
    assert!(state == "READY" || state == "UNAVAILABLE", "{status}");
    if state == "UNAVAILABLE" {
        return;
    }
    let listed = call(served, "list_rounds", &json!({ "limit": 3 }));
    let rounds = listed["result"]["structuredContent"]["rounds"].as_array().cloned().unwrap_or_default();
    let titles = rounds.iter().filter_map(|round| round["title"].as_str());
    for title in titles.chain(["1", "番外編"]) {
        call(served, "get_wakashu_ranking", &json!({ "round_title": title, "rank_range": "1-999999" }));
        for rank in [1, 2, 7] {
            call(served, "get_poem", &json!({ "round_title": title, "rank": rank }));
            let uri = format!("wakashu://rounds/{title}/{rank}/picture");
            rpc(served, "resources/read", &json!({ "uri": uri }));
        }
        rpc(served, "resources/read", &json!({ "uri": format!("wakashu://rounds/{title}") }));
        rpc(served, "prompts/get", &json!({ "name": "present_round", "arguments": { "round": title } }));
    }
    for query in ["の", "prompt:m account:p", "honka:example", "round:1 光"] {
        call(served, "search_poems", &json!({ "query": query }));
    }
    for path in ["/pictures/1/1", "/pictures/1/2?rendition=small", "/pictures/1/1?rendition=original", "/"] {
        let mut request = Request::new(Full::default());
        *request.uri_mut() = path.parse().unwrap();
        request.headers_mut().insert(HOST, HeaderValue::from_static("localhost"));
        let reply = served.ask(request);
        assert!(matches!(reply.status.as_u16(), 200 | 404 | 503), "{path}: {}", reply.status);
    }
}

fn call(served: &Served, tool: &str, arguments: &Value) -> Value {
    rpc(served, "tools/call", &json!({ "name": tool, "arguments": arguments }))
}

fn rpc(served: &Served, method: &str, params: &Value) -> Value {
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let mut request = Request::post("/mcp").body(Full::from(message.to_string())).unwrap();
    request.headers_mut().insert(HOST, HeaderValue::from_static("localhost"));
    request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let reply = served.ask(request);
    check_mcp(&reply);
    serde_json::from_slice(&reply.body).unwrap()
}
