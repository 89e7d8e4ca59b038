//! The collection as readers will see it.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, SystemTime};

use crate::harness::Place;

/// A running preview and the lines it writes to stderr.
struct Preview {
    child: Child,
    address: String,
    told: Receiver<String>,
}

impl Preview {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, told) = mpsc::channel();
        std::thread::spawn(move || {
            stderr.lines().map_while(Result::ok).for_each(|line| drop(sender.send(line)));
        });
        let (mut page, mut url) = (String::new(), String::new());
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut page).unwrap();
        stdout.read_line(&mut url).unwrap();
        assert!(url.is_empty() || url.trim_end().strip_suffix("mcp") == Some(page.trim_end()), "{page}{url}");
        let address = url.trim_end().strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp"));
        let address = address.unwrap_or_else(|| panic!("{url:?}: {:#?}", told.iter().collect::<Vec<_>>()));
        Self { child, address: address.to_owned(), told }
    }

    /// Returns the lines up to the one with these words.
    fn wait_for(&self, words: &str) -> Vec<String> {
        let mut lines = Vec::new();
        while let Ok(line) = self.told.recv_timeout(Duration::from_secs(30)) {
            lines.push(line);
            if lines.last().unwrap().contains(words) {
                return lines;
            }
        }
        panic!("{words:?} is not among {lines:#?}");
    }

    /// Returns a page as a browser is given it, head and all.
    fn page(&self, path: &str) -> String {
        let mut connection = TcpStream::connect(&self.address).unwrap();
        connection.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let head = "Host: localhost\r\nAccept: text/html\r\nConnection: close";
        write!(connection, "GET {path} HTTP/1.1\r\n{head}\r\n\r\n").unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Listens to what a page listens to.
    fn listen(&self) -> impl Iterator<Item = String> + use<> {
        let mut connection = TcpStream::connect(&self.address).unwrap();
        connection.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        write!(connection, "GET /changes HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let lines = BufReader::new(connection).lines().map_while(Result::ok);
        lines.filter_map(|line| line.strip_prefix("data: ").map(str::to_owned))
    }

    fn ask(&self, body: &str) -> String {
        let mut connection = TcpStream::connect(&self.address).unwrap();
        connection.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let length = body.len();
        write!(
            connection,
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        answer
    }

    /// Stops the preview and returns the lines not waited for.
    fn stop(mut self) -> Vec<String> {
        assert!(
            Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap().success()
        );
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        self.told.iter().collect()
    }
}

/// Returns the mark that a page has, by which it knows whether it is an old one.
fn mark(page: &str) -> &str {
    let (_, rest) = page.split_once("data-mark=\"").unwrap_or_else(|| panic!("no mark: {page}"));
    rest.split('"').next().unwrap()
}

const STATUS: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"index_status","arguments":{}}}"#;
const WATCH: [&str; 6] = ["preview", "wakashu_dir", "--port", "0", "--no-cache", "--watch"];
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

#[test]
fn preview_tells_of_every_request_when_asked_to_say_more() {
    let place = Place::small();
    for (talk, lines) in [(&["-v"][..], 1), (&[], 0)] {
        let mut command = place.command(["preview", "wakashu_dir", "--port", "0", "--no-cache"]);
        let preview = Preview::start(command.args(talk));
        preview.ask(PING);
        let stderr = preview.stop();
        let told: Vec<&String> = stderr.iter().filter(|line| line.contains(" method=ping ")).collect();
        assert_eq!(told.len(), lines, "{talk:?}: {stderr:#?}");
        for field in ["request=", "era=", "status=200", "bytes=", "ms=", "archive="] {
            assert!(told.iter().all(|line| line.contains(field)), "{field} in {told:?}");
        }
    }
}

#[test]
fn watching_says_when_nothing_is_new() {
    let place = Place::small();
    let preview = Preview::start(&mut place.command(WATCH));

    // A text is saved as it was, then another is added.
    let text = std::fs::File::options().append(true).open(place.dir().join("第1回/1-Laptop/TextData1.json"));
    text.unwrap().set_modified(SystemTime::now() + Duration::from_secs(5)).unwrap();
    let lines = preview.wait_for("serving the same version");
    assert_eq!(lines.iter().filter(|line| line.contains("the collection changed")).count(), 1, "{lines:#?}");
    let place = place.entry("第1回/3-New");
    let lines = preview.wait_for("serving the new version");
    assert!(!lines.iter().any(|line| line.contains("serving the same version")), "{lines:#?}");

    preview.stop();
    drop(place);
}

