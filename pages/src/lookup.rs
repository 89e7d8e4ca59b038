//! Looking for poems where no server answers: what a browser loads to do it by itself.
//!
//! Everything is a classic script, because pages that are opened from a disk may load such and fetch nothing. The keys
//! are those of the archive's search columns, in files of moderate size, each named by its content; a file holds what stands
//! in a row, so that a new round changes the last of them and not the others. `assets/search.js` is the program.

use std::sync::LazyLock;

use maud::{Markup, html};
use wakashu_archive::{
    ArchivedRound, Column, ColumnName, ContentHash, KEYS_VERSION, PageView, escape_into, folding_tables,
};

use crate::address::{Address, picture_file};
use crate::collection::Renderer;
use crate::folder_name::folder_name;
use crate::frame::{Document, Page};
use crate::search::{opening, syntax};

/// From how many bytes on the next file is begun.
const PART_BYTES: usize = 192 << 10;

static PROGRAM: LazyLock<LookupFile> = LazyLock::new(|| {
    let body = include_str!("../assets/search.js").replacen("TABLES", &folding_tables(), 1);
    LookupFile::new("assets/search", body)
});

/// A file that the search loads, named by its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookupFile {
    /// Its path below the folder of the site.
    pub path: String,
    /// What is in it.
    pub body: String,
}

/// What the search loads, in the making: first the columns, then the entries in their order.
#[derive(Debug)]
pub struct Lookup {
    files: Vec<LookupFile>,
    /// The parts of each column, and those of the entries: JSON rows of path, first entry, number of entries.
    parts: [Vec<String>; 4],
    rounds: Vec<String>,
    /// Why nothing can be searched for; empty if it can.
    refused: &'static str,
    entries: usize,
    rows: String,
    rows_from: usize,
}

/// Which part of the index the entries' files are.
const ENTRIES: usize = 3;

impl LookupFile {
    fn new(stem: &str, body: String) -> Self {
        let hash = ContentHash::of(body.as_bytes()).to_short_hex();
        Self { path: format!("{stem}-{}.js", hash.as_str()), body }
    }
}

impl Default for Lookup {
    fn default() -> Self {
        Self {
            files: vec![PROGRAM.clone()],
            parts: Default::default(),
            rounds: Vec::new(),
            refused: "",
            entries: 0,
            rows: String::new(),
            rows_from: 0,
        }
    }
}

impl Lookup {
    /// Adds a column; without one, or with one of other keys, nothing is found and the page says so, as a server does.
    pub fn column(&mut self, name: ColumnName, column: Option<&Column>) {
        let Some(column) = column else {
            self.refused = "この和歌集には検索用のデータがないため、歌を探せません。";
            return;
        };
        if column.keys_version() != KEYS_VERSION {
            self.refused = "この和歌集の検索用のデータは別の版のプログラムで作られているため、作り直すまで歌を探せません。";
            return;
        }
        let (keys, word) = (column.exact(), word(name));
        let mut from = 0;
        while from < keys.len() {
            let end = keys.portion(&(from..keys.len()), PART_BYTES);
            let mut body = format!("wakashuLookup.keys(\"{word}\",{from},\"");
            for ordinal in from..end {
                escape_into(&mut body, &String::from_utf8_lossy(keys.entry(ordinal)));
                body.push_str("\\n");
            }
            body.push_str("\")\n");
            self.part(place(name), word, from, end, body);
            from = end;
        }
    }

    /// Begins the next round.
    pub fn round(&mut self, round: &ArchivedRound) {
        let mut row = String::from("[");
        for text in [round.title.as_str(), round.key.as_str(), &folder_name(&round.title)] {
            row.push('"');
            escape_into(&mut row, text);
            row.push_str("\",");
        }
        self.rounds.push(format!("{row}{},{}]", self.entries, round.entries.to_native()));
    }

