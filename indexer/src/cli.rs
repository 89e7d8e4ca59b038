//! Arguments only.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::cmd::bundle::ProgramFor;
use crate::report::{Colour, Report};
use crate::words::{self, Language};

/// Turns a folder of poems and pictures into a wakashu archive, and looks into archives.
#[derive(Debug, Parser)]
#[command(name = "wakashu-indexer", version, max_term_width = 100, propagate_version = true)]
#[command(after_help = "\
Exit codes: 0 fine, 1 findings or a partial result, 2 could not run.
Data goes to stdout, talk to stderr.

Examples:
  wakashu-indexer build wakashu_dir -o out/
  wakashu-indexer check wakashu_dir
  wakashu-indexer show out/<digest>.wakashu --round 第1回 --rank 1")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
    /// How much to say, and how.
    #[command(flatten)]
    pub talk: Talk,
}

impl Cli {
    /// Reads the arguments of this process, or ends it with help in `language` or with what is wrong with them.
    #[must_use]
    pub fn read(language: Language) -> Self {
        let matches = in_language(Self::command(), language).get_matches();
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }
}

/// Returns a command that has the verbs with their help in `language`.
#[must_use]
pub fn in_language(command: clap::Command, language: Language) -> clap::Command {
    words::help::translated(command, language)
}

/// How the program talks.
#[derive(Debug, Clone, Args)]
pub struct Talk {
    /// Say nothing but problems
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say more; twice for still more
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: Colour,
    /// The language of problems and summaries [default: WAKASHU_LANGUAGE, or the system's]
    #[arg(long, global = true, value_name = "LANGUAGE")]
    pub language: Option<Language>,
}

/// How findings are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Format {
    /// For people: findings on stderr, the verdict on stdout.
    #[default]
    Text,
    /// One JSON object on stdout.
    Json,
    /// Annotations of a GitHub workflow on stdout, and everything in the job's summary.
    Github,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Start a collection in a repository of its own
    New(NewArguments),
    /// Add a poem to a round
    Add(AddArguments),
    /// Build an archive from a collection
    Build(BuildArguments),
    /// Check an archive in depth, or a collection without building it
    Check(CheckArguments),
    /// Show what is in an archive, or take its pictures out
    Show(ShowArguments),
    /// Build a collection, serve it on this machine, and build it again when it changes
    Preview(PreviewArguments),
    /// Put an archive into a store and make it the one that is served
    Publish(PublishArguments),
    /// Serve an earlier version again
    Rollback(RollbackArguments),
    /// List the versions a store remembers
    History(HistoryArguments),
    /// Write the collection as a folder that is a web site, and a store to read from
    Export(ExportArguments),
    /// Write the collection as a book (EPUB), read vertically from right to left
    Book(BookArguments),
    /// Make a file that readers install by double click: the collection or its address, and the program that answers
    Bundle(BundleArguments),
    /// Print a completion script for a shell
    Completions(CompletionsArguments),
}

/// Arguments of `new`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
The folder gets a collection with one complete example, what editors need to help with it, a workflow for GitHub, and a
README in Japanese. It must be empty, or not there yet; a `.git` in it is fine.

Examples:
  wakashu-indexer new 私の和歌集
  wakashu-indexer new poems --title 春の和歌集 --action OWNER/NAME@REF")]
pub struct NewArguments {
    /// The folder to fill
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// The collection's title [default: the folder's name]
    #[arg(long, value_name = "T")]
    pub title: Option<String>,
    /// The GitHub action that the workflow uses [default: the one of this project, if it is published]
    #[arg(long, value_name = "OWNER/NAME@REF")]
    pub action: Option<String>,
}

/// Arguments of `add`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
The entry gets the rank behind the last one. With --rank, those behind it move by one up to the first gap, and the
addresses of their pages with them; --dry-run shows which. What is missing is asked for on a terminal. A run that is
stopped loses nothing: the next `add` or `check --fix` finishes or undoes what was begun.
The path of the new entry is printed on stdout.

