//! YAML, and JSON with comments: text to values, or where and why not.

use serde_json::Value;

use super::Problem;

pub(super) fn parse_yaml(text: &str) -> Result<Value, Problem> {
    serde_saphyr::from_str(text).map_err(|error| {
        let (line, column) = error.location().map_or((1, 1), |location| (location.line(), location.column()));
        let message = error.without_snippet().to_string();
        let message = message.lines().next().unwrap_or("the file is not YAML").to_owned();
        match unquoted(text, line) {
            Some((line, column, quoted)) => Problem {
                place: format!("line {line}, column {column}"),
                message: format!("YAML keeps this character for itself: write `{quoted}`"),
            },
            None => Problem { place: format!("line {line}, column {column}"), message },
        }
    })
}

/// Looks for a value that begins with a character YAML reserves, at the line of an error or before it, and returns its
/// place and how it is to be written.
fn unquoted(text: &str, line: u64) -> Option<(usize, usize, String)> {
    let last = usize::try_from(line).ok()?;
    let lines: Vec<&str> = text.lines().take(last + 1).collect();
    let found = lines.iter().enumerate().rev().find_map(|(at, line)| {
        let start = [": @", ": `", "- @", "- `"].iter().filter_map(|mark| line.find(mark)).min()?;
        Some((at + 1, *line, start + 2))
    });
    let (number, line, start) = found?;
    let (before, value) = (line.get(..start)?, line.get(start..)?);
    let value = value.split(" #").next().unwrap_or_default().trim_end();
    let column = before.chars().count() + 1;
    Some((number, column, format!("{}\"{}\"", before.trim_start(), value.replace('"', "\\\""))))
}

pub(super) fn parse_json(text: &str) -> Result<Value, Problem> {
    serde_json::from_str(&without_comments(text)).map_err(|error| {
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default().to_owned();
        Problem { place: format!("line {}, column {}", error.line(), error.column()), message }
    })
}

/// Replaces comments and trailing commas by blanks, so that places stay what they are.
fn without_comments(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let (mut at, mut comma) = (0, None);
    let blank = |bytes: &mut Vec<u8>, from: usize, to: usize| {
        for byte in
            bytes.get_mut(from..to).into_iter().flatten().filter(|byte| !matches!(**byte, b'\n' | b'\r'))
        {
            *byte = b' ';
        }
    };
    while let Some(&byte) = text.as_bytes().get(at) {
        let rest = text.as_bytes().get(at..).unwrap_or_default();
        let length = match byte {
            b'"' => {
                let mut escaped = false;
                let inside = rest.iter().skip(1).position(|byte| {
                    let ends = *byte == b'"' && !escaped;
                    escaped = *byte == b'\\' && !escaped;
                    ends
                });
                inside.map_or(rest.len(), |length| length + 2)
            }
            b'/' if rest.starts_with(b"//") => {
                rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())
            }
            b'/' if rest.starts_with(b"/*") => {
                memchr::memmem::find(rest, b"*/").map_or(rest.len(), |end| end + 2)
            }
            _ => 1,
        };
        match byte {
            b'/' if length > 1 => blank(&mut bytes, at, at + length),
            b',' => comma = Some(at),
            b'}' | b']' => {
                if let Some(comma) = comma.take() {
                    blank(&mut bytes, comma, comma + 1);
                }
            }
            byte if byte.is_ascii_whitespace() => {}
            _ => comma = None,
        }
        at += length;
    }
    String::from_utf8(bytes).unwrap_or_default()
}
