//! What a process holds.

use std::fs;

/// How far the memory may swing: allocators keep what they were given for a while.
const MEMORY_SWING: f64 = 1.10;
const MEMORY_SLACK_KIB: u64 = 2 * 1024;

/// How many more connections may happen to be open at one look than at another.
const FILES_SWING: u64 = 16;

/// Memory and open files at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Vitals {
    anonymous_kib: u64,
    pub(crate) files: u64,
    threads: u64,
}

impl Vitals {
    pub(crate) fn of(process: u32) -> Self {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.split_whitespace().next().unwrap().parse().unwrap()
        };
        let files = fs::read_dir(format!("/proc/{process}/fd")).unwrap().count() as u64;
        Self { anonymous_kib: field("RssAnon:"), files, threads: field("Threads:") }
    }

    pub(crate) fn row(self) -> String {
        format!("{:>12} {:>6} {:>8}", self.anonymous_kib, self.files, self.threads)
    }
}

/// Compares the last quarter with the second: after the first, everything that is kept has been seen.
pub(crate) fn growth(samples: &[Vitals]) -> Option<String> {
    let quarter = samples.len() / 4;
    let median = |samples: &[Vitals], of: fn(&Vitals) -> u64| {
        let mut values: Vec<u64> = samples.iter().map(of).collect();
        values.sort_unstable();
        values.get(values.len() / 2).copied().unwrap_or(0)
    };
    let (second, last) = (&samples[quarter..2 * quarter], &samples[3 * quarter..]);
    let memory = [second, last].map(|part| median(part, |vitals| vitals.anonymous_kib));
    let files = [second, last].map(|part| median(part, |vitals| vitals.files));
    println!("median of the second quarter and the last: RssAnon {memory:?} KiB, files {files:?}");
    #[expect(clippy::cast_precision_loss, reason = "kibibytes, for a comparison")]
    let is_larger = memory[1] as f64 > memory[0] as f64 * MEMORY_SWING + MEMORY_SLACK_KIB as f64;
    if is_larger {
        return Some(format!("the memory grows: {memory:?} KiB"));
    }
    (files[1] > files[0] + FILES_SWING).then(|| format!("more and more files are open: {files:?}"))
}
