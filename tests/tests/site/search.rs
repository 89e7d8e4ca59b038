//! The search in the browser finds what the server finds, marked alike and in the same order, and says it in the same words.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use wakashu_archive::EntryDraft;
use wakashu_tests::{Collection, Server, call, poem};

use super::export;

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % below
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.next(from.len())]
    }
}

const PIECES: &[&str] = &[
    "さくら",
    "サクラ",
    "ｻｸﾗ",
    "櫻",
    "桜",
    "花の色は",
    "うつりにけりな",
    "いたづらに",
    "わがみよにふる",
    "ながめせしまに",
    "こゝろ",
    "かゞみ",
    "いよ〱",
    "ちり〲",
    "人々",
    "てふ",
    "ちょう",
    "けふ",
    "きょう",
    "あふさか",
    "おうさか",
    "むめ",
    "うめ",
    "くれなゐ",
    "くれない",
    "をみなへし",
    "おほえやま",
    "もみぢば",
    "もみじ",
    "みづ",
    "みず",
    "いづみ",
    "くわんのん",
    "かんのん",
    "たふとし",
    "まうす",
    "やうやく",
    "戀",
    "恋",
    "瀧",
    "滝",
    "㌔",
    "①",
    "㈱",
    "ＡＢＣ",
    "abc",
    "É",
    "e\u{301}",
    "か\u{3099}",
    "は\u{309a}",
    "ゔ",
    "ヴ",
    "🌸",
    "👩‍💻",
    "𠮟る",
    "𩸽",
    "\n",
    "　",
    " ",
    "\r\n",
    "ー",
    "、",
    "「月」",
    "がぎ",
    "ばび",
    "ぱ",
    "ん",
    "む",
    "う",
    "ふ",
    "は",
    "わ",
    "ゐ",
    "ゑ",
    "を",
    "っ",
    "ゃ",
    "ょ",
    "ぜう",
    "でふ",
    "しう",
    "しゅう",
    "よう",
    "ろう",
    "さうらう",
    "あおい",
    "あふひ",
    "風",
    "山",
    "川",
    "の",
    "に",
    "も",
    "\u{200b}",
    "葛\u{e0100}城",
    "ﬁ",
    "İ",
    "ß",
    "Σας",
    "½",
    "한글",
];

fn text(dice: &mut Dice, most: usize) -> String {
    (0..=dice.next(most)).map(|_| *dice.pick(PIECES)).collect()
}

fn entry(dice: &mut Dice, rank: u32) -> EntryDraft {
    EntryDraft {
        account: format!("@{}{rank}", dice.pick(PIECES).trim()),
        poem: text(dice, 14),
        yomi: (dice.next(3) == 0).then(|| text(dice, 8)),
        prompt: text(dice, 5),
        honka: vec![format!("https://ja.wikipedia.org/wiki/{}", dice.pick(PIECES).trim())],
        ..poem(rank, None)
    }
}

/// What readers may type: parts of what is there, what they would rather type, prefixes, and things that mean nothing.
fn queries(dice: &mut Dice, poems: &[String]) -> BTreeSet<String> {
    let mut queries: BTreeSet<String> = include_str!("../../search/queries.tsv")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split('\t').nth(1).map(str::to_owned))
        .collect();
    queries.extend(PIECES.iter().map(|piece| (*piece).to_owned()));
    queries.extend(
        [
            "round:第1回",
            "round:ない 花",
            "花 round:１",
            "花 ROUND：第一回",
            "account:\"a b\"",
            "の round:\"春 の部\"",
            "prompt: 花",
            "account:",
            "花 月 雪 春 夏 秋 冬 恋 旅",
        ]
        .map(str::to_owned),
    );
    queries.extend([200, 201].map(|characters| "𠮷".repeat(characters)));
    while queries.len() < 1_400 {
        let poem: Vec<char> = dice.pick(poems).chars().collect();
        let from = dice.next(poem.len());
        let part: String = poem.iter().skip(from).take(1 + dice.next(6)).collect();
        let prefix =
            *dice.pick(&["", "", "", "", "account:", "prompt:", "honka:", "round:第2回 ", "round:春の部 "]);
        let second = if dice.next(4) == 0 { format!(" {}", dice.pick(PIECES)) } else { String::new() };
        queries.insert(format!("{prefix}{part}{second}"));
    }
    queries
}

