//! Server-sent events, read from the pieces of a body without copying them.

use std::time::Duration;

use bytes::Bytes;
use memchr::memchr2;

use crate::chain::Chain;

/// One event.
#[derive(Debug, Default)]
pub struct Event {
    /// Its data; several lines are joined by line breaks.
    pub data: Chain,
}

/// A stream of events.
#[derive(Debug, Default)]
pub struct Events {
    /// The line that has not ended yet.
    line: Chain,
    /// The data lines of the event that has not ended yet.
    data: Option<Chain>,
    /// Whether the last line ended with a carriage return, whose line feed may follow in the next piece.
    after_return: bool,
    /// What is left of the last piece.
    rest: Bytes,
    /// The id of the last event that had one.
    last_id: Option<String>,
    retry: Option<Duration>,
}

impl Events {
    /// Takes the next piece of the body. All events of the one before must have been taken out.
    pub fn feed(&mut self, piece: Bytes) {
        self.rest = piece;
    }

    /// Returns the next event that is there as a whole and has data.
    pub fn take_event(&mut self) -> Option<Event> {
        while !self.rest.is_empty() {
            if std::mem::take(&mut self.after_return) && self.rest.first() == Some(&b'\n') {
                self.rest = self.rest.slice(1..);
                continue;
            }
            let Some(end) = memchr2(b'\n', b'\r', &self.rest) else {
                self.line.push(std::mem::take(&mut self.rest));
                return None;
            };
            self.after_return = self.rest.get(end) == Some(&b'\r');
            let mut line = std::mem::take(&mut self.line);
            line.push(self.rest.slice(..end));
            self.rest = self.rest.slice(end + 1..);
            if line.is_empty() {
                if let Some(data) = self.data.take() {
                    return Some(Event { data });
                }
                continue;
            }
            self.field(&line);
        }
        None
    }

    /// Returns the id of the last event that had one.
    #[must_use]
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// Returns how long the server asks to wait before coming back.
    #[must_use]
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Returns how many bytes of an event wait for its end.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.line.len() + self.data.as_ref().map_or(0, Chain::len)
    }

    /// Forgets an event that was cut off.
    pub fn restart(&mut self) {
        *self = Self { last_id: self.last_id.take(), retry: self.retry, ..Self::default() };
    }

    fn field(&mut self, line: &Chain) {
        let head = line.slice(0..6).into_bytes();
        let value = |name: usize| {
            let blank = usize::from(head.get(name) == Some(&b' '));
            line.slice(name + blank..line.len())
        };
        let text = |chain: Chain| String::from_utf8(chain.into_bytes().to_vec()).ok();
        if head.starts_with(b"data:") {
            match &mut self.data {
                None => self.data = Some(value(5)),
                Some(data) => {
                    data.push(Bytes::from_static(b"\n"));
                    data.append(value(5));
                }
            }
        } else if head.starts_with(b"id:") {
            self.last_id = text(value(3)).filter(|id| !id.contains('\0'));
        } else if head.starts_with(b"retry:") {
            // The head ends where the blank may be.
            let digits = text(line.slice(6..line.len()));
            let millis = digits.and_then(|digits| digits.trim_start().parse().ok());
            self.retry = millis.map(Duration::from_millis).or(self.retry);
        }
        // Comments, names of events and unknown fields say nothing here.
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn events(pieces: &[&[u8]]) -> (Vec<String>, Events) {
        let (mut stream, mut found) = (Events::default(), Vec::new());
        for piece in pieces {
            stream.feed(Bytes::copy_from_slice(piece));
            while let Some(event) = stream.take_event() {
                found.push(String::from_utf8_lossy(&event.data.into_bytes()).into_owned());
            }
        }
        (found, stream)
    }

    const STREAM: &str = ": hello\r\n\r\nevent: message\r\nid: 7\r\ndata: {\"a\":1}\r\n\r\nretry: 250\ndata:{\ndata:}\n\nid\n\ndata: cut";

    #[test]
    fn events_are_the_same_however_the_stream_is_cut() {
        for first in 0..STREAM.len() {
            for second in (first..STREAM.len()).step_by(5) {
                let bytes = STREAM.as_bytes();
                let (found, stream) = events(&[&bytes[..first], &bytes[first..second], &bytes[second..]]);
                assert_eq!(found, ["{\"a\":1}", "{\n}"], "{first} {second}");
                assert_eq!((stream.last_id(), stream.retry()), (Some("7"), Some(Duration::from_millis(250))));
                assert_eq!(stream.pending(), "data: cut".len());
            }
        }
    }

    #[test]
    fn what_was_cut_off_is_forgotten_and_the_place_is_kept() {
        let (_, mut stream) = events(&[b"id: 3\ndata: half"]);
        stream.restart();
        stream.feed(Bytes::from_static(b"data: whole\n\n"));
        assert_eq!(stream.take_event().unwrap().data.into_bytes(), "whole");
        assert_eq!(stream.last_id(), Some("3"));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic_or_lose_count(pieces in prop::collection::vec(prop::collection::vec(
            prop::sample::select(b"data: id:retry:1\r\n\n\n{}\0".to_vec()), 0..24), 0..6)
        ) {
            let refs: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
            let whole = pieces.concat();
            prop_assert_eq!(events(&refs).0, events(&[&whole]).0);
        }
    }
}
