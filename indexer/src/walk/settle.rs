//! The end of a walk: order, duplicates, what is missing, and which period belongs to which round.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use unicode_normalization::UnicodeNormalization as _;
use unicode_width::UnicodeWidthChar as _;
use wakashu_archive::{round_number, title_key};

use super::names::{self, COLLECTION_FILE, PERIOD_FILE};
use super::no_entries::{self, Suspicion};
use super::{AboutRound, Candidate, Collection, DEFAULT_TITLE, EntryPlan, RoundPlan, Walk};
use super::{collection_file, period_file};
use crate::begun;
use crate::problem::{Problem, printable_path};
use crate::words::names::{self as names_words, Stray};
use crate::words::{collection as words, curating, periods};

/// Says that several files may be meant, and none is taken.
struct Ambiguous;

impl Walk<'_> {
    /// Puts everything in reading order and looks for what only shows when all is seen.
    pub(super) fn finish(mut self) -> Collection {
        self.leave_directory();
        self.read_collection_file();
        self.read_period_map();
        self.read_period_files();
        self.rounds.sort_by_cached_key(|round| {
            let number = round_number(&round.title);
            (number.is_none(), number, round.title.clone(), round.directory.clone())
        });
        self.inputs.sort_by(|one, other| one.path.cmp(&other.path));

        let mut problems = std::mem::take(&mut self.problems);
        let has_entries = self.rounds.iter().any(|round| !round.entries.is_empty());
        if self.rounds.is_empty() {
            problems.push(Problem::error("", words::no_round()));
        } else if has_entries {
            if !self.is_described {
                problems
                    .push(Problem::warning(COLLECTION_FILE, words::untitled(COLLECTION_FILE, DEFAULT_TITLE)));
            }
        } else if self.rounds.iter().all(|round| !round.explained) {
            let (wording, suspicion) = no_entries::wording(self.root, &self.rounds);
            if suspicion == Suspicion::OtherDirectory {
                problems.clear();
            }
            problems.push(Problem::error("", wording));
            // Told for all of them together.
            self.rounds.iter_mut().for_each(|round| round.explained = true);
        }
        refuse_equal_titles(&mut self.rounds, &mut problems);
        for round in &mut self.rounds {
            settle_round(round, &mut problems);
        }
        self.assign_periods(&mut problems);
        for round in &self.being_moved {
            problems.retain(|problem| !problem.is_inside(round));
            problems.push(Problem::error(round.join(begun::JOURNAL), curating::adding_begun()));
        }
        if begun::is_new_begun(self.root) {
            problems.push(Problem::warning("", curating::new_begun()));
        }
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

    fn read_collection_file(&mut self) {
        let files = std::mem::take(&mut self.collection_files);
        self.is_described = !files.is_empty();
        let Ok(Some(file)) = self.meant(files, COLLECTION_FILE) else { return };
        let Some((bytes, input)) = self.description_file(file) else { return };
        let parsed = collection_file::parse(&bytes);
        (self.title, self.description) = (parsed.value.title, parsed.value.description);
        self.faults(&input, parsed.faults);
        self.inputs.push(input);
    }

    fn read_period_map(&mut self) {
        let files = std::mem::take(&mut self.period_files);
        let Ok(Some(file)) = self.meant(files, PERIOD_FILE) else { return };
        let Some((bytes, input)) = self.description_file(file) else { return };
        let parsed = period_file::parse_map(&bytes);
        self.periods = parsed.value;
        self.periods_path.clone_from(&input.path);
        self.faults(&input, parsed.faults);
        self.inputs.push(input);
    }

    fn read_period_files(&mut self) {
        let mut rounds = std::mem::take(&mut self.rounds);
        for round in &mut rounds {
            let files = std::mem::take(&mut round.period_files);
            match self.meant(files, PERIOD_FILE).map(|file| file.map(|file| self.description_file(file))) {
                Ok(None) => {}
                Ok(Some(Some((bytes, input)))) => {
                    let parsed = period_file::parse_round(&bytes);
                    self.faults(&input, parsed.faults);
                    let AboutRound { period, extras, is_draft } = parsed.value;
                    round.period = period;
                    round.extras = extras;
                    round.is_draft = is_draft == Some(true);
                    // It may be a draft.
                    round.left_out |= is_draft.is_none();
                    round.period_file = Some(input);
                }
                // Here, too.
                Ok(Some(None)) | Err(Ambiguous) => round.left_out = true,
            }
        }
        self.rounds = rounds;
    }

    /// Returns the file that is meant by a name: the one that has it, or the only one that can mean nothing else.
    fn meant(&mut self, mut files: Vec<Candidate>, expected: &str) -> Result<Option<Candidate>, Ambiguous> {
        files.sort();
        let right = files.iter().position(|file| file.is_right);
        if right.is_none() && files.len() > 1 {
            let names = shown(files.iter().filter_map(|file| file.path.file_name()));
            let directory = files.first().and_then(|file| file.path.parent()).unwrap_or(Path::new(""));
            self.problems.push(Problem::error(directory, names_words::two_files(&names, expected)));
            return Err(Ambiguous);
        }
        let Some(meant) = right.or((!files.is_empty()).then_some(0)).map(|at| files.remove(at)) else {
            return Ok(None);
        };
        for copy in files {
            let name = copy.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            self.unexpected(copy.path, &name, Stray::Other);
        }
        if !meant.is_right {
            let problem = Problem::warning(&meant.path, names_words::read_as(expected));
            self.problems.push(problem.renaming(&meant.path, expected));
        }
        Ok(Some(meant))
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
                problems.push(Problem::warning(&self.periods_path, periods::unknown_round(&title)));
                continue;
            };
            if let Some(other) = named_by.insert(position, title.clone()) {
                if other != title {
                    problems.push(Problem::error(&self.periods_path, periods::same_round(&other, &title)));
                }
                continue;
            }
            if let Some(round) = self.rounds.get_mut(position)
                && round.period.is_none()
                && !round.left_out
            {
                round.period = Some(period);
            }
        }
    }
}

