//! Addresses: what each document is called, and how one names another.

use std::borrow::Cow;
use std::fmt::Write as _;

use maud::Render;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use wakashu_archive::{ArchivedRendition, Size};

use crate::folder_name::folder_name;
use crate::preview::Preview;

/// What stands for itself in a part of an address.
const PART: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A document of the site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Address<'a> {
    /// The collection: a page of its rounds, counted from 1.
    Collection {
        /// Which page.
        page: u32,
    },
    /// A round: a page of its entries, counted from 1.
    Round {
        /// The round's title.
        round: &'a str,
        /// Which page.
        page: u32,
    },
    /// A poem.
    Poem {
        /// The round's title.
        round: &'a str,
        /// The rank.
        rank: u32,
    },
    /// The search page.
    Search,
    /// The Atom feed.
    Feed,
    /// A file of [`ASSETS`](crate::ASSETS), by its name.
    Asset(&'a str),
    /// What stands where nothing is: known to static hosts by this name.
    NotFound,
    /// What crawlers ask for.
    Robots,
}

/// How documents name each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkStyle<'a> {
    /// As the function serves them, below `root`: a path that begins and ends with `/`.
    Served {
        /// Path of the collection.
        root: &'a str,
    },
    /// As files of a folder, relative and with file names: works on any host, below any path, and without a host.
    Folder,
}

/// Where a site stands.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// How documents name each other.
    pub style: LinkStyle<'a>,
    /// The public address of the collection with its scheme, where it is known.
    pub base: Option<&'a str>,
    /// Whether a search is answered there. Where it is not, no page has a field for one.
    pub can_search: bool,
    /// What a preview shows besides; `None` everywhere else.
    pub preview: Option<&'a Preview>,
}

/// The links of one document.
#[derive(Debug, Clone)]
pub(crate) struct Links<'a> {
    place: Place<'a>,
    /// What leads from the document to the collection.
    to_root: Cow<'a, str>,
}

/// An address inside an attribute.
#[derive(Debug, Clone)]
pub(crate) struct Href(String);

impl Address<'_> {
    /// Returns the file of the document, relative to the folder of the site, with `/` between its parts.
    #[must_use]
    pub fn file(self) -> String {
        match self {
            Self::Collection { page: 0 | 1 } => "index.html".to_owned(),
            Self::Collection { page } => format!("page-{page}/index.html"),
            Self::Round { round, page: 0 | 1 } => format!("rounds/{}/index.html", folder_name(round)),
            Self::Round { round, page } => format!("rounds/{}/page-{page}/index.html", folder_name(round)),
            Self::Poem { round, rank } => format!("rounds/{}/{rank}/index.html", folder_name(round)),
            Self::Search => "search/index.html".to_owned(),
            Self::Feed => "feed.xml".to_owned(),
            Self::Asset(name) => format!("assets/{name}"),
            Self::NotFound => "404.html".to_owned(),
            Self::Robots => "robots.txt".to_owned(),
        }
    }

    /// Returns the document's address relative to the collection, as the function serves it.
    #[must_use]
    pub fn path(self) -> String {
        match self {
            Self::Collection { page: 0 | 1 } => String::new(),
            Self::Collection { page } => format!("?page={page}"),
            Self::Round { round, page: 0 | 1 } => format!("rounds/{}", encode(round)),
            Self::Round { round, page } => format!("rounds/{}?page={page}", encode(round)),
            Self::Poem { round, rank } => format!("rounds/{}/{rank}", encode(round)),
            Self::Search => "search".to_owned(),
            Self::Feed | Self::Asset(_) | Self::NotFound | Self::Robots => self.file(),
        }
    }
}

/// Returns the file of a picture, relative to the folder of the site. It is named by content, so it never changes.
#[must_use]
pub fn picture_file(rendition: &ArchivedRendition) -> String {
    let hash = rendition.hash().to_hex();
    format!("pictures/{}.{}", hash.as_str().get(..32).unwrap_or_default(), rendition.media_type().extension())
}

impl<'a> Place<'a> {
    /// Returns the links of the document at `address`.
    pub(crate) fn links(self, address: Address<'_>) -> Links<'a> {
        let to_root = match self.style {
            LinkStyle::Served { root } => Cow::Borrowed(root),
            // It is shown at any depth, so it cannot be relative.
            LinkStyle::Folder if address == Address::NotFound => Cow::Borrowed(self.base_path()),
            LinkStyle::Folder => Cow::Owned("../".repeat(address.file().matches('/').count())),
        };
        Links { place: self, to_root }
    }

    /// Returns the path of the public address, `/` where none is known.
    fn base_path(self) -> &'a str {
        let after_scheme = self.base.and_then(|base| base.split_once("://")).map_or("", |(_, rest)| rest);
        after_scheme.find('/').and_then(|at| after_scheme.get(at..)).unwrap_or("/")
    }

    /// Returns the whole address of a document, where the public address is known.
    pub(crate) fn absolute(self, address: Address<'_>) -> Option<Href> {
        self.below_base(&match self.style {
            LinkStyle::Served { .. } => address.path(),
            // Hosts answer a folder with its index.
            LinkStyle::Folder => {
                let file = encode_path(&address.file());
                file.strip_suffix("index.html").map(str::to_owned).unwrap_or(file)
            }
        })
    }

