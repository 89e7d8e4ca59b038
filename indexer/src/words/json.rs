//! About the form of JSON files: encodings, marks, commas.

use super::Wording;

const FIX: &str = "; `check --fix` does it";
const FIX_JA: &str = "check --fix でも直せます。";

/// What a JSON value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Object,
    Array,
    String,
    Bool,
    Null,
    Number,
}

impl Kind {
    pub(crate) fn en(self) -> &'static str {
        match self {
            Self::Object => "an object",
            Self::Array => "an array",
            Self::String => "a string",
            Self::Bool => "true or false",
            Self::Null => "null",
            Self::Number => "a number",
        }
    }

    pub(crate) fn ja(self) -> &'static str {
        match self {
            Self::Object => "「{ }」で囲んだまとまり",
            Self::Array => "「[ ]」で囲んだ並び",
            Self::String => "「\"」で囲んだ文字",
            Self::Bool => "「true」か「false」",
            Self::Null => "「null」",
            Self::Number => "数",
        }
    }
}

/// An encoding other than UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf16,
    ShiftJis,
    EucJp,
}

impl Encoding {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Utf16 => "UTF-16",
            Self::ShiftJis => "Shift_JIS",
            Self::EucJp => "EUC-JP",
        }
    }
}

/// Read all the same: the file itself says that it is UTF-16.
pub(crate) fn utf16_read() -> Wording {
    Wording::new(
        "ENCODING_UTF16",
        ("file is UTF-16 and is read as such; expected UTF-8", format!("save the file as UTF-8{FIX}")),
        (
            "文字コードが UTF-16 です。読めましたが、正しくは UTF-8 です。",
            format!("UTF-8 で保存し直してください。{FIX_JA}"),
        ),
    )
}

pub(crate) fn other_encoding(encoding: Encoding, fixable: bool) -> Wording {
    let name = encoding.name();
    let (fix, fix_ja) = if fixable { (FIX, FIX_JA) } else { ("", "") };
    Wording::new(
        "ENCODING",
        (format!("file is {name}; expected UTF-8"), format!("save the file as UTF-8{fix}")),
        (
            format!("文字コードが {name} です。UTF-8 でなければ読めません。"),
            format!("UTF-8 で保存し直してください。{fix_ja}"),
        ),
    )
}

pub(crate) fn not_utf8() -> Wording {
    Wording::new(
        "ENCODING",
        ("file is not UTF-8; expected UTF-8", "save the file as UTF-8"),
        ("文字コードが UTF-8 ではありません。", "UTF-8 で保存し直してください。"),
    )
}

pub(crate) fn empty() -> Wording {
    Wording::new(
        "JSON_EMPTY",
        ("file is empty; expected JSON", "write the JSON object this file is for"),
        ("ファイルが空です。JSON が必要です。", "ほかの歌のファイルをまねて、中身を書いてください。"),
    )
}

pub(crate) fn not_an_object(found: Kind) -> Wording {
    Wording::new(
        "JSON_OBJECT",
        (
            format!("expected a JSON object, found {}", found.en()),
            "begin the file with `{` and end it with `}`",
        ),
        (
            format!("JSON 全体は {{ }} で囲みます。今は{}が書かれています。", found.ja()),
            "ファイルを { で始めて } で終えてください。",
        ),
    )
}

fn invalid(code: &'static str, en: (String, String), ja: (String, String)) -> Wording {
    Wording::new(
        code,
        (format!("file is not valid JSON: {}", en.0), en.1),
        (format!("JSON の書き方が違います。{}", ja.0), ja.1),
    )
}

fn with(fixable: bool) -> (&'static str, &'static str) {
    if fixable { (FIX, FIX_JA) } else { ("", "") }
}

/// A mark from an East Asian keyboard or a word processor in the place of a mark of JSON.
pub(crate) fn wrong_mark(found: char, name: &str, name_ja: &str, wanted: char, fixable: bool) -> Wording {
    let (fix, fix_ja) = with(fixable);
    invalid(
        "JSON_MARK",
        (format!("`{found}` is {name}; expected `{wanted}`"), format!("write `{wanted}` instead{fix}")),
        (format!("「{found}」は{name_ja}です。"), format!("半角の {wanted} に変えてください。{fix_ja}")),
    )
}

pub(crate) fn trailing_comma() -> Wording {
    Wording::new(
        "JSON_TRAILING_COMMA",
        ("comma before the closing bracket is passed over", format!("remove the comma{FIX}")),
        (
            "閉じかっこの直前に、余分なコンマがあります。ないものとして読みました。",
            format!("コンマを消してください。{FIX_JA}"),
        ),
    )
}

pub(crate) fn odd_blank() -> Wording {
    Wording::new(
        "JSON_BLANK",
        (
            "full-width or invisible blank between the parts of the JSON is passed over",
            format!("write an ordinary blank instead{FIX}"),
        ),
        (
            "JSON の区切りに、全角の空白か見えない空白があります。ふつうの空白として読みました。",
            format!("半角の空白に変えてください。{FIX_JA}"),
        ),
    )
}

