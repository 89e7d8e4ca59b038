//! Pages that say why there is nothing else to show.

use maud::html;

use crate::address::{Address, Place};
use crate::collection::Collection;
use crate::frame::{Document, Page, search_field};
use crate::text::Text;

/// Why a page cannot be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// There is no such page, round or poem.
    NotFound,
    /// There is no archive, or it cannot be read just now.
    Unavailable,
    /// Pages are off, because readers need a token.
    Closed,
    /// Too many are asking.
    Busy,
    /// A fault of the program.
    Failed,
}

impl Notice {
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::NotFound => ("見つかりません", "お探しの回や歌は、移されたか、まだないようです。"),
            Self::Unavailable => {
                ("ただいま準備中です", "和歌集をまだ読み出せません。しばらくしてからもう一度お試しください。")
            }
            Self::Closed => (
                "ページは公開されていません",
                "この和歌集は、招かれた人が会話のできるアプリから読むものです。つなぎ方は運営者にお尋ねください。",
            ),
            Self::Busy => ("混み合っています", "しばらくしてからもう一度お試しください。"),
            Self::Failed => (
                "うまくお見せできませんでした",
                "こちらで問題が起きました。しばらくしてからもう一度お試しください。",
            ),
        }
    }

    /// Renders the page. With a collection it offers the way back.
    #[must_use]
    pub fn page(self, place: Place<'_>, collection: Option<&Collection>) -> Document {
        let links = place.links(Address::NotFound);
        let (title, sentence) = self.words();
        let main = html! {
            div.opening {
                h1 { (title) }
                p { (sentence) }
                @if let Some(collection) = collection {
                    p { a href=(links.to(Address::Collection { page: 1 })) { "「" bdi { (Text(collection.title())) } "」の表紙へ" } }
                    @if self == Self::NotFound { (search_field(&links, "")) }
                }
            }
        };
        let mut page = Page::new(Address::NotFound, "notice", html! { (title) });
        page.is_kept = false;
        page.document(place, None, &main)
    }
}
