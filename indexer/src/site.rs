//! A collection as one folder that is site and store at once: any host of static files shows its pages, and readers take the
//! archive from it as from any store.
//!
//! What is named by its content is written first: archives, pictures, style, script, what the search loads. Then come pages
//! that were not there before, then those that change, the front page last of each; then the pointer; then what nobody
//! names any more goes. So whatever moment a reader comes at, and whatever moment the run dies at, no page leads to
//! nothing, and the next run completes the folder.

pub(crate) mod carried;
pub(crate) mod deploys;
mod error;
mod folder;
mod listing;
mod pages;
mod pictures;

use std::collections::BTreeMap;
use std::path::Path;

use wakashu_archive::{ColumnName, ContentHash, Span, TAIL_BYTES};
use wakashu_pages::{
    ASSETS, Address, Collection, Connect, LinkStyle, Lookup, LookupFile, Place, Renderer, TEMPLATE_VERSION,
};
use wakashu_storage::{POINTER_KEY, PointerOpening, Timestamp, Version, archive_key};

use crate::source::Source;
use carried::Carried;
use deploys::{DEPLOYS_KEY, Deploy, Left, Needed};
pub(crate) use error::SiteError;
pub(crate) use folder::Counts;
use folder::SiteFolder;

/// A bundle that lies in the folder is offered to readers.
const BUNDLE: &str = "歌集.mcpb";

/// What the site is made of.
#[derive(Debug)]
pub(crate) struct Order<'a> {
    pub(crate) source: &'a Source,
    pub(crate) folder: &'a Path,
    /// The public address, ending in a slash.
    pub(crate) base: Option<&'a str>,
    pub(crate) published_at: Timestamp,
    /// How many earlier deploys readers may still hold.
    pub(crate) history: usize,
    pub(crate) dry_run: bool,
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) counts: Counts,
    /// Files and their bytes, by kind.
    pub(crate) sizes: BTreeMap<Kind, Figures>,
    /// Archives of earlier deploys that could not be had any more.
    pub(crate) lost: Vec<ContentHash>,
}

/// What a file of the site is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Pages,
    Pictures,
    Archives,
    Search,
    Other,
}

/// How many files there are, and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Figures {
    pub(crate) count: usize,
    pub(crate) bytes: u64,
}

impl Kind {
    fn of(path: &str) -> Self {
        let is_page = Path::new(path).extension().is_some_and(|extension| extension == "html");
        match path.split_once('/').map_or("", |(folder, _)| folder) {
            "pictures" => Self::Pictures,
            "archives" => Self::Archives,
            "search" if !is_page => Self::Search,
            _ if is_page => Self::Pages,
            _ => Self::Other,
        }
    }
}

/// Writes the site, or finds out what would be written. `carry` fetches what earlier deploys leave; `advance` hears of
/// every file, of which `begin` is told how many there are.
pub(crate) fn write(
    order: &Order<'_>,
    left: &Left,
    carry: impl FnOnce(&[Version], &[Needed]) -> Result<Carried, SiteError>,
    begin: impl FnOnce(usize),
    mut advance: impl FnMut(),
) -> Result<Made, SiteError> {
    let mut folder = SiteFolder::open(order.folder, deploys::is_site(order.folder), order.dry_run)?;
    if folder.is_finished(&made_of(order, &left.mark)) {
        let unchanged = folder.files_before().count();
        let counts = Counts { unchanged, ..Counts::default() };
        return Ok(Made { counts, sizes: sizes(folder.files_before()), lost: Vec::new() });
    }
    let site = Site::new(order)?;
    let version = site.version();
    let small: Vec<LookupFile> = assets().chain(site.lookup.iter().cloned()).collect();
    let needed = small.iter().map(|file| Needed { path: file.path.clone(), bytes: file.body.len() as u64 });
    let deploy = Deploy { version: version.clone(), files: needed.collect() };
    let mut deploys = left.deploys.after(&deploy, order.history);
    let mut pointer = deploys::pointer(left.pointer.as_ref(), version, order.history);
    let carried = carry(&deploys::wanted_versions(&pointer, &deploys), &deploys.wanted_files())?;
    // What a host has lost cannot be promised to readers.
    pointer.history.retain(|version| !carried.lost.contains(&version.digest));
    deploys.deploys.retain(|deploy| !carried.lost.contains(&deploy.version.digest));
    pointer.opening = Some(site.opening()?);
    let (pointer, deploys) = (pointer.to_json(), deploys.to_json());

    let archives: Vec<&Source> = std::iter::once(order.source).chain(&carried.archives).collect();
    let archive_names: Vec<String> = archives.iter().map(|archive| archive_key(archive.digest())).collect();
    let pictures = pictures::of(&archives)?;
    let pages = pages::of(&site)?;
    let mut names: Vec<&str> = pages.iter().map(|page| page.path.as_str()).collect();
    names.extend(small.iter().map(|file| file.path.as_str()));
    names.extend(carried.files.iter().map(|(path, _)| path.as_str()));
    names.extend(pictures.keys().map(String::as_str));
    names.extend(archive_names.iter().map(String::as_str));
    names.extend([DEPLOYS_KEY, POINTER_KEY]);
    begin(names.len());
    folder.begin(names.into_iter())?;

    let small = small.iter().map(|file| (&file.path, file.body.as_bytes()));
    for (path, body) in small.chain(carried.files.iter().map(|(path, body)| (path, body.as_ref()))) {
        folder.put(path, body)?;
        advance();
    }
    for (archive, path) in archives.iter().zip(&archive_names) {
        folder.put_archive(path, &archive.file)?;
        advance();
    }
    for (path, picture) in &pictures {
        folder.put_named(path, picture.bytes, || picture.read(&archives))?;
        advance();
    }
    for was_there in [false, true] {
        let mut views = pages::Views::new(&site);
        for page in pages.iter().filter(|page| folder.was_there(&page.path) == was_there).collect::<Vec<_>>()
        {
            folder.put(&page.path, page.render(&mut views)?.as_bytes())?;
            advance();
        }
    }
    folder.put(DEPLOYS_KEY, &deploys)?;
    folder.sync()?;
    folder.put(POINTER_KEY, &pointer)?;
    // Another run finds what this one has left, unless it is told to look elsewhere.
    let mark = if left.is_own { Left::mark_of(&pointer, &deploys) } else { left.mark.clone() };
    folder.finish(made_of(order, &mark))?;
    Ok(Made { counts: folder.counts, sizes: sizes(folder.files_before()), lost: carried.lost })
}

