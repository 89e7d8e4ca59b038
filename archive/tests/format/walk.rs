//! Reads an archive to the last byte, and makes small ones.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "support for tests; each file uses its part"
)]

use bytes::Bytes;
use wakashu_archive::{
    Archive, ArchiveError, Column, ColumnName, ContentHash, EntryDraft, MediaType, Period, PictureDraft,
    ReadAt as _, RenditionDraft, RoundDraft, RoundExtra, Size, Trailer, Writer, verify_original,
    verify_rendition,
};

/// Returns an archive of one round of `entries` entries with a picture each, and one empty round.
pub(crate) fn sample(entries: u32) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let period = Period::parse("2025年4月").ok();
    let extras = vec![RoundExtra { title: "お題".to_owned(), text: "春\"".to_owned() }];
    writer.begin_round(RoundDraft { title: "第1回".to_owned(), period, extras }).unwrap();
    for rank in 1..=entries {
        let rendition = |size: u8| RenditionDraft {
            bytes: Bytes::from(vec![size; usize::from(size) + rank as usize]),
            media_type: MediaType::Png,
            width_px: 1,
            height_px: 1,
        };
        let picture = PictureDraft {
            small: rendition(1),
            medium: rendition(2),
            // Every other entry's large picture is its medium one, so that spans are shared.
            large: if rank % 2 == 0 { rendition(2) } else { rendition(3) },
            original: (rank % 3 == 0).then(|| rendition(4)),
        };
        writer
            .entry(EntryDraft {
                rank,
                account: format!("@poet{rank}"),
                poem: format!("ひさかたの\n光のどけき{rank}\""),
                honka: vec!["https://example.org/?a=1&b=2".to_owned()],
                prompt: if rank % 2 == 0 { String::new() } else { "moon".to_owned() },
                extras: vec![("詞書".to_owned(), "春".to_owned())],
                yomi: Some("ひさかたの".to_owned()),
                picture: Some(picture),
            })
            .unwrap();
    }
    writer.begin_round(RoundDraft { title: "番外編".to_owned(), ..RoundDraft::default() }).unwrap();
    let (_, bytes) = writer.finish("歌集".to_owned(), "説明".to_owned(), ContentHash::of(b"inputs")).unwrap();
    bytes
}

/// Reads everything a file names, as a deep check would; returns the number of entries.
pub(crate) fn walk(file: &[u8]) -> Result<u32, ArchiveError> {
    let archive = Archive::open(file)?;
    Trailer::check_head(file)?;
    let mut entries = 0;
    for round in archive.root().rounds.iter() {
        for chunk in round.chunks.iter() {
            let page = archive.page(chunk, file.read_at(chunk.page.span())?)?;
            for entry in page.entries.iter() {
                entries += 1;
                let Some(picture) = entry.picture.as_ref() else { continue };
                for (size, rendition) in picture.as_ref().iter() {
                    let verify = if size == Size::Original { verify_original } else { verify_rendition };
                    verify(rendition, &file.read_at(rendition.span())?)?;
                }
            }
        }
    }
    for section in archive.table().sections() {
        let bytes = file.read_at(section.reference.span())?;
        match ColumnName::ALL.iter().find(|name| name.kind() == section.kind) {
            Some(_) => {
                Column::open(&section.reference, &bytes, archive.root().entries.to_native())?;
            }
            None => assert_eq!(ContentHash::of(&bytes), section.reference.hash, "{}", section.kind),
        }
    }
    Ok(entries)
}
