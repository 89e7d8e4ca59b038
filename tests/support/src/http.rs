//! HTTP/1.1 by hand, so that tests can also send what no client would.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use crate::canary::check_for_secrets;

/// How long any answer may take before a test gives up on it.
const PATIENCE: Duration = Duration::from_secs(30);

/// A request, open to every kind of tampering.
#[derive(Debug, Clone)]
pub struct HttpRequest {
    /// The method.
    pub method: String,
    /// The request target.
    pub target: String,
    /// Header lines in order; `Host` and `Content-Length` are added unless present.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl HttpRequest {
    /// Starts a request without headers and body.
    #[must_use]
    pub fn new(method: &str, target: &str) -> Self {
        Self { method: method.to_owned(), target: target.to_owned(), headers: Vec::new(), body: Vec::new() }
    }

    /// Appends a header, also one that is there already.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Removes a header.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    /// Replaces a header.
    #[must_use]
    pub fn with(self, name: &str, value: &str) -> Self {
        self.without(name).header(name, value)
    }

    /// Replaces the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Returns the bytes on the wire.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let has = |name: &str| self.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        if !has("host") {
            head.push_str("Host: localhost\r\n");
        }
        for (name, value) in &self.headers {
            head.extend([name, ": ", value, "\r\n"]);
        }
        if !has("content-length") && !has("transfer-encoding") {
            head.extend(["Content-Length: ", &self.body.len().to_string(), "\r\n"]);
        }
        head.push_str("\r\n");
        [head.as_bytes(), &self.body].concat()
    }
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// Header names in lower case, with their values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Reply {
    /// Returns a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).expect("the answer is UTF-8")
    }

    /// Returns the body as JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| {
            panic!("{error} in {} {:?}", self.status, String::from_utf8_lossy(&self.body))
        })
    }

    /// Returns the JSON-RPC result; anything else fails the test.
    #[must_use]
    pub fn result(&self) -> Value {
        let json = self.json();
        assert_eq!(self.status, 200, "{json}");
        json.get("result").unwrap_or_else(|| panic!("no result in {json}")).clone()
    }

    /// Returns the JSON-RPC error code, 0 for a result.
    #[must_use]
    pub fn code(&self) -> i64 {
        self.json().pointer("/error/code").and_then(Value::as_i64).unwrap_or(0)
    }

    /// Returns the content blocks of a tool result.
    #[must_use]
    pub fn content(&self) -> Vec<Value> {
        self.result()["content"].as_array().expect("content is an array").clone()
    }

    /// Returns the texts of a tool result, one per block.
    #[must_use]
    pub fn texts(&self) -> Vec<String> {
        let blocks = self.content();
        blocks.iter().filter_map(|block| block["text"].as_str().map(str::to_owned)).collect()
    }

    /// Returns the pictures of a tool result, as base64.
    #[must_use]
    pub fn pictures(&self) -> Vec<String> {
        let blocks = self.content();
        blocks.iter().filter_map(|block| block["data"].as_str().map(str::to_owned)).collect()
    }

    /// Tells whether a tool result says that it is an error.
    #[must_use]
    pub fn is_tool_error(&self) -> bool {
        self.result()["isError"] == Value::Bool(true)
    }
}

/// A connection.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    unread: Vec<u8>,
    /// What of a stream is out of its chunks but not yet handed out.
    events: String,
}

impl Connection {
    /// Connects.
    #[must_use]
    pub fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Self { stream, unread: Vec::new(), events: String::new() }
    }

    /// Sends bytes as they are. The server may close before it has read all of a hopeless request.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Says that nothing more will be sent.
    pub fn finish_sending(&mut self) {
        // Already closed by the server is fine too.
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Reads the next answer; `None` if the server closes without one.
    pub fn receive(&mut self) -> Option<Reply> {
        self.receive_for("POST")
    }

    /// Reads the head of the next answer; its body is left to [`next_event`](Self::next_event).
    pub fn receive_head(&mut self) -> Option<Reply> {
        let end = loop {
            if let Some(end) = self.unread.windows(4).position(|part| part == b"\r\n\r\n") {
                break end;
            }
            if !self.fill() {
                return None;
            }
        };
        let head: Vec<u8> = self.unread.drain(..end + 4).collect();
        check_for_secrets(&head);
        let head = String::from_utf8(head).expect("a head is text");
        let mut lines = head.lines();
        let status =
            lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|status| status.parse().ok());
        let status = status.expect("a status line");
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        Some(Reply { status, headers, body: Vec::new() })
    }

    /// Reads the next event of a stream; `None` at the end.
    pub fn next_event(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.events.find("\n\n") {
                let event = self.events.drain(..end + 2).collect::<String>();
                return Some(event.trim_end().to_owned());
            }
            let chunk = self.next_chunk()?;
            self.events.push_str(&chunk);
        }
    }

    /// Reads the next chunk of a body that comes in chunks; `None` after the last.
    fn next_chunk(&mut self) -> Option<String> {
        let (from, length) = loop {
            if let Some(end) = self.unread.windows(2).position(|part| part == b"\r\n") {
                let size = str::from_utf8(&self.unread[..end]).expect("a chunk size");
                break (end + 2, usize::from_str_radix(size, 16).expect("a chunk size"));
            }
            if !self.fill() {
                return None;
            }
        };
        while self.unread.len() < from + length + 2 {
            assert!(self.fill(), "the stream breaks off inside a chunk");
        }
        let chunk: Vec<u8> = self.unread.drain(..from + length + 2).skip(from).take(length).collect();
        check_for_secrets(&chunk);
        (length > 0).then(|| String::from_utf8(chunk).expect("a stream is text"))
    }

    /// Reads the next answer to a request of this method: an answer to `HEAD` has no body.
    pub fn receive_for(&mut self, method: &str) -> Option<Reply> {
        let mut reply = self.receive_head()?;
        let status = reply.status;
        if method == "HEAD" || matches!(status, 204 | 304) {
            return Some(reply);
        }
        let length = reply.header("content-length").map(|length| length.parse::<usize>().unwrap());
        if let Some(length) = length {
            while self.unread.len() < length {
                assert!(self.fill(), "the answer breaks off at {} of {length} bytes", self.unread.len());
            }
            reply.body = self.unread.drain(..length).collect();
        } else {
            assert!(reply.header("transfer-encoding").is_none(), "every answer has a known length");
            while self.fill() {}
            reply.body = std::mem::take(&mut self.unread);
        }
        check_for_secrets(&reply.body);
        Some(reply)
    }

    /// Tells whether the server has closed, waiting for it as long as for an answer.
    pub fn is_closed(&mut self) -> bool {
        !self.fill()
    }

    fn fill(&mut self) -> bool {
        let mut part = vec![0; 64 * 1024];
        match self.stream.read(&mut part) {
            Ok(0) => false,
            Ok(count) => {
                self.unread.extend_from_slice(part.get(..count).unwrap_or_default());
                true
            }
            Err(error)
                if matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe) =>
            {
                false
            }
            Err(error) => panic!("no answer: {error}"),
        }
    }
}
