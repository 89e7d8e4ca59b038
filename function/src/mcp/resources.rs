//! Resources: the rounds, a round, an entry, its picture, rounds by date, and the view that hosts show.
//!
//! A resource is one file and one row of [`RESOURCES`].

mod by_date;
mod entry;
mod picture;
mod round;
mod rounds;
pub(super) mod view;

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;

use arrayvec::ArrayVec;
use wakashu_archive::{ArchivedRound, Rank};
use wakashu_wire::{Era, Request, string};

use crate::entries::{self, Held};
use crate::exchange::Exchange;
use crate::fault::ToolError;
use crate::mcp::Refused;
use crate::mcp::completion::Completes;
use crate::mcp::error::{self, RpcError};
use crate::mcp::methods::{cache_hint, page_offset};
use crate::served::cursor::Cursor;
use crate::served::reading::Reading;
use crate::served::snapshot::shortened;
use crate::served::uri;
use crate::text::{Answer, field};

/// Resources on one page of the list.
const PAGE_RESOURCES: usize = 100;

/// Most characters of text in a resource that lists things.
const LISTING_CHARACTERS: usize = 90_000;

/// Most segments of an address.
const MAX_SEGMENTS: usize = 3;

/// Most bytes of an address. Ours are far shorter, and the address is repeated in the answer.
const MAX_ADDRESS_BYTES: usize = 4_096;

/// How long clients may keep what they read: an archive never changes, only which one is served.
const READ_TTL_MS: u64 = 3_600_000;

/// A resource, or all those whose addresses look alike.
#[derive(Debug)]
pub(super) struct Resource {
    address: Address,
    name: &'static str,
    title: &'static str,
    description: &'static str,
    /// The type, where all of them share one.
    media_type: Option<&'static str>,
    read: Read,
}

