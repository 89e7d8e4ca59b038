//! Measures warm answers against the floor: CPU time per request, paired and pinned.
//!
//! `cargo run --release -p wakashu-tests --bin bench` after `cargo build --release --workspace`. Server and floor share
//! one core, wrk (from the distribution's packages) has the other; the floor is measured before and after each slice.
#![expect(clippy::print_stdout, reason = "a measuring program")]

use std::error::Error;
use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use wakashu_tests::bench::{Shape, write_archive};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Slices per case; the median ratio is reported.
const SLICES: usize = 5;
const SECONDS: &str = "3";
const CONNECTIONS: &str = "10";

/// What is asked, and the bar of the design: CPU per request over the floor's.
struct Case {
    name: &'static str,
    body: Value,
    bar: f64,
}

fn main() -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let archive = folder.path().join("bench.wakashu");
    let rounds = [
        Shape { title: "第1回", entries: 3, picture_bytes: 200 * 1024 },
        Shape { title: "第2回", entries: 1, picture_bytes: 20 * 1024 },
    ];
    write_archive(&archive, &rounds)?;
    let programs = std::env::current_exe()?.parent().map(Path::to_owned).ok_or("no folder of programs")?;
    let log = folder.path().join("log");
    let program = programs.join("wakashu-function");
    let ours = Server::start(Command::new(program).args(["serve", "--port", "0"]).arg(&archive), &log)?;
    let call = |round: &str, range: &str| {
        json!({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_wakashu_ranking",
            "arguments":{"round_title":round,"rank_range":range}}})
    };
    let cases = [
        Case { name: "ranking 1-3, 3 x 200 KiB", body: call("第1回", "1-3"), bar: 1.15 },
        Case { name: "tools/list", body: json!({"jsonrpc":"2.0","id":1,"method":"tools/list"}), bar: 1.6 },
        Case { name: "ranking 1-1, 20 KiB", body: call("第2回", "1"), bar: 1.3 },
    ];
    println!(
        "{:<26} {:>9} {:>12} {:>12} {:>7} {:>6}",
        "case", "bytes", "floor us", "ours us", "ratio", "bar"
    );
    let mut held = true;
    for case in cases {
        let script = folder.path().join("request.lua");
        std::fs::write(&script, lua(&case.body))?;
        let size = ours.answer_size(&case.body)?;
        let floor = Server::start(Command::new(programs.join("floor")).arg(size.to_string()), &log)?;
        for server in [&floor, &ours] {
            server.load(&script)?;
        }
        let mut slices = Vec::new();
        for _ in 0..SLICES {
            let before = floor.load(&script)?;
            let answer = ours.load(&script)?;
            let after = floor.load(&script)?;
            let floor = f64::midpoint(before, after);
            slices.push((answer / floor, floor, answer));
        }
        slices.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (ratio, floor, answer) = slices.get(SLICES / 2).copied().ok_or("no slices")?;
        let mark = if ratio <= case.bar { "" } else { "  over" };
        held &= ratio <= case.bar;
        println!(
            "{:<26} {size:>9} {floor:>12.1} {answer:>12.1} {ratio:>7.2} {:>6.2}{mark}",
            case.name, case.bar
        );
    }
    if held { Ok(()) } else { Err("a bar is missed".into()) }
}

fn lua(body: &Value) -> String {
    format!(
        "wrk.method = 'POST'\nwrk.headers['Content-Type'] = 'application/json'\nwrk.headers['Accept'] = 'application/json, text/event-stream'\nwrk.body = [==[{body}]==]\n"
    )
}

/// A server pinned to the first core, ended when dropped.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    /// Starts a program; what it logs is appended to `log`.
    fn start(command: &Command, log: &Path) -> Outcome<Self> {
        let mut pinned = Command::new("taskset");
        pinned.args(["-c", "0"]).arg(command.get_program()).args(command.get_args()).stdout(Stdio::piped());
        pinned.stderr(Stdio::from(OpenOptions::new().create(true).append(true).open(log)?));
        let mut child = pinned.spawn()?;
        let mut url = String::new();
        BufReader::new(child.stdout.take().ok_or("no stdout")?).read_line(&mut url)?;
        Ok(Self { child, url: url.trim().to_owned() })
    }

    /// Returns the length of one answer.
    fn answer_size(&self, body: &Value) -> Outcome<usize> {
        let curl = Command::new("curl")
            .args([
                "-s",
                "-X",
                "POST",
                "-H",
                "Content-Type: application/json",
                "-d",
                &body.to_string(),
                &self.url,
            ])
            .output()?;
        Ok(curl.stdout.len())
    }

    /// Loads the server for a slice; returns its CPU time per request in microseconds.
    fn load(&self, script: &PathBuf) -> Outcome<f64> {
        let before = self.cpu_seconds()?;
        let wrk = Command::new("taskset")
            .args(["-c", "1", "wrk", "-t1", "-c", CONNECTIONS, "-d", SECONDS, "-s"])
            .arg(script)
            .arg(&self.url)
            .output()?;
        let used = self.cpu_seconds()? - before;
        let text = String::from_utf8(wrk.stdout)?;
        if text.contains("Non-2xx") || text.contains("Socket errors") {
            return Err(text.into());
        }
        let line = text.lines().find(|line| line.contains("requests in")).ok_or_else(|| text.clone())?;
        let requests: f64 = line.split_whitespace().next().ok_or("no count")?.parse()?;
        Ok(used * 1e6 / requests)
    }

    fn cpu_seconds(&self) -> Outcome<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let fields: Vec<&str> = stat.rsplit(')').next().ok_or("no stat")?.split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|ticks| ticks.parse::<f64>().ok()).unwrap_or(0.0);
        Ok((ticks(11) + ticks(12)) / 100.0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
