//! Search columns: that they are whole, and that they hold the keys of the texts they stand for.

use wakashu_archive::{Archive, ArchivedEntry, Column, ColumnName, KEYS_VERSION, SearchKey, unescape};

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
    /// They hold keys that this build does not make, of this version.
    pub(super) other_keys: Option<u16>,
}

impl Columns {
    /// Opens the columns that are present; what is wrong with them goes to `wrong`.
    pub(super) fn open(
        file: &ArchiveFile,
        archive: &Archive,
        mut wrong: impl FnMut(&'static str, ReadError),
    ) -> Self {
        let entries = archive.root().entries.to_native();
        let lengths = ColumnName::ALL.iter().filter_map(|name| Some(archive.column(*name)?.length));
        let too_large = lengths.fold(0, u64::saturating_add) > MAX_HELD_BYTES;
        let mut other_keys = None;
        let mut open = |name: ColumnName, called: &'static str| {
            let reference = archive.column(name)?;
            let opened = file
                .read(reference.span())
                .and_then(|bytes| Ok(Column::open(&reference, &bytes, entries)?))
                .map_err(|error| wrong(called, error));
            let opened = opened.ok()?;
            if opened.keys_version() != KEYS_VERSION {
                other_keys = Some(opened.keys_version());
                return None;
            }
            Some(opened).filter(|_| !too_large)
        };
        let text = open(ColumnName::Text, "column of texts");
        let prompt = open(ColumnName::Prompt, "column of prompts");
        let honka = open(ColumnName::Honka, "column of honka");
        Self { text, prompt, honka, too_large, other_keys }
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
    let joined = |key_of: fn(&str) -> Vec<u8>| {
        let keys: Vec<Vec<u8>> = fields.iter().map(|field| key_of(&unescape(field))).collect();
        keys.join(&0)
    };
    column.exact().entry(ordinal) != joined(|text| SearchKey::exact(text).as_str().into())
        || column.loose().is_some_and(|loose| loose.entry(ordinal) != joined(SearchKey::loose))
}
