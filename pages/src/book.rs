//! The book: EPUB 3, read from right to left and written vertically, a poem with its picture on each page.
//!
//! A [`Book`] is written front to back: cover, then each round with its poems, then contents and colophon. The same parts
//! make the same bytes.

use std::collections::BTreeSet;
use std::io::Write;

use maud::{Markup, PreEscaped, html};
use wakashu_archive::{ArchivedEntry, ArchivedRound, ContentHash, MediaType, unescape};

use crate::collection::Collection;
use crate::dates;
use crate::picture::description;
use crate::poem::{honka_link, is_long};
use crate::text::{Beginning, Text, Vertical};
use crate::uuid::Uuid;
use crate::zip::{Zip, ZipError};

/// Why a book could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BookError {
    /// Writing failed.
    #[error("could not write the book")]
    Io(#[source] std::io::Error),
    /// The book has more parts or bytes than its format holds.
    #[error("the book is too large: at most 65,535 parts and 4 GiB; leave rounds out")]
    TooLarge,
    /// A picture is of a kind that not every reader of books shows.
    #[error("a picture of a book is JPEG or PNG, not `{found}`")]
    Picture {
        /// Its media type.
        found: &'static str,
    },
    /// The date is not in the one form that books know.
    #[error("the date of a book is written `2026-01-31T00:00:00Z`, not `{found}`")]
    Date {
        /// What was given.
        found: String,
    },
    /// A poem came before its round. A fault of the caller.
    #[error("a poem came before its round")]
    NoRound,
}

/// A picture file for a book.
#[derive(Debug, Clone, Copy)]
pub struct BookPicture<'a> {
    /// The file.
    pub bytes: &'a [u8],
    /// What it is: JPEG or PNG.
    pub media_type: MediaType,
    /// Width in pixels.
    pub width_px: u32,
    /// Height in pixels.
    pub height_px: u32,
}

/// A book that is being written to `W`.
#[derive(Debug)]
pub struct Book<W> {
    zip: Zip<W>,
    title: String,
    description: String,
    digest: ContentHash,
    modified: String,
    /// Names of the pictures that are written: equal pictures are one file.
    pictures: BTreeSet<String>,
    cover: Option<String>,
    rounds: Vec<Chapter>,
}

/// A round of the book.
#[derive(Debug)]
struct Chapter {
    title: String,
    /// Rank and account of its poems.
    poems: Vec<(u32, String)>,
}

/// Most characters of a name in the contents.
const NAME_CHARACTERS: usize = 60;
const CONTAINER: &str = concat!(
    "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n",
    "<container version=\"1.0\" xmlns=\"urn:oasis:names:tc:opendocument:xmlns:container\"><rootfiles>",
    "<rootfile full-path=\"EPUB/package.opf\" media-type=\"application/oebps-package+xml\"/></rootfiles></container>",
);

impl From<ZipError> for BookError {
    fn from(error: ZipError) -> Self {
        match error {
            ZipError::Io(source) => Self::Io(source),
            ZipError::TooLarge => Self::TooLarge,
        }
    }
}

impl<W: Write> Book<W> {
    /// Begins a book of a collection with its cover. `modified` is written as in `2026-01-31T00:00:00Z`.
    pub fn begin(
        out: W,
        collection: &Collection,
        modified: &str,
        cover: Option<BookPicture<'_>>,
    ) -> Result<Self, BookError> {
        if !is_date(modified) {
            return Err(BookError::Date { found: modified.to_owned() });
        }
        let root = collection.archive().root();
        let mut book = Self {
            zip: Zip::new(out),
            title: named(&root.title, "和歌集"),
            description: root.description.as_str().to_owned(),
            digest: collection.archive().digest(),
            modified: modified.to_owned(),
            pictures: BTreeSet::new(),
            cover: None,
            rounds: Vec::new(),
        };
        // First and as it is: this is how a file is known to be a book.
        book.zip.add("mimetype", b"application/epub+zip")?;
        book.zip.add("META-INF/container.xml", CONTAINER.as_bytes())?;
        book.zip.add("EPUB/style.css", include_bytes!("../assets/book.css"))?;
        book.cover = cover.map(|cover| book.picture(cover)).transpose()?;
        let page = html! {
            h1.title { (Vertical(&book.title)) }
            @if let (Some(file), Some(cover)) = (&book.cover, cover) {
                div.picture { (image(file, cover, &html! { (Text(&book.title)) "の表紙の絵" })) }
            }
        };
        book.document("cover", &html! { (Text(&book.title)) }, &page)?;
        Ok(book)
    }

