//! The form of JSON as people write it: what is passed over, what is refused, and what could be mended.
//!
//! The scan goes without recursion and stops at the first flaw, which it names by place and kind.

use std::borrow::Cow;

use super::fault::Fault;
use crate::problem::Edit;
use crate::words::json as words;

/// A text that is JSON once what was passed over is blank. Places in it are those of the text as written.
#[derive(Debug)]
pub(crate) struct Clean<'a> {
    pub(crate) text: Cow<'a, str>,
    pub(crate) faults: Vec<Fault>,
}

/// Makes sure that a text is one JSON value; commas before closing brackets and odd blanks are passed over.
pub(crate) fn clean(text: &str) -> Result<Clean<'_>, Fault> {
    let passed = scan(text).map_err(|flaw| flaw.fault(text))?;
    if passed.commas.is_empty() && passed.blanks.is_empty() {
        return Ok(Clean { text: Cow::Borrowed(text), faults: Vec::new() });
    }
    let mut faults = Vec::new();
    let mut edits = Vec::new();
    for at in passed.commas {
        let removed = Edit { range: at..at + 1, text: String::new() };
        faults.push(Fault::warning(words::trailing_comma()).at(at).fixed_by(vec![removed]));
        edits.push(Edit { range: at..at + 1, text: " ".to_owned() });
    }
    if let Some((first, _)) = passed.blanks.first() {
        let blank = |text: String| {
            move |(at, character): &(usize, char)| {
                let range = *at..at + character.len_utf8();
                Edit { text: if text.is_empty() { " ".repeat(range.len()) } else { text.clone() }, range }
            }
        };
        let replaced = passed.blanks.iter().map(blank(" ".to_owned())).collect();
        faults.push(Fault::warning(words::odd_blank()).at(*first).fixed_by(replaced));
        edits.extend(passed.blanks.iter().map(blank(String::new())));
    }
    Ok(Clean { text: Cow::Owned(edited(text, &edits)), faults })
}

/// Returns a text with its edits made. Edits do not overlap; of equal ones one is made.
pub(crate) fn edited(text: &str, edits: &[Edit]) -> String {
    let mut edits: Vec<&Edit> = edits.iter().collect();
    edits.sort_by_key(|edit| edit.range.start);
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    for edit in edits {
        let Some(before) = text.get(done..edit.range.start) else { continue };
        result.push_str(before);
        result.push_str(&edit.text);
        done = edit.range.end;
    }
    result.push_str(text.get(done..).unwrap_or_default());
    result
}

/// What was passed over.
#[derive(Debug, Default)]
struct Passed {
    commas: Vec<usize>,
    blanks: Vec<(usize, char)>,
}

/// What keeps a text from being JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Flaw {
    at: usize,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Mark(char),
    ExtraComma,
    MissingComma,
    QuoteInText,
    MissingColon,
    UnquotedKey,
    UnquotedText,
    Comment,
    WrongBracket { found: char, wanted: char },
    Unclosed(char),
    AfterEnd,
    LineBreak,
    Control,
    Escape,
}

impl Flaw {
    fn fault(self, text: &str) -> Fault {
        let edits = match self.kind {
            Kind::Mark(_) | Kind::LineBreak | Kind::Control => mended(text),
            _ => None,
        };
        let fixable = edits.is_some();
        let wording = match self.kind {
            Kind::Mark(found) => {
                let Mark { wanted, en, ja } = mark(found).unwrap_or(Mark { wanted: '"', en: "", ja: "" });
                words::wrong_mark(found, en, ja, wanted, fixable)
            }
            Kind::ExtraComma => words::extra_comma(),
            Kind::MissingComma => words::missing_comma(),
            Kind::QuoteInText => words::quote_in_text(),
            Kind::MissingColon => words::missing_colon(),
            Kind::UnquotedKey => words::unquoted_key(),
            Kind::UnquotedText => words::unquoted_text(),
            Kind::Comment => words::comment(),
            Kind::WrongBracket { found, wanted } => words::wrong_bracket(found, wanted),
            Kind::Unclosed(mark) => words::unclosed(mark),
            Kind::AfterEnd => words::after_end(),
            Kind::LineBreak => words::line_break(fixable),
            Kind::Control => words::control_character(),
            Kind::Escape => words::bad_escape(),
        };
        let fault = Fault::error(wording).at(self.at);
        match edits {
            Some(edits) => fault.fixed_by(edits),
            None => fault,
        }
    }
}

/// What must come next.
#[derive(Debug, Clone, Copy)]
enum Expected {
    /// A value. After a comma or an opening bracket the list may also end.
    Value {
        may_end: bool,
        comma: Option<usize>,
    },
    /// A key, or the end of the object.
    Key {
        comma: Option<usize>,
    },
    Colon,
    /// A comma or a closing bracket.
    Next {
        after_text: bool,
    },
    Nothing,
}

