//! What a reader meets when an archive is damaged, cut or made to mislead.
#![allow(clippy::unwrap_used, reason = "a test")]

mod walk;

use bytes::Bytes;
use proptest::prelude::*;
use rkyv::rancor;
use wakashu_archive::{
    Archive, ArchiveError, Chunk, ContentHash, Entry, Extra, HEAD_MAGIC, MediaType, Opening, Page, Picture,
    Reference, Rendition, Root, Round, TextRange, Trailer,
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
    let tail = &bytes[bytes.len() - 8 * 1024..];
    assert!(matches!(
        Archive::from_tail(tail, bytes.len() as u64),
        Ok(Opening::Ready(_) | Opening::NeedRoot(_))
    ));
}

#[test]
fn opening_ten_thousand_rounds_touches_trailer_and_root_only() {
    let mut writer = wakashu_archive::Writer::new(Vec::new()).unwrap();
    for number in 1..=10_000 {
        let title = format!("第{number}回");
        writer.begin_round(wakashu_archive::RoundDraft { title, period: None }).unwrap();
        let poem = format!("歌{number}");
        writer.entry(wakashu_archive::EntryDraft { rank: 1, poem, ..Default::default() }).unwrap();
    }
    let (written, bytes) = writer.finish(String::new(), String::new(), ContentHash::of(b"")).unwrap();
    let length = bytes.len();
    // Nothing before the root is given to the reader: what it does not have it cannot touch.
    let Ok(Opening::NeedRoot(trailer)) = Archive::from_tail(&bytes[length - 64 * 1024..], length as u64)
    else {
        panic!("the root of 10,000 rounds is larger than the tail");
    };
    let root = usize::try_from(trailer.root.offset).unwrap();
    let root = Bytes::copy_from_slice(&bytes[root..root + usize::try_from(trailer.root.length).unwrap()]);
    let archive = Archive::with_root(trailer, root).unwrap();
    assert_eq!(archive.digest(), written.digest);
    assert_eq!(archive.find_round("9999").unwrap().title, "第9999回");
}

/// Writes a file around a root, all hashes right.
fn with_root(root: &Root) -> Vec<u8> {
    let mut file = HEAD_MAGIC.to_vec();
    let bytes = rkyv::to_bytes::<rancor::Error>(root).unwrap();
    let reference = Reference { offset: 8, length: bytes.len() as u64, hash: ContentHash::of(&bytes) };
    file.extend_from_slice(&bytes);
    let trailer = Trailer {
        total_length: file.len() as u64 + 256,
        root: reference,
        text_column: None,
        prompt_column: None,
        honka_column: None,
    };
    file.extend_from_slice(&trailer.encode());
    file
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
        Round { key: title.clone(), title, number: None, period: None, entries, pictures: 0, chunks }
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
        if let Ok(Opening::Ready(archive)) = Archive::from_tail(&file, file.len() as u64) {
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
        let Ok(Opening::Ready(archive)) = Archive::from_tail(&bytes, bytes.len() as u64) else {
            return Err(TestCaseError::fail("the sample does not open"));
        };
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
