//! `export`: a collection, an archive or a store becomes a folder that is site and store at once.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use serde::Serialize;
use wakashu_archive::ContentHash;
use wakashu_storage::{Location, ReadStore, Timestamp};

use crate::cli::ExportArguments;
use crate::cmd::{Status, runtime};
use crate::problem::{Problem, Tally, printable_path};
use crate::report::{self, Report};
use crate::site::carried::Carried;
use crate::site::deploys::Left;
use crate::site::{self, Counts, Figures, Kind, Made, Order};
use crate::source::{self, Source};
use crate::words::{Remark, site as words};

/// From here on the size is worth a word: free hosts end at 1 GB.
const LARGE_BYTES: u64 = 900_000_000;

/// What `--json` prints. When problems stopped it, nothing is written and the figures are empty.
#[derive(Debug, Default, Serialize)]
struct Exported<'a> {
    folder: String,
    dry_run: bool,
    digest: Option<String>,
    published_at: Option<Timestamp>,
    #[serde(flatten)]
    counts: Counts,
    bytes: u64,
    files: BTreeMap<Kind, Figures>,
    warnings: Vec<&'a Remark>,
    tally: Tally,
    problems: Vec<Problem>,
}

/// Runs the verb.
pub fn run(arguments: &ExportArguments, report: Report) -> anyhow::Result<Status> {
    let report = arguments.building.report(report);
    refuse_folder_inside(&arguments.source, &arguments.output)?;
    let base = arguments.base_url.as_deref().map(base_address).transpose()?;
    let runtime = runtime()?;
    let prepared = runtime.block_on(source::prepare(&arguments.source, &arguments.building, &report))?;
    let exported = Exported {
        folder: printable_path(&arguments.output),
        dry_run: arguments.dry_run,
        tally: Tally::of(&prepared.problems),
        problems: prepared.problems,
        ..Exported::default()
    };
    let Some(file) = prepared.file else {
        if arguments.json {
            report.json(&exported)?;
        }
        return Ok(Status::Findings);
    };
    let source = Source::open(file, prepared.published_at)?;
    let previous: Location = match &arguments.previous {
        Some(address) => address.parse()?,
        None => Location::folder(&arguments.output),
    };
    let store = runtime.block_on(previous.open())?;
    let left = runtime.block_on(Left::read(store.as_ref(), arguments.previous.is_none()))?;
    if arguments.previous.is_some() && left.pointer.is_none() {
        report.remark(&words::nothing_before(&previous.to_string()));
    }
    let order = Order {
        source: &source,
        folder: &arguments.output,
        base: base.as_deref(),
        published_at: published_at(&source, &left)?,
        history: arguments.history,
        dry_run: arguments.dry_run,
    };
    let local = previous.local_path();
    let made = write(&order, &left, &report, |versions, files| {
        runtime.block_on(Carried::fetch(store.as_ref() as &dyn ReadStore, local.as_deref(), versions, files))
    })?;
    let bytes = made.sizes.values().map(|figures| figures.bytes).sum();
    let warnings = warnings(bytes, &made.lost);
    describe(&made, bytes, &warnings, source.digest(), arguments.dry_run, &report);
    if arguments.json {
        report.json(&Exported {
            digest: Some(source.digest().to_string()),
            published_at: Some(order.published_at),
            counts: made.counts,
            bytes,
            files: made.sizes,
            warnings: warnings.iter().collect(),
            ..exported
        })?;
    } else {
        report.data(&format!("{}\n", arguments.output.join("index.html").display()))?;
    }
    Ok(Status::Fine)
}

fn write(
    order: &Order<'_>,
    left: &Left,
    report: &Report,
    carry: impl FnOnce(&[wakashu_storage::Version], &[site::deploys::Needed]) -> Result<Carried, site::SiteError>,
) -> Result<Made, site::SiteError> {
    let bar = std::cell::RefCell::new(None);
    let begin = |total| *bar.borrow_mut() = Some(report.progress("files", total));
    let advance = || bar.borrow_mut().iter_mut().for_each(report::Progress::advance);
    site::write(order, left, carry, begin, advance)
}

/// The site would be a part of the collection that it is made from.
fn refuse_folder_inside(source: &str, output: &Path) -> anyhow::Result<()> {
    let Ok(collection) = Path::new(source).canonicalize() else { return Ok(()) };
    if !source::is_collection(&collection) {
        return Ok(());
    }
    // It need not exist yet, but something above it does.
    let above = std::path::absolute(output)?;
    let existing = above.ancestors().find_map(|folder| folder.canonicalize().ok()).unwrap_or(above);
    anyhow::ensure!(
        !existing.starts_with(&collection),
        "`{}` lies inside the collection; name a folder beside it",
        printable_path(output)
    );
    Ok(())
}

