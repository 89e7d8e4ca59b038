//! What stands on which page.

use crate::support::{Site, entry, parse, round};
use wakashu_pages::{
    Collection, ENTRIES_ON_A_PAGE, FEED_ROUNDS, LinkStyle, Notice, Place, ROUNDS_ON_A_PAGE, Renderer,
    chunks_of_page, pages_of_round,
};

const SERVED: LinkStyle<'_> = LinkStyle::Served { root: "/" };

fn titles(collection: &Collection) -> Vec<&str> {
    collection.newest().map(|round| round.title.as_str()).collect()
}

#[test]
fn rounds_come_newest_first_and_the_undated_after_the_one_they_follow() {
    // 第3回 has no period yet: it is the one being compiled.
    assert_eq!(titles(&Site::sample().collection), ["第3回", "第2回", "第1回", "番外編"]);
    let undated = Site::new(
        "和",
        "",
        vec![
            (round("第1回", None), vec![]),
            (round("第2回", None), vec![]),
            (round("外", Some(("2020", "2020"))), vec![]),
        ],
    );
    assert_eq!(titles(&undated.collection), ["外", "第2回", "第1回"]);
}

#[test]
fn every_entry_stands_on_exactly_one_page_of_its_round() {
    for count in [0, 1, 32, 59, 60, 61, 64, 119, 120, 121, 130] {
        let entries = (1..=count).map(|number| entry(number * 3, "@x", "歌")).collect();
        let site = Site::new("和", "", vec![(round("第1回", None), entries)]);
        let round = &site.collection.archive().root().rounds[0];
        let mut ranks = Vec::new();
        for page in 1..=pages_of_round(round) {
            let views: Vec<_> =
                chunks_of_page(round, page).iter().map(|chunk| Some(site.view(chunk))).collect();
            let document = site.renderer(SERVED, None).round(round, page, &views);
            let on_page: Vec<u32> = parse(&document.body)
                .elements
                .iter()
                .filter_map(|element| element.attribute("value")?.parse().ok())
                .collect();
            assert!(on_page.len() <= ENTRIES_ON_A_PAGE);
            ranks.extend(on_page);
        }
        assert_eq!(ranks, (1..=count).map(|number| number * 3).collect::<Vec<_>>(), "{count}");
        assert!(chunks_of_page(round, pages_of_round(round) + 1).is_empty(), "{count}");
    }
}

#[test]
fn a_chunk_that_cannot_be_read_is_told_and_takes_no_other_along() {
    let site = Site::sample();
    let round = site.collection.archive().find_round("第2回").unwrap();
    let chunks = chunks_of_page(round, 1);
    assert_eq!(chunks.len(), 2);
    let document = site.renderer(SERVED, None).round(round, 1, &[None, Some(site.view(&chunks[1]))]);
    let ranks: Vec<u32> = parse(&document.body)
        .elements
        .iter()
        .filter_map(|element| element.attribute("value")?.parse().ok())
        .collect();
    assert_eq!(ranks, (33..=60).collect::<Vec<_>>());
    assert!(document.body.contains("いま読み出せない歌があります"));
}

#[test]
fn neighbours_of_a_poem_are_found_across_chunks_and_gaps() {
    let site = Site::sample();
    let neighbours = |title: &str, rank: u32| {
        let round = site.collection.archive().find_round(title).unwrap();
        let view = site.view(&round.chunks_with(rank, rank)[0]);
        let document = site.renderer(SERVED, None).poem(round, rank, &view).unwrap();
        let dom = parse(&document.body);
        ["prev", "next"].map(|rel| {
            let links = dom
                .elements
                .iter()
                .filter(|element| element.name == "a" && element.attribute("rel") == Some(rel));
            links
                .map(|link| link.attribute("href").unwrap().rsplit('/').next().unwrap().to_owned())
                .collect::<String>()
        })
    };
    assert_eq!(neighbours("第1回", 1), ["", "2"]);
    assert_eq!(neighbours("第1回", 2), ["1", "5"]);
    assert_eq!(neighbours("第1回", 5), ["2", ""]);
    assert_eq!(neighbours("第2回", 32), ["31", "33"]);
    assert_eq!(neighbours("第2回", 33), ["32", "34"]);
    assert_eq!(neighbours("第2回", 130), ["129", ""]);
}

