//! Makes the hashes of a mutated archive right, so that what is wrong with it is its structure alone.
//!
//! Random changes never get past a hash tree. Someone who crafts an archive would compute the hashes, and so does this.

use rkyv::rancor;
use wakashu_archive::{
    ArchivedPage, ArchivedReference, ArchivedRoot, ContentHash, Span, TRAILER_BYTES, Trailer, VERSION,
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
    let Ok(mut trailer) = Trailer::decode(&file, length as u64) else { return file };

    let pages = references_in_root(&file, trailer.root.span());
    for (_, page) in &pages {
        for (place, picture) in references_in_page(&file, *page) {
            set_hash(&mut file, place, picture);
        }
    }
    // After all pages are as they will be: one may lie inside another.
    for (place, page) in pages {
        set_hash(&mut file, place, page);
    }
    let columns = [&mut trailer.text_column, &mut trailer.prompt_column, &mut trailer.honka_column];
    for reference in columns.into_iter().flatten().chain([&mut trailer.root]) {
        reference.hash = ContentHash::of(part(&file, reference.span()).unwrap_or_default());
    }
    file[trailer_at..].copy_from_slice(&trailer.encode());
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
        picture.renditions().map(|(_, rendition)| rendition).into_iter().chain(picture.original.as_ref())
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
