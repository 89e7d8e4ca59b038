//! About the words of an entry, and about keys.

use super::Wording;
use super::json::Kind;

pub(crate) fn key_twice(key: &str) -> Wording {
    Wording::new(
        "KEY_TWICE",
        (format!("key `{key}` stands more than once"), "keep one of them"),
        (format!("「{key}」が二つ以上あります。"), "一つだけ残してください。"),
    )
}

/// How a key that is missing can be had.
pub(crate) enum Cure<'a> {
    /// A key is there that differs in letter case, width or blanks only.
    Respell(&'a str),
    /// A key is there that is nearly the same.
    Near(&'a str),
    /// Add it with this value.
    Add(&'static str, Option<&'static str>),
}

pub(crate) fn key_missing(key: &str, required: &[&str], cure: &Cure<'_>) -> Wording {
    let (hint, hint_ja) = match cure {
        Cure::Respell(found) => (
            format!("rename key `{found}` to `{key}`; `check --fix` does it"),
            format!("「{found}」を「{key}」に変えてください。check --fix でも直せます。"),
        ),
        Cure::Near(found) => (
            format!("did you mean `{key}`? rename key `{found}`"),
            format!("「{found}」は「{key}」の書き間違いではありませんか。名前を直してください。"),
        ),
        Cure::Add(value, Some(none)) => (
            format!("add \"{key}\": {value}, or {none} if there is none"),
            format!("\"{key}\": {value} を加えてください。ないときは {none} と書きます。"),
        ),
        Cure::Add(value, None) => {
            (format!("add \"{key}\": {value}"), format!("\"{key}\": {value} を加えてください。"))
        }
    };
    let (last, others) = required.split_last().unwrap_or((&"", &[]));
    Wording::new(
        "KEY_MISSING",
        (format!("key `{key}` is missing; `{}` and `{last}` are required", others.join("`, `")), hint),
        (format!("「{key}」がありません。必ず書く項目は {} です。", required.join("、")), hint_ja),
    )
}

/// A key that readers see, although it looks like one that has a meaning.
pub(crate) fn key_near(found: &str, known: &str) -> Wording {
    Wording::new(
        "KEY_NEAR",
        (
            format!("key `{found}` is shown to readers as it is; did you mean `{known}`?"),
            format!("rename key `{found}` to `{known}`"),
        ),
        (
            format!(
                "「{found}」という項目は、歌のあとにそのまま表示されます。「{known}」の書き間違いではありませんか。"
            ),
            format!("「{known}」のつもりなら、名前を直してください。"),
        ),
    )
}

pub(crate) fn must_be_string(key: &str, found: Kind) -> Wording {
    Wording::new(
        "VALUE_KIND",
        (format!("`{key}` must be a string, found {}", found.en()), format!("write \"{key}\": \"…\"")),
        (
            format!("「{key}」には、「\"」で囲んだ文字を書きます。今は{}が書かれています。", found.ja()),
            format!("\"{key}\": \"…\" のように書いてください。"),
        ),
    )
}

pub(crate) fn empty(key: &str) -> Wording {
    Wording::new(
        "VALUE_EMPTY",
        (format!("`{key}` is empty; expected a text"), format!("write \"{key}\": \"…\"")),
        (format!("「{key}」が空です。"), format!("\"{key}\": \"…\" のように、中身を書いてください。")),
    )
}

/// `position` counts from 1, where one item of the list is wrong.
pub(crate) fn must_be_list(key: &str, found: Kind, position: Option<usize>) -> Wording {
    let (at, ja) = match position {
        Some(position) => {
            (format!(" at position {position}"), format!("{position} 番目は{}です。", found.ja()))
        }
        None => (String::new(), format!("今は{}が書かれています。", found.ja())),
    };
    Wording::new(
        "VALUE_KIND",
        (
            format!("`{key}` must be an array of strings, found {}{at}", found.en()),
            format!("write \"{key}\": [\"https://…\"], or [] if there is none"),
        ),
        (
            format!("「{key}」には、「\"」で囲んだ文字を「[ ]」の中に並べて書きます。{ja}"),
            format!("\"{key}\": [\"https://…\"] のように書いてください。ないときは [] と書きます。"),
        ),
    )
}

pub(crate) fn too_long(found: usize, most: usize) -> Wording {
    Wording::new(
        "TEXT_TOO_LONG",
        (format!("text has {found} bytes as stored; at most {most} are accepted"), "shorten the text"),
        (
            format!("文章が長すぎます（{found} バイト）。{most} バイトまで使えます。"),
            "文章を短くしてください。",
        ),
    )
}

pub(crate) fn empty_title() -> Wording {
    Wording::new(
        "VALUE_EMPTY",
        ("`Title` is empty; expected a text", "write a title, or remove the key"),
        (
            "「Title」が空です。",
            "和歌集の題を書いてください。題を決めないなら、「Title」の行を消してください。",
        ),
    )
}

/// A key that the collection's own file does not know.
pub(crate) fn key_unknown_in_collection(key: &str) -> Wording {
    Wording::new(
        "KEY_UNKNOWN",
        (
            format!("key `{key}` is not known here and is ignored"),
            "the collection has a `Title` and a `Description`",
        ),
        (
            format!("「{key}」という項目はありません。使われません。"),
            "ここに書けるのは「Title」（題）と「Description」（説明）です。",
        ),
    )
}

pub(crate) fn key_cut_short((field, field_ja): (&str, &str), kib: usize) -> Wording {
    Wording::new(
        "SEARCH_CUT",
        (
            format!("{field} is too long to be searched whole: its search key ends after {kib} KiB"),
            "shorten it, or leave it: it is served whole",
        ),
        (
            format!("{field_ja}が長いので、初めの{kib} KiB ほどまでしか検索できません。"),
            "短くしても、そのままでもかまいません。文章は全文が読者に届きます。",
        ),
    )
}
