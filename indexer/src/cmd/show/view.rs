//! The parts of an archive as `show` prints them.

use serde::Serialize;
use wakashu_archive::{
    Archive, ArchivedEntry, ArchivedRendition, ArchivedRound, HEAD_MAGIC, Period, SectionKind, Sizes,
    TRAILER_BYTES, unescape,
};

/// An archive at a glance.
#[derive(Debug, Serialize)]
pub(super) struct ArchiveView {
    pub(super) digest: String,
    pub(super) format: u16,
    pub(super) bytes: u64,
    pub(super) built_from: String,
    pub(super) title: String,
    pub(super) description: String,
    pub(super) rounds: u64,
    pub(super) entries: u64,
    pub(super) pictures: u64,
    pub(super) sections: Vec<SectionView>,
}

/// Sections of one kind together.
#[derive(Debug, Serialize)]
pub(super) struct SectionView {
    pub(super) name: &'static str,
    pub(super) count: u64,
    pub(super) bytes: u64,
}

impl ArchiveView {
    pub(super) fn of(archive: &Archive, bytes: u64) -> Self {
        let root = archive.root();
        let trailer = archive.trailer();
        let rounds = || root.rounds.iter();
        let pages = || rounds().flat_map(|round| round.chunks.iter());
        let page_bytes: u64 = pages().fold(0, |sum, chunk| sum.saturating_add(chunk.page.span().length));
        let sections = archive.table().sections().iter();
        let (roots, columns): (Vec<_>, Vec<_>) = sections
            .map(|section| (section.kind, section.reference.length))
            .partition(|(kind, _)| *kind == SectionKind::ROOT);
        let total = |sections: &[(SectionKind, u64)]| {
            sections.iter().fold(0_u64, |sum, (_, length)| sum.saturating_add(*length))
        };
        let (root_bytes, column_bytes) = (total(&roots), total(&columns));
        let pictures = rounds().map(|round| u64::from(round.pictures.to_native())).sum();
        let (head, tail) = (HEAD_MAGIC.len() as u64, TRAILER_BYTES as u64);
        let table = trailer.table().length;
        let rest = [head, page_bytes, column_bytes, root_bytes, table, tail];
        let rest = rest.into_iter().fold(0, u64::saturating_add);
        let section = |name, count, bytes| SectionView { name, count, bytes };
        Self {
            digest: archive.digest().to_string(),
            format: trailer.version(),
            bytes,
            built_from: wakashu_archive::ContentHash::from(&root.built_from).to_string(),
            title: root.title.as_str().to_owned(),
            description: root.description.as_str().to_owned(),
            rounds: root.rounds.len() as u64,
            entries: u64::from(root.entries.to_native()),
            pictures,
            sections: vec![
                section("head", 1, head),
                section("pictures", pictures, bytes.saturating_sub(rest)),
                section("pages", pages().count() as u64, page_bytes),
                section("columns", columns.len() as u64, column_bytes),
                section("root", 1, root_bytes),
                section("table", 1, table),
                section("trailer", 1, tail),
            ],
        }
    }
}

/// A round.
#[derive(Debug, Serialize)]
pub(super) struct RoundView {
    pub(super) title: String,
    pub(super) number: Option<u32>,
    pub(super) period: Option<PeriodView>,
    pub(super) entries: u32,
    pub(super) pictures: u32,
    pub(super) first_rank: Option<u32>,
    pub(super) last_rank: Option<u32>,
    pub(super) pages: u64,
}

/// A period, both ends included.
#[derive(Debug, Serialize)]
pub(super) struct PeriodView {
    pub(super) start: String,
    pub(super) end: String,
}

impl RoundView {
    pub(super) fn of(round: &ArchivedRound) -> Self {
        let bounds = round.rank_bounds();
        Self {
            title: round.title.as_str().to_owned(),
            number: round.number.as_ref().map(|number| number.to_native()),
            period: round
                .period
                .as_ref()
                .map(Period::from)
                .map(|period| PeriodView { start: period.start.to_string(), end: period.end.to_string() }),
            entries: round.entries.to_native(),
            pictures: round.pictures.to_native(),
            first_rank: bounds.map(|(first, _)| first),
            last_rank: bounds.map(|(_, last)| last),
            pages: round.chunks.len() as u64,
        }
    }

    pub(super) fn ranks(&self) -> String {
        match (self.first_rank, self.last_rank) {
            (Some(first), Some(last)) => format!("{first}-{last}"),
            _ => "-".to_owned(),
        }
    }
}

/// An entry in full.
#[derive(Debug, Serialize)]
pub(super) struct EntryView {
    pub(super) rank: u32,
    pub(super) account: String,
    pub(super) poem: String,
    pub(super) honka: Vec<String>,
    pub(super) prompt: String,
    pub(super) extras: Vec<ExtraView>,
    pub(super) yomi: Option<String>,
    /// The text block as readers see it.
    pub(super) text: String,
    pub(super) picture: Option<Sizes<RenditionView>>,
}

/// A key the contract does not name.
#[derive(Debug, Serialize)]
pub(super) struct ExtraView {
    pub(super) key: String,
    pub(super) value: String,
}

impl EntryView {
    pub(super) fn of(entry: &ArchivedEntry) -> Self {
        let plain = |escaped: &str| unescape(escaped).into_owned();
        Self {
            rank: entry.rank.to_native(),
            account: plain(entry.account_escaped()),
            poem: plain(entry.poem_escaped()),
            honka: entry.honka_escaped().map(plain).collect(),
            prompt: plain(entry.prompt_escaped()),
            extras: entry
                .extras_escaped()
                .map(|(key, value)| ExtraView { key: plain(key), value: plain(value) })
                .collect(),
            yomi: entry.yomi.as_ref().map(|yomi| plain(yomi)),
            text: plain(&entry.text),
            picture: entry
                .picture
                .as_ref()
                .map(|picture| picture.as_ref().map(|_, one| RenditionView::of(one))),
        }
    }
}

/// One rendition.
#[derive(Debug, Serialize)]
pub(super) struct RenditionView {
    pub(super) media_type: &'static str,
    pub(super) width_px: u32,
    pub(super) height_px: u32,
    pub(super) file_bytes: u32,
    pub(super) stored_offset: u64,
    pub(super) stored_bytes: u64,
    pub(super) hash: String,
}

impl RenditionView {
    fn of(rendition: &ArchivedRendition) -> Self {
        Self {
            media_type: rendition.media_type().as_str(),
            width_px: rendition.width_px.to_native(),
            height_px: rendition.height_px.to_native(),
            file_bytes: rendition.file_bytes.to_native(),
            stored_offset: rendition.span().offset,
            stored_bytes: rendition.span().length,
            hash: rendition.hash().to_string(),
        }
    }
}
