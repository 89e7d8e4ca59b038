//! Whatever happens to an archive, `check` notices.

use std::fs;
use std::path::Path;

use wakashu_archive::{
    Archive, ColumnName, ContentHash, ReadAt as _, Reference, Section, SectionKind, SectionTable,
    TRAILER_BYTES, Trailer,
};
use wakashu_indexer::cmd::check::{CheckOutcome, CheckRequest, check};
use wakashu_indexer::report::Report;

use crate::harness::Place;

fn checked(path: &Path) -> CheckOutcome {
    let request = CheckRequest { threads: 1.try_into().unwrap(), ..CheckRequest::default() };
    check(path, &request, &Report::silent()).unwrap()
}

#[test]
fn any_flipped_byte_is_noticed() {
    let place = Place::small();
    let bytes = fs::read(place.build()).unwrap();
    let path = place.path().join("flipped.wakashu");
    fs::write(&path, &bytes).unwrap();
    assert_eq!(checked(&path).tally.errors, 0);
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        fs::write(&path, &flipped).unwrap();
        assert!(checked(&path).tally.errors > 0, "byte {at} of {}", bytes.len());
    }
}

#[test]
fn any_cut_and_any_growth_is_noticed() {
    let place = Place::small();
    let bytes = fs::read(place.build()).unwrap();
    let path = place.path().join("cut.wakashu");
    for length in 0..bytes.len() {
        fs::write(&path, &bytes[..length]).unwrap();
        assert!(checked(&path).tally.errors > 0, "cut to {length} of {}", bytes.len());
    }
    for more in [&[0][..], b"WAKASHU\n", &bytes[bytes.len() - 256..]] {
        fs::write(&path, [&bytes, more].concat()).unwrap();
        assert!(checked(&path).tally.errors > 0);
    }
    // A piece missing from the middle or the front leaves the trailer whole.
    for (from, to) in [(0, 8), (8, 9), (100, 200)] {
        fs::write(&path, [&bytes[..from], &bytes[to..]].concat()).unwrap();
        assert!(checked(&path).tally.errors > 0, "{from}..{to}");
    }
}

#[test]
fn every_damaged_part_is_named_and_the_rest_is_still_checked() {
    let place = Place::small();
    let archive = place.build();
    let show = place.run(["show", "--json", "--round", "1", archive.to_str().unwrap()]).json();
    let offset = |rank: usize| {
        usize::try_from(show["entries"][rank]["picture"]["small"]["stored_offset"].as_u64().unwrap()).unwrap()
    };
    let mut bytes = fs::read(&archive).unwrap();
    bytes[2] ^= 1;
    bytes[offset(0)] ^= 1;
    bytes[offset(2)] ^= 1;
    let path = place.path().join("damaged.wakashu");
    fs::write(&path, &bytes).unwrap();
    let run = place.run(["check", "--json", "damaged.wakashu"]);
    assert_eq!(run.code, 1);
    assert_eq!(run.problems(), ["error head", "error 第1回 1 small", "error 第1回 10 small"]);
    assert_eq!(run.json()["checked"]["entries"], 4);

    // The page is the last thing before the next round's pictures.
    let other = place.run(["show", "--json", "--round", "番外編", archive.to_str().unwrap()]).json();
    let next = other["entries"][0]["picture"]["small"]["stored_offset"].as_u64().unwrap();
    bytes[usize::try_from(next).unwrap() - 5] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let run = place.run(["check", "--json", "damaged.wakashu"]);
    assert_eq!(run.problems(), ["error head", "error 第1回 1-10: page"]);
    assert_eq!(run.json()["checked"]["entries"], 1);
    assert!(run.json()["not_checked"][0].as_str().unwrap().contains("1 damaged pages"));
}

#[test]
fn a_name_that_is_another_digest_is_noticed() {
    let place = Place::small();
    let archive = place.build();
    let wrong = place.path().join(format!("{}.wakashu", "ab".repeat(32)));
    fs::rename(&archive, &wrong).unwrap();
    let outcome = checked(&wrong);
    assert_eq!(outcome.tally.errors, 1);
    assert!(outcome.problems[0].message().contains("abab"), "{:?}", outcome.problems);
    let plain = place.path().join("latest.wakashu");
    fs::rename(&wrong, &plain).unwrap();
    assert_eq!(checked(&plain).tally.errors, 0);
}

