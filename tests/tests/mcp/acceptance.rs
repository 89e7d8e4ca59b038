//! What the curator and the reader were promised, on the sample collection built by the real indexer.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use wakashu_tests::{Reply, Server, call, legacy, modern, repository, sample};

const NO_SUCH_ROUND: &str = "指定された回のデータは見つかりませんでした。";
const NO_SUCH_RANK: &str = "指定された順位の投稿はありません。";

fn server() -> Server {
    Server::serve(sample())
}

fn ranking(server: &Server, arguments: &Value) -> Reply {
    server.send(&call("get_wakashu_ranking", arguments))
}

/// Returns the folder of a rank in the sample.
fn rank_folder(round: &str, rank: u32) -> PathBuf {
    let folders = std::fs::read_dir(repository().join("fixtures/wakashu_dir").join(round)).unwrap();
    let mut paths = folders.map(|entry| entry.unwrap().path());
    let begins = |path: &Path| path.file_name().unwrap().to_str().unwrap().starts_with(&format!("{rank}-"));
    paths.find(|path| begins(path)).unwrap()
}

/// Returns what the curator wrote about a rank.
fn text_data(round: &str, rank: u32) -> Value {
    let path = rank_folder(round, rank).join(format!("TextData{rank}.json"));
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn acceptance_8_1_data_and_encoding_are_what_the_curator_wrote() {
    let server = server();
    for (round, rank) in [("第1回", 1), ("第1回", 2), ("第1回", 3), ("第2回", 2), ("第3回", 7), ("番外編", 1)]
    {
        let reply = ranking(&server, &json!({ "round_title": round, "rank_range": rank.to_string() }));
        let written = text_data(round, rank);
        let texts = reply.texts();
        let mut expected = vec![
            format!("{rank}位：{}", written["AccountName"].as_str().unwrap()),
            written["HonkadoriWaka"].as_str().unwrap().to_owned(),
        ];
        expected
            .extend(written["Honka"].as_array().unwrap().iter().map(|url| url.as_str().unwrap().to_owned()));
        if written["Prompt"] != "" {
            expected.push("ジャケット生成に使ったプロンプト".to_owned());
            expected.push(written["Prompt"].as_str().unwrap().to_owned());
        }
        assert!(texts[0].starts_with(&expected.join("\n")), "{round} {rank}位: {}", texts[0]);
        assert_eq!(texts.len(), 1);
        assert_eq!(reply.header("content-type"), Some("application/json"));
    }
}

#[test]
fn acceptance_8_2_rank_directories_are_in_numeric_order() {
    let server = server();
    let reply =
        ranking(&server, &json!({ "round_title": "第3回", "rank_range": "1-12", "pictures": "none" }));
    let texts = reply.texts();
    let ranks: Vec<&str> = texts.iter().map(|text| text.split_once('位').unwrap().0).collect();
    assert_eq!(ranks, ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"]);
    assert!(texts[9].contains(text_data("第3回", 10)["HonkadoriWaka"].as_str().unwrap()));
}

#[test]
fn acceptance_8_3_an_unknown_round_is_an_error_that_says_which_rounds_exist() {
    let server = server();
    for (tool, arguments) in [
        ("get_wakashu_ranking", json!({ "round_title": "第99回" })),
        ("get_poem", json!({ "round_title": "第99回", "rank": 1 })),
    ] {
        let reply = server.send(&call(tool, &arguments));
        assert!(reply.is_tool_error());
        let texts = reply.texts();
        assert!(texts[0].starts_with(NO_SUCH_ROUND), "{}", texts[0]);
        for round in ["第1回", "第2回", "第3回", "番外編"] {
            assert!(texts[0].contains(round), "{round} in {}", texts[0]);
        }
    }
}

#[test]
fn acceptance_8_4_ranks_beyond_the_end_are_said_not_to_exist() {
    let server = server();
    let reply = ranking(&server, &json!({ "round_title": "第1回", "rank_range": "4-9" }));
    assert!(reply.is_tool_error());
    assert!(reply.texts()[0].starts_with(NO_SUCH_RANK), "{:?}", reply.texts());
    assert!(reply.texts()[0].contains("1位から3位"), "the hint says which exist: {:?}", reply.texts());

    let partly = ranking(&server, &json!({ "round_title": "第1回", "rank_range": "2-9" }));
    assert!(!partly.is_tool_error());
    let texts = partly.texts();
    assert_eq!((texts.len(), partly.pictures().len()), (3, 2));
    assert!(texts[2].starts_with(NO_SUCH_RANK) && texts[2].contains("4位から9位"), "{}", texts[2]);
}

#[test]
fn acceptance_8_5_a_rank_range_with_a_comma_is_refused() {
    let server = server();
    for range in ["1,3", "3-1", "0", "1-", "-1", "1-3-5", "1.5", "99999999999999999999"] {
        let reply = ranking(&server, &json!({ "round_title": "第1回", "rank_range": range }));
        assert!(reply.is_tool_error(), "{range}");
        let text = &reply.texts()[0];
        assert!(
            text.contains("rank_range")
                && text.contains("の形が正しくありません。順位の範囲。1位だけなら「1」")
                && !text.contains("文字列"),
            "{range}: {text}"
        );
    }
    for range in ["1-3", "１－３", "１", " 2 "] {
        let reply =
            ranking(&server, &json!({ "round_title": "第1回", "rank_range": range, "pictures": "none" }));
        assert!(!reply.is_tool_error(), "{range}: {:?}", reply.texts());
    }
}

#[test]
fn a_blank_style_is_no_style() {
    let server = server();
    for (style, expected) in [(" ", false), ("\u{3000}", false), ("やさしく", true)] {
        let arguments = json!({ "round": "第1回", "style": style });
        let prompt = json!({ "name": "present_round", "arguments": arguments });
        let text = server.send(&legacy("prompts/get", &prompt)).result()["messages"].to_string();
        assert_eq!(text.contains("文体は"), expected, "{style:?}: {text}");
    }
}

/// A prompt's argument was called `round` once, unlike that of the tools; clients may have kept it.
#[test]
fn prompts_take_the_title_of_a_round_as_tools_do_and_under_its_old_name() {
    let server = server();
    let get = |arguments: Value| {
        server.send(&legacy("prompts/get", &json!({ "name": "compare_poems", "arguments": arguments })))
    };
    let asked = get(json!({ "round_title": "第1回", "rank": "1位", "other_rank": "二位" })).result();
    assert!(asked["messages"][0]["content"]["text"].as_str().unwrap().contains("第1回\n2位："), "{asked}");
    for old in [
        json!({ "round": "第1回", "rank": "1", "other_rank": "2" }),
        json!({ "round": "第1回", "round_title": " ", "rank": "1", "other_rank": "2" }),
        json!({ "round": "番外編", "round_title": "第1回", "rank": "1", "other_rank": "2" }),
    ] {
        assert_eq!(get(old.clone()).result(), asked, "{old}");
    }
    let missing = get(json!({ "rank": "1", "other_rank": "2" })).json();
    assert_eq!(missing["error"]["message"], "the argument `round_title` is required");
    let complete = |argument: &str, value: &str, chosen: Value| {
        let params = json!({
            "ref": { "type": "ref/prompt", "name": "compare_poems" },
            "argument": { "name": argument, "value": value }, "context": { "arguments": chosen },
        });
        server.send(&legacy("completion/complete", &params)).result()["completion"]["values"].clone()
    };
    for name in ["round_title", "round"] {
        assert_eq!(complete(name, "番", json!({})), json!(["番外編"]), "{name}");
        let ranks = complete("rank", "", json!({ name: "第1回" }));
        assert!(ranks.as_array().unwrap().len() > 2, "{name}: {ranks}");
        let other = complete("other_rank", "", json!({ name: "第1回", "other_round": "番外編" }));
        assert_ne!(other, ranks, "{name}");
    }
}

#[test]
fn acceptance_8_6_the_list_of_tools_shows_the_ranking_tool_by_its_title() {
    let server = server();
    for request in [legacy("tools/list", &json!({})), modern("tools/list", &json!({}))] {
        let tools = server.send(&request).result()["tools"].as_array().unwrap().clone();
        let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names[..4], ["index_status", "list_rounds", "get_wakashu_ranking", "get_poem"]);
        assert_eq!(tools[2]["title"], "和歌集ランキング情報取得");
        for tool in &tools {
            assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
            assert!(tool["description"].as_str().unwrap().contains("遠慮したラップトップ和歌集"), "{tool}");
            assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        }
    }
}

#[test]
fn acceptance_8_7_text_and_picture_come_together_rank_by_rank() {
    let server = server();
    let reply = ranking(&server, &json!({ "round_title": "第1回", "rank_range": "1-3" }));
    let result = reply.result();
    assert!(result.get("structuredContent").is_none(), "pictures and structured content do not mix");
    let blocks = reply.content();
    let kinds: Vec<&str> = blocks.iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["text", "image", "text", "image", "text", "image"]);
    for (at, pair) in blocks.chunks(2).enumerate() {
        assert!(pair[0]["text"].as_str().unwrap().starts_with(&format!("{}位：", at + 1)));
        let picture = STANDARD.decode(pair[1]["data"].as_str().unwrap()).unwrap();
        let opening: &[u8] = match pair[1]["mimeType"].as_str().unwrap() {
            "image/png" => b"\x89PNG",
            "image/jpeg" => b"\xff\xd8\xff",
            "image/webp" => b"RIFF",
            "image/gif" => b"GIF8",
            other => panic!("{other}"),
        };
        assert!(picture.starts_with(opening), "the type is that of the bytes");
    }
    // The link in the text leads to the same picture, for people who cannot see the block.
    let text = blocks[0]["text"].as_str().unwrap();
    let link = text.lines().last().unwrap().strip_prefix("画像: ").unwrap();
    let target = link.strip_prefix(&format!("http://{}", server.address())).unwrap();
    let fetched = server.get(target);
    assert_eq!(
        (fetched.status, fetched.header("cache-control")),
        (200, Some("public, max-age=31536000, immutable"))
    );
    assert!(fetched.header("content-type").unwrap().starts_with("image/"));
}

