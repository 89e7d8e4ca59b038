//! Pages as a browser reads them: parsed without a single complaint, with nothing in them that texts brought along.

use crate::support::{Dom, Site, hostile, parse};
use wakashu_pages::{Document, LinkStyle};

const SERVED: LinkStyle<'_> = LinkStyle::Served { root: "/" };
const STYLES: [LinkStyle<'_>; 2] = [SERVED, LinkStyle::Folder];

/// Returns the pages of a site. Of a long round, whose poems differ by their rank alone, a few.
fn pages(site: &Site, style: LinkStyle<'_>, base: Option<&str>) -> Vec<(String, Document)> {
    let mut documents = site.documents(style, base);
    let is_one_of_many = |name: &str| {
        name.rsplit('/')
            .nth(1)
            .and_then(|rank| rank.parse().ok())
            .is_some_and(|rank: u32| (4..130).contains(&rank) && rank != 5)
    };
    documents
        .retain(|(name, document)| document.media_type.starts_with("text/html") && !is_one_of_many(name));
    documents
}

/// Returns the values of an attribute, wherever it stands.
fn values(dom: &Dom, attribute: &str) -> Vec<String> {
    dom.elements.iter().filter_map(|element| element.attribute(attribute)).map(str::to_owned).collect()
}

#[test]
fn every_page_parses_without_a_complaint() {
    for site in [Site::sample(), hostile()] {
        for style in STYLES {
            for base in [None, Some("https://waka.example/歌/")] {
                for (name, document) in pages(&site, style, base) {
                    let dom = parse(&document.body);
                    assert_eq!(dom.errors, Vec::<String>::new(), "{name}");
                }
            }
        }
    }
}

/// What a collection may write becomes text, never an element, an attribute or an address that acts.
#[test]
fn no_text_becomes_markup() {
    let known = [
        "html", "head", "meta", "title", "link", "script", "body", "a", "header", "nav", "ol", "ul", "li",
        "search", "form", "label", "input", "button", "main", "div", "h1", "h2", "h3", "p", "br", "section",
        "article", "bdi", "span", "img", "figure", "dl", "dt", "dd", "code", "time", "footer", "details",
        "summary", "mark", "noscript", "aside", "b",
    ];
    for style in STYLES {
        for (name, document) in pages(&hostile(), style, Some("https://waka.example/")) {
            let dom = parse(&document.body);
            for element in &dom.elements {
                assert!(known.contains(&element.name.as_str()), "<{}> in {name}", element.name);
                for (attribute, value) in &element.attributes {
                    assert!(!attribute.starts_with("on") && attribute != "style", "{attribute} in {name}");
                    if attribute == "href" || attribute == "src" {
                        let acts = value.trim_start().to_ascii_lowercase();
                        assert!(
                            !["javascript:", "data:", "vbscript:", "//"]
                                .iter()
                                .any(|scheme| acts.starts_with(scheme)),
                            "{value} in {name}"
                        );
                    }
                }
                if element.name == "script" {
                    assert!(element.text.is_empty(), "a script of its own in {name}");
                    assert!(
                        element.attribute("src").is_some_and(|src| {
                            ["script", "search", "preview"]
                                .iter()
                                .any(|name| src.contains(&format!("assets/{name}-")))
                        }),
                        "{name}"
                    );
                }
            }
        }
    }
}

/// A page asks for nothing but its own origin's files.
#[test]
fn no_page_names_a_foreign_file() {
    for style in STYLES {
        for (name, document) in pages(&hostile(), style, Some("https://waka.example/")) {
            let dom = parse(&document.body);
            for element in dom.elements.iter().filter(|element| element.name != "a") {
                let canonical = element.attribute("rel") == Some("canonical");
                for attribute in ["href", "src", "srcset", "action"] {
                    let value = element.attribute(attribute).filter(|_| !canonical).unwrap_or_default();
                    assert!(!value.contains("//"), "{value} in {name}");
                }
            }
        }
    }
}

#[test]
fn every_link_of_a_folder_leads_to_a_file() {
    for site in [Site::sample(), hostile()] {
        let files = site.files();
        let mut seen = 0;
        // The page for unknown addresses is shown at any depth; its links have a test of their own.
        for (name, document) in
            pages(&site, LinkStyle::Folder, None).iter().filter(|(name, _)| name != "404.html")
        {
            let dom = parse(&document.body);
            let sources = values(&dom, "srcset").into_iter().flat_map(|set| {
                set.split(", ").map(|one| one.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>()
            });
            let links = ["href", "src", "action"]
                .into_iter()
                .flat_map(|attribute| values(&dom, attribute))
                .chain(sources);
            for link in links.filter(|link| !link.contains("://") && !link.starts_with('#')) {
                let link = link.split('?').next().unwrap();
                let target = crate::support::resolve(name, link);
                assert!(files.contains(&target), "{name} links to {link}, which would be {target}");
                seen += 1;
            }
        }
        assert!(seen > 100, "{seen}");
    }
}

#[test]
fn every_page_has_landmarks_one_heading_and_names_for_its_pictures() {
    for site in [Site::sample(), hostile()] {
        for (name, document) in pages(&site, SERVED, None) {
            let dom = parse(&document.body);
            let count = |element: &str| dom.elements.iter().filter(|one| one.name == element).count();
            assert_eq!((count("main"), count("h1"), count("title")), (1, 1, 1), "{name}");
            assert_eq!(
                dom.elements.iter().find(|one| one.name == "html").unwrap().attribute("lang"),
                Some("ja"),
                "{name}"
            );
            for image in dom.elements.iter().filter(|one| one.name == "img") {
                assert!(image.attribute("alt").is_some(), "{name}");
                let number =
                    |attribute| image.attribute(attribute).and_then(|value| value.parse::<u32>().ok());
                assert!(number("width") > Some(0) && number("height") > Some(0), "{name}");
            }
            let mut ids = values(&dom, "id");
            ids.sort();
            ids.dedup();
            assert_eq!(ids.len(), values(&dom, "id").len(), "ids of {name} are unique");
            for labelled in values(&dom, "aria-labelledby").iter().chain(&values(&dom, "for")) {
                assert!(ids.contains(labelled), "{labelled} in {name}");
            }
        }
    }
}

#[test]
fn a_page_stays_small_however_long_its_texts_are() {
    for (name, document) in hostile().documents(SERVED, None) {
        // The longest poem has 20,000 characters, and its own page shows them all.
        let most = if name.contains("/2/") { 260_000 } else { 200_000 };
        assert!(document.body.len() < most, "{name} has {} bytes", document.body.len());
    }
}
