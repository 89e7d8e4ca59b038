//! Archives of a given shape, for measuring.

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use bytes::Bytes;
use wakashu_archive::{ContentHash, EntryDraft, MediaType, PictureDraft, RenditionDraft, RoundDraft, Writer};

/// A round of an archive to measure.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Its title.
    pub title: &'static str,
    /// How many entries it has.
    pub entries: u32,
    /// How large each picture is, in every rendition; none if zero.
    pub picture_bytes: u32,
}

/// Writes an archive of these rounds. The pictures are no pictures, only bytes of the right number.
pub fn write_archive(path: &Path, rounds: &[Shape]) -> Result<(), Box<dyn Error>> {
    let mut writer = Writer::new(BufWriter::new(File::create(path)?))?;
    for round in rounds {
        writer.begin_round(RoundDraft { title: round.title.to_owned(), period: None })?;
        for rank in 1..=round.entries {
            writer.entry(EntryDraft {
                rank,
                account: "@Laptop".to_owned(),
                poem: "ひさかたの\n光のどけき\n窓の辺に\nラップトップも\n花に遠慮す".to_owned(),
                honka: vec!["https://ja.wikisource.org/wiki/小倉百人一首".to_owned()],
                prompt: "ukiyo-e woodblock print, a shy laptop under a cherry branch".to_owned(),
                picture: (round.picture_bytes > 0).then(|| picture(rank, round.picture_bytes)),
                ..EntryDraft::default()
            })?;
        }
    }
    writer.finish("遠慮したラップトップ和歌集".to_owned(), String::new(), ContentHash::of(b"bench"))?;
    Ok(())
}

fn picture(rank: u32, bytes: u32) -> PictureDraft {
    let rendition = |size: u32| RenditionDraft {
        bytes: (0..bytes).map(|at| (at * 31 + rank + size).to_le_bytes()[0]).collect::<Bytes>(),
        media_type: MediaType::Webp,
        width_px: size,
        height_px: size,
    };
    PictureDraft { small: rendition(512), medium: rendition(1092), large: rendition(1568), original: None }
}
