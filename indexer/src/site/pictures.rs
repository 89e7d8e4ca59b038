//! The pictures of a site: every rendition that a page may show, as a file named by its content.

use std::collections::BTreeMap;

use wakashu_archive::{ArchivedPicture, Reference, Span};
use wakashu_pages::picture_file;

use super::error::SiteError;
use crate::source::Source;

/// A picture file, and where it is taken from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pictured {
    pub(super) bytes: u64,
    /// Which of the archives has it.
    archive: usize,
    stored: Reference,
}

/// Returns the pictures of all archives by their paths.
pub(super) fn of(archives: &[&Source]) -> Result<BTreeMap<String, Pictured>, SiteError> {
    let mut pictures = BTreeMap::new();
    for (archive, source) in archives.iter().enumerate() {
        for chunk in source.archive.root().rounds.iter().flat_map(|round| round.chunks.iter()) {
            let page = source.page(chunk)?;
            let shown = page.entries.iter().filter_map(|entry| entry.picture.as_ref());
            for (_, rendition) in shown.flat_map(ArchivedPicture::renditions) {
                let Span { offset, length } = rendition.span();
                let stored = Reference { offset, length, hash: rendition.hash() };
                let bytes = u64::from(rendition.file_bytes.to_native());
                pictures.entry(picture_file(rendition)).or_insert(Pictured { bytes, archive, stored });
            }
        }
    }
    Ok(pictures)
}

impl Pictured {
    /// Reads the picture file.
    pub(super) fn read(&self, archives: &[&Source]) -> Result<Vec<u8>, SiteError> {
        match archives.get(self.archive) {
            Some(source) => Ok(source.picture(&self.stored)?),
            None => Ok(Vec::new()),
        }
    }
}
