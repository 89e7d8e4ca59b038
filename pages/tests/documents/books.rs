//! The book: its parts, and that the same collection makes the same bytes.

use crate::support::{Site, hostile};
use wakashu_archive::MediaType;
use wakashu_pages::{Book, BookError, BookPicture};

/// One white pixel.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0:~\x9bU\0\0\0\nIDATx\x9cc\xf8\x0f\0\x01\x01\x01\0\x1b\xb6\xeeV\0\0\0\0IEND\xaeB`\x82";
const PICTURE: BookPicture<'_> =
    BookPicture { bytes: PNG, media_type: MediaType::Png, width_px: 1, height_px: 1 };

fn book(site: &Site) -> Vec<u8> {
    let mut book = Book::begin(Vec::new(), &site.collection, "2026-01-31T00:00:00Z", Some(PICTURE)).unwrap();
    for round in site.collection.archive().root().rounds.iter() {
        book.round(round).unwrap();
        for chunk in round.chunks.iter() {
            for entry in site.view(chunk).entries.iter() {
                book.poem(entry, entry.picture.as_ref().map(|_| PICTURE)).unwrap();
            }
        }
    }
    book.finish().unwrap()
}

/// Returns names and contents of the parts, found by their own heads.
fn parts(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut parts = Vec::new();
    let mut rest = bytes;
    while rest.starts_with(b"PK\x03\x04") {
        let number = |at: usize, length: usize| {
            rest[at..at + length].iter().rev().fold(0_usize, |number, byte| number << 8 | usize::from(*byte))
        };
        let (length, name) = (number(18, 4), number(26, 2));
        parts.push((
            String::from_utf8(rest[30..30 + name].to_vec()).unwrap(),
            rest[30 + name..30 + name + length].to_vec(),
        ));
        rest = &rest[30 + name + length..];
    }
    assert!(rest.starts_with(b"PK\x01\x02"));
    parts
}

/// `WAKASHU_KEEP=FOLDER` keeps books and archives, for `epubcheck`, for readers and for `examples/site.rs`.
#[test]
fn a_book_has_all_its_poems_and_each_picture_once() {
    for (name, site) in [("sample", Site::sample()), ("hostile", hostile())] {
        let bytes = book(&site);
        assert_eq!(bytes, book(&site), "the same collection makes the same bytes");
        let parts = parts(&bytes);
        let names: Vec<&str> = parts.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names[0], "mimetype");
        assert_eq!(names.iter().filter(|name| name.starts_with("EPUB/pictures/")).count(), 1);
        let entries = site.collection.archive().root().entries.to_native() as usize;
        let rounds = site.collection.archive().root().rounds.len();
        assert_eq!(names.iter().filter(|name| name.starts_with("EPUB/round-")).count(), entries + rounds);
        let package =
            String::from_utf8(parts.iter().find(|(name, _)| name == "EPUB/package.opf").unwrap().1.clone())
                .unwrap();
        for name in
            names.iter().filter_map(|name| name.strip_prefix("EPUB/")).filter(|name| *name != "package.opf")
        {
            assert!(package.contains(&format!("href=\"{name}\"")), "{name} is listed");
        }
        let colophon = String::from_utf8(
            parts.iter().find(|(name, _)| name == "EPUB/colophon.xhtml").unwrap().1.clone(),
        )
        .unwrap();
        assert!(colophon.contains(site.collection.archive().digest().to_hex().as_str()));
        if let Some(folder) = std::env::var_os("WAKASHU_KEEP") {
            let folder = std::path::Path::new(&folder);
            std::fs::write(folder.join(format!("{name}.epub")), bytes).unwrap();
            std::fs::write(folder.join(format!("{name}.wakashu")), &site.bytes).unwrap();
        }
    }
}

#[test]
fn parts_of_a_book_as_they_are() {
    let parts = parts(&book(&Site::sample()));
    let shown = [
        "META-INF/container.xml",
        "EPUB/cover.xhtml",
        "EPUB/round-1.xhtml",
        "EPUB/round-1-1.xhtml",
        "EPUB/colophon.xhtml",
    ]
    .map(|wanted| {
        let (name, bytes) = parts.iter().find(|(name, _)| name == wanted).unwrap();
        format!("{name}\n{}\n", String::from_utf8(bytes.clone()).unwrap().replace("><", ">\n<"))
    });
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn what_a_book_cannot_hold_is_refused() {
    let site = Site::sample();
    let begin = |date, picture| Book::begin(Vec::new(), &site.collection, date, picture);
    for date in
        ["", "2026-01-31", "2026-01-31T00:00:00+09:00", "2026-01-31T00:00:00.5Z", "２026-01-31T00:00:00"]
    {
        assert!(matches!(begin(date, None), Err(BookError::Date { .. })), "{date}");
    }
    let webp = BookPicture { media_type: MediaType::Webp, ..PICTURE };
    assert!(matches!(
        begin("2026-01-31T00:00:00Z", Some(webp)),
        Err(BookError::Picture { found: "image/webp" })
    ));
    let mut book = begin("2026-01-31T00:00:00Z", None).unwrap();
    let round = site.collection.archive().find_round("第1回").unwrap();
    assert!(matches!(book.poem(&site.view(&round.chunks[0]).entries[0], None), Err(BookError::NoRound)));
}
