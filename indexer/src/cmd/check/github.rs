//! Findings beside a change on GitHub, and all of them in the job's summary.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use super::{CheckOutcome, Kind};
use crate::problem::{Problem, Severity};
use crate::words::{Language, talk};

/// GitHub shows so many errors and so many warnings of a step and drops the rest without a word.
/// <https://github.com/actions/toolkit/blob/main/docs/problem-matchers.md> (2026-11-18).
const SHOWN_OF_EACH: usize = 10;

/// GitHub refuses a summary of more than 1 MiB per step. Some room is left for what other commands of the step write.
const MAX_SUMMARY_BYTES: usize = 900_000;

/// Returns the workflow commands that put every finding beside its file, errors first.
pub(super) fn annotations(outcome: &CheckOutcome, language: Language) -> String {
    let mut text = String::new();
    for problem in errors_first(&outcome.problems) {
        let said = problem.wording.said(language);
        let level = match problem.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let mut properties = vec![format!("title={}", property(problem.wording.code))];
        // In an archive the path names a part, not a file.
        let file = match outcome.kind {
            Kind::Collection => join(&outcome.path, &problem.path),
            Kind::Archive => outcome.path.clone(),
        };
        properties.push(format!("file={}", property(&file)));
        if let Some(place) = &problem.place {
            properties.push(format!("line={},col={}", place.line, place.column));
        }
        let mut message = match outcome.kind {
            Kind::Collection => said.message.clone(),
            Kind::Archive => format!("{}: {}", problem.path, said.message),
        };
        if let Some(hint) = &said.hint {
            message.push_str(&format!("\n{}: {hint}", talk::hint().said(language)));
        }
        text.push_str(&format!("::{level} {}::{}\n", properties.join(","), data(&message)));
    }
    let (errors, warnings) = (outcome.tally.errors, outcome.tally.warnings);
    let shown = errors.min(SHOWN_OF_EACH) + warnings.min(SHOWN_OF_EACH);
    if shown < errors + warnings {
        let more = talk::more_in_summary(shown, errors + warnings);
        text.push_str(&format!("::notice::{}\n", data(more.said(language))));
    }
    text
}

/// Adds every finding to the summary at `path`.
pub(super) fn write_summary(
    path: &Path,
    outcome: &CheckOutcome,
    verdict: &str,
    language: Language,
) -> io::Result<()> {
    let mut file = File::options().append(true).create(true).open(path)?;
    file.write_all(summary(outcome, verdict, language).as_bytes())
}

/// A table in HTML: in Markdown, marks of a poem or a name could mean something.
fn summary(outcome: &CheckOutcome, verdict: &str, language: Language) -> String {
    let mut text = String::from("\n");
    for line in verdict.lines() {
        text.push_str(&format!("<p>{}</p>\n", html(line)));
    }
    if outcome.problems.is_empty() {
        return text + "\n";
    }
    text.push_str(&format!("<p><b>{}</b></p>\n<table>\n<tr>", talk::tally(outcome.tally).said(language)));
    for heading in talk::summary_headings() {
        text.push_str(&format!("<th>{}</th>", heading.said(language)));
    }
    text.push_str("</tr>\n");
    let mut left_off = 0;
    for problem in errors_first(&outcome.problems) {
        let said = problem.wording.said(language);
        let place = problem.place.as_ref().map(|place| format!(":{}:{}", place.line, place.column));
        let row = format!(
            "<tr><td>{}</td><td><code>{}{}</code></td><td>{}</td><td>{}</td></tr>\n",
            talk::severity(problem.severity).said(language),
            html(&problem.path),
            place.unwrap_or_default(),
            html(&said.message),
            html(said.hint.as_deref().unwrap_or_default()),
        );
        if text.len() + row.len() > MAX_SUMMARY_BYTES {
            left_off += 1;
        } else {
            text.push_str(&row);
        }
    }
    text.push_str("</table>\n");
    if left_off > 0 {
        text.push_str(&format!("<p>{}</p>\n", talk::left_off_summary(left_off).said(language)));
    }
    text + "\n"
}

fn errors_first(problems: &[Problem]) -> impl Iterator<Item = &Problem> {
    let of = |severity| problems.iter().filter(move |problem| problem.severity == severity);
    of(Severity::Error).chain(of(Severity::Warning))
}

fn join(collection: &str, path: &str) -> String {
    let collection = collection.strip_prefix("./").unwrap_or(collection).trim_end_matches('/');
    match (collection, path) {
        (_, ".") => collection.to_owned(),
        ("." | "", _) => path.to_owned(),
        _ => format!("{collection}/{path}"),
    }
}

/// Escapes the text of a workflow command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property of a workflow command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

fn html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words;

    fn outcome(problems: Vec<Problem>) -> CheckOutcome {
        super::super::outcome(Kind::Collection, Path::new("./poems"), problems)
    }

    #[test]
    fn errors_come_first_and_nothing_breaks_out_of_a_command() {
        let problems = vec![
            Problem::warning("a,b:c%", words::names::read_as("x\n::error::y")),
            Problem::error("第1回", words::collection::text_missing("TextData1.json")),
        ];
        let text = annotations(&outcome(problems), Language::English);
        let lines: Vec<_> = text.lines().collect();
        assert!(
            lines[0].starts_with("::error title=TEXT_MISSING,file=poems/第1回::text is missing"),
            "{text}"
        );
        assert!(
            lines[1].starts_with("::warning title=NAME_SPELLING,file=poems/a%2Cb%3Ac%25::name is"),
            "{text}"
        );
        assert_eq!(lines.len(), 2, "{text}");
    }

    #[test]
    fn more_than_are_shown_are_announced_and_all_are_in_the_summary() {
        let problem =
            |rank| Problem::error(format!("第1回/{rank}-<a>"), words::collection::picture_missing(rank));
        let outcome = outcome((1..=12).map(problem).collect());
        let text = annotations(&outcome, Language::Japanese);
        assert_eq!(text.lines().filter(|line| line.starts_with("::error ")).count(), 12);
        assert!(text.lines().last().unwrap().contains("12 件のうち 10 件"), "{text}");
        let summary = summary(&outcome, "verdict", Language::Japanese);
        assert_eq!(summary.matches("<tr><td>エラー</td>").count(), 12);
        assert!(summary.contains("第1回/12-&lt;a&gt;") && !summary.contains("<a>"), "{summary}");
    }

    #[test]
    fn a_summary_that_would_be_refused_is_cut_and_says_so() {
        let problem = |rank| Problem::error("長".repeat(200), words::collection::picture_missing(rank));
        let outcome = outcome((1..=3_000).map(problem).collect());
        let summary = summary(&outcome, "", Language::English);
        assert!(summary.len() < 1 << 20);
        assert!(summary.contains("more did not fit here"), "{}", summary.len());
    }
}
