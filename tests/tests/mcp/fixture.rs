//! The small synthetic collection most tests share. Its bytes never change, whatever encoders do.

use wakashu_archive::EntryDraft;
use wakashu_tests::{Collection, Pictures, Server, poem};

/// Tiny pictures of three sizes.
pub(crate) const TINY: Option<Pictures> = Some(Pictures { small: 300, medium: 600, large: 900 });

/// Three rounds: a dated one, one with gaps, an extra key and an entry without picture, and one without entries.
pub(crate) fn collection() -> Collection {
    let plain = EntryDraft { extras: vec![("季語".to_owned(), "桜".to_owned())], ..poem(4, None) };
    Collection::default()
        .dated_round("第1回", Some("2025年4月"))
        .entries((1..=3).map(|rank| poem(rank, TINY)))
        .round("第2回")
        .entry(poem(2, TINY))
        .entry(plain)
        .round("番外編")
}

/// Serves the small collection; it lives as long as the server is wanted.
pub(crate) fn serve() -> (Server, Collection) {
    let collection = collection();
    (Server::serve(&collection.write()), collection)
}
