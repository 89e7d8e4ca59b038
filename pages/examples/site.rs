//! Writes the pages of an archive into a folder, to look at them: `cargo run -p wakashu-pages --example site ARCHIVE FOLDER`.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a tool for those who change the pages"
)]

use std::path::Path;

use wakashu_archive::{Archive, ReadAt, decode_picture};
use wakashu_pages::{
    ASSETS, Address, Collection, Connect, Hit, LinkStyle, Notice, Outcome, Place, Renderer, Total,
    chunks_of_page, pages_of_round, picture_file,
};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (archive, folder) = (arguments.next().unwrap(), arguments.next().unwrap());
    let bytes = std::fs::read(archive).unwrap();
    let collection = Collection::new(Archive::open(bytes.as_slice()).unwrap());
    let archive = collection.archive();
    let base = arguments.next();
    let connect =
        Connect {
            mcp: Some("https://waka.example/mcp"), store: base.as_deref(), bundle: Some("歌集.mcpb")
        };
    let site = Renderer {
        collection: &collection,
        place: Place { style: LinkStyle::Folder, base: base.as_deref(), can_search: true, preview: None },
        connect,
    };
    let view = |chunk: &wakashu_archive::ArchivedChunk| {
        archive.page(chunk, bytes.as_slice().read_at(chunk.page.span()).unwrap()).unwrap()
    };
    let write = |file: &str, body: &[u8]| {
        let path = Path::new(&folder).join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, body).unwrap();
    };
    for asset in &*ASSETS {
        write(&Address::Asset(&asset.name).file(), asset.body.as_bytes());
    }
    for page in 1..=collection.pages() {
        let firsts: Vec<_> =
            collection.rounds_on(page).iter().map(|round| round.chunks.first().map(view)).collect();
        write(&Address::Collection { page }.file(), site.collection(page, &firsts).body.as_bytes());
    }
    let mut files = 0;
    for round in archive.root().rounds.iter() {
        for page in 1..=pages_of_round(round) {
            let views: Vec<_> = chunks_of_page(round, page).iter().map(|chunk| Some(view(chunk))).collect();
            write(
                &Address::Round { round: &round.title, page }.file(),
                site.round(round, page, &views).body.as_bytes(),
            );
        }
        for chunk in round.chunks.iter() {
            let view = view(chunk);
            for entry in view.entries.iter() {
                let rank = entry.rank.to_native();
                write(
                    &Address::Poem { round: &round.title, rank }.file(),
                    site.poem(round, rank, &view).unwrap().body.as_bytes(),
                );
                files += 1;
                for (_, rendition) in
                    entry.picture.iter().flat_map(wakashu_archive::ArchivedPicture::renditions)
                {
                    let stored = bytes.as_slice().read_at(rendition.span()).unwrap();
                    write(&picture_file(rendition), &decode_picture(&stored).unwrap());
                }
            }
        }
    }
    // A search as the server shows it: every poem with its second character marked.
    let rounds = &archive.root().rounds;
    let views: Vec<_> =
        rounds.iter().filter_map(|round| Some((round, view(round.chunks.first()?)))).collect();
    let hits: Vec<Hit<'_>> = views
        .iter()
        .flat_map(|(round, view)| view.entries.iter().map(move |entry| (*round, entry)))
        .map(|(round, entry)| Hit {
            round,
            entry,
            in_poem: Some(3..6),
            in_yomi: None,
            in_account: None,
            is_loose: entry.rank == 2,
        })
        .collect();
    let total = Total::AtLeast(1234);
    write(
        &Address::Search.file(),
        site.search("花", &Outcome::Found { hits: &hits[..hits.len().min(8)], total, page: 2, more: true })
            .body
            .as_bytes(),
    );
    write(&Address::NotFound.file(), Notice::NotFound.page(site.place, Some(&collection)).body.as_bytes());
    write(&Address::Feed.file(), site.feed("2026-01-01T00:00:00Z").body.as_bytes());
    write(&Address::Robots.file(), site.place.robots().body.as_bytes());
    println!("{files} poems");
}
