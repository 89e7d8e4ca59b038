//! Entries as content blocks, fitted to what an answer may weigh.

pub(crate) mod data;

use bytes::Bytes;
use wakashu_archive::{
    ArchivedEntry, ArchivedPicture, ArchivedRendition, ArchivedRound, PageView, RankRange,
};

use crate::observe::detail::Detail;
use crate::served::index::ReadError;
use crate::served::limits::{
    ENVELOPE_BYTES, MAX_ANSWER_BYTES, MAX_PICTURES, MAX_SHOWN_TEXT_BYTES, MAX_TEXT_CHARACTERS, REMARK_BYTES,
};
use crate::served::reading::Reading;
use crate::served::uri;
use crate::text::Answer;

const TEXT_OPEN: &str = r#"{"type":"text","text":""#;
const TEXT_CLOSE: &str = r#""}"#;
const IMAGE_OPEN: &str = r#",{"type":"image","data":""#;
const IMAGE_MIME: &str = r#"","mimeType":""#;
const LINK_LABEL: &str = "\\n画像: ";
const PICTURES: &str = "/pictures/";
const NO_PICTURE: &str = "\\n画像: なし";
const NO_PICTURE_CHARACTERS: usize = 7;
const BROKEN_PICTURE: &str =
    r#",{"type":"text","text":"（画像だけを読み込めませんでした。文章はすべて表示しています。）"}"#;
const CUT_MARK: &str = "（以下省略）";
const REST_AT: &str = "\\n続きはリソース ";
const REST_CLOSE: &str = " で読めます。";
const CONTENT_BYTES: usize = MAX_ANSWER_BYTES - ENVELOPE_BYTES - REMARK_BYTES;
const REMARK_CHARACTERS: usize = 1_000;

/// Most characters of one entry's text, where it has an answer to itself.
pub(crate) const MAX_ENTRY_CHARACTERS: usize = MAX_TEXT_CHARACTERS - 2 * REMARK_CHARACTERS;

/// In which form something is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The members of an MCP result: blocks for model and reader.
    Result,
    /// The data alone, as one JSON value.
    Data,
}

/// An entry, held together with the page it lies in.
#[derive(Debug)]
pub(crate) struct Held {
    page: PageView,
    position: usize,
}

impl Held {
    pub(crate) fn entry(&self) -> Option<&ArchivedEntry> {
        self.page.entries.get(self.position)
    }

    pub(crate) fn page(&self) -> &PageView {
        &self.page
    }
}

/// The entries of one answer.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    pub(crate) entries: Vec<Held>,
    /// The first rank that did not fit any more.
    pub(crate) next_rank: Option<u32>,
}

impl Selection {
    /// Returns the pictures of the entries that have one, in this size.
    fn renditions(&self, size: Size) -> impl Iterator<Item = &ArchivedRendition> {
        self.entries.iter().filter_map(Held::entry).filter_map(move |entry| size.of_entry(entry))
    }
}

/// How large the pictures of an answer are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    Large,
    Medium,
    Small,
    /// No pictures were asked for.
    None,
}

impl Size {
    fn of(self, picture: &ArchivedPicture) -> Option<&ArchivedRendition> {
        match self {
            Self::Large => Some(&picture.large),
            Self::Medium => Some(&picture.medium),
            Self::Small => Some(&picture.small),
            Self::None => None,
        }
    }
}

/// Finds one entry of a round.
pub(crate) async fn find(
    index: &Reading,
    round: &ArchivedRound,
    rank: u32,
) -> Result<Option<Held>, ReadError> {
    let Some(chunk) = round.chunks_with(rank, rank).first() else { return Ok(None) };
    let page = index.page(chunk).await?;
    let position = page.entries.binary_search_by_key(&rank, |entry| entry.rank.to_native());
    Ok(position.ok().map(|position| Held { page, position }))
}

