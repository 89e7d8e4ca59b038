//! Pages, feed, style sheet and script: what a browser is answered.

use wakashu_tests::{HttpRequest, Reply, Server};

use super::{collection, serve};

/// As Chromium sends it.
const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8";
const ROUND: &str = "/rounds/%E7%AC%AC1%E5%9B%9E";
/// `printf %s reader | sha256sum`
const READER: &str = "3d0941964aa3ebdcb00ccef58b1bb399f9f898465e9886d5aec7f31090a0fb30";

fn browse(server: &Server, path: &str) -> Reply {
    server.send(&HttpRequest::new("GET", path).header("Accept", BROWSER))
}

fn text(reply: &Reply) -> &str {
    std::str::from_utf8(&reply.body).unwrap()
}

/// Returns the addresses in a document, as they are written in `href` and `src`.
fn addresses(html: &str) -> Vec<&str> {
    let parts = html.split(" href=\"").skip(1).chain(html.split(" src=\"").skip(1));
    parts.map(|part| part.split('"').next().unwrap()).collect()
}

#[test]
fn browsers_get_a_page_at_the_front_and_all_others_health() {
    let (server, _collection) = serve(&[]);
    let page = browse(&server, "/");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert_eq!(page.header("vary"), Some("Accept"));
    for accept in ["*/*", "application/json", "text/event-stream"] {
        let reply = server.send(&HttpRequest::new("GET", "/").header("Accept", accept));
        assert_eq!((reply.json()["ready"].as_bool(), reply.header("vary")), (Some(true), Some("Accept")));
    }
    assert_eq!(browse(&server, "/health").json()["ready"], true);
    let log = server.log_with("\"page\"");
    assert!(log.contains("\"method\":\"health\""), "{log}");
}

#[test]
fn every_address_of_a_page_leads_somewhere() {
    let (server, _collection) = serve(&[]);
    let mut found = vec!["/".to_owned()];
    let mut at = 0;
    while let Some(path) = found.get(at).cloned() {
        at += 1;
        let reply = browse(&server, &path);
        assert_eq!(reply.status, 200, "{path}");
        let kind = reply.header("content-type").unwrap();
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{path}");
        if kind.starts_with("image/") && !path.starts_with("/assets/") {
            continue;
        }
        assert!(reply.header("etag").is_some(), "{path}");
        if !kind.starts_with("text/html") {
            continue;
        }
        for address in addresses(text(&reply)) {
            let address = address.replace("&amp;", "&");
            let inside = address.strip_prefix(&format!("http://{}", server.address())).unwrap_or(&address);
            let inside = if inside.is_empty() { "/" } else { inside };
            if inside.starts_with('/') && !found.iter().any(|known| known == inside) {
                found.push(inside.to_owned());
            }
        }
    }
    for expected in ["/feed.xml", ROUND, &format!("{ROUND}/3")] {
        assert!(found.iter().any(|path| path == expected), "{expected} in {found:?}");
    }
    assert!(found.iter().any(|path| path.starts_with("/assets/style-")), "{found:?}");
}

#[test]
fn what_a_browser_has_is_not_sent_again_and_head_tells_the_length() {
    let (server, _collection) = serve(&[]);
    let front = browse(&server, "/");
    let style = addresses(text(&front)).into_iter().find(|path| path.ends_with(".css")).unwrap();
    let poem = format!("{ROUND}/1");
    for path in
        ["/", ROUND, &poem, "/search", "/search?q=1", "/feed.xml", "/robots.txt", "/favicon.ico", style]
    {
        let get = HttpRequest::new("GET", path).header("Accept", BROWSER);
        let whole = server.send(&get);
        let etag = whole.header("etag").unwrap();
        let again = server.send(&get.clone().header("If-None-Match", etag));
        assert_eq!((again.status, again.body.len(), again.header("etag")), (304, 0, Some(etag)), "{path}");
        assert_eq!(again.header("cache-control"), whole.header("cache-control"), "{path}");
        assert_eq!(server.send(&get.clone().header("If-None-Match", "\"other\"")).status, 200, "{path}");
        let head = server.send(&HttpRequest::new("HEAD", path).header("Accept", BROWSER));
        let length = whole.body.len().to_string();
        assert_eq!((head.status, head.body.len()), (200, 0), "{path}");
        assert_eq!(head.header("content-length"), Some(length.as_str()), "{path}");
    }
    let etag_of = |path: &str| browse(&server, path).header("etag").unwrap().to_owned();
    assert_ne!(etag_of("/search?q=1"), etag_of("/search?q=2"), "another address is another page");
    assert_eq!(browse(&server, style).header("cache-control"), Some("public, max-age=31536000, immutable"));
    assert_eq!(browse(&server, &poem).header("cache-control"), Some("public, no-cache"));
    for path in
        [format!("{ROUND}/99"), format!("{ROUND}/x"), "/rounds/%FF".to_owned(), format!("{ROUND}?page=2")]
    {
        let asked = HttpRequest::new("GET", &path).header("Accept", BROWSER).header("If-None-Match", "*");
        let missing = server.send(&asked);
        assert_eq!((missing.status, missing.header("cache-control")), (404, Some("no-store")), "{path}");
        assert!(text(&missing).contains("見つかりません"), "{path}");
    }
}