/// Writes columns, root, table and trailer anew after the last page, every hash right.
fn with_tail(bytes: &[u8], columns: [&[u8]; 3], gap: &[u8]) -> Vec<u8> {
    let archive = Archive::open(bytes).unwrap();
    let root = bytes.read_at(archive.table().find(SectionKind::ROOT).unwrap().span()).unwrap();
    let first_column = archive.column(ColumnName::Text).unwrap();
    let mut crafted = bytes[..usize::try_from(first_column.offset).unwrap()].to_vec();
    let mut append = |part: &[u8]| {
        let reference = Reference {
            offset: crafted.len() as u64,
            length: part.len() as u64,
            hash: ContentHash::of(part),
        };
        crafted.extend_from_slice(part);
        reference
    };
    let mut sections = Vec::new();
    for (name, column) in ColumnName::ALL.into_iter().zip(columns) {
        let reference = append(column);
        sections.push(Section { kind: name.kind(), must_be_understood: false, reference });
    }
    append(gap);
    let reference = append(&root);
    sections.push(Section { kind: SectionKind::ROOT, must_be_understood: true, reference });
    closed(crafted, sections)
}

/// Ends a file with a section table and a trailer.
fn closed(mut file: Vec<u8>, sections: Vec<Section>) -> Vec<u8> {
    let table = SectionTable::new(sections).encode();
    file.extend_from_slice(&table);
    let total_length = (file.len() + TRAILER_BYTES) as u64;
    file.extend_from_slice(&Trailer::encode(total_length, &table));
    file
}

fn columns_of(bytes: &[u8]) -> [&[u8]; 3] {
    let archive = Archive::open(bytes).unwrap();
    ColumnName::ALL.map(|name| {
        let column = archive.column(name).unwrap();
        let start = usize::try_from(column.offset).unwrap();
        &bytes[start..start + usize::try_from(column.length).unwrap()]
    })
}

#[test]
fn a_section_of_a_later_build_is_hashed_or_refused() {
    let place = Place::small();
    let bytes = fs::read(place.build()).unwrap();
    let archive = Archive::open(bytes.as_slice()).unwrap();
    let later = |must_be_understood: bool, hash: ContentHash| {
        let body = usize::try_from(archive.trailer().table().offset).unwrap();
        let reference = Reference { offset: body as u64, length: 5, hash };
        let mut sections = archive.table().sections().to_vec();
        sections.push(Section { kind: SectionKind(*b"late"), must_be_understood, reference });
        let path = place.path().join("later.wakashu");
        fs::write(&path, closed([&bytes[..body], b"later"].concat(), sections)).unwrap();
        let outcome = checked(&path);
        outcome.problems.iter().map(|problem| problem.message().to_owned()).collect::<Vec<_>>()
    };
    assert!(later(false, ContentHash::of(b"later")).is_empty());
    let damaged = later(false, ContentHash::of(b"other"));
    assert!(damaged.len() == 1 && damaged[0].contains("hash is"), "{damaged:?}");
    let refused = later(true, ContentHash::of(b"later"));
    assert!(refused.len() == 1 && refused[0].contains("update this program"), "{refused:?}");
}

#[test]
fn right_hashes_do_not_hide_gaps_and_foreign_columns() {
    let place = Place::small();
    let bytes = fs::read(place.build()).unwrap();
    let other = Place::small().text("第1回/1-Laptop").file(
        "第1回/2-Wakashu/TextData2.json",
        "{\"AccountName\":\"@2\",\"HonkadoriWaka\":\"別の歌\",\"Honka\":[\"https://example.com/2\"],\"Prompt\":\"prompt 2\"}",
    );
    let other = fs::read(other.build()).unwrap();
    let path = place.path().join("crafted.wakashu");
    let messages = |bytes: Vec<u8>| {
        fs::write(&path, bytes).unwrap();
        let problems = checked(&path).problems;
        problems
            .into_iter()
            .map(|problem| format!("{}: {}", problem.path, problem.message()))
            .collect::<Vec<_>>()
    };

    let own = columns_of(&bytes);
    assert_eq!(with_tail(&bytes, own, b""), bytes);
    let gap = messages(with_tail(&bytes, own, b"hidden"));
    assert_eq!(gap.len(), 1, "{gap:?}");
    assert!(gap[0].starts_with("section `root`: section of") && gap[0].contains("leaves a gap"), "{gap:?}");

    let [foreign, ..] = columns_of(&other);
    let disagreeing = messages(with_tail(&bytes, [foreign, own[1], own[2]], b""));
    assert_eq!(disagreeing, ["第1回 2: the column of texts holds other keys than its text has"]);
    let exchanged = messages(with_tail(&bytes, [own[0], own[2], own[1]], b""));
    assert_eq!(exchanged.len(), 8, "{exchanged:?}");
    let cut = messages(with_tail(&bytes, [own[0], own[1], &own[2][..20]], b""));
    assert!(cut.len() == 1 && cut[0].starts_with("column of honka: "), "{cut:?}");
}
