//! What stands on top of the pages of a preview: what is wrong with the collection.

use wakashu_archive::ContentHash;
use wakashu_pages::{Finding, Preview};

use crate::problem::{Problem, Tally};
use crate::words::{Language, talk};

/// Most problems on a page; the terminal has them all.
const MOST: usize = 10;

/// Returns what to show of a collection with these problems, errors first. `built` is what came of it, `is_before_shown`
/// tells whether there is an earlier version to look at meanwhile.
pub(super) fn of_problems(
    problems: &[Problem],
    built: Option<ContentHash>,
    is_before_shown: bool,
    language: Language,
) -> Preview {
    let mut first: Vec<&Problem> = problems.iter().collect();
    first.sort_by_key(|problem| problem.severity);
    first.truncate(MOST);
    let summary = (!problems.is_empty()).then(|| {
        let tally = Tally::of(problems);
        let summary = match built {
            Some(_) => talk::found_but_shown(tally),
            None if is_before_shown => talk::found_before_shown(tally),
            None => talk::found_nothing_shown(tally),
        };
        summary.said(language).to_owned()
    });
    let more = problems.len() - first.len();
    let shown = Preview {
        summary: summary.unwrap_or_default(),
        findings: first.into_iter().map(|problem| finding(problem, language)).collect(),
        more: if more == 0 { String::new() } else { talk::more_in_terminal(more).said(language).to_owned() },
        ..Preview::default()
    };
    named(shown, built, language)
}

/// Returns what to show where the collection could not be built at all.
pub(super) fn of_failure(reason: String, language: Language) -> Preview {
    named(Preview { summary: reason, ..Preview::default() }, None, language)
}

fn finding(problem: &Problem, language: Language) -> Finding {
    let said = problem.wording.said(language);
    let place = match &problem.place {
        Some(place) => format!("{}:{}:{}", problem.path, place.line, place.column),
        None => problem.path.clone(),
    };
    Finding {
        severity: talk::severity(problem.severity).said(language).to_owned(),
        place,
        message: said.message.clone(),
        hint: said.hint.as_ref().map(|hint| format!("{}: {hint}", talk::hint().said(language))),
    }
}

/// Gives it the mark by which a page knows whether it is an old one.
fn named(shown: Preview, built: Option<ContentHash>, language: Language) -> Preview {
    let lang = match language {
        Language::English => "en",
        Language::Japanese => "ja",
    };
    let mark = ContentHash::of(format!("{built:?} {shown:?}").as_bytes()).to_short_hex();
    Preview { mark: mark.as_str().to_owned(), lang, ..shown }
}