fn scan(text: &str) -> Result<Passed, Flaw> {
    let mut passed = Passed::default();
    // Opening brackets with their places.
    let mut open: Vec<(char, usize)> = Vec::new();
    let mut expected = Expected::Value { may_end: false, comma: None };
    let mut at = 0;
    while let Some(character) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let flaw = |kind| Err(Flaw { at, kind });
        let otherwise = |kind| match character {
            '/' | '#' => Err(Flaw { at, kind: Kind::Comment }),
            _ if mark(character).is_some() => Err(Flaw { at, kind: Kind::Mark(character) }),
            _ => Err(Flaw { at, kind }),
        };
        let after_value = |open: &[(char, usize)], after_text| {
            if open.is_empty() { Expected::Nothing } else { Expected::Next { after_text } }
        };
        let next = at + character.len_utf8();
        if matches!(character, ' ' | '\t' | '\r' | '\n') {
            at = next;
            continue;
        }
        if is_odd_blank(character) {
            passed.blanks.push((at, character));
            at = next;
            continue;
        }
        match (expected, character) {
            (Expected::Nothing, _) => return flaw(Kind::AfterEnd),
            (Expected::Value { .. }, '"') => {
                at = string_end(text, at)?;
                expected = after_value(&open, true);
                continue;
            }
            (Expected::Key { .. }, '"') => {
                at = string_end(text, at)?;
                expected = Expected::Colon;
                continue;
            }
            (Expected::Value { .. }, '{') => {
                open.push((character, at));
                expected = Expected::Key { comma: None };
            }
            (Expected::Value { .. }, '[') => {
                open.push((character, at));
                expected = Expected::Value { may_end: true, comma: None };
            }
            (Expected::Value { may_end: true, comma }, ']') | (Expected::Key { comma }, '}') => {
                passed.commas.extend(comma);
                open.pop();
                expected = after_value(&open, false);
            }
            (Expected::Value { .. } | Expected::Key { .. }, ',') => return flaw(Kind::ExtraComma),
            (Expected::Value { .. }, '-' | '0'..='9') => {
                at = number_end(text, at)?;
                expected = after_value(&open, false);
                continue;
            }
            (Expected::Value { .. }, 'a'..='z') => {
                at = word_end(text, at)?;
                expected = after_value(&open, false);
                continue;
            }
            (Expected::Value { .. }, _) => return otherwise(Kind::UnquotedText),
            (Expected::Key { .. }, ']') => return flaw(Kind::WrongBracket { found: ']', wanted: '}' }),
            (Expected::Key { .. }, _) => return otherwise(Kind::UnquotedKey),
            (Expected::Colon, ':') => expected = Expected::Value { may_end: false, comma: None },
            (Expected::Colon, _) => return otherwise(Kind::MissingColon),
            (Expected::Next { .. }, ',') => {
                expected = match open.last() {
                    Some(('{', _)) => Expected::Key { comma: Some(at) },
                    _ => Expected::Value { may_end: true, comma: Some(at) },
                };
            }
            (Expected::Next { .. }, '}' | ']') => {
                let wanted = if matches!(open.last(), Some(('{', _))) { '}' } else { ']' };
                if character != wanted {
                    return flaw(Kind::WrongBracket { found: character, wanted });
                }
                open.pop();
                expected = after_value(&open, false);
            }
            (Expected::Next { after_text }, _) => {
                let goes_on = after_text && !matches!(character, '"' | '{' | '[');
                return otherwise(if goes_on { Kind::QuoteInText } else { Kind::MissingComma });
            }
        }
        at = next;
    }
    match (expected, open.last()) {
        (Expected::Nothing, _) => Ok(passed),
        (_, Some((bracket, at))) => Err(Flaw { at: *at, kind: Kind::Unclosed(*bracket) }),
        (_, None) => Err(Flaw { at, kind: Kind::UnquotedText }),
    }
}

/// Returns where the string that opens at `open` ends.
fn string_end(text: &str, open: usize) -> Result<usize, Flaw> {
    let flaw = |at, kind| Err(Flaw { at, kind });
    let mut bytes = text.bytes().enumerate().skip(open + 1);
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => return Ok(at + 1),
            b'\\' => {
                let digits = match bytes.next() {
                    Some((_, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't')) => 0,
                    Some((_, b'u')) => 4,
                    _ => return flaw(at, Kind::Escape),
                };
                if !bytes.by_ref().take(digits).all(|(_, digit)| digit.is_ascii_hexdigit()) {
                    return flaw(at, Kind::Escape);
                }
            }
            b'\n' | b'\r' => return flaw(at, Kind::LineBreak),
            0..0x20 => return flaw(at, Kind::Control),
            _ => {}
        }
    }
    flaw(open, Kind::Unclosed('"'))
}

