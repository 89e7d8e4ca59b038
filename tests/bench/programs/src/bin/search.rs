//! Times scans of the search column over made-up poems, without server or protocol: `search [POEMS]`.
#![expect(clippy::print_stdout, reason = "a measuring program")]

use std::error::Error;
use std::time::{Duration, Instant};

use bytes::Bytes;
use wakashu_archive::{Archive, Column, ColumnName, SearchKey, finder};
use wakashu_bench::{Shape, write_archive};

/// From many hits to none; a word of one syllable, a whole line, an account.
const QUERIES: [&str; 10] = [
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
];

/// Each scan is timed this often; the quickest counts.
const SCANS: usize = 15;

fn main() -> Result<(), Box<dyn Error>> {
    let poems: u32 = std::env::args().nth(1).map_or(Ok(100_000), |count| count.parse())?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("search.wakashu");
    let started = Instant::now();
    write_archive(&path, &[Shape { rounds: poems.div_ceil(100), entries: 100, picture_bytes: 0 }])?;
    let bytes = Bytes::from(std::fs::read(&path)?);
    println!("{} bytes written in {:?}", bytes.len(), started.elapsed());

    let part = |offset: u64, length: u64| -> Result<Bytes, Box<dyn Error>> {
        let start = usize::try_from(offset)?;
        Ok(bytes.slice(start..start + usize::try_from(length)?))
    };
    let archive = Archive::open(&*bytes)?;
    let reference = archive.column(ColumnName::Text).ok_or("the archive has no search column")?;
    let section = part(reference.offset, reference.length)?;
    let started = Instant::now();
    let column = Column::open(&reference, &section, archive.root().entries.to_native())?;
    println!("column of {} bytes verified in {:?}", section.len(), started.elapsed());

    for query in QUERIES {
        for (kind, keys, needle) in [
            ("exact", Some(column.exact()), SearchKey::exact(query)),
            ("loose", column.loose(), SearchKey::loose(query)),
        ] {
            let keys = keys.ok_or("the column has no loose keys")?;
            let finder = finder(needle.as_str());
            let mut best = Duration::MAX;
            let mut hits = 0;
            for _ in 0..SCANS {
                let started = Instant::now();
                hits = 0;
                keys.scan(&finder, |_, _| hits += 1);
                best = best.min(started.elapsed());
            }
            println!("{query} {kind}: {hits} hits, {:.3} ms", best.as_secs_f64() * 1e3);
        }
    }
    Ok(())
}
