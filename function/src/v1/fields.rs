//! The members of a request's body and query, checked.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use crate::fault::{Received, ToolError};
use wakashu_wire::{Members, Raw, string};

/// Makes sure that no member of the object called `name` is there twice.
pub(super) fn once_each(members: &Members<'_>, name: &str) -> Result<(), ToolError> {
    if members.has_repeated_name() {
        return Err(refuse(name, "同じ名前の項目は一つだけにしてください。", Received::Object, "format"));
    }
    Ok(())
}

/// An object of which every member is known.
pub(super) struct Fields<'a> {
    members: Members<'a>,
    /// Where the object is, as errors name it: empty, or `options.`.
    place: &'static str,
}

impl<'a> Fields<'a> {
    /// Reads a whole body.
    pub(super) fn body(body: &'a [u8], known: &[&str]) -> Result<Self, ToolError> {
        let raw = serde_json::from_slice::<Raw<'_>>(body);
        let raw = raw
            .map_err(|_| refuse("body", "JSONのオブジェクトを送ってください。", Received::Nothing, "type"))?;
        Self::read(raw, "body", "", known)
    }

    /// Reads the object called `name`; an empty one where it is missing.
    pub(super) fn object(
        &self,
        name: &'static str,
        place: &'static str,
        known: &[&str],
    ) -> Result<Fields<'a>, ToolError> {
        match self.get(name) {
            None => Ok(Self { members: Members::default(), place }),
            Some(raw) => Self::read(raw, name, place, known),
        }
    }

    fn read(raw: Raw<'a>, name: &str, place: &'static str, known: &[&str]) -> Result<Self, ToolError> {
        let Some(members) = Members::read(raw) else {
            return Err(refuse(name, "オブジェクトで渡してください。", Received::of(raw.get()), "type"));
        };
        once_each(&members, name)?;
        match members.0.iter().find(|(member, _)| !known.contains(&&**member)) {
            None => Ok(Self { members, place }),
            Some((member, value)) => {
                let member: String = member.chars().filter(|letter| !letter.is_control()).take(64).collect();
                let expected = format!("使える項目: {}。", known.join("、"));
                Err(refuse(&format!("{place}{member}"), &expected, Received::of(value.get()), "unknown"))
            }
        }
    }

    /// Returns a member; `null` counts as left out.
    pub(super) fn get(&self, name: &str) -> Option<Raw<'a>> {
        self.members.get(name).filter(|raw| raw.get() != "null")
    }

    /// Returns a string.
    pub(super) fn text(&self, name: &str) -> Result<Option<Cow<'a, str>>, ToolError> {
        let Some(raw) = self.get(name) else { return Ok(None) };
        string(raw).map(Some).ok_or_else(|| self.refuse(name, "文字列で渡してください。", raw, "type"))
    }

    /// Returns `true` or `false`; left out means `false`.
    pub(super) fn flag(&self, name: &str) -> Result<bool, ToolError> {
        match self.get(name).map(|raw| (raw, raw.get())) {
            None | Some((_, "false")) => Ok(false),
            Some((_, "true")) => Ok(true),
            Some((raw, _)) => Err(self.refuse(name, "true か false で渡してください。", raw, "type")),
        }
    }

    /// Returns a whole number within bounds.
    pub(super) fn whole(&self, name: &str, least: u64, most: u64) -> Result<Option<u64>, ToolError> {
        let Some(raw) = self.get(name) else { return Ok(None) };
        let digits = raw.get().strip_suffix(".0").unwrap_or(raw.get());
        if let Some(number) = within(digits, least, most) {
            return Ok(Some(number));
        }
        let constraint = if Received::of(raw.get()) == Received::Number { "range" } else { "type" };
        Err(self.refuse(name, &bounds(least, most), raw, constraint))
    }

    /// Returns an array of strings.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<Cow<'a, str>>, ToolError> {
        let Some(raw) = self.get(name) else { return Ok(Vec::new()) };
        let items = serde_json::from_str::<Vec<Raw<'_>>>(raw.get()).ok();
        let texts = items.and_then(|items| items.into_iter().map(string).collect());
        texts.ok_or_else(|| self.refuse(name, "文字列の配列で渡してください。", raw, "type"))
    }

    fn refuse(&self, name: &str, expected: &str, raw: Raw<'_>, constraint: &'static str) -> ToolError {
        refuse(&format!("{}{name}", self.place), expected, Received::of(raw.get()), constraint)
    }
}

/// The parameters of a query.
pub(super) struct Query<'a>(&'a str);

impl<'a> Query<'a> {
    pub(super) fn new(query: Option<&'a str>) -> Self {
        Self(query.unwrap_or_default())
    }

    /// Returns a parameter, decoded; an empty one counts as left out.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        let mut pairs = self.0.split('&').filter_map(|pair| pair.split_once('='));
        let (_, value) = pairs.find(|(key, _)| *key == name)?;
        let value = value.replace('+', " ");
        Some(percent_decode_str(&value).decode_utf8_lossy().into_owned()).filter(|value| !value.is_empty())
    }

    /// Returns a whole number within bounds.
    pub(super) fn whole(&self, name: &str, default: u64, least: u64, most: u64) -> Result<u64, ToolError> {
        let Some(text) = self.text(name) else { return Ok(default) };
        within(&text, least, most).ok_or_else(|| refuse(name, &bounds(least, most), Received::Text, "range"))
    }

    /// Returns `true` or `false`.
    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>, ToolError> {
        match self.text(name).as_deref() {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(_) => Err(refuse(name, "true か false で渡してください。", Received::Text, "enum")),
        }
    }
}

fn within(digits: &str, least: u64, most: u64) -> Option<u64> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|number| plain && (least..=most).contains(number))
}

fn bounds(least: u64, most: u64) -> String {
    format!("{least}から{most}までの整数で渡してください。")
}

/// Returns the error for a member that breaks a rule.
pub(super) fn refuse(field: &str, expected: &str, received: Received, constraint: &'static str) -> ToolError {
    ToolError::Validation { field: field.to_owned(), expected: expected.to_owned(), received, constraint }
}
