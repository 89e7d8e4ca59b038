//! `add`: one more poem, under the right names.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _};
use std::path::{Path, PathBuf};

use unicode_normalization::UnicodeNormalization as _;
use wakashu_archive::{MAX_RANK, MAX_STORED_PICTURE_BYTES, bare_number, title_key};

use super::Status;
use crate::begun::{self, ADDING, Alone, Journal};
use crate::cli::AddArguments;
use crate::cmd::new::TEXT_SCHEMA;
use crate::picture::{self, MediaType, Settings};
use crate::problem::{Problem, Severity, printable, printable_path};
use crate::report::Report;
use crate::walk::names::{self, PERIOD_FILE, RankName};
use crate::walk::text_data::{self, MAX_TEXT_FILE_BYTES};
use crate::walk::{self, Collection, EntryPlan, RoundPlan};
use crate::words::curating::{self as words, Wanted};
use crate::words::{Remark, pictures};

/// What stands for a poem on stdin.
const STDIN: &str = "-";

/// Runs the verb.
pub fn run(arguments: &AddArguments, report: &Report) -> anyhow::Result<Status> {
    let collection = &arguments.wakashu_dir;
    let refuse = |remark: &Remark| anyhow::anyhow!("{}", remark.said(report.language()));
    let place = || -> anyhow::Result<(Option<Alone>, Place)> {
        let alone = if collection.is_dir() { Some(Alone::with(collection)?) } else { None };
        if !arguments.dry_run {
            begun::settle(collection, report)?;
        }
        let place = Place::of(&walk::walk(collection)?, &arguments.round, arguments.rank);
        Ok((alone, place.map_err(|remark| refuse(&remark))?))
    };
    let is_asking = arguments.account.is_none() || arguments.poem.is_none() || arguments.picture.is_none();
    if is_asking {
        // What stands in the way is told before somebody types a poem. Nobody is kept waiting while they type.
        place()?;
    }
    let given = Given::gather(arguments, report)?;
    if given.tell_faults(report) {
        return Ok(Status::Findings);
    }
    let (_alone, place) = place()?;
    let plan = Plan { entry: format!("{}-{}", place.rank, given.name), place };
    if !arguments.dry_run {
        plan.carry_out(collection, &given)?;
    }
    plan.tell(arguments.dry_run, report);
    report.data(&format!("{}\n", collection.join(&plan.place.round).join(&plan.entry).display()))?;
    Ok(Status::Fine)
}

/// What the person gave, in full.
struct Given {
    account: String,
    name: String,
    poem: String,
    yomi: Option<String>,
    honka: Vec<String>,
    prompt: String,
    picture: Option<GivenPicture>,
}

struct GivenPicture {
    path: PathBuf,
    bytes: Vec<u8>,
    format: Result<MediaType, picture::Problem>,
}

impl Given {
    /// Takes what the arguments say and asks for the rest, where there is somebody to ask.
    fn gather(arguments: &AddArguments, report: &Report) -> anyhow::Result<Self> {
        let asking = Asking { report, can: io::stdin().is_terminal() && io::stderr().is_terminal() };
        let refuse = |remark: &Remark| anyhow::anyhow!("{}", remark.said(report.language()));
        if let Some(name) = arguments.name.as_ref().filter(|name| !is_folder_name(name)) {
            return Err(refuse(&words::not_a_name(&printable(name))));
        }
        let account = match &arguments.account {
            Some(account) => account.clone(),
            None => asking.account()?,
        };
        let name = match arguments.name.clone().unwrap_or_else(|| folder_name(&account)) {
            name if is_folder_name(&name) => name,
            _ => asking.name()?,
        };
        let poem = match arguments.poem.as_deref() {
            Some(STDIN) => from_stdin(report)?,
            Some(poem) => poem.to_owned(),
            None => asking.poem()?,
        };
        let picture = match &arguments.picture {
            Some(path) => Some(GivenPicture::read(path.clone()).map_err(|remark| refuse(&remark))?),
            None => asking.picture()?,
        };
        Ok(Self {
            account,
            name,
            poem,
            yomi: arguments.yomi.clone(),
            honka: arguments.honka.clone(),
            prompt: arguments.prompt.clone().unwrap_or_default(),
            picture,
        })
    }

