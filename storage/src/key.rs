//! Which names an object may have.

use crate::error::StorageError;

/// Most bytes of a key. S3 allows 1,024 with the prefix; this leaves room for one.
const MAX_KEY_BYTES: usize = 512;

/// Checks that a key is a plain relative name: parts separated by single slashes, none of them empty, `.` or
/// `..`, and nothing in them that a file system or a URL would read another way.
pub fn check_key(key: &str) -> Result<(), StorageError> {
    let plain = |part: &str| {
        !matches!(part, "" | "." | "..") && !part.contains(['\\', ':']) && !part.contains(char::is_control)
    };
    if key.len() <= MAX_KEY_BYTES && key.split('/').all(plain) {
        Ok(())
    } else {
        Err(StorageError::BadKey { key: key.chars().take(80).collect() })
    }
}

/// Checks a listing prefix: empty, or a key followed by `/`.
pub(crate) fn check_prefix(prefix: &str) -> Result<(), StorageError> {
    match prefix.strip_suffix('/') {
        _ if prefix.is_empty() => Ok(()),
        Some(folder) => check_key(folder),
        None => Err(StorageError::BadKey { key: prefix.chars().take(80).collect() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_leave_the_storage_are_refused() {
        let long = "x".repeat(513);
        for key in [
            "",
            "/",
            "/etc/passwd",
            "a//b",
            "a/",
            "..",
            "a/../b",
            "./a",
            "a\\b",
            "a\0b",
            "c:/x",
            "a\nb",
            &long,
        ] {
            assert!(check_key(key).is_err(), "{key:?}");
        }
        for key in ["current.json", "archives/ab.wakashu", "和歌集.wakashu", "..a", ".hidden"] {
            assert!(check_key(key).is_ok(), "{key:?}");
        }
    }

    #[test]
    fn a_prefix_is_empty_or_ends_in_a_slash() {
        assert!(check_prefix("").is_ok());
        assert!(check_prefix("archives/").is_ok());
        for prefix in ["archives", "/", "../", "a//"] {
            assert!(check_prefix(prefix).is_err(), "{prefix:?}");
        }
    }
}
