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
