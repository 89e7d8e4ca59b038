//! What the client reads of servers and hosts, and its configuration.

use std::path::Path;

use bytes::Bytes;
use serde::de::IgnoredAny;
use wakashu_client::Config;
use wakashu_client::chain::Chain;
use wakashu_client::config::Format;
use wakashu_client::link::sse::Events;
use wakashu_client::link::{Answer, Call};
use wakashu_client::splice;
use wakashu_wire::envelope::Kind;

/// Cuts bytes into pieces, as long as the first byte says.
fn pieces(bytes: &[u8]) -> (Vec<Bytes>, Bytes) {
    let (step, rest) =
        bytes.split_first().map_or((1, bytes), |(first, rest)| (usize::from(*first % 17) + 1, rest));
    (rest.chunks(step).map(Bytes::copy_from_slice).collect(), Bytes::copy_from_slice(rest))
}

fn chain(pieces: &[Bytes]) -> Chain {
    let mut chain = Chain::default();
    for piece in pieces {
        chain.push(piece.clone());
    }
    chain
}

/// A stream of events: however it is cut, the events are those a plain reading of its lines finds.
pub fn sse(bytes: &[u8]) {
    let (pieces, whole) = pieces(bytes);
    let mut stream = Events::default();
    let mut found = Vec::new();
    for piece in pieces {
        stream.feed(piece);
        while let Some(event) = stream.take_event() {
            found.push(event.data.into_bytes());
        }
    }
    assert_eq!(found, plain_events(&whole));
    assert!(stream.pending() <= whole.len());
    stream.restart();
    assert_eq!(stream.pending(), 0);
}

fn plain_events(bytes: &[u8]) -> Vec<Bytes> {
    let (mut lines, mut line, mut before) = (Vec::new(), Vec::new(), 0);
    for byte in bytes {
        match byte {
            b'\n' if before == b'\r' => {}
            b'\n' | b'\r' => lines.push(std::mem::take(&mut line)),
            _ => line.push(*byte),
        }
        before = *byte;
    }
    let (mut events, mut data): (Vec<Bytes>, Option<Vec<u8>>) = (Vec::new(), None);
    for line in lines {
        if line.is_empty() {
            events.extend(data.take().map(Bytes::from));
        } else if let Some(value) = line.strip_prefix(b"data:") {
            let value = value.strip_prefix(b" ").unwrap_or(value);
            match &mut data {
                None => data = Some(value.to_vec()),
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
            }
        }
    }
    events
}

/// A message: read the same in pieces and as a whole; changed for the other era, it is the same but for what was put in.
pub fn splice(bytes: &[u8]) {
    let (pieces, whole) = pieces(bytes);
    let (in_pieces, in_one) = (chain(&pieces), Chain::from(whole.clone()));
    assert_eq!(in_pieces.scan(), in_one.scan());
    let line = in_pieces.clone().in_one_line().into_bytes();
    assert!(!line.iter().any(|byte| matches!(byte, b'\n' | b'\r')) && line.len() == whole.len());
    if let Ok(envelope) = in_one.scan()
        && matches!(envelope.kind(), Some(Kind::Result | Kind::Error))
    {
        let answer = Answer { message: in_pieces, envelope };
        let completed = splice::complete_result(answer.clone(), "tools/list");
        let text = completed.message.into_bytes();
        let added = br#""resultType":"complete","ttlMs":0,"cacheScope":"private""#;
        let at = text.windows(added.len()).position(|part| part == added);
        let mut back = text.to_vec();
        if back.len() > whole.len() {
            let at = at.expect("what was put in");
            let comma = usize::from(back.get(at + added.len()) == Some(&b','));
            back.drain(at..at + added.len() + comma);
        }
        assert!(back == whole.as_ref() || back.len() + 1 == whole.len(), "more than the addition changed");
        if serde_json::from_slice::<IgnoredAny>(&whole).is_ok() {
            serde_json::from_slice::<IgnoredAny>(&text).expect("JSON stays JSON");
        }
    }
    let Ok(call) = Call::read(whole) else { return };
    let Ok(modern) = splice::add_envelope(&call) else { return };
    assert_eq!(modern.id_json(), call.id_json());
    assert_eq!((modern.method.as_str(), &modern.name), (call.method.as_str(), &call.name));
    // Whether it was read again or not.
    let again = Call::read(modern.body.clone()).expect("what is sent can be read");
    assert_eq!(
        (again.id, again.name, again.version),
        (modern.id.clone(), modern.name.clone(), modern.version.clone())
    );
    assert_eq!(again.progress_token, modern.progress_token);
    if let Ok(legacy) = splice::drop_envelope(&modern) {
        assert_eq!(legacy.id_json(), call.id_json());
        assert!(legacy.version.is_none(), "the envelope is gone");
    }
}

/// A configuration: servers with names of their own, or what is wrong, a line for each problem.
pub fn configuration(bytes: &[u8]) {
    let Some((first, text)) = bytes.split_first() else { return };
    let format = if first % 2 == 0 { Format::Yaml } else { Format::Json };
    let text = String::from_utf8_lossy(text);
    let variable = |name: &str| (name != "NONE").then(|| format!("{{{name}: [}}"));
    match Config::parse(&text, format, Path::new("/nowhere"), &variable) {
        Ok(config) => {
            let mut names: Vec<&str> = config.servers.iter().map(|server| server.name.as_str()).collect();
            assert!(names.iter().all(|name| !name.trim().is_empty()));
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), config.servers.len());
            assert!((1..=1000).contains(&config.options.max_parallel));
        }
        Err(error) => {
            assert!(!error.problems.is_empty());
            assert!(error.problems.iter().all(|problem| !problem.message.is_empty()));
        }
    }
}