    /// Returns the whole address of a picture, where the public address is known.
    pub(crate) fn absolute_picture(
        self,
        round: &str,
        rank: u32,
        size: Size,
        rendition: &ArchivedRendition,
    ) -> Option<Href> {
        self.below_base(&self.picture_path(round, rank, size, rendition))
    }

    fn below_base(self, path: &str) -> Option<Href> {
        let base = self.base?;
        let slash = if base.ends_with('/') { "" } else { "/" };
        Some(Href(format!("{base}{slash}{path}")))
    }

    fn picture_path(self, round: &str, rank: u32, size: Size, rendition: &ArchivedRendition) -> String {
        let LinkStyle::Served { .. } = self.style else { return picture_file(rendition) };
        let mut path = format!("pictures/{}/{rank}?", encode(round));
        if size != Size::Large {
            let _ = write!(path, "rendition={}&", size.as_str());
        }
        path + "v=" + rendition.hash().to_short_hex().as_str()
    }
}

impl Links<'_> {
    /// Returns how the document names another.
    pub(crate) fn to(&self, address: Address<'_>) -> Href {
        let path = match self.place.style {
            LinkStyle::Served { .. } => address.path(),
            LinkStyle::Folder => encode_path(&address.file()),
        };
        Href(format!("{}{path}", self.to_root))
    }

    /// Returns how the document names the results of a search.
    pub(crate) fn to_search(&self, query: &str, page: u32) -> Href {
        let Href(mut search) = self.to(Address::Search);
        let _ = write!(search, "?q={}", encode(query));
        if page > 1 {
            let _ = write!(search, "&page={page}");
        }
        Href(search)
    }

    /// Returns how the document names a picture.
    pub(crate) fn to_picture(
        &self,
        round: &str,
        rank: u32,
        size: Size,
        rendition: &ArchivedRendition,
    ) -> Href {
        Href(format!("{}{}", self.to_root, self.place.picture_path(round, rank, size, rendition)))
    }

    /// Tells whether a search is answered.
    pub(crate) fn can_search(&self) -> bool {
        self.place.can_search
    }

    /// Returns how the document names a file that lies beside the collection.
    pub(crate) fn to_file(&self, file: &str) -> Href {
        Href(format!("{}{}", self.to_root, encode_path(file)))
    }
}

impl Href {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Render for Href {
    fn render_to(&self, out: &mut String) {
        crate::text::Text(&self.0).render_to(out);
    }
}

fn encode(part: &str) -> impl std::fmt::Display + '_ {
    utf8_percent_encode(part, PART)
}

fn encode_path(path: &str) -> String {
    path.split('/').map(|part| encode(part).to_string()).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    const POEM: Address<'_> = Address::Poem { round: "第1回", rank: 3 };

    #[test]
    fn served_documents_are_named_from_the_root() {
        let place = Place {
            style: LinkStyle::Served { root: "/" },
            base: Some("https://example.org"),
            can_search: true,
            preview: None,
        };
        let links = place.links(POEM);
        assert_eq!(links.to(Address::Collection { page: 1 }).as_str(), "/");
        assert_eq!(
            links.to(Address::Round { round: "春/夏?", page: 2 }).as_str(),
            "/rounds/%E6%98%A5%2F%E5%A4%8F%3F?page=2"
        );
        assert_eq!(links.to(POEM).as_str(), "/rounds/%E7%AC%AC1%E5%9B%9E/3");
        assert_eq!(links.to_search("花 & 月", 2).as_str(), "/search?q=%E8%8A%B1%20%26%20%E6%9C%88&page=2");
        assert_eq!(
            place.absolute(POEM).unwrap().as_str(),
            "https://example.org/rounds/%E7%AC%AC1%E5%9B%9E/3"
        );
        let below = Place { style: LinkStyle::Served { root: "/waka/" }, base: None, ..place };
        assert_eq!(below.links(POEM).to(Address::Feed).as_str(), "/waka/feed.xml");
        assert!(below.absolute(POEM).is_none());
    }

    #[test]
    fn files_name_each_other_from_where_they_lie() {
        let base = Some("https://example.org/waka/");
        let place = Place { style: LinkStyle::Folder, base, can_search: true, preview: None };
        assert_eq!(place.links(POEM).to(Address::Collection { page: 1 }).as_str(), "../../../index.html");
        assert_eq!(
            place.links(Address::Search).to(POEM).as_str(),
            "../rounds/%E7%AC%AC1%E5%9B%9E/3/index.html"
        );
        assert_eq!(
            place.links(Address::Collection { page: 1 }).to(Address::Asset("style.css")).as_str(),
            "assets/style.css"
        );
        assert_eq!(place.links(Address::Collection { page: 2 }).to(Address::Feed).as_str(), "../feed.xml");
        assert_eq!(
            place.absolute(POEM).unwrap().as_str(),
            "https://example.org/waka/rounds/%E7%AC%AC1%E5%9B%9E/3/"
        );
        assert_eq!(place.absolute(Address::Feed).unwrap().as_str(), "https://example.org/waka/feed.xml");
    }

    #[test]
    fn the_page_for_unknown_addresses_does_not_depend_on_its_depth() {
        for (base, feed) in [
            (Some("https://example.org/waka/"), "/waka/feed.xml"),
            (Some("https://example.org/"), "/feed.xml"),
            (None, "/feed.xml"),
        ] {
            let place = Place { style: LinkStyle::Folder, base, can_search: true, preview: None };
            assert_eq!(place.links(Address::NotFound).to(Address::Feed).as_str(), feed);
        }
    }
}
