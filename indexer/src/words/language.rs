//! Which language a curator is spoken to in.

use std::ffi::OsString;

/// A language the program speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Language {
    /// English.
    #[default]
    #[value(name = "en")]
    English,
    /// Japanese.
    #[value(name = "ja")]
    Japanese,
}

/// Where a language may be named, the first that is set wins.
const VARIABLES: [&str; 4] = ["WAKASHU_LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"];

impl Language {
    /// Returns the language of the surroundings: `WAKASHU_LANGUAGE`, then what the system uses for its own messages.
    #[must_use]
    pub fn of_surroundings() -> Self {
        Self::named_by(|name| std::env::var_os(name)).or_else(of_system).unwrap_or_default()
    }

    /// Returns the language that arguments name after `--language`. Help is written before arguments are parsed.
    #[must_use]
    pub fn named_in(arguments: impl IntoIterator<Item = OsString>) -> Option<Self> {
        let mut arguments = arguments.into_iter();
        let mut named = None;
        while let Some(argument) = arguments.next() {
            let argument = argument.to_string_lossy();
            let value = match argument.strip_prefix("--language") {
                Some("") => arguments.next().map(|value| value.to_string_lossy().into_owned()),
                Some(rest) => rest.strip_prefix('=').map(str::to_owned),
                None => None,
            };
            named = match value.as_deref() {
                Some("ja") => Some(Self::Japanese),
                Some("en") => Some(Self::English),
                _ => named,
            };
        }
        named
    }

    fn named_by(variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let mut values = VARIABLES.iter().filter_map(|name| variable(name)).filter(|value| !value.is_empty());
        Some(Self::of_locale(&values.next()?.to_string_lossy()))
    }

    /// `ja`, `ja_JP.UTF-8` and `ja-JP` are Japanese. Everything else is English, `C` and `POSIX` included.
    fn of_locale(locale: &str) -> Self {
        let language = locale.split(['_', '-', '.', '@']).next().unwrap_or_default();
        if language.eq_ignore_ascii_case("ja") { Self::Japanese } else { Self::English }
    }
}

/// Asks systems whose programs do not always have `LANG`.
#[cfg(any(windows, target_os = "macos"))]
fn of_system() -> Option<Language> {
    sys_locale::get_locale().map(|locale| Language::of_locale(&locale))
}

/// Elsewhere the variables are the system's own word.
#[cfg(not(any(windows, target_os = "macos")))]
fn of_system() -> Option<Language> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_is_set_decides() {
        let with = |given: &[(&str, &str)]| {
            let find = |name: &str| given.iter().find(|(known, _)| *known == name);
            Language::named_by(|name| find(name).map(|(_, value)| OsString::from(value)))
        };
        assert_eq!(with(&[]), None);
        for (given, language) in [
            (&[("LANG", "ja_JP.UTF-8")][..], Language::Japanese),
            (&[("LANG", "ja_JP.UTF-8"), ("LC_MESSAGES", "en_US.UTF-8")], Language::English),
            (&[("LC_MESSAGES", "en_US.UTF-8"), ("LC_ALL", "ja_JP.eucJP")], Language::Japanese),
            (&[("LC_ALL", ""), ("LANG", "ja")], Language::Japanese),
            (&[("LC_ALL", "C.UTF-8"), ("LANG", "ja")], Language::English),
            (&[("LC_ALL", "C"), ("WAKASHU_LANGUAGE", "ja")], Language::Japanese),
            (&[("LANG", "jam_JM")], Language::English),
        ] {
            assert_eq!(with(given), Some(language), "{given:?}");
        }
    }

    #[test]
    fn arguments_are_looked_through_for_the_flag() {
        let named = |arguments: &[&str]| Language::named_in(arguments.iter().map(OsString::from));
        assert_eq!(named(&["check", "--help"]), None);
        assert_eq!(named(&["--language", "ja", "check"]), Some(Language::Japanese));
        assert_eq!(named(&["check", "--language=en", "--help"]), Some(Language::English));
        assert_eq!(named(&["check", "--language"]), None);
    }
}
