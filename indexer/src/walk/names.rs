//! What the names in a collection mean.

use std::ffi::OsStr;

use unicode_normalization::UnicodeNormalization;
use wakashu_archive::Rank;

use crate::words::Wording;
use crate::words::names::{self as words, RankFault, Stray};

/// The collection's own title and description.
pub(crate) const COLLECTION_FILE: &str = "和歌集.json";

/// When a round was compiled.
pub(crate) const PERIOD_FILE: &str = "編纂時期.json";

const PICTURE_EXTENSIONS: [&str; 7] = ["png", "jpg", "jpeg", "webp", "gif", "heic", "heif"];

/// What a text file is called where a program has put another ending, or none, to its name.
const TEXT_EXTENSIONS: [&str; 3] = ["txt", "text", ""];

/// How browsers name what they have not finished to download.
const UNFINISHED_EXTENSIONS: [&str; 5] = ["crdownload", "download", "part", "partial", "opdownload"];

/// Tells whether a file or directory is passed over without a word.
pub(crate) fn is_skipped(name: &OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    let is_of_the_system = ["Thumbs.db", "desktop.ini", "__MACOSX"];
    bytes.starts_with(b".")
        || is_of_the_system.iter().any(|known| bytes.eq_ignore_ascii_case(known.as_bytes()))
        || bytes.get(..6).is_some_and(|start| start.eq_ignore_ascii_case(b"README"))
}

/// Returns a name in plain letters: composed, half-width, lower-case, without blanks.
pub(crate) fn plain(name: &str) -> String {
    name.nfkc().filter(|character| !character.is_whitespace()).flat_map(char::to_lowercase).collect()
}

/// How a name compares with the one that is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// The same, however its characters are composed.
    Right,
    /// It can mean nothing else: letter case, width, blanks, or an ending that was added.
    Near,
    /// Another name.
    Other,
}

/// Compares a name with the one that is expected.
pub(crate) fn spelling(name: &str, expected: &str) -> Spelling {
    if name == expected || name.nfc().eq(expected.nfc()) {
        return Spelling::Right;
    }
    let (name, expected) = (plain(name), plain(expected));
    if name == expected || name.strip_suffix(".txt") == Some(expected.as_str()) {
        Spelling::Near
    } else {
        Spelling::Other
    }
}

/// Returns a name as text, or what is wrong with it.
pub(crate) fn text(name: &OsStr) -> Result<&str, Wording> {
    let Some(name) = name.to_str() else { return Err(words::not_utf8()) };
    if name.contains(|character: char| character.is_control()) {
        return Err(words::control_character());
    }
    Ok(name)
}

/// What a directory inside a round is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RankName {
    /// `{rank}-{name}`.
    Rank(u32),
    /// Spelt otherwise, but it can mean nothing else; with the name it should have.
    Near(u32, String),
    /// It means to be one but is misspelt; with its rank and the name it should have, if they can be told.
    Misspelt(Wording, Option<u32>, Option<String>),
    /// Something else.
    Other,
}

/// Reads the name of a directory inside a round.
pub(crate) fn rank_name(name: &str) -> RankName {
    let mut rest = name.trim();
    let mut digits = String::new();
    while let Some(first) = rest.chars().next()
        && let Some(digit) = digit(first)
    {
        digits.push(digit);
        rest = rest.get(first.len_utf8()..).unwrap_or_default();
    }
    if digits.is_empty() {
        return RankName::Other;
    }
    let after_counter = rest.strip_prefix('位').unwrap_or(rest).trim_start();
    let (has_hyphen, rest) = match after_counter.strip_prefix(is_hyphen) {
        Some(after) => (true, after.trim_start()),
        None => (false, after_counter.trim_start_matches(['_', '.', '、', ' '])),
    };
    let plain = digits.trim_start_matches('0');
    let out_of_range = |fault| RankName::Misspelt(words::rank_out_of_range(fault), None, None);
    if plain.is_empty() {
        return out_of_range(RankFault::Zero);
    }
    let Ok(rank) = plain.parse::<Rank>() else { return out_of_range(RankFault::TooLarge) };
    let to = format!("{plain}-{rest}");
    let misspelt = |fault, fix: Option<String>| {
        let wording = words::rank_misspelt(fault, plain, rest, fix.is_some());
        RankName::Misspelt(wording, Some(rank.get()), fix)
    };
    if !has_hyphen {
        return misspelt(RankFault::NoHyphen, None);
    }
    if rest.is_empty() {
        return misspelt(RankFault::NoName, None);
    }
    if digits.len() != plain.len() {
        return misspelt(RankFault::LeadingZero, Some(to));
    }
    if name == to { RankName::Rank(rank.get()) } else { RankName::Near(rank.get(), to) }
}

