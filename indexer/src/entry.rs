//! One entry from its files to what the archive stores: the work of a worker thread.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use wakashu_archive::{
    ContentHash, EntryDraft, MAX_KEY_BYTES, MAX_STORED_PICTURE_BYTES, RenditionDraft, SearchKey,
};

use crate::picture::{self, Cache, Damage, Encoded, Origin, Renditions, Settings, Source};
use crate::pipeline::Budget;
use crate::problem::{Problem, Severity};
use crate::root::Root;
use crate::walk::text_data::{self, MAX_TEXT_FILE_BYTES};
use crate::walk::{EntryPlan, InputFile, RoundPlan};
use crate::words::pictures as words;

/// Bytes of picture files that may be in memory at a time, all threads together and what waits to be written; a larger
/// file is read while there is no other.
pub(crate) const MAX_FILE_BYTES_AT_A_TIME: u64 = MAX_STORED_PICTURE_BYTES;

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
    pub(crate) root: &'a Root,
    pub(crate) settings: &'a Settings,
    pub(crate) depth: Depth<'a>,
    /// Memory that pictures may take while they are decoded, all threads together: what one alone may.
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
    /// Returns how many bytes of files are in memory for an entry until it is consumed, at most.
    ///
    /// An original is written anew from a copy, beside the file it is made of.
    pub(crate) fn file_bytes(&self, round: &RoundPlan, plan: &EntryPlan) -> u64 {
        let directory = plan.path(round);
        let files = plan.pictures.iter().map(|name| self.root.length(&directory.join(name)));
        let copies = if self.settings.originals { 3 } else { 1 };
        files.sum::<u64>().saturating_mul(copies)
    }

    /// Reads an entry's text and pictures. Everything is looked at, whatever was found wrong before.
    pub(crate) fn load(&self, round: &RoundPlan, plan: &EntryPlan) -> Loaded {
        let directory = plan.path(round);
        let mut loaded = Loaded::default();
        let text = plan.text.as_deref();
        let mut draft = text.and_then(|name| self.load_text(&directory, name, plan.rank, &mut loaded));
        for name in &plan.pictures {
            let renditions = self.load_picture(&directory, name, &mut loaded);
            if let (Some(draft), Some(renditions)) = (&mut draft, renditions) {
                draft.picture = Some(renditions.map(|_, encoded| rendition_draft(encoded)));
            }
        }
        let sound = loaded.problems.iter().all(|problem| problem.severity == Severity::Warning);
        let served = !plan.left_out && !round.left_out && sound;
        loaded.draft = draft.filter(|_| served);
        loaded
    }

    fn load_text(
        &self,
        directory: &Path,
        name: &OsStr,
        rank: u32,
        loaded: &mut Loaded,
    ) -> Option<EntryDraft> {
        let path = directory.join(name);
        let bytes = match self.root.read(&path, MAX_TEXT_FILE_BYTES) {
            Ok(bytes) => bytes,
            Err(wording) => {
                loaded.problems.push(Problem::error(&path, wording));
                return None;
            }
        };
        let hash = ContentHash::of(&bytes);
        loaded.inputs.push(input(&path, hash, &bytes));
        let parsed = text_data::parse(&bytes, rank);
        let problems = parsed.faults.into_iter().map(|fault| Problem::of(&path, fault, hash));
        loaded.problems.extend(problems);
        if let Some(field) = parsed.value.as_ref().and_then(cut_short) {
            loaded.problems.push(Problem::warning(
                &path,
                crate::words::texts::key_cut_short(field, MAX_KEY_BYTES >> 10),
            ));
        }
        parsed.value
    }

    fn load_picture(&self, directory: &Path, name: &OsStr, loaded: &mut Loaded) -> Option<Renditions> {
        let path = directory.join(name);
        let bytes = match self.root.read(&path, MAX_STORED_PICTURE_BYTES) {
            Ok(bytes) => bytes,
            Err(wording) => {
                loaded.problems.push(Problem::error(&path, wording));
                return None;
            }
        };
        let source = Source::new(&bytes);
        loaded.inputs.push(input(&path, source.hash(), &bytes));
        match self.look_at(&source) {
            Ok(look) => {
                if let Some(damage) = look.damage {
                    loaded.problems.push(Problem::warning(&path, words::damage(&damage)));
                }
                let (renditions, origin) = look.renditions?;
                loaded.origin = Some(origin);
                Some(renditions)
            }
            Err(problem) => {
                loaded.problems.push(Problem::error(&path, words::problem(&problem)));
                None
            }
        }
    }

    fn look_at(&self, source: &Source<'_>) -> Result<Look, picture::Problem> {
        let bytes = source.bytes();
        // One after the other: a thread that held the first and waited for the second might wait for ever.
        let reservation = self.budget.reserve(picture::HEADER_BYTES);
        let header = picture::header(bytes, self.settings)?;
        drop(reservation);
        if matches!(self.depth, Depth::Header) {
            return Ok(Look::default());
        }
        let _reservation = self.budget.reserve(picture::decoding_cost_bytes(&header));
        match self.depth {
            Depth::Header => Ok(Look::default()),
            Depth::Decode => {
                let damage = picture::decode_in_full(bytes, self.settings)?;
                Ok(Look { damage, renditions: None })
            }
            Depth::Render(cache) => {
                let (rendered, origin) = cache.renditions(source, self.settings)?;
                Ok(Look { damage: rendered.damage, renditions: Some((rendered.renditions, origin)) })
            }
        }
    }
}

/// Returns the first field whose search key does not hold all of it.
fn cut_short(draft: &EntryDraft) -> Option<(&'static str, &'static str)> {
    let yomi = draft.yomi.as_deref().unwrap_or_default();
    let fields = [
        (("the poem", "歌"), draft.poem.as_str()),
        (("the reading", "よみ"), yomi),
        (("the account", "投稿者"), &draft.account),
        (("the prompt", "プロンプト"), &draft.prompt),
    ];
    let honka = draft.honka.iter().map(|url| (("a honka", "本歌"), url.as_str()));
    fields.into_iter().chain(honka).find(|(_, text)| SearchKey::is_cut(text)).map(|(field, _)| field)
}

/// What was seen of a picture.
#[derive(Default)]
struct Look {
    damage: Option<Damage>,
    /// If they were made.
    renditions: Option<(Renditions, Origin)>,
}

fn input(path: &Path, hash: ContentHash, bytes: &[u8]) -> InputFile {
    InputFile { path: PathBuf::from(path), hash, bytes: bytes.len() as u64 }
}

fn rendition_draft(encoded: Encoded) -> RenditionDraft {
    let Encoded { bytes, media_type, width, height } = encoded;
    RenditionDraft { bytes, media_type, width_px: width, height_px: height }
}