Examples:
  wakashu-indexer add wakashu_dir 第2回 --account @hanako --picture IMG_0042.HEIC --poem -
      reads the poem from stdin
  wakashu-indexer add wakashu_dir 2 --rank 3 --dry-run --account @hanako --picture a.png --poem 歌")]
pub struct AddArguments {
    /// The collection: a directory of rounds
    #[arg(value_name = "WAKASHU_DIR")]
    pub wakashu_dir: PathBuf,
    /// The round, by name or number; a new one is begun
    #[arg(value_name = "ROUND")]
    pub round: String,
    /// Who wrote the poem, as @name
    #[arg(long, value_name = "A")]
    pub account: Option<String>,
    /// The picture's file: png, jpg, webp, gif or heic
    #[arg(long, value_name = "FILE")]
    pub picture: Option<PathBuf>,
    /// The name in the entry's directory [default: from the account]
    #[arg(long, value_name = "N")]
    pub name: Option<String>,
    /// The poem, or - to read it from stdin
    #[arg(long, value_name = "TEXT|-", allow_hyphen_values = true)]
    pub poem: Option<String>,
    /// The poem's reading in kana
    #[arg(long, value_name = "T")]
    pub yomi: Option<String>,
    /// A link to a work the poem answers; may be given several times
    #[arg(long, value_name = "URL")]
    pub honka: Vec<String>,
    /// The prompt the picture was made with
    #[arg(long, value_name = "T")]
    pub prompt: Option<String>,
    /// The rank [default: behind the last one]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=999_999))]
    pub rank: Option<u32>,
    /// Show what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Arguments of `preview`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
The collection is built into a temporary store and served from there, the way it is served for readers.
The first line on stdout is the address of the collection's page, the second that of the MCP endpoint. Ctrl-C stops.

Examples:
  wakashu-indexer preview wakashu_dir --open
  wakashu-indexer preview wakashu_dir --watch --port 0")]
pub struct PreviewArguments {
    /// The collection: a directory of rounds
    #[arg(value_name = "WAKASHU_DIR")]
    pub wakashu_dir: PathBuf,
    /// Build again whenever the collection changes
    #[arg(long)]
    pub watch: bool,
    /// Show the page in the browser
    #[arg(long)]
    pub open: bool,
    /// The port to listen on, 0 for any [default: PORT or 3000]
    #[arg(long)]
    pub port: Option<u16>,
    /// Show no progress
    #[arg(long)]
    pub no_progress: bool,
    /// How pictures are treated.
    #[command(flatten)]
    pub pictures: PictureArguments,
}

/// Arguments of `publish`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
The archive is written first and the pointer last, so that readers see the old version or the new one, whole.
Publishing what is already served writes nothing. A collection is built first; its problems stop it.

Examples:
  wakashu-indexer publish out/poems.wakashu s3://poems-bucket/wakashu
  wakashu-indexer publish wakashu_dir file:///srv/poems --keep 5
  wakashu-indexer publish wakashu_dir s3://poems-bucket --dry-run")]
pub struct PublishArguments {
    /// An archive, or a collection to build first
    #[arg(value_name = "FILE|WAKASHU_DIR")]
    pub source: PathBuf,
    /// The store: s3://bucket/prefix, file:///folder or a path
    pub store: String,
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// How many earlier versions to keep
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub keep: usize,
    /// What to remember about this version, in at most 500 characters; `history` shows it
    #[arg(long, value_name = "TEXT", value_parser = note)]
    pub note: Option<String>,
    /// Print one JSON object on stdout: what is served now, what was, what was written and removed, and problems
    #[arg(long, display_order = PLACE_OF_JSON)]
    pub json: bool,
    /// How a collection is built.
    #[command(flatten)]
    pub building: BuildingArguments,
}

/// Reads the note of a version.
fn note(text: &str) -> Result<String, String> {
    let found = text.chars().count();
    if found > wakashu_storage::MAX_NOTE_CHARACTERS {
        return Err(format!(
            "it has {found} characters; at most {} are kept",
            wakashu_storage::MAX_NOTE_CHARACTERS
        ));
    }
    Ok(text.to_owned())
}

/// Arguments of `rollback`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  wakashu-indexer rollback s3://poems-bucket/wakashu
  wakashu-indexer rollback file:///srv/poems 5f0c…64 hex digits")]
pub struct RollbackArguments {
    /// The store: s3://bucket/prefix, file:///folder or a path
    pub store: String,
    /// The version to serve again [default: the one before the current]
    pub digest: Option<String>,
}

/// Arguments of `history`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  wakashu-indexer history s3://poems-bucket/wakashu
  wakashu-indexer history file:///srv/poems --json")]
pub struct HistoryArguments {
    /// The store: s3://bucket/prefix, https://host/path, file:///folder or a path
    pub store: String,
    /// Print the pointer as one JSON object on stdout
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `export`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
The folder opens in a browser as it is (index.html), can be put on any host of static files, and is read from there
like any store. Files that stay the same keep their time, files of earlier exports that are not needed any more are
removed, and files of others are never touched. The path of the first page is printed on stdout.

Examples:
  wakashu-indexer export wakashu_dir -o site/
      then open site/index.html
  wakashu-indexer export wakashu_dir -o site/ --base-url https://example.org/waka/
      with addresses for links that are sent to others
  wakashu-indexer export s3://poems-bucket/wakashu -o site/ --previous https://example.org/waka/
      from a store; keeps what readers of the live site still hold")]
pub struct ExportArguments {
    /// A collection to build first, an archive, or a store: s3://bucket/prefix, https://host/path or a path
    #[arg(value_name = "WAKASHU_DIR|ARCHIVE|STORE")]
    pub source: String,
    /// The folder to write; made if it is not there
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// The address at which the site will be seen
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// How many earlier versions to keep for readers who still hold one
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub history: usize,
    /// Where the live site is, for its earlier versions [default: the folder itself]
    #[arg(long, value_name = "URL|DIR")]
    pub previous: Option<String>,
    /// Say what would be written and removed, and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print one JSON object on stdout: what was written, sizes by kind, warnings and problems
    #[arg(long, display_order = PLACE_OF_JSON)]
    pub json: bool,
    /// How a collection is built.
    #[command(flatten)]
    pub building: BuildingArguments,
}

/// Arguments of `book`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
A poem with its picture on each page, by rounds; cover, contents and colophon. The same collection makes the same
bytes. The path of the book is printed on stdout.

Examples:
  wakashu-indexer book wakashu_dir -o 歌集.epub
  wakashu-indexer book latest.wakashu -o 第1回.epub --round 第1回
  wakashu-indexer book s3://poems-bucket/wakashu -o 歌集.epub --round 1 --round 2")]
pub struct BookArguments {
    /// A collection to build first, an archive, or a store: s3://bucket/prefix, https://host/path or a path
    #[arg(value_name = "WAKASHU_DIR|ARCHIVE|STORE")]
    pub source: String,
    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Only this round; may be given several times [default: all rounds]
    #[arg(long, value_name = "T")]
    pub round: Vec<String>,
    /// Print one JSON object on stdout: the file, how much is in it, and problems
    #[arg(long, display_order = PLACE_OF_JSON)]
    pub json: bool,
    /// How a collection is built.
    #[command(flatten)]
    pub building: BuildingArguments,
}

/// Arguments of `bundle`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
A collection or an archive is put inside and needs no network; so is what an s3:// or file:// store serves. Of an https://
address only the address is put in: what is published there is read each time, so that readers always see the newest.
Rounds that are drafts are left out.
Without --program the wakashu-function beside this program is put in, and the bundle works on this platform alone.

Examples:
  wakashu-indexer bundle wakashu_dir -o 歌集.mcpb
  wakashu-indexer bundle https://poems.example.org/wakashu -o 歌集.mcpb
  wakashu-indexer bundle latest.wakashu -o 歌集.mcpb \\
    --program aarch64-apple-darwin=mac/wakashu-function --program x86_64-pc-windows-msvc=windows/wakashu-function.exe")]
pub struct BundleArguments {
    /// An archive, a collection to build first, or the address of a store
    #[arg(value_name = "ARCHIVE|WAKASHU_DIR|https://STORE")]
    pub source: String,
    /// The file to write; its name ends in .mcpb
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// A wakashu-function to put in, and the Rust target it was built for
    #[arg(long = "program", value_name = "TARGET=PATH")]
    pub programs: Vec<ProgramFor>,
    /// How a collection is built.
    #[command(flatten)]
    pub building: BuildingArguments,
}

/// Arguments of `build`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Every problem of the collection is listed in one run. On any error no archive is written and the exit code is 1;
with --keep-going the bad entries are left out, the archive is written, and the exit code is still 1.
The path of the archive is printed on stdout.

Examples:
  wakashu-indexer build wakashu_dir
      writes <digest>.wakashu here
  wakashu-indexer build wakashu_dir -o out/ --strict
      writes out/<digest>.wakashu; warnings count as errors
  wakashu-indexer build wakashu_dir -o latest.wakashu --json | jq .archive.digest
      writes latest.wakashu and prints its digest")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct BuildArguments {
    /// The collection: a directory of rounds
    #[arg(value_name = "WAKASHU_DIR")]
    pub wakashu_dir: PathBuf,
    /// Write to this directory as DIGEST.wakashu, or to this file [default: the current directory]
    #[arg(short, long, value_name = "FILE|DIR")]
    pub output: Option<PathBuf>,
    /// Leave bad entries out and write the rest
    #[arg(long)]
    pub keep_going: bool,
    /// Treat warnings as errors
    #[arg(long)]
    pub strict: bool,
    /// Print one JSON object on stdout: archive, summary and problems
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(long)]
    pub no_progress: bool,
    /// How pictures are treated.
    #[command(flatten)]
    pub pictures: PictureArguments,
    /// Number of worker threads [default: one per processor]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
}

