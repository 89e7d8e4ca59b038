//! The view inside a conversation: one file that a host shows beside the model's words (MCP Apps).
//!
//! It has the style sheet of the pages and the markup of their poems. The script fills that markup from what the tools
//! answer; no text of a collection is ever in this file.

use std::sync::LazyLock;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::TEMPLATE_VERSION;
use crate::poem::Leaf;

const STYLE: &str = include_str!("../assets/style.css");
const VIEW_STYLE: &str = include_str!("../assets/view.css");
const VIEW_SCRIPT: &str = include_str!("../assets/view.js");

/// What hosts may keep of a view they have seen goes by its address, which therefore says which build it is.
pub const VIEW_VERSION: &str = TEMPLATE_VERSION;

static VIEW: LazyLock<String> = LazyLock::new(|| document().into_string());

/// Returns the view: a whole HTML document that loads nothing.
#[must_use]
pub fn view() -> &'static str {
    &VIEW
}

fn document() -> Markup {
    html! {
        (DOCTYPE)
        html lang="ja" data-mode="inline" data-version=(env!("CARGO_PKG_VERSION")) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "和歌集" }
                style { (PreEscaped(lean(STYLE))) (PreEscaped(palettes(STYLE))) (PreEscaped(lean(VIEW_STYLE))) }
                style #fonts {}
            }
            body {
                header #bar hidden {
                    button #back type="button" hidden { (icon("M15 5l-7 7 7 7")) span {} }
                    p #where {}
                    button #give type="button" hidden { (icon("M4 5h16v11h-9l-5 4v-4H4z")) span {} }
                    button #full type="button" hidden { (icon("M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5")) span {} }
                }
                main #main {}
                nav #ranks hidden {
                    button #previous type="button" { (icon("M15 5l-7 7 7 7")) span.hushed {} span.to {} }
                    ol #strip {}
                    button #next type="button" { span.hushed {} span.to {} (icon("M9 5l7 7-7 7")) }
                }
                p #status role="status" {}
                template #leaf { (leaf()) }
                script { (PreEscaped(lean(VIEW_SCRIPT))) }
            }
        }
    }
}

/// The markup of a poem with every part there is, all of them empty.
fn leaf() -> Leaf {
    let empty = Markup::default;
    Leaf {
        rank: empty(),
        account: empty(),
        poem: empty(),
        is_long: false,
        picture: Some((None, html! { img alt="" decoding="async"; })),
        yomi: Some(empty()),
        honka: vec![html! { a rel="noopener noreferrer nofollow" { bdi {} } " " bdi.rest {} }],
        prompt: Some(empty()),
        extras: vec![(empty(), empty())],
        foot: empty(),
    }
}

fn icon(path: &str) -> Markup {
    html! {
        svg viewBox="0 0 24 24" width="18" height="18" fill="none" stroke="currentColor" stroke-width="1.7"
            stroke-linecap="round" stroke-linejoin="round" aria-hidden="true" { path d=(path) {} }
    }
}

/// Returns the colours of the style sheet once more, under the theme that the host names: it need not be the system's.
fn palettes(style: &str) -> String {
    let block = |from: &str| {
        let rule = style.split_once(from).map(|(_, after)| after).unwrap_or_default();
        let inside = rule.split_once('{').and_then(|(_, inside)| inside.split_once('}'));
        inside.map(|(inside, _)| lean(inside)).unwrap_or_default()
    };
    let (light, dark) = (block(":root"), block("@media (prefers-color-scheme: dark) {"));
    format!(
        "\n:root[data-theme=light]{{{light};color-scheme:light}}\n:root[data-theme=dark]{{{dark};color-scheme:dark}}\n"
    )
}

/// Leaves out what only readers of the source need: indentation, empty lines, and comments that have lines of their own.
fn lean(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut in_comment = false;
    for line in source.lines().map(str::trim) {
        let begins = line.starts_with("/*");
        if (in_comment || begins) && line.ends_with("*/") {
            in_comment = false;
            continue;
        }
        in_comment |= begins;
        if in_comment || line.is_empty() || line.starts_with("//") {
            continue;
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_small_and_asks_for_nothing() {
        let view = view();
        assert!(view.len() <= 60_000, "{} bytes", view.len());
        for reference in [
            "url(",
            "@import",
            "fetch(",
            "import(",
            "eval(",
            "Function(",
            "innerHTML",
            "outerHTML",
            "localStorage",
            "sessionStorage",
            "document.write",
            "insertAdjacentHTML",
            "onclick",
            "onmessage",
            "src=\"",
            "href=\"",
        ] {
            assert!(!view.contains(reference), "{reference}");
        }
        assert_eq!(view.matches("</script").count(), 1);
        assert!(view.starts_with("<!DOCTYPE html><html") && view.contains("<head>"));
    }

    #[test]
    fn the_host_chooses_between_both_palettes() {
        let palettes = palettes(STYLE);
        for theme in ["light", "dark"] {
            let (_, rule) = palettes.split_once(&format!("theme={theme}")).unwrap();
            let (rule, _) = rule.split_once('}').unwrap();
            for colour in ["--paper:", "--leaf:", "--ink:", "--faint:", "--line:", "--seal:"] {
                assert!(rule.contains(colour), "{theme}: {colour} in {rule}");
            }
            assert!(rule.ends_with(&format!("color-scheme:{theme}")), "{rule}");
        }
    }
}
