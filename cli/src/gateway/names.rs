//! Names under which hosts see what several servers have.

/// The longest name of a tool. Clients take 64 letters, with what they put before it: `mcp__wakashu__`.
const LONGEST: usize = 64 - "mcp__wakashu__".len();
/// The longest part of it that names the server.
const LONGEST_SERVER: usize = 20;
/// How many digits of a hash tell names apart that were changed.
const HASH_DIGITS: usize = 8;

/// Returns the name for something of a server: `server__name`. What is too long, or has letters that hosts refuse, gets
/// a hash of the whole name at its end, so that no two become one; it is the same in every run.
pub(super) fn exposed(server: &str, name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let (prefix, suffix) = (plain(server), plain(name));
    let whole = format!("{prefix}__{suffix}");
    let is_changed = prefix != server || suffix != name;
    if !is_changed && whole.len() <= LONGEST && !is_taken(&whole) {
        return whole;
    }
    let hash = hash(server, name);
    let prefix: String = prefix.chars().take(LONGEST_SERVER).collect();
    let room = LONGEST - prefix.len() - "__".len() - "_".len() - HASH_DIGITS;
    // The end of a name says more than its beginning. All letters are ASCII now.
    let tail = suffix.get(suffix.len().saturating_sub(room)..).unwrap_or_default();
    format!("{prefix}__{tail}_{hash}")
}

/// Returns what a server's addresses begin with, which must read as a scheme.
pub(super) fn scheme(server: &str) -> String {
    let plain = plain(server).replace('_', "-").to_ascii_lowercase();
    let is_proper = plain.starts_with(|letter: char| letter.is_ascii_lowercase());
    let is_changed = plain != server;
    match (is_proper, is_changed) {
        (true, false) => plain,
        (true, true) => format!("{plain}-{}", hash(server, "")),
        (false, _) => format!("s{plain}-{}", hash(server, "")),
    }
}

/// Tells whether a name can be given to a host as it is.
pub(super) fn is_plain(name: &str) -> bool {
    name.len() <= LONGEST && plain(name) == name
}

fn plain(name: &str) -> String {
    let keep = |letter: char| {
        if letter.is_ascii_alphanumeric() || letter == '_' || letter == '-' { letter } else { '_' }
    };
    name.chars().map(keep).collect()
}

fn hash(server: &str, name: &str) -> String {
    let hash = blake3::hash(format!("{server}\0{name}").as_bytes()).to_hex();
    hash.chars().take(HASH_DIGITS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free(server: &str, name: &str) -> String {
        exposed(server, name, |_| false)
    }

    #[test]
    fn names_fit_and_stay_apart() {
        assert_eq!(free("files", "read_file"), "files__read_file");
        // At the limit, and one over it.
        let fits = "x".repeat(LONGEST - "files__".len());
        assert_eq!(free("files", &fits), format!("files__{fits}"));
        let long = free("files", &format!("{fits}y"));
        assert_eq!(long.len(), LONGEST);
        assert!(long.starts_with("files__xxx") && long.contains("xy_"), "{long}");
        assert_ne!(long, free("files", &format!("z{fits}")));
        let server = "a-server-with-a-name-that-is-much-too-long";
        assert!(free(server, &"t".repeat(200)).len() <= LONGEST);
        assert!(free(server, "t").len() <= LONGEST);
        // Letters that hosts refuse; two that would read alike.
        assert_ne!(free("歌", "詠む"), free("歌", "詠ん"));
        assert!(free("歌", "詠む").is_ascii());
        let taken = free("a__b", "c");
        assert_ne!(exposed("a", "b__c", |name| name == taken), taken);
        // Every run gives the same.
        assert_eq!(free("files", "read.file"), "files__read_file_HASH");
    }

    #[test]
    fn addresses_begin_with_a_scheme() {
        assert_eq!(scheme("poems"), "poems");
        for odd in ["1st", "歌", "My_Poems", "a b"] {
            let scheme = scheme(odd);
            assert!(format!("{scheme}+wakashu://rounds").parse::<http::Uri>().is_ok(), "{scheme}");
            assert!(scheme.starts_with(|letter: char| letter.is_ascii_lowercase()));
        }
        assert_ne!(scheme("a_b"), scheme("a-b"));
    }
}
