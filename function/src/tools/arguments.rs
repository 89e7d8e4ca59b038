//! What tools are given: for each a struct, read by the table that also writes its schema.

use std::borrow::Cow;
use std::ops::Deref;

use wakashu_archive::{MAX_RANK, Period, Rank, RankRange};
use wakashu_wire::{Members, Raw, string};

use crate::fault::{Received, ToolError};
use crate::tools::ranks::{read_rank, read_ranks};

/// Declares what a tool is given. Each field has a type, which knows the values it takes, and a row with the rest.
///
/// The struct's `TABLE` writes the schema, and its `read` reads a call's arguments by the same rows.
macro_rules! arguments {
    ($(#[$attribute:meta])* $name:ident<$life:lifetime> { $($field:ident: $type:ty = $row:expr,)+ }) => {
        $(#[$attribute])*
        #[derive(Debug)]
        struct $name<$life> {
            $($field: $type,)+
        }

        impl<$life> $name<$life> {
            const TABLE: $crate::tools::arguments::Table = $crate::tools::arguments::Table {
                parameters: &[$($crate::tools::arguments::Parameter::new::<$type>(stringify!($field), $row)),+],
                check: |given| $name::read(given).map(drop),
            };

            fn read(given: &wakashu_wire::Members<$life>) -> Result<Self, $crate::fault::ToolError> {
                Self::TABLE.refuse_unknown(given)?;
                Ok(Self {
                    $($field: const { $crate::tools::arguments::Parameter::new::<$type>(stringify!($field), $row) }
                        .take(given)?,)+
                })
            }
        }
    };
}
pub(super) use arguments;

/// The arguments of a tool.
#[derive(Debug)]
pub(crate) struct Table {
    /// Each of them.
    pub(crate) parameters: &'static [Parameter],
    /// Tells whether a call's arguments can be read.
    pub(crate) check: fn(&Members<'_>) -> Result<(), ToolError>,
}

impl Table {
    /// The table of a tool without arguments.
    pub(super) const NONE: Self = Self { parameters: &[], check: |given| Self::NONE.refuse_unknown(given) };

    /// Refuses arguments that the tool does not know.
    pub(super) fn refuse_unknown(&self, given: &Members<'_>) -> Result<(), ToolError> {
        let is_known = |name: &str| self.parameters.iter().any(|parameter| parameter.name == name);
        match given.0.iter().find(|(name, _)| !is_known(name)) {
            None => Ok(()),
            Some((name, value)) => Err(self.unknown(name, *value)),
        }
    }

    #[cold]
    fn unknown(&self, name: &str, value: Raw<'_>) -> ToolError {
        let names: Vec<&str> = self.parameters.iter().map(|parameter| parameter.name).collect();
        let expected = match names.as_slice() {
            [] => "このツールに引数はありません。".to_owned(),
            _ => format!("使える引数: {}。", names.join("、")),
        };
        // A name is echoed only in part: it is the caller's text.
        let field = name.chars().filter(|character| !character.is_control()).take(64).collect();
        ToolError::Validation { field, expected, received: Received::of(value.get()), constraint: "unknown" }
    }
}

/// What a table says of an argument besides its name and its type.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    description: &'static str,
    default: Option<&'static str>,
    pattern: Option<&'static str>,
}

/// Returns the row of an argument that readers know by this description.
pub(super) const fn row(description: &'static str) -> Row {
    Row { description, default: None, pattern: None }
}

impl Row {
    /// Adds the value of an argument that is left out, as JSON.
    pub(super) const fn or(self, json: &'static str) -> Self {
        Self { default: Some(json), ..self }
    }

    /// Adds what well-formed texts look like, as a regular expression; a hint for forms, the tool itself decides.
    pub(super) const fn like(self, pattern: &'static str) -> Self {
        Self { pattern: Some(pattern), ..self }
    }
}

/// The row of an argument that names a round.
pub(super) const ROUND_TITLE: Row = row("回の名前。例: 第1回（「第一回」「1」でも見つかります）。");

/// The title of a round: at most what a directory's name can be.
pub(super) type Title<'a> = Text<'a, 255>;

/// The row of an argument that goes on with a list.
pub(super) const CURSOR: Row =
    row("前回の結果の nextCursor。続きを取得するときに指定します。").like("^[A-Za-z0-9_-]*$");

/// Where a list goes on.
pub(super) type Place<'a> = Option<Text<'a, 200>>;

/// An argument of a tool.
#[derive(Debug)]
pub(crate) struct Parameter {
    /// Its name.
    pub(crate) name: &'static str,
    /// What values it takes.
    pub(crate) kind: Kind,
    /// What well-formed texts look like.
    pub(crate) pattern: Option<&'static str>,
    /// What the model reads about it.
    pub(crate) description: &'static str,
    /// The value when it is left out, as JSON; an argument without one is optional or required.
    pub(crate) default: Option<&'static str>,
    /// Whether it must be given.
    pub(crate) required: bool,
}

/// The values a parameter takes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// Text of at most this many characters.
    Text {
        /// The limit.
        max_characters: usize,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A rank: a whole number, also as readers write it (`1位`).
    Rank,
    /// A whole number within bounds.
    Integer {
        /// The smallest.
        minimum: u64,
        /// The largest.
        maximum: u64,
    },
}

impl Kind {
    /// Returns what schemas call the type of the values.
    pub(crate) fn type_name(self) -> &'static str {
        match self {
            Self::Text { .. } | Self::Choice(_) => "string",
            Self::Rank | Self::Integer { .. } => "integer",
        }
    }

    /// Returns the smallest and the largest whole number.
    pub(crate) fn bounds(self) -> (u64, u64) {
        match self {
            Self::Integer { minimum, maximum } => (minimum, maximum),
            Self::Rank => (1, u64::from(MAX_RANK)),
            Self::Text { .. } | Self::Choice(_) => (0, 0),
        }
    }
}

/// A value that is right for its parameter's kind.
#[derive(Debug)]
pub(super) enum Value<'a> {
    Text(Cow<'a, str>),
    Whole(u64),
}

/// A type of argument.
pub(super) trait Argument<'a>: Sized {
    /// The values it takes.
    const KIND: Kind;
    /// Whether it may be left out even where there is no default.
    const IS_OPTIONAL: bool = false;

    /// Makes one of a value; returns `None` if that has not the right form.
    fn of(value: Value<'a>) -> Option<Self>;

    /// Reads one that was given or left out.
    fn read(parameter: &Parameter, given: Option<Raw<'a>>) -> Result<Self, ToolError> {
        let value = match given {
            Some(raw) => parameter.read(raw)?,
            None => {
                parameter.default_value().ok_or_else(|| parameter.refuse(Received::Nothing, "required"))?
            }
        };
        Self::of(value).ok_or_else(|| parameter.refuse(Received::Text, "format"))
    }
}

impl Parameter {
    /// Returns the parameter that holds a `T`.
    pub(super) const fn new<'a, T: Argument<'a>>(name: &'static str, row: Row) -> Self {
        Self {
            name,
            kind: T::KIND,
            pattern: row.pattern,
            description: row.description,
            default: row.default,
            required: !T::IS_OPTIONAL && row.default.is_none(),
        }
    }

    /// Takes this argument out of those that were given. `null` counts as left out, and so does an empty text where one
    /// is optional: some clients send one for every argument.
    pub(super) fn take<'a, T: Argument<'a>>(&self, given: &Members<'a>) -> Result<T, ToolError> {
        let given = given.get(self.name).filter(|raw| !raw.is_null());
        T::read(self, given.filter(|raw| self.required || raw.get() != "\"\""))
    }

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
                        let rank = string(raw).and_then(|text| read_rank(&text));
                        Some(u64::from(rank.ok_or_else(|| self.refuse(received, "type"))?.get()))
                    }
                    _ => return Err(self.refuse(received, "type")),
                };
                match number.filter(|number| (minimum..=maximum).contains(number)) {
                    Some(number) => Ok(Value::Whole(number)),
                    None => Err(self.refuse(received, "range")),
                }
            }
        }
    }

    fn default_value(&self) -> Option<Value<'static>> {
        match self.kind {
            Kind::Rank | Kind::Integer { .. } => self.default?.parse().ok().map(Value::Whole),
            Kind::Text { .. } | Kind::Choice(_) => {
                Some(Value::Text(Cow::Borrowed(self.default?.trim_matches('"'))))
            }
        }
    }

    /// Returns the error for a value that breaks this parameter's rules.
    #[cold]
    fn refuse(&self, received: Received, constraint: &'static str) -> ToolError {
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

/// A text of at most so many characters.
#[derive(Debug)]
pub(super) struct Text<'a, const MOST: usize>(Cow<'a, str>);

