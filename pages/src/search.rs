//! Looking for poems: the field, what can be written into it, and what was found.

use std::ops::Range;

use maud::{Markup, Render, html};
use wakashu_archive::{ArchivedEntry, ArchivedRound, Size, unescape};

use crate::address::{Address, Links};
use crate::collection::Renderer;
use crate::dates;
use crate::frame::{Document, Page, paging, search_field};
use crate::picture::{Showing, picture};
use crate::text::{Marked, Text};

/// Most hits on one page.
pub const HITS_ON_A_PAGE: usize = 20;
/// Most characters of a poem in a hit.
const POEM_CHARACTERS: usize = 120;
/// Most characters of an account in a hit.
const ACCOUNT_CHARACTERS: usize = 60;

/// What a search came to.
pub enum Outcome<'a> {
    /// Nothing was asked yet.
    NotAsked,
    /// It could not be searched for; a sentence for the reader says why.
    Refused(&'a str),
    /// What was found.
    Found {
        /// The hits of this page, best first.
        hits: &'a [Hit<'a>],
        /// How many there are on all pages.
        total: Total,
        /// Which page, counted from 1.
        page: u32,
        /// Whether there is another.
        more: bool,
    },
}

/// How many entries match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Total {
    /// So many.
    Exactly(u32),
    /// So many, and perhaps more.
    AtLeast(u32),
}

/// An entry that matches. The ranges are of bytes of the unescaped texts; at most one of them is set.
#[derive(Clone)]
pub struct Hit<'a> {
    /// Its round.
    pub round: &'a ArchivedRound,
    /// The entry.
    pub entry: &'a ArchivedEntry,
    /// What matches in the poem.
    pub in_poem: Option<Range<usize>>,
    /// What matches in the reading.
    pub in_yomi: Option<Range<usize>>,
    /// What matches in the account.
    pub in_account: Option<Range<usize>>,
    /// Whether it matches only when spelling is taken loosely.
    pub is_loose: bool,
}

impl Renderer<'_> {
    /// Renders the search page for a query and what it came to.
    #[must_use]
    pub fn search(&self, query: &str, outcome: &Outcome<'_>) -> Document {
        let links = self.place.links(Address::Search);
        let main = html! {
            (opening(&links, query))
            @match outcome {
                Outcome::NotAsked => {}
                Outcome::Refused(sentence) => { p.alert role="status" { (Text(sentence)) } }
                Outcome::Found { hits, total, page, more } => { (found(&links, query, hits, *total, *page, *more)) }
            }
            (syntax())
        };
        let title = if query.is_empty() {
            html! { "歌を探す" }
        } else {
            html! { (Text(query)) " の検索" }
        };
        let mut page = Page::new(Address::Search, "search", title);
        page.is_kept = false;
        page.document(self.place, Some(self.collection.title()), &main)
    }
}

/// The top of the page.
pub(crate) fn opening(links: &Links<'_>, query: &str) -> Markup {
    html! { div.opening { h1 { "歌を探す" } (search_field(links, query)) } }
}

fn found(links: &Links<'_>, query: &str, hits: &[Hit<'_>], total: Total, page: u32, more: bool) -> Markup {
    let (count, or_more) = match total {
        Total::Exactly(count) => (count, ""),
        Total::AtLeast(count) => (count, "以上"),
    };
    html! {
        p.tally role="status" {
            @if hits.is_empty() && page <= 1 { "見つかりませんでした。言葉を短くするか、かなで試してください。" }
            @else if hits.is_empty() { "続きはありません。" }
            @else { (dates::count(count)) "首" (or_more) "見つかりました。" }
        }
        ol.hits { @for hit in hits { li { (one(links, hit)) } } }
        @let before = (page > 1).then(|| links.to_search(query, page - 1));
        @let after = more.then(|| links.to_search(query, page + 1));
        (paging(page, None, before.as_ref(), after.as_ref()))
    }
}

fn one(links: &Links<'_>, hit: &Hit<'_>) -> Markup {
    let (round, entry) = (hit.round.title.as_str(), hit.entry);
    let rank = entry.rank.to_native();
    let poem = unescape(entry.poem_escaped());
    let account = unescape(entry.account_escaped());
    let yomi = entry.yomi.as_ref().map(|yomi| unescape(yomi)).filter(|_| hit.in_yomi.is_some());
    let account = Marked { text: &account, mark: hit.in_account.clone(), most: ACCOUNT_CHARACTERS };
    let showing = Showing { sizes: "6rem", up_to: Size::Small, is_first: false, is_ornament: true };
    html! {
        article.hit {
            @if entry.picture.is_some() { div.picture { (picture(links, round, entry, showing)) } }
            div {
                p.line { a href=(links.to(Address::Poem { round, rank })) { (line(&poem, hit.in_poem.as_ref())) } }
                @if let Some(yomi) = yomi { p.quiet { "よみ " (line(&yomi, hit.in_yomi.as_ref())) } }
                p.quiet {
                    bdi { (Text(round)) } " " (rank) "位 " bdi { (account) }
                    @if hit.is_loose { span.note { "表記ゆれを含む一致" } }
                }
            }
        }
    }
}

fn line<'a>(text: &'a str, mark: Option<&Range<usize>>) -> Marked<'a> {
    Marked { text, mark: mark.cloned(), most: POEM_CHARACTERS }
}

/// What can be written into the field.
pub(crate) fn syntax() -> Markup {
    let rows: [(&str, &dyn Render); 6] = [
        ("花", &"歌・よみ・投稿者のどこかに「花」を含む歌"),
        ("雲 月", &"空白で区切ると、すべてを含む歌"),
        ("account:@Laptop", &"投稿者で絞る"),
        ("round:第1回 花", &"その回の中から"),
        ("prompt:moon", &"絵のプロンプトから"),
        ("honka:wikipedia", &"本歌の URL から"),
    ];
    html! {
        section.syntax aria-labelledby="syntax" {
            h2.mark #syntax { "探し方" }
            dl { @for (written, means) in rows { dt { code { (written) } } dd { (means) } } }
            p.quiet { "かなの種類、新旧の字体、濁点、歴史的仮名遣いの違いは気にせずに探せます。" }
        }
    }
}
