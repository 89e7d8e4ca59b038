//! The style sheet, the script and the icon.

use std::sync::LazyLock;

use wakashu_archive::ContentHash;

/// A file that never changes: its name says what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asset {
    /// The file's name, without a folder.
    pub name: String,
    /// What it is.
    pub media_type: &'static str,
    /// What is in it.
    pub body: &'static str,
}

/// The files that pages refer to: style sheet, script, icon.
pub static ASSETS: LazyLock<[Asset; 3]> = LazyLock::new(|| {
    [
        Asset::new("style", "css", "text/css; charset=utf-8", include_str!("../assets/style.css")),
        Asset::new("script", "js", "text/javascript; charset=utf-8", include_str!("../assets/script.js")),
        Asset::new("icon", "svg", "image/svg+xml", include_str!("../assets/icon.svg")),
    ]
});

/// The files that only pages of a preview refer to: style sheet, script.
static OF_PREVIEW: LazyLock<[Asset; 2]> = LazyLock::new(|| {
    [
        Asset::new("preview", "css", "text/css; charset=utf-8", include_str!("../assets/preview.css")),
        Asset::new("preview", "js", "text/javascript; charset=utf-8", include_str!("../assets/preview.js")),
    ]
});

/// Returns the file of that name, if it is one of those that only a preview serves.
#[must_use]
pub fn preview_asset(name: &str) -> Option<&'static Asset> {
    OF_PREVIEW.iter().find(|asset| asset.name == name)
}

/// Returns the file of that name, if it is one of today's.
#[must_use]
pub fn asset(name: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.name == name)
}

impl Asset {
    fn new(name: &str, extension: &str, media_type: &'static str, body: &'static str) -> Self {
        let hash = ContentHash::of(body.as_bytes()).to_short_hex();
        Self { name: format!("{name}-{}.{extension}", hash.as_str()), media_type, body }
    }
}

pub(crate) fn style() -> &'static str {
    let [style, _, _] = &*ASSETS;
    &style.name
}

pub(crate) fn script() -> &'static str {
    let [_, script, _] = &*ASSETS;
    &script.name
}

pub(crate) fn icon() -> &'static str {
    let [_, _, icon] = &*ASSETS;
    &icon.name
}

pub(crate) fn preview_style() -> &'static str {
    let [style, _] = &*OF_PREVIEW;
    &style.name
}

pub(crate) fn preview_script() -> &'static str {
    let [_, script] = &*OF_PREVIEW;
    &script.name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_by_the_name_that_pages_use() {
        for name in [style(), script(), icon()] {
            assert_eq!(asset(name).unwrap().name, name);
        }
        assert_eq!(asset("style.css"), None);
        for name in [preview_style(), preview_script()] {
            assert_eq!(preview_asset(name).unwrap().name, name);
            assert_eq!(asset(name), None, "only a preview serves it");
        }
    }

    #[test]
    fn no_file_asks_for_another() {
        for asset in ASSETS.iter().chain(&*OF_PREVIEW) {
            for reference in ["url(", "@import", "fetch(", "import(", "eval(", "innerHTML"] {
                assert!(!asset.body.contains(reference), "{reference} in {}", asset.name);
            }
        }
    }
}
