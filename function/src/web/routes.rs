//! Which paths there are, and what may be done with each.

/// Returns the methods a path takes, as `Allow` names them; nothing for a path that does not exist.
pub(crate) fn methods_of(path: &str) -> Option<&'static str> {
    match path {
        "/mcp" | "/tools/call" | "/v1/tools/call" | "/v1/tools/search" => Some("POST"),
        "/" | "/tools" | "/v1/tools" | "/v1/openapi.json" => Some("GET, HEAD"),
        _ => {
            let one_tool = path.strip_prefix("/v1/tools/").is_some_and(is_segment);
            let picture = path.strip_prefix("/pictures/").and_then(|rest| rest.split_once('/'));
            let picture = picture.is_some_and(|(round, rank)| is_segment(round) && is_segment(rank));
            (one_tool || picture).then_some("GET, HEAD")
        }
    }
}

/// Returns what the log calls a path: none of it is the caller's text.
pub(super) fn name_of(path: &str) -> &'static str {
    match path {
        "/" => "health",
        "/mcp" => "mcp",
        _ if is_below("/pictures", path) => "pictures",
        _ if is_below("/v1", path) => "v1",
        _ if is_below("/tools", path) => "tools",
        _ => "other",
    }
}

/// Tells whether a path is `root` or lies below it.
fn is_below(root: &str, path: &str) -> bool {
    path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn is_segment(text: &str) -> bool {
    !text.is_empty() && !text.contains('/')
}

/// Tells whether a path is kept for holders of a token, where there are tokens.
pub(super) fn is_protected(path: &str) -> bool {
    ["/mcp", "/v1", "/pictures"].into_iter().any(|root| is_below(root, path))
}

/// Tells whether a path shows poems, beyond what there is and in what state.
pub(super) fn shows_poems(path: &str) -> bool {
    path.starts_with("/pictures/")
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
            "/health",
            "",
        ] {
            assert_eq!(methods_of(path), None, "{path}");
        }
        assert_eq!(methods_of("/v1/tools/get_poem"), Some("GET, HEAD"));
        assert_eq!(methods_of("/pictures/a/1"), Some("GET, HEAD"));
    }

    #[test]
    fn health_and_redirects_are_open() {
        assert!(!["/", "/tools", "/tools/call", "/v1x"].into_iter().any(is_protected));
        assert!(["/mcp", "/v1", "/v1/tools/call", "/v1/none", "/pictures/a/1"].into_iter().all(is_protected));
    }
}
