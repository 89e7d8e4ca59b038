//! Completion: round titles, ranks and years, for prompt arguments and template variables.

use std::collections::BTreeSet;

use wakashu_archive::{ArchivedRound, Rank, title_key};

use crate::exchange::Exchange;
use crate::mcp::error::{self, RpcError};
use crate::mcp::{prompts, resources};
use crate::served::index::Index;
use crate::text::Answer;
use crate::tools::rounds;
use wakashu_wire::{Members, Request};

/// Most values in one answer, by the specification.
const MAX_VALUES: usize = 100;

/// Suggestions for how a round is presented.
const STYLES: [&str; 3] = ["やさしく", "解説つき", "朗読用"];

pub(super) fn complete(x: &Exchange<'_>, request: &Request<'_>, out: &mut Answer) -> Result<(), RpcError> {
    let reference = request.params.reference.members();
    let argument = request.params.argument.members();
    let (Some(name), Some(value)) = (argument.string("name"), argument.string("value")) else {
        return Err(error::invalid_params("`argument` needs the strings `name` and `value`"));
    };
    let known = match reference.string("type").as_deref() {
        Some("ref/prompt") => {
            let prompt = reference.string("name").and_then(|name| prompts::find(&name));
            let prompt = prompt.ok_or_else(|| error::invalid_params("Unknown prompt"))?;
            prompt.arguments.iter().any(|argument| argument.name == name)
        }
        Some("ref/resource") => {
            let template = reference.string("uri").unwrap_or_default();
            if !resources::is_template(&template) {
                return Err(error::invalid_params("Unknown resource template"));
            }
            template.contains(&format!("{{{name}}}"))
        }
        _ => return Err(error::invalid_params("`ref` must name a prompt or a resource template")),
    };
    if !known {
        return Err(error::invalid_params("Unknown argument"));
    }
    let context = request.params.context.members();
    let chosen = context.get("arguments").and_then(Members::read).unwrap_or_default();
    let candidates = match x.index() {
        None => Candidates::default(),
        Some(index) => match &*name {
            "round" | "other_round" => titles(index, &value),
            "rank" | "other_rank" => {
                let chosen_round = if name == "other_rank" { chosen.string("other_round") } else { None };
                let title = chosen_round.or_else(|| chosen.string("round"));
                let round = title.and_then(|title| index.archive().find_round(&title));
                round.map(|round| ranks(round, &value)).unwrap_or_default()
            }
            "start_date" | "end_date" => years(index, &value),
            "style" => Candidates::from(
                STYLES.into_iter().filter(|style| style.starts_with(&*value)).map(str::to_owned),
            ),
            _ => Candidates::default(),
        },
    };
    out.raw(r#""completion":{"values":["#);
    for (at, value) in candidates.values.iter().enumerate() {
        out.raw(if at == 0 { "" } else { "," }).string(value);
    }
    out.raw(r#"],"total":"#).number(candidates.total as u64);
    out.raw(if candidates.total > candidates.values.len() {
        r#","hasMore":true}"#
    } else {
        r#","hasMore":false}"#
    });
    Ok(())
}

#[derive(Debug, Default)]
struct Candidates {
    values: Vec<String>,
    total: usize,
}

impl<I: Iterator<Item = String>> From<I> for Candidates {
    fn from(all: I) -> Self {
        let mut candidates = Self::default();
        for value in all {
            candidates.total += 1;
            if candidates.values.len() < MAX_VALUES {
                candidates.values.push(value);
            }
        }
        candidates
    }
}

/// Titles that begin with what was typed, then titles that contain it.
fn titles(index: &Index, typed: &str) -> Candidates {
    let typed = title_key(typed);
    let all = || index.archive().root().rounds.iter();
    let begins = |round: &&ArchivedRound| round.key.starts_with(&typed);
    let contains = |round: &&ArchivedRound| !round.key.starts_with(&typed) && round.key.contains(&typed);
    Candidates::from(all().filter(begins).chain(all().filter(contains)).map(|round| round.title.to_string()))
}

/// Ranks whose digits begin with what was typed, smallest first. Gaps between ranks are not looked at.
fn ranks(round: &ArchivedRound, typed: &str) -> Candidates {
    let Some((first, last)) = round.rank_bounds() else { return Candidates::default() };
    let runs: Vec<(u32, u32)> = if typed.is_empty() {
        vec![(first, last)]
    } else {
        let Ok(stem) = typed.parse().map(Rank::get) else { return Candidates::default() };
        let tens = [1, 10, 100, 1_000, 10_000, 100_000];
        let run = |ten: u32| {
            (stem.saturating_mul(ten).max(first), (stem.saturating_add(1).saturating_mul(ten) - 1).min(last))
        };
        tens.into_iter().map(run).filter(|(from, to)| from <= to).collect()
    };
    let total = runs.iter().map(|(from, to)| (to - from + 1) as usize).sum();
    let values = runs
        .iter()
        .flat_map(|(from, to)| *from..=*to)
        .take(MAX_VALUES)
        .map(|rank| rank.to_string())
        .collect();
    Candidates { values, total }
}

/// Years in which rounds were compiled.
fn years(index: &Index, typed: &str) -> Candidates {
    let periods = index.archive().root().rounds.iter().filter_map(rounds::period);
    let years: BTreeSet<u16> = periods.flat_map(|period| [period.start.year, period.end.year]).collect();
    Candidates::from(
        years.into_iter().map(|year| format!("{year:04}")).filter(|year| year.starts_with(typed)),
    )
}
