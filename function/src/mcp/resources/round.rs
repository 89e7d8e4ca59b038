//! `wakashu://rounds/{round}`: a round as text, with who wrote which poem and where the whole entry is.

use wakashu_archive::ArchivedRound;

use super::{Address, LISTING_CHARACTERS, ROUND, Read, Resource, Wanted, write_annotations};
use crate::fault::ToolError;
use crate::mcp::Refused;
use crate::served::snapshot::shortened;
use crate::served::uri;
use crate::text::{Answer, field};
use crate::tools::rounds;

/// Most characters of a title.
const MAX_TITLE_CHARACTERS: usize = 200;

/// Most characters of a text about the round.
const MAX_EXTRA_CHARACTERS: usize = 4_000;

pub(super) static RESOURCE: Resource = Resource {
    address: Address::Path(&[ROUND]),
    name: "round",
    title: "回",
    description: "ひとつの回の投稿一覧",
    media_type: Some("text/plain"),
    read: Read::FromIndex(|wanted, out| Box::pin(read(wanted, out))),
};

/// Lists a round.
pub(super) fn write_listing(out: &mut Answer, round: &ArchivedRound) {
    let title = shortened(&round.title, MAX_TITLE_CHARACTERS);
    out.object(|out| {
        field!(out, "uri").string(&uri::of_round(&round.title));
        field!(out, "name").string(&title);
        field!(out, "title").string(&title);
        field!(out, "description").string(&format!("{}首", round.entries.to_native()));
        field!(out, "mimeType": "text/plain");
        // A round does not change after its compilation; an undated one gives no time rather than a guess.
        let compiled = rounds::period(round).map(|period| format!("{}T00:00:00+09:00", period.end));
        write_annotations(out, "0.5", compiled);
    });
}

async fn read(wanted: Wanted<'_>, out: &mut Answer) -> Result<(), Refused> {
    let round = wanted.round()?;
    let content = out.open_object();
    field!(out, "uri").string(wanted.address);
    field!(out, "mimeType": "text/plain");
    let text = field!(out, "text").open_string();
    let from = out.len();
    out.text(&shortened(&round.title, MAX_TITLE_CHARACTERS));
    if let Some(period) = rounds::period(round) {
        out.text(&format!("（{}〜{}）", period.start, period.end));
    }
    out.text(&format!(" {}首", round.entries.to_native()));
    for extra in rounds::extras(round) {
        // An archive from elsewhere may have longer ones than the indexer takes.
        let (title, said) =
            (shortened(&extra.title, MAX_TITLE_CHARACTERS), shortened(&extra.text, MAX_EXTRA_CHARACTERS));
        out.text("\n").text(&title).text("：").text(&said);
    }
    let base = uri::of_round(&round.title);
    'chunks: for chunk in round.chunks.iter() {
        let page = wanted.index.page(chunk).await.map_err(ToolError::from)?;
        for entry in page.entries.iter() {
            let rank = u64::from(entry.rank.to_native());
            let (account, poem) = (entry.account_escaped(), entry.poem_escaped());
            if out.len() - from + account.len() + poem.len() + base.len() + 100 > LISTING_CHARACTERS {
                out.text("\n（以下省略）\n続きは ").text(&base).text("/").number(rank);
                out.text(" からの各投稿、または get_wakashu_ranking で読めます。");
                break 'chunks;
            }
            out.text("\n\n").number(rank).text("位：").raw(account).text("\n").raw(poem);
            out.text("\n").text(&base).text("/").number(rank);
        }
    }
    out.close(text);
    out.close(content);
    Ok(())
}
