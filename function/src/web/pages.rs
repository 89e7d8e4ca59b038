//! What people look at: the pages of the collection, its feed, its style sheet and script.
//!
//! `wakashu-pages` makes the documents. Here is what they are made of, and what a browser is told about them.

mod search;

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue};
use wakashu_archive::{ArchivedChunk, ArchivedRound, ColumnName, ContentHash, PageView, Rank};
use wakashu_pages::{
    ASSETS, Address, Asset, Connect, Document, HTML, LinkStyle, Notice, Place, Preview, Renderer,
    TEMPLATE_VERSION, chunks_of_page, pages_of_round,
};

use crate::desk::Wants;
use crate::exchange::{Exchange, Owed};
use crate::fault::ToolError;
use crate::observe::detail::Detail;
use crate::served::reading::Reading;
use crate::served::uri;
use crate::web::App;
use crate::web::conditional;
use crate::web::query::parameter;
use crate::web::refusal::Refusal;
use crate::web::reply::{Media, Payload, Reply};
use crate::web::routes::{Form, Page, Route};

/// Pages change when an archive is published: browsers keep them, but ask each time whether they still hold.
const ASK_AGAIN: HeaderValue = HeaderValue::from_static("public, no-cache");
/// What only holds just now: an archive that is missing, a chunk that could not be read.
const KEEP_NOTHING: HeaderValue = HeaderValue::from_static("no-store");
/// The name of such a file tells what is in it.
const FOREVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
const A_DAY: HeaderValue = HeaderValue::from_static("public, max-age=86400");

/// Answers with a page, or with one that says why there is none.
pub(super) async fn answer(
    app: &App,
    x: &mut Exchange<'_>,
    page: Page,
    route: &Route,
    parts: &Parts,
) -> Reply {
    let reply = if x.core.is_guarded {
        notice(x, Notice::Closed, 403)
    } else {
        let asked = Asked { page, bundle: app.bundle.as_deref(), route, parts };
        match x.work(Wants::PLACE, &asked).await {
            Ok(reply) => reply,
            Err(fault) => {
                fault.report(None, &x.id);
                Refusal::Fault(fault).in_form(x, Form::Page)
            }
        }
    };
    if page == Page::Collection { reply.with(VARY, HeaderValue::from_static("Accept")) } else { reply }
}

/// Answers with a file that pages refer to.
pub(super) fn asset(x: &Exchange<'_>, name: Option<&str>, parts: &Parts) -> Reply {
    let of_preview = |name| x.core.preview.as_ref().and_then(|_| wakashu_pages::preview_asset(name));
    match name.and_then(|name| wakashu_pages::asset(name).or_else(|| of_preview(name))) {
        Some(asset) => file(asset, FOREVER, parts),
        None => Reply::plain(404, "no such file"),
    }
}

/// Answers with the icon, for those who look for it without having seen a page.
pub(super) fn icon(parts: &Parts) -> Reply {
    let [.., icon] = &*ASSETS;
    file(icon, A_DAY, parts)
}

fn file(asset: &'static Asset, lasting: HeaderValue, parts: &Parts) -> Reply {
    let etag = format!("\"{}\"", asset.name);
    let named = |reply: Reply| conditional::tagged(reply.with(CACHE_CONTROL, lasting), &etag);
    if conditional::is_known(&parts.headers, &etag) {
        return named(Reply::empty(304));
    }
    let body = Payload::Bytes(Bytes::from_static(asset.body.as_bytes()));
    let reply = Reply { media: Media::Document(asset.media_type), body, ..Reply::empty(200) };
    named(reply).with(X_CONTENT_TYPE_OPTIONS, NOSNIFF)
}

const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");

/// Returns a page that says why there is nothing else to show.
pub(super) fn notice(x: &Exchange<'_>, notice: Notice, status: u16) -> Reply {
    let collection = x.index().map(|index| index.collection()).filter(|_| notice != Notice::Closed);
    let (root, preview) = (root_of(x.base()), previewed(x));
    let place = Place { base: None, ..place(x, &root, preview.as_deref()) };
    shown(x, status, notice.page(place, collection))
}

/// Returns what a preview shows besides the collection, if this is one.
fn previewed(x: &Exchange<'_>) -> Option<Arc<Preview>> {
    x.core.preview.as_ref().map(|preview| Arc::clone(&preview.borrow()))
}

/// Returns where the site stands, `root` being the path of its address.
fn place<'a>(x: &'a Exchange<'_>, root: &'a str, preview: Option<&'a Preview>) -> Place<'a> {
    let can_search = x.index().is_some_and(|index| index.archive().column(ColumnName::Text).is_some());
    Place { style: LinkStyle::Served { root }, base: x.base(), can_search, preview }
}

/// Returns the path of an address, with a slash at its end.
fn root_of(base: Option<&str>) -> Cow<'static, str> {
    let after_scheme = base.and_then(|base| base.split_once("://")).map_or("", |(_, rest)| rest);
    match after_scheme.split_once('/') {
        Some((_, path)) if !path.is_empty() => format!("/{}/", path.trim_end_matches('/')).into(),
        _ => "/".into(),
    }
}