    /// Says what is wrong with the words and the picture; tells whether anything is.
    fn tell_faults(&self, report: &Report) -> bool {
        let text = self.text(None);
        let faults = text_data::parse(text.as_bytes(), 1).faults;
        let mut problems: Vec<Problem> = faults
            .into_iter()
            .filter(|fault| fault.severity == Severity::Error)
            .map(|fault| Problem::error("TextData", *fault.wording))
            .collect();
        problems.extend(self.picture.as_ref().and_then(GivenPicture::problem));
        report.problems(&problems, false);
        !problems.is_empty()
    }

    /// Returns the text file.
    fn text(&self, schema: Option<&str>) -> String {
        let json = |text: &str| serde_json::to_string(text).unwrap_or_default();
        let list: Vec<String> = self.honka.iter().map(|link| format!("\n    {}", json(link))).collect();
        let honka = if list.is_empty() { "[]".to_owned() } else { format!("[{}\n  ]", list.join(",")) };
        let members = [
            ("$schema", schema.map(json)),
            ("AccountName", Some(json(&self.account))),
            ("HonkadoriWaka", Some(json(&self.poem))),
            ("Yomi", self.yomi.as_deref().map(json)),
            ("Honka", Some(honka)),
            ("Prompt", Some(json(&self.prompt))),
        ];
        let lines: Vec<String> =
            members.into_iter().filter_map(|(key, value)| Some(format!("  \"{key}\": {}", value?))).collect();
        format!("{{\n{}\n}}\n", lines.join(",\n"))
    }
}

impl GivenPicture {
    fn read(path: PathBuf) -> Result<Self, Remark> {
        let mut bytes = Vec::new();
        let read = File::open(&path)
            .and_then(|file| file.take(MAX_STORED_PICTURE_BYTES + 1).read_to_end(&mut bytes));
        if let Err(error) = read {
            return Err(words::unreadable_picture(&printable_path(&path), &error));
        }
        if bytes.len() as u64 > MAX_STORED_PICTURE_BYTES {
            return Err(words::picture_too_large(&printable_path(&path), MAX_STORED_PICTURE_BYTES));
        }
        let format = picture::header(&bytes, &Settings::default()).map(|header| header.format);
        Ok(Self { path, bytes, format })
    }

    /// Returns why it cannot be shown, if it cannot.
    fn problem(&self) -> Option<Problem> {
        let problem = self.format.as_ref().err()?;
        Some(Problem::error(&self.path, pictures::problem(problem)))
    }

    /// Returns the ending of its name, which says what its bytes are.
    fn extension(&self) -> &'static str {
        match self.format {
            Ok(MediaType::Jpeg) => "jpg",
            Ok(MediaType::Gif) => "gif",
            Ok(MediaType::Webp) => "webp",
            Ok(MediaType::Heic) => "heic",
            _ => "png",
        }
    }
}

/// Asks on the terminal.
struct Asking<'a> {
    report: &'a Report,
    can: bool,
}

