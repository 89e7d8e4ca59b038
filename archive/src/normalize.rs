//! How titles are compared: one function each, used by the indexer and by every look-up.

use unicode_normalization::UnicodeNormalization;

use crate::limits::MAX_RANK;

/// Returns N if `title` reads as 第N回, in ASCII, full-width or kanji numerals.
#[must_use]
pub fn round_number(title: &str) -> Option<u32> {
    let folded = fold(title);
    number(folded.strip_prefix('第')?.strip_suffix('回')?)
}

/// Returns the key under which a round's title is looked up: equal keys, equal titles to a reader.
///
/// `第1回`, `第１回` and `第一回` share a key. Width, case and blanks do not count.
#[must_use]
pub fn title_key(title: &str) -> String {
    match round_number(title) {
        Some(number) => format!("第{number}回"),
        None => fold(title),
    }
}

/// Returns N if `text` is a bare number, as a reader may write instead of 第N回.
#[must_use]
pub fn bare_number(text: &str) -> Option<u32> {
    number(&fold(text))
}

fn fold(text: &str) -> String {
    text.nfkc().filter(|character| !character.is_whitespace()).flat_map(char::to_lowercase).collect()
}

fn number(text: &str) -> Option<u32> {
    let value = if text.bytes().all(|byte| byte.is_ascii_digit()) {
        // Nine digits fit a u32; a longer text is not a round number anyway.
        (text.len() <= 9).then(|| text.parse().ok()).flatten()
    } else {
        kanji_number(text)
    };
    value.filter(|number| *number <= MAX_RANK)
}

/// Reads kanji numerals: positional (一〇二) or with 十, 百, 千, 万.
fn kanji_number(text: &str) -> Option<u32> {
    let positional = !text.contains(['十', '百', '千', '万']);
    let (mut total, mut below_man, mut digit) = (0_u32, 0_u32, None);
    for character in text.chars() {
        if let Some(value) = kanji_digit(character) {
            digit = Some(match digit {
                Some(before) if positional => 10_u32.checked_mul(before)?.checked_add(value)?,
                Some(_) => return None,
                None => value,
            });
            continue;
        }
        let unit = match character {
            '十' => 10,
            '百' => 100,
            '千' => 1_000,
            '万' => {
                total = below_man.checked_add(digit.take().unwrap_or(0))?.max(1).checked_mul(10_000)?;
                below_man = 0;
                continue;
            }
            _ => return None,
        };
        below_man = below_man.checked_add(digit.take().unwrap_or(1).checked_mul(unit)?)?;
    }
    if text.is_empty() {
        return None;
    }
    total.checked_add(below_man)?.checked_add(digit.unwrap_or(0))
}

fn kanji_digit(character: char) -> Option<u32> {
    "〇一二三四五六七八九"
        .chars()
        .zip(0..)
        .find_map(|(digit, value)| (digit == character).then_some(value))
        .or(match character {
            '零' => Some(0),
            '壱' | '壹' => Some(1),
            '弐' | '貳' => Some(2),
            '参' | '參' => Some(3),
            _ => None,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_numbers_are_read_in_every_script() {
        for (title, number) in [
            ("第1回", 1),
            ("第１２回", 12),
            ("第 3 回", 3),
            ("第一回", 1),
            ("第十回", 10),
            ("第二十一回", 21),
            ("第百五回", 105),
            ("第一〇二回", 102),
            ("第千二百回", 1200),
            ("第三万二千十回", 32010),
            ("第零回", 0),
            ("第弐回", 2),
        ] {
            assert_eq!(round_number(title), Some(number), "{title}");
        }
        for title in
            ["", "1", "第回", "第1", "1回", "第いち回", "第1000000回", "番外編", "第-1回", "第一二十回"]
        {
            assert_eq!(round_number(title), None, "{title}");
        }
    }

    #[test]
    fn keys_ignore_width_case_and_blanks() {
        assert_eq!(title_key("第１回"), title_key("第一回"));
        assert_eq!(title_key("Extra 番外"), title_key("ＥＸＴＲＡ　番外"));
        assert_ne!(title_key("番外編"), title_key("番外篇"));
    }
}
