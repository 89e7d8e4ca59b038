//! Messages changed at a few places, so that hosts and servers of different eras understand each other. Everything else
//! in them stays as it was written.
//!
//! | host | server | what happens |
//! |---|---|---|
//! | modern | modern | nothing |
//! | legacy | legacy | nothing |
//! | legacy | modern only | [`initialize_from_discover`]; every request gets an envelope by [`add_envelope`] |
//! | modern | legacy only | [`discover_from_initialize`]; the envelope is taken off by [`drop_envelope`], and results get what modern ones have by [`complete_result`] |

use std::ops::Range;
use std::sync::LazyLock;

use bytes::Bytes;
use serde_json::{Map, Value, json};
use wakashu_wire::{Members, Raw, Revision, era};

use crate::chain::Chain;
use crate::link::{Answer, Call, Refused, Room};

const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";

/// Says who we are.
#[must_use]
pub fn client_info() -> Value {
    json!({"name": "wakashu", "version": env!("CARGO_PKG_VERSION")})
}

/// Returns what a modern request has in `_meta`.
#[must_use]
pub fn envelope() -> Map<String, Value> {
    let mut meta = Map::new();
    meta.insert(era::VERSION_KEY.to_owned(), json!(Revision::V2026_07_28.as_str()));
    meta.insert(era::CAPABILITIES_KEY.to_owned(), json!({}));
    meta.insert(CLIENT_INFO.to_owned(), client_info());
    meta
}

/// The JSON of [`envelope`], which every request needs that crosses from a legacy host to a modern server.
static ENVELOPE: LazyLock<String> = LazyLock::new(|| Value::Object(envelope()).to_string());

/// Gives a legacy request the envelope of a modern one.
pub fn add_envelope(call: &Call) -> Result<Call, Refused> {
    let envelope = ENVELOPE.as_str();
    let members = envelope.get(1..envelope.len() - 1).unwrap_or_default();
    if let Room::At(at) = call.room {
        return Ok(enveloped(call, at, &[members, ","]));
    }
    let body = Chain::from(call.body.clone());
    let params = body.scan().ok().and_then(|envelope| envelope.params());
    if let (Room::Absent, Some(params)) = (call.room, &params)
        && let Some((at, comma)) = first_place(&call.body, params)
    {
        return Ok(enveloped(call, at, &["\"_meta\":", envelope, comma]));
    }
    let body = match (params, meta_span(call)) {
        (_, Some(meta)) => insert_first(&body, &meta, members),
        (Some(params), None) => insert_first(&body, &params, &format!("\"_meta\":{envelope}")),
        (None, None) => {
            insert_first(&body, &(0..body.len()), &format!("\"params\":{{\"_meta\":{envelope}}}"))
        }
    };
    changed(call, body)
}

/// Returns a request with an envelope put in at `at`, where it has room: it need not be read again.
fn enveloped(call: &Call, at: usize, parts: &[&str]) -> Call {
    let added: usize = parts.iter().map(|part| part.len()).sum();
    let (head, rest) = call.body.split_at(at.min(call.body.len()));
    let mut body = Vec::with_capacity(call.body.len() + added);
    body.extend_from_slice(head);
    for part in parts {
        body.extend_from_slice(part.as_bytes());
    }
    body.extend_from_slice(rest);
    let shift = if call.id.start >= at { added } else { 0 };
    Call {
        body: body.into(),
        id: call.id.start + shift..call.id.end + shift,
        version: Some(Revision::V2026_07_28.as_str().to_owned()),
        room: Room::Unclear,
        ..call.clone()
    }
}

/// Takes the envelope off a modern request; what else there is in `_meta` stays as it was written.
pub fn drop_envelope(call: &Call) -> Result<Call, Refused> {
    let Some(span) = meta_span(call) else { return Ok(call.clone()) };
    let mut meta = String::from_utf8_lossy(&call.body.slice(span.clone())).into_owned();
    while let Some(member) = reserved_member(&meta) {
        meta.replace_range(member, "");
    }
    changed(call, Chain::from(call.body.clone()).replace(span, Bytes::from(meta)))
}