/// Returns the marks of a title that take no room, by their code points: nobody sees them.
fn marks(title: &str) -> Vec<String> {
    let hidden = title.nfkc().filter(|character| character.width() == Some(0));
    hidden.map(|character| format!("U+{:04X}", u32::from(character))).collect()
}

/// Returns a title without them.
fn without_marks(title: &str) -> String {
    title.nfkc().filter(|character| character.width() != Some(0)).collect()
}

/// Two rounds a reader could not tell apart are both refused: nobody can say which one is meant.
fn refuse_equal_titles(rounds: &mut [RoundPlan], problems: &mut Vec<Problem>) {
    let mut by_key: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (position, round) in rounds.iter().enumerate() {
        by_key.entry(title_key(&without_marks(&round.title))).or_default().push(position);
    }
    for (key, positions) in by_key.into_iter().filter(|(_, positions)| positions.len() > 1) {
        let meant: Vec<&RoundPlan> = positions.iter().filter_map(|position| rounds.get(*position)).collect();
        let names: Vec<String> = meant
            .iter()
            .map(|round| {
                let name = printable_path(Path::new(&round.directory));
                let marks = marks(&round.title).join(" ");
                if marks.is_empty() { name } else { format!("{name} ({marks})") }
            })
            .collect();
        let is_marked = meant.iter().any(|round| !marks(&round.title).is_empty());
        let wording = if is_marked {
            words::rounds_alike_but_for_marks(&names)
        } else {
            words::rounds_alike(round_number(&key), &names)
        };
        for position in positions {
            let Some(round) = rounds.get_mut(position) else { continue };
            round.left_out = true;
            problems.push(Problem::error(&round.directory, wording.clone()));
        }
    }
}

