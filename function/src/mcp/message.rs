//! JSON-RPC messages as they arrive: shape only, nothing of MCP's meaning.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::mcp::error::{self, RpcError};

/// Most bytes of a request id; a longer one is refused rather than echoed.
const MAX_ID_BYTES: usize = 256;

/// A JSON-RPC message.
#[derive(Debug)]
pub(crate) enum Incoming<'a> {
    /// Wants an answer.
    Request(Request<'a>),
    /// Wants none.
    Notification(Notification<'a>),
    /// An answer to something this server never asked.
    Response,
}

/// A JSON-RPC request.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    /// The id as it was written: a JSON string or an integer.
    pub(crate) id: &'a str,
    pub(crate) method: Cow<'a, str>,
    pub(crate) params: Params<'a>,
}

/// A JSON-RPC notification.
#[derive(Debug)]
pub(crate) struct Notification<'a> {
    pub(crate) method: Cow<'a, str>,
    /// The id of the request that a `notifications/cancelled` names, as it was written.
    pub(crate) request_id: Option<&'a str>,
}

/// The parameters any method of ours looks at, still unparsed.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Params<'a> {
    #[serde(borrow, rename = "_meta")]
    pub(crate) meta: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) name: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) arguments: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(crate) uri: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) cursor: Option<&'a RawValue>,
    #[serde(borrow, rename = "ref")]
    pub(crate) reference: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) argument: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) context: Option<&'a RawValue>,
    #[serde(borrow, rename = "protocolVersion")]
    pub(crate) protocol_version: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) notifications: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

/// Keeps an explicit `null` apart from an absent field.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    Deserialize::deserialize(deserializer).map(Some)
}

/// Why a message could not be read, and the id to answer to where one was readable.
#[derive(Debug)]
pub(crate) struct Unreadable<'a> {
    pub(crate) id: Option<&'a str>,
    pub(crate) error: RpcError,
}

/// Splits a body into its messages: one, or those of a batch.
pub(crate) enum Body<'a> {
    Single(&'a str),
    Batch(Vec<&'a RawValue>),
}

/// Reads the outermost shape of a body.
pub(crate) fn split(body: &[u8]) -> Result<Body<'_>, RpcError> {
    let text = std::str::from_utf8(body).map_err(|_| error::parse("the body is not UTF-8"))?;
    let text = text.trim_matches(|character| matches!(character, ' ' | '\t' | '\r' | '\n'));
    if !text.starts_with('[') {
        return Ok(Body::Single(text));
    }
    serde_json::from_str(text).map(Body::Batch).map_err(|_| error::parse("the body is not valid JSON"))
}

/// Reads one message.
pub(crate) fn read(text: &str) -> Result<Incoming<'_>, Unreadable<'_>> {
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
    let wire: Wire<'_> = match serde_json::from_str(text) {
        Ok(wire) => wire,
        Err(fault) if fault.is_data() => {
            return refuse(None, error::invalid_request("a field appears twice"));
        }
        Err(_) => return refuse(None, error::parse("the body is not valid JSON")),
    };
    let id = wire.id.map(RawValue::get);
    let usable_id = id.filter(|id| is_id(id));
    if wire.jsonrpc.map(RawValue::get) != Some("\"2.0\"") {
        return refuse(usable_id, error::invalid_request("`jsonrpc` must be \"2.0\""));
    }
    if id.is_some() && usable_id.is_none() {
        let rule = "`id` must be a string or an integer of at most 256 bytes";
        return refuse(None, error::invalid_request(rule));
    }
    let Some(method) = wire.method else {
        if wire.result.is_some() || wire.error.is_some() {
            return Ok(Incoming::Response);
        }
        return refuse(usable_id, error::invalid_request("`method` is missing"));
    };
    let Some(method) = string(method) else {
        return refuse(usable_id, error::invalid_request("`method` must be a string"));
    };
    let Some(id) = usable_id else {
        let cancelled = if method == "notifications/cancelled" { wire.params } else { None };
        let request_id = cancelled.and_then(Members::read).and_then(|params| params.get("requestId"));
        return Ok(Incoming::Notification(Notification {
            method,
            request_id: request_id.map(RawValue::get),
        }));
    };
    let params = match wire.params {
        None => Params::default(),
        Some(params) if params.get().starts_with('{') => match serde_json::from_str(params.get()) {
            Ok(params) => params,
            Err(_) => return refuse(Some(id), error::invalid_request("a field of `params` appears twice")),
        },
        Some(_) => return refuse(Some(id), error::invalid_request("`params` must be an object")),
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

/// Returns the string a raw JSON value holds.
pub(crate) fn string(raw: &RawValue) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    serde_json::from_str::<Text<'_>>(raw.get()).ok().map(|text| text.0)
}

/// The members of a JSON object, in order, values unparsed.
#[derive(Debug, Default)]
pub(crate) struct Members<'a>(pub(crate) Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Members<'a> {
    /// Reads an object's members; nothing if the value is no object.
    pub(crate) fn read(raw: &'a RawValue) -> Option<Self> {
        if raw.get().starts_with('{') { serde_json::from_str(raw.get()).ok() } else { None }
    }

    /// Returns the member called `name`; the last one if it appears twice.
    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().rev().find(|(member, _)| member == name).map(|(_, value)| *value)
    }

    /// Returns the string member called `name`.
    pub(crate) fn string(&self, name: &str) -> Option<Cow<'a, str>> {
        self.get(name).and_then(string)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                #[derive(Deserialize)]
                struct Key<'a>(#[serde(borrow)] Cow<'a, str>);
                let mut members = Vec::new();
                while let Some((Key(name), value)) = map.next_entry()? {
                    members.push((name, value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Reader)
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
