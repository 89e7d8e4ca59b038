//! A new curator, from an empty folder to an MCP answer: every command as the printed README has it.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;
use wakashu_tests::{Connection, Server, call, program, repository};

/// A shell in a folder, with `wakashu` on its path and nothing of this machine's settings.
fn shell(folder: &Path, line: &str) -> Command {
    let programs = program("wakashu").parent().unwrap().to_owned();
    let mut path = OsString::from(programs);
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let mut command = Command::new("bash");
    command.args(["-c", line]).current_dir(folder).env("PATH", path).env("LANG", "ja_JP.UTF-8");
    command.env_remove("LC_ALL").env_remove("WAKASHU_LANGUAGE").env("XDG_CACHE_HOME", folder.join(".cache"));
    command
}

/// Types a line and expects it to go well; returns what it says to the person.
fn typed(folder: &Path, line: &str) -> String {
    let output = shell(folder, line).stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{line}\n{said}");
    said
}

/// Returns the blocks of a README that are to be pasted.
fn pasted(readme: &str) -> Vec<String> {
    let blocks = readme.split("```sh\n").skip(1);
    blocks.map(|block| block.split("\n```").next().unwrap().to_owned()).collect()
}

/// Starts a preview as the README has it, on a free port, and asks it for the rounds.
fn preview(folder: &Path, line: &str) -> String {
    // `exec`, so that what is ended is the program and not its shell.
    let mut child = shell(folder, &format!("exec {line} --port 0 --no-cache"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The first page comes first, then what MCP clients are given.
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let url = lines.take(2).find(|line| line.ends_with("/mcp")).unwrap_or_default();
    let address = url.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp"));
    let address = address.unwrap_or_else(|| panic!("no address: {url:?}")).parse().unwrap();
    let request = call("list_rounds", &json!({}));
    let mut connection = Connection::open(address);
    connection.send(&request.bytes()).unwrap();
    let reply = connection.receive_for(&request.method).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    reply.texts()[0].clone()
}

#[test]
fn a_new_curator_gets_from_an_empty_folder_to_an_answer() {
    let home = tempfile::tempdir().unwrap();
    let said = typed(home.path(), "wakashu new 私の和歌集");
    // What it says to type next, typed.
    let next: Vec<&str> =
        said.lines().skip_while(|line| !line.starts_with("次に打つコマンド")).skip(1).collect();
    assert_eq!(
        next,
        ["  cd 私の和歌集", "  wakashu check wakashu_dir", "  wakashu preview wakashu_dir --watch"]
    );
    let folder = home.path().join("私の和歌集");
    let picture = |name: &str| fs::read(repository().join("fixtures/pictures").join(name)).unwrap();
    fs::write(folder.join("写真.jpg"), picture("jpeg-exif-6.jpg")).unwrap();
    fs::write(folder.join("IMG_0042.HEIC"), picture("heic-17x23.heic")).unwrap();

    let (mut previews, mut commands) = (0, 0);
    for block in pasted(&fs::read_to_string(folder.join("README.md")).unwrap()) {
        commands += 1;
        if block.starts_with("wakashu preview") {
            previews += 1;
            let rounds = preview(&folder, &block);
            assert!(rounds.contains("「私の和歌集」") && rounds.contains("お題: 春"), "{rounds}");
        } else {
            typed(&folder, &block);
        }
    }
    assert_eq!((previews, commands), (1, 4), "the README has changed");

    typed(&folder, "wakashu add wakashu_dir 第2回 --account @b --picture IMG_0042.HEIC --poem 夏の歌");
    let mut child =
        shell(&folder, "wakashu add wakashu_dir 2 --account @c --picture 写真.jpg --rank 1 --poem -")
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
    child.stdin.take().unwrap().write_all("秋の歌\n二行目\n".as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    fs::write(folder.join("wakashu_dir/第2回/編纂時期.json"), "{\"下書き\": true, \"お題\": \"月\"}")
        .unwrap();
    typed(&folder, "wakashu check wakashu_dir --strict --deep");
    let drafts = typed(&folder, "wakashu publish wakashu_dir store --no-cache");
    assert!(drafts.contains("下書きの回なので、入れていません：「第2回」"), "{drafts}");
    fs::write(folder.join("wakashu_dir/第2回/編纂時期.json"), "{\"お題\": \"月\", \"講評\": \"静か\"}")
        .unwrap();
    typed(&folder, "wakashu publish wakashu_dir store --no-cache --note 第2回");
    // The pages of the same collection, and the store beside them.
    typed(&folder, "wakashu export wakashu_dir -o site --no-cache");
    let page = |path: &str| fs::read_to_string(folder.join("site").join(path)).unwrap();
    assert!(page("index.html").contains("第2回"), "{}", page("index.html"));
    let poem = page("rounds/第2回/1/index.html");
    assert!(poem.contains("秋の歌") && poem.contains("<img"), "{poem}");
    let digest_in = |store: &str| {
        let pointer = fs::read_to_string(folder.join(store).join("current.json")).unwrap();
        serde_json::from_str::<serde_json::Value>(&pointer).unwrap()["digest"].clone()
    };
    assert_eq!(digest_in("site"), digest_in("store"));
    let history = shell(&folder, "wakashu history store").output().unwrap().stdout;
    let history = String::from_utf8(history).unwrap();
    assert!(history.contains("回：追加 1／歌：追加 2\n") && history.contains("メモ：第2回\n"), "{history}");

    let server = Server::serve(&folder.join("store"));
    let reply =
        server.send(&call("get_wakashu_ranking", &json!({ "round_title": "第2回", "rank_range": "1-2" })));
    let texts = reply.texts().join("\n");
    assert!(texts.contains("秋の歌\n二行目") && texts.contains("夏の歌"), "{texts}");
    let rounds = server.send(&call("list_rounds", &json!({}))).texts()[0].clone();
    assert!(rounds.contains("  お題: 月\n  講評: 静か"), "{rounds}");
}
