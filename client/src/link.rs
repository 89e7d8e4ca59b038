//! A link carries raw messages to one server and back. What they mean is no concern of it, with three exceptions: it
//! finds the answer to each request, it says `initialize` again when a session or a process was lost, and it tells the
//! server of requests that nobody waits for any more.

pub mod child;
pub mod http;
pub mod sse;
pub mod stream;
#[cfg(feature = "websocket")]
pub mod websocket;

use std::borrow::Cow;
use std::ops::Range;
use std::pin::Pin;
use std::time::Duration;

use ::http::{HeaderName, HeaderValue};
use bytes::Bytes;
use tokio::sync::mpsc;
use wakashu_wire::message::Part;
use wakashu_wire::{Body, Envelope, Incoming, Request, RpcError, era, message, string};

use crate::chain::Chain;
use crate::error::{Error, ErrorCode, Result};

/// The largest message that is taken from a server, as the official SDKs have it.
pub const MAX_MESSAGE_BYTES: usize = 16 << 20;

/// How long a request waits for an answer or a sign of progress, unless it says otherwise.
pub const DEFAULT_PATIENCE: Duration = Duration::from_secs(30);

/// Where a link puts messages that are no answers: notifications, and what a legacy server asks its client.
pub type Inbox = mpsc::Sender<Chain>;

/// A future in a box.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A link to one server.
pub trait Link: Send + Sync + std::fmt::Debug {
    /// Sends a request and waits for its answer, under the id the request has. Dropping the future cancels the request.
    fn request(&self, call: Call) -> BoxFuture<'_, Result<Answer>>;

    /// Sends a message that has no answer.
    fn notify(&self, call: Call) -> BoxFuture<'_, Result<()>>;

    /// Begins to take what a legacy server says by itself, where that needs a connection of its own.
    fn listen(&self) {}

    /// Tells whether messages travel with headers that repeat parts of them.
    fn has_headers(&self) -> bool {
        false
    }

    /// Tells whether the server is thought to be there.
    fn is_open(&self) -> bool;

    /// Counts how often the server was reached anew: its process started, its session opened. Whatever it lists may be
    /// other than before then.
    fn openings(&self) -> u64;

    /// Returns what a legacy server said when it was last greeted, be it by us or by the link alone.
    fn greeting(&self) -> Option<serde_json::Value> {
        None
    }

    /// Ends the connection or the process; the next request opens it again.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// A message to a server.
#[derive(Debug, Clone)]
pub struct Call {
    /// The JSON.
    pub body: Bytes,
    /// What it is.
    pub kind: CallKind,
    /// Where its id stands in it; empty for notifications.
    pub id: Range<usize>,
    /// The method; empty for answers to a server.
    pub method: String,
    /// The tool, prompt or resource it names.
    pub name: Option<String>,
    /// The revision its envelope names; only modern messages have one.
    pub version: Option<String>,
    /// The JSON of its progress token.
    pub progress_token: Option<String>,
    /// Headers for this message alone, where the link has headers.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// How long to wait for an answer or a sign of progress.
    pub patience: Duration,
    /// Where `_meta` takes further members.
    pub(crate) room: Room,
}

/// Where a request takes further members of `_meta`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// Before the first of those it has, none of which is the protocol's.
    At(usize),
    /// It has no `_meta`.
    Absent,
    /// Only a closer look tells.
    Unclear,
}

/// What a message to a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallKind {
    /// It wants an answer.
    Request,
    /// It wants none.
    Notification,
    /// It answers something the server asked.
    Response,
}

/// Why a message is not sent to any server.
#[derive(Debug)]
pub struct Refused {
    /// The JSON of its id, where one was readable.
    pub id: Option<String>,
    /// What to answer.
    pub error: RpcError,
}

