//! JSON-RPC messages as they arrive: shape only, nothing of MCP's meaning.

use std::borrow::Cow;

use serde::de::IgnoredAny;

use crate::error::{self, RpcError};
use crate::json::{Fault, Json};

use crate::json::{Raw, string};

/// Most bytes of a request id; a longer one is refused rather than echoed.
const MAX_ID_BYTES: usize = 256;

/// A JSON-RPC message.
#[derive(Debug)]
pub enum Incoming<'a> {
    /// Wants an answer.
    Request(Request<'a>),
    /// Expects no answer.
    Notification(Notification<'a>),
    /// An answer to something this server never asked.
    Response,
}

/// A JSON-RPC request.
#[derive(Debug)]
pub struct Request<'a> {
    /// The id as it was written: a JSON string or an integer.
    pub id: &'a str,
    /// The method.
    pub method: Cow<'a, str>,
    /// The parameters.
    pub params: Box<Params<'a>>,
}

/// A JSON-RPC notification.
#[derive(Debug)]
pub struct Notification<'a> {
    /// The method.
    pub method: Cow<'a, str>,
    /// The id of the request that a `notifications/cancelled` names, as it was written.
    pub request_id: Option<&'a str>,
}

/// The parameters any method of ours looks at.
#[derive(Debug, Default)]
pub struct Params<'a> {
    /// `_meta`: in the modern era the envelope.
    pub meta: Part<'a>,
    /// The tool or prompt.
    pub name: Option<Raw<'a>>,
    /// What it is given.
    pub arguments: Part<'a>,
    /// The resource.
    pub uri: Option<Raw<'a>>,
    /// Where a list goes on.
    pub cursor: Option<Raw<'a>>,
    /// `ref`: what is completed.
    pub reference: Part<'a>,
    /// The argument that is completed.
    pub argument: Part<'a>,
    /// The arguments chosen before.
    pub context: Part<'a>,
    /// The revision an `initialize` asks for.
    pub protocol_version: Option<Raw<'a>>,
    /// What a subscription wants to hear of.
    pub notifications: Part<'a>,
    /// What the client that sends an `initialize` can do.
    pub capabilities: Part<'a>,
    /// The request a cancellation names.
    request_id: Option<Raw<'a>>,
}

/// A place in [`Params`] to read a value into.
enum Slot<'s, 'a> {
    Value(&'s mut Option<Raw<'a>>),
    Part(&'s mut Part<'a>),
}

impl<'a> Params<'a> {
    /// Returns the number and the place of the field called `name`; `None` for fields nobody looks at.
    fn slot(&mut self, name: &str) -> Option<(u8, Slot<'_, 'a>)> {
        Some(match name {
            "name" => (0, Slot::Value(&mut self.name)),
            "arguments" => (1, Slot::Part(&mut self.arguments)),
            "_meta" => (2, Slot::Part(&mut self.meta)),
            "uri" => (3, Slot::Value(&mut self.uri)),
            "cursor" => (4, Slot::Value(&mut self.cursor)),
            "ref" => (5, Slot::Part(&mut self.reference)),
            "argument" => (6, Slot::Part(&mut self.argument)),
            "context" => (7, Slot::Part(&mut self.context)),
            "protocolVersion" => (8, Slot::Value(&mut self.protocol_version)),
            "notifications" => (9, Slot::Part(&mut self.notifications)),
            "requestId" => (10, Slot::Value(&mut self.request_id)),
            "capabilities" => (11, Slot::Part(&mut self.capabilities)),
            _ => return None,
        })
    }
}

/// A part of a message of which only the members matter.
#[derive(Debug, Default)]
pub enum Part<'a> {
    /// Absent or `null`.
    #[default]
    Nothing,
    /// An object.
    Object(Members<'a>),
    /// A value of another kind.
    Other,
}

impl<'a> Part<'a> {
    fn read(json: &mut Json<'a>) -> Result<Self, Fault> {
        if json.peek() != Some(b'{') {
            return Ok(if json.value()?.is_null() { Self::Nothing } else { Self::Other });
        }
        let mut members = Vec::new();
        json.members(|json, name| {
            members.push((string(name).ok_or(Fault::Malformed)?, json.value()?));
            Ok(())
        })?;
        Ok(Self::Object(Members(members)))
    }

    /// Returns the members; empty if the value is not an object.
    #[must_use]
    pub fn members(&self) -> &Members<'a> {
        const NONE: &Members<'_> = &Members(Vec::new());
        if let Self::Object(members) = self { members } else { NONE }
    }
}

/// A message as it was sent.
#[derive(Default)]
struct Wire<'a> {
    jsonrpc: Option<Raw<'a>>,
    id: Option<Raw<'a>>,
    method: Option<Raw<'a>>,
    params: Option<WireParams<'a>>,
    result: Option<Raw<'a>>,
    error: Option<Raw<'a>>,
}

