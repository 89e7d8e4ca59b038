//! Days and periods as readers write them.

use maud::{Markup, html};
use wakashu_archive::{Date, Period};

/// Returns a period in Japanese: the days, without what the second has in common with the first.
pub(crate) fn period(period: Period) -> Markup {
    let Period { start, end } = period;
    let day = |date: Date| html! { time datetime=(date.to_string()) { (year(date)) (month_and_day(date)) } };
    html! {
        (day(start))
        @if start != end {
            "〜"
            @if start.year == end.year {
                time datetime=(end.to_string()) { (month_and_day(end)) }
            } @else { (day(end)) }
        }
    }
}

fn year(date: Date) -> String {
    format!("{}年", date.year)
}

fn month_and_day(date: Date) -> String {
    format!("{}月{}日", date.month, date.day)
}

/// Returns a count with separators: 1,234.
pub(crate) fn count(number: u32) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_is_written_without_repetition() {
        let shown = |start, end| {
            let day = |text| Period::parse(text).unwrap().start;
            period(Period { start: day(start), end: day(end) }).into_string().replace('"', "")
        };
        assert_eq!(shown("2025-04-01", "2025-04-01"), "<time datetime=2025-04-01>2025年4月1日</time>");
        assert_eq!(
            shown("2025-04-01", "2025-05-31"),
            "<time datetime=2025-04-01>2025年4月1日</time>〜<time datetime=2025-05-31>5月31日</time>"
        );
        assert!(shown("2025-12-01", "2026-01-15").ends_with("2026年1月15日</time>"));
    }

    #[test]
    fn counts_have_separators() {
        assert_eq!([0, 7, 999, 1000, 1_234_567].map(count), ["0", "7", "999", "1,000", "1,234,567"]);
    }
}
