//! A call's arguments, checked against the tool's own definition.

use std::borrow::Cow;

use wakashu_archive::{RankRange, bare_number};

use crate::fault::{Received, ToolError};
use crate::tools::{Kind, Parameter, Tool};
use wakashu_wire::{Members, Raw, string};

/// The argument that goes on with a list.
pub(super) const CURSOR: Parameter = Parameter {
    name: "cursor",
    kind: Kind::Text { max_characters: 200 },
    pattern: Some("^[A-Za-z0-9_-]*$"),
    description: "前の答えの nextCursor。",
    default: None,
    required: false,
};

/// A value that passed its parameter's rules.
#[derive(Debug)]
enum Value<'a> {
    Text(Cow<'a, str>),
    Integer(u64),
}

/// The arguments of one call, in the order of the tool's parameters, defaults filled in.
#[derive(Debug, Default)]
pub(crate) struct Arguments<'a> {
    /// With whether each was given.
    values: Vec<(&'static str, Value<'a>, bool)>,
}

impl<'a> Arguments<'a> {
    /// Reads `members` by the definition of `tool`. `null` counts as left out, and so does an empty text where one is
    /// optional: some clients send one for every argument.
    pub(crate) fn parse(tool: &Tool, members: &Members<'a>) -> Result<Self, ToolError> {
        let known = |name: &str| tool.parameters.iter().any(|parameter| parameter.name == name);
        if let Some((name, value)) = members.0.iter().find(|(name, _)| !known(name)) {
            return Err(unknown(tool, name, *value));
        }
        let mut values = Vec::with_capacity(tool.parameters.len());
        for parameter in tool.parameters {
            let given = members.get(parameter.name).filter(|raw| !raw.is_null());
            let given = given.filter(|raw| parameter.required || raw.get() != "\"\"");
            let value = match given {
                Some(raw) => Some(parameter.read(raw)?),
                None if parameter.required => {
                    return Err(parameter.refuse(Received::Nothing, "required"));
                }
                None => parameter.default_value(),
            };
            values.extend(value.map(|value| (parameter.name, value, given.is_some())));
        }
        Ok(Self { values })
    }

    /// Returns a text argument.
    #[must_use]
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.values.iter().find_map(|(known, value, _)| match value {
            Value::Text(text) if *known == name => Some(&**text),
            _ => None,
        })
    }

    /// Tells whether the caller named an argument.
    pub(crate) fn is_given(&self, name: &str) -> bool {
        self.values.iter().any(|(known, _, given)| *known == name && *given)
    }

    /// Returns a whole-number argument.
    #[must_use]
    pub(crate) fn integer(&self, name: &str) -> Option<u64> {
        self.values.iter().find_map(|(known, value, _)| match value {
            Value::Integer(number) if *known == name => Some(*number),
            _ => None,
        })
    }
}

fn unknown(tool: &Tool, name: &str, value: Raw<'_>) -> ToolError {
    let names: Vec<&str> = tool.parameters.iter().map(|parameter| parameter.name).collect();
    let expected = match names.as_slice() {
        [] => "このツールに引数はありません。".to_owned(),
        _ => format!("使える引数: {}。", names.join("、")),
    };
    // A name is echoed only in part: it is the caller's text.
    let field = name.chars().filter(|character| !character.is_control()).take(64).collect();
    ToolError::Validation { field, expected, received: Received::of(value.get()), constraint: "unknown" }
}

