//! The end of a walk: order, duplicates, what is missing, and which period belongs to which round.

use std::collections::BTreeMap;
use std::path::Path;

use wakashu_archive::{round_number, title_key};

use super::{Collection, DEFAULT_TITLE, RoundPlan, Walk, no_entries};
use crate::problem::{Problem, printable_path};

impl Walk<'_> {
    /// Puts everything in reading order and looks for what only shows when all is seen.
    pub(super) fn finish(mut self) -> Collection {
        self.leave_directory();
        self.rounds.sort_by_cached_key(|round| {
            let number = round_number(&round.title);
            (number.is_none(), number, round.title.clone(), round.directory.clone())
        });
        self.inputs.sort_by(|one, other| one.path.cmp(&other.path));

        let mut problems = std::mem::take(&mut self.problems);
        if self.rounds.is_empty() {
            problems.push(
                Problem::error("", "no round was found; expected directories such as `第1回`")
                    .hint("name the directory that holds the rounds"),
            );
        } else if self.rounds.iter().all(|round| round.entries.is_empty() && !round.unreadable) {
            problems.push(no_entries::problem(self.root, &self.rounds));
        }
        refuse_equal_titles(&mut self.rounds, &mut problems);
        for round in &mut self.rounds {
            settle_round(round, &mut problems);
        }
        self.assign_periods(&mut problems);
        Collection {
            root: self.root.to_owned(),
            handle: self.handle,
            title: self.title.unwrap_or_else(|| DEFAULT_TITLE.to_owned()),
            description: self.description.unwrap_or_default(),
            rounds: self.rounds,
            inputs: self.inputs,
            problems,
        }
    }

    /// Gives rounds without their own file the period the root's map names. The round's own file wins.
    fn assign_periods(&mut self, problems: &mut Vec<Problem>) {
        if self.periods.is_empty() {
            return;
        }
        let mut by_title = BTreeMap::new();
        let mut by_key = BTreeMap::new();
        for (position, round) in self.rounds.iter().enumerate() {
            by_title.insert(round.title.clone(), position);
            by_key.insert(title_key(&round.title), position);
        }
        let mut named_by: BTreeMap<usize, String> = BTreeMap::new();
        for (title, period) in std::mem::take(&mut self.periods) {
            let Some(&position) = by_title.get(&title).or_else(|| by_key.get(&title_key(&title))) else {
                problems.push(
                    Problem::warning(
                        &self.periods_path,
                        format!("period of an unknown round `{title}` is ignored"),
                    )
                    .hint("use the title of a round's directory as the key"),
                );
                continue;
            };
            if let Some(other) = named_by.insert(position, title.clone()) {
                if other != title {
                    problems.push(
                        Problem::error(
                            &self.periods_path,
                            format!("`{other}` and `{title}` name the same round"),
                        )
                        .hint("keep one of them"),
                    );
                }
                continue;
            }
            if let Some(round) = self.rounds.get_mut(position)
                && round.period_file.is_none()
            {
                round.period = Some(period);
            }
        }
    }
}

/// Two rounds a reader could not tell apart are both refused: nobody can say which one is meant.
fn refuse_equal_titles(rounds: &mut [RoundPlan], problems: &mut Vec<Problem>) {
    let mut by_key: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (position, round) in rounds.iter().enumerate() {
        by_key.entry(title_key(&round.title)).or_default().push(position);
    }
    for (key, positions) in by_key.into_iter().filter(|(_, positions)| positions.len() > 1) {
        let shown =
            |position: &usize| rounds.get(*position).map(|round| printable_path(Path::new(&round.directory)));
        let names: Vec<String> = positions.iter().filter_map(shown).collect();
        let what = match round_number(&key) {
            Some(number) => format!("rounds have the same number {number}"),
            None => "rounds have titles that read the same".to_owned(),
        };
        for position in positions {
            let Some(round) = rounds.get_mut(position) else { continue };
            round.left_out = true;
            let problem = Problem::error(&round.directory, format!("{what}: `{}`", names.join("`, `")));
            problems.push(problem.hint("rename or merge them, so that each title stands for one round"));
        }
    }
}

fn settle_round(round: &mut RoundPlan, problems: &mut Vec<Problem>) {
    let directory = Path::new(&round.directory).to_owned();
    if round.unreadable {
        return;
    }
    if round.entries.is_empty() {
        problems.push(
            Problem::warning(&directory, "round is empty; expected directories such as `1-Laptop`")
                .hint("add entries, or remove the directory"),
        );
        return;
    }
    round.entries.sort_by(|one, other| (one.rank, &one.directory).cmp(&(other.rank, &other.directory)));
    for tied in round.entries.chunk_by_mut(|one, other| one.rank == other.rank).filter(|tied| tied.len() > 1)
    {
        let names: Vec<String> =
            tied.iter().map(|entry| printable_path(Path::new(&entry.directory))).collect();
        for entry in tied {
            entry.left_out = true;
            let message = format!("rank {} is given more than once: `{}`", entry.rank, names.join("`, `"));
            problems.push(
                Problem::error(directory.join(&entry.directory), message)
                    .hint("ranks are unique, ties are not kept: give each directory its own rank"),
            );
        }
    }
    for entry in &mut round.entries {
        let path = directory.join(&entry.directory);
        if !entry.has_text && !entry.misspelt {
            let message = format!("text is missing; expected `{}`", entry.text_name());
            problems.push(Problem::error(&path, message).hint("add the text file, or remove the directory"));
        }
        entry.left_out |= !entry.has_text;
        entry.pictures.sort();
        if entry.pictures.len() > 1 {
            let names: Vec<String> =
                entry.pictures.iter().map(|name| printable_path(Path::new(name))).collect();
            let message =
                format!("entry has {} pictures: `{}`; expected one", names.len(), names.join("`, `"));
            problems.push(Problem::error(&path, message).hint("keep one of them"));
            entry.left_out = true;
        } else if entry.pictures.is_empty() && !entry.misspelt {
            let message = format!(
                "picture is missing; expected `Picture{}` as png, jpg, webp, gif or heic",
                entry.rank
            );
            let problem =
                Problem::warning(&path, message).hint("add a picture, or leave it: it is served without");
            problems.push(problem.minor());
        }
    }
}
