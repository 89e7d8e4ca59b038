//! `wakashu://rounds/{round}/{rank}/picture`: an entry's picture, as large as an answer can carry.

use super::{Address, RANK, ROUND, Read, Resource, Segment, Wanted};
use crate::fault::ToolError;
use crate::mcp::Refused;
use crate::served::limits::{ENVELOPE_BYTES, MAX_ANSWER_BYTES};
use crate::text::{Answer, field};

pub(super) static RESOURCE: Resource = Resource {
    address: Address::Path(&[ROUND, RANK, Segment::Fixed("picture")]),
    name: "picture",
    title: "画像",
    description: "ひとつの投稿の画像",
    media_type: None,
    read: Read::FromIndex(|wanted, out| Box::pin(read(wanted, out))),
};

async fn read(wanted: Wanted<'_>, out: &mut Answer) -> Result<(), Refused> {
    let held = wanted.entry().await?;
    let picture = held.entry().and_then(|entry| entry.picture.as_ref()).ok_or_else(|| wanted.not_found())?;
    let room =
        (MAX_ANSWER_BYTES - ENVELOPE_BYTES).saturating_sub(out.len() + wanted.address.len() * 6) as u64;
    let fitting = [&picture.large, &picture.medium].into_iter().find(|one| one.span().length <= room);
    let rendition = fitting.unwrap_or(&picture.small);
    let stored = wanted.index.pictures([rendition]).await.next();
    let stored = stored.ok_or_else(|| wanted.not_found())?.map_err(ToolError::from)?;
    out.object(|out| {
        field!(out, "uri").string(wanted.address);
        field!(out, "mimeType").string(rendition.media_type().as_str());
        field!(out, "blob").quoted(|out| {
            out.splice(stored);
        });
    });
    Ok(())
}
