//! Entries as plain data, for callers that want no presentation. The text is the archive's own, already escaped.

use wakashu_archive::{ArchivedEntry, ArchivedRound, PageView};

use super::{Drawn, Held, Links, Selection, Size, draw, prefix};
use crate::served::limits::MAX_SHOWN_TEXT_BYTES;
use crate::served::reading::Reading;
use crate::text::schema::{Schema, always, sometimes};
use crate::text::{Answer, field};

/// The shape of an entry.
pub(crate) const ENTRY: Schema = Schema::Object(&[
    always("round", Schema::Text),
    always("rank", Schema::Whole),
    always("account", Schema::Text),
    always("poem", Schema::Text),
    always("honka", Schema::List(&Schema::Text)),
    always("prompt", Schema::Text),
    always("extras", Schema::Map(&Schema::Text)),
    sometimes("yomi", Schema::Text),
    sometimes("truncated", Schema::Flag),
    always("uri", Schema::Text),
    always("picture", Schema::OrNull(&PICTURE)),
]);

/// The shape of its picture.
const PICTURE: Schema = Schema::Object(&[
    sometimes("url", Schema::Text),
    always("rendition", Schema::Words(&["large", "medium", "small"])),
    always("mediaType", Schema::Text),
    always("width", Schema::Whole),
    always("height", Schema::Whole),
    always("bytes", Schema::Whole),
    sometimes("data", Schema::OrNull(&Schema::Text)),
]);

/// Entries to be written, with what is needed for that.
#[derive(Clone, Copy)]
pub(crate) struct Entries<'a> {
    pub(crate) index: &'a Reading,
    pub(crate) round: &'a ArchivedRound,
    pub(crate) selection: &'a Selection,
    pub(crate) size: Size,
    pub(crate) links: &'a Links<'a>,
}

impl Entries<'_> {
    /// Writes them all as an array.
    pub(crate) async fn write_all(self, out: &mut Answer) {
        let list = out.open_array();
        let write = |held: &Held, entry: &ArchivedEntry, drawn: Option<Drawn<'_>>| {
            self.write(out.item(), held, entry, drawn);
        };
        draw(self.index, self.selection, self.size, write).await;
        out.close(list);
    }

    /// Writes the only one.
    pub(crate) async fn write_one(self, out: &mut Answer) {
        let write = |held: &Held, entry: &ArchivedEntry, drawn: Option<Drawn<'_>>| {
            self.write(out, held, entry, drawn);
        };
        draw(self.index, self.selection, self.size, write).await;
    }

    /// Writes an entry as one object. Its picture is described and, unless none was asked for, carried along as base64;
    /// `null` stands for one that could not be read.
    fn write(self, out: &mut Answer, held: &Held, entry: &ArchivedEntry, drawn: Option<Drawn<'_>>) {
        out.object(|out| {
            field!(out, "round").string(&self.round.title);
            write_texts(out, held, entry);
            field!(out, "uri").quoted(|out| self.links.write_uri(out, entry));
            write_picture(field!(out, "picture"), entry, self.size, self.links, drawn);
        });
    }
}

/// What an entry takes besides its texts and its picture: names of fields, the picture's description.
pub(super) const FRAME_BYTES: usize = 512;

/// What a text in a list takes besides itself.
const LISTED_BYTES: usize = 8;

/// Returns an upper bound of what [`write_texts`] takes.
pub(super) fn most_text_bytes(entry: &ArchivedEntry) -> usize {
    let yomi = entry.yomi.as_ref().map_or(0, |yomi| yomi.len());
    let listed = entry.honka_escaped().count() + 2 * entry.extras_escaped().count();
    (entry.text.len() + yomi).min(MAX_SHOWN_TEXT_BYTES + LISTED_BYTES * TEXTS) + LISTED_BYTES * listed
}

/// The texts of an entry that are not in a list.
const TEXTS: usize = 5;

/// Texts on their way out, as far as there is room.
struct Texts<'a> {
    out: &'a mut Answer,
    page: &'a PageView,
    room: usize,
    is_cut: bool,
}

impl Texts<'_> {
    /// Writes a text, cut where the room ends.
    fn string(&mut self, escaped: &str) {
        let part = if escaped.len() <= self.room { escaped } else { prefix(escaped, usize::MAX, self.room) };
        self.is_cut |= part.len() < escaped.len();
        self.room -= part.len();
        self.out.quoted(|out| {
            out.escaped(self.page, part);
        });
    }

    /// Tells whether a text fits as a whole; notes it if not.
    fn has_room(&mut self, escaped: &str) -> bool {
        let fits = escaped.len() <= self.room;
        self.is_cut |= !fits;
        fits
    }
}

fn write_texts(out: &mut Answer, held: &Held, entry: &ArchivedEntry) {
    field!(out, "rank").number(u64::from(entry.rank.to_native()));
    let mut texts = Texts { out, page: held.page(), room: MAX_SHOWN_TEXT_BYTES, is_cut: false };
    field!(texts.out, "account");
    texts.string(entry.account_escaped());
    field!(texts.out, "poem");
    texts.string(entry.poem_escaped());
    let honka = field!(texts.out, "honka").open_array();
    for link in entry.honka_escaped() {
        // Half a link would lead elsewhere.
        if !texts.has_room(link) {
            break;
        }
        texts.out.item();
        texts.string(link);
    }
    texts.out.close(honka);
    field!(texts.out, "prompt");
    texts.string(entry.prompt_escaped());
    let extras = field!(texts.out, "extras").open_object();
    for (key, value) in entry.extras_escaped() {
        // Half a name may be another's.
        if !texts.has_room(key) {
            break;
        }
        texts.out.item();
        texts.string(key);
        texts.out.colon();
        texts.string(value);
    }
    texts.out.close(extras);
    if let Some(yomi) = entry.yomi.as_ref() {
        field!(texts.out, "yomi");
        texts.string(yomi);
    }
    if texts.is_cut {
        field!(texts.out, "truncated").boolean(true);
    }
}

fn write_picture(
    out: &mut Answer,
    entry: &ArchivedEntry,
    size: Size,
    links: &Links<'_>,
    drawn: Option<Drawn<'_>>,
) {
    let Some(picture) = entry.picture.as_ref() else {
        out.null();
        return;
    };
    let (name, rendition) = match size {
        Size::Large | Size::None => ("large", &picture.large),
        Size::Medium => ("medium", &picture.medium),
        Size::Small => ("small", &picture.small),
    };
    out.object(|out| {
        if let Some(base) = links.base {
            field!(out, "url").quoted(|out| {
                links.write_address(out, base, entry);
                out.text("?");
                if name != "large" {
                    out.text("rendition=").text(name).text("&");
                }
                out.text("v=").text(rendition.hash().to_short_hex().as_str());
            });
        }
        field!(out, "rendition").string(name);
        field!(out, "mediaType").string(rendition.media_type().as_str());
        field!(out, "width").number(u64::from(rendition.width_px.to_native()));
        field!(out, "height").number(u64::from(rendition.height_px.to_native()));
        field!(out, "bytes").number(u64::from(rendition.file_bytes.to_native()));
        match drawn.map(|drawn| drawn.base64) {
            None => {}
            Some(Some(base64)) => {
                field!(out, "data").quoted(|out| {
                    out.splice(base64);
                });
            }
            Some(None) => {
                field!(out, "data").null();
            }
        }
    });
}
