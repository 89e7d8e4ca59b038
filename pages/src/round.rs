//! A round: picture, rank, account and poem of its entries, so many to a page.

use maud::{Markup, html};
use wakashu_archive::{ArchivedChunk, ArchivedEntry, ArchivedRound, CHUNK_ENTRIES, PageView, Size, unescape};

use crate::address::{Address, Links};
use crate::collection::{DESCRIPTION_CHARACTERS, Renderer};
use crate::dates;
use crate::frame::{Document, Page, arrow, paging};
use crate::picture::{Showing, picture};
use crate::text::{Beginning, Room, Text, Vertical, beginning};

/// Most entries on one page of a round.
pub const ENTRIES_ON_A_PAGE: usize = 60;
/// Most characters of what is said about a round, all together.
const EXTRAS_CHARACTERS: usize = 20_000;
/// Most characters of an account in the list.
const ACCOUNT_CHARACTERS: usize = 200;
/// Most characters of a poem in the list; the whole of a longer one stands on its own page.
const POEM_CHARACTERS: usize = 240;

/// Returns how many pages a round has; at least one.
#[must_use]
pub fn pages_of_round(round: &ArchivedRound) -> u32 {
    u32::try_from((round.entries.to_native() as usize).div_ceil(ENTRIES_ON_A_PAGE)).unwrap_or(u32::MAX).max(1)
}

/// Returns the chunks that hold the entries of a page, counted from 1; none if there is no such page.
#[must_use]
pub fn chunks_of_page(round: &ArchivedRound, page: u32) -> &[ArchivedChunk] {
    let entries = entries_of_page(page);
    let end = entries.end.min(round.entries.to_native() as usize);
    if entries.start >= end {
        return &[];
    }
    // Every chunk but the last is full.
    round.chunks.get(entries.start / CHUNK_ENTRIES..end.div_ceil(CHUNK_ENTRIES)).unwrap_or_default()
}

fn entries_of_page(page: u32) -> std::ops::Range<usize> {
    let first = (page.max(1) as usize - 1).saturating_mul(ENTRIES_ON_A_PAGE);
    first..first.saturating_add(ENTRIES_ON_A_PAGE)
}

impl Renderer<'_> {
    /// Renders a page of a round, counted from 1. `views` are the pages of its [chunks](chunks_of_page), in order; entries of a
    /// chunk that could not be read are left out, and the page says so.
    #[must_use]
    pub fn round(&self, round: &ArchivedRound, number: u32, views: &[Option<PageView>]) -> Document {
        let title = round.title.as_str();
        let address = Address::Round { round: title, page: number };
        let links = self.place.links(address);
        let wanted = entries_of_page(number);
        let before = wanted.start % CHUNK_ENTRIES;
        let count = pages_of_round(round);
        let is_whole = views.iter().all(Option::is_some);
        let entries: Vec<&ArchivedEntry> = if is_whole {
            views
                .iter()
                .flatten()
                .flat_map(|view| view.entries.iter())
                .skip(before)
                .take(ENTRIES_ON_A_PAGE)
                .collect()
        } else {
            readable(views, before)
        };
        let neighbour =
            |page: u32| (1..=count).contains(&page).then_some(Address::Round { round: title, page });
        let (previous, next) = (number.checked_sub(1).and_then(neighbour), neighbour(number + 1));
        let (back, forth) = self.collection.neighbours(round);
        let main = html! {
            div.opening {
                h1 { bdi { (Text(title)) } }
                p.quiet {
                    @if let Some(period) = round.period.as_ref() {
                        (dates::period(period.into())) span.dot aria-hidden="true" { "・" }
                    }
                    (dates::count(round.entries.to_native())) "首"
                }
                @if !round.extras.is_empty() && number <= 1 {
                    dl.extras {
                        @let mut room = Room(EXTRAS_CHARACTERS);
                        @for extra in round.extras.iter() {
                            @if room.is_left() {
                                dt { (room.part(&extra.title)) }
                                dd { (room.part(&extra.text)) }
                            }
                        }
                    }
                }
            }
            @if !is_whole {
                p.alert role="status" { "いま読み出せない歌があります。しばらくしてからもう一度お試しください。" }
            }
            @if entries.is_empty() && is_whole { p.quiet { "まだ歌がありません。" } }
            ol.entries {
                @for (at, entry) in entries.iter().enumerate() {
                    li value=(entry.rank.to_native()) { (card(&links, title, entry, at < 2)) }
                }
            }
            @let (before, after) = (previous.map(|page| links.to(page)), next.map(|page| links.to(page)));
            (paging(number, Some(count), before.as_ref(), after.as_ref()))
            @if back.is_some() || forth.is_some() {
                @let to = |round: &ArchivedRound| links.to(Address::Round { round: &round.title, page: 1 });
                @let name = |round: &ArchivedRound| html! { bdi { (Text(&round.title)) } };
                nav.neighbours aria-label="ほかの回" {
                    @if let Some(back) = back { a href=(to(back)) { (arrow("←")) " " (name(back)) } } @else { span {} }
                    @if let Some(forth) = forth { a href=(to(forth)) { (name(forth)) " " (arrow("→")) } } @else { span {} }
                }
            }
        };
        let mut page = Page::new(
            address,
            "round",
            html! { (Text(title)) @if number > 1 { "（" (number) "ページ目）" } },
        );
        page.description = entries.first().map(|entry| {
            let poem = unescape(entry.poem_escaped());
            html! { (dates::count(round.entries.to_native())) "首。" (Beginning(&poem, DESCRIPTION_CHARACTERS)) }
        });
        page.picture =
            entries.iter().find_map(|entry| Some((title, entry.rank.to_native(), entry.picture.as_ref()?)));
        page.previous = previous;
        page.next = next;
        page.document(self.place, Some(self.collection.title()), &main)
    }
}

/// Returns the entries of a page whose chunks are not all there, counted by the place of their chunk.
fn readable(views: &[Option<PageView>], before: usize) -> Vec<&ArchivedEntry> {
    let mut entries = Vec::new();
    for (chunk, view) in views.iter().enumerate() {
        let Some(view) = view else { continue };
        for (at, entry) in view.entries.iter().enumerate() {
            if (before..before + ENTRIES_ON_A_PAGE).contains(&(chunk * CHUNK_ENTRIES + at)) {
                entries.push(entry);
            }
        }
    }
    entries
}

/// An entry in the list. The poem is the link, and the whole card is its target.
fn card(links: &Links<'_>, round: &str, entry: &ArchivedEntry, is_first: bool) -> Markup {
    let rank = entry.rank.to_native();
    let account = unescape(entry.account_escaped());
    let poem = unescape(entry.poem_escaped());
    let shown = beginning(&poem, POEM_CHARACTERS);
    let showing = Showing {
        sizes: "(max-width: 40rem) 92vw, (max-width: 70rem) 46vw, 26rem",
        up_to: Size::Medium,
        is_first,
        is_ornament: false,
    };
    html! {
        article.card {
            h2.by { span.rank { (rank) "位" } " " bdi { (Beginning(&account, ACCOUNT_CHARACTERS)) } }
            div.scroll {
                a.waka href=(links.to(Address::Poem { round, rank })) {
                    (Vertical(shown))
                    @if shown.len() < poem.len() { "……（続きがあります）" }
                }
            }
            @if entry.picture.is_some() { div.picture { (picture(links, round, entry, showing)) } }
        }
    }
}