    /// Begins the next round.
    pub fn round(&mut self, round: &ArchivedRound) -> Result<(), BookError> {
        let title = named(&round.title, "無題の回");
        let page = html! {
            h1.title { (Vertical(&title)) }
            @if let Some(period) = round.period.as_ref() { p.quiet { (dates::period(period.into())) } }
            p.quiet { (dates::count(round.entries.to_native())) "首" }
            @for extra in round.extras.iter() { p { (Text(&extra.title)) "　" (Text(&extra.text)) } }
        };
        self.rounds.push(Chapter { title, poems: Vec::new() });
        let (name, title) = (round_name(self.rounds.len()), html! { (Text(&round.title)) });
        self.document(&name, &title, &page)
    }

    /// Adds the next poem of the round.
    pub fn poem(&mut self, entry: &ArchivedEntry, picture: Option<BookPicture<'_>>) -> Result<(), BookError> {
        let number = self.rounds.len();
        let file = picture.map(|picture| self.picture(picture)).transpose()?;
        let rank = entry.rank.to_native();
        let account = unescape(entry.account_escaped());
        let poem = unescape(entry.poem_escaped());
        let title = html! { (rank) "位 " (Beginning(&account, NAME_CHARACTERS)) };
        let page = html! {
            p class=(if is_long(&poem) { "waka long" } else { "waka" }) { (Vertical(&poem)) }
            p.by { span.rank { (Vertical(&rank.to_string())) "位" } "　" (Text(&account)) }
            @if let (Some(file), Some(picture)) = (&file, picture) {
                div.picture { (image(file, picture, &description(entry))) }
            }
            @if !entry.honka.is_empty() {
                ul.honka { @for honka in entry.honka_escaped() { li { (honka_link(&unescape(honka))) } } }
            }
        };
        let chapter = self.rounds.last_mut().ok_or(BookError::NoRound)?;
        chapter.poems.push((rank, account.into_owned()));
        self.document(&poem_name(number, rank), &title, &page)
    }

    /// Writes colophon, contents and the list of all parts.
    pub fn finish(mut self) -> Result<W, BookError> {
        let poems: usize = self.rounds.iter().map(|round| round.poems.len()).sum();
        let colophon = html! {
            h1 { "奥付" }
            p { (Text(&self.title)) }
            @if !self.description.is_empty() { p.quiet { (Text(&self.description)) } }
            p.quiet { (self.rounds.len()) "回　" (dates::count(u32::try_from(poems).unwrap_or(u32::MAX))) "首" }
            p.quiet { "版　" (self.modified.get(..10).unwrap_or_default()) }
            p.digest { "索引　" (self.digest.to_hex().as_str()) }
        };
        self.document("colophon", &html! { "奥付" }, &colophon)?;
        let contents = self.contents();
        self.document("contents", &html! { "目次" }, &contents)?;
        let package = self.package();
        self.zip.add("EPUB/package.opf", package.as_bytes())?;
        Ok(self.zip.finish()?)
    }

    fn contents(&self) -> Markup {
        html! {
            nav epub:type="toc" id="toc" {
                h1 { "目次" }
                ol {
                    @for (number, round) in (1..).zip(&self.rounds) {
                        li {
                            a href={ (round_name(number)) ".xhtml" } { (Vertical(&round.title)) }
                            @if !round.poems.is_empty() {
                                ol {
                                    @for (rank, account) in &round.poems {
                                        li {
                                            a href={ (poem_name(number, *rank)) ".xhtml" } {
                                                (Vertical(&rank.to_string())) "位　" (Beginning(account, NAME_CHARACTERS))
                                            }
                                        }
                                    }
                                }
                            }
                        }
                    }
                    li { a href="colophon.xhtml" { "奥付" } }
                }
            }
            nav epub:type="landmarks" id="landmarks" hidden="hidden" {
                h1 { "案内" }
                ol {
                    li { a epub:type="cover" href="cover.xhtml" { "表紙" } }
                    li { a epub:type="toc" href="contents.xhtml" { "目次" } }
                    @if !self.rounds.is_empty() {
                        li { a epub:type="bodymatter" href={ (round_name(1)) ".xhtml" } { "本文" } }
                    }
                    li { a epub:type="colophon" href="colophon.xhtml" { "奥付" } }
                }
            }
        }
    }

