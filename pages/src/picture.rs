//! A picture in a page: the browser chooses the rendition, and the space is kept before it arrives.

use maud::{Markup, html};
use wakashu_archive::{ArchivedEntry, Size, unescape};

use crate::address::Links;
use crate::text::Beginning;

/// Most characters of a description.
const ALT_CHARACTERS: usize = 120;

/// How a picture is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Showing {
    /// How wide it stands in the page, as `sizes` says it.
    pub(crate) sizes: &'static str,
    /// The largest rendition worth fetching.
    pub(crate) up_to: Size,
    /// Whether it is in sight at once.
    pub(crate) is_first: bool,
    /// Whether a description would only repeat what stands beside it.
    pub(crate) is_ornament: bool,
}

/// Shows the picture of an entry, if there is one.
pub(crate) fn picture(links: &Links<'_>, round: &str, entry: &ArchivedEntry, showing: Showing) -> Markup {
    let Some(picture) = entry.picture.as_ref() else { return Markup::default() };
    let rank = entry.rank.to_native();
    // A small picture may be its own small, medium and large rendition: named once.
    let mut renditions =
        picture.renditions().into_iter().filter(|(size, _)| *size <= showing.up_to).collect::<Vec<_>>();
    renditions.dedup_by_key(|(_, rendition)| rendition.hash());
    let Some((size, largest)) = renditions.last().copied() else { return Markup::default() };
    html! {
        img src=(links.to_picture(round, rank, size, largest))
            srcset=[(renditions.len() > 1).then(|| html! {
                @for (at, (size, rendition)) in renditions.iter().enumerate() {
                    @if at > 0 { ", " }
                    (links.to_picture(round, rank, *size, rendition)) " " (rendition.width_px.to_native()) "w"
                }
            })]
            sizes=[(renditions.len() > 1).then_some(showing.sizes)]
            width=(largest.width_px.to_native()) height=(largest.height_px.to_native())
            alt=(if showing.is_ornament { Markup::default() } else { description(entry) })
            loading=[(!showing.is_first).then_some("lazy")] decoding="async";
    }
}

/// Says what is to be seen: the prompt knows it best.
pub(crate) fn description(entry: &ArchivedEntry) -> Markup {
    let account = unescape(entry.account_escaped());
    let prompt = unescape(entry.prompt_escaped());
    html! {
        (Beginning(&account, ALT_CHARACTERS)) "の歌に添えた絵"
        @if !prompt.trim().is_empty() { "：" (Beginning(&prompt, ALT_CHARACTERS)) }
    }
}