/// Returns the digit a character stands for, full-width ones included.
fn digit(character: char) -> Option<char> {
    let mut folded = character.nfkc();
    let digit = folded.next().filter(char::is_ascii_digit)?;
    folded.next().is_none().then_some(digit)
}

fn is_hyphen(character: char) -> bool {
    matches!(character, '-' | '‐'..='―' | '−' | 'ー' | 'ｰ' | '－' | '﹣' | '﹘')
}

/// What a file inside a rank directory is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EntryFile {
    /// The words.
    Text,
    /// The words, spelt otherwise, but nothing else can be meant.
    NearText,
    /// The picture.
    Picture,
    /// The picture, spelt otherwise, but nothing else can be meant; with the name it should have.
    NearPicture(String),
    /// It means to be one of the two but is misspelt; with the name it should have, if there is one.
    Misspelt(Wording, Option<String>),
    /// It looks like words, under another name.
    LikeText,
    /// It looks like a picture, under another name; with the name it would have as this entry's.
    LikePicture(String),
    /// It will become one when it is finished; with its name then.
    Unfinished(String),
    /// Something else.
    Other(Stray),
}

/// Reads the name of a file in the directory of `rank`.
pub(crate) fn entry_file(name: &str, rank: u32) -> EntryFile {
    let text_name = format!("TextData{rank}.json");
    match spelling(name, &text_name) {
        Spelling::Right => return EntryFile::Text,
        Spelling::Near => return EntryFile::NearText,
        Spelling::Other => {}
    }
    if [PERIOD_FILE, COLLECTION_FILE].iter().any(|known| spelling(name, known) != Spelling::Other) {
        return EntryFile::Other(Stray::Other);
    }
    let plain = plain(name);
    let (stem, extension) = plain.rsplit_once('.').unwrap_or((&plain, ""));
    let written_extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    // Digits after a known word; none is all right.
    let number_after = |word: &str| {
        stem.strip_prefix(word).filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let is_this_rank = |number: &str| number.is_empty() || number.trim_start_matches('0') == rank.to_string();
    if let Some(finished) = unfinished(name) {
        return EntryFile::Unfinished(finished.to_owned());
    }
    if extension == "json" {
        return match number_after("textdata") {
            Some(number) if is_this_rank(number) => {
                EntryFile::Misspelt(words::text_name(name, &text_name, true), Some(text_name))
            }
            Some(_) => EntryFile::Misspelt(words::text_of_other_rank(name, &text_name), None),
            None => EntryFile::LikeText,
        };
    }
    if TEXT_EXTENSIONS.contains(&extension) && number_after("textdata").is_some() {
        return EntryFile::LikeText;
    }
    let picture_stem = format!("Picture{rank}");
    let is_picture = PICTURE_EXTENSIONS.contains(&extension);
    if let Some(number) = number_after("picture") {
        let to = format!("{picture_stem}.{extension}");
        if number != rank.to_string() {
            let fix = (is_picture && is_this_rank(number)).then(|| to.clone());
            return EntryFile::Misspelt(words::picture_of_other_rank(name, &picture_stem, &to), fix);
        }
        if !is_picture {
            let wording = match written_extension {
                "" => words::picture_without_extension(&picture_stem),
                other => words::picture_extension(other),
            };
            return EntryFile::Misspelt(wording, None);
        }
        let is_right =
            name.strip_suffix(written_extension).is_some_and(|start| start == format!("{picture_stem}."))
                && written_extension.eq_ignore_ascii_case(extension);
        return if is_right { EntryFile::Picture } else { EntryFile::NearPicture(to) };
    }
    if is_picture {
        return EntryFile::LikePicture(format!("{picture_stem}.{extension}"));
    }
    EntryFile::Other(stray(name, Stray::Other))
}

/// Returns the name a file will have when it is downloaded, if it is not yet.
pub(crate) fn unfinished(name: &str) -> Option<&str> {
    let (finished, extension) = name.rsplit_once('.')?;
    UNFINISHED_EXTENSIONS.iter().any(|known| extension.eq_ignore_ascii_case(known)).then_some(finished)
}

/// Tells what a file without a place looks like; `lost` if it is somebody's work.
pub(crate) fn stray(name: &str, lost: Stray) -> Stray {
    let plain = plain(name);
    let extension = plain.rsplit_once('.').map_or("", |(_, extension)| extension);
    if extension == "wakashu" {
        Stray::Archive
    } else if extension == "json" || PICTURE_EXTENSIONS.contains(&extension) || plain.starts_with("textdata")
    {
        lost
    } else {
        Stray::Other
    }
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
        for (name, rank, to) in [
            ("１-Laptop", 1, "1-Laptop"),
            ("1‐Laptop", 1, "1-Laptop"),
            ("1－Laptop", 1, "1-Laptop"),
            ("1ーLaptop", 1, "1-Laptop"),
            ("3位-佐藤", 3, "3-佐藤"),
            ("3位 － ＳＡＴＯ", 3, "3-ＳＡＴＯ"),
            ("1-Laptop ", 1, "1-Laptop"),
        ] {
            assert_eq!(rank_name(name), RankName::Near(rank, to.to_owned()), "{name}");
        }
        for (name, part, fix) in [
            ("01-Laptop", "`1-Laptop`", Some("1-Laptop")),
            ("0-a", "1 to 999999", None),
            ("1000000-a", "1 to 999999", None),
            ("1_Laptop", "`1-Laptop`", None),
            ("1", "`1-name`", None),
            ("1-", "`1-name`", None),
            ("1a-b", "`1-a-b`", None),
        ] {
            let RankName::Misspelt(wording, _, to) = rank_name(name) else { panic!("{name}") };
            assert!(wording.en.hint.as_ref().unwrap().contains(part), "{name}: {wording:?}");
            assert_eq!(to.as_deref(), fix, "{name}");
        }
        for name in ["Laptop", "-1-a", "", "drafts"] {
            assert_eq!(rank_name(name), RankName::Other, "{name}");
        }
    }

    #[test]
    fn files_carry_the_rank_of_their_directory() {
        assert_eq!(entry_file("TextData1.json", 1), EntryFile::Text);
        for name in [
            "textdata1.json",
            "TextData1.JSON",
            "TextData１.json",
            "TextData1.json ",
            "TextData 1.json",
            "TextData1.json.txt",
        ] {
            assert_eq!(entry_file(name, 1), EntryFile::NearText, "{name}");
        }
        for name in ["Picture1.PnG", "Picture1.JPEG", "Picture1.heif"] {
            assert_eq!(entry_file(name, 1), EntryFile::Picture, "{name}");
        }
        for name in ["Picture１.png", "picture1.PNG", "Picture1.png ", "Picture 1.png", "Ｐicture1．png"] {
            assert_eq!(entry_file(name, 1), EntryFile::NearPicture("Picture1.png".to_owned()), "{name}");
        }
        for (name, fix) in [
            ("TextData01.json", Some("TextData1.json")),
            ("TextData2.json", None),
            ("TextData.json", Some("TextData1.json")),
            ("Picture2.png", None),
            ("Picture.png", Some("Picture1.png")),
            ("Picture1.bmp", None),
            ("Picture1", None),
        ] {
            let EntryFile::Misspelt(_, to) = entry_file(name, 1) else { panic!("{name}") };
            assert_eq!(to.as_deref(), fix, "{name}");
        }
        for name in ["Text3.json", "TextDataX.json", "歌.json", "TextData3.txt", "ＴextData3", "TextData.TXT"]
        {
            assert_eq!(entry_file(name, 3), EntryFile::LikeText, "{name}");
        }
        assert_eq!(entry_file("photo.JPG", 3), EntryFile::LikePicture("Picture3.jpg".to_owned()));
        let unfinished = EntryFile::Unfinished("Picture1.png".to_owned());
        assert_eq!(entry_file("Picture1.png.crdownload", 1), unfinished);
        for name in ["memo.txt", "編纂時期.json", "memo", "IMG.jfif", "TextData1.docx"] {
            assert_eq!(entry_file(name, 1), EntryFile::Other(Stray::Other), "{name}");
        }
    }

    #[test]
    fn what_is_skipped_is_skipped_silently() {
        for name in [
            ".git",
            ".DS_Store",
            "Thumbs.db",
            "README",
            "README.ja.md",
            "readme.txt",
            "Desktop.ini",
            "__MACOSX",
        ] {
            assert!(is_skipped(OsStr::new(name)), "{name}");
        }
        assert!(!is_skipped(OsStr::new("第1回")));
    }
}
