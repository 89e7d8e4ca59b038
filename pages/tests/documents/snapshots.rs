//! The documents of a small collection, as they are: a change of a template shows here, and its diff is read.
//! `INSTA_UPDATE=always cargo test -p wakashu-pages snapshots` writes them anew.

use crate::support::Site;
use wakashu_pages::{ASSETS, LinkStyle, Notice, Outcome, Place};

const SERVED: LinkStyle<'_> = LinkStyle::Served { root: "/" };

/// Breaks a document into lines, one tag each, and hides the hashes of style, script and icon.
fn lines(body: &str) -> String {
    let mut body = body.replace("><", ">\n<");
    for asset in ASSETS.iter() {
        let (name, extension) =
            (asset.name.split('-').next().unwrap(), asset.name.rsplit('.').next().unwrap());
        body = body.replace(&asset.name, &format!("{name}.{extension}"));
    }
    body
}

fn rendered(style: LinkStyle<'_>, base: Option<&str>, file: &str) -> String {
    let documents = Site::sample().documents(style, base);
    let (_, document) = documents.into_iter().find(|(name, _)| name == file).unwrap();
    format!("{}\n{}", document.media_type, lines(&document.body))
}

#[test]
fn collection_served() {
    insta::assert_snapshot!(rendered(SERVED, Some("https://waka.example"), "index.html"));
}

#[test]
fn collection_in_a_folder() {
    insta::assert_snapshot!(rendered(LinkStyle::Folder, Some("https://waka.example/waka/"), "index.html"));
}

#[test]
fn round_served() {
    insta::assert_snapshot!(rendered(SERVED, None, "rounds/第1回/index.html"));
}

#[test]
fn last_page_of_a_long_round_in_a_folder() {
    insta::assert_snapshot!(rendered(LinkStyle::Folder, None, "rounds/第2回/page-3/index.html"));
}

#[test]
fn empty_round_served() {
    insta::assert_snapshot!(rendered(SERVED, None, "rounds/第3回/index.html"));
}

#[test]
fn poem_served() {
    insta::assert_snapshot!(rendered(SERVED, Some("https://waka.example/"), "rounds/第1回/1/index.html"));
}

#[test]
fn poem_in_a_folder() {
    insta::assert_snapshot!(rendered(LinkStyle::Folder, None, "rounds/第1回/2/index.html"));
}

#[test]
fn search_served() {
    insta::assert_snapshot!(rendered(SERVED, None, "search/index.html"));
}

#[test]
fn search_refused_and_not_asked() {
    let site = Site::sample();
    let renderer = site.renderer(SERVED, None);
    let refused = renderer.search("a b c d e f g h i", &Outcome::Refused("言葉は8つまでにしてください。"));
    let not_asked = renderer.search("", &Outcome::NotAsked);
    insta::assert_snapshot!(lines(&refused.body) + "\n\n" + &lines(&not_asked.body));
}

#[test]
fn feed() {
    insta::assert_snapshot!(rendered(LinkStyle::Folder, Some("https://waka.example/waka/"), "feed.xml"));
}

#[test]
fn robots() {
    insta::assert_snapshot!(
        rendered(SERVED, None, "robots.txt")
            + &rendered(LinkStyle::Folder, Some("https://waka.example/waka/"), "robots.txt")
    );
}

#[test]
fn notices() {
    let site = Site::sample();
    let place = Place { style: SERVED, base: None, can_search: true, preview: None };
    let notices = [
        Notice::NotFound.page(place, Some(&site.collection)),
        Notice::Unavailable.page(place, None),
        Notice::Closed.page(place, None),
        Notice::Busy.page(place, Some(&site.collection)),
    ];
    insta::assert_snapshot!(notices.map(|notice| lines(&notice.body)).join("\n\n"));
}