impl Call {
    /// Reads a message that is about to be sent. What names one thing twice is refused wherever a rule looks: in the
    /// message, in its `params` and in `_meta`.
    #[expect(clippy::needless_pass_by_value, reason = "the call keeps a part of it")]
    pub fn read(body: Bytes) -> Result<Self, Refused> {
        let refuse = |id: Option<&str>, error| Refused { id: id.map(str::to_owned), error };
        let text = match message::split(&body) {
            Ok(Body::Single(text)) => text,
            Ok(Body::Batch(_)) => {
                return Err(refuse(None, wakashu_wire::error::invalid_request("batches are not passed on")));
            }
            Err(error) => return Err(refuse(None, error)),
        };
        let start = offset_in(&body, text.as_bytes());
        let incoming = message::read(text).map_err(|unreadable| refuse(unreadable.id, unreadable.error))?;
        let body = body.slice(start..start + text.len());
        Ok(match incoming {
            Incoming::Request(request) => return Self::of_request(body, text, &request),
            Incoming::Notification(notification) => {
                Self::bare(CallKind::Notification, notification.method.into_owned(), body)
            }
            Incoming::Response => Self::bare(CallKind::Response, String::new(), body),
        })
    }

    /// Takes a request that has been read of `text`, which `body` is a copy of. Only `_meta` is looked at once more.
    pub fn of_request(body: Bytes, text: &str, request: &Request<'_>) -> Result<Self, Refused> {
        let meta = request.params.meta.members();
        if let Some(name) = first_twice(&meta.0) {
            let sentence = format!("`{name}` appears twice in `_meta`");
            let error = RpcError::new(400, wakashu_wire::error::code::INVALID_REQUEST, sentence);
            return Err(Refused { id: Some(request.id.to_owned()), error });
        }
        let name = match &*request.method {
            "tools/call" | "prompts/get" => request.params.name,
            "resources/read" => request.params.uri,
            _ => None,
        };
        let at = offset_in(text.as_bytes(), request.id.as_bytes());
        Ok(Self {
            id: at..at + request.id.len(),
            name: name.and_then(string).map(Cow::into_owned),
            version: meta.string(era::VERSION_KEY).map(Cow::into_owned),
            progress_token: meta.get("progressToken").map(|token| token.get().to_owned()),
            room: Room::of(&request.params.meta, text),
            ..Self::bare(CallKind::Request, request.method.clone().into_owned(), body)
        })
    }

    fn bare(kind: CallKind, method: String, body: Bytes) -> Self {
        Self {
            kind,
            id: 0..0,
            method,
            name: None,
            version: None,
            progress_token: None,
            headers: Vec::new(),
            patience: DEFAULT_PATIENCE,
            room: Room::Unclear,
            body,
        }
    }

    /// Returns a request with parts of its parameters replaced, which do not overlap and lie outside of `_meta`; `name` is
    /// what it names then.
    #[must_use]
    pub fn with_parts(self, mut parts: Vec<(Range<usize>, String)>, name: Option<String>) -> Self {
        parts.sort_by_key(|(span, _)| span.start);
        let mut body = Vec::with_capacity(self.body.len() + 64);
        let mut from = 0;
        for (span, with) in &parts {
            body.extend_from_slice(self.body.get(from..span.start).unwrap_or_default());
            body.extend_from_slice(with.as_bytes());
            from = span.end;
        }
        body.extend_from_slice(self.body.get(from..).unwrap_or_default());
        let moved = |at: usize| {
            let before = parts.iter().filter(|(span, _)| span.end <= at);
            let (added, removed) = before
                .fold((0, 0), |(added, removed), (span, with)| (added + with.len(), removed + span.len()));
            at + added - removed
        };
        let room = match self.room {
            Room::At(at) => Room::At(moved(at)),
            other => other,
        };
        Self { id: moved(self.id.start)..moved(self.id.end), name, room, body: body.into(), ..self }
    }

    /// Returns a request under another id.
    pub(crate) fn with_id(self, id: u64) -> Self {
        let (span, name) = (self.id.clone(), self.name.clone());
        self.with_parts(vec![(span, id.to_string())], name)
    }

    /// Returns the JSON of the id.
    #[must_use]
    pub fn id_json(&self) -> Bytes {
        self.body.slice(self.id.clone())
    }

