//! What every page has in common: its head, the way back, the search field, the foot.

use maud::{DOCTYPE, Markup, html};
use wakashu_archive::{ArchivedPicture, Size};

use crate::address::{Address, Href, LinkStyle, Links, Place};
use crate::assets;
use crate::policy::{CONTENT_SECURITY_POLICY_IN_META, REFERRER_POLICY};
use crate::text::{Beginning, Text};

/// Most characters of a title on the way back.
const TRAIL_CHARACTERS: usize = 40;

/// A finished document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// What it is, as in `Content-Type`.
    pub media_type: &'static str,
    /// The whole of it, in UTF-8.
    pub body: String,
}

/// What pages are, as in `Content-Type`.
pub const HTML: &str = "text/html; charset=utf-8";

/// What a page says about itself, once: the head's tags and the way back follow from it.
pub(crate) struct Page<'a> {
    pub(crate) address: Address<'a>,
    /// The look of the page, as the style sheet names it.
    pub(crate) kind: &'static str,
    /// Its own title, without the collection's; empty for the collection itself.
    pub(crate) title: Markup,
    /// One line of what is on it.
    pub(crate) description: Option<Markup>,
    /// The picture that stands for it, with the round and rank it belongs to.
    pub(crate) picture: Option<(&'a str, u32, &'a ArchivedPicture)>,
    /// The round it belongs to.
    pub(crate) within: Option<&'a str>,
    pub(crate) previous: Option<Address<'a>>,
    pub(crate) next: Option<Address<'a>>,
    /// Whether crawlers keep it.
    pub(crate) is_kept: bool,
}

impl<'a> Page<'a> {
    pub(crate) fn new(address: Address<'a>, kind: &'static str, title: Markup) -> Self {
        Self {
            address,
            kind,
            title,
            description: None,
            picture: None,
            within: None,
            previous: None,
            next: None,
            is_kept: true,
        }
    }

    /// Puts the page together around what stands on it. Without a collection there is no title to show and no way back.
    pub(crate) fn document(&self, place: Place<'_>, collection: Option<&str>, main: &Markup) -> Document {
        let links = place.links(self.address);
        let whole_name = collection.unwrap_or("和歌集");
        let (name, short) = (Text(whole_name), Beginning(whole_name, TRAIL_CHARACTERS));
        let is_collection = matches!(self.address, Address::Collection { .. });
        let body = html! {
            (DOCTYPE)
            html lang="ja" {
                head {
                    meta charset="utf-8";
                    @if place.style == LinkStyle::Folder {
                        meta http-equiv="Content-Security-Policy" content=(CONTENT_SECURITY_POLICY_IN_META);
                        meta name="referrer" content=(REFERRER_POLICY);
                    }
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { @if !self.title.0.is_empty() { (self.title) "｜" } (name) }
                    @if let Some(description) = &self.description { meta name="description" content=(description); }
                    @if !self.is_kept { meta name="robots" content="noindex"; }
                    link rel="stylesheet" href=(links.to(Address::Asset(assets::style())));
                    script src=(links.to(Address::Asset(assets::script()))) defer {}
                    link rel="icon" type="image/svg+xml" href=(links.to(Address::Asset(assets::icon())));
                    @if collection.is_some() {
                        link rel="alternate" type="application/atom+xml" title=(name)
                            href=(links.to(Address::Feed));
                    }
                    @if let Some(previous) = self.previous { link rel="prev" href=(links.to(previous)); }
                    @if let Some(next) = self.next { link rel="next" href=(links.to(next)); }
                    @if self.is_kept { (self.sharing(place, name)) }
                    @if let Some(preview) = place.preview {
                        link rel="stylesheet" href=(links.to(Address::Asset(assets::preview_style())));
                        script src=(links.to(Address::Asset(assets::preview_script()))) defer data-mark=(preview.mark) {}
                    }
                }
                body class=(self.kind) {
                    a.skip href="#main" { "本文へ移る" }
                    @if let Some(preview) = place.preview { (preview.banner()) }
                    @if !is_collection && collection.is_some() { (self.way_back(&links, short)) }
                    main #main { (main) }
                    @if collection.is_some() {
                        footer.foot {
                            p {
                                a href=(links.to(Address::Collection { page: 1 })) { bdi { (short) } }
                                span.dot aria-hidden="true" { "・" }
                                a href=(links.to(Address::Feed)) { "更新情報（Atom）" }
                            }
                        }
                    }
                }
            }
        };
        Document { media_type: HTML, body: body.into_string() }
    }

