//! `wakashu://rounds`: all rounds, as JSON.

use wakashu_archive::ArchivedRound;

use super::{Address, LISTING_CHARACTERS, Read, Resource, write_annotations};
use crate::exchange::Exchange;
use crate::served::reading::Reading;
use crate::text::{Answer, field};
use crate::tools::list_rounds_row;

pub(super) static RESOURCE: Resource = Resource {
    address: Address::Path(&[]),
    name: "rounds",
    title: "回の一覧",
    description: "すべての回",
    media_type: Some("application/json"),
    read: Read::FromRoot(|wanted, out| {
        let all = wanted.index.archive().root().rounds.iter();
        wanted.write_json(out, &rounds_json(wanted.title, all, None));
        Ok(())
    }),
};

/// Lists the list of rounds, the one resource whose size is known without reading pages.
pub(super) fn write_listing(out: &mut Answer, index: &Reading, x: &Exchange<'_>) {
    let title = x.served.title();
    let size = rounds_json(title, index.archive().root().rounds.iter(), None).len();
    out.object(|out| {
        field!(out, "uri").string(&RESOURCE.template());
        field!(out, "name").string(RESOURCE.name);
        field!(out, "title").string(RESOURCE.title);
        field!(out, "description").string(&format!("「{title}」の{}", RESOURCE.description));
        field!(out, "mimeType": "application/json");
        field!(out, "size").number(size as u64);
        let published = x.served.loaded().and_then(|loaded| loaded.published_at);
        write_annotations(out, "1", published.map(|at| at.to_string()));
    });
}

/// Lists rounds as JSON, as far as one answer can hold them.
pub(super) fn rounds_json<'a>(
    title: &str,
    rounds: impl Iterator<Item = &'a ArchivedRound>,
    undated: Option<usize>,
) -> String {
    let mut json = Answer::default();
    json.object(|json| {
        field!(json, "title").string(title);
        let list = field!(json, "rounds").open_array();
        let (mut listed, mut total) = (0_u64, 0_u64);
        for round in rounds {
            total += 1;
            if json.len() < LISTING_CHARACTERS {
                list_rounds_row(json.item(), round);
                listed += 1;
            }
        }
        json.close(list);
        field!(json, "total").number(total);
        if let Some(undated) = undated {
            field!(json, "undated").number(undated as u64);
        }
        if total == 0 {
            field!(json, "note": "該当する回はありません。");
        } else if listed < total {
            field!(json, "note": "一部だけを載せています。続きは list_rounds で読めます。");
        }
    });
    json.into_text()
}