/// Returns the first member of `_meta` that is the protocol's.
fn reserved_member(meta: &str) -> Option<Range<usize>> {
    let members = members_of(meta.as_bytes())?;
    let (_, value) = members.0.iter().find(|(name, _)| name.starts_with(era::RESERVED))?;
    let start = value.get().as_ptr().addr() - meta.as_ptr().addr();
    Some(member(meta, start..start + value.get().len()))
}

/// Returns the whole member of an object whose value stands there, with the comma that goes if the member goes.
#[must_use]
pub fn member(text: &str, value: Range<usize>) -> Range<usize> {
    let (before, after) =
        (text.get(..value.start).unwrap_or_default(), text.get(value.end..).unwrap_or_default());
    // A quotation mark in a name has a backslash before it.
    let name = before.trim_end().trim_end_matches(':').trim_end().strip_suffix('"').unwrap_or(before);
    let mut quotes = name.rmatch_indices('"').map(|(at, _)| at);
    let is_escaped = |at: usize| {
        let before = name.get(..at).unwrap_or_default();
        (before.len() - before.trim_end_matches('\\').len()) % 2 == 1
    };
    let start = quotes.find(|at| !is_escaped(*at)).unwrap_or(value.start);
    if let Some(rest) = after.trim_start().strip_prefix(',') {
        return start..text.len() - rest.len();
    }
    let before = text.get(..start).unwrap_or_default();
    before.trim_end().strip_suffix(',').map_or(start, str::len)..value.end
}

fn changed(call: &Call, body: Chain) -> Result<Call, Refused> {
    let mut changed = Call::read(body.into_bytes())?;
    changed.patience = call.patience;
    Ok(changed)
}