/// Where a resource is.
#[derive(Debug)]
enum Address {
    /// Below [`uri::ROUNDS`], by what comes after it.
    Path(&'static [Segment]),
    /// Here, whatever query follows.
    Fixed(&'static str),
}

/// Writes one as an item of `contents`.
#[derive(Debug)]
enum Read {
    /// With or without an index, from its address.
    Always(fn(&str, &mut Answer)),
    /// From what is known of an open archive.
    FromRoot(fn(Wanted<'_>, &mut Answer) -> Result<(), Refused>),
    /// From the entry that the address names.
    FromEntry(fn(Wanted<'_>, &Held, &mut Answer)),
    /// From what else is read from the archive.
    FromIndex(for<'a> fn(Wanted<'a>, &'a mut Answer) -> Work<'a>),
}

/// A resource being read.
type Work<'a> = Pin<Box<dyn Future<Output = Result<(), Refused>> + Send + 'a>>;

/// A segment of a path.
#[derive(Debug)]
enum Segment {
    /// Always the same.
    Fixed(&'static str),
    /// A variable, and what completes it.
    Variable(&'static str, Completes),
}

const ROUND: Segment = Segment::Variable("round", Completes::Rounds);
const RANK: Segment = Segment::Variable("rank", Completes::Ranks(&["round"]));

/// All of them. The first whose path fits an address is read.
static RESOURCES: &[&Resource] = &[
    &rounds::RESOURCE,
    &round::RESOURCE,
    &entry::RESOURCE,
    &picture::RESOURCE,
    &by_date::RESOURCE,
    &view::RESOURCE,
];

/// Resources that are listed before the rounds are: the list of rounds, and the view.
const LISTED_BEFORE: usize = 2;

impl Resource {
    /// Tells whether an address is of this resource. `segments` is what comes after [`uri::ROUNDS`] in it, if it begins so.
    fn fits(&self, address: &str, segments: Option<&[Cow<'_, str>]>) -> bool {
        match self.address {
            Address::Fixed(fixed) => {
                address.strip_prefix(fixed).is_some_and(|rest| rest.is_empty() || rest.starts_with('?'))
            }
            Address::Path(path) => segments.is_some_and(|segments| {
                path.len() == segments.len()
                    && path.iter().zip(segments).all(|(segment, given)| match segment {
                        Segment::Fixed(text) => given == text,
                        Segment::Variable(..) => true,
                    })
            }),
        }
    }

    /// Returns what varies in the addresses, and what does not; nothing for a single resource.
    fn path(&self) -> &'static [Segment] {
        match self.address {
            Address::Path(path) => path,
            Address::Fixed(_) => &[],
        }
    }

    /// Returns the template of the addresses; that of a single resource is its address.
    fn template(&self) -> String {
        let mut template = uri::ROUNDS.to_owned();
        for segment in self.path() {
            match segment {
                Segment::Fixed(text) => template.extend(["/", text]),
                Segment::Variable(name, _) => template.extend(["/{", name, "}"]),
            }
        }
        template
    }

    /// Returns what completes a variable of the template.
    pub(super) fn variable(&self, wanted: &str) -> Option<&Completes> {
        self.path().iter().find_map(|segment| match segment {
            Segment::Variable(name, completes) if *name == wanted => Some(completes),
            _ => None,
        })
    }
}

fn all_templates() -> impl Iterator<Item = &'static Resource> {
    RESOURCES.iter().copied().filter(|resource| !resource.path().is_empty())
}

/// Finds the resources whose template this is.
pub(super) fn find_template(template: &str) -> Option<&'static Resource> {
    all_templates().find(|resource| resource.template() == template)
}

pub(super) fn templates(out: &mut Answer) {
    field!(out, "resourceTemplates").array(all_templates(), |out, resource| {
        out.object(|out| {
            field!(out, "uriTemplate").string(&resource.template());
            field!(out, "name").string(resource.name);
            field!(out, "title").string(resource.title);
            field!(out, "description").string(resource.description);
            if let Some(media_type) = resource.media_type {
                field!(out, "mimeType").string(media_type);
            }
        });
    });
}

pub(super) fn list(
    x: &Exchange<'_>,
    request: &Request<'_>,
    era: Era,
    out: &mut Answer,
) -> Result<(), RpcError> {
    let offset = page_offset(x, request)?;
    let list = field!(out, "resources").open_array();
    let mut next = None;
    if let Some(index) = x.index() {
        let all = &index.archive().root().rounds;
        let mut written = 0;
        if offset == 0 {
            rounds::write_listing(out.item(), index, x);
            view::write_listing(out.item());
            written += LISTED_BEFORE;
        }
        for round in all.iter().skip(offset.saturating_sub(LISTED_BEFORE)).take(PAGE_RESOURCES - written) {
            round::write_listing(out.item(), round);
            written += 1;
        }
        let after = offset.saturating_add(written);
        next = (after < all.len() + LISTED_BEFORE && written > 0)
            .then(|| Cursor { offset: after }.encode(index.archive().digest()));
    } else {
        view::write_listing(out.item());
    }
    out.close(list);
    if let Some(cursor) = next {
        field!(out, "nextCursor").string(&cursor);
    }
    cache_hint(x, out, era, x.served.prepared().list_ttl_ms);
    Ok(())
}

/// Writes for whom a resource is, how much it matters among the others, and when it last changed if that is known.
fn write_annotations(out: &mut Answer, priority: &str, modified: Option<String>) {
    field!(out, "annotations").object(|out| {
        field!(out, "audience").strings(["user", "assistant"]);
        field!(out, "priority").value(priority);
        if let Some(modified) = modified {
            field!(out, "lastModified").string(&modified);
        }
    });
}

pub(super) async fn read(
    x: &Exchange<'_>,
    request: &Request<'_>,
    era: Era,
    out: &mut Answer,
) -> Result<(), Refused> {
    let Some(address) = request.params.uri.and_then(string) else {
        return Err(error::invalid_params("`uri` must be a string").into());
    };
    let not_found = || error::resource_not_found(era.is_modern(), &shortened(&address, 1_000));
    if address.len() > MAX_ADDRESS_BYTES {
        return Err(not_found().into());
    }
    let segments = segments(&address);
    let resource = RESOURCES.iter().find(|resource| resource.fits(&address, segments.as_deref()));
    let (resource, index) = match (resource, x.index()) {
        (Some(resource), index) => (resource, index),
        (None, Some(_)) => return Err(not_found().into()),
        (None, None) => return Err(error::index_unavailable().into()),
    };
    let contents = field!(out, "contents").open_array();
    let wanted = || {
        let index = index.ok_or_else(error::index_unavailable)?;
        let segments = segments.as_deref().unwrap_or_default();
        Ok::<_, RpcError>(Wanted { title: x.served.title(), index, address: &address, segments, era })
    };
    match resource.read {
        Read::Always(read) => read(&address, out.item()),
        Read::FromRoot(read) => read(wanted()?, out.item())?,
        Read::FromEntry(read) => {
            let wanted = wanted()?;
            read(wanted, &wanted.entry().await?, out.item());
        }
        Read::FromIndex(read) => read(wanted()?, out.item()).await?,
    }
    out.close(contents);
    cache_hint(x, out, era, READ_TTL_MS);
    Ok(())
}

/// Returns what comes after [`uri::ROUNDS`] in an address, decoded; `None` if it does not look like ours.
fn segments(address: &str) -> Option<ArrayVec<Cow<'_, str>, MAX_SEGMENTS>> {
    let mut segments = ArrayVec::new();
    let rest = address.strip_prefix(uri::ROUNDS)?;
    if !rest.is_empty() {
        for segment in rest.strip_prefix('/')?.split('/') {
            segments.try_push(uri::decode(segment)?).ok()?;
        }
    }
    Some(segments)
}

/// What is asked for, and where it lies.
#[derive(Debug, Clone, Copy)]
struct Wanted<'a> {
    /// The title of the collection.
    title: &'a str,
    index: &'a Reading,
    address: &'a str,
    segments: &'a [Cow<'a, str>],
    era: Era,
}

impl<'a> Wanted<'a> {
    fn not_found(&self) -> RpcError {
        error::resource_not_found(self.era.is_modern(), &shortened(self.address, 1_000))
    }

    /// Returns a segment of the path.
    fn segment(&self, at: usize) -> &'a str {
        self.segments.get(at).map(AsRef::as_ref).unwrap_or_default()
    }

    /// Returns the round that the first segment names.
    fn round(&self) -> Result<&'a ArchivedRound, RpcError> {
        self.index.archive().find_round(self.segment(0)).ok_or_else(|| self.not_found())
    }

    /// Returns the entry that the first two segments name.
    async fn entry(&self) -> Result<Held, Refused> {
        let round = self.round()?;
        let rank: Rank = self.segment(1).parse().map_err(|_| self.not_found())?;
        let held = entries::find(self.index, round, rank.get()).await.map_err(ToolError::from)?;
        Ok(held.ok_or_else(|| self.not_found())?)
    }

    /// Writes a text that is there as a whole.
    fn write_json(&self, out: &mut Answer, json: &str) {
        out.object(|out| {
            field!(out, "uri").string(self.address);
            field!(out, "mimeType": "application/json");
            field!(out, "text").string(json);
        });
    }
}
