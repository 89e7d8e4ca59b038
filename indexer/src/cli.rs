//! Arguments only.

use std::path::PathBuf;

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::report::{Colour, Report};
use crate::words::{self, Language};

mod archive;
mod collection;

pub use archive::{
    BookArguments, BundleArguments, ExportArguments, HistoryArguments, PublishArguments, RollbackArguments,
    ShowArguments,
};
pub use collection::{AddArguments, BuildArguments, CheckArguments, NewArguments, PreviewArguments};

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
#[command(next_display_order = PLACE_OF_TALK)]
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

/// Where options that verbs share stand in their help: behind their own.
const PLACE_OF_STRICT: usize = 100;
const PLACE_OF_JSON: usize = 101;
const PLACE_OF_NO_PROGRESS: usize = 102;
const PLACE_OF_PICTURES: usize = 103;
const PLACE_OF_TALK: usize = 200;

/// How a collection is built, for verbs that also take what is built already.
#[derive(Debug, Clone, Args)]
pub struct BuildingArguments {
    /// Treat warnings of a collection as errors
    #[arg(long, display_order = PLACE_OF_STRICT)]
    pub strict: bool,
    /// Show no progress
    #[arg(long, display_order = PLACE_OF_NO_PROGRESS)]
    pub no_progress: bool,
    /// How pictures of a collection are treated.
    #[command(flatten, next_display_order = PLACE_OF_PICTURES)]
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