    /// Adds the next entries of the round.
    pub fn page(&mut self, page: &PageView) {
        for entry in page.entries.iter() {
            self.rows.push_str(if self.rows.is_empty() { "[" } else { ",\n[" });
            // Their texts are kept as JSON writes them.
            let (account, poem) = (entry.account_escaped(), entry.poem_escaped());
            self.rows.push_str(&format!("{},\"{account}\",\"{poem}\",", entry.rank.to_native()));
            match entry.yomi.as_ref() {
                Some(yomi) => self.rows.extend(["\"", yomi.as_str(), "\","]),
                None => self.rows.push_str("null,"),
            }
            match entry.picture.as_ref().map(|picture| &picture.small) {
                Some(small) => {
                    let (width, height) = (small.width_px.to_native(), small.height_px.to_native());
                    self.rows.push_str(&format!("\"{}\",{width},{height}]", picture_file(small)));
                }
                None => self.rows.push_str("null,0,0]"),
            }
            self.entries += 1;
            if self.rows.len() >= PART_BYTES {
                self.close_rows();
            }
        }
    }

    /// Returns all files; the last is the index, which names the others.
    #[must_use]
    pub fn finish(mut self) -> Vec<LookupFile> {
        self.close_rows();
        let [text, prompt, honka, entries] = self.parts.map(|parts| parts.join(","));
        let (rounds, count, refused) = (self.rounds.join(",\n"), self.entries, self.refused);
        let body = format!(
            "wakashuLookup.index({{\"refused\":\"{refused}\",\"count\":{count},\"keys\":{{\"text\":[{text}],\
             \"prompt\":[{prompt}],\"honka\":[{honka}]}},\"entries\":[{entries}],\"rounds\":[{rounds}]}})\n"
        );
        self.files.push(LookupFile::new("search/index", body));
        self.files
    }

    fn close_rows(&mut self) {
        if self.rows_from < self.entries {
            let body = format!("wakashuLookup.entries({},[{}])\n", self.rows_from, self.rows);
            self.part(ENTRIES, "entries", self.rows_from, self.entries, body);
        }
        self.rows.clear();
        self.rows_from = self.entries;
    }

    fn part(&mut self, place: usize, word: &str, from: usize, end: usize, body: String) {
        let file = LookupFile::new(&format!("search/{word}"), body);
        if let Some(parts) = self.parts.get_mut(place) {
            parts.push(format!("[\"{}\",{from},{}]", file.path, end - from));
        }
        self.files.push(file);
    }
}

fn place(name: ColumnName) -> usize {
    match name {
        ColumnName::Text => 0,
        ColumnName::Prompt => 1,
        ColumnName::Honka => 2,
    }
}

fn word(name: ColumnName) -> &'static str {
    match name {
        ColumnName::Text => "text",
        ColumnName::Prompt => "prompt",
        ColumnName::Honka => "honka",
    }
}

impl Renderer<'_> {
    /// Renders the search page of a folder. `files` are those of [`Lookup::finish`].
    #[must_use]
    pub fn lookup(&self, files: &[LookupFile]) -> Document {
        let links = self.place.links(Address::Search);
        let main: Markup = html! {
            (opening(&links, ""))
            noscript {
                p.alert {
                    "この頁の検索は、ブラウザーの中で動くスクリプトが行います。スクリプトなしでは、会話のできるアプリから search_poems で探せます。"
                }
            }
            div #lookup data-index=[files.last().map(|index| index.path.as_str())] {}
            // Runs before what follows is there: what is found must not push away what somebody already reads.
            @if let Some(program) = files.first() { script src=(links.to_file(&program.path)) {} }
            (syntax())
            p.quiet { "検索はこの端末の中で行われ、探した言葉はどこへも送られません。" }
        };
        let mut page = Page::new(Address::Search, "search", html! { "歌を探す" });
        page.is_kept = false;
        page.document(self.place, Some(self.collection.title()), &main)
    }
}
