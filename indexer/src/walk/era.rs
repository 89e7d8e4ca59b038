//! Dates in forms that can mean one thing only, though the contract does not name them.

use unicode_normalization::UnicodeNormalization;

/// Japanese eras: name, letter, the year before their first, and how many years they had so far.
const ERAS: [(&str, char, u32, u32); 5] = [
    ("令和", 'R', 2018, 99),
    ("平成", 'H', 1988, 31),
    ("昭和", 'S', 1925, 64),
    ("大正", 'T', 1911, 15),
    ("明治", 'M', 1867, 45),
];

/// Returns a date as 2025年4月1日, 2025年4月 or 2025年; `None` if it is in no form that is clear.
///
/// `令和7年4月`, `R7.4`, `2025.4.1` and `20250401` are. Whether such a day exists is for others to say.
pub(crate) fn plain(text: &str) -> Option<String> {
    let text: String = text.nfkc().filter(|character| !character.is_whitespace()).collect();
    if let Some((before, most, rest)) = era(&text) {
        let (year, rest) = match rest.strip_prefix('元') {
            Some(rest) => (1, rest),
            None => number(rest)?,
        };
        if year == 0 || year > most {
            return None;
        }
        return written(before + year, rest);
    }
    if text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let (year, rest) = text.split_at_checked(4)?;
        let (month, day) = rest.split_at_checked(2)?;
        return written(
            year.parse().ok()?,
            &format!(".{}.{}", month.parse::<u32>().ok()?, day.parse::<u32>().ok()?),
        );
    }
    let (year, rest) = text.split_at_checked(4)?;
    rest.starts_with('.').then(|| written(year.parse().ok()?, rest))?
}

fn era(text: &str) -> Option<(u32, u32, &str)> {
    ERAS.iter().find_map(|(name, letter, before, most)| {
        let rest = text.strip_prefix(name).or_else(|| {
            let rest = text.strip_prefix([*letter, letter.to_ascii_lowercase()])?;
            rest.starts_with(|first: char| first == '元' || first.is_ascii_digit()).then_some(rest)
        })?;
        Some((*before, *most, rest))
    })
}

/// Writes a date from its year and what stands after the year's number.
fn written(year: u32, rest: &str) -> Option<String> {
    if rest.is_empty() || rest == "年" {
        return Some(format!("{year}年"));
    }
    let (month, rest) = number(rest.strip_prefix(['年', '.', '/', '-'])?)?;
    if rest.is_empty() || rest == "月" {
        return Some(format!("{year}年{month}月"));
    }
    let (day, rest) = number(rest.strip_prefix(['月', '.', '/', '-'])?)?;
    (rest.is_empty() || rest == "日").then(|| format!("{year}年{month}月{day}日"))
}

/// Takes a number of one or two digits from the start of a text.
fn number(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    Some((digits.parse().ok().filter(|_| digits.len() <= 2)?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eras_dots_and_digits_are_read() {
        for (text, read) in [
            ("令和7年4月", "2025年4月"),
            ("令和７年４月１日", "2025年4月1日"),
            ("R7.4", "2025年4月"),
            ("r7/4/1", "2025年4月1日"),
            ("Ｒ７－４－１", "2025年4月1日"),
            ("令和元年", "2019年"),
            ("H31.4.30", "2019年4月30日"),
            ("昭和64年1月7日", "1989年1月7日"),
            ("2025.4.1", "2025年4月1日"),
            ("20250401", "2025年4月1日"),
        ] {
            assert_eq!(plain(text).as_deref(), Some(read), "{text}");
        }
        for text in [
            "平成32年",
            "令和0年",
            "令和",
            "R",
            "Rabbit",
            "4/1/2025",
            "春",
            "",
            "2025",
            "令和7年4月1日頃",
            "R7.4.1.2",
        ] {
            assert_eq!(plain(text), None, "{text}");
        }
    }
}
