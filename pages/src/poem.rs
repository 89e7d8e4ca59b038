//! A poem: written vertically, its picture beside it, everything about it below.

use maud::{Markup, html};
use wakashu_archive::{ArchivedEntry, ArchivedRound, PageView, Size, unescape};

use crate::address::Address;
use crate::collection::{DESCRIPTION_CHARACTERS, Renderer};
use crate::frame::{Document, Page, arrow, step};
use crate::outward::Outward;
use crate::picture::{Showing, picture};
use crate::text::{Beginning, Lines, Text, Vertical};

/// Above so many characters a poem is set smaller.
const SHORT_POEM_CHARACTERS: usize = 64;
const AT_LARGE: Showing = Showing {
    sizes: "(max-width: 56rem) 92vw, 34rem",
    up_to: Size::Large,
    is_first: true,
    is_ornament: false,
};

impl Renderer<'_> {
    /// Renders the page of a poem. `view` is the page of the chunk that holds its rank; `None` if there is no such entry.
    #[must_use]
    pub fn poem(&self, round: &ArchivedRound, rank: u32, view: &PageView) -> Option<Document> {
        let at = view.entries.binary_search_by_key(&rank, |entry| entry.rank.to_native()).ok()?;
        let entry = view.entries.get(at)?;
        let title = round.title.as_str();
        let address = Address::Poem { round: title, rank };
        let links = self.place.links(address);
        let account = unescape(entry.account_escaped());
        let poem = unescape(entry.poem_escaped());
        let (previous, next) = neighbours(round, view, at);
        let to = |rank: u32| Address::Poem { round: title, rank };
        let to_link = |rank: Option<u32>| rank.map(|rank| links.to(to(rank)));
        let main = html! {
            article.entry .bare[entry.picture.is_none()] {
                h1.by { span.rank { (rank) "位" } " " bdi { (Text(&account)) } }
                div.scroll tabindex="0" role="group" aria-label="歌" {
                    p.waka .long[is_long(&poem)] { (Vertical(&poem)) }
                }
                @if let Some(full) = entry.picture.as_ref() {
                    figure.picture {
                        a href=(links.to_picture(title, rank, Size::Large, &full.large)) {
                            (picture(&links, title, entry, AT_LARGE))
                        }
                    }
                }
                (about(entry))
            }
            nav.neighbours aria-label="前後の歌" {
                @let label = |rank: Option<u32>| html! { @if let Some(rank) = rank { (rank) "位" } };
                (step("prev", to_link(previous).as_ref(), &html! { (arrow("←")) " " (label(previous)) }))
                a href=(links.to(Address::Round { round: title, page: 1 })) { bdi { (Text(title)) } "の一覧" }
                (step("next", to_link(next).as_ref(), &html! { (label(next)) " " (arrow("→")) }))
            }
        };
        let mut page = Page::new(address, "poem", html! { (Text(title)) " " (rank) "位 " (Text(&account)) });
        page.description = Some(html! { (Beginning(&poem, DESCRIPTION_CHARACTERS)) });
        page.picture = entry.picture.as_ref().map(|picture| (title, rank, picture));
        page.within = Some(title);
        page.previous = previous.map(to);
        page.next = next.map(to);
        Some(page.document(self.place, Some(self.collection.title()), &main))
    }
}

/// Tells whether a poem is set smaller.
pub(crate) fn is_long(poem: &str) -> bool {
    poem.chars().nth(SHORT_POEM_CHARACTERS).is_some()
}

/// Returns the ranks before and after an entry. Those of other chunks are known without reading them.
fn neighbours(round: &ArchivedRound, view: &PageView, at: usize) -> (Option<u32>, Option<u32>) {
    let here = |at: Option<usize>| at.and_then(|at| view.entries.get(at)).map(|entry| entry.rank.to_native());
    let first = view.entries.first().map(|entry| entry.rank.to_native());
    let chunk = round.chunks.iter().position(|chunk| Some(chunk.first_rank.to_native()) == first);
    let chunk_at = |chunk: Option<usize>| chunk.and_then(|chunk| round.chunks.get(chunk));
    let before =
        || chunk_at(chunk.and_then(|chunk| chunk.checked_sub(1))).map(|chunk| chunk.last_rank.to_native());
    let after = || chunk_at(chunk.map(|chunk| chunk + 1)).map(|chunk| chunk.first_rank.to_native());
    (here(at.checked_sub(1)).or_else(before), here(Some(at + 1)).or_else(after))
}

/// The reading, the works answered, and what is folded away: prompt and extras.
fn about(entry: &ArchivedEntry) -> Markup {
    let prompt = unescape(entry.prompt_escaped());
    let yomi = entry.yomi.as_ref().map(|yomi| unescape(yomi));
    html! {
        div.about {
            @if let Some(yomi) = yomi.filter(|yomi| !yomi.trim().is_empty()) {
                section { h2 { "よみ" } p { (Lines(&yomi)) } }
            }
            @if !entry.honka.is_empty() {
                section {
                    h2 { "本歌" }
                    ul.honka { @for honka in entry.honka_escaped() { li { (honka_link(&unescape(honka))) } } }
                }
            }
            @if !prompt.trim().is_empty() {
                details { summary { "絵のプロンプト" } p { (Lines(&prompt)) } }
            }
            @for (key, value) in entry.extras_escaped() {
                details { summary { bdi { (Text(&unescape(key))) } } p { (Lines(&unescape(value))) } }
            }
            p.share { button.copy type="button" hidden data-done="コピーしました" { "リンクをコピー" } }
        }
    }
}

/// A work that the poem answers: a link that shows its host, or the text that it is.
pub(crate) fn honka_link(text: &str) -> Markup {
    html! {
        @if let Some(Outward { href, host, rest }) = Outward::parse(text) {
            a href=(Text(&href)) rel="noopener noreferrer nofollow" { bdi { (Text(host)) } }
            @if !rest.is_empty() { " " bdi.rest { (Beginning(&rest, 80)) } }
        } @else {
            bdi { (Lines(text)) }
        }
    }
}