/// Returns the search page that the server makes.
fn page(server: &Server, query: &str, page: u32) -> String {
    let query = utf8_percent_encode(query, NON_ALPHANUMERIC);
    server.get(&format!("/search?q={query}&page={page}")).text()
}

/// Returns what stands in the first element that begins so.
fn said<'a>(page: &'a str, element: &str) -> &'a str {
    let after = page.split_once(element).expect("the page has the element").1;
    after.split_once('<').unwrap().0
}

/// Returns what the server answers in the form the script does; a refusal is what its page says.
fn asked(server: &Server, query: &str) -> Value {
    let reply = server.send(&call("search_poems", &json!({ "query": query, "limit": 50 })));
    if reply.is_tool_error() {
        return json!(said(&page(server, query, 1), "<p class=\"alert\" role=\"status\">"));
    }
    let found = reply.result()["structuredContent"].clone();
    let hits = found["hits"].as_array().unwrap().iter();
    let hits: Vec<Value> = hits
        .map(|hit| {
            json!({"round": hit["round"], "rank": hit["rank"], "match": hit["match"], "marked": hit["marked"]})
        })
        .collect();
    json!({ "total": found["total"], "hits": hits })
}

#[test]
fn the_browser_finds_what_the_server_finds() {
    if !Command::new("node")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
    {
        println!("skipped: there is no node");
        return;
    }
    let mut dice = Dice(7);
    let mut collection = Collection::default();
    let mut poems = Vec::new();
    for title in ["第1回", "第2回", "夏/秋?", "春の部"] {
        let entries: Vec<EntryDraft> = (1..=450).map(|rank| entry(&mut dice, rank)).collect();
        poems.extend(entries.iter().map(|entry| entry.poem.clone()));
        collection = collection.round(title).entries(entries);
    }
    let folder = tempfile::tempdir().unwrap();
    let archive = collection.write();
    export(&archive, folder.path(), &[]);
    let server = Server::serve_with(Some(&archive), &[]);

    // Neither page asks for blanks alone.
    let queries: Vec<String> =
        queries(&mut dice, &poems).into_iter().filter(|query| !query.trim().is_empty()).collect();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/site/ask.js");
    let mut node = Command::new("node")
        .arg(script)
        .arg(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("node starts");
    node.stdin.take().unwrap().write_all(json!(queries).to_string().as_bytes()).unwrap();
    let output = node.wait_with_output().unwrap();
    assert!(output.status.success());
    let answers: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let (mut wrong, mut with_hits, mut loose, mut a_loose_one) = (Vec::new(), 0, 0, "");
    let mut refusals = BTreeSet::new();
    for (query, answer) in queries.iter().zip(&answers) {
        let expected = asked(&server, query);
        with_hits += usize::from(expected["total"].as_u64() > Some(0));
        if expected.to_string().contains("\"loose\"") {
            loose += 1;
            // All its hits are.
            if !expected.to_string().contains("\"exact\"") {
                a_loose_one = query;
            }
        }
        refusals.extend(expected.as_str().map(str::to_owned));
        if *answer != expected {
            wrong.push(query);
            if wrong.len() < 5 {
                println!("{query:?}\n  server  {expected}\n  browser {answer}");
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ: {wrong:?}", wrong.len(), queries.len());
    assert!(queries.len() > 1_000 && with_hits > 800 && loose > 100, "{with_hits} with hits, {loose} loose");
    assert_eq!(refusals.len(), 5, "every reason was met: {refusals:?}");

    // What else the pages say stands in the script as it does on the served page.
    let mut assets = fs::read_dir(folder.path().join("assets")).unwrap().map(|entry| entry.unwrap().path());
    let script = assets.find(|path| path.to_str().unwrap().contains("/assets/search-")).unwrap();
    let script = fs::read_to_string(script).unwrap();
    let tally = "<p class=\"tally\" role=\"status\">";
    let nothing = page(&server, "存在しない言葉", 1);
    let beyond = page(&server, "の", 999);
    let many = page(&server, "の", 1);
    let found =
        said(&many, tally).trim_start_matches(|letter: char| letter == ',' || letter.is_ascii_digit());
    let loosely = page(&server, a_loose_one, 1);
    for words in [said(&nothing, tally), said(&beyond, tally), found, said(&loosely, "<span class=\"note\">")]
    {
        assert!(!words.is_empty() && script.contains(&format!("\"{words}\"")), "{words}");
    }
}
