//! The Atom feed: one entry a round.

use maud::{Markup, PreEscaped, html};
use wakashu_archive::{ArchivedRound, Date};

use crate::address::{Address, Place};
use crate::collection::Renderer;
use crate::dates;
use crate::frame::Document;
use crate::text::{Room, Text};
use crate::uuid::Uuid;

/// Most rounds in the feed, newest first.
pub const FEED_ROUNDS: usize = 50;
/// Most characters of what is said about a round there, or about the collection.
const SUMMARY_CHARACTERS: usize = 2_000;

impl Renderer<'_> {
    /// Renders the feed. A round without a period is dated `published_at`, an RFC 3339 time.
    #[must_use]
    pub fn feed(&self, published_at: &str) -> Document {
        let root = self.collection.archive().root();
        let links = self.place.links(Address::Feed);
        // Without a public address the reader completes them by where it found the feed.
        let to = |address| self.place.absolute(address).unwrap_or_else(|| links.to(address));
        let rounds: Vec<&ArchivedRound> = self.collection.newest().take(FEED_ROUNDS).collect();
        let updated = |round: &ArchivedRound| {
            round.period.as_ref().map_or_else(|| published_at.to_owned(), |period| day((&period.end).into()))
        };
        let latest =
            rounds.iter().map(|round| updated(round)).max().unwrap_or_else(|| published_at.to_owned());
        // Every element is closed by its own tag: so HTML's writer writes XML.
        let body = html! {
            (PreEscaped("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"))
            feed xmlns="http://www.w3.org/2005/Atom" xml:lang="ja" {
                title { (Text(&root.title)) }
                @if !root.description.is_empty() { subtitle { (brief(&mut Room(SUMMARY_CHARACTERS), &root.description)) } }
                id { (Uuid::of(&root.title, None).to_string()) }
                updated { (Text(&latest)) }
                author { name { (Text(&root.title)) } }
                link rel="alternate" type="text/html" href=(to(Address::Collection { page: 1 })) {}
                link rel="self" type="application/atom+xml" href=(to(Address::Feed)) {}
                @for round in rounds {
                    entry {
                        title { (Text(&round.title)) }
                        id { (Uuid::of(&root.title, Some(&round.title)).to_string()) }
                        updated { (Text(&updated(round))) }
                        link rel="alternate" type="text/html" href=(to(Address::Round { round: &round.title, page: 1 })) {}
                        summary {
                            (dates::count(round.entries.to_native())) "首"
                            @let mut room = Room(SUMMARY_CHARACTERS);
                            @for extra in round.extras.iter() {
                                @if room.is_left() { "。" (brief(&mut room, &extra.title)) "：" (brief(&mut room, &extra.text)) }
                            }
                        }
                    }
                }
            }
        };
        Document { media_type: "application/atom+xml; charset=utf-8", body: body.into_string() }
    }
}

impl Place<'_> {
    /// Renders what crawlers ask for: pages may be read, what answers by calculation may not be asked.
    #[must_use]
    pub fn robots(self) -> Document {
        let links = self.links(Address::NotFound);
        let root = links.to(Address::Collection { page: 1 });
        let root = root.as_str().trim_end_matches("index.html");
        let body =
            format!("User-agent: *\nDisallow: {root}mcp\nDisallow: {root}v1/\nDisallow: {root}search\n");
        Document { media_type: "text/plain; charset=utf-8", body }
    }
}

/// A text without elements, as far as there is room for it.
fn brief(room: &mut Room, text: &str) -> Markup {
    let part = room.part(text);
    html! { (Text(part.text)) (part.mark()) }
}

/// Returns the beginning of a day: nine in the morning where the poems are written.
fn day(date: Date) -> String {
    format!("{date}T00:00:00Z")
}