pub(crate) fn extra_comma() -> Wording {
    invalid(
        "JSON_COMMA",
        ("comma without a value before it".into(), "remove the comma".into()),
        ("コンマの前に何もありません。".into(), "このコンマを消してください。".into()),
    )
}

pub(crate) fn missing_comma() -> Wording {
    invalid(
        "JSON_COMMA",
        ("comma is missing before this".into(), "put a comma between the two members".into()),
        ("この前にコンマがありません。".into(), "前の項目の終わりに , を書いてください。".into()),
    )
}

/// A text ended earlier than meant, most often because a quotation mark stands in it.
pub(crate) fn quote_in_text() -> Wording {
    invalid(
        "JSON_QUOTE",
        (
            "text goes on after its closing quotation mark".into(),
            "write a quotation mark inside a text as \\\", and close the text with a plain `\"`".into(),
        ),
        (
            "閉じる \" のあとに、文字が続いています。".into(),
            "文章の中の \" は \\\" と書いてください。文章の終わりは半角の \" で閉じてください。".into(),
        ),
    )
}

pub(crate) fn missing_colon() -> Wording {
    invalid(
        "JSON_COLON",
        ("colon is missing after the key".into(), "write `:` between the key and its value".into()),
        ("項目の名前のあとに : がありません。".into(), "名前と値の間に : を書いてください。".into()),
    )
}

pub(crate) fn unquoted_key() -> Wording {
    invalid(
        "JSON_KEY",
        (
            "key must be a string".into(),
            "put quotes around the key, or remove a comma that no member follows".into(),
        ),
        (
            "項目の名前が \" で囲まれていません。".into(),
            "名前を \" で囲んでください。前に余分なコンマがあれば消してください。".into(),
        ),
    )
}

pub(crate) fn unquoted_text() -> Wording {
    invalid(
        "JSON_VALUE",
        ("expected a value".into(), "put quotes around a text: \"…\"; an empty one is \"\"".into()),
        (
            "値が書かれていないか、\" で囲まれていません。".into(),
            "文章は \"…\" のように囲んでください。空なら \"\" と書いてください。".into(),
        ),
    )
}

pub(crate) fn comment() -> Wording {
    invalid(
        "JSON_COMMENT",
        (
            "comments are not known to JSON".into(),
            "write it as a member: \"$comment\": \"…\"; it is not shown".into(),
        ),
        (
            "JSON には覚え書き（// や #）を書けません。".into(),
            "\"$comment\": \"…\" という項目にしてください。読者には見えません。".into(),
        ),
    )
}

pub(crate) fn wrong_bracket(found: char, wanted: char) -> Wording {
    invalid(
        "JSON_BRACKET",
        (format!("found `{found}`, expected `{wanted}`"), format!("close with `{wanted}`")),
        ("かっこの組が合いません。".into(), format!("{found} ではなく {wanted} で閉じてください。")),
    )
}

pub(crate) fn unclosed(mark: char) -> Wording {
    let (what, what_ja) = if mark == '"' {
        ("quotation mark", "この \" が閉じられていません")
    } else {
        ("bracket", "このかっこが閉じられていません")
    };
    let closing = match mark {
        '{' => '}',
        '[' => ']',
        other => other,
    };
    invalid(
        "JSON_UNCLOSED",
        (
            format!("this {what} is not closed; the file ends too early"),
            format!("write the closing `{closing}`"),
        ),
        (format!("{what_ja}。"), format!("終わりに {closing} を書いてください。")),
    )
}

pub(crate) fn after_end() -> Wording {
    invalid(
        "JSON_AFTER_END",
        ("trailing characters".into(), "only one JSON value may stand in the file".into()),
        (
            "JSON が終わったあとに、まだ何か書かれています。".into(),
            "一つのファイルに書けるのは一つのまとまりだけです。余分なところを別のファイルに移してください。"
                .into(),
        ),
    )
}

pub(crate) fn line_break(fixable: bool) -> Wording {
    let (fix, fix_ja) = with(fixable);
    invalid(
        "JSON_LINE_BREAK",
        (
            "line break inside a text".into(),
            format!(
                "write a line break inside a text as \\n{fix}; or close the text with `\"` before the line ends"
            ),
        ),
        (
            "文章の途中で改行しています。".into(),
            format!(
                "文章の中の改行は \\n と書いてください。{fix_ja}閉じる \" を忘れたのなら、行の終わりに書いてください。"
            ),
        ),
    )
}

pub(crate) fn control_character() -> Wording {
    invalid(
        "JSON_CONTROL",
        ("control character inside a text".into(), "remove it, or write it as \\t or \\u0000".into()),
        (
            "文章の中に、目に見えない文字（タブなど）があります。".into(),
            "その文字を消すか、タブなら \\t と書いてください。".into(),
        ),
    )
}

pub(crate) fn bad_escape() -> Wording {
    invalid(
        "JSON_ESCAPE",
        (
            "`\\` is followed by something it cannot escape".into(),
            "write a backslash as \\\\, a line break as \\n, a quotation mark as \\\"".into(),
        ),
        (
            "「\\」（または「¥」）のあとの文字が正しくありません。".into(),
            "改行は \\n、\" は \\\"、「\\」そのものは \\\\ と書いてください。".into(),
        ),
    )
}
