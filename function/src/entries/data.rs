//! Entries as plain data, for callers that want no presentation. The text is the archive's own, already escaped.

use bytes::Bytes;
use wakashu_archive::{ArchivedEntry, ArchivedRound, PageView};

use super::{Held, Links, Selection, Size, prefix};
use crate::observe::detail::Detail;
use crate::served::index::{Index, ReadError};
use crate::served::limits::MAX_ENTRY_TEXT_BYTES;
use crate::text::Answer;

/// The JSON Schema of what [`write_entries`] writes for each entry; a macro, so that schemas can be joined from it.
macro_rules! entry_schema {
    () => {
        concat!(
            r#"{"type":"object","required":["round","rank","account","poem","honka","prompt","extras","picture"],"#,
            r#""properties":{"round":{"type":"string"},"rank":{"type":"integer"},"account":{"type":"string"},"#,
            r#""poem":{"type":"string"},"honka":{"type":"array","items":{"type":"string"}},"#,
            r#""prompt":{"type":"string"},"extras":{"type":"object","additionalProperties":{"type":"string"}},"#,
            r#""yomi":{"type":"string"},"truncated":{"type":"boolean"},"picture":{"type":["object","null"],"#,
            r#""required":["rendition","mediaType","width","height","bytes"],"properties":{"#,
            r#""url":{"type":"string"},"rendition":{"type":"string","enum":["large","medium","small"]},"#,
            r#""mediaType":{"type":"string"},"width":{"type":"integer"},"height":{"type":"integer"},"#,
            r#""bytes":{"type":"integer"},"data":{"type":["string","null"]}}}}}"#
        )
    };
}
pub(crate) use entry_schema;

/// Writes the selected entries, separated by commas, each as one object.
///
/// Pictures are described and, unless `size` is `None`, carried along as base64; `null` stands for one that could
/// not be read.
pub(crate) async fn write_entries(
    out: &mut Answer,
    index: &Index,
    round: &ArchivedRound,
    selection: &Selection,
    size: Size,
    links: &Links<'_>,
) {
    let mut pictures = index.pictures(selection.renditions(size)).await;
    for (at, held) in selection.entries.iter().enumerate() {
        let Some(entry) = held.entry() else { continue };
        out.raw(if at == 0 { "" } else { "," });
        out.raw(r#"{"round":"#).string(&round.title);
        write_texts(out, held, entry);
        out.raw(r#","picture":"#);
        let stored = size.of_entry(entry).and_then(|_| pictures.next());
        write_picture(out, entry, size, links, stored);
        out.raw("}");
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
    (entry.text.len() + yomi).min(MAX_ENTRY_TEXT_BYTES + LISTED_BYTES * TEXTS) + LISTED_BYTES * listed
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
    fn string(&mut self, escaped: &str) -> &mut Self {
        let part = if escaped.len() <= self.room { escaped } else { prefix(escaped, usize::MAX, self.room) };
        self.is_cut |= part.len() < escaped.len();
        self.room -= part.len();
        self.out.raw("\"").escaped(self.page, part).raw("\"");
        self
    }

    /// Tells whether a text fits as a whole; notes it if not.
    fn has_room(&mut self, escaped: &str) -> bool {
        let fits = escaped.len() <= self.room;
        self.is_cut |= !fits;
        fits
    }

    fn raw(&mut self, json: &str) -> &mut Self {
        self.out.raw(json);
        self
    }
}

fn write_texts(out: &mut Answer, held: &Held, entry: &ArchivedEntry) {
    out.raw(r#","rank":"#).number(u64::from(entry.rank.to_native()));
    let mut texts = Texts { out, page: held.page(), room: MAX_ENTRY_TEXT_BYTES, is_cut: false };
    texts.raw(r#","account":"#).string(entry.account_escaped());
    texts.raw(r#","poem":"#).string(entry.poem_escaped()).raw(r#","honka":["#);
    for (at, honka) in entry.honka_escaped().enumerate() {
        // Half a link would lead elsewhere.
        if !texts.has_room(honka) {
            break;
        }
        texts.raw(if at == 0 { "" } else { "," }).string(honka);
    }
    texts.raw(r#"],"prompt":"#).string(entry.prompt_escaped()).raw(r#","extras":{"#);
    for (at, (key, value)) in entry.extras_escaped().enumerate() {
        // Half a name may be another's.
        if !texts.has_room(key) {
            break;
        }
        texts.raw(if at == 0 { "" } else { "," }).string(key).raw(":").string(value);
    }
    texts.raw("}");
    if let Some(yomi) = entry.yomi.as_ref() {
        texts.raw(r#","yomi":"#).string(yomi);
    }
    if texts.is_cut {
        texts.raw(r#","truncated":true"#);
    }
}

fn write_picture(
    out: &mut Answer,
    entry: &ArchivedEntry,
    size: Size,
    links: &Links<'_>,
    stored: Option<Result<Bytes, ReadError>>,
) {
    let Some(picture) = entry.picture.as_ref() else {
        out.raw("null");
        return;
    };
    let (name, rendition) = match size {
        Size::Large | Size::None => ("large", &picture.large),
        Size::Medium => ("medium", &picture.medium),
        Size::Small => ("small", &picture.small),
    };
    out.raw("{");
    if let Some(base) = links.base {
        out.raw(r#""url":""#);
        links.write_address(out, base, entry);
        out.raw("?");
        if name != "large" {
            out.raw("rendition=").raw(name).raw("&");
        }
        let hash = rendition.hash().to_string();
        out.raw("v=").raw(hash.get(..16).unwrap_or_default()).raw("\",");
    }
    out.raw(r#""rendition":"#).string(name);
    out.raw(r#","mediaType":"#).string(rendition.media_type().as_str());
    out.raw(r#","width":"#).number(u64::from(rendition.width_px.to_native()));
    out.raw(r#","height":"#).number(u64::from(rendition.height_px.to_native()));
    out.raw(r#","bytes":"#).number(u64::from(rendition.file_bytes.to_native()));
    match stored {
        None => {}
        Some(Ok(base64)) => {
            out.raw(r#","data":""#).splice(base64).raw("\"");
        }
        Some(Err(error)) => {
            tracing::warn!(detail = Detail::of(&error).for_log(), "a picture could not be read");
            out.raw(r#","data":null"#);
        }
    }
    out.raw("}");
}
