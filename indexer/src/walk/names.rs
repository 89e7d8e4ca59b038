//! What the names in a collection mean.

use std::ffi::OsStr;

use unicode_normalization::UnicodeNormalization;
use wakashu_archive::Rank;

use super::json::Fault;

/// The collection's own title and description.
pub(crate) const COLLECTION_FILE: &str = "和歌集.json";

/// When a round was compiled.
pub(crate) const PERIOD_FILE: &str = "編纂時期.json";

const PICTURE_EXTENSIONS: [&str; 7] = ["png", "jpg", "jpeg", "webp", "gif", "heic", "heif"];

/// Tells whether a file or directory is passed over without a word.
pub(crate) fn is_skipped(name: &OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    bytes.starts_with(b".")
        || bytes.eq_ignore_ascii_case(b"Thumbs.db")
        || bytes.get(..6).is_some_and(|start| start.eq_ignore_ascii_case(b"README"))
}

/// Tells whether a name is `expected`, however its characters are composed.
pub(crate) fn is_named(name: &str, expected: &str) -> bool {
    name == expected || name.nfc().eq(expected.nfc())
}

/// Returns a name as text, or what is wrong with it.
pub(crate) fn text(name: &OsStr) -> Result<&str, Fault> {
    let Some(name) = name.to_str() else {
        return Err(Fault::new(
            "name is not UTF-8; bytes that are no text are shown as \\xNN",
            "rename it with UTF-8 characters",
        ));
    };
    if name.contains(|character: char| character.is_control()) {
        return Err(Fault::new(
            "name contains a control character",
            "rename it without line breaks and the like",
        ));
    }
    Ok(name)
}

/// What a directory inside a round is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RankName {
    /// `{rank}-{name}`.
    Rank(u32),
    /// It means to be one but is misspelt.
    Misspelt(Fault),
    /// Something else.
    Other,
}

/// Reads the name of a directory inside a round.
pub(crate) fn rank_name(name: &str) -> RankName {
    let shape = "expected `{rank}-{name}` with a rank from 1 to 999999 without leading zeros";
    let misspelt =
        |what: &str, hint: String| RankName::Misspelt(Fault::new(format!("{what}; {shape}"), hint));

    let folded: String = name.nfkc().collect();
    let digits = folded.bytes().take_while(u8::is_ascii_digit).count();
    let Some((rank, rest)) = folded.split_at_checked(digits) else { return RankName::Other };
    if rank.is_empty() {
        return RankName::Other;
    }
    let rest = rest.trim_start_matches(['-', '_', ' ', '.', '−', 'ー', '―', '–', '—', '‐']);
    let rest = if rest.is_empty() { "name" } else { rest };
    let plain = rank.trim_start_matches('0');
    let suggestion = if plain.is_empty() || plain.len() > 6 {
        "give it a rank from 1 to 999999".to_owned()
    } else {
        format!("rename it, for example to `{plain}-{rest}`")
    };

    // From here on the name as written: full-width digits and hyphens are misspelt, not read.
    let Some((written, written_name)) = name.split_once('-') else {
        return misspelt("name has no `-` after the rank", suggestion);
    };
    if written.is_empty() || !written.bytes().all(|byte| byte.is_ascii_digit()) {
        return misspelt("rank is not a plain number", suggestion);
    }
    if written.starts_with('0') {
        return misspelt("rank begins with 0", suggestion);
    }
    if written_name.is_empty() {
        return misspelt("name after the rank is missing", suggestion);
    }
    match written.parse::<Rank>() {
        Ok(rank) => RankName::Rank(rank.get()),
        Err(_) => misspelt("rank is too large", suggestion),
    }
}

/// What a file inside a rank directory is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EntryFile {
    /// The words.
    Text,
    /// The picture.
    Picture,
    /// It means to be one of the two but is misspelt.
    Misspelt(Fault),
    /// Something else; with a hint if it looks like one of the two.
    Other(Option<String>),
}