/// `params` as they were sent.
enum WireParams<'a> {
    Good(Box<Params<'a>>),
    /// What is wrong with them.
    Bad(&'static str),
}

impl<'a> Wire<'a> {
    fn read(text: &'a str) -> Result<Self, Fault> {
        let mut json = Json::new(text);
        let mut wire = Self::default();
        let mut seen = Seen::default();
        json.members(|json, name| {
            let name = string(name).ok_or(Fault::Malformed)?;
            let (number, field) = match &*name {
                "jsonrpc" => (0, &mut wire.jsonrpc),
                "id" => (1, &mut wire.id),
                "method" => (2, &mut wire.method),
                "result" => (3, &mut wire.result),
                "error" => (4, &mut wire.error),
                "params" => {
                    seen.once(5)?;
                    wire.params = Some(WireParams::read(json)?);
                    return Ok(());
                }
                _ => return json.value().map(drop),
            };
            seen.once(number)?;
            *field = Some(json.value()?);
            Ok(())
        })?;
        json.end()?;
        Ok(wire)
    }
}

impl<'a> WireParams<'a> {
    fn read(json: &mut Json<'a>) -> Result<Self, Fault> {
        if json.peek() != Some(b'{') {
            json.value()?;
            return Ok(Self::Bad("`params` must be an object"));
        }
        let mut params = Box::<Params<'_>>::default();
        let (mut seen, mut twice) = (Seen::default(), false);
        json.members(|json, name| {
            let name = string(name).ok_or(Fault::Malformed)?;
            let Some((field, slot)) = params.slot(&name) else { return json.value().map(drop) };
            match slot {
                Slot::Value(value) => *value = Some(json.value()?).filter(|value| !value.is_null()),
                Slot::Part(part) => *part = Part::read(json)?,
            }
            twice |= seen.once(field).is_err();
            Ok(())
        })?;
        Ok(if twice { Self::Bad("a field of `params` appears twice") } else { Self::Good(params) })
    }
}

/// The known fields an object has named, by their numbers.
#[derive(Default)]
struct Seen(u16);

impl Seen {
    /// Notes a field, which must not have been there before.
    fn once(&mut self, field: u8) -> Result<(), Fault> {
        let before = self.0;
        self.0 |= 1 << field;
        if self.0 == before { Err(Fault::Twice) } else { Ok(()) }
    }
}

/// Why a message could not be read, and the id to answer to where one was readable.
#[derive(Debug)]
pub struct Unreadable<'a> {
    /// The id, where one was readable.
    pub id: Option<&'a str>,
    /// The error to answer with.
    pub error: RpcError,
}

/// A body split into its messages.
#[derive(Debug)]
pub enum Body<'a> {
    /// One message, which may still turn out not to be JSON.
    Single(&'a str),
    /// Those of a batch.
    Batch(Vec<Raw<'a>>),
}

/// Reads the outermost shape of a body.
pub fn split(body: &[u8]) -> Result<Body<'_>, RpcError> {
    let text = std::str::from_utf8(body).map_err(|_| error::parse("the body is not UTF-8"))?;
    let text = text.trim_matches(|character| matches!(character, ' ' | '\t' | '\r' | '\n'));
    if !text.starts_with('[') {
        return Ok(Body::Single(text));
    }
    serde_json::from_str(text).map(Body::Batch).map_err(|_| error::parse("the body is not valid JSON"))
}

/// Reads one message.
pub fn read(text: &str) -> Result<Incoming<'_>, Unreadable<'_>> {
    let refuse = |id, error| Err(Unreadable { id, error });
    if !text.starts_with('{') {
        let json = serde_json::from_str::<IgnoredAny>(text).is_ok();
        let error = if json {
            error::invalid_request("a message is a JSON object")
        } else {
            error::parse("the body is not valid JSON")
        };
        return refuse(None, error);
    }
    let wire = match Wire::read(text) {
        Ok(wire) => wire,
        Err(Fault::Twice) => return refuse(None, error::invalid_request("a field appears twice")),
        Err(Fault::Malformed) => return refuse(None, error::parse("the body is not valid JSON")),
    };
    let id = wire.id.map(Raw::get).filter(|id| is_id(id));
    if wire.jsonrpc.map(Raw::get) != Some("\"2.0\"") {
        return refuse(id, error::invalid_request("`jsonrpc` must be \"2.0\""));
    }
    if wire.id.is_some() && id.is_none() {
        let rule = "`id` must be a string or an integer of at most 256 bytes";
        return refuse(None, error::invalid_request(rule));
    }
    let Some(method) = wire.method else {
        // A result may well be nothing; an error may not.
        if wire.result.is_some() || wire.error.is_some_and(|error| !error.is_null()) {
            return Ok(Incoming::Response);
        }
        return refuse(id, error::invalid_request("`method` is missing"));
    };
    let Some(method) = string(method) else {
        return refuse(id, error::invalid_request("`method` must be a string"));
    };
    let params = match wire.params {
        Some(WireParams::Good(params)) => params,
        Some(WireParams::Bad(rule)) if id.is_some() => return refuse(id, error::invalid_request(rule)),
        // A notification is never answered, not even a bad one.
        Some(WireParams::Bad(_)) | None => Box::default(),
    };
    let Some(id) = id else {
        let request_id = params.request_id.filter(|_| method == "notifications/cancelled");
        let request_id = request_id.map(Raw::get);
        return Ok(Incoming::Notification(Notification { method, request_id }));
    };
    Ok(Incoming::Request(Request { id, method, params }))
}