fn settle_round(round: &mut RoundPlan, problems: &mut Vec<Problem>) {
    let directory = Path::new(&round.directory).to_owned();
    if round.entries.is_empty() {
        if round.is_entry && !round.explained {
            let name = printable_path(&directory);
            problems.push(Problem::error(&directory, names_words::entry_without_round(&name)));
            round.left_out = true;
        } else if !round.explained && !round.holds_lost {
            problems.push(Problem::warning(&directory, words::round_empty()));
        }
        return;
    }
    round.entries.sort_by(|one, other| (one.rank, &one.directory).cmp(&(other.rank, &other.directory)));
    for tied in round.entries.chunk_by_mut(|one, other| one.rank == other.rank).filter(|tied| tied.len() > 1)
    {
        let names: Vec<String> = shown(tied.iter().map(|entry| &entry.directory));
        for entry in tied {
            entry.left_out = true;
            let wording = words::rank_twice(entry.rank, &names);
            problems.push(Problem::error(directory.join(&entry.directory), wording));
        }
    }
    for entry in &mut round.entries {
        let path = directory.join(&entry.directory);
        settle_text(entry, &path, problems);
        entry.left_out |= entry.text.is_none();
        settle_picture(entry, &path, problems);
    }
}

/// Finds the entry's text among what is named like it.
fn settle_text(entry: &mut EntryPlan, path: &Path, problems: &mut Vec<Problem>) {
    let expected = entry.text_name();
    entry.near_texts.sort();
    entry.like_texts.sort();
    let near = std::mem::take(&mut entry.near_texts);
    let like = std::mem::take(&mut entry.like_texts);
    if entry.text.is_none() {
        match (near.as_slice(), like.as_slice()) {
            ([one], _) => {
                let problem = Problem::warning(path.join(one), names_words::read_as(&expected));
                problems.push(problem.renaming(path.join(one), &expected));
                entry.text = Some(one.clone());
            }
            ([_, _, ..], _) => {
                problems.push(Problem::error(path, names_words::two_texts(&shown(&near), &expected)));
                return;
            }
            ([], _) if entry.misspelt => {}
            ([], []) => {
                problems.push(Problem::error(path, words::text_missing(&expected)));
            }
            ([], [one]) => {
                let (at, name) = (path.join(one), printable_path(Path::new(one)));
                // A number in the name that is not this rank's makes it a guess.
                let digits: String = names::plain(&name).chars().filter(char::is_ascii_digit).collect();
                let fixable = digits.is_empty() || digits == entry.rank.to_string();
                let problem = Problem::error(&at, names_words::text_name(&name, &expected, fixable));
                problems.push(if fixable { problem.renaming(at, &expected) } else { problem });
                return;
            }
            ([], _) => {
                problems.push(Problem::error(path, names_words::two_texts(&shown(&like), &expected)));
                return;
            }
        }
    }
    let Some(used) = &entry.text else { return };
    let used_name = printable_path(Path::new(used));
    for other in near.iter().chain(&like).filter(|other| *other != used) {
        problems.push(Problem::warning(path.join(other), names_words::text_not_used(&used_name)));
    }
}

/// Looks whether the entry has one picture.
fn settle_picture(entry: &mut EntryPlan, path: &Path, problems: &mut Vec<Problem>) {
    entry.pictures.sort();
    entry.like_pictures.sort();
    match entry.pictures.as_slice() {
        [] => {
            for (name, to) in &entry.like_pictures {
                problems.push(Problem::warning(path.join(name), names_words::picture_name(to)));
            }
            if entry.like_pictures.is_empty() && !entry.misspelt {
                problems.push(Problem::warning(path, words::picture_missing(entry.rank)).minor());
            }
        }
        [used] => {
            let used = printable_path(Path::new(used));
            for (name, _) in &entry.like_pictures {
                problems.push(Problem::warning(path.join(name), names_words::picture_not_used(&used)));
            }
        }
        several => {
            problems.push(Problem::error(path, words::two_pictures(&shown(several))));
            entry.left_out = true;
        }
    }
}

fn shown(names: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Vec<String> {
    names.into_iter().map(|name| printable_path(Path::new(&name))).collect()
}
