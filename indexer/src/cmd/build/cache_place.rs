//! The platform's place for caches.

use std::env;
use std::path::PathBuf;

/// Returns where finished renditions are kept unless told otherwise; `None` if there is no home.
pub(super) fn default_cache_dir() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let caches = if cfg!(windows) {
        set("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        set("HOME").map(|home| home.join("Library/Caches"))
    } else {
        // Relative values are to be ignored: XDG Base Directory Specification 0.8.
        set("XDG_CACHE_HOME")
            .filter(|path| path.is_absolute())
            .or_else(|| set("HOME").map(|home| home.join(".cache")))
    };
    caches.map(|caches| caches.join("wakashu").join("pictures"))
}
