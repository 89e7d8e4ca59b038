//! Verbs about an archive: what is in it, where it is served from, what is made of it.

use std::path::PathBuf;

use clap::Args;

use super::{BuildingArguments, PLACE_OF_JSON};
use crate::cmd::bundle::ProgramFor;

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
