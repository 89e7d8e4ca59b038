//! Which paths there are, and everything that holds for each: one table.

use http::{HeaderValue, Method};

use crate::exchange::Scope;

/// A path, or several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// This path.
    Exact(&'static str),
    /// This, followed by so many segments that are not empty.
    Segments(&'static str, usize),
    /// This path and whatever lies below it.
    Below(&'static str),
    /// Any path.
    Any,
}

/// The methods a path takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Methods {
    /// `GET` and `HEAD`.
    Get,
    Post,
    /// All: the path does not exist.
    Any,
}

impl Methods {
    /// Tells whether a method is among them.
    pub(crate) fn contain(self, method: &Method) -> bool {
        match self {
            Self::Get => *method == Method::GET || *method == Method::HEAD,
            Self::Post => *method == Method::POST,
            Self::Any => true,
        }
    }

    /// Returns them as `Allow` names them.
    pub(crate) fn allow(self) -> HeaderValue {
        match self {
            Self::Get | Self::Any => HeaderValue::from_static("GET, HEAD"),
            Self::Post => HeaderValue::from_static("POST"),
        }
    }
}

/// In which form a path answers, also when it refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// JSON-RPC.
    Rpc,
    /// The HTTP view's JSON.
    V1,
    /// Plain text.
    Plain,
    /// A page, for people.
    Page,
}

/// What becomes of a request's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyRule {
    /// It is not read.
    Ignored,
    /// It is read, and must be JSON.
    Json,
}

/// A document that people look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Page {
    Collection,
    Round,
    Poem,
    Search,
    Feed,
    Robots,
}

/// Who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Mcp,
    /// What is served.
    Health,
    /// Whether anything can be answered.
    Ready,
    /// The counters, where the door counts.
    Metrics,
    Picture,
    /// What people look at.
    Page(Page),
    /// The style sheet, the script and the icon, by names that tell their content.
    Asset,
    /// The icon, where browsers look for it unasked.
    Icon,
    /// What pages of a preview listen to. Nowhere else there is such a path.
    Changes,
    V1List,
    V1Tool,
    V1Search,
    V1Call,
    OpenApi,
    Moved,
    /// Nobody: there is no such path.
    Missing,
}

/// A row of the table.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) path: Pattern,
    pub(crate) methods: Methods,
    /// What the log calls it.
    pub(crate) name: &'static str,
    /// What a token must be good for; `None` where everyone may ask.
    pub(crate) needs: Option<Scope>,
    pub(crate) form: Form,
    pub(crate) body: BodyRule,
    /// Whether requests are limited in number. Those of watchers are not: they must not take a busy server for a dead one.
    pub(crate) rated: bool,
    pub(crate) to: Endpoint,
}

/// A row with a path that answers.
const fn route(
    path: Pattern,
    methods: Methods,
    name: &'static str,
    needs: Option<Scope>,
    form: Form,
    to: Endpoint,
) -> Route {
    let takes_body = matches!(to, Endpoint::Mcp | Endpoint::V1Search | Endpoint::V1Call);
    let body = if takes_body { BodyRule::Json } else { BodyRule::Ignored };
    Route {
        path,
        methods,
        name,
        needs,
        form,
        body,
        rated: !matches!(to, Endpoint::Health | Endpoint::Ready | Endpoint::Metrics),
        to,
    }
}

/// A row with paths that do not exist. Where their neighbours ask for a token they do as well.
const fn missing(path: Pattern, name: &'static str, needs: Option<Scope>, form: Form) -> Route {
    route(path, Methods::Any, name, needs, form, Endpoint::Missing)
}

const STATUS: Option<Scope> = Some(Scope::Status);
const READ: Option<Scope> = Some(Scope::Read);

/// A row with what people look at. Where tokens are asked for these pages are off, and say so themselves.
const fn page(path: Pattern, name: &'static str, to: Page) -> Route {
    route(path, Methods::Get, name, None, Form::Page, Endpoint::Page(to))
}

/// The number of the row that answers browsers where [`Endpoint::Health`] answers all others.
const FRONT: usize = 2;

