//! The collection: its title, its rounds, how to read it elsewhere.

use maud::{Markup, Render, html};
use wakashu_archive::{Archive, ArchivedRound, Date, PageView, Size, escape_into};

use crate::address::{Address, Links, Place};
use crate::dates;
use crate::frame::{Document, Page, paging, search_field};
use crate::picture::{Showing, picture};
use crate::text::{Beginning, Room, Text};

/// Most rounds on one page of the collection.
pub const ROUNDS_ON_A_PAGE: usize = 30;
/// Pictures that stand for a round.
const STRIP: usize = 3;
const IN_STRIP: Showing = Showing {
    sizes: "(max-width: 40rem) 30vw, 9rem",
    up_to: Size::Small,
    is_first: false,
    is_ornament: true,
};
/// Most characters of a title that is written on a slip, vertically.
const SLIP_CHARACTERS: usize = 40;
/// Most characters of a description.
const WORDS_CHARACTERS: usize = 20_000;
/// Most characters of a description in a page's head.
pub(crate) const DESCRIPTION_CHARACTERS: usize = 160;

/// An archive with what its pages share. Made once per archive.
#[derive(Debug, Clone)]
pub struct Collection {
    archive: Archive,
    /// Positions of the rounds, newest first.
    newest: Box<[u32]>,
}

/// How a conversation reaches the collection. What is unknown is not offered.
#[derive(Debug, Clone, Copy, Default)]
pub struct Connect<'a> {
    /// The address that speaks MCP.
    pub mcp: Option<&'a str>,
    /// The address of a folder that is site and store at once.
    pub store: Option<&'a str>,
    /// A bundle to install: an address, or a file beside the collection.
    pub bundle: Option<&'a str>,
}

/// Renders the documents of a collection for one place.
#[derive(Debug, Clone, Copy)]
pub struct Renderer<'a> {
    /// What is shown.
    pub collection: &'a Collection,
    /// Where it is shown.
    pub place: Place<'a>,
    /// How else it can be read.
    pub connect: Connect<'a>,
}

impl Collection {
    /// Makes a collection of an archive.
    #[must_use]
    pub fn new(archive: Archive) -> Self {
        // A round without a period counts as old as the one before it: the round that is being compiled has none yet.
        let mut latest: Option<Date> = None;
        let mut dated: Vec<(Option<Date>, u32)> = Vec::with_capacity(archive.root().rounds.len());
        for (position, round) in (0..).zip(archive.root().rounds.iter()) {
            latest = round.period.as_ref().map(|period| (&period.end).into()).or(latest);
            dated.push((latest, position));
        }
        dated.sort_unstable_by(|one, other| other.cmp(one));
        Self { archive, newest: dated.into_iter().map(|(_, position)| position).collect() }
    }

    /// Returns the archive.
    #[must_use]
    pub fn archive(&self) -> &Archive {
        &self.archive
    }

    /// Returns how many pages the list of rounds has; at least one.
    #[must_use]
    pub fn pages(&self) -> u32 {
        u32::try_from(self.newest.len().div_ceil(ROUNDS_ON_A_PAGE)).unwrap_or(u32::MAX).max(1)
    }

    /// Returns the rounds, newest first.
    pub fn newest(&self) -> impl ExactSizeIterator<Item = &ArchivedRound> + Clone {
        let rounds = &self.archive.root().rounds;
        self.newest
            .iter()
            .filter_map(|position| rounds.get(*position as usize))
            .collect::<Vec<_>>()
            .into_iter()
    }

    /// Returns the rounds on a page of the collection, counted from 1; none if there is no such page.
    #[must_use]
    pub fn rounds_on(&self, page: u32) -> Vec<&ArchivedRound> {
        let skipped = (page.max(1) as usize - 1).saturating_mul(ROUNDS_ON_A_PAGE);
        let rounds = &self.archive.root().rounds;
        let shown = self.newest.iter().skip(skipped).take(ROUNDS_ON_A_PAGE);
        shown.filter_map(|position| rounds.get(*position as usize)).collect()
    }

    pub(crate) fn title(&self) -> &str {
        &self.archive.root().title
    }

    /// Returns the rounds before and after one, in reading order.
    pub(crate) fn neighbours(
        &self,
        round: &ArchivedRound,
    ) -> (Option<&ArchivedRound>, Option<&ArchivedRound>) {
        let rounds = &self.archive.root().rounds;
        // Rounds lie in memory in their order: found by halves, however many there are.
        let position = rounds.partition_point(|one| std::ptr::from_ref(one) < std::ptr::from_ref(round));
        let position = rounds.get(position).filter(|one| std::ptr::eq(*one, round)).map(|_| position);
        let at = |position: Option<usize>| position.and_then(|position| rounds.get(position));
        (at(position.and_then(|position| position.checked_sub(1))), at(position.map(|position| position + 1)))
    }
}