/// Returns where a number ends.
fn number_end(text: &str, start: usize) -> Result<usize, Flaw> {
    let rest = text.get(start..).unwrap_or_default();
    let is_part =
        |character: char| character.is_ascii_digit() || matches!(character, '-' | '+' | '.' | 'e' | 'E');
    let length = rest.find(|character| !is_part(character)).unwrap_or(rest.len());
    let number = rest.get(..length).unwrap_or_default();
    let sound = serde_json::from_str::<&serde_json::value::RawValue>(number).is_ok();
    if sound { Ok(start + length) } else { Err(Flaw { at: start, kind: Kind::UnquotedText }) }
}

/// Returns where `true`, `false` or `null` ends.
fn word_end(text: &str, start: usize) -> Result<usize, Flaw> {
    let rest = text.get(start..).unwrap_or_default();
    let length = rest.find(|character: char| !character.is_alphanumeric()).unwrap_or(rest.len());
    match rest.get(..length) {
        Some("true" | "false" | "null") => Ok(start + length),
        _ => Err(Flaw { at: start, kind: Kind::UnquotedText }),
    }
}

/// Blanks that JSON does not know: full-width ones, unbreakable ones, and marks nobody sees.
fn is_odd_blank(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}')
}

/// What a mark stands for, and what it is called.
struct Mark {
    wanted: char,
    en: &'static str,
    ja: &'static str,
}

fn mark(character: char) -> Option<Mark> {
    let (wanted, en, ja) = match character {
        '“' | '”' | '„' | '‟' | '‘' | '’' => {
            ('"', "a curly quotation mark", "文章用の（曲がった）引用符")
        }
        '＂' | '＇' => ('"', "a full-width quotation mark", "全角の引用符"),
        '\'' => ('"', "an apostrophe", "一重の引用符"),
        '「' | '」' | '『' | '』' => ('"', "a corner bracket", "かぎかっこ"),
        '：' => (':', "a full-width colon", "全角のコロン"),
        '，' => (',', "a full-width comma", "全角のコンマ"),
        '、' | '､' => (',', "a Japanese comma", "読点"),
        '｛' => ('{', "a full-width bracket", "全角のかっこ"),
        '｝' => ('}', "a full-width bracket", "全角のかっこ"),
        '［' => ('[', "a full-width bracket", "全角のかっこ"),
        '］' => (']', "a full-width bracket", "全角のかっこ"),
        _ => return None,
    };
    Some(Mark { wanted, en, ja })
}

/// Tells whether a text that `open` opens ends with `character`.
fn closes(open: char, character: char) -> bool {
    match open {
        '"' => character == '"',
        '「' => character == '」',
        '『' => character == '』',
        '‘' | '’' | '\'' | '＇' => matches!(character, '‘' | '’' | '\'' | '＇'),
        _ => matches!(character, '"' | '“' | '”' | '„' | '‟' | '＂'),
    }
}

