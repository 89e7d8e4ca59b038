//! The quick way through a plain request.
//!
//! What clients send is nearly always the same: a flat object, strings without escapes, whole numbers. Such a request is
//! read here in one pass, in a quarter of the library's time. Anything else, wrong or merely unusual, is not read here at all:
//! the library then reads it and says what is wrong. Tests hold both to the same result.

use std::borrow::Cow;

use memchr::memchr2;

use crate::mcp::message::{Members, Params, Part, Raw, Request, Slot, is_id};

/// How deep values may nest; the envelope of a modern request has three levels.
const MAX_DEPTH: u32 = 8;

/// Reads a request; nothing where it is not plain.
pub(super) fn read(text: &str) -> Option<Request<'_>> {
    let mut scanner = Scanner { text, at: 0 };
    let (mut version, mut id, mut method, mut params) = (None, None, None, None);
    scanner.members(|scanner, name| match name {
        "jsonrpc" => once(&mut version, scanner.quoted()?),
        "id" => once(&mut id, scanner.value(0)?),
        "method" => once(&mut method, scanner.quoted()?),
        "params" => once(&mut params, scanner.params()?),
        _ => scanner.value(0).map(drop),
    })?;
    let id = id.filter(|id| is_id(id))?;
    let whole = version? == "2.0" && scanner.at == text.len();
    let request = Request { id, method: Cow::Borrowed(method?), params: params.unwrap_or_default() };
    whole.then_some(request)
}

/// Fills a field that must not appear twice.
fn once<T>(field: &mut Option<T>, value: T) -> Option<()> {
    field.replace(value).is_none().then_some(())
}

/// Reads JSON from the front; nothing at the first thing that is not plain.
struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    /// Returns the next byte that is not space.
    fn peek(&mut self) -> Option<u8> {
        loop {
            match self.text.as_bytes().get(self.at) {
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.at += 1,
                other => return other.copied(),
            }
        }
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        if self.peek()? != byte {
            return None;
        }
        self.at += 1;
        Some(())
    }

    /// Reads a string without escapes.
    fn quoted(&mut self) -> Option<&'a str> {
        self.take(b'"')?;
        let from = self.at;
        let length = memchr2(b'"', b'\\', self.text.as_bytes().get(from..)?)?;
        self.at += length;
        let text = self.text.get(from..self.at)?;
        // What ends here with an escape, or holds a control character, is not plain.
        self.take(b'"')?;
        (text.bytes().fold(u8::MAX, u8::min) >= 0x20).then_some(text)
    }

    /// Reads an object; `read` takes the value of each member.
    fn members(&mut self, mut read: impl FnMut(&mut Self, &'a str) -> Option<()>) -> Option<()> {
        self.take(b'{')?;
        if self.peek()? == b'}' {
            return self.take(b'}');
        }
        loop {
            let name = self.quoted()?;
            self.take(b':')?;
            read(self, name)?;
            if self.peek()? == b'}' {
                return self.take(b'}');
            }
            self.take(b',')?;
        }
    }

    fn items(&mut self, depth: u32) -> Option<()> {
        self.take(b'[')?;
        if self.peek()? == b']' {
            return self.take(b']');
        }
        loop {
            self.value(depth)?;
            if self.peek()? == b']' {
                return self.take(b']');
            }
            self.take(b',')?;
        }
    }

    /// Reads any value and returns it as it was written.
    fn value(&mut self, depth: u32) -> Option<&'a str> {
        let first = self.peek()?;
        let from = self.at;
        match first {
            b'"' => self.quoted().map(drop)?,
            b'{' if depth < MAX_DEPTH => self.members(|scanner, _| scanner.value(depth + 1).map(drop))?,
            b'[' if depth < MAX_DEPTH => self.items(depth + 1)?,
            b'0'..=b'9' | b'-' => self.whole_number()?,
            b't' => self.word("true")?,
            b'f' => self.word("false")?,
            b'n' => self.word("null")?,
            _ => return None,
        }
        self.text.get(from..self.at)
    }

    /// Reads a whole number; one with a point or an exponent is not plain.
    fn whole_number(&mut self) -> Option<()> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let digits = rest.strip_prefix(b"-").unwrap_or(rest);
        let count = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let leading_zero = count > 1 && digits.first() == Some(&b'0');
        if count == 0 || leading_zero || matches!(digits.get(count), Some(b'.' | b'e' | b'E')) {
            return None;
        }
        self.at += rest.len() - digits.len() + count;
        Some(())
    }

    fn word(&mut self, word: &str) -> Option<()> {
        let found = self.text.get(self.at..)?.starts_with(word);
        self.at += word.len();
        found.then_some(())
    }

    fn params(&mut self) -> Option<Box<Params<'a>>> {
        let mut params = Box::<Params<'_>>::default();
        let mut seen = 0;
        self.members(|scanner, name| {
            let Some((field, slot)) = params.slot(name) else { return scanner.value(0).map(drop) };
            match slot {
                Slot::Value(value) => {
                    *value = Some(scanner.value(0)?).filter(|raw| *raw != "null").map(Raw::known);
                }
                Slot::Part(part) => *part = scanner.part()?,
            }
            let twice = seen & field != 0;
            seen |= field;
            (!twice).then_some(())
        })?;
        Some(params)
    }

    fn part(&mut self) -> Option<Part<'a>> {
        if self.peek()? != b'{' {
            let other = self.value(0)?;
            return Some(if other == "null" { Part::Nothing } else { Part::Other });
        }
        let mut members = Members::default();
        self.members(|scanner, name| {
            members.0.push((Cow::Borrowed(name), Raw::known(scanner.value(1)?)));
            Some(())
        })?;
        Some(Part::Object(members))
    }
}
