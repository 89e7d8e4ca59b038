//! Times searches of the column of texts, without server or protocol: `search [POEMS [FILE]]`.
//!
//! The poems are made up, or those of a file with one JSON object a line (`HonkadoriWaka`, `Yomi`, `AccountName`), over and
//! over until there are enough. With a file, the queries are those of tests/search/queries.tsv.
#![expect(clippy::print_stdout, reason = "a measuring program")]

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use wakashu_archive::{
    Archive, Column, ColumnName, ContentHash, EntryDraft, Fit, RoundDraft, Walk, Word, Writer, finder,
};
use wakashu_bench::{Shape, write_archive};

/// From many hits to none; a word of one syllable, a whole line, an account; spellings of old and of today.
const QUERIES: [&str; 13] = [
    "ひさかたの光のどけき天の原",
    "の",
    "あ",
    "恋すてふわが名",
    "夜もすがら物思ふころは",
    "ぬばたまの",
    "zzz",
    "poet976",
    "ゑゑ",
    "し",
    "おうさか",
    "きょうじょう",
    "うめうま",
];

/// Each search is timed this often; the quickest counts.
const SCANS: usize = 15;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let poems: u32 = arguments.next().map_or(Ok(100_000), |count| count.parse())?;
    let file = arguments.next();
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("search.wakashu");
    let started = Instant::now();
    let mut queries: Vec<String> = QUERIES.map(str::to_owned).into();
    match file {
        None => {
            write_archive(&path, &[Shape { rounds: poems.div_ceil(100), entries: 100, picture_bytes: 0 }])?;
        }
        Some(file) => {
            write_poems(&path, Path::new(&file), poems)?;
            let table = concat!(env!("CARGO_MANIFEST_DIR"), "/../../search/queries.tsv");
            let table = std::fs::read_to_string(table)?;
            let rows = table.lines().filter(|line| !line.starts_with('#') && !line.starts_with("account"));
            queries.extend(rows.filter_map(|row| Some(row.split('\t').nth(1)?.to_owned())));
        }
    }
    let bytes = Bytes::from(std::fs::read(&path)?);
    println!("{} bytes written in {:?}", bytes.len(), started.elapsed());

    let archive = Archive::open(&*bytes)?;
    let reference = archive.column(ColumnName::Text).ok_or("the archive has no search column")?;
    let start = usize::try_from(reference.offset)?;
    let section = bytes.slice(start..start + usize::try_from(reference.length)?);
    let started = Instant::now();
    let column = Column::open(&reference, &section, archive.root().entries.to_native())?;
    println!("column of {} bytes verified in {:?}", section.len(), started.elapsed());

    let (exact, loose) = (column.exact(), column.loose().ok_or("the column has no loose keys")?);
    let mut slowest: Vec<(Duration, String)> = Vec::new();
    for query in queries {
        let word = Word::new(&query);
        let needle = finder(word.exact());
        // As the server does: a word with one spelling is looked for in the exact keys.
        let (hits, took) = quickest(|| {
            let mut hits = 0;
            if word.spellings().is_empty() {
                exact.scan(&needle, 0..exact.len(), |_, _| {
                    hits += 1;
                    true
                });
            }
            for spelling in word.spellings() {
                loose.scan(&spelling.finder(), 0..loose.len(), |ordinal, place| {
                    let fit = spelling.fit(Walk::new(exact.entry(ordinal)).to(place));
                    hits += usize::from(fit >= Fit::Loose);
                    fit == Fit::Exact
                });
            }
            hits
        });
        slowest
            .push((took, format!("{query}: {hits} matches in {} spellings", word.spellings().len().max(1))));
    }
    slowest.sort();
    let middle = slowest.get(slowest.len() / 2).map(|(took, _)| took.as_secs_f64() * 1e3);
    println!("median {:.3} ms; the slowest:", middle.unwrap_or_default());
    for (took, row) in slowest.iter().rev().take(20) {
        println!("{:.3} ms  {row}", took.as_secs_f64() * 1e3);
    }
    Ok(())
}

fn quickest(mut search: impl FnMut() -> usize) -> (usize, Duration) {
    let mut best = (0, Duration::MAX);
    for _ in 0..SCANS {
        let started = Instant::now();
        let hits = search();
        best = (hits, best.1.min(started.elapsed()));
    }
    best
}

fn write_poems(path: &Path, file: &Path, count: u32) -> Result<(), Box<dyn Error>> {
    let mut writer = Writer::new(std::io::BufWriter::new(std::fs::File::create(path)?))?;
    writer.begin_round(RoundDraft { title: "第1回".to_owned(), ..RoundDraft::default() })?;
    let text = std::fs::read_to_string(file)?;
    for (rank, line) in (1..=count).zip(text.lines().cycle()) {
        let poem: serde_json::Value = serde_json::from_str(line)?;
        let field = |name: &str| poem.get(name).and_then(|value| value.as_str()).map(str::to_owned);
        writer.entry(EntryDraft {
            rank,
            account: field("AccountName").unwrap_or_default(),
            poem: field("HonkadoriWaka").unwrap_or_default(),
            yomi: field("Yomi"),
            ..EntryDraft::default()
        })?;
    }
    writer.finish(String::new(), String::new(), ContentHash::of(b""))?;
    Ok(())
}