/// Returns a document that only holds just now.
fn shown(x: &Exchange<'_>, status: u16, document: Document) -> Reply {
    sent(x, status, document.media_type, Bytes::from(document.body)).with(CACHE_CONTROL, KEEP_NOTHING)
}

/// Returns a document as it is sent.
fn sent(x: &Exchange<'_>, status: u16, media_type: &'static str, body: Bytes) -> Reply {
    let policy = match x.core.preview {
        Some(_) => wakashu_pages::CONTENT_SECURITY_POLICY_OF_PREVIEW,
        None => wakashu_pages::CONTENT_SECURITY_POLICY,
    };
    let mut headers = Box::new(HeaderMap::with_capacity(8));
    let told: [(HeaderName, &'static str); 3] = [
        (CONTENT_SECURITY_POLICY, policy),
        (REFERRER_POLICY, wakashu_pages::REFERRER_POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    for (name, value) in told {
        headers.insert(name, HeaderValue::from_static(value));
    }
    Reply { status, media: Media::Document(media_type), more: Some(headers), body: Payload::Bytes(body) }
}

/// A page that is asked for.
struct Asked<'a> {
    page: Page,
    bundle: Option<&'a str>,
    route: &'a Route,
    parts: &'a Parts,
}

/// What a page came to.
enum Made {
    Whole(Document),
    /// Some of it could not be read.
    Partly(Document),
    /// The reader has it already.
    Known,
    /// There is no such page.
    Missing,
    /// What was asked for is not understood; the page says why.
    Refused(Document),
}

impl Owed for Asked<'_> {
    type Done = Reply;
    type Refused = ToolError;

    async fn work(&self, x: &mut Exchange<'_>) -> Result<Reply, ToolError> {
        let Some(index) = x.index() else {
            return Err(ToolError::IndexUnavailable { configured: x.served.is_configured() });
        };
        let preview = previewed(x);
        let name = self.name(x, preview.as_deref());
        let etag = format!("\"{}\"", name.to_short_hex().as_str());
        let is_known = || conditional::is_known(&self.parts.headers, &etag);
        let named = |reply: Reply| conditional::tagged(reply.with(CACHE_CONTROL, ASK_AGAIN), &etag);
        if let Some(document) = index.document(&name) {
            return Ok(named(if is_known() { Reply::empty(304) } else { sent(x, 200, HTML, document) }));
        }
        let root = root_of(x.base());
        let mcp = x.base().map(|base| format!("{base}/mcp"));
        let site = Renderer {
            collection: index.collection(),
            place: place(x, &root, preview.as_deref()),
            connect: Connect { mcp: mcp.as_deref(), store: None, bundle: self.bundle },
        };
        let made = match self.page {
            Page::Collection => self.collection(index, &site, is_known).await?,
            Page::Round => self.round(index, &site, is_known).await?,
            Page::Poem => self.poem(index, &site, is_known).await?,
            Page::Search | Page::Feed | Page::Robots if is_known() => Made::Known,
            Page::Search => search::answer(index, &site, &self.parts.uri).await?,
            Page::Feed => Made::Whole(site.feed(&published_at(x))),
            Page::Robots => Made::Whole(site.place.robots()),
        };
        Ok(match made {
            Made::Whole(document) => {
                let body = Bytes::from(document.body);
                if self.is_kept(&site) {
                    index.keep_document(name, body.clone());
                }
                named(sent(x, 200, document.media_type, body))
            }
            Made::Known => named(Reply::empty(304)),
            Made::Partly(document) => shown(x, 200, document),
            Made::Refused(document) => shown(x, 400, document),
            Made::Missing => notice(x, Notice::NotFound, 404),
        })
    }
}

impl Asked<'_> {
    /// Names all that the page is made of: the archive, the templates, its address, and what it says of where it stands.
    fn name(&self, x: &Exchange<'_>, preview: Option<&Preview>) -> ContentHash {
        // Enough of it to tell versions of one collection apart, and less to go through.
        let digest = x.served.loaded().and_then(|loaded| loaded.digest.get(..16)).unwrap_or_default();
        let bundle = self.bundle.unwrap_or_default();
        let told =
            [digest, TEMPLATE_VERSION, env!("CARGO_PKG_VERSION"), x.base().unwrap_or_default(), bundle];
        let mark = preview.map_or("", |preview| &preview.mark);
        ContentHash::of([&told.join("\n"), "\n", self.address(), mark].concat().as_bytes())
    }

    /// Tells whether the page is worth keeping: many may ask for it, and this is its one address, which links have.
    fn is_kept(&self, site: &Renderer<'_>) -> bool {
        let round = || self.find_round(site);
        let address = match self.page {
            Page::Collection => self.number(site.collection.pages()).map(|page| Address::Collection { page }),
            Page::Round => round().and_then(|round| {
                let page = self.number(pages_of_round(round))?;
                Some(Address::Round { round: &round.title, page })
            }),
            Page::Poem => {
                round().zip(self.rank()).map(|(round, rank)| Address::Poem { round: &round.title, rank })
            }
            Page::Search | Page::Feed | Page::Robots => None,
        };
        address.is_some_and(|address| self.address().strip_prefix('/') == Some(&address.path()))
    }

    /// Returns the path and the query, as they were sent.
    fn address(&self) -> &str {
        self.parts.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str)
    }

    async fn collection(
        &self,
        index: &Reading,
        site: &Renderer<'_>,
        is_known: impl Fn() -> bool,
    ) -> Result<Made, ToolError> {
        let Some(page) = self.number(site.collection.pages()) else { return Ok(Made::Missing) };
        if is_known() {
            return Ok(Made::Known);
        }
        let rounds = site.collection.rounds_on(page);
        let firsts = rounds.iter().filter_map(|round| round.chunks.first());
        let (views, is_whole) = read(index, firsts).await?;
        let mut views = views.into_iter();
        // A round without entries has no chunk.
        let views: Vec<_> =
            rounds.iter().map(|round| round.chunks.first().and_then(|_| views.next()?)).collect();
        let document = site.collection(page, &views);
        Ok(if is_whole { Made::Whole(document) } else { Made::Partly(document) })
    }

    async fn round(
        &self,
        index: &Reading,
        site: &Renderer<'_>,
        is_known: impl Fn() -> bool,
    ) -> Result<Made, ToolError> {
        let Some(round) = self.find_round(site) else { return Ok(Made::Missing) };
        let Some(page) = self.number(pages_of_round(round)) else { return Ok(Made::Missing) };
        if is_known() {
            return Ok(Made::Known);
        }
        let (views, is_whole) = read(index, chunks_of_page(round, page)).await?;
        let document = site.round(round, page, &views);
        Ok(if is_whole { Made::Whole(document) } else { Made::Partly(document) })
    }

    async fn poem(
        &self,
        index: &Reading,
        site: &Renderer<'_>,
        is_known: impl Fn() -> bool,
    ) -> Result<Made, ToolError> {
        let (Some(round), Some(rank)) = (self.find_round(site), self.rank()) else {
            return Ok(Made::Missing);
        };
        let Some(chunk) = round.chunks_with(rank, rank).first() else { return Ok(Made::Missing) };
        let view = index.page(chunk).await?;
        if is_known() && view.entries.binary_search_by_key(&rank, |entry| entry.rank.to_native()).is_ok() {
            return Ok(Made::Known);
        }
        Ok(site.poem(round, rank, &view).map_or(Made::Missing, Made::Whole))
    }

    /// Finds the round that the path names.
    fn find_round<'a>(&self, site: &Renderer<'a>) -> Option<&'a ArchivedRound> {
        site.collection.archive().find_round(&self.segment(0)?)
    }

    /// Returns the rank that the path names.
    fn rank(&self) -> Option<u32> {
        self.segment(1)?.parse().ok().map(Rank::get)
    }

    /// Returns a segment of the path.
    fn segment(&self, at: usize) -> Option<Cow<'_, str>> {
        self.route.path.segments(self.parts.uri.path()).nth(at).and_then(uri::decode)
    }

    /// Returns which page is asked for, of so many.
    fn number(&self, count: u32) -> Option<u32> {
        let number = parameter(&self.parts.uri, "page").map_or(Some(1), |page| page.parse().ok());
        number.filter(|number| (1..=count).contains(number))
    }
}

