//! Which tools of a server may be run: patterns that allow, and patterns that deny.

/// Patterns of tools, in which `*` stands for any characters and `?` for one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// Patterns of the tools that may be run; none means all.
    pub allow: Vec<String>,
    /// Patterns of the tools that may not, even if allowed.
    pub deny: Vec<String>,
}

impl Rules {
    /// Tells whether a tool may be run.
    #[must_use]
    pub fn allow(&self, tool: &str) -> bool {
        let matches = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, tool));
        (self.allow.is_empty() || matches(&self.allow)) && !matches(&self.deny)
    }

    /// Tells whether every tool may be run.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.allow.is_empty() && self.deny.is_empty()
    }
}

/// Tells whether a name is of a pattern, in which `*` stands for any characters and `?` for one.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut on) = (0, 0);
    // Where to go on after the last `*` took one character more.
    let mut retry: Option<(usize, usize)> = None;
    while on < name.len() {
        match pattern.get(at) {
            Some('*') => {
                retry = Some((at + 1, on));
                at += 1;
            }
            Some(letter) if *letter == '?' || Some(letter) == name.get(on) => {
                at += 1;
                on += 1;
            }
            _ => match &mut retry {
                Some((after, taken)) => {
                    *taken += 1;
                    (at, on) = (*after, *taken);
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(at).all(|letter| *letter == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_names() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("*", "anything", true),
            ("read_*", "read_file", true),
            ("read_*", "write_file", false),
            ("*_file", "read_file", true),
            ("*a*b", "xaxxb", true),
            ("*a*b", "xaxxbc", false),
            ("get_?", "get_a", true),
            ("get_?", "get_", false),
            ("", "", true),
            ("", "a", false),
            ("詠*", "詠む", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
