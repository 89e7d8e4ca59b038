//! Every method and every tool as it goes over the wire: modern in full, then what legacy has in its place.
//!
//! Refreshed with `INSTA_UPDATE=always cargo test -p wakashu-tests wire`; the diff is to be read.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};
use wakashu_tests::{HttpRequest, LEGACY, Server, legacy, modern, post};

use super::fixture;

/// Compares the answers to a method in both eras with what is written down.
fn snapshot(server: &Server, name: &str, method: &str, params: &Value) {
    let [modern, legacy] =
        [modern(method, params), legacy(method, params)].map(|request| shown(server, &request));
    compare(name, method, params, &format!("modern {modern}\nlegacy\n{}", difference(&modern, &legacy)));
}

fn snapshot_tool(server: &Server, name: &str, tool: &str, arguments: &Value) {
    snapshot(server, name, "tools/call", &json!({ "name": tool, "arguments": arguments }));
}

fn compare(name: &str, method: &str, params: &Value, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_snapshot_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/snapshots"));
    settings.set_omit_expression(true);
    settings.set_description(format!("{method} {params}"));
    for (volatile, stand_in) in [
        (r"127\.0\.0\.1:\d+", "<address>"),
        (r"\?v=[0-9a-f]{16}", "?v=<hash>"),
        (r"\b[0-9a-f]{64}\b", "<digest>"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "<time>"),
        (r"\d{4}年\d{1,2}月\d{1,2}日 \d\d:\d\d（日本時間）", "<time in Japan>"),
        (r#""bytes": \d+"#, r#""bytes": <bytes>"#),
        (r#""nextCursor": "[^"]+""#, r#""nextCursor": "<cursor>""#),
        (r"\bdjF8[A-Za-z0-9_-]{20,}", "<cursor>"),
        (r#""version": "\d+\.\d+\.\d+""#, r#""version": "<version>""#),
        (r"\b[0-9a-f]{8}-[0-9a-f]+\b", "<request>"),
    ] {
        settings.add_filter(volatile, stand_in);
    }
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// Returns the lines by which two texts differ, each run of them after the line before it.
fn difference(before: &str, after: &str) -> String {
    let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    // How many lines are common to what follows two places.
    let mut common = vec![vec![0; after.len() + 1]; before.len() + 1];
    for (at, line) in before.iter().enumerate().rev() {
        for (there, other) in after.iter().enumerate().rev() {
            common[at][there] = if line == other {
                common[at + 1][there + 1] + 1
            } else {
                common[at + 1][there].max(common[at][there + 1])
            };
        }
    }
    let (mut at, mut there, mut shown, mut same) = (0, 0, String::new(), None);
    while at < before.len() || there < after.len() {
        if before.get(at) == after.get(there) {
            same = before.get(at);
            (at, there) = (at + 1, there + 1);
            continue;
        }
        let is_gone =
            there == after.len() || (at < before.len() && common[at + 1][there] >= common[at][there + 1]);
        let (sign, line) = if is_gone { ('-', before[at]) } else { ('+', after[there]) };
        if let Some(same) = same.take() {
            writeln!(shown, "  {same}").unwrap();
        }
        writeln!(shown, "{sign} {line}").unwrap();
        if is_gone { at += 1 } else { there += 1 }
    }
    shown
}

/// Writes an answer down: its status, then its JSON with pictures replaced by their lengths.
fn shown(server: &Server, request: &HttpRequest) -> String {
    let reply = server.send(request);
    if reply.body.is_empty() {
        return format!("{}\n", reply.status);
    }
    let mut json = reply.json();
    without_pictures(&mut json);
    format!("{}\n{}\n", reply.status, serde_json::to_string_pretty(&json).unwrap())
}

fn without_pictures(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match member.as_str() {
                    Some(text) if name == "data" || name == "blob" => {
                        *member = json!(format!("<{} characters of Base64>", text.len()));
                    }
                    _ => without_pictures(member),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(without_pictures),
        _ => {}
    }
}

#[test]
fn the_opening_of_a_conversation_is_as_written_down() {
    let (server, _collection) = fixture::serve();
    snapshot(&server, "discover", "server/discover", &json!({}));
    let params = json!({ "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    snapshot(&server, "initialize", "initialize", &params);
    snapshot(&server, "ping", "ping", &json!({}));
    snapshot(&server, "unknown_method", "no/such", &json!({}));
    let note = post(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
    compare("initialized", "notifications/initialized", &json!({}), &shown(&server, &note));
}

#[test]
fn lists_are_as_written_down() {
    let (server, _collection) = fixture::serve();
    for (name, method) in [
        ("tools_list", "tools/list"),
        ("resources_list", "resources/list"),
        ("resources_templates_list", "resources/templates/list"),
        ("prompts_list", "prompts/list"),
    ] {
        snapshot(&server, name, method, &json!({}));
        snapshot(&server, &format!("{name}_bad_cursor"), method, &json!({ "cursor": "no such" }));
    }
}

#[test]
fn tool_results_are_as_written_down() {
    let (server, _collection) = fixture::serve();
    for (name, tool, arguments) in [
        ("index_status", "index_status", json!({})),
        ("list_rounds", "list_rounds", json!({})),
        ("list_rounds_first_page", "list_rounds", json!({ "limit": 1 })),
        (
            "list_rounds_by_date",
            "list_rounds",
            json!({ "start_date": "2025年4月", "end_date": "2025-04-30" }),
        ),
        ("list_rounds_by_date_none", "list_rounds", json!({ "start_date": "2030年" })),
        ("ranking", "get_wakashu_ranking", json!({ "round_title": "第1回" })),
        (
            "ranking_without_pictures",
            "get_wakashu_ranking",
            json!({ "round_title": "1", "rank_range": "2", "pictures": "none" }),
        ),
        ("ranking_with_gaps", "get_wakashu_ranking", json!({ "round_title": "第2回", "rank_range": "1-6" })),
        ("search", "search_poems", json!({ "query": "2番目" })),
        ("search_first_page", "search_poems", json!({ "query": "歌", "limit": 1 })),
        ("search_nothing", "search_poems", json!({ "query": "存在しない言葉" })),
        ("poem", "get_poem", json!({ "round_title": "第1回", "rank": 3 })),
        ("poem_without_picture", "get_poem", json!({ "round_title": "第2回", "rank": 4 })),
    ] {
        snapshot_tool(&server, name, tool, &arguments);
    }
}

#[test]
fn tool_errors_are_as_written_down() {
    let (server, _collection) = fixture::serve();
    for (name, tool, arguments) in [
        ("index_status_unknown_argument", "index_status", json!({ "verbose": true })),
        ("list_rounds_bad_limit", "list_rounds", json!({ "limit": 0 })),
        ("list_rounds_limit_of_wrong_type", "list_rounds", json!({ "limit": "10" })),
        ("list_rounds_bad_date", "list_rounds", json!({ "start_date": "2025-02-30" })),
        (
            "list_rounds_reversed_dates",
            "list_rounds",
            json!({ "start_date": "2025年", "end_date": "2024年" }),
        ),
        ("list_rounds_foreign_cursor", "list_rounds", json!({ "cursor": "djF8" })),
        ("ranking_unknown_round", "get_wakashu_ranking", json!({ "round_title": "第99回" })),
        (
            "ranking_beyond_the_end",
            "get_wakashu_ranking",
            json!({ "round_title": "第1回", "rank_range": "9-12" }),
        ),
        ("ranking_of_an_empty_round", "get_wakashu_ranking", json!({ "round_title": "番外編" })),
        ("ranking_bad_range", "get_wakashu_ranking", json!({ "round_title": "第1回", "rank_range": "1,3" })),
        ("ranking_missing_round", "get_wakashu_ranking", json!({})),
        (
            "ranking_unknown_argument",
            "get_wakashu_ranking",
            json!({ "round_title": "第1回", "round": "第1回" }),
        ),
        ("ranking_bad_choice", "get_wakashu_ranking", json!({ "round_title": "第1回", "pictures": "all" })),
        ("poem_unknown_round", "get_poem", json!({ "round_title": "第99回", "rank": 1 })),
        ("poem_unknown_rank", "get_poem", json!({ "round_title": "第1回", "rank": 4 })),
        ("poem_rank_of_wrong_type", "get_poem", json!({ "round_title": "第1回", "rank": "一番" })),
        ("search_without_query", "search_poems", json!({})),
        ("search_empty_query", "search_poems", json!({ "query": " " })),
        ("search_foreign_cursor", "search_poems", json!({ "query": "歌", "cursor": "djF8" })),
        ("search_in_unknown_round", "search_poems", json!({ "query": "歌 round:第99回" })),
        ("unknown_tool", "no_such_tool", json!({})),
    ] {
        snapshot_tool(&server, name, tool, &arguments);
    }
    snapshot(&server, "call_without_name", "tools/call", &json!({}));
    let nothing = Server::serve_with(None, &[]);
    snapshot_tool(&nothing, "not_configured_index_status", "index_status", &json!({}));
    snapshot_tool(
        &nothing,
        "not_configured_ranking",
        "get_wakashu_ranking",
        &json!({ "round_title": "第1回" }),
    );
    snapshot(&nothing, "not_configured_tools_list", "tools/list", &json!({}));
    snapshot(&nothing, "not_configured_read", "resources/read", &json!({ "uri": "wakashu://rounds" }));
}

#[test]
fn resources_are_as_written_down() {
    let (server, _collection) = fixture::serve();
    for (name, uri) in [
        ("read_rounds", "wakashu://rounds"),
        ("read_round", "wakashu://rounds/%E7%AC%AC1%E5%9B%9E"),
        ("read_empty_round", "wakashu://rounds/番外編"),
        ("read_entry", "wakashu://rounds/第2回/4"),
        ("read_picture", "wakashu://rounds/%e7%ac%ac1%e5%9b%9e/1/picture"),
        ("read_by_date", "wakashu://rounds/by-date/2025-04-10/2025年5月"),
        ("read_by_date_none", "wakashu://rounds/by-date/2030/2031"),
        ("read_by_date_reversed", "wakashu://rounds/by-date/2025-05-01/2025-04-01"),
        ("read_by_date_impossible", "wakashu://rounds/by-date/2025-02-30/2025-04-01"),
        ("read_missing_picture", "wakashu://rounds/第2回/4/picture"),
        ("read_missing_rank", "wakashu://rounds/第1回/9"),
        ("read_missing_round", "wakashu://rounds/第99回"),
        ("read_foreign_address", "file:///etc/passwd"),
    ] {
        snapshot(&server, name, "resources/read", &json!({ "uri": uri }));
    }
}

#[test]
fn prompts_are_as_written_down() {
    let (server, _collection) = fixture::serve();
    for (name, prompt, arguments) in [
        ("prompt_present_round", "present_round", json!({ "round_title": "第1回", "style": "やさしく" })),
        (
            "prompt_compare_poems",
            "compare_poems",
            json!({ "round_title": "第1回", "rank": "1", "other_rank": "2", "other_round": "第2回" }),
        ),
        ("prompt_explain_honkadori", "explain_honkadori", json!({ "round_title": "第1回", "rank": "2" })),
        ("prompt_missing_argument", "explain_honkadori", json!({ "round_title": "第1回" })),
        ("prompt_unknown_round", "explain_honkadori", json!({ "round_title": "第99回", "rank": "1" })),
        ("prompt_unknown_rank", "explain_honkadori", json!({ "round_title": "第1回", "rank": "9" })),
        ("prompt_bad_rank", "explain_honkadori", json!({ "round_title": "第1回", "rank": "1-2" })),
        ("prompt_unknown", "no_such", json!({})),
    ] {
        snapshot(&server, name, "prompts/get", &json!({ "name": prompt, "arguments": arguments }));
    }
}

#[test]
fn completions_are_as_written_down() {
    let (server, _collection) = fixture::serve();
    let prompt = |name: &str| json!({ "type": "ref/prompt", "name": name });
    let template = |uri: &str| json!({ "type": "ref/resource", "uri": uri });
    for (name, reference, argument, value, chosen) in [
        ("complete_round", prompt("present_round"), "round_title", "第", json!({})),
        ("complete_round_anywhere", template("wakashu://rounds/{round}"), "round", "外", json!({})),
        (
            "complete_rank",
            template("wakashu://rounds/{round}/{rank}"),
            "rank",
            "",
            json!({ "round": "第2回" }),
        ),
        ("complete_rank_without_round", template("wakashu://rounds/{round}/{rank}"), "rank", "", json!({})),
        (
            "complete_year",
            template("wakashu://rounds/by-date/{start_date}/{end_date}"),
            "start_date",
            "20",
            json!({}),
        ),
        ("complete_style", prompt("present_round"), "style", "", json!({})),
        ("complete_unknown_prompt", prompt("no_such"), "round", "", json!({})),
        ("complete_unknown_argument", prompt("present_round"), "rank", "", json!({})),
        ("complete_unknown_template", template("wakashu://{x}"), "x", "", json!({})),
    ] {
        let params = json!({ "ref": reference, "argument": { "name": argument, "value": value }, "context": { "arguments": chosen } });
        snapshot(&server, name, "completion/complete", &params);
    }
}
