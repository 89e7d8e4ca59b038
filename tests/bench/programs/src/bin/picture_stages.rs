//! Times what becomes of a picture, stage by stage: `picture_stages FILE...` prints the milliseconds of each as JSON.
//!
//! One thread, no cache to begin with; the median over the files.
#![expect(clippy::print_stdout, reason = "a measuring program")]

use std::error::Error;
use std::time::{Duration, Instant};

use wakashu_indexer::picture::{Cache, Settings, Source, header, render, upright_pixels};

/// One file's times: header, decoding, the whole, the whole from the cache.
type Times = [Duration; 4];

fn main() -> Result<(), Box<dyn Error>> {
    let settings = Settings::default();
    let folder = tempfile::tempdir()?;
    let cache = Cache::open(folder.path());
    let mut taken: Vec<Times> = Vec::new();
    for path in std::env::args_os().skip(1) {
        let source = std::fs::read(path)?;
        let hashed = Source::new(&source);
        cache.renditions(&hashed, &settings)?;
        taken.push([
            time(|| header(&source, &settings))?,
            time(|| upright_pixels(&source, &settings))?,
            time(|| render(&source, &settings))?,
            time(|| cache.renditions(&hashed, &settings))?,
        ]);
    }
    let [header, decode, whole, cached] =
        std::array::from_fn(|stage| median(taken.iter().filter_map(|times| times.get(stage))));
    println!(
        r#"{{"pictures":{},"header_ms":{header:.3},"decode_ms":{decode:.3},"scale_and_encode_ms":{:.3},"from_cache_ms":{cached:.3}}}"#,
        taken.len(),
        whole - decode,
    );
    Ok(())
}

fn time<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<Duration, E> {
    let started = Instant::now();
    work()?;
    Ok(started.elapsed())
}

fn median<'a>(times: impl Iterator<Item = &'a Duration>) -> f64 {
    let mut times: Vec<&Duration> = times.collect();
    times.sort();
    times.get(times.len() / 2).map_or(0.0, |time| time.as_secs_f64() * 1e3)
}
