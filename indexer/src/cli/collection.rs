//! Verbs about a collection: starting it, adding to it, looking at it, building it.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

use super::{Format, PictureArguments};

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
  wakashu-indexer add wakashu_dir 第2回 --account \"@hanako\" --picture IMG_0042.HEIC --poem -
      reads the poem from stdin
  wakashu-indexer add wakashu_dir 2 --rank 3 --dry-run --account \"@hanako\" --picture a.png --poem 歌")]
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