impl Renderer<'_> {
    /// Renders a page of the collection, counted from 1. `firsts` are the pages of the first chunk of each of its
    /// [rounds](Collection::rounds_on), in order; a round whose page is missing is shown without pictures.
    #[must_use]
    pub fn collection(&self, number: u32, firsts: &[Option<PageView>]) -> Document {
        let address = Address::Collection { page: number };
        let links = self.place.links(address);
        let root = self.collection.archive().root();
        let count = self.collection.pages();
        let neighbour = |page: u32| (1..=count).contains(&page).then_some(Address::Collection { page });
        let (previous, next) = (number.checked_sub(1).and_then(neighbour), neighbour(number + 1));
        let rounds = self.collection.rounds_on(number);
        let views = firsts.iter().map(Option::as_ref).chain(std::iter::repeat(None));
        let main = html! {
            div.cover {
                div.slip .long[root.title.chars().nth(SLIP_CHARACTERS).is_some()] { h1 { (Text(&root.title)) } }
                div.preface {
                    @if !root.description.is_empty() { p.words { (Room(WORDS_CHARACTERS).part(&root.description)) } }
                    @let in_all = u32::try_from(root.rounds.len()).unwrap_or(u32::MAX);
                    p.quiet { (dates::count(in_all)) "回・" (dates::count(root.entries.to_native())) "首" }
                    (search_field(&links, ""))
                }
            }
            section aria-labelledby="rounds" {
                h2.mark #rounds { "各回の歌" }
                @if rounds.is_empty() { p.quiet { "まだ収められた回がありません。" } }
                ol.rounds {
                    @for (round, first) in rounds.iter().zip(views) {
                        li { (shelf(&links, round, first)) }
                    }
                }
                @let (before, after) = (previous.map(|page| links.to(page)), next.map(|page| links.to(page)));
                (paging(number, Some(count), before.as_ref(), after.as_ref()))
            }
            (connect(&links, self.connect))
        };
        let mut page = Page::new(
            address,
            "collection",
            if number > 1 {
                html! { (number) "ページ目" }
            } else {
                Markup::default()
            },
        );
        if !root.description.is_empty() {
            page.description = Some(Beginning(&root.description, DESCRIPTION_CHARACTERS).render());
        }
        let newest = rounds.first().zip(firsts.first().and_then(Option::as_ref));
        page.picture = newest.and_then(|(round, view)| {
            let entry = view.entries.iter().find(|entry| entry.picture.is_some())?;
            Some((round.title.as_str(), entry.rank.to_native(), entry.picture.as_ref()?))
        });
        page.previous = previous;
        page.next = next;
        page.document(self.place, Some(self.collection.title()), &main)
    }
}

/// A round as it stands on the shelf: title, period, number of poems, its first pictures.
fn shelf(links: &Links<'_>, round: &ArchivedRound, first: Option<&PageView>) -> Markup {
    let entries = first.map(|page| page.entries.as_slice()).unwrap_or_default();
    let pictured = entries.iter().filter(|entry| entry.picture.is_some()).take(STRIP);
    html! {
        article.shelf {
            h3 { a href=(links.to(Address::Round { round: &round.title, page: 1 })) { bdi { (Text(&round.title)) } } }
            p.quiet {
                @if let Some(period) = round.period.as_ref() { (dates::period(period.into())) br; }
                (dates::count(round.entries.to_native())) "首"
            }
            div.strip {
                @for entry in pictured {
                    (picture(links, &round.title, entry, IN_STRIP))
                }
            }
        }
    }
}

/// How to read the collection from a conversation.
fn connect(links: &Links<'_>, connect: Connect<'_>) -> Markup {
    if connect.mcp.is_none() && connect.store.is_none() && connect.bundle.is_none() {
        return Markup::default();
    }
    html! {
        section.connect aria-labelledby="connect" {
            h2.mark #connect { "会話から読む" }
            p { "Claude などの MCP に対応したアプリから、この和歌集を尋ねることができます。" }
            dl {
                @if let Some(bundle) = connect.bundle {
                    dt { "アプリに入れる" }
                    dd {
                        @if bundle.starts_with("https://") || bundle.starts_with("http://") {
                            a href=(Text(bundle)) { "和歌集のバンドル（.mcpb）" }
                        } @else {
                            a href=(links.to_file(bundle)) download { "和歌集のバンドル（.mcpb）" }
                        }
                    }
                }
                @if let Some(address) = connect.mcp {
                    dt { "コネクタの URL" }
                    dd { code { (Text(address)) } }
                    dt { "設定に書くなら" }
                    dd { code { (Text(&configuration(&["{\"type\":\"http\",\"url\":\"", address, "\"}"]))) } }
                }
                @if let Some(address) = connect.store {
                    dt { "手元で動かすなら" }
                    @let (before, after) = ("{\"command\":\"wakashu-function\",\"args\":[\"stdio\",\"", "\"]}");
                    dd { code { (Text(&configuration(&[before, address, after]))) } }
                }
            }
        }
    }
}

/// Returns the line that a client's configuration needs: markup, an address, markup.
fn configuration(parts: &[&str; 3]) -> String {
    let [before, address, after] = parts;
    let mut line = format!("{{\"mcpServers\":{{\"wakashu\":{before}");
    escape_into(&mut line, address);
    line + after + "}}"
}
