//! Everything a curator is told: one function per sentence, each in both languages.
//!
//! A function returns both languages at once, so a sentence without its translation does not compile. Which of the two
//! is shown is decided when it is printed. Names and other values of the collection are made safe to print here.

use serde::{Serialize, Serializer};

use crate::problem::printable;

pub(crate) mod archive;
pub(crate) mod bundle;
pub(crate) mod collection;
pub(crate) mod curating;
pub(crate) mod failure;
pub(crate) mod help;
pub(crate) mod json;
mod language;
pub(crate) mod names;
pub(crate) mod periods;
pub(crate) mod pictures;
pub(crate) mod site;
pub(crate) mod talk;
pub(crate) mod texts;
pub(crate) mod versions;

pub use language::Language;

/// What is wrong and what to do, in one language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// What was found and what was expected.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
}

/// One thing to tell, in both languages, under a code that stays the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wording {
    /// Names the kind of problem, for programs: `KEY_MISSING`.
    pub code: &'static str,
    /// In English.
    pub en: Said,
    /// In Japanese.
    pub ja: Said,
}

impl Wording {
    fn new(
        code: &'static str,
        (en, en_hint): (impl AsRef<str>, impl AsRef<str>),
        (ja, ja_hint): (impl AsRef<str>, impl AsRef<str>),
    ) -> Self {
        let hint = |hint: &str| Some(printable(hint).into_owned());
        Self {
            en: Said { hint: hint(en_hint.as_ref()), ..Said::bare(en.as_ref()) },
            ja: Said { hint: hint(ja_hint.as_ref()), ..Said::bare(ja.as_ref()) },
            code,
        }
    }

    /// Makes a wording that has nothing to advise.
    fn bare(code: &'static str, en: impl AsRef<str>, ja: impl AsRef<str>) -> Self {
        Self { code, en: Said::bare(en.as_ref()), ja: Said::bare(ja.as_ref()) }
    }

    /// Returns it in one language.
    #[must_use]
    pub fn said(&self, language: Language) -> &Said {
        match language {
            Language::English => &self.en,
            Language::Japanese => &self.ja,
        }
    }
}

impl Said {
    fn bare(message: &str) -> Self {
        Self { message: printable(message).into_owned(), hint: None }
    }
}

/// One sentence told by the way, in both languages. Programs get the English one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// In English.
    pub en: String,
    /// In Japanese.
    pub ja: String,
}

impl Remark {
    fn new(en: impl Into<String>, ja: impl Into<String>) -> Self {
        Self { en: en.into(), ja: ja.into() }
    }

    /// Returns it in one language.
    #[must_use]
    pub fn said(&self, language: Language) -> &str {
        match language {
            Language::English => &self.en,
            Language::Japanese => &self.ja,
        }
    }
}

impl Serialize for Remark {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.en)
    }
}

/// Returns names as a list: `` `a`, `b` `` in English, 「a」「b」 in Japanese.
fn listed(names: &[String]) -> (String, String) {
    let ja = format!("「{}」", names.join("」「"));
    (format!("`{}`", names.join("`, `")), ja)
}

/// Returns the reason of the system with what it means in Japanese.
fn reason(error: &std::io::Error) -> (String, String) {
    let en = error.to_string();
    let ja = match error.kind() {
        std::io::ErrorKind::PermissionDenied => "権限がありません".to_owned(),
        std::io::ErrorKind::NotFound => "見つかりません".to_owned(),
        std::io::ErrorKind::AlreadyExists => "すでにあります".to_owned(),
        std::io::ErrorKind::IsADirectory => "フォルダーです".to_owned(),
        std::io::ErrorKind::NotADirectory => "フォルダーではありません".to_owned(),
        std::io::ErrorKind::StorageFull => "ディスクの空きがありません".to_owned(),
        std::io::ErrorKind::ReadOnlyFilesystem => "書き込めない場所です".to_owned(),
        _ => en.clone(),
    };
    (en, ja)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    /// Returns what stands between two marks and looks like a code.
    fn codes(text: &str, mark: char) -> BTreeSet<String> {
        let is_code = |part: &&str| {
            part.len() > 3
                && part
                    .chars()
                    .all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_')
        };
        text.split(mark).filter(is_code).map(str::to_owned).collect()
    }

    #[test]
    fn every_code_of_a_problem_is_in_the_readme() {
        let crate_ = Path::new(env!("CARGO_MANIFEST_DIR"));
        let readme = fs::read_to_string(crate_.join("README.md")).unwrap();
        let listed = readme.split("### Codes\n").nth(1).unwrap().split("\n### ").next().unwrap();
        let sentences = fs::read_dir(crate_.join("src/words")).unwrap().map(|file| file.unwrap().path());
        // Those are names of variables.
        let sentences = sentences.filter(|path| !path.ends_with("language.rs"));
        let used: BTreeSet<String> =
            sentences.flat_map(|path| codes(&fs::read_to_string(path).unwrap(), '"')).collect();
        assert!(used.contains("DATE") && used.contains("ONLY_DRAFTS"), "{used:?}");
        assert_eq!(codes(listed, '`'), used);
    }
}
