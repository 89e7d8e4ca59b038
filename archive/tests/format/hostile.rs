//! What a reader meets when an archive is damaged, cut or made to mislead.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test")]

use bytes::Bytes;
use proptest::prelude::*;
use rkyv::rancor;
use wakashu_archive::{
    Archive, ArchiveError, Chunk, ContentHash, Entry, Extra, HEAD_MAGIC, MediaType, Opening, Page, Picture,
    ReadAt, Reference, Rendition, Root, Round, Section, SectionKind, SectionTable, Span, TextRange, Trailer,
};

use crate::walk::{sample, walk};

#[test]
fn a_whole_archive_reads_to_the_end() {
    let bytes = sample(70);
    assert_eq!(walk(&bytes), Ok(70));
}

#[test]
fn every_flipped_byte_is_noticed() {
    let good = sample(3);
    for at in 0..good.len() {
        for flip in [0x01, 0x80] {
            let mut bad = good.clone();
            bad[at] ^= flip;
            assert!(walk(&bad).is_err(), "byte {at} of {} flipped by {flip:#x}", good.len());
        }
    }
}

#[test]
fn every_cut_is_noticed_and_named() {
    let good = sample(3);
    for length in 0..good.len() {
        let error = walk(&good[..length]).unwrap_err();
        let fits = match length {
            0 => matches!(error, ArchiveError::NotAnArchive { found: 0 }),
            _ => matches!(error, ArchiveError::CutShort { declared: None, .. }),
        };
        assert!(fits, "cut to {length}: {error}");
    }
}

#[test]
fn bytes_added_in_front_or_behind_are_noticed() {
    let good = sample(3);
    let before = [b"x".as_slice(), &good].concat();
    let expected = ArchiveError::CutShort { declared: Some(good.len() as u64), found: before.len() as u64 };
    assert_eq!(walk(&before), Err(expected));
    let behind = [good.as_slice(), b"x"].concat();
    assert_eq!(walk(&behind), Err(ArchiveError::CutShort { declared: None, found: behind.len() as u64 }));
}

#[test]
fn foreign_files_are_not_called_damaged() {
    for bytes in [b"".as_slice(), b"x", b"PK\x03\x04", &[0; 4096], b"{\"jsonrpc\":\"2.0\"}"] {
        assert_eq!(walk(bytes), Err(ArchiveError::NotAnArchive { found: bytes.len() as u64 }));
    }
}

#[test]
fn the_tail_alone_is_enough_to_open() {
    let bytes = sample(70);
    let whole = Archive::open(bytes.as_slice()).unwrap();
    let opening = whole.opening_span();
    let tail = Bytes::copy_from_slice(&bytes[usize::try_from(opening.offset).unwrap()..]);
    assert!(matches!(Opening::from_tail(tail, bytes.len() as u64), Ok(Opening::Ready(_))));
}

/// Opens from a tail of any length and returns how many reads that took.
fn open_from(bytes: &[u8], tail: usize) -> (Archive, usize) {
    let tail = Bytes::copy_from_slice(&bytes[bytes.len() - tail..]);
    let (mut opening, mut reads) = (Opening::from_tail(tail, bytes.len() as u64).unwrap(), 1);
    loop {
        match opening {
            Opening::Ready(archive) => return (archive, reads),
            Opening::Needs(missing) => {
                let read = bytes.read_at(missing.span()).unwrap();
                opening = missing.supply(&read).unwrap();
                reads += 1;
            }
        }
    }
}

#[test]
fn however_short_the_tail_is_the_archive_opens_in_few_reads() {
    let bytes = sample(3);
    let digest = Archive::open(bytes.as_slice()).unwrap().digest();
    for tail in 0..bytes.len() {
        let (archive, reads) = open_from(&bytes, tail);
        assert_eq!(archive.digest(), digest, "a tail of {tail} bytes");
        assert!(reads <= 4, "a tail of {tail} bytes takes {reads} reads");
    }
}

#[test]
fn a_root_apart_from_the_end_is_found() {
    let bytes = sample(3);
    let archive = Archive::open(bytes.as_slice()).unwrap();
    let mut sections = archive.table().sections().to_vec();
    // The root first, then 100,000 bytes of a section nobody knows.
    let noise = vec![7; 100_000];
    let body = usize::try_from(archive.trailer().table().offset).unwrap();
    let reference = Reference { offset: body as u64, length: 100_000, hash: ContentHash::of(&noise) };
    sections.push(Section { kind: SectionKind(*b"zzzz"), must_be_understood: false, reference });
    let apart = with_sections([&bytes[..body], &noise].concat(), sections);
    assert_eq!(walk(&apart), Ok(3));
    assert_eq!(open_from(&apart, 64).1, 3, "trailer, table, root");
}

