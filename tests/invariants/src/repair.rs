//! Makes the hashes of a mutated archive right, so that what is wrong with it is its structure alone.
//!
//! Random changes never get past a hash tree. Someone who crafts an archive would compute the hashes, and so does this.

use rkyv::rancor;
use wakashu_archive::{
    ArchivedPage, ArchivedReference, ArchivedRoot, ContentHash, SectionKind, SectionTable, Span,
    TRAILER_BYTES, Trailer, VERSION,
};

/// The end of every archive: version and closing mark.
const CLOSING: [u8; 8] = *b"WAKASHU\n";

/// Returns the file with its length, version, closing mark and every hash from the pictures up to the trailer made right,
/// as far as they can be found.
#[must_use]
pub fn with_right_hashes(file: &[u8]) -> Vec<u8> {
    let mut file = file.to_vec();
    let length = file.len();
    let Some(trailer_at) = length.checked_sub(TRAILER_BYTES) else { return file };
    file[trailer_at..trailer_at + 8].copy_from_slice(&(length as u64).to_le_bytes());
    file[length - 10..length - 8].copy_from_slice(&VERSION.to_le_bytes());
    file[length - 8..].copy_from_slice(&CLOSING);
    let Ok(trailer) = Trailer::decode(&file, length as u64) else { return file };
    let close = |file: &mut Vec<u8>, table: &[u8]| {
        file.truncate(trailer_at - table.len());
        file.extend_from_slice(table);
        file.extend_from_slice(&Trailer::encode(length as u64, table));
    };
    let table = part(&file, trailer.table().span()).unwrap_or_default().to_vec();
    close(&mut file, &table);
    let Ok(trailer) = Trailer::decode(&file, length as u64) else { return file };
    let Ok(sections) = SectionTable::decode(&trailer, &table) else { return file };
    let root = sections.find(SectionKind::ROOT).map(|root| root.span());

    let pages = root.map(|root| references_in_root(&file, root)).unwrap_or_default();
    for (_, page) in &pages {
        for (place, picture) in references_in_page(&file, *page) {
            set_hash(&mut file, place, picture);
        }
    }
    // After all pages are as they will be: one may lie inside another.
    for (place, page) in pages {
        set_hash(&mut file, place, page);
    }
    let mut sections = sections.sections().to_vec();
    for section in &mut sections {
        section.reference.hash = ContentHash::of(part(&file, section.reference.span()).unwrap_or_default());
    }
    close(&mut file, &SectionTable::new(sections).encode());
    file
}

/// Where a hash stands in the file, and the bytes it is of.
type Place = (usize, Span);

fn references_in_root(file: &[u8], root: Span) -> Vec<Place> {
    let bytes = part(file, root).unwrap_or_default();
    let Ok(root) = rkyv::access::<ArchivedRoot, rancor::Error>(bytes) else { return Vec::new() };
    let chunks = root.rounds.iter().flat_map(|round| round.chunks.iter());
    chunks.map(|chunk| (place_of_hash(file, &chunk.page), chunk.page.span())).collect()
}

fn references_in_page(file: &[u8], page: Span) -> Vec<Place> {
    let bytes = part(file, page).unwrap_or_default();
    let Ok(page) = rkyv::access::<ArchivedPage, rancor::Error>(bytes) else { return Vec::new() };
    let pictures = page.entries.iter().filter_map(|entry| entry.picture.as_ref());
    let renditions = pictures.flat_map(|picture| {
        let all: Vec<_> = picture.as_ref().iter().map(|(_, rendition)| *rendition).collect();
        all
    });
    renditions.map(|rendition| (place_of_hash(file, &rendition.stored), rendition.span())).collect()
}

/// Archived values lie in the file's own bytes: the difference of two addresses is a place in the file.
fn place_of_hash(file: &[u8], reference: &ArchivedReference) -> usize {
    std::ptr::from_ref(&reference.hash).addr() - file.as_ptr().addr()
}

fn set_hash(file: &mut [u8], place: usize, of: Span) {
    let Some(bytes) = part(file, of) else { return };
    let hash = ContentHash::of(bytes);
    file[place..place + 32].copy_from_slice(&hash.0);
}

fn part(file: &[u8], span: Span) -> Option<&[u8]> {
    file.get(usize::try_from(span.offset).ok()?..usize::try_from(span.end()).ok()?)
}