impl Asking<'_> {
    fn ask(&self, wanted: Wanted) -> anyhow::Result<()> {
        let language = self.report.language();
        anyhow::ensure!(self.can, "{}", words::missing(wanted).said(language));
        let mut stderr = io::stderr().lock();
        stderr.write_all(words::question(wanted).said(language).as_bytes())?;
        Ok(stderr.flush()?)
    }

    /// Returns an answer, which may be empty.
    fn line(&self, wanted: Wanted) -> anyhow::Result<String> {
        self.ask(wanted)?;
        let mut line = String::new();
        if io::stdin().lock().read_line(&mut line)? == 0 {
            anyhow::bail!("\n{}", words::not_answered().said(self.report.language()));
        }
        Ok(line.trim().to_owned())
    }

    fn account(&self) -> anyhow::Result<String> {
        loop {
            let account = self.line(Wanted::Account)?;
            if !account.is_empty() {
                return Ok(account);
            }
        }
    }

    fn name(&self) -> anyhow::Result<String> {
        loop {
            let name = self.line(Wanted::Name)?;
            if is_folder_name(&name) {
                return Ok(name);
            }
            self.report.remark(&words::not_a_name(&printable(&name)));
        }
    }

    /// Returns lines up to an empty one, or to the end of the input.
    fn poem(&self) -> anyhow::Result<String> {
        self.ask(Wanted::Poem)?;
        let mut lines = Vec::new();
        for line in io::stdin().lock().lines() {
            let line = line?;
            match (line.trim().is_empty(), lines.is_empty()) {
                (true, true) => {}
                (true, false) => break,
                (false, _) => lines.push(line),
            }
        }
        anyhow::ensure!(!lines.is_empty(), "{}", words::not_answered().said(self.report.language()));
        Ok(lines.join("\n"))
    }

    /// Returns a picture that can be shown, or none where the person has none. What was typed before is not lost for a wrong
    /// path.
    fn picture(&self) -> anyhow::Result<Option<GivenPicture>> {
        loop {
            let path = self.line(Wanted::Picture)?;
            if path.is_empty() {
                return Ok(None);
            }
            match GivenPicture::read(path_of(&path)) {
                Err(remark) => self.report.remark(&remark),
                Ok(picture) => match picture.problem() {
                    Some(problem) => self.report.problems(&[problem], false),
                    None => return Ok(Some(picture)),
                },
            }
        }
    }
}

/// Returns the path that somebody typed, or dropped on the terminal, which then writes it as a shell would want it.
fn path_of(typed: &str) -> PathBuf {
    let inside = |quote: char| typed.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    if Path::new(typed).exists() {
        PathBuf::from(typed)
    } else if let Some(path) = inside('\'').or_else(|| inside('"')) {
        PathBuf::from(path)
    } else if cfg!(unix) {
        let mut letters = typed.chars();
        let next =
            || letters.next().and_then(|letter| if letter == '\\' { letters.next() } else { Some(letter) });
        std::iter::from_fn(next).collect::<String>().into()
    } else {
        PathBuf::from(typed)
    }
}

/// Reads a poem from stdin. The line break that ends it is the terminal's, not the poem's.
fn from_stdin(report: &Report) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    io::stdin().lock().take(MAX_TEXT_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    let text = String::from_utf8(bytes).ok().filter(|text| text.len() as u64 <= MAX_TEXT_FILE_BYTES);
    let Some(text) = text else {
        anyhow::bail!("{}", words::stdin_too_long(MAX_TEXT_FILE_BYTES).said(report.language()));
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text).replace("\r\n", "\n");
    Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
}

/// Makes a folder's name of an account.
fn folder_name(account: &str) -> String {
    let kept = account.trim().trim_start_matches(['@', '＠', '.', ' ']).nfc();
    let kept = kept.filter(|letter| !letter.is_control() && !"/\\:*?\"<>|".contains(*letter));
    kept.take(60).collect::<String>().trim().to_owned()
}

fn is_folder_name(name: &str) -> bool {
    !name.trim().is_empty()
        && name.trim() == name
        && name.len() <= 200
        && !name.starts_with('.')
        && !name.contains(|letter: char| letter.is_control() || matches!(letter, '/' | '\\'))
}

/// Where an entry goes, and what makes room for it.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    /// The round's folder.
    round: String,
    /// The round is begun with this entry.
    is_new_round: bool,
    rank: u32,
    /// Folders of entries that get another rank, from and to, and what moves inside them.
    moves: Vec<(String, String)>,
    /// How many entries those are.
    moved_entries: usize,
    /// What editors check the text with.
    schema: Option<String>,
}