impl Parameter {
    fn read<'a>(&self, raw: Raw<'a>) -> Result<Value<'a>, ToolError> {
        let received = Received::of(raw.get());
        match self.kind {
            Kind::Text { max_characters } => {
                let text = string(raw).ok_or_else(|| self.refuse(received, "type"))?;
                if text.len() > max_characters && text.chars().count() > max_characters {
                    return Err(self.refuse(received, "length"));
                }
                Ok(Value::Text(text))
            }
            Kind::Choice(words) => {
                let text = string(raw).ok_or_else(|| self.refuse(received, "type"))?;
                if !words.contains(&&*text) {
                    return Err(self.refuse(received, "enum"));
                }
                Ok(Value::Text(text))
            }
            Kind::Rank | Kind::Integer { .. } => {
                let (minimum, maximum) = self.kind.bounds();
                let number = match received {
                    // `3.0` is an integer to JSON Schema, and some models write it so.
                    Received::Number => raw.get().strip_suffix(".0").unwrap_or(raw.get()).parse().ok(),
                    // `"3位"` is what readers say, and some models pass it on.
                    Received::Text if matches!(self.kind, Kind::Rank) => {
                        string(raw).and_then(|text| read_rank(&text)).map(u64::from)
                    }
                    _ => return Err(self.refuse(received, "type")),
                };
                if number.is_none() && received == Received::Text {
                    return Err(self.refuse(received, "type"));
                }
                match number.filter(|number| (minimum..=maximum).contains(number)) {
                    Some(number) => Ok(Value::Integer(number)),
                    None => Err(self.refuse(received, "range")),
                }
            }
        }
    }

    fn default_value(&self) -> Option<Value<'static>> {
        match self.kind {
            Kind::Rank | Kind::Integer { .. } => self.default?.parse().ok().map(Value::Integer),
            Kind::Text { .. } | Kind::Choice(_) => {
                Some(Value::Text(Cow::Borrowed(self.default?.trim_matches('"'))))
            }
        }
    }

    /// Returns the error for a value that breaks this parameter's rules.
    pub(crate) fn refuse(&self, received: Received, constraint: &'static str) -> ToolError {
        let form = match self.kind {
            Kind::Text { max_characters } => format!("文字列（{max_characters}文字以内）"),
            Kind::Choice(words) => format!("{}のいずれか", words.join("、")),
            Kind::Rank | Kind::Integer { .. } => {
                let (minimum, maximum) = self.kind.bounds();
                format!("{minimum}から{maximum}までの整数")
            }
        };
        // Where the kind is right, only the form is worth a word.
        let expected = match constraint {
            "format" => self.description.to_owned(),
            _ => format!("{form}で渡してください。{}", self.description),
        };
        ToolError::Validation { field: self.name.to_owned(), expected, received, constraint }
    }
}

/// Reads a rank as readers write it: `3`, `3位`, `三位`.
pub(super) fn read_rank(text: &str) -> Option<u32> {
    let text = text.trim();
    let digits = text.strip_suffix('位').unwrap_or(text);
    bare_number(digits).filter(|_| !digits.starts_with(['0', '０']))
}

/// Reads a range of ranks as readers write it: `1-3`, `1〜3`, `1位から3位まで`, `一位`.
pub(super) fn read_ranks(text: &str) -> Option<RankRange> {
    RankRange::parse(text).ok().or_else(|| {
        let text = text.trim();
        let text = text.strip_suffix("まで").unwrap_or(text);
        let parts = text.split_once("から").or_else(|| text.split_once(['-', '－', '〜', '～', '~']));
        let (first, last) = parts.unwrap_or((text, text));
        let (first, last) = (read_rank(first)?, read_rank(last)?);
        RankRange::parse(&format!("{first}-{last}")).ok()
    })
}

/// Refuses a cursor of another archive, or one that never was one.
pub(crate) fn refuse_cursor() -> ToolError {
    ToolError::Validation {
        field: CURSOR.name.to_owned(),
        expected: "いまの索引で続きを指す値ではありません（索引が新しくなると、前の値は使えなくなります）。cursor を付けずに、最初からやり直してください。"
            .to_owned(),
        received: Received::Text,
        constraint: "stale",
    }
}