/// Where the options of building stand in the help of a verb: behind its own.
const PLACE_OF_STRICT: usize = 100;
const PLACE_OF_JSON: usize = 101;
const PLACE_OF_THE_REST: usize = 102;

/// How a collection is built, for verbs that also take what is built already.
#[derive(Debug, Clone, Args)]
pub struct BuildingArguments {
    /// Treat warnings of a collection as errors
    #[arg(long, display_order = PLACE_OF_STRICT)]
    pub strict: bool,
    /// Show no progress
    #[arg(long, display_order = PLACE_OF_THE_REST)]
    pub no_progress: bool,
    /// How pictures of a collection are treated.
    #[command(flatten, next_display_order = PLACE_OF_THE_REST + 1)]
    pub pictures: PictureArguments,
}

impl BuildingArguments {
    /// Returns the report as it was asked for.
    pub(crate) fn report(&self, report: Report) -> Report {
        if self.no_progress { report.without_progress() } else { report }
    }

    /// Returns the names of the options that were given and make another archive.
    pub(crate) fn given(&self) -> Vec<&'static str> {
        let mut given = self.pictures.given();
        given.extend(self.strict.then_some("--strict"));
        given
    }
}

/// How pictures are treated and kept between builds; for every verb that builds.
#[derive(Debug, Clone, Args)]
pub struct PictureArguments {
    /// Add the original picture files to the archive, without their metadata
    #[arg(long)]
    pub originals: bool,
    /// Keep EXIF, XMP and comments, places and names included
    #[arg(long)]
    pub keep_metadata: bool,
    /// Refuse pictures with more pixels than this [default: 50000000]
    #[arg(long, value_name = "N")]
    pub max_pixels: Option<u64>,
    /// Keep finished renditions here [default: the platform's cache directory]
    #[arg(long, value_name = "DIR")]
    pub cache_dir: Option<PathBuf>,
    /// Keep no renditions and use none
    #[arg(long, conflicts_with = "cache_dir")]
    pub no_cache: bool,
}