    /// What others show when the page is sent to them.
    fn sharing(&self, place: Place<'_>, name: Text<'_>) -> Markup {
        let large = self.picture.and_then(|(round, rank, picture)| {
            let address = place.absolute_picture(round, rank, Size::Large, &picture.large)?;
            Some((address, &picture.large))
        });
        html! {
            @if let Some(address) = place.absolute(self.address) {
                link rel="canonical" href=(address);
                meta property="og:url" content=(address);
            }
            @let is_poem = matches!(self.address, Address::Poem { .. });
            meta property="og:type" content=(if is_poem { "article" } else { "website" });
            meta property="og:locale" content="ja_JP";
            meta property="og:site_name" content=(name);
            meta property="og:title" content={ @if self.title.0.is_empty() { (name) } @else { (self.title) } };
            @if let Some(description) = &self.description { meta property="og:description" content=(description); }
            @if let Some((address, large)) = large {
                meta property="og:image" content=(address);
                meta property="og:image:type" content=(large.media_type().as_str());
                meta property="og:image:width" content=(large.width_px.to_native());
                meta property="og:image:height" content=(large.height_px.to_native());
                meta name="twitter:card" content="summary_large_image";
            }
        }
    }

    fn way_back(&self, links: &Links<'_>, name: Beginning<'_>) -> Markup {
        html! {
            header.top {
                nav aria-label="現在の場所" {
                    ol.trail {
                        li { a href=(links.to(Address::Collection { page: 1 })) { bdi { (name) } } }
                        @if let Some(round) = self.within {
                            @let title = Beginning(round, TRAIL_CHARACTERS);
                            li { a href=(links.to(Address::Round { round, page: 1 })) { bdi { (title) } } }
                        }
                    }
                }
                @if self.address != Address::Search { (search_field(links, "")) }
            }
        }
    }
}

/// The field that asks for poems, where someone answers.
pub(crate) fn search_field(links: &Links<'_>, query: &str) -> Markup {
    if !links.can_search() {
        return Markup::default();
    }
    html! {
        search {
            form.find action=(links.to(Address::Search)) method="get" {
                label.quiet for="q" { "歌を探す" }
                input #q type="search" name="q" value=(Text(query)) placeholder="言葉・よみ・投稿者"
                    autocomplete="off" maxlength="200";
                button type="submit" { "探す" }
            }
        }
    }
}

/// Links to the pages before and after, and which one this is. Nothing where there is only one.
pub(crate) fn paging(number: u32, count: Option<u32>, before: Option<&Href>, after: Option<&Href>) -> Markup {
    if before.is_none() && after.is_none() {
        return Markup::default();
    }
    html! {
        nav.paging aria-label="ページ" {
            (step("prev", before, &html! { "前のページ" }))
            span { @if let Some(count) = count { (number) " / " (count) } @else { (number) "ページ目" } }
            (step("next", after, &html! { "次のページ" }))
        }
    }
}

/// A link to what stands before or after, or the place where it would be.
pub(crate) fn step(rel: &str, to: Option<&Href>, label: &Markup) -> Markup {
    html! {
        @if let Some(href) = to { a rel=(rel) href=(href) { (label) } } @else { span {} }
    }
}

/// An arrow beside the words that say the same.
pub(crate) fn arrow(towards: &str) -> Markup {
    html! { span.arrow aria-hidden="true" { (towards) } }
}
