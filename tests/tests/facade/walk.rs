//! A walk over the router: what is listed answers, nothing else does.

use wakashu_tests::HttpRequest;

use super::serve;

const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"];

const PICTURE: (&str, &str) = ("/pictures/%E7%AC%AC1%E5%9B%9E/1", "GET, HEAD");
const NO_PICTURE: (&str, &str) = ("/pictures/none/1", "GET, HEAD");

/// Every path there is, with its methods as `Allow` names them.
const LISTED: [(&str, &str); 21] = [
    ("/", "GET, HEAD"),
    ("/health", "GET, HEAD"),
    ("/metrics", "GET, HEAD"),
    ("/mcp", "POST"),
    ("/rounds/%E7%AC%AC1%E5%9B%9E", "GET, HEAD"),
    ("/rounds/%E7%AC%AC1%E5%9B%9E/1", "GET, HEAD"),
    ("/rounds/none", "GET, HEAD"),
    ("/search", "GET, HEAD"),
    ("/feed.xml", "GET, HEAD"),
    ("/robots.txt", "GET, HEAD"),
    ("/favicon.ico", "GET, HEAD"),
    ("/assets/none", "GET, HEAD"),
    PICTURE,
    NO_PICTURE,
    ("/v1/tools", "GET, HEAD"),
    ("/v1/tools/get_poem", "GET, HEAD"),
    ("/v1/tools/search", "POST"),
    ("/v1/tools/call", "POST"),
    ("/v1/openapi.json", "GET, HEAD"),
    ("/tools", "GET, HEAD"),
    ("/tools/call", "POST"),
];

const UNLISTED: [&str; 39] = [
    "/changes",
    "/index.html",
    "/favicon.svg",
    "/sitemap.xml",
    "/style.css",
    "/rounds",
    "/rounds/",
    "/rounds/%E7%AC%AC1%E5%9B%9E/",
    "/search/",
    "/healthz",
    "/metrics/",
    "/status",
    "/debug",
    "/.well-known/oauth-authorization-server",
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/openid-configuration",
    "/register",
    "/authorize",
    "/token",
    "/mcp/",
    "/mcp/sse",
    "/sse",
    "/message",
    "//mcp",
    "/MCP",
    "/v1",
    "/v1/",
    "/v1/tools/",
    "/v1/tools/get_poem/",
    "/v1/tools/get_poem/call",
    "/v1/openapi.yaml",
    "/v2/tools",
    "/openapi.json",
    "/tools/",
    "/tools/get_poem",
    "/pictures",
    "/pictures/%E7%AC%AC1%E5%9B%9E",
    "/pictures/%E7%AC%AC1%E5%9B%9E/1/large",
];

#[test]
fn nothing_unlisted_answers() {
    let (server, _collection) = serve(&[]);
    for path in UNLISTED {
        for method in METHODS {
            assert_eq!(server.send(&HttpRequest::new(method, path)).status, 404, "{method} {path}");
        }
    }
    for (path, allowed) in LISTED {
        for method in METHODS {
            let reply = server.send(&HttpRequest::new(method, path));
            let listed = allowed.split(", ").any(|known| known == method);
            assert_eq!(listed, reply.status != 405, "{method} {path}: {}", reply.status);
            if !listed {
                assert_eq!(reply.header("allow"), Some(allowed), "{method} {path}");
            }
            assert!(reply.status < 500, "{method} {path}: {}", reply.status);
        }
    }
}

#[test]
fn foreign_hosts_and_origins_get_nothing_from_any_path() {
    let (server, _collection) = serve(&[]);
    // A picture is for anybody's page; the name it is asked for by is still ours alone.
    for (path, origin, status) in
        [(PICTURE.0, "https://evil.example", 200), (PICTURE.0, "null", 200), (NO_PICTURE.0, "null", 404)]
    {
        let asked = HttpRequest::new("GET", path);
        let reply = server.send(&asked.clone().header("Origin", origin));
        assert_eq!(reply.status, status, "{path} {origin}");
        assert_eq!(reply.header("cross-origin-resource-policy"), Some("cross-origin"), "{path} {origin}");
        assert_eq!(reply.header("access-control-allow-origin"), None, "shown, but not read");
        assert_eq!(server.send(&asked.header("Host", "evil.example")).status, 403, "{path}");
    }
    for (path, allowed) in LISTED.into_iter().filter(|row| ![PICTURE, NO_PICTURE].contains(row)) {
        let method = allowed.split(", ").next().unwrap();
        for (name, value) in
            [("Host", "evil.example"), ("Origin", "https://evil.example"), ("Origin", "null")]
        {
            let reply = server.send(&HttpRequest::new(method, path).header(name, value));
            assert_eq!(reply.status, 403, "{path} {name}: {value}");
        }
    }
}