/// Collects the entries of `range` that fit into one answer with their pictures at least small.
pub(crate) async fn select(
    index: &Reading,
    round: &ArchivedRound,
    range: RankRange,
    pictures: bool,
    form: Form,
    links: &Links<'_>,
) -> Result<Selection, ReadError> {
    let smallest = if pictures { Size::Small } else { Size::None };
    let mut selection = Selection::default();
    let mut sums = Sums::default();
    for chunk in round.chunks_with(range.first(), range.last()) {
        let page = index.page(chunk).await?;
        for (position, entry) in page.entries.iter().enumerate() {
            let rank = entry.rank.to_native();
            if !range.ranks().contains(&rank) {
                continue;
            }
            let with = sums.with(entry, smallest, form, links);
            // The first entry is always answered, its text cut if need be.
            if !with.fits() && !selection.entries.is_empty() {
                selection.next_rank = Some(rank);
                return Ok(selection);
            }
            sums = with;
            selection.entries.push(Held { page: page.clone(), position });
        }
    }
    Ok(selection)
}

/// Picks the largest pictures with which all selected entries fit.
pub(crate) fn largest_size(selection: &Selection, form: Form, links: &Links<'_>) -> Size {
    let fits = |size: &Size| {
        let entries = selection.entries.iter().filter_map(Held::entry);
        entries.fold(Sums::default(), |sums, entry| sums.with(entry, *size, form, links)).bytes
            <= CONTENT_BYTES
    };
    [Size::Large, Size::Medium].into_iter().find(fits).unwrap_or(Size::Small)
}

/// What an answer weighs so far.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    bytes: usize,
    characters: usize,
    pictures: usize,
}

impl Sums {
    #[inline]
    fn with(self, entry: &ArchivedEntry, size: Size, form: Form, links: &Links<'_>) -> Self {
        if form == Form::Data {
            return self.with_data(entry, size, links);
        }
        let text = cut(entry, MAX_ENTRY_CHARACTERS);
        let remark = if text.shortened { links.remark_length() } else { 0 };
        let mut bytes = TEXT_OPEN.len() + text.escaped.len() + remark + TEXT_CLOSE.len() + 1;
        let mut characters = text.characters + remark;
        let mut pictures = self.pictures;
        if entry.picture.is_some() {
            let link = links.length();
            bytes += link;
            characters += link;
        } else {
            bytes += NO_PICTURE.len();
            characters += NO_PICTURE_CHARACTERS;
        }
        if let Some(rendition) = size.of_entry(entry) {
            pictures += 1;
            bytes += IMAGE_OPEN.len() + IMAGE_MIME.len() + TEXT_CLOSE.len();
            bytes += rendition.media_type().as_str().len();
            bytes += usize::try_from(rendition.span().length).unwrap_or(usize::MAX / 4);
        }
        Self { bytes: self.bytes + bytes, characters: self.characters + characters, pictures }
    }

    /// Adds an entry as plain data.
    #[cold]
    fn with_data(self, entry: &ArchivedEntry, size: Size, links: &Links<'_>) -> Self {
        let rendition = size.of_entry(entry);
        let stored = rendition.map_or(0, |rendition| rendition.span().length);
        let stored = usize::try_from(stored).unwrap_or(usize::MAX / 4);
        let addresses = links.length() + links.uri_length();
        let bytes = data::most_text_bytes(entry) + addresses + data::FRAME_BYTES + stored;
        let pictures = self.pictures + usize::from(rendition.is_some());
        // Data is for programs, whose patience is not counted in characters.
        Self { bytes: self.bytes + bytes, characters: self.characters, pictures }
    }

    fn fits(self) -> bool {
        self.bytes <= CONTENT_BYTES
            && self.pictures <= MAX_PICTURES
            && self.characters <= MAX_TEXT_CHARACTERS - REMARK_CHARACTERS
    }
}

impl Size {
    fn of_entry(self, entry: &ArchivedEntry) -> Option<&ArchivedRendition> {
        entry.picture.as_ref().and_then(|picture| self.of(picture))
    }
}

