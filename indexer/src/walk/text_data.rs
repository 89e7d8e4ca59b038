//! `TextData{rank}.json`: the words of one entry.

use serde_json::value::RawValue;
use wakashu_archive::{EntryDraft, MAX_ENTRY_TEXT_BYTES, PROMPT_LABEL, escape_into};

use super::fault::Fault;
use super::json::{Members, Parsed, array, compact, key_span, kind, member_at, place_of, read, string};
use super::names;
use crate::problem::Edit;
use crate::words::texts::{self as words, Cure};

/// The largest text file that is read.
pub(crate) const MAX_TEXT_FILE_BYTES: u64 = 1 << 20;

const ACCOUNT: &str = "AccountName";
const POEM: &str = "HonkadoriWaka";
const HONKA: &str = "Honka";
const PROMPT: &str = "Prompt";
const YOMI: &str = "Yomi";

/// Keys without which there is no entry.
const REQUIRED: [&str; 4] = [ACCOUNT, POEM, HONKA, PROMPT];

/// Reads the words of the entry ranked `rank`, and says everything that is wrong with them. There are words if nothing
/// of that is an error.
pub fn parse(bytes: &[u8], rank: u32) -> Parsed<Option<EntryDraft>> {
    let mut parsed = read(bytes, |text, faults| match Members::parse(text) {
        Ok(members) => Some(draft(text, &members, rank, faults)),
        Err(fault) => {
            faults.push(fault);
            None
        }
    });
    if parsed.faults.iter().any(Fault::is_error) {
        parsed.value = None;
    }
    parsed
}

fn draft(text: &str, members: &Members<'_>, rank: u32, faults: &mut Vec<Fault>) -> EntryDraft {
    let mut draft = EntryDraft { rank, ..EntryDraft::default() };
    let twice = members.duplicated_keys();
    for (key, value) in &twice {
        faults.push(Fault::error(words::key_twice(key)).at(member_at(text, value)));
    }
    if !twice.is_empty() {
        return draft;
    }
    for (key, value) in &members.0 {
        let result = match key.as_str() {
            ACCOUNT => filled_text(text, key, value).map(|text| draft.account = text),
            POEM => filled_text(text, key, value).map(|text| draft.poem = text),
            HONKA => links(text, value).map(|links| draft.honka = links),
            PROMPT => plain_text(text, key, value).map(|text| draft.prompt = text),
            YOMI => plain_text(text, key, value).map(|text| draft.yomi = Some(text)),
            _ => {
                if is_alike(key, YOMI) || is_near(key, YOMI) {
                    faults.push(Fault::warning(words::key_near(key, YOMI)).at(member_at(text, value)));
                }
                extra(text, value).map(|text| draft.extras.push((key.clone(), text)))
            }
        };
        faults.extend(result.err());
    }
    let missing: Vec<&str> =
        REQUIRED.into_iter().filter(|name| members.0.iter().all(|(key, _)| key != name)).collect();
    for name in missing {
        faults.push(absent(text, name, members));
    }
    if !faults.iter().any(Fault::is_error) {
        let found = shown_bytes(&draft);
        if found > MAX_ENTRY_TEXT_BYTES {
            faults.push(Fault::error(words::too_long(found, MAX_ENTRY_TEXT_BYTES)));
        }
    }
    draft
}

/// Says that a key is missing; points at one that was probably meant for it, or at the object.
fn absent(text: &str, name: &str, members: &Members<'_>) -> Fault {
    // A key with a meaning of its own was not meant to be another.
    let others = || members.0.iter().filter(|(key, _)| key != YOMI && !REQUIRED.contains(&key.as_str()));
    let told = |cure: &Cure<'_>| Fault::error(words::key_missing(name, &REQUIRED, cure));
    if let Some((key, value)) = others().find(|(key, _)| is_alike(key, name)) {
        let fault = told(&Cure::Respell(key)).at(member_at(text, value));
        return match key_span(text, value) {
            Some(range) => fault.fixed_by(vec![Edit { range, text: format!("\"{name}\"") }]),
            None => fault,
        };
    }
    if let Some((key, value)) = others().find(|(key, _)| is_near(key, name)) {
        return told(&Cure::Near(key)).at(member_at(text, value));
    }
    let cure = match name {
        HONKA => Cure::Add("[\"https://…\"]", Some("[]")),
        PROMPT => Cure::Add("\"…\"", Some("\"\"")),
        _ => Cure::Add("\"…\"", None),
    };
    told(&cure).around(text.find('{').unwrap_or_default())
}

