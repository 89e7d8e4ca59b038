//! `wakashu ask`: what there is, tools, prompts and resources of any server, and what is said when it does not work.

use serde_json::Value;
use wakashu_tests::{Server, program, sample};

use super::{said, wakashu};

fn ask(words: &[&str]) -> (i32, String, String) {
    said(&wakashu().arg("ask").args(words).output().unwrap())
}

#[test]
fn everything_a_server_has_can_be_asked() {
    let server = Server::serve(sample());
    let url = server.url();
    let (code, out, err) = ask(&[url]);
    assert_eq!(code, 0, "{err}");
    for line in ["  get_poem  ", "    rank=integer (needed)  ", "  present_round  ", "  wakashu://rounds  "] {
        assert!(out.contains(line), "{line}\n{out}");
    }
    let (code, out, _) = ask(&[url, "--json"]);
    let offer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, offer["tools"].as_array().unwrap().len()), (0, 5));

    let folder = tempfile::tempdir().unwrap();
    let save = folder.path().join("pictures");
    let (code, out, _) = ask(&[url, "get_poem", "round_title=1", "rank=1", "--save", save.to_str().unwrap()]);
    assert!(code == 0 && out.starts_with("1位：@Laptop"), "{out}");
    let saved = std::fs::read(save.join("get_poem-1.png")).unwrap();
    assert!(saved.starts_with(b"\x89PNG"));
    let (_, out, _) = ask(&[url, "get_poem", "round_title=1", "rank:=1", "--json"]);
    assert!(serde_json::from_str::<Value>(&out).unwrap()["content"].is_array());
    let (_, out, _) = ask(&[url, "get_poem", "round_title=1", "rank=1"]);
    assert!(out.contains("[1: image/png, ") && out.contains("--save"), "{out}");

    assert!(ask(&[url, "wakashu://rounds"]).1.contains("第1回"));
    assert!(ask(&[url, "present_round", "round_title=第1回"]).1.starts_with("user:"));
}

#[test]
fn programs_and_configured_servers_are_asked_too() {
    let function = program("wakashu-function");
    let (function, archive) = (function.to_str().unwrap(), sample().to_str().unwrap());
    let (code, out, err) = ask(&["list_rounds", "limit=1", "--", function, "stdio", archive]);
    assert!(code == 0 && out.contains("第1回"), "{out}{err}");
    let folder = tempfile::tempdir().unwrap();
    let servers = serde_json::json!({"servers": {"poems": {"command": function, "args": ["stdio", archive], "deny": ["get_*"]}}});
    std::fs::write(folder.path().join(".mcp.json"), servers.to_string()).unwrap();
    let asked =
        |words: &[&str]| said(&wakashu().current_dir(folder.path()).arg("ask").args(words).output().unwrap());
    assert_eq!(asked(&["poems", "index_status"]).0, 0);
    let denied = asked(&["poems", "get_poem", "round_title=1", "rank=1"]);
    assert!(denied.0 == 2 && denied.2.contains("does not allow"), "{denied:?}");
    let other = asked(&["other"]);
    assert!(other.0 == 2 && other.2.contains("`poems`"), "{other:?}");
}

#[test]
fn what_fails_says_why_and_what_to_do() {
    let server = Server::serve(sample());
    let url = server.url();
    for (words, code, what) in [
        (&[url, "get_poem", "rank=x"] as &[&str], 2, "rank=integer (needed)"),
        (&[url, "get_poem", "rank"], 2, "write key=value"),
        (&[url, "get_peom"], 2, "`get_poem`"),
        (&[url, "present_round"], 2, "`round_title=…`"),
        (&[url, "wakashu://nothing"], 2, "next: "),
        (&["http://127.0.0.1:1/mcp"], 2, "next: check the server's address"),
        (&[], 2, "which server?"),
    ] {
        let (found, out, err) = ask(words);
        assert_eq!(found, code, "{words:?} {out}{err}");
        assert!(err.contains(what), "{words:?} {err}");
    }
    let (code, out, _) = ask(&[url, "get_poem", "round_title=ない", "rank=1"]);
    assert!(code == 1 && out.contains("list_rounds"), "{out}");
}
