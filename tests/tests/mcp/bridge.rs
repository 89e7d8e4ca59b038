//! `wakashu bridge` as hosts start it, with a line to the server that fails in every way.

use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;
use wakashu_support::fault_proxy::{Fault, FaultProxy, Gate, Rule};
use wakashu_tests::{Server, program, sample};

struct Host {
    bridge: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Host {
    fn start(url: &str) -> Self {
        let mut command = Command::new(program("wakashu"));
        command.args(["bridge", url]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut bridge = command.kill_on_drop(true).spawn().expect("the bridge starts");
        let lines = BufReader::new(bridge.stdout.take().unwrap()).lines();
        Self { input: bridge.stdin.take().unwrap(), bridge, lines }
    }

    async fn say(&mut self, message: &str) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    /// The next line, which must be a whole message.
    async fn hear(&mut self) -> Value {
        let line = timeout(Duration::from_secs(30), self.lines.next_line()).await.expect("an answer in time");
        serde_json::from_str(&line.unwrap().expect("a line")).expect("a line is a message")
    }

    /// Closes the host's side; the bridge must end at once and have nothing more to say.
    async fn end(mut self) {
        drop(self.input);
        assert_eq!(timeout(Duration::from_secs(10), self.lines.next_line()).await.unwrap().unwrap(), None);
        assert!(timeout(Duration::from_secs(10), self.bridge.wait()).await.unwrap().unwrap().success());
    }
}

fn call(id: usize) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"list_rounds","arguments":{{}}}}}}"#
    )
}

async fn in_front_of(server: &Server) -> (FaultProxy, String) {
    let proxy = FaultProxy::start(server.address()).await.unwrap();
    let url = format!("{}/mcp", proxy.endpoint());
    (proxy, url)
}

#[tokio::test]
async fn an_answer_cut_at_every_byte_is_one_error_or_whole() {
    let server = Server::serve(sample());
    let (proxy, url) = in_front_of(&server).await;
    let mut host = Host::start(&url);
    // All ids have the same length, and so have the answers.
    let id = |cut: usize| 100_001 + cut;
    host.say(&call(100_000)).await;
    let whole = host.hear().await;
    let length = proxy.take_log()[0].answer_bytes;
    for cut in 0..=length {
        proxy.heal();
        proxy.inject(Rule::always(Fault::Truncate(cut)));
        host.say(&call(id(cut))).await;
        let mut answer = host.hear().await;
        assert_eq!(answer["id"].take(), id(cut));
        if cut < length {
            assert_eq!(answer["error"]["data"]["code"], "CONNECTION_LOST", "{cut}: {answer}");
        } else {
            assert_eq!(answer["result"], whole["result"]);
        }
    }
    assert_eq!(proxy.take_log().len(), length + 1, "a call is never sent twice");
    host.end().await;
}

#[tokio::test]
async fn whatever_happens_on_the_way_each_request_has_one_answer() {
    let server = Server::serve(sample());
    let (proxy, url) = in_front_of(&server).await;
    let mut host = Host::start(&url);
    let answer = |status, header, body| Fault::Answer { status, header, body };
    for (id, (fault, code)) in [
        (Fault::Drop, "CONNECTION_LOST"),
        (Fault::LoseAnswer, "CONNECTION_LOST"),
        (answer(503, None, "down"), "CONNECTION_FAILED"),
        (answer(502, Some(("content-type", "text/html")), "<html>bad gateway</html>"), "CONNECTION_FAILED"),
        (answer(200, Some(("content-type", "text/html")), "<html>welcome</html>"), "CONNECTION_FAILED"),
        (answer(404, None, ""), "CONNECTION_FAILED"),
        (answer(429, Some(("retry-after", "3600")), ""), "RATE_LIMIT_EXCEEDED"),
        (answer(401, None, ""), "PERMISSION_DENIED"),
        (answer(500, None, ""), "EXECUTION_FAILED"),
    ]
    .into_iter()
    .enumerate()
    {
        proxy.inject(Rule::always(fault.clone()));
        host.say(&call(id)).await;
        let answer = host.hear().await;
        assert_eq!(
            (&answer["id"], &answer["error"]["data"]["code"]),
            (&id.into(), &code.into()),
            "{fault:?}: {answer}"
        );
        proxy.heal();
        host.say(&call(id)).await;
        assert!(host.hear().await["result"].is_object(), "the next call is not touched");
    }
    // What only reads is asked again.
    proxy.inject(Rule::always(answer(503, Some(("retry-after", "0")), "")).times(2));
    host.say(r#"{"jsonrpc":"2.0","id":"list","method":"tools/list"}"#).await;
    assert_eq!(host.hear().await["result"]["tools"].as_array().map(Vec::len), Some(5));
    // One that hangs does not hold up the others, and is answered when it comes.
    let gate = Gate::default();
    proxy.inject(Rule::always(Fault::Hold(gate.clone())).times(1));
    host.say(&call(100)).await;
    gate.reached().await;
    host.say(&call(101)).await;
    assert_eq!(host.hear().await["id"], 101);
    gate.release();
    assert_eq!(host.hear().await["id"], 100);
    host.end().await;
}