/// Adds a section of unknown kind to a good file.
fn with_unknown_section(must_be_understood: bool) -> Vec<u8> {
    let bytes = sample(3);
    let archive = Archive::open(bytes.as_slice()).unwrap();
    let body = usize::try_from(archive.trailer().table().offset).unwrap();
    let mut sections = archive.table().sections().to_vec();
    let reference = Reference { offset: body as u64, length: 5, hash: ContentHash::of(b"later") };
    sections.push(Section { kind: SectionKind(*b"late"), must_be_understood, reference });
    with_sections([&bytes[..body], b"later"].concat(), sections)
}

/// Closes a file with a section table and a trailer.
fn with_sections(mut file: Vec<u8>, sections: Vec<Section>) -> Vec<u8> {
    let table = SectionTable::new(sections).encode();
    file.extend_from_slice(&table);
    let total_length = file.len() as u64 + 64;
    file.extend_from_slice(&Trailer::encode(total_length, &table));
    file
}

#[test]
fn an_unknown_section_is_skipped_unless_it_must_be_understood() {
    assert_eq!(walk(&with_unknown_section(false)), Ok(3));
    let refused = walk(&with_unknown_section(true)).unwrap_err();
    assert_eq!(refused, ArchiveError::UnknownSection { kind: SectionKind(*b"late") });
    assert!(refused.to_string().contains("update this program"), "{refused}");
}

#[test]
fn opening_ten_thousand_rounds_touches_trailer_and_root_only() {
    let mut writer = wakashu_archive::Writer::new(Vec::new()).unwrap();
    for number in 1..=10_000 {
        let title = format!("第{number}回");
        writer
            .begin_round(wakashu_archive::RoundDraft { title, ..wakashu_archive::RoundDraft::default() })
            .unwrap();
        let poem = format!("歌{number}");
        writer.entry(wakashu_archive::EntryDraft { rank: 1, poem, ..Default::default() }).unwrap();
    }
    let (written, bytes) = writer.finish(String::new(), String::new(), ContentHash::of(b"")).unwrap();
    let length = bytes.len();
    let tail = Bytes::copy_from_slice(&bytes[length - 64 * 1024..]);
    let Ok(Opening::Needs(missing)) = Opening::from_tail(tail, length as u64) else {
        panic!("the root of 10,000 rounds is larger than the tail");
    };
    // Nothing before the root is given to the reader: what it does not have it cannot touch.
    let Span { offset, length: missing_bytes } = missing.span();
    assert_eq!(Some(offset), written.table.find(SectionKind::ROOT).map(|root| root.offset));
    assert_eq!(offset + missing_bytes, length as u64 - 64 * 1024);
    let bytes = bytes.as_slice().read_at(missing.span()).unwrap();
    let Ok(Opening::Ready(archive)) = missing.supply(&bytes) else {
        panic!("the root was all that is missing")
    };
    assert_eq!(archive.digest(), written.digest);
    assert_eq!(archive.find_round("9999").unwrap().title, "第9999回");
}

/// Writes a file around a root, all hashes right.
fn with_root(root: &Root) -> Vec<u8> {
    let mut file = HEAD_MAGIC.to_vec();
    let bytes = rkyv::to_bytes::<rancor::Error>(root).unwrap();
    let reference = Reference { offset: 8, length: bytes.len() as u64, hash: ContentHash::of(&bytes) };
    file.extend_from_slice(&bytes);
    with_sections(file, vec![Section { kind: SectionKind::ROOT, must_be_understood: true, reference }])
}

fn reference() -> impl Strategy<Value = Reference> {
    let number = prop_oneof![0_u64..600, any::<u64>(), Just(u64::MAX), Just(u64::MAX - 8)];
    (number.clone(), number, any::<[u8; 32]>()).prop_map(|(offset, length, hash)| Reference {
        offset,
        length,
        hash: ContentHash(hash),
    })
}

fn chunk() -> impl Strategy<Value = Chunk> {
    let rank = prop_oneof![0_u32..40, any::<u32>()];
    (rank.clone(), rank, reference()).prop_map(|(first_rank, last_rank, page)| Chunk {
        first_rank,
        last_rank,
        page,
    })
}