/// Gives the result of a legacy server what a modern one has.
#[must_use]
pub fn complete_result(answer: Answer, method: &str) -> Answer {
    let Some(span) = answer.envelope.result() else { return answer };
    let is_cacheable = crate::cache::Cache::keeps(method);
    let caching = if is_cacheable { r#","ttlMs":0,"cacheScope":"private""# } else { "" };
    let message = insert_first(&answer.message, &span, &format!("\"resultType\":\"complete\"{caching}"));
    match message.scan() {
        Ok(envelope) => Answer { message, envelope },
        Err(_) => answer,
    }
}

/// Answers an `initialize` with what a modern server said of itself.
#[must_use]
pub fn initialize_from_discover(discovered: &Value, asked: Option<&str>) -> Value {
    let asked = asked.and_then(Revision::parse).filter(|revision| !revision.is_modern());
    let mut result = json!({
        "protocolVersion": asked.unwrap_or(Revision::NEWEST_LEGACY).as_str(),
        "capabilities": discovered.get("capabilities").cloned().unwrap_or_else(|| json!({})),
        "serverInfo": discovered.get("_meta").and_then(|meta| meta.get(SERVER_INFO)).cloned()
            .unwrap_or_else(|| json!({"name": "unnamed", "version": "0"})),
    });
    // Subscriptions to single resources have another form there.
    if let Some(resources) = result.pointer_mut("/capabilities/resources").and_then(Value::as_object_mut) {
        resources.remove("subscribe");
    }
    copy(discovered, &mut result, "instructions");
    result
}

/// Answers a `server/discover` with what a legacy server said of itself.
#[must_use]
pub fn discover_from_initialize(initialized: &Value) -> Value {
    let mut capabilities = initialized.get("capabilities").cloned().unwrap_or_else(|| json!({}));
    if let Some(capabilities) = capabilities.as_object_mut() {
        // These have no counterpart that a modern host could use.
        capabilities.retain(|name, _| !matches!(name.as_str(), "logging" | "tasks"));
        if let Some(resources) = capabilities.get_mut("resources").and_then(Value::as_object_mut) {
            resources.remove("subscribe");
        }
    }
    let mut result = json!({
        "resultType": "complete",
        "supportedVersions": [Revision::V2026_07_28.as_str()],
        "capabilities": capabilities,
        "ttlMs": 0,
        "cacheScope": "private",
    });
    if let (Some(info), Some(result)) = (initialized.get("serverInfo"), result.as_object_mut()) {
        result.insert("_meta".to_owned(), json!({SERVER_INFO: info}));
    }
    copy(initialized, &mut result, "instructions");
    result
}

fn copy(from: &Value, to: &mut Value, name: &str) {
    if let (Some(value), Some(to)) = (from.get(name), to.as_object_mut()) {
        to.insert(name.to_owned(), value.clone());
    }
}

/// Puts members before all others of the object at `span`.
fn insert_first(message: &Chain, span: &Range<usize>, members: &str) -> Chain {
    let head = message.slice(span.start..(span.start + 64).min(span.end)).into_bytes();
    // More blanks than that are sent by nobody but to see what happens.
    let place = first_place(&head, &(0..head.len()))
        .or_else(|| first_place(&message.slice(span.clone()).into_bytes(), &(0..span.len())));
    let (open, comma) = place.unwrap_or((0, ""));
    let at = span.start + open;
    message.replace(at..at, Bytes::from(format!("{members}{comma}")))
}

/// Returns where the first member of the object at `span` goes, and what parts it from the next. `None` if the text ends before that.
fn first_place(text: &[u8], span: &Range<usize>) -> Option<(usize, &'static str)> {
    let object = text.get(span.clone())?;
    let open = memchr::memchr(b'{', object)? + 1;
    let next = object.iter().skip(open).find(|byte| !byte.is_ascii_whitespace())?;
    Some((span.start + open, if *next == b'}' { "" } else { "," }))
}

/// Returns where the object `_meta` stands in a request.
fn meta_span(call: &Call) -> Option<Range<usize>> {
    let params = call.params()?;
    let start = params.as_ptr().addr() - call.body.as_ptr().addr();
    let meta = members_of(&params)?.get("_meta")?.get();
    let at = start + (meta.as_ptr().addr() - params.as_ptr().addr());
    meta.starts_with('{').then_some(at..at + meta.len())
}

fn members_of(json: &[u8]) -> Option<Members<'_>> {
    let raw: Raw<'_> = serde_json::from_slice(json).ok()?;
    Members::read(raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(text: &str) -> Call {
        Call::read(Bytes::copy_from_slice(text.as_bytes())).unwrap()
    }

    fn value(call: &Call) -> Value {
        serde_json::from_slice(&call.body).unwrap()
    }

    #[test]
    fn an_envelope_is_added_wherever_the_request_has_room() {
        for (text, rest) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, json!({})),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{ }}"#, json!({})),
            (
                r#"{"jsonrpc":"2.0","id":1,"params":{"cursor":"a"},"method":"tools/list"}"#,
                json!({"cursor": "a"}),
            ),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{}}}"#, json!({})),
            (
                r#"{"params":{"cursor":"\u0061"},"method":"tools/list","jsonrpc":"2.0","id":1}"#,
                json!({"cursor": "a"}),
            ),
            (
                r#"{"jsonrpc":"2.0","method":"tools/list","params":{"cursor":"a","_meta":{ "progressToken":1.0}},"id":1}"#,
                json!({"cursor": "a"}),
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"progressToken":1.0},"cursor":"a"}}"#,
                json!({"cursor": "a"}),
            ),
        ] {
            let legacy = call(text);
            let modern = add_envelope(&legacy).unwrap();
            assert_eq!(modern.version.as_deref(), Some("2026-07-28"), "{text}");
            assert_eq!(modern.id_json(), "1");
            let mut params = value(&modern)["params"].clone();
            let meta = params.as_object_mut().unwrap().remove("_meta").unwrap();
            assert_eq!(params, rest, "{text}");
            assert_eq!(meta[CLIENT_INFO]["name"], "wakashu");
            assert_eq!(meta.get("progressToken").is_some(), text.contains("progressToken"));
            let again = Call::read(modern.body.clone()).unwrap();
            assert_eq!((again.id, again.progress_token), (modern.id.clone(), modern.progress_token.clone()));
            let back = drop_envelope(&modern).unwrap();
            assert_eq!(back.version, None);
            assert_eq!(String::from_utf8_lossy(&back.body).contains("1.0"), text.contains("1.0"));
        }
    }

    #[test]
    fn an_envelope_that_is_there_in_part_is_refused() {
        for meta in [r#"{"io.modelcontextprotocol/clientInfo":{}}"#, "null", r#""x""#] {
            let text =
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{meta}}}}}"#);
            assert!(add_envelope(&call(&text)).is_err(), "{meta}");
        }
    }

    #[test]
    fn what_is_left_of_an_object_stays_as_it_was_written() {
        for (text, name, left) in [
            (r#"{"a":1}"#, "a", "{}"),
            (r#"{ "a" : 1 , "b":2.0}"#, "a", r#"{  "b":2.0}"#),
            ("{\n \"b\": 2.0,\n \"a\": {\"b\": 1}\n}", "a", "{\n \"b\": 2.0\n}"),
            (r#"{"b":"\ud800","\u0061":"x","c":[ ]}"#, "a", r#"{"b":"\ud800","c":[ ]}"#),
            (r#"{"x\\":1,"\"\\\"":2,"y":3}"#, "\"\\\"", r#"{"x\\":1,"y":3}"#),
            (r#"{"x":",\"","a":1}"#, "a", r#"{"x":",\""}"#),
        ] {
            let members = members_of(text.as_bytes()).unwrap();
            let value = members.get(name).unwrap().get();
            let start = value.as_ptr().addr() - text.as_ptr().addr();
            let mut cut = text.to_owned();
            cut.replace_range(member(text, start..start + value.len()), "");
            assert_eq!(cut, left, "{text}");
        }
        let modern = r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{ "io.modelcontextprotocol/clientInfo" : {}, "x": 1.0, "io.modelcontextprotocol/protocolVersion":"2026-07-28" , "io.modelcontextprotocol/clientCapabilities":{} }}}"#;
        let legacy = drop_envelope(&call(modern)).unwrap();
        assert_eq!(legacy.body, r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{  "x": 1.0 }}}"#);
    }

    #[test]
    fn results_are_completed_and_otherwise_left_as_they_are() {
        let complete = |text: &str, method| {
            let message = Chain::from(text.to_owned());
            let envelope = message.scan().unwrap();
            let answer = complete_result(Answer { message, envelope }, method);
            String::from_utf8(answer.message.into_bytes().to_vec()).unwrap()
        };
        assert_eq!(
            complete(r#"{"result":{ "tools":[1.00]},"id":1}"#, "tools/list"),
            r#"{"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private", "tools":[1.00]},"id":1}"#
        );
        assert_eq!(
            complete(r#"{"result":{},"id":1}"#, "tools/call"),
            r#"{"result":{"resultType":"complete"},"id":1}"#
        );
        // However far away the end of an empty one is.
        let blanks = " ".repeat(100);
        assert_eq!(
            complete(&format!(r#"{{"result":{{{blanks}}},"id":1}}"#), "tools/call"),
            format!(r#"{{"result":{{"resultType":"complete"{blanks}}},"id":1}}"#)
        );
        assert_eq!(complete(r#"{"error":{},"id":1}"#, "tools/call"), r#"{"error":{},"id":1}"#);
    }

    #[test]
    fn servers_introduce_themselves_across_the_eras() {
        let discovered = json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "instructions": "read",
            "capabilities": {"tools": {"listChanged": true}, "resources": {"subscribe": true}},
            "_meta": {SERVER_INFO: {"name": "s", "version": "1"}}});
        let initialized = initialize_from_discover(&discovered, Some("2025-06-18"));
        assert_eq!(
            initialized,
            json!({"protocolVersion": "2025-06-18", "instructions": "read", "serverInfo": {"name": "s", "version": "1"},
                "capabilities": {"tools": {"listChanged": true}, "resources": {}}})
        );
        assert_eq!(
            initialize_from_discover(&discovered, Some("2026-07-28"))["protocolVersion"],
            "2025-11-25"
        );
        let back = discover_from_initialize(&initialized);
        assert_eq!(back["_meta"], discovered["_meta"]);
        assert_eq!(back["supportedVersions"], json!(["2026-07-28"]));
    }
}