    fn package(&self) -> String {
        let mut pages = vec!["cover".to_owned(), "contents".to_owned()];
        for (number, round) in (1..).zip(&self.rounds) {
            pages.push(round_name(number));
            pages.extend(round.poems.iter().map(|(rank, _)| poem_name(number, *rank)));
        }
        pages.push("colophon".to_owned());
        let package = html! {
            (PreEscaped("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"))
            package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id" xml:lang="ja" {
                metadata "xmlns:dc"="http://purl.org/dc/elements/1.1/" {
                    dc:identifier id="id" { (Uuid::of(&self.title, None).to_string()) }
                    dc:title { (Text(&self.title)) }
                    dc:language { "ja" }
                    @if !self.description.trim().is_empty() { dc:description { (Text(&self.description)) } }
                    meta property="dcterms:modified" { (self.modified) }
                    meta property="schema:accessMode" { "textual" }
                    meta property="schema:accessMode" { "visual" }
                    meta property="schema:accessModeSufficient" { "textual" }
                    meta property="schema:accessibilityFeature" { "alternativeText" }
                    meta property="schema:accessibilityFeature" { "tableOfContents" }
                    meta property="schema:accessibilityHazard" { "none" }
                    @if let Some(cover) = &self.cover { meta name="cover" content=(picture_id(cover)) {} }
                }
                manifest {
                    item id="style" href="style.css" media-type="text/css" {}
                    @for page in &pages {
                        item id=(page) href={ (page) ".xhtml" } media-type="application/xhtml+xml"
                            properties=[(page == "contents").then_some("nav")] {}
                    }
                    @for picture in &self.pictures {
                        item id=(picture_id(picture)) href=(picture)
                            media-type=(if picture.ends_with("png") { "image/png" } else { "image/jpeg" })
                            properties=[(Some(picture) == self.cover.as_ref()).then_some("cover-image")] {}
                    }
                }
                spine page-progression-direction="rtl" { @for page in &pages { itemref idref=(page) {} } }
            }
        };
        package.into_string()
    }

    /// Writes a picture, unless the same one is there, and returns its file.
    fn picture(&mut self, picture: BookPicture<'_>) -> Result<String, BookError> {
        let (MediaType::Jpeg | MediaType::Png) = picture.media_type else {
            return Err(BookError::Picture { found: picture.media_type.as_str() });
        };
        let hash = ContentHash::of(picture.bytes).to_hex();
        let file = format!(
            "pictures/{}.{}",
            hash.as_str().get(..32).unwrap_or_default(),
            picture.media_type.extension()
        );
        if self.pictures.insert(file.clone()) {
            self.zip.add(&format!("EPUB/{file}"), picture.bytes)?;
        }
        Ok(file)
    }

    fn document(&mut self, name: &str, title: &Markup, body: &Markup) -> Result<(), BookError> {
        // Every element is closed by its own tag: so HTML's writer writes XML.
        let document = html! {
            (PreEscaped("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<!DOCTYPE html>\n"))
            html xmlns="http://www.w3.org/1999/xhtml" "xmlns:epub"="http://www.idpf.org/2007/ops"
                lang="ja" xml:lang="ja" {
                head {
                    meta charset="utf-8" {}
                    title { (title) }
                    link rel="stylesheet" type="text/css" href="style.css" {}
                }
                body { (body) }
            }
        };
        Ok(self.zip.add(&format!("EPUB/{name}.xhtml"), document.into_string().as_bytes())?)
    }
}

fn round_name(number: usize) -> String {
    format!("round-{number}")
}

fn poem_name(round: usize, rank: u32) -> String {
    format!("round-{round}-{rank}")
}

/// Returns a name for the list of parts, which begins with a letter.
fn picture_id(file: &str) -> String {
    let name = file.rsplit('/').next().unwrap_or(file);
    format!("p-{}", name.split('.').next().unwrap_or(name))
}

fn image(file: &str, picture: BookPicture<'_>, alt: &Markup) -> Markup {
    html! { img src=(file) alt=(alt) width=(picture.width_px) height=(picture.height_px) {} }
}

/// Returns a title; a book may have none that is blank.
fn named(title: &str, otherwise: &str) -> String {
    if title.trim().is_empty() { otherwise.to_owned() } else { title.to_owned() }
}

/// Tells whether a time is written as books write it.
fn is_date(text: &str) -> bool {
    text.len() == 20
        && text
            .bytes()
            .zip("0000-00-00T00:00:00Z".bytes())
            .all(|(found, form)| if form == b'0' { found.is_ascii_digit() } else { found == form })
}
