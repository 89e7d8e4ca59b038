//! The pages of a site, in the order they are written in: what others lead to comes first, the front page last.

use wakashu_archive::{ArchivedChunk, PageView};
use wakashu_pages::{Address, Notice, chunks_of_page, pages_of_round};

use super::Site;
use super::error::SiteError;

/// Keeps GitHub Pages from leaving out what it takes for parts of a generator.
const NO_JEKYLL: &str = ".nojekyll";

/// A page that is to be written.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) path: String,
    what: What,
}

/// Rounds and chunks are named by their places.
#[derive(Debug, Clone, Copy)]
enum What {
    Search,
    Poem { round: usize, chunk: usize, rank: u32 },
    Round { round: usize, page: u32 },
    Feed,
    NotFound,
    Robots,
    NoJekyll,
    Collection { page: u32 },
}

/// Returns all pages.
pub(super) fn of(site: &Site<'_>) -> Result<Vec<Page>, SiteError> {
    let mut pages = vec![Page { path: Address::Search.file(), what: What::Search }];
    let rounds = &site.source.archive.root().rounds;
    for (at, round) in rounds.iter().enumerate() {
        for (chunk, reference) in round.chunks.iter().enumerate() {
            for entry in site.source.page(reference)?.entries.iter() {
                let rank = entry.rank.to_native();
                let path = Address::Poem { round: &round.title, rank }.file();
                pages.push(Page { path, what: What::Poem { round: at, chunk, rank } });
            }
        }
    }
    for (at, round) in rounds.iter().enumerate() {
        for page in 1..=pages_of_round(round) {
            let path = Address::Round { round: &round.title, page }.file();
            pages.push(Page { path, what: What::Round { round: at, page } });
        }
    }
    let others = [
        (Address::Feed.file(), What::Feed),
        (Address::NotFound.file(), What::NotFound),
        (Address::Robots.file(), What::Robots),
        (NO_JEKYLL.to_owned(), What::NoJekyll),
    ];
    pages.extend(others.map(|(path, what)| Page { path, what }));
    for page in (1..=site.collection.pages()).rev() {
        pages.push(Page { path: Address::Collection { page }.file(), what: What::Collection { page } });
    }
    Ok(pages)
}

impl Page {
    pub(super) fn render(&self, views: &mut Views<'_>) -> Result<String, SiteError> {
        let site = views.site;
        let (renderer, collection) = (site.renderer(), &site.collection);
        let rounds = &site.source.archive.root().rounds;
        let document = match self.what {
            What::Search => renderer.lookup(&site.lookup),
            What::Poem { round, chunk, rank } => {
                let found = rounds.get(round).and_then(|round| Some((round, round.chunks.get(chunk)?)));
                let Some((round, chunk)) = found else { return Ok(String::new()) };
                let page = renderer.poem(round, rank, &views.of(chunk)?);
                return Ok(page.map(|page| page.body).unwrap_or_default());
            }
            What::Round { round, page } => {
                let Some(round) = rounds.get(round) else { return Ok(String::new()) };
                let read = chunks_of_page(round, page).iter().map(|chunk| views.of(chunk).map(Some));
                renderer.round(round, page, &read.collect::<Result<Vec<_>, _>>()?)
            }
            What::Feed => renderer.feed(&site.published_at.to_string()),
            What::NotFound => Notice::NotFound.page(site.place, Some(collection)),
            What::Robots => renderer.place.robots(),
            What::NoJekyll => return Ok(String::new()),
            What::Collection { page } => {
                let shown = collection.rounds_on(page);
                let firsts =
                    shown.iter().map(|round| round.chunks.first().map(|chunk| views.of(chunk)).transpose());
                renderer.collection(page, &firsts.collect::<Result<Vec<_>, _>>()?)
            }
        };
        Ok(document.body)
    }
}

/// Pages of chunks, of which the last is read once for all its poems.
#[derive(Debug)]
pub(super) struct Views<'a> {
    site: &'a Site<'a>,
    last: Option<(u64, PageView)>,
}

impl<'a> Views<'a> {
    pub(super) fn new(site: &'a Site<'a>) -> Self {
        Self { site, last: None }
    }

    fn of(&mut self, chunk: &ArchivedChunk) -> Result<PageView, SiteError> {
        let place = chunk.page.span().offset;
        match &self.last {
            Some((last, view)) if *last == place => Ok(view.clone()),
            _ => {
                let view = self.site.source.page(chunk)?;
                self.last = Some((place, view.clone()));
                Ok(view)
            }
        }
    }
}