/// An entry's text as far as one answer can hold it.
struct Cut<'a> {
    escaped: &'a str,
    shortened: bool,
    characters: usize,
}

#[inline]
fn cut(entry: &ArchivedEntry, most: usize) -> Cut<'_> {
    let characters = entry.text_characters.to_native() as usize;
    if characters <= most && entry.text.len() <= MAX_SHOWN_TEXT_BYTES {
        return Cut { escaped: &entry.text, shortened: false, characters };
    }
    cut_short(entry, most)
}

/// Cuts a text that is too long for an answer.
#[cold]
fn cut_short(entry: &ArchivedEntry, most: usize) -> Cut<'_> {
    let mut escaped = prefix(&entry.text, most, MAX_SHOWN_TEXT_BYTES);
    // Half a link would lead elsewhere.
    let mut links =
        entry.honka.iter().map(|link| link.start.to_native() as usize..link.end.to_native() as usize);
    if let Some(link) = links.find(|link| link.contains(&escaped.len())) {
        escaped = escaped.get(..link.start).unwrap_or(escaped);
    }
    Cut { escaped, shortened: true, characters: most }
}

/// Returns the longest part of an escaped text, from its start, within both limits; never cuts an escape.
pub(crate) fn prefix(escaped: &str, most_characters: usize, most_bytes: usize) -> &str {
    let mut characters = 0;
    let mut rest = escaped.char_indices();
    let mut end = 0;
    while characters < most_characters
        && let Some((at, character)) = rest.next()
    {
        let mut after = at + character.len_utf8();
        if character == '\\' {
            let skipped = if escaped.get(after..).is_some_and(|tail| tail.starts_with('u')) { 5 } else { 1 };
            after += skipped;
            rest.nth(skipped - 1);
        }
        if after > most_bytes {
            break;
        }
        characters += 1;
        end = after;
    }
    escaped.get(..end).unwrap_or(escaped)
}

/// How picture links of one round are written.
#[derive(Debug)]
pub(crate) struct Links<'a> {
    /// Where pictures can be had over HTTP, if that is known.
    base: Option<&'a str>,
    /// The round's title as a segment of a path.
    round: String,
}

impl<'a> Links<'a> {
    pub(crate) fn new(base: Option<&'a str>, round: &ArchivedRound) -> Self {
        Self { base, round: uri::encode(&round.title) }
    }

    fn write(&self, out: &mut Answer, entry: &ArchivedEntry, picture: &ArchivedPicture) {
        let Some(base) = self.base else { return };
        out.raw(LINK_LABEL);
        self.write_address(out, base, entry);
        out.raw("?v=").raw(picture.large.hash().to_short_hex().as_str());
    }

    fn write_address(&self, out: &mut Answer, base: &str, entry: &ArchivedEntry) {
        out.raw(base).raw(PICTURES).raw(&self.round).raw("/").number(u64::from(entry.rank.to_native()));
    }

    /// Returns an upper bound of what [`write`](Self::write) takes: six digits of rank, sixteen of the hash.
    fn length(&self) -> usize {
        let path = PICTURES.len() + self.round.len() + 1 + 6 + 3 + 16;
        self.base.map_or(0, |base| LINK_LABEL.len() + base.len() + path)
    }

    fn write_remark(&self, out: &mut Answer, entry: &ArchivedEntry) {
        out.raw(CUT_MARK).raw(REST_AT);
        self.write_uri(out, entry);
        out.raw(REST_CLOSE);
    }

    /// Writes the address of an entry as a resource.
    fn write_uri(&self, out: &mut Answer, entry: &ArchivedEntry) {
        out.raw(uri::ROUNDS).raw("/").raw(&self.round).raw("/").number(u64::from(entry.rank.to_native()));
    }

    /// Returns an upper bound of what [`write_uri`](Self::write_uri) takes.
    fn uri_length(&self) -> usize {
        uri::ROUNDS.len() + 1 + self.round.len() + 1 + 6
    }

