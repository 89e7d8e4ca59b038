//! `TextData{rank}.json`: the words of one entry.

use serde_json::value::RawValue;
use wakashu_archive::{EntryDraft, MAX_ENTRY_TEXT_BYTES, PROMPT_LABEL, escape_into};

use super::json::{Fault, Members, array, compact, kind, string, text_of};

/// The largest text file that is read.
pub(crate) const MAX_TEXT_FILE_BYTES: u64 = 1 << 20;

const ACCOUNT: &str = "AccountName";
const POEM: &str = "HonkadoriWaka";
const HONKA: &str = "Honka";
const PROMPT: &str = "Prompt";
const YOMI: &str = "Yomi";

/// Reads the words of the entry ranked `rank`, or says everything that is wrong with them.
pub fn parse(bytes: &[u8], rank: u32) -> Result<EntryDraft, Vec<Fault>> {
    let text = text_of(bytes).map_err(|fault| vec![fault])?;
    let members = Members::parse(text).map_err(|fault| vec![fault])?;
    let mut faults: Vec<Fault> = members
        .duplicated_keys()
        .into_iter()
        .map(|key| Fault::new(format!("key `{key}` stands more than once"), "keep one of them"))
        .collect();
    if !faults.is_empty() {
        return Err(faults);
    }

    let mut draft = EntryDraft { rank, ..EntryDraft::default() };
    let mut required = [(ACCOUNT, false), (POEM, false), (HONKA, false), (PROMPT, false)];
    for (key, value) in &members.0 {
        for (name, seen) in &mut required {
            *seen |= key == name;
        }
        let result = match key.as_str() {
            ACCOUNT => filled_text(key, value).map(|text| draft.account = text),
            POEM => filled_text(key, value).map(|text| draft.poem = text),
            HONKA => links(value).map(|links| draft.honka = links),
            PROMPT => plain_text(key, value).map(|text| draft.prompt = text),
            YOMI => plain_text(key, value).map(|text| draft.yomi = Some(text)),
            _ => extra(value).map(|text| draft.extras.push((key.clone(), text))),
        };
        faults.extend(result.err());
    }
    for (name, _) in required.iter().filter(|(_, seen)| !seen) {
        faults.push(missing(name, &members));
    }
    if faults.is_empty() {
        let found = shown_bytes(&draft);
        if found > MAX_ENTRY_TEXT_BYTES {
            faults.push(Fault::new(
                format!("text has {found} bytes as stored; at most {MAX_ENTRY_TEXT_BYTES} are accepted"),
                "shorten the text",
            ));
        }
    }
    if faults.is_empty() { Ok(draft) } else { Err(faults) }
}

fn missing(name: &str, members: &Members<'_>) -> Fault {
    let alike = members.0.iter().find(|(key, _)| key.trim().eq_ignore_ascii_case(name));
    let hint = match alike {
        Some((key, _)) => format!("rename key `{key}` to `{name}`"),
        None if name == HONKA => format!("add \"{name}\": [\"https://…\"], or [] if there is none"),
        None if name == PROMPT => format!("add \"{name}\": \"…\", or \"\" if there is none"),
        None => format!("add \"{name}\": \"…\""),
    };
    Fault::new(
        format!("key `{name}` is missing; `{ACCOUNT}`, `{POEM}`, `{HONKA}` and `{PROMPT}` are required"),
        hint,
    )
}

fn plain_text(key: &str, value: &RawValue) -> Result<String, Fault> {
    string(value).unwrap_or_else(|| {
        Err(Fault::new(
            format!("`{key}` must be a string, found {}", kind(value)),
            format!("write \"{key}\": \"…\""),
        ))
    })
}

fn filled_text(key: &str, value: &RawValue) -> Result<String, Fault> {
    let text = plain_text(key, value)?;
    if text.trim().is_empty() {
        return Err(Fault::new(
            format!("`{key}` is empty; expected a text"),
            format!("write \"{key}\": \"…\""),
        ));
    }
    Ok(text)
}

fn links(value: &RawValue) -> Result<Vec<String>, Fault> {
    let wrong = |found: &str| {
        Fault::new(
            format!("`{HONKA}` must be an array of strings, found {found}"),
            format!("write \"{HONKA}\": [\"https://…\"], or [] if there is none"),
        )
    };
    let items = array(value).ok_or_else(|| wrong(kind(value)))?;
    let mut links = Vec::with_capacity(items.len());
    for (position, item) in items.into_iter().enumerate() {
        let link =
            string(item).ok_or_else(|| wrong(&format!("{} at position {}", kind(item), position + 1)))?;
        links.push(link?);
    }
    Ok(links)
}

/// A key the contract does not name: a string is shown as it is, anything else as compact JSON.
fn extra(value: &RawValue) -> Result<String, Fault> {
    string(value).unwrap_or_else(|| Ok(compact(value)))
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
        parse(text.as_bytes(), 1).err().unwrap_or_default().into_iter().map(|fault| fault.message).collect()
    }

    #[test]
    fn text_is_kept_exactly_and_extras_in_file_order() {
        let text = "\u{feff}{\r\n\"z\": {\"b\": 1, \"a\": 1e400},\"AccountName\":\" @L \",\"Yomi\":\"よみ\",\
            \"HonkadoriWaka\":\"が\\u304b\\u3099\\n\",\"Honka\":[\"https://a\"],\"Prompt\":\"\",\"a\":\"x\"}\r\n";
        let draft = parse(text.as_bytes(), 7).unwrap();
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