/// Returns what makes JSON of a text whose only flaws are marks outside of texts and line breaks inside of them.
///
/// Nothing is guessed: if the text is not JSON after that, there is no answer.
fn mended(text: &str) -> Option<Vec<Edit>> {
    let mut edits = Vec::new();
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let replaced = |text: &str| Edit { range: at..at + character.len_utf8(), text: text.to_owned() };
        let wanted = mark(character).map(|mark| mark.wanted);
        if character != '"' && wanted != Some('"') {
            edits.extend(wanted.map(|wanted| replaced(&wanted.to_string())));
            if is_odd_blank(character) && !character.is_ascii() {
                edits.push(replaced(" "));
            }
            continue;
        }
        if character != '"' {
            edits.push(replaced("\""));
        }
        loop {
            let (at, inner) = characters.next()?;
            let replaced = |text: &str| Edit { range: at..at + inner.len_utf8(), text: text.to_owned() };
            match inner {
                _ if closes(character, inner) => {
                    if inner != '"' {
                        edits.push(replaced("\""));
                    }
                    break;
                }
                // It would end the text too early.
                '"' => return None,
                '\\' => drop(characters.next()),
                '\t' => edits.push(replaced("\\t")),
                '\r' if characters.peek().is_some_and(|(_, next)| *next == '\n') => edits.push(replaced("")),
                '\n' | '\r' => edits.push(replaced("\\n")),
                _ => {}
            }
        }
    }
    scan(&edited(text, &edits)).is_ok().then_some(edits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flaw(text: &str) -> (usize, Kind) {
        let Flaw { at, kind } = scan(text).unwrap_err();
        (text.get(..at).unwrap().chars().count(), kind)
    }

    #[test]
    fn every_flaw_is_named_where_it_is() {
        for (text, found) in [
            ("{“a”:1}", (1, Kind::Mark('“'))),
            ("{\"あ\"：1}", (4, Kind::Mark('：'))),
            ("{\"a\":1，\"b\":2}", (6, Kind::Mark('，'))),
            ("｛}", (0, Kind::Mark('｛'))),
            ("{'a':1}", (1, Kind::Mark('\''))),
            ("{\"a\":1,,\"b\":2}", (7, Kind::ExtraComma)),
            ("{\"a\":1 \"b\":2}", (7, Kind::MissingComma)),
            ("{\"a\":\"x\"y\"}", (8, Kind::QuoteInText)),
            ("{\"a\" 1}", (5, Kind::MissingColon)),
            ("{a:1}", (1, Kind::UnquotedKey)),
            ("{\"a\":}", (5, Kind::UnquotedText)),
            ("{\"a\":2025-04-01}", (5, Kind::UnquotedText)),
            ("{\"a\":True}", (5, Kind::UnquotedText)),
            ("{\"a\":nul}", (5, Kind::UnquotedText)),
            ("{// x\n}", (1, Kind::Comment)),
            ("{\"a\":[1}", (7, Kind::WrongBracket { found: '}', wanted: ']' })),
            ("{\"a\":[1", (5, Kind::Unclosed('['))),
            ("{\"a\":\"b", (5, Kind::Unclosed('"'))),
            ("{} {}", (3, Kind::AfterEnd)),
            ("{\"a\":\"b\nc\"}", (7, Kind::LineBreak)),
            ("{\"a\":\"\tc\"}", (6, Kind::Control)),
            ("{\"a\":\"\\x\"}", (6, Kind::Escape)),
            ("{\"a\":\"\\u12\"}", (6, Kind::Escape)),
        ] {
            assert_eq!(flaw(text), found, "{text}");
        }
    }

    #[test]
    fn what_serde_reads_is_read_and_nothing_else_but_commas_and_blanks() {
        for text in ["{}", " [1, -2.5e+3, \"\\u00e9\\\"\", true, null, {\"a\": []}] ", "\"x\"", "0"] {
            assert!(matches!(clean(text).unwrap().text, Cow::Borrowed(_)), "{text}");
        }
        for text in ["{\"a\":[1,],}", "{\u{3000}\"a\":\u{a0}[1]}", "[[],]"] {
            let clean = clean(text).unwrap();
            assert_eq!(clean.text.len(), text.len());
            assert!(!clean.faults.is_empty());
            serde_json::from_str::<serde_json::Value>(&clean.text).unwrap();
        }
        for text in ["", "01", "[,]", "{\"a\":1,,}", "-", "1.", "[1 2]", "{\"a\"}", "]", "tru", "{,}"] {
            assert!(scan(text).is_err(), "{text}");
            assert!(serde_json::from_str::<serde_json::Value>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_million_brackets_do_not_overflow_the_stack() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(500_000), "]".repeat(500_000));
        assert!(scan(&deep).is_ok());
        assert!(scan(&"{\"a\":".repeat(200_000)).is_err());
    }

    #[test]
    fn marks_are_mended_outside_of_texts_only_and_never_by_a_guess() {
        let mended = |text: &str| mended(text).map(|edits| edited(text, &edits));
        for (text, after) in [
            ("｛“a”：“「い」、ろ：は”，\"b\"：［1，2］｝", "{\"a\":\"「い」、ろ：は\",\"b\":[1,2]}"),
            ("{'a':'b'}", "{\"a\":\"b\"}"),
            ("{「a」:『b』}", "{\"a\":\"b\"}"),
            ("{\"a\":\"上の句\r\n下の句\"}", "{\"a\":\"上の句\\n下の句\"}"),
            ("{\u{3000}“a\":1}", "{ \"a\":1}"),
        ] {
            assert_eq!(mended(text).as_deref(), Some(after), "{text}");
        }
        for text in
            ["{“a”:“彼は”はい”と”}", "{“a”:“say \"hi\" now”}", "{\"a\":\"b,\n\"c\":1}", "{\"a”:1}", "{“a”:1"]
        {
            assert_eq!(mended(text), None, "{text}");
        }
    }

    #[test]
    fn fixing_removes_the_comma_and_nothing_else() {
        let text = "{\"a\": [1,\n],\u{3000}}";
        let edits: Vec<Edit> =
            clean(text).unwrap().faults.into_iter().flat_map(|fault| fault.edits.unwrap()).collect();
        assert_eq!(edited(text, &edits), "{\"a\": [1\n] }");
    }
}