/// Reads a public address: of the web, without `?` and `#`, ending in a slash.
fn base_address(text: &str) -> anyhow::Result<String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let is_sound = rest.is_some_and(|rest| {
        let host = rest.split('/').next().unwrap_or_default();
        !host.is_empty()
            && !host.contains('@')
            && !rest.contains(['?', '#', '"', '<', '>', '\\'])
            && !rest.contains(|letter: char| letter.is_whitespace() || letter.is_control())
    });
    anyhow::ensure!(
        is_sound,
        "`{}` is not a public address as in --base-url https://example.org/waka/",
        text.escape_debug()
    );
    Ok(format!("{}/", text.trim_end_matches('/')))
}

/// When this version was published: what the environment says, for builds that are compared; else what the site said of the
/// same archive; else what the store did; else now.
pub(crate) fn published_at(source: &Source, left: &Left) -> anyhow::Result<Timestamp> {
    if let Some(moment) = source_date()? {
        return Ok(moment);
    }
    let same = left.pointer.as_ref().filter(|pointer| pointer.current.digest == source.digest());
    let known = same.map(|pointer| pointer.current.published_at).or(source.published_at);
    Ok(known.unwrap_or_else(|| Timestamp::from(SystemTime::now())))
}

/// Reads `SOURCE_DATE_EPOCH`, if it is set.
pub(crate) fn source_date() -> anyhow::Result<Option<Timestamp>> {
    let Some(text) = std::env::var_os("SOURCE_DATE_EPOCH").filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let seconds = text.to_str().and_then(|text| text.parse().ok());
    let seconds: u64 = seconds.with_context(|| {
        format!(
            "SOURCE_DATE_EPOCH is `{}`; expected seconds since 1970",
            text.to_string_lossy().escape_debug()
        )
    })?;
    Ok(Some(Timestamp::from(UNIX_EPOCH + Duration::from_secs(seconds.min(1 << 40)))))
}

/// Returns what the curator should hear of: what could not be carried over, and a site that hosts may refuse.
fn warnings(bytes: u64, lost: &[ContentHash]) -> Vec<Remark> {
    let lost = lost.iter().map(|digest| words::lost(*digest));
    lost.chain((bytes > LARGE_BYTES).then(|| words::large(&report::bytes(bytes)))).collect()
}

fn describe(
    made: &Made,
    bytes: u64,
    warnings: &[Remark],
    digest: ContentHash,
    dry_run: bool,
    report: &Report,
) {
    let language = report.language();
    let said = |remark: Remark| remark.said(language).to_owned();
    let size = |figures: Figures| said(words::bytes_in_files(&report::bytes(figures.bytes), figures.count));
    let mut figures: Vec<(String, String)> =
        made.sizes.iter().map(|(kind, figures)| (said(words::kind(*kind)), size(*figures))).collect();
    let count = made.sizes.values().map(|figures| figures.count).sum();
    let Counts { written, unchanged, removed } = made.counts;
    figures.extend([
        (said(words::all()), size(Figures { count, bytes })),
        (said(words::files()), said(words::changes(written, unchanged, removed, dry_run))),
        (said(crate::words::talk::serves()), digest.to_string()),
    ]);
    let figures: Vec<(&str, String)> =
        figures.iter().map(|(label, value)| (label.as_str(), value.clone())).collect();
    report.summary(&figures);
    for warning in warnings {
        report.remark(warning);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::Language;

    #[test]
    fn a_large_site_and_what_was_lost_are_told() {
        let told = |bytes, lost: &[ContentHash]| {
            let warnings = warnings(bytes, lost);
            warnings.iter().map(|one| one.said(Language::English).to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(told(900_000_000, &[]), Vec::<String>::new());
        assert!(told(900_000_001, &[])[0].contains("GitHub Pages takes at most 1 GB"));
        assert_eq!(told(900_000_000, &[ContentHash::of(b"one"), ContentHash::of(b"two")]).len(), 2);
        assert_eq!(told(900_000_001, &[ContentHash::of(b"one")]).len(), 2);
    }

    #[test]
    fn a_public_address_ends_in_a_slash_and_says_where() {
        assert_eq!(base_address("https://example.org").unwrap(), "https://example.org/");
        assert_eq!(base_address("https://example.org/waka//").unwrap(), "https://example.org/waka/");
        for refused in [
            "",
            "example.org",
            "https://",
            "ftp://example.org",
            "https://a/?x",
            "https://a/#x",
            "https://a b/",
            "https://a/\"onload",
            "https://user@example.org/",
        ] {
            assert!(base_address(refused).is_err(), "{refused}");
        }
    }
}