/// All routes. The first whose path fits answers.
pub(crate) static ROUTES: [Route; 28] = [
    route(Pattern::Exact("/mcp"), Methods::Post, "mcp", STATUS, Form::Rpc, Endpoint::Mcp),
    route(Pattern::Exact("/"), Methods::Get, "health", None, Form::Plain, Endpoint::Health),
    page(Pattern::Exact("/"), "page", Page::Collection),
    route(Pattern::Exact("/health"), Methods::Get, "health", None, Form::Plain, Endpoint::Ready),
    route(Pattern::Exact("/metrics"), Methods::Get, "metrics", STATUS, Form::Plain, Endpoint::Metrics),
    route(Pattern::Segments("/pictures/", 2), Methods::Get, "pictures", READ, Form::Plain, Endpoint::Picture),
    page(Pattern::Segments("/rounds/", 2), "page", Page::Poem),
    page(Pattern::Segments("/rounds/", 1), "page", Page::Round),
    page(Pattern::Exact("/search"), "search", Page::Search),
    page(Pattern::Exact("/feed.xml"), "feed", Page::Feed),
    page(Pattern::Exact("/robots.txt"), "page", Page::Robots),
    route(Pattern::Segments("/assets/", 1), Methods::Get, "asset", None, Form::Plain, Endpoint::Asset),
    route(Pattern::Exact("/favicon.ico"), Methods::Get, "asset", None, Form::Plain, Endpoint::Icon),
    route(Pattern::Exact("/v1/tools"), Methods::Get, "v1/tools", STATUS, Form::V1, Endpoint::V1List),
    route(
        Pattern::Exact("/v1/tools/search"),
        Methods::Post,
        "v1/tools/search",
        STATUS,
        Form::V1,
        Endpoint::V1Search,
    ),
    route(
        Pattern::Exact("/v1/tools/call"),
        Methods::Post,
        "v1/tools/call",
        STATUS,
        Form::V1,
        Endpoint::V1Call,
    ),
    route(
        Pattern::Exact("/v1/openapi.json"),
        Methods::Get,
        "v1/openapi.json",
        STATUS,
        Form::V1,
        Endpoint::OpenApi,
    ),
    route(
        Pattern::Segments("/v1/tools/", 1),
        Methods::Get,
        "v1/tools/{name}",
        STATUS,
        Form::V1,
        Endpoint::V1Tool,
    ),
    route(Pattern::Exact("/tools"), Methods::Get, "tools", None, Form::Plain, Endpoint::Moved),
    route(Pattern::Exact("/tools/call"), Methods::Post, "tools", None, Form::Plain, Endpoint::Moved),
    route(Pattern::Exact("/changes"), Methods::Get, "page", None, Form::Plain, Endpoint::Changes),
    missing(Pattern::Below("/mcp"), "other", STATUS, Form::Plain),
    missing(Pattern::Below("/v1"), "v1", STATUS, Form::V1),
    missing(Pattern::Below("/pictures"), "pictures", STATUS, Form::Plain),
    missing(Pattern::Below("/tools"), "tools", None, Form::Plain),
    missing(Pattern::Below("/rounds"), "page", None, Form::Page),
    missing(Pattern::Below("/assets"), "asset", None, Form::Plain),
    missing(Pattern::Any, "other", None, Form::Plain),
];

/// Finds the route of a path, and the number of its row. The last row takes them all.
pub(crate) fn find(path: &str) -> (usize, &'static Route) {
    let [first, .., last] = &ROUTES;
    // Nearly every request is for the first.
    if first.path.fits(path) {
        return (0, first);
    }
    ROUTES.iter().enumerate().find(|(_, route)| route.path.fits(path)).unwrap_or((ROUTES.len() - 1, last))
}

/// Returns the row that answers browsers at `/`, and its number.
pub(crate) fn front() -> (usize, &'static Route) {
    let [_, _, front, ..] = &ROUTES;
    (FRONT, front)
}

/// Returns the row of paths that do not exist, and its number.
pub(crate) fn nowhere() -> (usize, &'static Route) {
    find("")
}

impl Pattern {
    fn fits(self, path: &str) -> bool {
        match self {
            Self::Exact(known) => path == known,
            Self::Segments(before, count) => path.strip_prefix(before).is_some_and(|rest| {
                rest.split('/').count() == count && rest.split('/').all(|segment| !segment.is_empty())
            }),
            Self::Below(root) => {
                path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            }
            Self::Any => true,
        }
    }

    /// Returns the segments that a path has after what all of them begin with.
    pub(crate) fn segments(self, path: &str) -> impl Iterator<Item = &str> {
        let before = if let Self::Segments(before, _) = self { before } else { path };
        path.strip_prefix(before).unwrap_or_default().split('/')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_are_nearly_right_do_not_exist() {
        for path in [
            "/mcp/",
            "//mcp",
            "/v1",
            "/v1/",
            "/v1/tools/",
            "/v1/tools/a/b",
            "/pictures",
            "/pictures/a",
            "/pictures/a/",
            "/pictures//1",
            "/pictures/a/1/2",
            "/tools/",
            "/health/",
            "/rounds",
            "/rounds/",
            "/rounds/a/",
            "/rounds/a/1/2",
            "/assets",
            "/assets/a/b",
            "/search/",
            "",
        ] {
            assert_eq!(find(path).1.to, Endpoint::Missing, "{path}");
        }
        assert_eq!(find("/v1/tools/get_poem").1.to, Endpoint::V1Tool);
        assert_eq!(find("/v1/tools/call").1.to, Endpoint::V1Call);
        let picture = find("/pictures/a/1").1;
        assert_eq!(picture.to, Endpoint::Picture);
        assert_eq!(picture.path.segments("/pictures/a/1").collect::<Vec<_>>(), ["a", "1"]);
    }

    #[test]
    fn health_and_redirects_are_open_and_what_shows_poems_is_for_readers() {
        assert!(
            ["/", "/health", "/tools", "/tools/call", "/v1x", "/none", "/rounds/a", "/search", "/assets/a"]
                .into_iter()
                .all(|path| find(path).1.needs.is_none())
        );
        assert!(
            ["/mcp", "/metrics", "/v1", "/v1/tools/call", "/v1/none"]
                .into_iter()
                .all(|path| find(path).1.needs == STATUS)
        );
        assert_eq!(find("/pictures/a/1").1.needs, READ);
    }

    #[test]
    fn every_row_can_be_reached_and_the_last_takes_what_is_left() {
        for (at, route) in ROUTES.iter().enumerate() {
            let path = match route.path {
                Pattern::Exact(path) => path.to_owned(),
                Pattern::Segments(before, count) => format!("{before}{}", vec!["x"; count].join("/")),
                Pattern::Below(root) => format!("{root}/x/x/x"),
                Pattern::Any => "/x".to_owned(),
            };
            let (found, row) = if at == FRONT { front() } else { find(&path) };
            assert_eq!(found, at, "{path}");
            assert!(std::ptr::eq(row, route), "{path}");
        }
        assert_eq!(find("/").1.to, Endpoint::Health);
        assert_eq!(front().1.to, Endpoint::Page(Page::Collection));
        assert_eq!(ROUTES[ROUTES.len() - 1].path, Pattern::Any);
    }
}