    /// Returns an upper bound of what [`write_remark`](Self::write_remark) takes.
    fn remark_length(&self) -> usize {
        CUT_MARK.len() + REST_AT.len() + self.uri_length() + REST_CLOSE.len()
    }
}

/// A picture on its way into an answer.
struct Drawn<'a> {
    rendition: &'a ArchivedRendition,
    /// What is stored of it; `None` if that could not be read.
    base64: Option<Bytes>,
}

/// Hands every selected entry to `write`, with its picture where it has one and one was asked for. A picture that cannot
/// be read is told to the log.
async fn draw(
    index: &Reading,
    selection: &Selection,
    size: Size,
    mut write: impl FnMut(&Held, &ArchivedEntry, Option<Drawn<'_>>),
) {
    let mut pictures = index.pictures(selection.renditions(size)).await;
    for held in &selection.entries {
        let Some(entry) = held.entry() else { continue };
        let drawn = size.of_entry(entry).map(|rendition| {
            let base64 = pictures.next().and_then(|stored| {
                let told = |error: &ReadError| {
                    tracing::warn!(detail = Detail::of(error).for_log(), "a picture could not be read");
                };
                stored.inspect_err(told).ok()
            });
            Drawn { rendition, base64 }
        });
        write(held, entry, drawn);
    }
}

/// Writes the selected entries as content blocks: for each a text that stands alone, then its picture.
///
/// A picture that cannot be read is said to be missing; its text stays.
pub(crate) async fn write_blocks(
    out: &mut Answer,
    index: &Reading,
    selection: &Selection,
    size: Size,
    links: &Links<'_>,
) {
    let write = |held: &Held, entry: &ArchivedEntry, drawn: Option<Drawn<'_>>| {
        write_text_block(out.item(), held, entry, links);
        if let Some(drawn) = drawn {
            write_image_block(out, drawn);
        }
    };
    draw(index, selection, size, write).await;
}

fn write_text_block(out: &mut Answer, held: &Held, entry: &ArchivedEntry, links: &Links<'_>) {
    out.raw(TEXT_OPEN);
    write_text(out, held, entry, links, MAX_ENTRY_CHARACTERS);
    out.raw(TEXT_CLOSE);
}

/// Writes an entry's text, cut to `most` characters, with its link, as the inside of a JSON string.
pub(crate) fn write_text(
    out: &mut Answer,
    held: &Held,
    entry: &ArchivedEntry,
    links: &Links<'_>,
    most: usize,
) {
    let text = cut(entry, most);
    out.escaped(&held.page, text.escaped);
    if text.shortened {
        links.write_remark(out, entry);
    }
    match entry.picture.as_ref() {
        Some(picture) => links.write(out, entry, picture),
        None => {
            out.raw(NO_PICTURE);
        }
    }
}

fn write_image_block(out: &mut Answer, drawn: Drawn<'_>) {
    match drawn.base64 {
        Some(base64) => out
            .raw(IMAGE_OPEN)
            .splice(base64)
            .raw(IMAGE_MIME)
            .raw(drawn.rendition.media_type().as_str())
            .raw(TEXT_CLOSE),
        None => out.raw(BROKEN_PICTURE),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_picture_is_counted_as_it_is_shown() {
        assert_eq!(wakashu_archive::unescape(NO_PICTURE).chars().count(), NO_PICTURE_CHARACTERS);
    }

    #[test]
    fn a_cut_never_splits_an_escape_or_a_character() {
        for (escaped, characters, bytes, expected) in [
            ("春\\n夏", 2, 99, "春\\n"),
            ("春\\n夏", 1, 99, "春"),
            ("春\\n夏", 3, 99, "春\\n夏"),
            ("\\u0001秋", 1, 99, "\\u0001"),
            ("\\u0001秋", 1, 5, ""),
            ("\\\\\\\"", 1, 99, "\\\\"),
            ("冬冬", 9, 5, "冬"),
            ("", 9, 9, ""),
        ] {
            assert_eq!(prefix(escaped, characters, bytes), expected, "{escaped}");
        }
    }
}