/// Reads the pages of chunks, in order, and tells whether all could be read; fails if none could.
async fn read<'a>(
    index: &Reading,
    chunks: impl IntoIterator<Item = &'a ArchivedChunk>,
) -> Result<(Vec<Option<PageView>>, bool), ToolError> {
    let mut views = Vec::new();
    let mut failed = None;
    for view in join_all(chunks.into_iter().map(|chunk| index.page(chunk))).await {
        views.push(match view {
            Ok(view) => Some(view),
            Err(error) => {
                tracing::warn!(detail = Detail::of(&error).for_log(), "a part of a page could not be read");
                failed = Some(error);
                None
            }
        });
    }
    match failed {
        Some(error) if views.iter().all(Option::is_none) => Err(error.into()),
        failed => Ok((views, failed.is_none())),
    }
}

/// Returns when the archive was published, or opened where nobody knows.
fn published_at(x: &Exchange<'_>) -> String {
    let loaded = x.served.loaded();
    let time = loaded.map(|loaded| loaded.published_at.unwrap_or(loaded.loaded_at));
    time.map(|time| time.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_begin_with_the_path_of_the_public_address() {
        for (base, expected) in [
            (None, "/"),
            (Some("http://127.0.0.1:3000"), "/"),
            (Some("https://poems.example.org/"), "/"),
            (Some("https://poems.example.org/waka"), "/waka/"),
            (Some("https://poems.example.org/a/waka/"), "/a/waka/"),
        ] {
            assert_eq!(root_of(base), expected, "{base:?}");
        }
    }
}