/// Reads the name of a file in the directory of `rank`.
pub(crate) fn entry_file(name: &str, rank: u32) -> EntryFile {
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let text_stem = format!("TextData{rank}");
    let picture_stem = format!("Picture{rank}");
    let is_picture = PICTURE_EXTENSIONS.iter().any(|known| extension.eq_ignore_ascii_case(known));
    if let Some(number) = stem.strip_prefix("TextData")
        && extension == "json"
    {
        if number == rank.to_string() {
            return EntryFile::Text;
        }
        return EntryFile::Misspelt(Fault::new(
            format!("`{name}` does not carry the directory's rank; expected `{text_stem}.json`"),
            format!("rename it to `{text_stem}.json`, or move it to the directory of its rank"),
        ));
    }
    if let Some(number) = stem.strip_prefix("Picture")
        && (number.is_empty() || number.bytes().all(|byte| byte.is_ascii_digit()))
    {
        if number != rank.to_string() {
            return EntryFile::Misspelt(Fault::new(
                format!("`{name}` does not carry the directory's rank; expected `{picture_stem}.*`"),
                format!("rename it to `{picture_stem}.{extension}`, or move it to the directory of its rank"),
            ));
        }
        if is_picture {
            return EntryFile::Picture;
        }
        return EntryFile::Misspelt(Fault::new(
            format!("pictures are png, jpg, jpeg, webp, gif, heic or heif, found `.{extension}`"),
            "export the picture as PNG or JPEG",
        ));
    }
    let looks_like = |wanted: &str| stem.eq_ignore_ascii_case(wanted);
    let hint = if looks_like(&text_stem) && extension.eq_ignore_ascii_case("json") {
        Some(format!("rename it to `{text_stem}.json`"))
    } else if is_picture {
        Some(format!(
            "the picture of this entry is named `{picture_stem}.{}`",
            extension.to_ascii_lowercase()
        ))
    } else {
        None
    };
    EntryFile::Other(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_plain_numbers_before_a_hyphen() {
        for (name, rank) in
            [("1-Laptop", 1), ("10-Aki-no-Yugure", 10), ("999999-x", 999_999), ("2--", 2), ("3-..", 3)]
        {
            assert_eq!(rank_name(name), RankName::Rank(rank), "{name}");
        }
        for (name, part) in [
            ("01-Laptop", "`1-Laptop`"),
            ("0-a", "1 to 999999"),
            ("1000000-a", "1 to 999999"),
            ("１-Laptop", "`1-Laptop`"),
            ("1－Laptop", "`1-Laptop`"),
            ("1_Laptop", "`1-Laptop`"),
            ("1", "`1-name`"),
            ("1-", "`1-name`"),
            ("1a-b", "`1-a-b`"),
        ] {
            let RankName::Misspelt(fault) = rank_name(name) else { panic!("{name}") };
            assert!(fault.hint.contains(part), "{name}: {}", fault.hint);
        }
        for name in ["Laptop", "-1-a", "", "drafts"] {
            assert_eq!(rank_name(name), RankName::Other, "{name}");
        }
    }

    #[test]
    fn files_carry_the_rank_of_their_directory() {
        assert_eq!(entry_file("TextData1.json", 1), EntryFile::Text);
        assert_eq!(entry_file("Picture1.PnG", 1), EntryFile::Picture);
        assert_eq!(entry_file("Picture1.JPEG", 1), EntryFile::Picture);
        assert_eq!(entry_file("Picture1.heif", 1), EntryFile::Picture);
        for name in [
            "TextData01.json",
            "TextData2.json",
            "TextData.json",
            "Picture2.png",
            "Picture.png",
            "Picture1.bmp",
        ] {
            assert!(matches!(entry_file(name, 1), EntryFile::Misspelt(_)), "{name}");
        }
        for name in ["textdata1.json", "TextData1.JSON", "picture1.png", "photo.jpg"] {
            assert!(matches!(entry_file(name, 1), EntryFile::Other(Some(_))), "{name}");
        }
        assert_eq!(entry_file("memo.txt", 1), EntryFile::Other(None));
    }

    #[test]
    fn what_is_skipped_is_skipped_silently() {
        for name in [".git", ".DS_Store", "Thumbs.db", "README", "README.ja.md", "readme.txt"] {
            assert!(is_skipped(OsStr::new(name)), "{name}");
        }
        assert!(!is_skipped(OsStr::new("第1回")));
    }
}
