//! A poem: written vertically, its picture beside it, everything about it below.

use maud::{Markup, Render, html};
use wakashu_archive::{ArchivedEntry, ArchivedRound, PageView, Size, unescape};

use crate::address::{Address, Href, Links};
use crate::collection::{DESCRIPTION_CHARACTERS, Renderer};
use crate::frame::{Document, Page, arrow, step};
use crate::outward::Outward;
use crate::picture::{Showing, picture};
use crate::text::{Beginning, CUT_MARK, Lines, Room, Text, Vertical};

/// Most characters of an entry on its page, all texts together. Each may become seventeen bytes there.
const ENTRY_CHARACTERS: usize = 50_000;
/// Most characters of an account.
const ACCOUNT_CHARACTERS: usize = 200;
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
            (Leaf::of(&links, title, entry))
            nav.neighbours aria-label="前後の歌" {
                @let label = |rank: Option<u32>| html! { @if let Some(rank) = rank { (rank) "位" } };
                (step("prev", to_link(previous).as_ref(), &html! { (arrow("←")) " " (label(previous)) }))
                a href=(links.to(Address::Round { round: title, page: 1 })) { bdi { (Text(title)) } "の一覧" }
                (step("next", to_link(next).as_ref(), &html! { (label(next)) " " (arrow("→")) }))
            }
        };
        let mut page = Page::new(
            address,
            "poem",
            html! { (Text(title)) " " (rank) "位 " (Beginning(&account, ACCOUNT_CHARACTERS)) },
        );
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
    let chunk = round.chunks.binary_search_by_key(&first, |chunk| Some(chunk.first_rank.to_native())).ok();
    let chunk_at = |chunk: Option<usize>| chunk.and_then(|chunk| round.chunks.get(chunk));
    let before =
        || chunk_at(chunk.and_then(|chunk| chunk.checked_sub(1))).map(|chunk| chunk.last_rank.to_native());
    let after = || chunk_at(chunk.map(|chunk| chunk + 1)).map(|chunk| chunk.first_rank.to_native());
    (here(at.checked_sub(1)).or_else(before), here(Some(at + 1)).or_else(after))
}

/// A poem as it stands on its page and in the view inside a conversation: each part as it is to be in the document.
pub(crate) struct Leaf {
    pub(crate) rank: Markup,
    pub(crate) account: Markup,
    pub(crate) poem: Markup,
    pub(crate) is_long: bool,
    /// Where the picture leads, and the picture.
    pub(crate) picture: Option<(Option<Href>, Markup)>,
    pub(crate) yomi: Option<Markup>,
    pub(crate) honka: Vec<Markup>,
    pub(crate) prompt: Option<Markup>,
    pub(crate) extras: Vec<(Markup, Markup)>,
    /// What stands below all of it.
    pub(crate) foot: Markup,
}

impl Leaf {
    fn of(links: &Links<'_>, round: &str, entry: &ArchivedEntry) -> Self {
        let rank = entry.rank.to_native();
        let poem = unescape(entry.poem_escaped());
        let mut room = Room(ENTRY_CHARACTERS);
        let whole = room.part(&poem);
        let mut filled = |text: &str| (!text.trim().is_empty()).then(|| room.part(text).render());
        let yomi = entry.yomi.as_ref().and_then(|yomi| filled(&unescape(yomi)));
        let prompt = filled(&unescape(entry.prompt_escaped()));
        let picture = entry.picture.as_ref().map(|full| {
            let large = links.to_picture(round, rank, Size::Large, &full.large);
            (Some(large), picture(links, round, entry, AT_LARGE))
        });
        let mut honka = Vec::with_capacity(entry.honka.len().min(8));
        for work in entry.honka_escaped().map(unescape) {
            let part = room.part(&work);
            // Half an address would lead elsewhere.
            honka.push(if part.is_cut { CUT_MARK.render() } else { honka_link(&work) });
            if part.is_cut || !room.is_left() {
                break;
            }
        }
        let mut extras = Vec::new();
        for (key, value) in entry.extras_escaped() {
            if !room.is_left() {
                break;
            }
            let (key, value) = (unescape(key), unescape(value));
            extras.push((room.part(&key).render(), room.part(&value).render()));
        }
        Self {
            rank: rank.render(),
            account: Beginning(&unescape(entry.account_escaped()), ACCOUNT_CHARACTERS).render(),
            poem: html! { (Vertical(whole.text)) (whole.mark()) },
            is_long: is_long(&poem),
            picture,
            yomi,
            honka,
            prompt,
            extras,
            foot: html! {
                p.share { button.copy type="button" hidden data-done="コピーしました" { "リンクをコピー" } }
            },
        }
    }
}

impl Render for Leaf {
    fn render(&self) -> Markup {
        html! {
            article.entry .bare[self.picture.is_none()] {
                h1.by { span.rank { (self.rank) "位" } " " bdi { (self.account) } }
                div.scroll tabindex="0" role="group" aria-label="歌" {
                    p.waka .long[self.is_long] { (self.poem) }
                }
                @if let Some((href, picture)) = &self.picture {
                    figure.picture { a href=[href.as_ref()] { (picture) } }
                }
                div.about {
                    @if let Some(yomi) = &self.yomi { section { h2 { "よみ" } p { (yomi) } } }
                    @if !self.honka.is_empty() {
                        section {
                            h2 { "本歌" }
                            ul.honka { @for honka in &self.honka { li { (honka) } } }
                        }
                    }
                    @if let Some(prompt) = &self.prompt {
                        details { summary { "絵のプロンプト" } p { (prompt) } }
                    }
                    @for (key, value) in &self.extras {
                        details { summary { bdi { (key) } } p { (value) } }
                    }
                    (self.foot)
                }
            }
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