impl<const MOST: usize> Deref for Text<'_, MOST> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'a, const MOST: usize> Argument<'a> for Text<'a, MOST> {
    const KIND: Kind = Kind::Text { max_characters: MOST };

    fn of(value: Value<'a>) -> Option<Self> {
        if let Value::Text(text) = value { Some(Self(text)) } else { None }
    }
}

/// A number of things, from one to so many.
#[derive(Debug, Clone, Copy)]
pub(super) struct Count<const MOST: u64>(pub(super) usize);

impl<'a, const MOST: u64> Argument<'a> for Count<MOST> {
    const KIND: Kind = Kind::Integer { minimum: 1, maximum: MOST };

    fn of(value: Value<'a>) -> Option<Self> {
        if let Value::Whole(number) = value { usize::try_from(number).ok().map(Self) } else { None }
    }
}

impl<'a> Argument<'a> for Rank {
    const KIND: Kind = Kind::Rank;

    fn of(value: Value<'a>) -> Option<Self> {
        if let Value::Whole(number) = value { u32::try_from(number).ok().and_then(Self::new) } else { None }
    }
}

impl<'a> Argument<'a> for RankRange {
    const KIND: Kind = Kind::Text { max_characters: 64 };

    fn of(value: Value<'a>) -> Option<Self> {
        if let Value::Text(text) = value { read_ranks(&text) } else { None }
    }
}

