//! Reads an archive to the last byte, and makes small ones.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "support for tests; each file uses its part"
)]

use bytes::Bytes;
use wakashu_archive::{
    Archive, ArchiveError, Column, ContentHash, EntryDraft, MediaType, Opening, Period, PictureDraft,
    RenditionDraft, RoundDraft, Span, Trailer, Writer, verify_original, verify_rendition,
};

/// Returns an archive of one round of `entries` entries with a picture each, and one empty round.
pub(crate) fn sample(entries: u32) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let period = Period::parse("2025年4月").ok();
    writer.begin_round(RoundDraft { title: "第1回".to_owned(), period }).unwrap();
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
    writer.begin_round(RoundDraft { title: "番外編".to_owned(), period: None }).unwrap();
    let (_, bytes) = writer.finish("歌集".to_owned(), "説明".to_owned(), ContentHash::of(b"inputs")).unwrap();
    bytes
}

/// Reads everything a file names, as a deep check would; returns the number of entries.
pub(crate) fn walk(file: &[u8]) -> Result<u32, ArchiveError> {
    let length = file.len() as u64;
    let archive = match Archive::from_tail(file, length) {
        Err(ArchiveError::NotAnArchive { .. }) => {
            return Err(Trailer::explain_missing(&file[..file.len().min(8)], length));
        }
        Err(error) => return Err(error),
        Ok(Opening::Ready(archive)) => archive,
        Ok(Opening::NeedRoot(trailer)) => {
            let root = part(file, trailer.root.span());
            Archive::with_root(trailer, root)?
        }
    };
    Trailer::check_head(file)?;
    let mut entries = 0;
    for round in archive.root().rounds.iter() {
        for chunk in round.chunks.iter() {
            let page = archive.page(chunk, part(file, chunk.page.span()))?;
            for entry in page.entries.iter() {
                entries += 1;
                let Some(picture) = entry.picture.as_ref() else { continue };
                for (_, rendition) in picture.renditions() {
                    verify_rendition(rendition, &part(file, rendition.span()))?;
                }
                if let Some(original) = picture.original.as_ref() {
                    verify_original(original, &part(file, original.span()))?;
                }
            }
        }
    }
    for reference in archive.trailer().columns() {
        Column::open(&reference, &part(file, reference.span()), archive.root().entries.to_native())?;
    }
    Ok(entries)
}

fn part(file: &[u8], span: Span) -> Bytes {
    let bounds = usize::try_from(span.offset).ok().zip(usize::try_from(span.end()).ok());
    Bytes::copy_from_slice(bounds.and_then(|(start, end)| file.get(start..end)).unwrap_or_default())
}