/// Refuses a text argument whose type is right but whose form is not.
pub(crate) fn refuse_form(tool: &Tool, name: &str) -> ToolError {
    match tool.parameters.iter().find(|parameter| parameter.name == name) {
        Some(parameter) => parameter.refuse(Received::Text, "format"),
        None => ToolError::Validation {
            field: name.to_owned(),
            expected: String::new(),
            received: Received::Text,
            constraint: "format",
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools;

    fn refused(tool: &str, json: &str) -> String {
        let raw: Raw<'_> = serde_json::from_str(json).unwrap();
        match Arguments::parse(tools::find(tool).unwrap(), &Members::read(raw).unwrap()) {
            Err(ToolError::Validation { field, constraint, .. }) => format!("{field}: {constraint}"),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn every_broken_rule_names_its_field() {
        for (tool, json, expected) in [
            ("get_wakashu_ranking", "{}", "round_title: required"),
            ("get_wakashu_ranking", r#"{"round_title":null}"#, "round_title: required"),
            ("get_wakashu_ranking", r#"{"round_title":1}"#, "round_title: type"),
            ("get_wakashu_ranking", r#"{"round_title":"1","page":2}"#, "page: unknown"),
            ("get_wakashu_ranking", r#"{"round_title":"1","pictures":"all"}"#, "pictures: enum"),
            ("get_poem", r#"{"round_title":"1","rank":"一番"}"#, "rank: type"),
            ("get_poem", r#"{"round_title":"1","rank":"1-3"}"#, "rank: type"),
            ("get_poem", r#"{"round_title":"1","rank":"0"}"#, "rank: type"),
            ("get_poem", r#"{"round_title":"1","rank":true}"#, "rank: type"),
            ("get_poem", r#"{"round_title":"","rank":""}"#, "rank: type"),
            ("get_poem", r#"{"round_title":"1","rank":0}"#, "rank: range"),
            ("get_poem", r#"{"round_title":"1","rank":1.5}"#, "rank: range"),
            ("index_status", r#"{"x":1}"#, "x: unknown"),
        ] {
            assert_eq!(refused(tool, json), expected, "{json}");
        }
        let long = format!(r#"{{"round_title":"{}"}}"#, "あ".repeat(256));
        assert_eq!(refused("get_wakashu_ranking", &long), "round_title: length");
    }

    #[test]
    fn ranks_are_read_as_readers_write_them() {
        for (text, first, last) in [
            ("1", 1, 1),
            ("1位", 1, 1),
            ("一位", 1, 1),
            ("１２位", 12, 12),
            ("1-3", 1, 3),
            ("1〜3", 1, 3),
            ("1～3", 1, 3),
            ("1位から3位", 1, 3),
            ("1位から3位まで", 1, 3),
            ("一から三", 1, 3),
        ] {
            let range = read_ranks(text).map(|range| (range.first(), range.last()));
            assert_eq!(range, Some((first, last)), "{text}");
        }
        for text in [
            "1,3",
            "3-1",
            "0",
            "00",
            "01位",
            "1-",
            "-1",
            "",
            "位",
            "から",
            "1-3-5",
            "1.5",
            "99999999999999999999",
        ] {
            assert!(read_ranks(text).is_none(), "{text}");
        }
    }

    #[test]
    fn defaults_fill_in_what_was_left_out() {
        let raw: Raw<'_> = serde_json::from_str(r#"{"round_title":"第1回"}"#).unwrap();
        let members = Members::read(raw).unwrap();
        let arguments = Arguments::parse(tools::find("get_wakashu_ranking").unwrap(), &members).unwrap();
        assert_eq!(arguments.text("rank_range"), Some("1-3"));
        assert_eq!(arguments.text("pictures"), Some("auto"));
        assert!(arguments.is_given("round_title") && !arguments.is_given("rank_range"));
        let raw: Raw<'_> =
            serde_json::from_str(r#"{"round_title":"第1回","rank_range":"","pictures":""}"#).unwrap();
        let members = Members::read(raw).unwrap();
        let arguments = Arguments::parse(tools::find("get_wakashu_ranking").unwrap(), &members).unwrap();
        assert_eq!((arguments.text("rank_range"), arguments.text("pictures")), (Some("1-3"), Some("auto")));
    }
}