#[test]
fn acceptance_8_8_an_error_reads_as_a_sentence_in_any_client() {
    let server = server();
    for request in [
        call("get_wakashu_ranking", &json!({ "round_title": "第99回" })),
        modern(
            "tools/call",
            &json!({ "name": "get_wakashu_ranking", "arguments": { "round_title": "第99回" } }),
        ),
    ] {
        let reply = server.send(&request);
        let result = reply.result();
        // A client shows the text blocks of the result; nothing else may be needed to understand it.
        assert_eq!(result["isError"], true);
        assert_eq!(result["content"].as_array().unwrap().len(), 1);
        assert!(result.get("structuredContent").is_none());
        let shown = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(
            shown,
            "指定された回のデータは見つかりませんでした。第1回、第2回、第3回、番外編があります。list_rounds で確かめられます。"
        );
    }
}

#[test]
fn acceptance_8_9_honka_urls_are_exactly_as_in_the_file() {
    let server = server();
    for (round, last) in [("第1回", 3), ("第2回", 4), ("第3回", 12), ("番外編", 1)] {
        let range = format!("1-{last}");
        let reply =
            ranking(&server, &json!({ "round_title": round, "rank_range": range, "pictures": "none" }));
        let texts = reply.texts();
        assert_eq!(texts.len(), last, "{round}");
        for (text, rank) in texts.iter().zip(1..) {
            let lines: Vec<&str> = text.lines().collect();
            for url in text_data(round, rank)["Honka"].as_array().unwrap() {
                assert!(lines.contains(&url.as_str().unwrap()), "{url} as a line of {text}");
            }
        }
    }
}

#[test]
fn every_way_to_write_a_round_title_finds_the_round() {
    let server = server();
    for title in ["第1回", "第１回", "第一回", "1", "１", " 第1回 "] {
        let reply = ranking(&server, &json!({ "round_title": title, "rank_range": "1", "pictures": "none" }));
        assert!(reply.texts()[0].starts_with("1位：@Laptop"), "{title}: {:?}", reply.texts());
    }
}

#[test]
fn one_poem_comes_in_full_with_its_large_picture() {
    let server = server();
    let reply = server.send(&call("get_poem", &json!({ "round_title": "第2回", "rank": 1 })));
    assert_eq!((reply.texts().len(), reply.pictures().len()), (1, 1));
    let large = server.get("/pictures/%E7%AC%AC2%E5%9B%9E/1?rendition=large");
    assert_eq!(STANDARD.decode(&reply.pictures()[0]).unwrap(), large.body);
}