/// Tells whether a raw JSON value can be an id: a string or an integer, not too long to echo.
fn is_id(raw: &str) -> bool {
    let digits = raw.strip_prefix('-').unwrap_or(raw);
    let integer = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    // Escapes may spell half a character, which nobody could read in the answer.
    let readable = |raw: &str| !raw.contains('\\') || serde_json::from_str::<String>(raw).is_ok();
    raw.len() <= MAX_ID_BYTES && (integer || (raw.starts_with('"') && readable(raw)))
}

/// The members of a JSON object, in order, values unparsed.
#[derive(Debug, Default)]
pub struct Members<'a>(pub Vec<(Cow<'a, str>, Raw<'a>)>);

impl<'a> Members<'a> {
    /// Reads an object's members; returns `None` if the value is not an object.
    #[must_use]
    pub fn read(raw: Raw<'a>) -> Option<Self> {
        match Part::read(&mut Json::new(raw.get())) {
            Ok(Part::Object(members)) => Some(members),
            _ => None,
        }
    }

    /// Returns the member called `name`; the last one if it appears twice.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Raw<'a>> {
        self.0.iter().rev().find(|(member, _)| member == name).map(|(_, value)| *value)
    }

    /// Tells whether a name appears twice, however it is written: which of the two would count is anybody's guess.
    #[must_use]
    pub fn has_repeated_name(&self) -> bool {
        match self.0.as_slice() {
            [] | [_] => false,
            [(one, _), (other, _)] => one == other,
            members => {
                let mut names: Vec<&str> = members.iter().map(|(name, _)| &**name).collect();
                names.sort_unstable();
                names.array_windows().any(|[one, other]| one == other)
            }
        }
    }

    /// Returns the string member called `name`.
    #[must_use]
    pub fn string(&self, name: &str) -> Option<Cow<'a, str>> {
        self.get(name).and_then(string)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> i32 {
        match read(text) {
            Ok(_) => 0,
            Err(unreadable) => unreadable.error.code,
        }
    }

    #[test]
    fn shape_faults_have_their_codes() {
        for (text, expected) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, 0),
            (r#"{"jsonrpc":"2.0","method":"x"}"#, 0),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, 0),
            (r#"{"jsonrpc":"2.0","id":1,"result":null}"#, 0),
            (r#"{"jsonrpc":"2.0","id":1,"error":{}}"#, 0),
            (r#"{"jsonrpc":"2.0","id":1,"error":null}"#, -32600),
            ("", -32700),
            ("{", -32700),
            ("nul", -32700),
            ("null", -32600),
            ("1", -32600),
            ("\"a\"", -32600),
            ("{}", -32600),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1e3,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":"\ud83d\ude00\n","method":"ping"}"#, 0),
            // Found by fuzzing: the answer would not be JSON to a strict reader.
            (r#"{"jsonrpc":"2.0","id":"\ud800","method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":null}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1}"#, -32600),
        ] {
            assert_eq!(code(text), expected, "{text}");
        }
    }

    #[test]
    fn a_repeated_name_is_noticed_however_it_is_written() {
        for (object, expected) in [
            ("{}", false),
            (r#"{"a":1}"#, false),
            (r#"{"a":1,"b":1}"#, false),
            (r#"{"a":1,"a":1}"#, true),
            (r#"{"a":1,"\u0061":2}"#, true),
            (r#"{"b":1,"a":2,"A":3}"#, false),
            (r#"{"b":1,"a":2,"c":3,"b":null}"#, true),
        ] {
            let members = Part::read(&mut Json::new(object)).unwrap();
            assert_eq!(members.members().has_repeated_name(), expected, "{object}");
        }
    }

    #[test]
    fn ids_are_bounded_at_256_bytes() {
        for (length, expected) in [(256, 0), (257, -32600)] {
            let id = "9".repeat(length);
            assert_eq!(code(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)), expected);
        }
    }

    #[test]
    fn deep_nesting_is_skipped_without_recursion() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let text =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"arguments":{deep}}}}}"#);
        assert_eq!(code(&text), 0);
    }
}
