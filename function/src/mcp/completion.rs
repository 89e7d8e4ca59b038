//! Completion: round titles, ranks and years, for prompt arguments and template variables.

use std::collections::BTreeSet;

use wakashu_archive::{ArchivedRound, Rank, title_key};
use wakashu_wire::{Members, Request};

use crate::exchange::Exchange;
use crate::mcp::error::{self, RpcError};
use crate::mcp::{prompts, resources};
use crate::served::reading::Reading;
use crate::text::{Answer, field};
use crate::tools::rounds;

/// Most values in one answer, by the specification.
const MAX_VALUES: usize = 100;

/// What an argument or a variable is completed to.
#[derive(Debug)]
pub(super) enum Completes {
    /// Titles of rounds.
    Rounds,
    /// Ranks of the round that was chosen before, in the first of these arguments that was.
    Ranks(&'static [&'static str]),
    /// Years in which rounds were compiled.
    Years,
    /// These words.
    Words(&'static [&'static str]),
}

impl Completes {
    fn candidates(&self, index: &Reading, typed: &str, chosen: &Members<'_>) -> Candidates {
        match self {
            Self::Rounds => titles(index, typed),
            Self::Ranks(of) => {
                let title = of.iter().find_map(|name| chosen.string(name));
                let round = title.and_then(|title| index.archive().find_round(&title));
                round.map(|round| ranks(round, typed)).unwrap_or_default()
            }
            Self::Years => years(index, typed),
            Self::Words(words) => {
                Candidates::from(words.iter().filter(|word| word.starts_with(typed)).map(ToString::to_string))
            }
        }
    }
}

pub(super) fn complete(x: &Exchange<'_>, request: &Request<'_>, out: &mut Answer) -> Result<(), RpcError> {
    let reference = request.params.reference.members();
    let argument = request.params.argument.members();
    let (Some(name), Some(value)) = (argument.string("name"), argument.string("value")) else {
        return Err(error::invalid_params("`argument` needs the strings `name` and `value`"));
    };
    let completes = match reference.string("type").as_deref() {
        Some("ref/prompt") => {
            let prompt = reference.string("name").and_then(|name| prompts::find(&name));
            let prompt = prompt.ok_or_else(|| error::invalid_params("Unknown prompt"))?;
            prompt.argument(&name).map(|argument| &argument.completes)
        }
        Some("ref/resource") => {
            let resource = reference.string("uri").and_then(|template| resources::find_template(&template));
            resource.ok_or_else(|| error::invalid_params("Unknown resource template"))?.variable(&name)
        }
        _ => return Err(error::invalid_params("`ref` must name a prompt or a resource template")),
    };
    let completes = completes.ok_or_else(|| error::invalid_params("Unknown argument"))?;
    let context = request.params.context.members();
    let chosen = context.get("arguments").and_then(Members::read).unwrap_or_default();
    let candidates = x.index().map(|index| completes.candidates(index, &value, &chosen)).unwrap_or_default();
    field!(out, "completion").object(|out| {
        field!(out, "values").strings(&candidates.values);
        field!(out, "total").number(candidates.total as u64);
        field!(out, "hasMore").boolean(candidates.total > candidates.values.len());
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
fn titles(index: &Reading, typed: &str) -> Candidates {
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
fn years(index: &Reading, typed: &str) -> Candidates {
    let periods = index.archive().root().rounds.iter().filter_map(rounds::period);
    let years: BTreeSet<u16> = periods.flat_map(|period| [period.start.year, period.end.year]).collect();
    Candidates::from(
        years.into_iter().map(|year| format!("{year:04}")).filter(|year| year.starts_with(typed)),
    )
}
