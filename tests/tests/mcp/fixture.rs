//! The small synthetic collection most tests share. Its bytes never change, whatever encoders do.

use std::path::Path;

use wakashu_archive::EntryDraft;
use wakashu_support::web_server::WebServer;
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

/// Serves an archive in every way there is: as a file, and from a web host, by range and whole.
pub(crate) fn in_every_way(archive: &Path, check: impl Fn(&str, Server)) {
    check("a file", Server::serve(archive));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let folder = archive.parent().unwrap().to_owned();
    let host = runtime.block_on(WebServer::start(folder, None)).unwrap();
    let address = format!("http://{}/{}", host.address(), archive.file_name().unwrap().to_str().unwrap());
    for (way, preload) in [("a web host, by range", "0"), ("a web host, whole", "8388608")] {
        let settings = [("WAKASHU_ARCHIVE", address.as_str()), ("WAKASHU_PRELOAD_BYTES", preload)];
        check(way, Server::serve_with(None, &settings));
    }
}
