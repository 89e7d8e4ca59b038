//! `wakashu://rounds/{round}/{rank}`: an entry's whole text.

use super::{Address, RANK, ROUND, Read, Resource, Wanted};
use crate::entries::{self, Held};
use crate::served::limits::{ENVELOPE_BYTES, MAX_ANSWER_BYTES};
use crate::text::{Answer, field};

pub(super) static RESOURCE: Resource = Resource {
    address: Address::Path(&[ROUND, RANK]),
    name: "entry",
    title: "投稿",
    description: "ひとつの投稿の全文",
    media_type: Some("text/plain"),
    read: Read::FromEntry(read),
};

fn read(wanted: Wanted<'_>, held: &Held, out: &mut Answer) {
    let Some(entry) = held.entry() else { return };
    out.object(|out| {
        field!(out, "uri").string(wanted.address);
        field!(out, "mimeType": "text/plain");
        field!(out, "text").quoted(|out| {
            // Only a text near the format's own limit has to be cut.
            let room = MAX_ANSWER_BYTES - 2 * ENVELOPE_BYTES - wanted.address.len() * 6;
            if entry.text.len() <= room {
                out.escaped(held.page(), &entry.text);
            } else {
                out.escaped(held.page(), entries::prefix(&entry.text, usize::MAX, room)).text("（以下省略）");
            }
        });
    });
}
