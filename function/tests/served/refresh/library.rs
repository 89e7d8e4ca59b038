//! The archives that are published in turn. Everything in them says which one it belongs to.

use std::sync::OnceLock;

use bytes::Bytes;
use serde_json::Value;
use wakashu_archive::{ContentHash, EntryDraft, MediaType, PictureDraft, RenditionDraft, RoundDraft, Writer};

/// How many archives there are.
pub(crate) const VERSIONS: usize = 5;

/// More than one page of entries, so that an answer may need two.
const LAST_RANK: u32 = 40;

/// Opens the bytes of a picture.
const PICTURE_HEAD: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Marks a picture that all archives have in common, as most have after a new round.
const COMMON: u8 = 0xff;

#[derive(Debug)]
pub(crate) struct Published {
    pub(crate) digest: ContentHash,
    /// By these an answer from it is known.
    marks: [String; 2],
    pub(crate) bytes: Bytes,
}

pub(crate) fn library() -> &'static [Published] {
    static LIBRARY: OnceLock<Vec<Published>> = OnceLock::new();
    LIBRARY.get_or_init(|| (0..VERSIONS).map(write).collect())
}

fn mark(version: usize) -> String {
    format!("版{version}版")
}

fn write(version: usize) -> Published {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.begin_round(RoundDraft { title: "第1回".to_owned(), ..RoundDraft::default() }).unwrap();
    for rank in 1..=LAST_RANK {
        let entry = EntryDraft {
            rank,
            account: format!("@{}", mark(version)),
            poem: format!("{}の{rank}番目の歌", mark(version)),
            honka: vec![format!("https://example.org/{}", mark(version))],
            prompt: mark(version),
            picture: picture(version, rank),
            ..EntryDraft::default()
        };
        writer.entry(entry).unwrap();
    }
    writer.begin_round(RoundDraft { title: mark(version), ..RoundDraft::default() }).unwrap();
    // One archive's root is longer than the tail that is read first.
    for round in 0..if version == 2 { 40 } else { 0 } {
        let title = format!("番外編{round:02}{}", "。".repeat(600));
        writer.begin_round(RoundDraft { title, ..RoundDraft::default() }).unwrap();
    }
    let title = format!("{}の和歌集", mark(version));
    let (written, bytes) = writer.finish(title, mark(version), ContentHash::of(&[0])).unwrap();
    let marks = [mark(version), written.digest.to_string()];
    Published { digest: written.digest, marks, bytes: Bytes::from(bytes) }
}

/// Pictures at the beginning and around the border of the pages. One original makes the archive longer than its tail,
/// which is read at once.
fn picture(version: usize, rank: u32) -> Option<PictureDraft> {
    let owner = if rank.is_multiple_of(2) { COMMON } else { u8::try_from(version).unwrap() };
    let rendition = |size: u8, length: usize| {
        let mut bytes = PICTURE_HEAD.to_vec();
        bytes.extend([owner, size, u8::try_from(rank).unwrap()]);
        bytes.resize(length, b'.');
        RenditionDraft { bytes: bytes.into(), media_type: MediaType::Png, width_px: 4, height_px: 4 }
    };
    matches!(rank, 1..=3 | 31..=34).then(|| PictureDraft {
        small: rendition(1, 60),
        medium: rendition(2, 75),
        large: rendition(3, 90),
        original: (rank == 1).then(|| rendition(4, 80_000)),
    })
}

/// Collects the archives an answer speaks of: by their marks, digests and pictures.
pub(crate) fn versions_in(body: &[u8], json: Option<&Value>) -> Vec<usize> {
    if let Some(rest) = body.strip_prefix(PICTURE_HEAD) {
        return owner_of(rest).into_iter().collect();
    }
    let text = str::from_utf8(body).unwrap();
    let says = |published: &Published| published.marks.iter().any(|mark| text.contains(mark));
    let mut found: Vec<usize> = (0..VERSIONS).filter(|version| says(&library()[*version])).collect();
    if let Some(json) = json {
        pictures_in(json, &mut found);
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Looks at every string that is a picture in base64.
fn pictures_in(value: &Value, found: &mut Vec<usize>) {
    use base64::Engine as _;
    match value {
        Value::String(text) if text.starts_with("iVBORw0KGgo") => {
            let bytes = base64::engine::general_purpose::STANDARD.decode(text).unwrap();
            found.extend(owner_of(&bytes[PICTURE_HEAD.len()..]));
        }
        Value::Array(items) => items.iter().for_each(|item| pictures_in(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| pictures_in(field, found)),
        _ => {}
    }
}

fn owner_of(after_head: &[u8]) -> Option<usize> {
    after_head.first().filter(|owner| **owner != COMMON).map(|owner| usize::from(*owner))
}