impl Place {
    fn of(collection: &Collection, round: &str, rank: Option<u32>) -> Result<Self, Remark> {
        let found = find_round(&collection.rounds, round);
        let name = round_name(collection, round)?;
        let entries = found.map_or(&[][..], |round| round.entries.as_slice());
        // A misspelt folder keeps the rank it will have when it is put right.
        let misspelt = found.map_or(&[][..], |round| round.misspelt_ranks.as_slice());
        let last = entries.iter().map(|entry| entry.rank).chain(misspelt.iter().copied()).max().unwrap_or(0);
        let rank = rank.unwrap_or(last + 1);
        if rank > MAX_RANK {
            return Err(words::no_rank_left(&name));
        }
        let shifted = shifted(entries, rank);
        let mut inside = collection.problems.iter().filter(|problem| problem.is_inside(Path::new(&name)));
        if misspelt.contains(&rank) || (!shifted.is_empty() && inside.any(Problem::is_error)) {
            return Err(words::round_has_errors(&name));
        }
        let mut moves = Vec::new();
        for entry in shifted.iter().rev() {
            if entry.rank == MAX_RANK {
                return Err(words::no_rank_left(&name));
            }
            moves.extend(moves_of(entry).ok_or_else(|| words::round_has_errors(&name))?);
        }
        let schema = collection.root.join("..").join(TEXT_SCHEMA).is_file();
        Ok(Self {
            round: name,
            is_new_round: found.is_none(),
            rank,
            moves,
            moved_entries: shifted.len(),
            schema: schema.then(|| format!("../../../{TEXT_SCHEMA}")),
        })
    }
}

/// What will be done.
#[derive(Debug, PartialEq, Eq)]
struct Plan {
    place: Place,
    /// The entry's folder.
    entry: String,
}

impl Plan {
    fn carry_out(&self, collection: &Path, given: &Given) -> anyhow::Result<()> {
        let Place { round, is_new_round, rank, moves, schema, .. } = &self.place;
        let round = collection.join(round);
        let staging = if *is_new_round { collection.join(ADDING) } else { round.join(ADDING) };
        // A new round comes whole, with its first entry in it.
        let entry = if *is_new_round { staging.join(&self.entry) } else { staging.clone() };
        let text = given.text(schema.as_deref());
        begun::write(&entry.join(format!("TextData{rank}.json")), text.as_bytes())?;
        if let Some(picture) = &given.picture {
            let name = format!("Picture{rank}.{}", picture.extension());
            begun::write(&entry.join(name), &picture.bytes)?;
        }
        if *is_new_round {
            begun::give_place(&staging, &round)?;
        } else if moves.is_empty() {
            begun::give_place(&staging, &round.join(&self.entry))?;
        } else {
            let mut moves = moves.clone();
            moves.push((ADDING.to_owned(), self.entry.clone()));
            let journal = Journal { moves };
            journal.begin(&round)?;
            journal.finish(&round)?;
        }
        Ok(())
    }

    fn tell(&self, dry_run: bool, report: &Report) {
        let Place { round, moves, moved_entries, .. } = &self.place;
        for (from, to) in moves.iter().filter(|(from, _)| !from.contains('/')) {
            report.remark(&words::moved(&printable(from), &printable(to), dry_run));
        }
        if *moved_entries > 0 {
            report.remark(&words::addresses_move(*moved_entries));
        }
        report.remark(&words::added(&printable(&format!("{round}/{}", self.entry)), dry_run));
        if dry_run {
            report.remark(&words::nothing_changed());
        }
    }
}

/// Finds a round by what the person calls it: its name, another way to write it, or its number.
fn find_round<'a>(rounds: &'a [RoundPlan], wanted: &str) -> Option<&'a RoundPlan> {
    let by_key = |key: &str| rounds.iter().find(|round| title_key(&round.title) == key);
    let exact = rounds.iter().find(|round| round.title == wanted);
    exact.or_else(|| by_key(&title_key(wanted))).or_else(|| by_key(&format!("第{}回", bare_number(wanted)?)))
}