impl PictureArguments {
    /// Returns the names of the options that were given.
    fn given(&self) -> Vec<&'static str> {
        // Taken apart in full, so that a new option cannot be forgotten here.
        let Self { originals, keep_metadata, max_pixels, cache_dir, no_cache } = self;
        let options = [
            ("--originals", *originals),
            ("--keep-metadata", *keep_metadata),
            ("--max-pixels", max_pixels.is_some()),
            ("--cache-dir", cache_dir.is_some()),
            ("--no-cache", *no_cache),
        ];
        options.into_iter().filter_map(|(name, given)| given.then_some(name)).collect()
    }
}

/// Arguments of `check`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
An archive: marks, hash tree, every page, every span, every picture decoded. Goes on after the first finding.
A collection: names, texts, periods and the headers of pictures; with --deep every picture is decoded.
With --fix, names and texts of a collection are put right where that needs no guess. What is replaced is kept in the
same directory under a name that begins with a dot.

Examples:
  wakashu-indexer check out/<digest>.wakashu
  wakashu-indexer check wakashu_dir --strict
  wakashu-indexer check wakashu_dir --fix --dry-run
  wakashu-indexer check wakashu_dir --deep --json")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct CheckArguments {
    /// An archive, or a collection
    #[arg(value_name = "FILE|WAKASHU_DIR")]
    pub target: PathBuf,
    /// Treat warnings as errors
    #[arg(long)]
    pub strict: bool,
    /// How to write the findings
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: Format,
    /// Print one JSON object on stdout: what was checked, what was not, and the findings; the same as --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Put right what needs no guess, and show what was changed
    #[arg(long)]
    pub fix: bool,
    /// With --fix: show what would be changed, and change nothing
    #[arg(long, requires = "fix")]
    pub dry_run: bool,
    /// Decode the pictures of a collection in full (those of an archive always are)
    #[arg(long)]
    pub deep: bool,
    /// Refuse pictures of a collection, and originals of an archive, with more pixels than this [default: 50000000]
    #[arg(long, value_name = "N")]
    pub max_pixels: Option<u64>,
    /// Show no progress
    #[arg(long)]
    pub no_progress: bool,
    /// Number of worker threads [default: one per processor]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
}

