//! Search columns: that they are whole, and that they hold the keys of the texts they stand for.

use wakashu_archive::{Archive, ArchivedEntry, Column, Reference, SearchKey, unescape};

use crate::archive_file::{ArchiveFile, ReadError};

/// Columns that are larger together are opened one at a time and not compared with the texts.
const MAX_HELD_BYTES: u64 = 256 << 20;

/// The columns of an archive, as far as they could be opened and are held.
#[derive(Debug, Default)]
pub(super) struct Columns {
    text: Option<Column>,
    prompt: Option<Column>,
    honka: Option<Column>,
    /// They are too large to be held beside the pages.
    pub(super) too_large: bool,
}

impl Columns {
    /// Opens the columns that are present; what is wrong with them goes to `wrong`.
    pub(super) fn open(
        file: &ArchiveFile,
        archive: &Archive,
        mut wrong: impl FnMut(&'static str, ReadError),
    ) -> Self {
        let trailer = archive.trailer();
        let entries = archive.root().entries.to_native();
        let total = trailer.columns().fold(0_u64, |sum, column| sum.saturating_add(column.length));
        let too_large = total > MAX_HELD_BYTES;
        let mut open = |name: &'static str, reference: Option<Reference>| {
            let reference = reference?;
            let opened = file
                .read(reference.span())
                .and_then(|bytes| Ok(Column::open(&reference, &bytes, entries)?))
                .map_err(|error| wrong(name, error));
            opened.ok().filter(|_| !too_large)
        };
        Self {
            text: open("column of texts", trailer.text_column),
            prompt: open("column of prompts", trailer.prompt_column),
            honka: open("column of honka", trailer.honka_column),
            too_large,
        }
    }

    /// Returns the names of the columns that say something else of an entry than its page.
    pub(super) fn disagreeing(&self, ordinal: usize, entry: &ArchivedEntry) -> Vec<&'static str> {
        let yomi = entry.yomi.as_deref().unwrap_or_default();
        let texts = [entry.poem_escaped(), yomi, entry.account_escaped()];
        let honka: Vec<&str> = entry.honka_escaped().collect();
        let mut names = Vec::new();
        if disagrees(self.text.as_ref(), ordinal, &texts) {
            names.push("texts");
        }
        if disagrees(self.prompt.as_ref(), ordinal, &[entry.prompt_escaped()]) {
            names.push("prompts");
        }
        if disagrees(self.honka.as_ref(), ordinal, &honka) {
            names.push("honka");
        }
        names
    }
}

fn disagrees(column: Option<&Column>, ordinal: usize, fields: &[&str]) -> bool {
    let Some(column) = column else { return false };
    let keys = |key_of: fn(&str) -> SearchKey| {
        let keys: Vec<String> =
            fields.iter().map(|field| key_of(&unescape(field)).as_str().to_owned()).collect();
        keys.join("\0").into_bytes()
    };
    column.exact().entry(ordinal) != keys(SearchKey::exact)
        || column.loose().is_some_and(|loose| loose.entry(ordinal) != keys(SearchKey::loose))
}
