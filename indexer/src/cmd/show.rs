//! `show`: what is in an archive, and its pictures back as files.

use std::path::Path;

use anyhow::{Context as _, anyhow};
use serde::Serialize;
use wakashu_archive::{Archive, ArchivedRound, MAX_RANK};

use super::Status;
use crate::archive_file::ArchiveFile;
use crate::cli::ShowArguments;
use crate::problem::{Problem, Tally, printable, printable_lines, printable_path};
use crate::report::{Report, bytes};
use crate::words::archive::not_shown;

mod extract;
mod table;
mod view;

use extract::Extraction;
use table::{Align, table};
use view::{ArchiveView, EntryView, RoundView};

/// Most rounds named in a hint.
const HINTED_ROUNDS: usize = 10;

/// What `--json` prints; parts that were not asked for are left away.
#[derive(Debug, Serialize)]
struct ShowOutcome {
    archive: ArchiveView,
    #[serde(skip_serializing_if = "Option::is_none")]
    rounds: Option<Vec<RoundView>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    round: Option<RoundView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<Vec<EntryView>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extracted: Option<Vec<String>>,
    problems: Vec<Problem>,
}

/// Runs the verb.
pub fn run(arguments: &ShowArguments, report: &Report) -> anyhow::Result<Status> {
    let file = ArchiveFile::open(&arguments.file)?;
    let archive =
        Archive::open(&file).with_context(|| format!("could not open `{}`", printable_path(file.path())))?;
    let round = arguments.round.as_deref().map(|title| find_round(&archive, title)).transpose()?;
    let mut outcome = ShowOutcome {
        archive: ArchiveView::of(&archive, file.length()),
        rounds: None,
        round: None,
        entries: None,
        extracted: None,
        problems: Vec::new(),
    };

    match round {
        None => outcome.rounds = Some(archive.root().rounds.iter().map(RoundView::of).collect()),
        Some(round) => {
            outcome.round = Some(RoundView::of(round));
            let (first, last) = arguments.rank.map_or((1, MAX_RANK), |rank| (rank, rank));
            let mut entries = Vec::new();
            for chunk in round.chunks_with(first, last) {
                match file.page(&archive, chunk) {
                    Ok(page) => entries.extend(page.entries_between(first, last).iter().map(EntryView::of)),
                    Err(error) => outcome.problems.push(Problem::error(
                        format!("{} {}-{}: page", round.title.as_str(), chunk.first_rank, chunk.last_rank),
                        not_shown(&format!("{:#}", anyhow!(error))),
                    )),
                }
            }
            if let (Some(rank), true) = (arguments.rank, entries.is_empty() && outcome.problems.is_empty()) {
                let ranks = round.rank_bounds().map_or_else(
                    || "the round is empty".to_owned(),
                    |(first, last)| format!("its ranks lie between {first} and {last}"),
                );
                return Err(anyhow!("{} has no rank {rank}; {ranks}", printable(round.title.as_str())));
            }
            outcome.entries = Some(entries);
        }
    }
    if let Some(directory) = &arguments.extract {
        let extraction = Extraction { file: &file, archive: &archive, directory };
        let (paths, problems) = extraction.run(round, arguments.rank)?;
        outcome.extracted = Some(paths);
        outcome.problems.extend(problems);
    }

    report.problems(&outcome.problems, false);
    let tally = Tally::of(&outcome.problems);
    report.tally(&outcome.problems, false);
    if arguments.json {
        report.json(&outcome)?;
    } else {
        report.data(&describe(&outcome, arguments.rank.is_some(), file.path()))?;
    }
    Ok(if tally.fails(false) { Status::Findings } else { Status::Fine })
}

fn find_round<'a>(archive: &'a Archive, title: &str) -> anyhow::Result<&'a ArchivedRound> {
    archive.find_round(title).ok_or_else(|| {
        let rounds = &archive.root().rounds;
        let mut known: Vec<_> =
            rounds.iter().take(HINTED_ROUNDS).map(|round| printable(round.title.as_str())).collect();
        if rounds.len() > HINTED_ROUNDS {
            known.push("…".into());
        }
        anyhow!("no round `{}`; there are {}", printable(title), known.join(", "))
    })
}