fn round() -> impl Strategy<Value = Round> {
    ("[あ-お]{0,2}", 0_u32..70, prop::collection::vec(chunk(), 0..3)).prop_map(|(title, entries, chunks)| {
        Round {
            key: title.clone(),
            title,
            number: None,
            period: None,
            extras: Vec::new(),
            entries,
            pictures: 0,
            chunks,
        }
    })
}

fn range() -> impl Strategy<Value = TextRange> {
    let at = prop_oneof![0_u32..24, any::<u32>()];
    (at.clone(), at).prop_map(|(start, end)| TextRange { start, end })
}

fn rendition() -> impl Strategy<Value = Rendition> {
    (reference(), any::<u32>(), any::<bool>()).prop_map(|(stored, file_bytes, heic)| Rendition {
        stored,
        file_bytes,
        width_px: 1,
        height_px: 1,
        media_type: if heic { MediaType::Heic } else { MediaType::Png },
    })
}

fn entry() -> impl Strategy<Value = Entry> {
    let text = prop_oneof!["[あ-おa\\\\nu0\"]{0,12}", any::<String>()];
    let picture = prop::option::of(
        (rendition(), rendition(), rendition(), prop::option::of(rendition()))
            .prop_map(|(small, medium, large, original)| Picture { small, medium, large, original }),
    );
    (0_u32..5, text, range(), range(), prop::collection::vec(range(), 0..3), range(), range(), picture)
        .prop_map(|(rank, text, account, poem, honka, prompt, extra, picture)| Entry {
            rank,
            text,
            text_characters: 0,
            account,
            poem,
            honka,
            prompt,
            extras: vec![Extra { key: extra, value: extra }],
            yomi: None,
            picture,
        })
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        prop_assert!(walk(&bytes).is_err());
    }

    #[test]
    fn random_damage_is_noticed(at in any::<prop::sample::Index>(), noise in prop::collection::vec(any::<u8>(), 1..64)) {
        let good = sample(3);
        let mut bad = good.clone();
        let at = at.index(good.len());
        let end = (at + noise.len()).min(good.len());
        bad[at..end].copy_from_slice(&noise[..end - at]);
        prop_assert_eq!(walk(&bad).is_ok(), bad == good);
    }

    #[test]
    fn crafted_roots_are_read_within_bounds(
        rounds in prop::collection::vec(round(), 0..4),
        by_key in prop::collection::vec(prop_oneof![0_u32..4, any::<u32>()], 0..4),
        entries in 0_u32..80,
    ) {
        let root = Root {
            title: String::new(),
            description: String::new(),
            built_from: ContentHash([0; 32]),
            entries,
            rounds,
            by_key,
        };
        let file = with_root(&root);
        if let Ok(archive) = Archive::open(file.as_slice()) {
            for ordinal in [0, 1, 31, 32, 69, usize::MAX] {
                let _ = archive.locate(ordinal);
            }
            let _ = archive.find_round("あ");
            for round in archive.root().rounds.iter() {
                let _ = round.chunks_with(0, u32::MAX);
            }
        }
        let _ = walk(&file);
    }

    #[test]
    fn crafted_pages_are_read_within_bounds(entries in prop::collection::vec(entry(), 0..3)) {
        let (first, last) = (entries.first().map_or(1, |e| e.rank), entries.last().map_or(1, |e| e.rank));
        let page = rkyv::to_bytes::<rancor::Error>(&Page { entries }).unwrap();
        let page_reference = Reference { offset: 8, length: page.len() as u64, hash: ContentHash::of(&page) };
        let chunk = Chunk { first_rank: first, last_rank: last, page: page_reference };
        let chunk_bytes = rkyv::to_bytes::<rancor::Error>(&chunk).unwrap();
        let chunk = rkyv::access::<wakashu_archive::ArchivedChunk, rancor::Error>(&chunk_bytes).unwrap();
        let bytes = sample(1);
        let archive = Archive::open(bytes.as_slice()).unwrap();
        if let Ok(page) = archive.page(chunk, Bytes::copy_from_slice(&page)) {
            for entry in page.entries.iter() {
                let shown = format!("\"{}\"", entry.text);
                prop_assert!(serde_json::from_str::<String>(&shown).is_ok(), "{}", shown);
                for part in [entry.account_escaped(), entry.poem_escaped(), entry.prompt_escaped()] {
                    let shown = format!("\"{part}\"");
                    prop_assert!(serde_json::from_str::<String>(&shown).is_ok());
                }
            }
        }
    }
}