#[test]
fn a_preview_serves_whatever_the_temporary_folder_is_called() {
    let place = Place::small();
    for name in ["a%41", "a%zz", "a b#c?d", "一時"] {
        let temporary = place.path().join(name);
        fs::create_dir(&temporary).unwrap();
        let mut command = place.command(["preview", "wakashu_dir", "--port", "0", "--no-cache"]);
        let preview = Preview::start(command.env("TMPDIR", &temporary));
        let answer = preview.ask(STATUS);
        assert!(answer.contains("READY"), "{name}: {answer}");
        preview.stop();
        assert_eq!(
            fs::read_dir(&temporary).unwrap().count(),
            0,
            "{name}: what was built goes with the preview"
        );
    }
}

#[test]
fn watching_keeps_the_version_that_is_served_and_the_one_before() {
    let mut place = Place::small();
    let temporary = place.path().join("temporary");
    fs::create_dir(&temporary).unwrap();
    let preview = Preview::start(place.command(WATCH).env("TMPDIR", &temporary));
    let scratch = fs::read_dir(&temporary).unwrap().next().unwrap().unwrap().path();
    for rank in 3..7 {
        place = place.text(&format!("第1回/{rank}-New"));
        preview.wait_for("serving the new version");
        assert_eq!(fs::read_dir(scratch.join("store/archives")).unwrap().count(), 2);
        assert_eq!(fs::read_dir(scratch.join("built")).unwrap().count(), 0);
    }
    preview.stop();
}

#[test]
fn a_page_hears_of_changes_and_shows_what_is_wrong_until_it_is_mended() {
    let place = Place::small();
    let text = place.dir().join("第1回/1-Laptop/TextData1.json");
    let sound = fs::read_to_string(&text).unwrap();
    let preview = Preview::start(place.command(WATCH).args(["--language", "ja"]));
    let poem = "/rounds/%E7%AC%AC1%E5%9B%9E/1";
    let before = preview.page(poem);
    assert!(before.starts_with("HTTP/1.1 200 ") && !before.contains("findings"), "{before}");
    let mut events = preview.listen();
    assert_eq!(events.next().unwrap(), mark(&before), "what is shown is told at once");

    fs::write(&text, sound.replace("\"Prompt\"", "\"Promt\"")).unwrap();
    let told = events.next().unwrap();
    let broken = preview.page(poem);
    assert_eq!(told, mark(&broken));
    for shown in [
        "歌1",
        "エラー 1 件、警告 0 件。直すまでは、前の版を見せています。",
        "第1回/1-Laptop/TextData1.json:1:",
        "「Prompt」がありません。",
        "直し方: 「Promt」は「Prompt」の書き間違いではありませんか。",
    ] {
        assert!(broken.contains(shown), "{shown}: {broken}");
    }

    fs::write(&text, sound.replace("歌1", "夏の歌")).unwrap();
    let told = events.next().unwrap();
    let mended = preview.page(poem);
    assert_eq!(told, mark(&mended));
    assert!(mended.contains("夏の歌") && !mended.contains("findings"), "{mended}");
    preview.stop();
    assert_eq!(events.next(), None, "the stream ends with the preview");
}

#[test]
fn a_collection_that_cannot_be_built_yet_says_why_on_its_page() {
    let place = Place::new().file("和歌集.json", "{\"Title\": \"<b>\"}").text("第1回/01-<i>");
    let preview = Preview::start(&mut place.command(WATCH));
    let page = preview.page("/");
    assert!(page.starts_with("HTTP/1.1 503 "), "{page}");
    assert!(page.contains("the collection appears here once they are put right"), "{page}");
    assert!(page.contains("第1回/01-&lt;i&gt;") && !page.contains("<i>"), "{page}");

    let mut events = preview.listen();
    assert_eq!(events.next().unwrap(), mark(&page));
    fs::rename(place.dir().join("第1回/01-<i>"), place.dir().join("第1回/1-i")).unwrap();
    // One more look for what is begun anew, whichever of the two names was seen first.
    while events.next().unwrap() == mark(&page) {}
    let page = preview.page("/");
    assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
    preview.stop();
}

#[test]
fn problems_of_a_preview_are_not_shown_where_tokens_are_asked_for() {
    let place = Place::small().text("第1回/4-New");
    let mut command = place.command(["preview", "wakashu_dir", "--port", "0", "--no-cache"]);
    let token = "0e7f3c5c909ce8afb978a208d639e85af2171df2ec0003a07f13ad97878ef053";
    let preview = Preview::start(command.env("WAKASHU_TOKENS_SHA256", token));
    assert!(!preview.page("/").contains("第1回/4-New"));
    assert!(preview.page("/changes").starts_with("HTTP/1.1 404 "));
    preview.stop();
    // The same without them, to know what is looked for.
    let preview = Preview::start(&mut place.command(["preview", "wakashu_dir", "--port", "0", "--no-cache"]));
    assert!(preview.page("/").contains("第1回/4-New"));
    preview.stop();
}