fn describe(outcome: &ShowOutcome, whole_entry: bool, path: &Path) -> String {
    if let Some(paths) = &outcome.extracted {
        return paths.iter().flat_map(|path| [path, "\n"]).collect();
    }
    match (&outcome.round, &outcome.entries) {
        (Some(round), Some(entries)) if whole_entry => {
            entries.iter().map(|entry| describe_entry(round, entry)).collect()
        }
        (Some(round), Some(entries)) => describe_round(round, entries),
        _ => describe_archive(outcome, path),
    }
}

fn describe_archive(outcome: &ShowOutcome, path: &Path) -> String {
    let view = &outcome.archive;
    let exact = |count: u64| format!("{} ({count})", bytes(count));
    let facts = [
        ("title", printable(&view.title).into_owned()),
        ("description", printable(&view.description).into_owned()),
        ("file", printable_path(path)),
        ("digest", view.digest.clone()),
        ("built from", view.built_from.clone()),
        ("format", view.format.to_string()),
        ("bytes", exact(view.bytes)),
        ("rounds", view.rounds.to_string()),
        ("entries", view.entries.to_string()),
        ("pictures", view.pictures.to_string()),
    ];
    let rows = facts.into_iter().map(|(label, value)| vec![label.to_owned(), value]).collect();
    let mut text = table(&[], &[Align::Left, Align::Left], rows);

    let rows = view.sections.iter().map(|section| {
        vec![
            section.name.to_owned(),
            section.count.to_string(),
            section.bytes.to_string(),
            bytes(section.bytes),
        ]
    });
    let aligns = [Align::Left, Align::Right, Align::Right, Align::Right];
    text.push('\n');
    text.push_str(&table(&["section", "count", "bytes", ""], &aligns, rows.collect()));

    let rows = outcome.rounds.iter().flatten().map(|round| {
        vec![
            printable(&round.title).into_owned(),
            round
                .period
                .as_ref()
                .map_or_else(|| "-".to_owned(), |period| format!("{} – {}", period.start, period.end)),
            round.entries.to_string(),
            round.pictures.to_string(),
            round.ranks(),
        ]
    });
    let aligns = [Align::Left, Align::Left, Align::Right, Align::Right, Align::Right];
    text.push('\n');
    text.push_str(&table(&["round", "period", "entries", "pictures", "ranks"], &aligns, rows.collect()));
    text
}

fn describe_round(round: &RoundView, entries: &[EntryView]) -> String {
    let rows = entries.iter().map(|entry| {
        let poem = entry.poem.lines().collect::<Vec<_>>().join(" ");
        let picture = entry.picture.as_ref().map_or_else(
            || "-".to_owned(),
            |picture| format!("{} x {}", picture.large.width_px, picture.large.height_px),
        );
        let short: String = poem.chars().take(32).collect();
        vec![
            entry.rank.to_string(),
            printable(&entry.account).into_owned(),
            printable(&short).into_owned(),
            picture,
        ]
    });
    let aligns = [Align::Right, Align::Left, Align::Left, Align::Right];
    let rows = table(&["rank", "account", "poem", "picture"], &aligns, rows.collect());
    format!("{}: {} entries\n\n{rows}", printable(&round.title), round.entries)
}

fn describe_entry(round: &RoundView, entry: &EntryView) -> String {
    let mut text = format!("{}\n{}\n", printable(&round.title), printable_lines(&entry.text));
    if let Some(yomi) = &entry.yomi {
        text.extend(["\nreading: ", &printable(yomi), "\n"]);
    }
    let Some(picture) = &entry.picture else {
        text.push_str("\nno picture\n");
        return text;
    };
    let rows = picture.iter().map(|(size, rendition)| {
        vec![
            size.as_str().to_owned(),
            rendition.media_type.to_owned(),
            format!("{} x {}", rendition.width_px, rendition.height_px),
            rendition.file_bytes.to_string(),
            rendition.stored_offset.to_string(),
            rendition.stored_bytes.to_string(),
            rendition.hash.get(..16).unwrap_or_default().to_owned(),
        ]
    });
    let aligns =
        [Align::Left, Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Left];
    let header = ["rendition", "type", "pixels", "bytes", "stored at", "stored bytes", "hash"];
    text.push('\n');
    text.push_str(&table(&header, &aligns, rows.collect()));
    text
}
