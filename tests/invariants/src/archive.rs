//! Archives: any bytes are read to the end or refused, and what is handed out is what the format promises.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use wakashu_archive::{
    Archive, ArchiveError, ArchivedEntry, ArchivedPicture, CHUNK_ENTRIES, Column, ColumnName, ContentHash,
    EntryDraft, Keys, MAX_RANK, MediaType, Period, PictureDraft, RenditionDraft, RoundDraft, RoundExtra,
    Span, Writer, finder, title_key, unescape, verify_original, verify_rendition,
};

use crate::repair::with_right_hashes;

/// Reads bytes as an archive: as they are, and with their hashes made right.
pub fn archive(bytes: &[u8]) {
    let _ = walk(bytes);
    let repaired = with_right_hashes(bytes);
    let _ = walk(&repaired);
}

/// Returns a small archive of two rounds with pictures, shared renditions and an original.
#[must_use]
pub fn sample() -> Vec<u8> {
    let rendition = |length: u8| RenditionDraft {
        bytes: Bytes::from([b"\x89PNG\r\n\x1a\n".as_slice(), &vec![length; length.into()]].concat()),
        media_type: MediaType::Png,
        width_px: 1,
        height_px: 1,
    };
    let entry = |rank: u32| EntryDraft {
        rank,
        account: format!("@poet{rank}"),
        poem: format!("ひさかたの\n光のどけき{rank}\""),
        honka: vec!["https://example.org/?a=1&b=2".to_owned()],
        prompt: if rank == 2 { String::new() } else { "moon".to_owned() },
        extras: vec![("詞書".to_owned(), "春".to_owned())],
        yomi: (rank == 1).then(|| "ひさかたの".to_owned()),
        picture: (rank < 3).then(|| PictureDraft {
            small: rendition(1),
            medium: rendition(2),
            large: if rank == 1 { rendition(3) } else { rendition(2) },
            original: (rank == 1).then(|| rendition(4)),
        }),
    };
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer
        .begin_round(RoundDraft {
            title: "第1回".to_owned(),
            period: Period::parse("2025年4月").ok(),
            extras: vec![RoundExtra { title: "お題".to_owned(), text: "春".to_owned() }],
        })
        .unwrap();
    (1..=3).for_each(|rank| writer.entry(entry(rank)).unwrap());
    writer.begin_round(RoundDraft { title: "番外編".to_owned(), ..RoundDraft::default() }).unwrap();
    writer.entry(entry(7)).unwrap();
    writer.finish("歌集".to_owned(), "説明".to_owned(), ContentHash::of(b"")).unwrap().1
}

/// Reads everything a file names and checks what readers rely on.
fn walk(file: &[u8]) -> Result<(), ArchiveError> {
    let archive = Archive::open(file)?;
    for round in archive.root().rounds.iter() {
        // A crafted key makes its round hard to find; `check` says so.
        if round.key == title_key(&round.title) {
            let found = archive.find_round(&round.title).expect("a round is found by its title");
            assert!(
                found.title == round.title || found.key == round.key,
                "another round is found by a title"
            );
        }
        let ordinals = archive.ordinals_of(round);
        assert_eq!(ordinals.len(), round.entries.to_native() as usize);
        for ordinal in ordinals.clone().take(2).chain(ordinals.last()) {
            let (of, _, place) = archive.locate(ordinal).expect("every entry has a chunk");
            assert!(std::ptr::eq(of, round) && place < CHUNK_ENTRIES);
        }
        if let Some((first, last)) = round.rank_bounds() {
            assert!(1 <= first && first <= last && last <= MAX_RANK);
            assert_eq!(round.chunks_with(first, last).len(), round.chunks.len());
        }
        for chunk in round.chunks.iter() {
            // A damaged page loses its own chunk only.
            let Ok(page) = archive.page(chunk, part(file, chunk.page.span())) else { continue };
            let (first, last) = (chunk.first_rank.to_native(), chunk.last_rank.to_native());
            assert_eq!(page.entries_between(first, last).len(), page.entries.len());
            for entry in page.entries.iter() {
                check_entry(entry);
                if let Some(picture) = entry.picture.as_ref() {
                    check_picture(file, picture);
                }
            }
        }
    }
    for reference in ColumnName::ALL.into_iter().filter_map(|name| archive.column(name)) {
        let entries = archive.root().entries.to_native();
        if let Ok(column) = Column::open(&reference, &part(file, reference.span()), entries) {
            check_keys(column.exact());
            column.loose().into_iter().for_each(check_keys);
        }
    }
    Ok(())
}

/// What is spliced into answers must be the inside of a JSON string, whole and in parts.
fn check_entry(entry: &ArchivedEntry) {
    let fields = [entry.account_escaped(), entry.poem_escaped(), entry.prompt_escaped()];
    let extras = entry.extras_escaped().flat_map(|(key, value)| [key, value]);
    let yomi = entry.yomi.as_deref();
    for text in
        fields.into_iter().chain(entry.honka_escaped()).chain(extras).chain(yomi).chain([&*entry.text])
    {
        let read = serde_json::from_str::<String>(&format!("\"{text}\""));
        assert_eq!(read.expect("spliced text is JSON"), unescape(text));
    }
}

/// A verified rendition is base64 of as many bytes as it says, and lies in the file.
fn check_picture(file: &[u8], picture: &ArchivedPicture) {
    for (_, rendition) in picture.renditions() {
        assert!(rendition.span().end() <= file.len() as u64);
        let stored = part(file, rendition.span());
        if verify_rendition(rendition, &stored).is_ok() {
            let decoded = STANDARD.decode(&stored).expect("a verified rendition decodes");
            assert_eq!(decoded.len(), rendition.file_bytes.to_native() as usize);
        }
    }
    if let Some(original) = picture.original.as_ref() {
        assert!(original.span().end() <= file.len() as u64);
        let _ = verify_original(original, &part(file, original.span()));
    }
}

/// Whatever is searched for, each entry is named at most once, in order, where the needle is.
fn check_keys(keys: &Keys) {
    for needle in ["の", "o", "\n"] {
        let mut next = 0;
        keys.scan(&finder(needle), 0..keys.len(), |ordinal, position| {
            assert!(next <= ordinal && ordinal < keys.len(), "entry {ordinal} of {}", keys.len());
            next = ordinal + 1;
            if needle != "\n" {
                let here = keys.entry(ordinal).get(position..).unwrap_or_default();
                assert!(here.starts_with(needle.as_bytes()), "no match at {position} of entry {ordinal}");
            }
            true
        });
    }
    for ordinal in 0..keys.len().min(64) {
        let _ = keys.field(ordinal, 2);
    }
}

fn part(file: &[u8], span: Span) -> Bytes {
    let bounds = usize::try_from(span.offset).ok().zip(usize::try_from(span.end()).ok());
    Bytes::copy_from_slice(bounds.and_then(|(start, end)| file.get(start..end)).unwrap_or_default())
}