    /// Returns the `params` of a message, if it has any.
    #[must_use]
    pub fn params(&self) -> Option<Bytes> {
        let envelope = Chain::from(self.body.clone()).scan().ok()?;
        envelope.params().map(|span| self.body.slice(span))
    }
}

impl Room {
    fn of(meta: &Part<'_>, text: &str) -> Self {
        match meta {
            Part::Object(members) => match members.0.first() {
                Some((Cow::Borrowed(first), _))
                    if !members.0.iter().any(|(name, _)| name.starts_with(era::RESERVED)) =>
                {
                    // Before its quotation mark.
                    Self::At(offset_in(text.as_bytes(), first.as_bytes()).saturating_sub(1))
                }
                _ => Self::Unclear,
            },
            // One that is `null` is there, and its name may be written with escapes.
            Part::Nothing if !text.contains("_meta") && !text.contains("\\u00") => Self::Absent,
            _ => Self::Unclear,
        }
    }
}

/// Returns the first name that is there twice.
fn first_twice<'m, T>(members: &'m [(Cow<'_, str>, T)]) -> Option<&'m str> {
    let twice = |at: usize, name: &str| members.iter().take(at).any(|(before, _)| before == name);
    members.iter().enumerate().find(|(at, (name, _))| twice(*at, name)).map(|(_, (name, _))| &**name)
}

/// Returns where a part of `whole` begins in it.
fn offset_in(whole: &[u8], part: &[u8]) -> usize {
    (part.as_ptr().addr()).saturating_sub(whole.as_ptr().addr()).min(whole.len())
}

/// An answer as it came.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The whole message.
    pub message: Chain,
    /// Where its parts stand.
    pub envelope: Envelope,
}

impl Answer {
    /// Puts the id of the request it answers where its own stands, or adds it.
    #[must_use]
    pub(crate) fn with_id(self, id: Bytes) -> Self {
        let message = match self.envelope.id() {
            Some(span) if self.message.slice(span.clone()).into_bytes() == id => return self,
            Some(span) => {
                let envelope = self.envelope.with_id_length(id.len());
                return Self { message: self.message.replace(span, id), envelope };
            }
            None => {
                // A message is an object with a member at least, so the new one goes before all others.
                let open = self.message.slice(0..self.message.len()).into_bytes();
                let after = memchr::memchr(b'{', &open).map_or(0, |at| at + 1);
                let member = [b"\"id\":".as_slice(), &id, b","].concat();
                self.message.replace(after..after, Bytes::from(member))
            }
        };
        match message.scan() {
            Ok(envelope) => Self { message, envelope },
            Err(_) => Self { message, envelope: self.envelope },
        }
    }

    /// Reads the result, or the error there is in its place.
    pub fn result(&self) -> Result<serde_json::Value> {
        let read = |span| {
            let json = self.message.slice(span).into_bytes();
            serde_json::from_slice(&json).map_err(|error| {
                Error::new(ErrorCode::InvalidRequest, format!("the answer is not JSON: {error}"))
            })
        };
        match (self.envelope.result(), self.envelope.error()) {
            (Some(span), _) => read(span),
            (None, Some(span)) => Err(Error::from_rpc(&read(span)?)),
            (None, None) => {
                Err(Error::new(ErrorCode::InvalidRequest, "the answer has neither result nor error"))
            }
        }
    }
}

/// Returns the failure of a request whose server was silent for too long.
pub(crate) fn timed_out(call: &Call) -> Error {
    let sentence = format!("no answer to `{}` within {:?}", call.method, call.patience);
    Error::new(ErrorCode::Timeout, sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Call, Refused> {
        Call::read(Bytes::copy_from_slice(text.as_bytes()))
    }

    #[test]
    fn what_a_link_needs_is_read_off_a_message() {
        let call = read(
            r#"  {"jsonrpc":"2.0","params":{"name":"第1回","_meta":{"progressToken":"t","io.modelcontextprotocol/protocolVersion":"2026-07-28"}},"id": 17 ,"method":"tools/call"}
"#,
        )
        .unwrap();
        assert_eq!((call.kind, &*call.method), (CallKind::Request, "tools/call"));
        assert_eq!(call.id_json(), "17");
        assert_eq!(call.name.as_deref(), Some("第1回"));
        assert_eq!(call.version.as_deref(), Some("2026-07-28"));
        assert_eq!(call.progress_token.as_deref(), Some("\"t\""));
        let call = read(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).unwrap();
        assert_eq!(call.kind, CallKind::Response);
        let call = read(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).unwrap();
        assert_eq!((call.kind, call.params()), (CallKind::Notification, None));
    }

    #[test]
    fn duplicates_are_refused_where_rules_look_and_pass_where_they_do_not() {
        for (text, id) in [
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"a"}"#, None),
            (r#"{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}"#, None),
            (r#"{"jsonrpc":"2.0","id":1,"method":"a","m\u0065thod":"b"}"#, None),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}"#, Some("1")),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"x":1,"x":2}}}"#,
                Some("1"),
            ),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"a"}]"#, None),
            ("", None),
            ("nonsense", None),
        ] {
            assert_eq!(read(text).unwrap_err().id.as_deref(), id, "{text}");
        }
        let free = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":1,"x":2}}}"#;
        assert_eq!(read(free).unwrap().body, free);
    }

    #[test]
    fn an_answer_under_another_id_is_what_it_would_be_if_it_were_read() {
        for text in [
            r#"{"id":17,"result":{"id":1}}"#,
            r#"{"result":{},"jsonrpc":"2.0","id": "a" }"#,
            r#"{"error":{},"id":null,"jsonrpc":"2.0"}"#,
            r#"{"result":1}"#,
        ] {
            for id in ["1", r#""much longer""#] {
                let message = Chain::from(text.to_owned());
                let envelope = message.scan().unwrap();
                let answer = Answer { message, envelope }.with_id(Bytes::from_static(id.as_bytes()));
                assert_eq!(answer.envelope, answer.message.scan().unwrap(), "{text}");
                assert_eq!(answer.message.slice(answer.envelope.id().unwrap()).into_bytes(), id, "{text}");
            }
        }
    }

    #[test]
    fn a_request_with_other_parts_is_what_it_would_be_if_it_were_read() {
        for text in [
            r#"{"id":"a","jsonrpc":"2.0","method":"tools/call","params":{"name":"NAME","_meta":{"progressToken":1},"arguments":{}}}"#,
            r#"{"jsonrpc":"2.0","method":"tools/call","params":{"_meta":{"progressToken":1},"name":"NAME"},"id":7}"#,
            r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"NAME"},"id":7}"#,
        ] {
            for name in ["a", "a much longer name than that"] {
                let at = text.find("\"NAME\"").unwrap();
                let part = (at..at + "\"NAME\"".len(), format!("\"{name}\""));
                let call = read(text).unwrap().with_parts(vec![part], Some(name.to_owned()));
                let expected = read(&text.replace("NAME", name)).unwrap();
                assert_eq!(format!("{call:?}"), format!("{expected:?}"));
            }
        }
    }

    #[test]
    fn an_answer_gets_the_id_it_is_asked_under() {
        let with_id = |text: &str| {
            let message = Chain::from(text.to_owned());
            let envelope = message.scan().unwrap();
            let answer = Answer { message, envelope }.with_id(Bytes::from_static(b"\"a\""));
            assert_eq!(answer.envelope, answer.message.scan().unwrap());
            String::from_utf8(answer.message.into_bytes().to_vec()).unwrap()
        };
        assert_eq!(with_id(r#"{"id":"a","result":1.0}"#), r#"{"id":"a","result":1.0}"#);
        assert_eq!(with_id(r#"{"result":1.0,"id" : 7 }"#), r#"{"result":1.0,"id" : "a" }"#);
        assert_eq!(with_id(r#" { "error":{}}"#), r#" {"id":"a", "error":{}}"#);
        assert_eq!(with_id(r#"{"id":null,"error":{}}"#), r#"{"id":"a","error":{}}"#);
    }
}
