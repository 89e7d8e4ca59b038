//! One entry from its files to what the archive stores: the work of a worker thread.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use wakashu_archive::{ContentHash, EntryDraft, MAX_STORED_PICTURE_BYTES, RenditionDraft};

use crate::picture::{self, Cache, Encoded, Origin, Renditions, Settings, Source};
use crate::pipeline::Budget;
use crate::problem::Problem;
use crate::walk::text_data::{self, MAX_TEXT_FILE_BYTES};
use crate::walk::{EntryPlan, InputFile, RoundPlan, read_bounded};

/// Memory that pictures may take while they are decoded, all threads together.
///
/// Two photographs of 12 million pixels fit side by side; a larger one than the whole budget is decoded alone.
pub(crate) const DECODING_BUDGET_BYTES: u64 = 1 << 30;

/// How closely pictures are looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Depth<'a> {
    /// Their headers are read.
    Header,
    /// They are decoded in full.
    Decode,
    /// Their renditions are made.
    Render(&'a Cache),
}

/// Reads entries.
#[derive(Debug)]
pub(crate) struct EntryReader<'a> {
    pub(crate) root: &'a Path,
    pub(crate) settings: &'a Settings,
    pub(crate) depth: Depth<'a>,
    pub(crate) budget: Budget,
}

/// What an entry's files came to.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    /// The entry, if nothing is wrong with it. It has a picture only if renditions were made.
    pub(crate) draft: Option<EntryDraft>,
    /// What is wrong with it.
    pub(crate) problems: Vec<Problem>,
    /// The files that were read.
    pub(crate) inputs: Vec<InputFile>,
    /// Where its renditions came from.
    pub(crate) origin: Option<Origin>,
}

impl EntryReader<'_> {
    /// Reads an entry's text and pictures. Everything is looked at, whatever was found wrong before.
    pub(crate) fn load(&self, round: &RoundPlan, plan: &EntryPlan) -> Loaded {
        let directory = plan.path(round);
        let mut loaded = Loaded::default();
        let mut draft = if plan.has_text { self.load_text(&directory, plan, &mut loaded) } else { None };
        for name in &plan.pictures {
            let renditions = self.load_picture(&directory, name, &mut loaded);
            if let (Some(draft), Some(renditions)) = (&mut draft, renditions) {
                draft.picture = Some(renditions.map(|_, encoded| rendition_draft(encoded)));
            }
        }
        let served = !plan.left_out && !round.left_out && loaded.problems.is_empty();
        loaded.draft = draft.filter(|_| served);
        loaded
    }

    fn load_text(&self, directory: &Path, plan: &EntryPlan, loaded: &mut Loaded) -> Option<EntryDraft> {
        let path = directory.join(plan.text_name());
        let read = read_bounded(&self.root.join(&path), MAX_TEXT_FILE_BYTES).map_err(|fault| vec![fault]);
        let parsed = read.and_then(|bytes| {
            loaded.inputs.push(input(&path, ContentHash::of(&bytes), &bytes));
            text_data::parse(&bytes, plan.rank)
        });
        match parsed {
            Ok(draft) => Some(draft),
            Err(faults) => {
                let problem =
                    |fault: crate::walk::json::Fault| Problem::error(&path, fault.message).hint(fault.hint);
                loaded.problems.extend(faults.into_iter().map(problem));
                None
            }
        }
    }

    fn load_picture(&self, directory: &Path, name: &OsStr, loaded: &mut Loaded) -> Option<Renditions> {
        let path = directory.join(name);
        let bytes = match read_bounded(&self.root.join(&path), MAX_STORED_PICTURE_BYTES) {
            Ok(bytes) => bytes,
            Err(fault) => {
                loaded.problems.push(Problem::error(&path, fault.message).hint(fault.hint));
                return None;
            }
        };
        let source = Source::new(&bytes);
        loaded.inputs.push(input(&path, source.hash(), &bytes));
        match self.look_at(&source) {
            Ok(Some((renditions, origin))) => {
                loaded.origin = Some(origin);
                Some(renditions)
            }
            Ok(None) => None,
            Err(problem) => {
                loaded.problems.push(Problem::error(&path, problem.to_string()).hint(problem.hint()));
                None
            }
        }
    }

    fn look_at(&self, source: &Source<'_>) -> Result<Option<(Renditions, Origin)>, picture::Problem> {
        let bytes = source.bytes();
        let header = picture::header(bytes, self.settings)?;
        if matches!(self.depth, Depth::Header) {
            return Ok(None);
        }
        let _reservation = self.budget.reserve(picture::decoding_cost_bytes(&header));
        match self.depth {
            Depth::Header => Ok(None),
            Depth::Decode => {
                let (width, height) = (header.width, header.height);
                picture::verify(bytes, header.format, width, height, self.settings).map(|()| None)
            }
            Depth::Render(cache) => cache.renditions(source, self.settings).map(Some),
        }
    }
}

fn input(path: &Path, hash: ContentHash, bytes: &[u8]) -> InputFile {
    InputFile { path: PathBuf::from(path), hash, bytes: bytes.len() as u64 }
}

fn rendition_draft(encoded: Encoded) -> RenditionDraft {
    let Encoded { bytes, media_type, width, height } = encoded;
    RenditionDraft { bytes, media_type, width_px: width, height_px: height }
}