/// Tells whether two keys differ in letter case, width and blanks only.
pub(super) fn is_alike(key: &str, name: &str) -> bool {
    names::plain(key) == names::plain(name)
}

/// Tells whether a key is a slip of the finger away: one letter in four may differ.
pub(super) fn is_near(key: &str, name: &str) -> bool {
    let (key, name): (Vec<char>, Vec<char>) =
        (names::plain(key).chars().collect(), names::plain(name).chars().collect());
    key.len().abs_diff(name.len()) <= 3 && distance(&key, &name) <= (name.len() / 4).min(3)
}

/// Counts the letters to be changed, added or left out to make one word of the other.
fn distance(one: &[char], other: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.iter().enumerate() {
        let mut diagonal = at;
        let mut left = at + 1;
        for (cell, other) in row.iter_mut().skip(1).zip(other) {
            let changed = diagonal + usize::from(letter != other);
            diagonal = *cell;
            *cell = changed.min(diagonal + 1).min(left + 1);
            left = *cell;
        }
        if let Some(first) = row.first_mut() {
            *first = at + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

fn plain_text(text: &str, key: &str, value: &RawValue) -> Result<String, Fault> {
    string(text, value).unwrap_or_else(|| {
        Err(Fault::error(words::must_be_string(key, kind(value))).at(place_of(text, value)))
    })
}

fn filled_text(text: &str, key: &str, value: &RawValue) -> Result<String, Fault> {
    let found = plain_text(text, key, value)?;
    if found.trim().is_empty() {
        return Err(Fault::error(words::empty(key)).at(place_of(text, value)));
    }
    Ok(found)
}

fn links(text: &str, value: &RawValue) -> Result<Vec<String>, Fault> {
    let wrong = |value: &RawValue, position| {
        Fault::error(words::must_be_list(HONKA, kind(value), position)).at(place_of(text, value))
    };
    let items = array(value).ok_or_else(|| wrong(value, None))?;
    let mut links = Vec::with_capacity(items.len());
    for (position, item) in items.into_iter().enumerate() {
        links.push(string(text, item).ok_or_else(|| wrong(item, Some(position + 1)))??);
    }
    Ok(links)
}

/// A key the contract does not name: a string is shown as it is, anything else as compact JSON.
fn extra(text: &str, value: &RawValue) -> Result<String, Fault> {
    string(text, value).unwrap_or_else(|| Ok(compact(value)))
}

/// Returns how many bytes the entry's text takes in the archive; the writer refuses more than its limit.
fn shown_bytes(draft: &EntryDraft) -> usize {
    let mut text = format!("{}位：", draft.rank);
    let line_break = "\\n".len();
    let mut frame = line_break * (1 + draft.honka.len() + draft.extras.len());
    if !draft.prompt.is_empty() {
        frame += 2 * line_break + PROMPT_LABEL.len();
    }
    let extras = draft.extras.iter().flat_map(|(key, value)| [key, value]);
    for part in [&draft.account, &draft.poem, &draft.prompt].into_iter().chain(&draft.honka).chain(extras) {
        escape_into(&mut text, part);
    }
    text.len() + frame + ": ".len() * draft.extras.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Vec<String> {
        parse(text.as_bytes(), 1).faults.iter().map(|fault| fault.message().to_owned()).collect()
    }

    #[test]
    fn text_is_kept_exactly_and_extras_in_file_order() {
        let text = "\u{feff}{\r\n\"z\": {\"b\": 1, \"a\": 1e400},\"AccountName\":\" @L \",\"Yomi\":\"よみ\",\
            \"HonkadoriWaka\":\"が\\u304b\\u3099\\n\",\"Honka\":[\"https://a\"],\"Prompt\":\"\",\"a\":\"x\"}\r\n";
        let draft = parse(text.as_bytes(), 7).value.unwrap();
        assert_eq!((draft.rank, draft.account.as_str(), draft.poem.as_str()), (7, " @L ", "がか\u{3099}\n"));
        assert_eq!((draft.honka, draft.prompt), (vec!["https://a".to_owned()], String::new()));
        assert_eq!(draft.yomi.as_deref(), Some("よみ"));
        assert_eq!(draft.extras, [("z".into(), "{\"b\":1,\"a\":1e400}".into()), ("a".into(), "x".into())]);
    }

    #[test]
    fn every_fault_of_a_file_is_named_at_once() {
        let found = faults(
            "{\"AccountName\":1,\"Honka\":\"https://a\",\"prompt\":\"\",\"HonkadoriWaka\":\" \",\"Yomi\":null}",
        );
        assert_eq!(found.len(), 5, "{found:?}");
        for part in ["`AccountName` must be a string, found a number", "`Prompt` is missing", "`Yomi` must"] {
            assert!(found.iter().any(|message| message.contains(part)), "{part}: {found:?}");
        }
        assert!(faults("{\"Honka\":[\"a\",2]}")[0].contains("a number at position 2"));
        assert!(faults("{\"a\":1,\"a\":2}")[0].contains("`a` stands more than once"));
    }

    fn place(text: &str) -> (usize, usize, Option<Vec<Edit>>) {
        let fault = parse(text.as_bytes(), 1).faults.into_iter().find(Fault::is_error).unwrap();
        let place = fault.place.unwrap();
        (place.line, place.column, fault.edits)
    }

    #[test]
    fn a_missing_key_points_at_what_was_meant_or_at_the_object() {
        let rest = "\"HonkadoriWaka\":\"p\",\"Honka\":[],\"Prompt\":\"\"";
        assert_eq!(place(&format!("\n {{{rest}}}")), (2, 2, None));
        let near = format!("{{{rest},\n  \"AcountName\":\"@\"}}");
        assert_eq!(place(&near), (2, 3, None));
        assert!(faults(&near).len() == 1 && faults(&near)[0].contains("`AccountName` is missing"));
        let respelt = format!("{{{rest},\n\"ａccountname \":\"@\"}}");
        let (line, column, edits) = place(&respelt);
        let edits = edits.unwrap();
        assert_eq!((line, column, edits[0].text.as_str()), (2, 1, "\"AccountName\""));
        let mended = super::super::syntax::edited(&respelt, &edits);
        assert_eq!(parse(mended.as_bytes(), 1).value.unwrap().account, "@");
    }

    #[test]
    fn keys_for_programs_are_never_shown_and_slips_of_known_ones_are_told() {
        let text = "{\"$schema\":\"x\",\"$comment\":1,\"AccountName\":\"@\",\"HonkadoriWaka\":\"p\",\"Honka\":[],\
            \"Prompt\":\"\",\"Yomo\":\"よみ\",\"題\":\"冬\",}";
        let parsed = parse(text.as_bytes(), 1);
        assert_eq!(parsed.value.unwrap().extras.len(), 2);
        let said: Vec<_> = parsed.faults.iter().map(|fault| fault.wording.code).collect();
        assert_eq!(said, ["JSON_TRAILING_COMMA", "KEY_NEAR"]);
    }

    #[test]
    fn stored_size_is_measured_as_the_writer_does() {
        use wakashu_archive::{ContentHash, RoundDraft, Writer};
        let entry = |filler: usize| {
            let text = "\"".repeat(filler);
            EntryDraft {
                rank: 12,
                account: "@a".into(),
                poem: "p".into(),
                honka: vec!["h".into(), "i\n".into()],
                prompt: "q".into(),
                extras: vec![("k".into(), text)],
                ..EntryDraft::default()
            }
        };
        let fixed = shown_bytes(&entry(0));
        let filler = (MAX_ENTRY_TEXT_BYTES - fixed) / 2;
        for (filler, fits) in [(filler, true), (filler + 1, false)] {
            let draft = entry(filler);
            assert_eq!(shown_bytes(&draft) <= MAX_ENTRY_TEXT_BYTES, fits);
            let mut writer = Writer::new(Vec::new()).unwrap();
            writer.begin_round(RoundDraft { title: "第1回".into(), ..RoundDraft::default() }).unwrap();
            let written = writer
                .entry(draft)
                .and_then(|()| writer.finish(String::new(), String::new(), ContentHash::of(b"")).map(|_| ()));
            assert_eq!(written.is_ok(), fits);
        }
    }
}