/// What the server keeps in memory of its archive.
fn kept_bytes(server: &Server) -> usize {
    let counters = server.send(&HttpRequest::new("GET", "/metrics"));
    let line = text(&counters).lines().find(|line| line.starts_with("wakashu_cache_bytes ")).unwrap();
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
fn a_page_is_made_once_for_all_who_ask_and_nobody_fills_the_memory_with_copies() {
    let (server, _collection) = serve(&[]);
    let poem = format!("{ROUND}/1");
    for path in ["/", ROUND, &poem] {
        let first = browse(&server, path);
        let kept = kept_bytes(&server);
        assert!(kept >= first.body.len(), "{path}: {kept}");
        assert_eq!(browse(&server, path).body, first.body, "{path}");
        let other_queries = ["?a=1", "?a=2&page=1", "?page=1&a=3", "?page=1", "?page=01", "?"];
        let other_spellings =
            [path.replace("%E7", "%e7"), path.replace("%AC1", "%AC%31"), path.replace(ROUND, "/rounds/1")];
        let others = other_queries.map(|query| format!("{path}{query}")).into_iter().chain(other_spellings);
        for other in others.filter(|other| other != path) {
            let reply = browse(&server, &other);
            assert_eq!((reply.status, &reply.body), (200, &first.body), "{other}");
        }
        assert_eq!(kept_bytes(&server), kept, "{path}");
    }
}

#[test]
fn the_search_page_finds_what_the_tool_finds() {
    let (server, _collection) = serve(&[]);
    let found = browse(&server, "/search?q=%E7%95%AA%E7%9B%AE+round%3A1");
    assert_eq!(text(&found).matches("<article class=\"hit\">").count(), 3);
    assert!(text(&found).contains("<mark>番目</mark>"), "{}", text(&found));
    let lengthy = format!("/search?q={}", "a".repeat(201));
    let many = format!("/search?q={}", "a+".repeat(9));
    for path in [lengthy.as_str(), many.as_str(), "/search?q=round%3A1", "/search?q=a+round%3A99"] {
        let refused = browse(&server, path);
        assert_eq!((refused.status, refused.header("etag")), (400, None), "{path}");
        assert!(text(&refused).contains("class=\"alert\""), "{path}");
    }
    let hostile = browse(&server, "/search?q=%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E");
    assert!(hostile.status == 200 && !text(&hostile).contains("<script>"), "{}", text(&hostile));
    let log = server.log_with("\"search\"");
    assert!(!log.contains("番目") && !log.contains("alert"), "what was looked for is in the log: {log}");
}

#[test]
fn where_tokens_are_asked_for_pages_are_off_and_say_so() {
    let (server, _collection) =
        serve(&[("WAKASHU_TOKENS_SHA256", READER), ("WAKASHU_BUNDLE_URL", "https://example.org/a.mcpb")]);
    for path in ["/", ROUND, "/search?q=1", "/feed.xml", "/robots.txt", "/rounds/none"] {
        let asked = HttpRequest::new("GET", path).header("Accept", BROWSER);
        for asked in [asked.clone(), asked.header("Authorization", "Bearer reader")] {
            let closed = server.send(&asked);
            assert_eq!((closed.status, closed.header("www-authenticate")), (403, None), "{path}");
            assert!(text(&closed).contains("公開されていません"), "{path}");
            assert!(!text(&closed).contains("第1回"), "{path}");
        }
    }
    assert_eq!(server.get("/").json()["ready"], true, "health is open");
    let closed = browse(&server, "/");
    let style = addresses(text(&closed)).into_iter().find(|path| path.ends_with(".css")).unwrap();
    assert_eq!(browse(&server, style).status, 200, "what says so has its style");
}

#[test]
fn without_an_archive_a_page_says_so() {
    let server = Server::serve_with(None, &[]);
    for path in ["/", ROUND, "/search?q=1", "/feed.xml", "/robots.txt"] {
        let reply = browse(&server, path);
        assert_eq!((reply.status, reply.header("cache-control")), (503, Some("no-store")), "{path}");
        assert!(text(&reply).contains("ただいま準備中です"), "{path}");
    }
    assert_eq!(server.get("/").status, 200);
}

#[test]
fn pages_name_the_public_address_and_the_bundle() {
    let collection = collection();
    let settings = [
        ("WAKASHU_PUBLIC_URL", "https://poems.example.org/waka/"),
        ("WAKASHU_BUNDLE_URL", "https://poems.example.org/poems.mcpb"),
    ];
    let server = Server::serve_with(Some(&collection.write()), &settings);
    let front = browse(&server, "/");
    for expected in [
        "href=\"https://poems.example.org/poems.mcpb\"",
        "https://poems.example.org/waka/mcp</code>",
        "<link rel=\"canonical\" href=\"https://poems.example.org/waka/\">",
        "href=\"/waka/rounds/",
    ] {
        assert!(text(&front).contains(expected), "{expected} in {}", text(&front));
    }
    let poem = browse(&server, &format!("{ROUND}/1"));
    let picture = format!(
        "<meta property=\"og:image\" content=\"https://poems.example.org/waka/pictures{}/1?v=",
        &ROUND[7..]
    );
    assert!(text(&poem).contains(&picture), "{}", text(&poem));
    let feed = browse(&server, "/feed.xml");
    assert!(text(&feed).contains(
        "<link rel=\"self\" type=\"application/atom+xml\" href=\"https://poems.example.org/waka/feed.xml\">"
    ));
}