#[test]
fn a_rank_that_does_not_exist_has_no_page() {
    let site = Site::sample();
    let round = site.collection.archive().find_round("第1回").unwrap();
    let view = site.view(&round.chunks[0]);
    assert!(site.renderer(SERVED, None).poem(round, 3, &view).is_none());
}

#[test]
fn many_rounds_are_paged_and_the_feed_keeps_to_the_newest() {
    let rounds = (1..=70).map(|number| (round(&format!("第{number}回"), None), vec![])).collect();
    let site = Site::new("和", "", rounds);
    assert_eq!(site.collection.pages(), 3);
    let on = |page| {
        site.collection.rounds_on(page).iter().map(|round| round.title.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(on(1).len(), ROUNDS_ON_A_PAGE);
    assert_eq!(on(1)[0], "第70回");
    assert_eq!(on(3), (1..=10).rev().map(|number| format!("第{number}回")).collect::<Vec<_>>());
    assert!(on(4).is_empty());
    let feed = site.renderer(SERVED, None).feed("2026-01-01T00:00:00Z").body;
    assert_eq!(feed.matches("<entry>").count(), FEED_ROUNDS);
}

/// Feed readers show an entry anew when its id changes; an address may.
#[test]
fn ids_of_the_feed_do_not_depend_on_the_address() {
    let site = Site::sample();
    let ids = |base| {
        let feed = site.renderer(LinkStyle::Folder, base).feed("2026-01-01T00:00:00Z").body;
        feed.split("<id>").skip(1).map(|rest| rest.split('<').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids(Some("https://a.example/")), ids(None));
    assert_eq!(ids(None).len(), 5);
}

#[test]
fn the_same_archive_makes_the_same_documents() {
    let (one, other) = (Site::sample(), Site::sample());
    for style in [SERVED, LinkStyle::Folder] {
        assert!(one.documents(style, None) == other.documents(style, None));
    }
}

/// A field that nobody answers would be worse than none.
#[test]
fn there_is_no_search_field_where_no_search_is_answered() {
    let site = Site::sample();
    let renderer = site.renderer(LinkStyle::Folder, None);
    let fields = |can_search| {
        let place = Place { can_search, ..renderer.place };
        let renderer = Renderer { place, ..renderer };
        let round = site.collection.archive().find_round("第1回").unwrap();
        let view = site.view(&round.chunks[0]);
        let documents = [
            renderer.collection(1, &[]),
            renderer.round(round, 1, &[Some(view.clone())]),
            renderer.poem(round, 1, &view).unwrap(),
            Notice::NotFound.page(place, Some(&site.collection)),
        ];
        documents.map(|document| document.body.matches("<form").count())
    };
    assert_eq!(fields(true), [1, 1, 1, 1]);
    assert_eq!(fields(false), [0, 0, 0, 0]);
}

/// Returns the elements of a poem's article in order, each with its class.
fn skeleton(html: &str) -> Vec<(String, String)> {
    let (_, article) = html.split_once("<article").unwrap();
    let (article, _) = article.split_once("</article>").unwrap();
    let dom = parse(&format!("<!DOCTYPE html><title>x</title><body><article{article}</article>"));
    let of_article = dom.elements.iter().skip_while(|element| element.name != "article");
    // The page says where it is, which a view cannot.
    let of_page = |class: &str| matches!(class, "share" | "copy");
    of_article
        .map(|element| (element.name.clone(), element.attribute("class").unwrap_or_default().to_owned()))
        .filter(|(name, class)| name != "br" && !of_page(class))
        .collect()
}

/// The view's script fills what pages have: it must not come to differ from them.
#[test]
fn the_view_has_the_markup_of_the_page() {
    let mut whole = entry(1, "@a", "歌");
    whole.honka = vec!["https://ja.wikipedia.org/wiki/a".to_owned()];
    whole.prompt = "p".to_owned();
    whole.yomi = Some("うた".to_owned());
    whole.extras = vec![("解説".to_owned(), "x".to_owned())];
    whole.picture = Some(crate::support::picture("a", 400, 300));
    let site = Site::new("和", "", vec![(round("第1回", None), vec![whole])]);
    let round = &site.collection.archive().root().rounds[0];
    let page = site.renderer(SERVED, None).poem(round, 1, &site.view(&round.chunks[0])).unwrap();
    let view = skeleton(wakashu_pages::view());
    assert_eq!(skeleton(&page.body), view);
}
