//! Synthetic archives: written directly, no picture is ever decoded or encoded.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use tempfile::TempDir;
use wakashu_archive::{
    ContentHash, EntryDraft, MediaType, Period, PictureDraft, RenditionDraft, RoundDraft, RoundExtra, Writer,
    Written,
};

/// How many bytes the renditions of a picture have.
#[derive(Debug, Clone, Copy)]
pub struct Pictures {
    /// Bytes of the small file.
    pub small: usize,
    /// Bytes of the medium file.
    pub medium: usize,
    /// Bytes of the large file.
    pub large: usize,
}

/// A collection being put together, then an archive in a folder of its own.
#[derive(Debug)]
pub struct Collection {
    title: String,
    rounds: Vec<(RoundDraft, Vec<EntryDraft>)>,
    folder: TempDir,
}

impl Default for Collection {
    fn default() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Self { title: "試しの和歌集".to_owned(), rounds: Vec::new(), folder }
    }
}

impl Collection {
    /// Changes the collection's title.
    #[must_use]
    pub fn title(mut self, title: &str) -> Self {
        title.clone_into(&mut self.title);
        self
    }

    /// Begins a round; numbered ones first, by number.
    #[must_use]
    pub fn round(self, title: &str) -> Self {
        self.dated_round(title, None)
    }

    /// Begins a round compiled in `period`, written like `2025年4月`.
    #[must_use]
    pub fn dated_round(mut self, title: &str, period: Option<&str>) -> Self {
        let period = period.map(|text| Period::parse(text).expect("a period"));
        self.rounds
            .push((RoundDraft { title: title.to_owned(), period, ..RoundDraft::default() }, Vec::new()));
        self
    }

    /// Adds a text about the round begun last.
    #[must_use]
    pub fn extra(mut self, title: &str, text: &str) -> Self {
        let round = &mut self.rounds.last_mut().expect("a round was begun").0;
        round.extras.push(RoundExtra { title: title.to_owned(), text: text.to_owned() });
        self
    }

    /// Adds an entry to the round begun last.
    #[must_use]
    pub fn entry(mut self, entry: EntryDraft) -> Self {
        self.rounds.last_mut().expect("a round was begun").1.push(entry);
        self
    }

    /// Adds entries to the round begun last.
    #[must_use]
    pub fn entries(self, entries: impl IntoIterator<Item = EntryDraft>) -> Self {
        entries.into_iter().fold(self, Self::entry)
    }

    /// Writes the archive and returns its path; it lives as long as the collection.
    #[must_use]
    pub fn write(&self) -> PathBuf {
        self.write_with_trailer().0
    }

    /// Writes the archive and returns its path and what the writer says of it.
    #[must_use]
    pub fn write_with_trailer(&self) -> (PathBuf, Written) {
        let path = self.folder.path().join("poems.wakashu");
        let written = self.write_to(&path);
        (path, written)
    }

    /// Writes the archive there and returns what the writer says of it.
    #[expect(clippy::must_use_candidate, reason = "the file is what is wanted, more often than its digest")]
    pub fn write_to(&self, path: &Path) -> Written {
        self.write_into(std::io::BufWriter::new(std::fs::File::create(path).unwrap())).0
    }

    /// Returns the archive itself.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        self.write_into(Vec::new()).1.into()
    }

    fn write_into<W: std::io::Write>(&self, out: W) -> (Written, W) {
        let mut writer = Writer::new(out).unwrap();
        for (round, entries) in &self.rounds {
            writer.begin_round(round.clone()).unwrap();
            for entry in entries {
                writer.entry(entry.clone()).unwrap();
            }
        }
        let description = "試験のために書かれた和歌集".to_owned();
        // Publishing takes equal ones for the same collection, and writes nothing.
        let built_from = ContentHash::of(self.title.as_bytes());
        writer.finish(self.title.clone(), description, built_from).unwrap()
    }

    /// Returns the folder the archive is written to.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// Returns an entry with a short poem, and a picture if `pictures` says how large.
#[must_use]
pub fn poem(rank: u32, pictures: Option<Pictures>) -> EntryDraft {
    EntryDraft {
        rank,
        account: format!("@poet{rank}"),
        poem: format!("{rank}番目の歌\n風の音にぞ「驚かれぬる」"),
        honka: vec![format!("https://example.org/honka/{rank}?a=1&b=%E6%AD%8C")],
        prompt: format!("a picture of poem {rank}"),
        extras: Vec::new(),
        yomi: None,
        picture: pictures.map(|pictures| PictureDraft {
            small: rendition(rank, 1, pictures.small),
            medium: rendition(rank, 2, pictures.medium),
            large: rendition(rank, 3, pictures.large),
            original: None,
        }),
    }
}

fn rendition(rank: u32, size: u8, length: usize) -> RenditionDraft {
    let bytes = Bytes::from(picture_bytes(rank, size, length));
    RenditionDraft { bytes, media_type: MediaType::Png, width_px: 4, height_px: 4 }
}

/// Returns the bytes of a picture that opens like a PNG and differs by rank and size. The server never decodes it.
#[must_use]
pub fn picture_bytes(rank: u32, size: u8, length: usize) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    bytes.extend_from_slice(&rank.to_le_bytes());
    bytes.push(size);
    bytes.resize(length, 0x5a);
    bytes
}