/// Returns the folder of the round that the person means, or of the one that is begun.
fn round_name(collection: &Collection, wanted: &str) -> Result<String, Remark> {
    match find_round(&collection.rounds, wanted) {
        Some(round) => {
            round.directory.to_str().map(str::to_owned).ok_or_else(|| words::not_a_round(&round.title))
        }
        None => new_round_name(wanted),
    }
}

fn new_round_name(wanted: &str) -> Result<String, Remark> {
    let name: String = match bare_number(wanted) {
        Some(number) => format!("第{number}回"),
        None => wanted.trim().nfc().collect(),
    };
    let is_skipped = names::is_skipped(OsStr::new(&name)) || name == PERIOD_FILE;
    let is_entry = !matches!(names::rank_name(&name), RankName::Other);
    if !is_folder_name(&name) || is_skipped || is_entry || title_key(&name).is_empty() {
        return Err(words::not_a_round(&printable(wanted)));
    }
    Ok(name)
}

/// Returns the entries that must make room for one at `rank`: those behind it up to the first gap.
fn shifted(entries: &[EntryPlan], rank: u32) -> Vec<&EntryPlan> {
    let behind = entries.iter().filter(|entry| entry.rank >= rank);
    behind.zip(rank..).take_while(|(entry, next)| entry.rank == *next).map(|(entry, _)| entry).collect()
}

/// Returns what moves when an entry goes down by one rank. `None` if its names are not what they should be.
fn moves_of(entry: &EntryPlan) -> Option<Vec<(String, String)>> {
    let rank = entry.rank + 1;
    let directory = entry.directory.to_str()?;
    let (RankName::Rank(_), Some((_, name))) = (names::rank_name(directory), directory.split_once('-'))
    else {
        return None;
    };
    let to = format!("{rank}-{name}");
    let mut moves = vec![(directory.to_owned(), to.clone())];
    let mut file = |from: &OsStr, name: String| {
        moves.push((format!("{to}/{}", from.to_str()?), format!("{to}/{name}")));
        Some(())
    };
    file(entry.text.as_deref()?, format!("TextData{rank}.json"))?;
    for picture in &entry.pictures {
        let extension = Path::new(picture).extension()?.to_str()?.trim();
        file(picture, format!("Picture{rank}.{extension}"))?;
    }
    Some(moves)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_named_after_accounts() {
        for (account, name) in [
            ("@Laptop", "Laptop"),
            (" ＠花子 ", "花子"),
            ("@a/b\\c", "abc"),
            ("@..x", "x"),
            ("@", ""),
            ("か\u{3099}", "が"),
        ] {
            assert_eq!(folder_name(account), name, "{account}");
        }
        for name in ["", " a", "a/b", ".a", "a\n", &"長".repeat(100)] {
            assert!(!is_folder_name(name), "{name}");
        }
    }

    #[test]
    fn a_path_dropped_on_the_terminal_is_understood() {
        for (typed, path) in [
            ("a.png", "a.png"),
            ("'/x/私の 絵.png'", "/x/私の 絵.png"),
            ("\"a b.png\"", "a b.png"),
            #[cfg(unix)]
            ("/x/IMG\\ \\(1\\).png", "/x/IMG (1).png"),
        ] {
            assert_eq!(path_of(typed), Path::new(path), "{typed}");
        }
    }

    #[test]
    fn rounds_are_named_by_number_or_by_name() {
        assert_eq!(new_round_name("3").unwrap(), "第3回");
        assert_eq!(new_round_name("第三回").unwrap(), "第三回");
        assert_eq!(new_round_name("番外編").unwrap(), "番外編");
        for name in ["", "..", "a/b", "1-Laptop", ".git", "README", "編纂時期.json"] {
            assert!(new_round_name(name).is_err(), "{name}");
        }
    }
}
