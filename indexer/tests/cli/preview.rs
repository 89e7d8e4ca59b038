//! The collection as readers will see it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, SystemTime};

use crate::harness::Place;

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

#[test]
fn preview_tells_of_every_request_when_asked_to_say_more() {
    let place = Place::small();
    for (talk, lines) in [(&["-v"][..], 1), (&[], 0)] {
        let mut command = place.command(["preview", "wakashu_dir", "--port", "0", "--no-cache"]);
        let mut child = command.args(talk).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut address = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut address).unwrap();
        let address = address.trim_end().strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();

        let mut connection = TcpStream::connect(address).unwrap();
        connection.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let length = PING.len();
        write!(
            connection,
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n{PING}"
        )
        .unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        let stopped = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
        assert!(stopped.success());
        let output = child.wait_with_output().unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert_eq!(output.status.code(), Some(0));
        let stderr = String::from_utf8(output.stderr).unwrap();
        let told: Vec<&str> = stderr.lines().filter(|line| line.contains("method=\"ping\"")).collect();
        assert_eq!(told.len(), lines, "{talk:?}: {stderr}");
        for field in ["request=", "era=", "status=200", "bytes=", "ms=", "archive="] {
            assert!(told.iter().all(|line| line.contains(field)), "{field} in {told:?}");
        }
    }
}

#[test]
fn watching_passes_over_hidden_files_and_says_when_nothing_is_new() {
    let place = Place::small();
    let mut command = place.command(["preview", "wakashu_dir", "--port", "0", "--no-cache", "--watch"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut address = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let (sender, told) = mpsc::channel();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    let reader = std::thread::spawn(move || {
        stderr.lines().map_while(Result::ok).for_each(|line| drop(sender.send(line)));
    });
    let wait_for = |words: &str| {
        let mut lines = Vec::new();
        while let Ok(line) = told.recv_timeout(Duration::from_secs(30)) {
            lines.push(line);
            if lines.last().unwrap().contains(words) {
                return lines;
            }
        }
        panic!("{words:?} is not among {lines:#?}");
    };

    // Several looks pass with a hidden file, then a text is saved as it was, then another is added.
    let place = place.file(".git/x", "x").file("第1回/.DS_Store", "x");
    std::thread::sleep(Duration::from_millis(2500));
    let text = std::fs::File::options().append(true).open(place.dir().join("第1回/1-Laptop/TextData1.json"));
    text.unwrap().set_modified(SystemTime::now() + Duration::from_secs(5)).unwrap();
    let lines = wait_for("serving the same version");
    assert_eq!(lines.iter().filter(|line| line.contains("the collection changed")).count(), 1, "{lines:#?}");
    let place = place.entry("第1回/3-New");
    let lines = wait_for("serving the new version");
    assert!(!lines.iter().any(|line| line.contains("serving the same version")), "{lines:#?}");

    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    reader.join().unwrap();
    drop(place);
}