/// Returns what tells apart whatever would make another site.
fn made_of(order: &Order<'_>, mark: &str) -> String {
    let Order { source, folder, base, published_at, history, .. } = order;
    let has_bundle = folder.join(BUNDLE).is_file();
    let base = base.unwrap_or_default();
    let all =
        format!("{TEMPLATE_VERSION} {} {published_at} {history} {has_bundle} {mark} {base}", source.digest());
    listing::digits(all.as_bytes())
}

fn sizes<'a>(files: impl Iterator<Item = (&'a str, u64)>) -> BTreeMap<Kind, Figures> {
    let mut sizes: BTreeMap<Kind, Figures> = BTreeMap::new();
    for (path, bytes) in files {
        let figures = sizes.entry(Kind::of(path)).or_default();
        figures.count += 1;
        figures.bytes += bytes;
    }
    sizes
}

/// What pages are made from.
#[derive(Debug)]
struct Site<'a> {
    source: &'a Source,
    collection: Collection,
    place: Place<'a>,
    connect: Connect<'a>,
    published_at: Timestamp,
    lookup: Vec<LookupFile>,
}

impl<'a> Site<'a> {
    fn new(order: &Order<'a>) -> Result<Self, SiteError> {
        let has_bundle = order.folder.join(BUNDLE).is_file();
        Ok(Self {
            source: order.source,
            collection: Collection::new(order.source.archive.clone()),
            place: Place { style: LinkStyle::Folder, base: order.base, can_search: true, preview: None },
            connect: Connect { mcp: None, store: order.base, bundle: has_bundle.then_some(BUNDLE) },
            published_at: order.published_at,
            lookup: lookup(order.source)?,
        })
    }

    fn renderer(&self) -> Renderer<'_> {
        Renderer { collection: &self.collection, place: self.place, connect: self.connect }
    }

    fn version(&self) -> Version {
        let archive = &self.source.archive;
        Version {
            digest: archive.digest(),
            bytes: archive.trailer().total_length(),
            built_from: ContentHash::from(&archive.root().built_from),
            published_at: self.published_at,
            // A site is a copy of what a store serves; what a version changed is counted where it is published.
            changes: None,
            note: None,
        }
    }

    /// Says how the archive is opened.
    fn opening(&self) -> Result<PointerOpening, SiteError> {
        let file = &self.source.file;
        let length = file.length().min(TAIL_BYTES);
        let tail = file.read_blocking(Span { offset: file.length() - length, length })?;
        Ok(PointerOpening::of(&self.source.archive, &tail))
    }
}

/// Returns style and script.
fn assets() -> impl Iterator<Item = LookupFile> {
    ASSETS
        .iter()
        .map(|asset| LookupFile { path: Address::Asset(&asset.name).file(), body: asset.body.to_owned() })
}

/// Returns what the search loads.
fn lookup(source: &Source) -> Result<Vec<LookupFile>, SiteError> {
    let mut lookup = Lookup::default();
    for name in ColumnName::ALL {
        lookup.column(name, source.column(name)?.as_ref());
    }
    for round in source.archive.root().rounds.iter() {
        lookup.round(round);
        for chunk in round.chunks.iter() {
            lookup.page(&source.page(chunk)?);
        }
    }
    Ok(lookup.finish())
}
