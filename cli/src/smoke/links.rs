//! The links in answers and pages.

/// Returns the addresses in a text that lie on one of `origins`. What else is linked belongs to others.
pub(super) fn in_text<'t>(text: &'t str, origins: &[String]) -> Vec<&'t str> {
    let words =
        text.split_whitespace().filter(|word| word.starts_with("http://") || word.starts_with("https://"));
    words.filter(|word| origin(word).is_some_and(|found| origins.contains(&found))).collect()
}

/// Returns scheme, host and port of an address.
pub(super) fn origin(address: &str) -> Option<String> {
    let uri: http::Uri = address.parse().ok()?;
    Some(format!("{}://{}", uri.scheme_str()?, uri.authority()?.as_str().to_ascii_lowercase()))
}

/// Returns what a page at `page` links to on its own origin, without fragments, each once.
pub(super) fn in_page(html: &str, page: &str) -> Vec<String> {
    let mut found = Vec::new();
    for attribute in ["href=\"", "src=\""] {
        for rest in html.split(attribute).skip(1) {
            let value = rest.split('"').next().unwrap_or_default().replace("&amp;", "&");
            let value = value.split('#').next().unwrap_or_default();
            if let Some(address) = resolve(page, value)
                && !found.contains(&address)
            {
                found.push(address);
            }
        }
    }
    found
}

/// Returns the address a reference leads to, if that is on the origin of the page.
fn resolve(page: &str, reference: &str) -> Option<String> {
    let own = origin(page)?;
    if reference.is_empty() || reference.starts_with("//") {
        return None;
    }
    if reference.starts_with('/') {
        return Some(format!("{own}{reference}"));
    }
    if let Some((scheme, _)) = reference.split_once(':')
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
    {
        return (origin(reference)? == own).then(|| reference.to_owned());
    }
    let folder = page.rsplit_once('/').map_or(page, |(folder, _)| folder);
    let mut parts: Vec<&str> =
        folder.strip_prefix(&own)?.split('/').filter(|part| !part.is_empty()).collect();
    let mut rest = reference;
    while let Some((step, further)) = rest.split_once('/').filter(|(step, _)| matches!(*step, "." | "..")) {
        if step == ".." {
            parts.pop();
        }
        rest = further;
    }
    parts.push(rest);
    Some(format!("{own}/{}", parts.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_links_are_found_and_those_of_others_are_not() {
        let text = "1位：@a\n画像: http://a.test:1/pictures/x/1?v=2\nhttps://ja.wikisource.org/wiki/x";
        let origins = ["http://a.test:1".to_owned()];
        assert_eq!(in_text(text, &origins), ["http://a.test:1/pictures/x/1?v=2"]);
        let page = r##"<a href="/r/1#top">1</a><a href="r/2?a=1&amp;b=2"><img src="../p.webp"><a href="#x">
            <a href="mailto:a@b"><a href="https://other.test/"><a href="http://a.test:1/r/1"><a href="//c.test/">"##;
        assert_eq!(
            in_page(page, "http://a.test:1/book/index.html"),
            ["http://a.test:1/r/1", "http://a.test:1/book/r/2?a=1&b=2", "http://a.test:1/p.webp"]
        );
    }
}
