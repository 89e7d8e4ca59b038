//! Secrets in the environment of every program under test, and the search for them in everything it says.
//!
//! What a program has no use for it must not repeat: neither to clients nor in its log.

/// In every secret, so that one search finds them all.
const CANARY: &str = "kanaria-5e9d";

/// What a machine may hold besides what is served: AWS's credentials, another service's, a token, a private folder.
/// A test that needs one of these variables for itself overrides it.
pub const SECRETS: [(&str, &str); 6] = [
    ("AWS_ACCESS_KEY_ID", "kanaria-5e9d-key-id"),
    ("AWS_SECRET_ACCESS_KEY", "kanaria-5e9d-secret-key"),
    ("AWS_SESSION_TOKEN", "kanaria-5e9d-session-token"),
    ("DATABASE_URL", "postgres://poet:kanaria-5e9d@db.internal/poems"),
    ("GITHUB_TOKEN", "kanaria-5e9d-token"),
    ("HOME", "/nonexistent/kanaria-5e9d"),
];

/// Checks that nothing a program said has a secret in it.
#[track_caller]
pub fn check_for_secrets(said: &[u8]) {
    let text = String::from_utf8_lossy(said);
    if text.contains(CANARY) {
        let line = text.lines().find(|line| line.contains(CANARY)).unwrap_or_default();
        panic!("a secret of the environment was told: {}", line.chars().take(2_000).collect::<String>());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_secret_is_found_wherever_it_stands() {
        for (name, value) in SECRETS {
            let said = [b"\xff\xfe {\"a\":\"", value.as_bytes(), b"\"}"].concat();
            assert!(std::panic::catch_unwind(|| check_for_secrets(&said)).is_err(), "{name}");
        }
        check_for_secrets(b"");
        check_for_secrets("春の歌 kanaria".as_bytes());
    }
}