impl<'a> Argument<'a> for Period {
    const KIND: Kind = Kind::Text { max_characters: 32 };

    fn of(value: Value<'a>) -> Option<Self> {
        if let Value::Text(text) = value { Self::parse(&text).ok() } else { None }
    }
}

/// What may be left out.
impl<'a, T: Argument<'a>> Argument<'a> for Option<T> {
    const KIND: Kind = T::KIND;
    const IS_OPTIONAL: bool = true;

    fn of(value: Value<'a>) -> Option<Self> {
        T::of(value).map(Some)
    }

    fn read(parameter: &Parameter, given: Option<Raw<'a>>) -> Result<Self, ToolError> {
        given.map(|raw| T::read(parameter, Some(raw))).transpose()
    }
}

/// An argument, and whether it was given or is the default.
#[derive(Debug)]
pub(super) struct Said<T> {
    pub(super) value: T,
    pub(super) is_given: bool,
}

impl<'a, T: Argument<'a>> Argument<'a> for Said<T> {
    const KIND: Kind = T::KIND;

    fn of(value: Value<'a>) -> Option<Self> {
        T::of(value).map(|value| Self { value, is_given: true })
    }

    fn read(parameter: &Parameter, given: Option<Raw<'a>>) -> Result<Self, ToolError> {
        Ok(Self { value: T::read(parameter, given)?, is_given: given.is_some() })
    }
}

/// Refuses a cursor of another archive, or one that never was one.
pub(super) fn refuse_cursor() -> ToolError {
    ToolError::Validation {
        field: "cursor".to_owned(),
        expected: "いまの索引で続きを指す値ではありません（索引が新しくなると、前の値は使えなくなります）。cursor を付けずに、最初からやり直してください。"
            .to_owned(),
        received: Received::Text,
        constraint: "stale",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools;

    fn refused(tool: &str, json: &str) -> String {
        let raw: Raw<'_> = serde_json::from_str(json).unwrap();
        match (tools::find(tool).unwrap().arguments.check)(&Members::read(raw).unwrap()) {
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
            ("get_wakashu_ranking", r#"{"round_title":"1","rank_range":"1,3"}"#, "rank_range: format"),
            ("list_rounds", r#"{"start_date":"2025-02-30"}"#, "start_date: format"),
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

    arguments! {
        /// One of each kind.
        Sample<'a> {
            title: Title<'a> = ROUND_TITLE,
            ranks: Said<RankRange> = row("順位。").or(r#""1-3""#),
            limit: Count<9> = row("数。").or("5"),
            place: Place<'a> = CURSOR,
        }
    }

    #[test]
    fn defaults_fill_in_what_was_left_out() {
        let read = |json: &str| {
            let members: Members<'_> = Members::read(serde_json::from_str(json).unwrap()).unwrap();
            let sample = Sample::read(&members).unwrap();
            let ranks = sample.ranks;
            let place = sample.place.map(|place| place.to_owned());
            (sample.title.to_owned(), ranks.value.last(), ranks.is_given, sample.limit.0, place)
        };
        let left_out = ("第1回".to_owned(), 3, false, 5, None);
        assert_eq!(read(r#"{"title":"第1回"}"#), left_out);
        assert_eq!(read(r#"{"title":"第1回","ranks":"","limit":null,"place":""}"#), left_out);
        let given = r#"{"title":"","ranks":"1〜3","limit":9.0,"place":"x"}"#;
        assert_eq!(read(given), (String::new(), 3, true, 9, Some("x".to_owned())));
        let required: Vec<bool> = Sample::TABLE.parameters.iter().map(|row| row.required).collect();
        assert_eq!(required, [true, false, false, false]);
    }
}
