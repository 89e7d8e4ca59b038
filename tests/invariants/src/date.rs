//! Dates and compilation periods, as curators and readers write them.

use wakashu_archive::{Date, Period};
use wakashu_indexer::walk::{Fault, parse_period_file, parse_period_map};

/// Reads bytes as a date, as a round's `編纂時期.json` and as that of a whole collection.
pub fn date(bytes: &[u8]) {
    if let Ok(period) = Period::parse(&String::from_utf8_lossy(bytes)) {
        check(period);
    }
    let parsed = parse_period_file(bytes);
    let is_refused = parsed.faults.iter().any(Fault::is_error);
    assert!(!is_refused || parsed.value.period.is_none(), "a period, or what is wrong with it");
    assert!(parsed.value.is_draft.is_some() || is_refused, "what may be a draft is refused");
    parsed.value.period.into_iter().for_each(check);
    for (_, period) in parse_period_map(bytes).value {
        check(period);
    }
}

fn check(period: Period) {
    let Period { start, end } = period;
    assert!(start <= end && period.overlaps(period));
    for day in [start, end] {
        let (year, month, number) = (day.year.into(), day.month.into(), day.day.into());
        assert_eq!(Date::new(year, month, number), Ok(day));
        let one_day = Period { start: day, end: day };
        for written in [
            day.to_string(),
            format!("{year:04}/{month}/{number}"),
            format!("{year:04}年{month}月{number}日"),
        ] {
            assert_eq!(Period::parse(&written), Ok(one_day), "{written}");
        }
        assert!(period.overlaps(one_day) && one_day.overlaps(period));
        let whole_month = Period::parse(&format!("{year:04}年{month}月")).expect("a month");
        assert!(whole_month.start <= day && day <= whole_month.end);
    }
}