impl CheckArguments {
    /// Returns how findings are written.
    #[must_use]
    pub fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }
}

/// Arguments of `show`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  wakashu-indexer show latest.wakashu
      sections, counts and rounds
  wakashu-indexer show latest.wakashu --round 第1回
      the entries of a round; 1 and 第一回 find it, too
  wakashu-indexer show latest.wakashu --round 1 --rank 3 --json
      one entry in full
  wakashu-indexer show latest.wakashu --round 1 --extract pictures/
      the pictures of a round as files")]
pub struct ShowArguments {
    /// The archive
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Show this round
    #[arg(long, value_name = "T")]
    pub round: Option<String>,
    /// Show the entry with this rank
    #[arg(long, value_name = "N", requires = "round")]
    pub rank: Option<u32>,
    /// Print one JSON object on stdout
    #[arg(long)]
    pub json: bool,
    /// Write the pictures to files in this directory
    #[arg(long, value_name = "DIR")]
    pub extract: Option<PathBuf>,
}

/// Arguments of `completions`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  wakashu-indexer completions bash > ~/.local/share/bash-completion/completions/wakashu-indexer
  wakashu-indexer completions fish > ~/.config/fish/completions/wakashu-indexer.fish")]
pub struct CompletionsArguments {
    /// The shell
    pub shell: clap_complete::Shell,
}
