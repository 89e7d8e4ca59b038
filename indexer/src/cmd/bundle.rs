//! `bundle`: a collection, or the address of one, as a file that readers install by double click (MCP Bundles).
//!
//! Inside is the program that answers, for each kind of machine, and what starts it. It is not signed: the official tool
//! signs behind the end of the ZIP file, and hosts refuse to install what it made.

mod icon;
mod manifest;
mod platform;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use wakashu_archive::Span;
use wakashu_pages::{Zip, ZipError};
use wakashu_storage::{TemporaryFile, folder_of};

use crate::cli::BundleArguments;
use crate::cmd::{Status, runtime};
use crate::problem::printable_path;
use crate::report::{self, Report};
use crate::source::{self, Source};
use crate::words::bundle as words;
use manifest::{ENGLISH, Manifest};
use platform::Platform;
pub use platform::ProgramFor;

/// What starts the program where there is a shell.
const LAUNCHER: &str = "server/launch.sh";
/// The collection in the bundle.
const ARCHIVE: &str = "poems.wakashu";
/// How hard the compressor tries, of 10: programs shrink to two fifths, in a second.
const EFFORT: u8 = 7;
/// Hex digits of the digest in the version.
const VERSION_DIGITS: usize = 12;

/// Runs the verb.
pub fn run(arguments: &BundleArguments, report: Report) -> anyhow::Result<Status> {
    let report = arguments.building.report(report);
    anyhow::ensure!(
        arguments.output.extension().is_some_and(|extension| extension == "mcpb"),
        "`{}` must end in `.mcpb`: by that name hosts know what to do with it",
        printable_path(&arguments.output)
    );
    let programs = programs(&arguments.programs, &report)?;
    let named = arguments.source.as_str();
    let prepared = runtime()?.block_on(source::prepare(named, &arguments.building, &report))?;
    let Some(file) = prepared.file else { return Ok(Status::Findings) };
    let source = Source::open(file, prepared.published_at)?;
    let address = is_address(named).then(|| named.trim_end_matches('/'));
    write(&arguments.output, &source, address, &programs)?;

    let bytes = fs::metadata(&arguments.output)?.len();
    let root = source.archive.root();
    report.remark(&words::made(&root.title, &report::bytes(bytes), address));
    report.data(&format!("{}\n", arguments.output.display()))?;
    Ok(Status::Fine)
}

/// Tells whether a source stays where it is: readers can read it from there.
fn is_address(source: &str) -> bool {
    source.starts_with("https://") || source.starts_with("http://")
}

/// Returns the programs to put in: those that were named, else the one beside this program.
fn programs(named: &[ProgramFor], report: &Report) -> anyhow::Result<Vec<ProgramFor>> {
    let mut programs = named.to_vec();
    if programs.is_empty() {
        let platform = Platform::here()
            .context("name the programs with --program: bundles do not know this platform")?;
        let path = std::env::current_exe()?.with_file_name(platform.system().program());
        report.remark(&words::only_here(&platform.folder()));
        programs.push(ProgramFor { platform, path });
    }
    programs.sort_by_key(|program| program.platform);
    for pair in programs.windows(2) {
        if let [one, other] = pair {
            anyhow::ensure!(
                one.platform != other.platform,
                "there are two programs for {}",
                one.platform.folder()
            );
        }
    }
    Ok(programs)
}

fn write(
    output: &Path,
    source: &Source,
    address: Option<&str>,
    programs: &[ProgramFor],
) -> anyhow::Result<()> {
    let root = source.archive.root();
    let platforms: Vec<Platform> = programs.iter().map(|program| program.platform).collect();
    let digest = source.digest().to_string();
    let inside = format!("${{__dirname}}/{ARCHIVE}");
    let manifest = Manifest {
        title: &root.title,
        description: &root.description,
        digest: address.is_none().then(|| digest.get(..VERSION_DIGITS)).flatten(),
        reads: address.unwrap_or(&inside),
        platforms: &platforms,
    };
    let mut making = Making::new(output)?;
    let zip = &mut making.zip;
    zip.add("manifest.json", serde_json::to_string_pretty(&manifest.json())?.as_bytes())?;
    zip.add(ENGLISH, serde_json::to_string_pretty(&manifest.english())?.as_bytes())?;
    zip.add("icon.png", &icon::draw(source)?)?;
    if platforms.iter().any(|platform| platform.pattern().is_some()) {
        add_program(zip, LAUNCHER, launcher(&platforms).as_bytes())?;
    }
    for program in programs {
        let bytes = fs::read(&program.path)
            .with_context(|| format!("could not read the program `{}`", printable_path(&program.path)))?;
        add_program(zip, &program.platform.program(), &bytes)?;
    }
    if address.is_none() {
        let read =
            |offset, length| source.file.read_blocking(Span { offset, length }).map_err(anyhow::Error::from);
        zip.add_blocks(ARCHIVE, source.file.length(), read)?;
    }
    making.keep()
}

/// A bundle on its way to its name: half of one is never seen there.
struct Making {
    zip: Zip<std::io::BufWriter<fs::File>>,
    file: TemporaryFile,
    output: PathBuf,
}

impl Making {
    fn new(output: &Path) -> anyhow::Result<Self> {
        let failed = || format!("could not write `{}`", printable_path(output));
        let file = TemporaryFile::create_in(folder_of(output)).with_context(failed)?;
        let zip = Zip::new(std::io::BufWriter::new(file.handle().with_context(failed)?));
        Ok(Self { zip, file, output: output.to_owned() })
    }

    fn keep(self) -> anyhow::Result<()> {
        let failed = || format!("could not write `{}`", printable_path(&self.output));
        drop(self.zip.finish()?);
        self.file.keep(&self.output).with_context(failed)
    }
}

fn add_program<W: std::io::Write>(zip: &mut Zip<W>, name: &str, bytes: &[u8]) -> Result<(), ZipError> {
    zip.add_program(name, bytes, &miniz_oxide::deflate::compress_to_vec(bytes, EFFORT))
}

/// Returns the script that starts the program for the machine it is on.
fn launcher(platforms: &[Platform]) -> String {
    let mut cases = String::new();
    for platform in platforms {
        if let Some(pattern) = platform.pattern() {
            // The first that fits: programs for one processor come before those for all.
            let _ = writeln!(cases, "{pattern}) target={} ;;", platform.folder());
        }
    }
    include_str!("bundle/launch.sh").replace("# PLATFORMS\n", &cases)
}
